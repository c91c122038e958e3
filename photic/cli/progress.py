"""Progress of the slow stages before the first token, on stderr.

A terminal gets one bar per stage, and a table of regions while it searches; a log file gets one
line per stage, and at most one a second of the search. Nothing is written, and nothing imported,
when no stage is reported: a warm start is silent and quick.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from photic.base.trace import Event, listening
from photic.cli.table import quantity
from photic.cli.watch import HEADS, Watch

if TYPE_CHECKING:
    from rich.console import Group
    from rich.progress import Progress, TaskID
    from rich.table import Table

Report = Callable[[str, int, int], None]
"""``report(stage, done, total)``; a total of 0 means that it is not known yet."""

SEARCH = "search"
LINE_SECONDS = 1.0  # between two lines of a search in a log file
SHOWN_REGIONS = 8  # of a search on a terminal: the rest would scroll


@dataclass(frozen=True, slots=True)
class Stage:
    """How a stage is shown: its words, and whether it counts bytes."""

    words: str
    in_bytes: bool


STAGES = {
    "pull": Stage("Fetching the model", True),
    "compile": Stage("Compiling", False),
    SEARCH: Stage("Searching", False),
}


def shown(stage: str) -> Stage:
    return STAGES.get(stage, Stage(stage.capitalize(), False))


@contextmanager
def progress() -> Iterator[Report]:
    """A ``report`` function that draws on stderr until the ``with`` statement ends.

    Once the stage "search" is reported, with its seconds as the total, events are drawn too.
    """
    with ExitStack() as stack:
        drawn = _Bars(stack) if sys.stderr.isatty() else _Lines()
        stack.enter_context(listening(drawn.hear))
        yield drawn.report


def _watch_of(seconds: int) -> Watch:
    return Watch(seconds, time.monotonic() + seconds)


# --- a log file -----------------------------------------------------------------------------


@dataclass(slots=True)
class _Lines:
    seen: set[str] = field(default_factory=set)
    watch: Watch | None = None
    wrote: float = 0.0

    def report(self, stage: str, done: int, total: int) -> None:
        if stage not in self.seen:
            self.seen.add(stage)
            print(f"{shown(stage).words} ...", file=sys.stderr, flush=True)
        if stage == SEARCH:
            self.watch = _watch_of(total)

    def hear(self, event: Event) -> None:
        if self.watch is None or event.stage != SEARCH:
            return
        now = time.monotonic()
        self.watch.hear(event, now)
        if self.watch.last and now - self.wrote >= LINE_SECONDS:
            self.wrote = now
            print(self.watch.line(now), file=sys.stderr, flush=True)


# --- a terminal -----------------------------------------------------------------------------


@dataclass(slots=True)
class _Bars:
    """Bars that ``stack`` takes away; they begin with the first report."""

    stack: ExitStack
    tasks: dict[str, TaskID] = field(default_factory=dict)
    bars: Progress | None = None
    watch: Watch | None = None

    def report(self, stage: str, done: int, total: int) -> None:
        bars = self.bars or self._begin()
        if stage not in self.tasks:
            self.tasks[stage] = bars.add_task(shown(stage).words, total=None, amount="")
        if stage == SEARCH:
            self.watch = _watch_of(total)
        else:
            amounts = amount(stage, done, total)
            bars.update(self.tasks[stage], completed=done, total=total or None, amount=amounts)

    def hear(self, event: Event) -> None:
        if self.watch is not None:
            self.watch.hear(event, time.monotonic())

    def _begin(self) -> Progress:
        from rich.console import Console
        from rich.live import Live

        self.bars = _bars()
        live = Live(console=Console(stderr=True), transient=True, get_renderable=self._drawn)
        self.stack.enter_context(live)
        return self.bars

    def _drawn(self) -> Group:
        """The bars, and the regions of a search below them; drawn several times a second."""
        from rich.console import Group

        assert self.bars is not None
        if self.watch is None:
            return Group(self.bars)
        now = time.monotonic()
        past = max(0.0, self.watch.budget - max(0.0, self.watch.ends - now))
        words = f"{self.watch.counts}; {self.watch.times(now)}"
        task = self.tasks[SEARCH]
        self.bars.update(task, completed=past, total=self.watch.budget, amount=words)
        return Group(self.bars, *([_regions(self.watch)] if self.watch.regions else []))


def _bars() -> Progress:
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.fields[amount]}"),
        TimeElapsedColumn(),
    )


def _regions(watch: Watch) -> Table:
    from rich.table import Table

    drawn = Table(*HEADS, box=None, padding=(0, 2, 0, 0))
    for row in watch.rows()[:SHOWN_REGIONS]:
        drawn.add_row(*row)
    return drawn


def amount(stage: str, done: int, total: int) -> str:
    """``3/7``, or ``12.5 MB of 93.0 MB``; without a total, what is done so far, or nothing."""
    if shown(stage).in_bytes:
        counts = (done, total) if total else (done,)
        return " of ".join(quantity(count, "B") for count in counts)
    return f"{done}/{total}" if total else str(done or "")
