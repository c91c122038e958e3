"""Where a training stands: what is counted, averaged and remembered between its steps."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, fields

NOT_AVERAGED = ("lr",)
TRAINED, VALIDATED = "train_", "val_"

Figures = dict[str, float]


@dataclass(slots=True)
class Means:
    """Means over a run of batches, each counted by its rows."""

    totals: Figures = field(default_factory=dict)
    rows: int = 0

    def add(self, values: Mapping[str, float], rows: int) -> None:
        for name, value in values.items():
            if name not in NOT_AVERAGED:
                self.totals[name] = self.totals.get(name, 0.0) + value * rows
        self.rows += rows

    def read(self, prefix: str) -> Figures:
        """The means, their names behind a prefix."""
        count = self.rows or math.nan
        return {prefix + name: total / count for name, total in self.totals.items()}


@dataclass(slots=True)
class State:
    """A training's progress: ``batch`` steps of the epoch number ``epoch`` are done.

    ``rows`` were written to each log. ``history`` has each finished epoch's figures; ``stopped``
    says why the training ended before its last epoch, or nothing.
    """

    epoch: int = 0
    batch: int = 0
    step: int = 0
    rows: int = 0
    means: Means = field(default_factory=Means)
    history: list[Figures] = field(default_factory=list)
    stopped: str = ""

    def stop(self, reason: str) -> None:
        """End the training; the first reason counts."""
        self.stopped = self.stopped or reason

    def next_epoch(self, figures: Figures) -> None:
        self.history.append(figures)
        self.epoch, self.batch, self.means = self.epoch + 1, 0, Means()

    def progress(self) -> dict[str, object]:
        """As plain values, from which ``state_of`` makes an equal one; they share its history."""
        found: dict[str, object] = {one.name: getattr(self, one.name) for one in fields(self)}
        return {**found, "means": {"totals": self.means.totals, "rows": self.means.rows}}


def state_of(progress: object) -> State:
    """The state that ``progress`` gave. KeyError, TypeError or ValueError for other values."""
    if not isinstance(progress, dict):
        raise TypeError("progress")
    given = dict(progress)
    means = given.pop("means")
    if not isinstance(means, dict):
        raise TypeError("means")
    found = State(**given, means=Means(**means))
    counts = (found.epoch, found.batch, found.step, found.rows)
    if not isinstance(found.history, list) or min(counts) < 0:
        raise ValueError("progress")
    return found
