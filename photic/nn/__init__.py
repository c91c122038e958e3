"""Neural networks: modules, optimisers, schedules and compiled train steps, as ``ph.nn``."""

from __future__ import annotations

from photic.nn.batches import (
    Batches,
)
from photic.nn.callbacks import (
    Callback,
    EarlyStopping,
    Moment,
    Plan,
    ReduceOnPlateau,
    StopIfNotFinite,
)
from photic.nn.callbacks_progress import (
    ProgressBar,
)
from photic.nn.checkpoints import (
    Checkpoint,
    Checkpoints,
    read_checkpoint,
)
from photic.nn.metrics import (
    CsvLog,
    JsonLog,
    Log,
    TensorBoardLog,
)
from photic.nn.trainer import (
    Outcome,
    Trainer,
)

__all__ = [
    "Batches",
    "Callback",
    "Checkpoint",
    "Checkpoints",
    "CsvLog",
    "EarlyStopping",
    "JsonLog",
    "Log",
    "Moment",
    "Outcome",
    "Plan",
    "ProgressBar",
    "ReduceOnPlateau",
    "StopIfNotFinite",
    "TensorBoardLog",
    "Trainer",
    "read_checkpoint",
]
