"""What a search has come to so far, read off its events: for the live view and for summaries.

Nothing is printed here. Callers say what time it is, on the clock that they measure with; the wall
clock is read only to say when a search will end.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field

from photic.base.trace import Event
from photic.cli.table import counted, duration


@dataclass(slots=True)
class Region:
    """One region: its number of stores, turns so far, and seconds of the first and of the best."""

    name: str
    stores: int
    turns: int = 0
    first: float | None = None
    best: float | None = None

    @property
    def gain(self) -> str:
        """``1.8 times`` as fast as when it was first timed; ``-`` before that."""
        if self.first is None or self.best is None:
            return "-"
        return f"{self.first / self.best:.2f} times"

    @property
    def seconds(self) -> str:
        return "-" if self.best is None else duration(self.best)


@dataclass(slots=True)
class Watch:
    """A search under way: ``budget`` in seconds, ``ends`` on the clock that callers pass."""

    budget: float
    ends: float
    candidates: int = 0
    groups: int = 0
    regions: dict[str, Region] = field(default_factory=dict)
    last: str = ""

    def hear(self, event: Event, now: float) -> None:
        """Take in an event of the search; others say nothing here."""
        if (event.stage, event.name) != ("search", "turn"):
            return
        told = event.data
        self.last = str(told["region"])
        region = self.regions.setdefault(self.last, Region(self.last, _count(told["stores"])))
        region.turns += 1
        seconds = told["seconds"]
        if isinstance(seconds, float):
            before = told.get("before")
            region.first = region.first or (before if isinstance(before, float) else seconds)
            region.best = seconds
        self.candidates, self.groups = _count(told["candidates"]), _count(told["regions"])
        left = told["left"]
        assert isinstance(left, int | float)
        self.ends = now + left

    @property
    def counts(self) -> str:
        """``240 candidates in 3 of 12 regions``."""
        if not self.regions:
            return "preparing"
        candidates = counted(self.candidates, "candidate")
        return f"{candidates} in {len(self.regions)} of {self.groups} regions"

    def times(self, now: float) -> str:
        """``41 s left, until 14:03:22``; past that, ``finishing``."""
        left = self.ends - now
        if left <= 0:
            return "finishing"
        until = time.strftime("%H:%M:%S", time.localtime(time.time() + left))
        return f"{left:.0f} s left, until {until}"

    def line(self, now: float) -> str:
        """All of it in one line."""
        parts = [self.counts, self.times(now)]
        if self.last:
            region = self.regions[self.last]
            best = "not timed yet"
            if region.best is not None:
                best = f"{region.seconds}, {region.gain} as fast as before"
            parts.insert(0, f"region {region.name} ({counted(region.stores, 'store')}): {best}")
        return "Searching: " + "; ".join(parts)

    def rows(self) -> Sequence[tuple[str, ...]]:
        """``HEADS`` of each region, the one of the last turn first."""
        names = [self.last, *(name for name in self.regions if name != self.last)]
        shown = [self.regions[name] for name in names if name]
        return [(one.name, str(one.stores), str(one.turns), one.seconds, one.gain) for one in shown]


HEADS = ("region", "stores", "turns", "best", "as fast as before")


def _count(value: object) -> int:
    assert isinstance(value, int)
    return value
