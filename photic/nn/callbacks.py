"""What follows a training: told of every step and epoch, it may look on, or ask for the end.

``Callback`` does nothing; a subclass overrides what it needs. What a callback must remember is in
``kept`` and comes back by ``restore``, so that a training that goes on decides as one that was
never ended.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from photic.base.errors import BadArgument

Kept = Mapping[str, float]


@dataclass(frozen=True, slots=True)
class Plan:
    """What is about to be trained: epochs, and where it begins (after ``step`` steps).

    ``batches`` in an epoch is 0 where that is not known.
    """

    epochs: int
    batches: int
    epoch: int
    step: int


@dataclass(frozen=True, slots=True)
class Moment:
    """A training just after a step or an epoch.

    ``epoch`` counts from 0, ``batch`` are those of the epoch that are done, ``step`` those of the
    whole training. ``values`` are figures by name; ``stop(reason)`` ends the training here.
    """

    epoch: int
    batch: int
    step: int
    values: Mapping[str, float]
    stop: Callable[[str], None]


class Callback:
    """Follows a training; does nothing by itself."""

    def begin(self, plan: Plan) -> None:
        """A training begins or goes on."""

    def inputs(self) -> Mapping[str, object]:
        """Inputs of the next step besides the data, such as ``lr`` for ``GivenRate``."""
        return {}

    def after_step(self, moment: Moment) -> None:
        """The weights were changed; ``values`` has the step's ``loss`` and what else it gives."""

    def after_epoch(self, moment: Moment) -> None:
        """An epoch was trained and validated; ``values`` has means over it, and ``val_...``."""

    def end(self) -> None:
        """The training is over, in whichever way."""

    def kept(self) -> Kept:
        """What a checkpoint must hold of this callback: numbers by name."""
        return {}

    def restore(self, kept: Kept) -> None:
        """Go on from what ``kept`` gave."""


@dataclass(frozen=True, slots=True)
class Monitor:
    """A figure by name, and whether less of it is better ("min") or more ("max")."""

    name: str
    mode: str = "min"

    def __post_init__(self) -> None:
        if self.mode not in ("min", "max"):
            expected = "'min' or 'max'"
            raise BadArgument(op="Monitor", argument="mode", given=self.mode, expected=expected)

    def score(self, values: Mapping[str, float]) -> float:
        """The figure, the less the better; nan where there is none."""
        value = float(values.get(self.name, math.nan))
        return value if self.mode == "min" else -value


class EarlyStopping(Callback):
    """Ends a training that has not got better for ``patience`` epochs in a row.

    Better is by more than ``least``; nan is never better. Epochs without the figure do not count.
    """

    def __init__(
        self, monitor: str = "val_loss", *, mode: str = "min", patience: int = 3, least: float = 0.0
    ) -> None:
        self.monitor = Monitor(monitor, mode)
        self.patience = patience
        self.least = least
        self.best = math.inf
        self.waited = 0

    def after_epoch(self, moment: Moment) -> None:
        if self.exhausted(moment.values):
            moment.stop(f"{self.monitor.name} did not improve for {self.waited} epochs")

    def exhausted(self, values: Mapping[str, float]) -> bool:
        """Count an epoch: whether it was the last to wait for."""
        if self.monitor.name not in values:
            return False
        score = self.monitor.score(values)
        if score < self.best - self.least:
            self.best, self.waited = score, 0
        else:
            self.waited += 1
        return self.waited >= self.patience

    def kept(self) -> Kept:
        return {"best": self.best, "waited": self.waited}

    def restore(self, kept: Kept) -> None:
        self.best, self.waited = kept["best"], int(kept["waited"])


class ReduceOnPlateau(Callback):
    """Multiplies the learning rate by ``factor`` after ``patience`` epochs that were no better.

    For optimisers with ``lr=GivenRate()``. Better is by more than ``least``; the rate does not
    fall below ``lowest``.
    """

    def __init__(
        self,
        lr: float,
        monitor: str = "val_loss",
        *,
        mode: str = "min",
        factor: float = 0.1,
        patience: int = 3,
        least: float = 0.0,
        lowest: float = 0.0,
        name: str = "lr",
    ) -> None:
        self.lr = lr
        self.watch = EarlyStopping(monitor, mode=mode, patience=patience, least=least)
        self.factor = factor
        self.lowest = lowest
        self.name = name

    def inputs(self) -> Mapping[str, object]:
        return {self.name: np.float64(self.lr)}

    def after_epoch(self, moment: Moment) -> None:
        if self.watch.exhausted(moment.values):
            self.lr = max(self.lr * self.factor, self.lowest)
            self.watch.waited = 0

    def kept(self) -> Kept:
        return {"lr": self.lr, **self.watch.kept()}

    def restore(self, kept: Kept) -> None:
        self.lr = kept["lr"]
        self.watch.restore(kept)


class StopIfNotFinite(Callback):
    """Ends a training whose loss (or another figure) is nan or infinite."""

    def __init__(self, name: str = "loss") -> None:
        self.name = name

    def after_step(self, moment: Moment) -> None:
        value = moment.values.get(self.name, 0.0)
        if not math.isfinite(value):
            moment.stop(f"{self.name} is {value} at step {moment.step}")
