"""The cuda target's worker, for ``photic.targets.process``: trials by NVRTC and the driver."""

from __future__ import annotations

from functools import partial

from photic.targets.cuda.device import loaded
from photic.targets.cuda.errors import CudaFailed, CudaRefused
from photic.targets.trials import Trials

Worker = partial(Trials, loaded, (CudaRefused, CudaFailed))
