"""Progress of the slow stages before the first token, on stderr.

A terminal gets one bar per stage; a log file gets one line per stage. Nothing is written, and
nothing imported, when no stage is reported: a warm start is silent and quick.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from photic.cli.table import quantity

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

Report = Callable[[str, int, int], None]
"""``report(stage, done, total)``; a total of 0 means that it is not known yet."""


@dataclass(frozen=True, slots=True)
class Stage:
    """How a stage is shown: its words, and whether it counts bytes."""

    words: str
    in_bytes: bool


STAGES = {
    "pull": Stage("Fetching the model", True),
    "compile": Stage("Compiling", False),
}


def shown(stage: str) -> Stage:
    return STAGES.get(stage, Stage(stage.capitalize(), False))


@contextmanager
def progress() -> Iterator[Report]:
    """A ``report`` function that draws on stderr until the ``with`` statement ends."""
    if not sys.stderr.isatty():
        yield _reporter_of_lines()
        return
    with ExitStack() as stack:
        yield _reporter_of_bars(stack)


def _reporter_of_lines() -> Report:
    seen: set[str] = set()

    def report(stage: str, done: int, total: int) -> None:
        if stage not in seen:
            seen.add(stage)
            print(f"{shown(stage).words} ...", file=sys.stderr, flush=True)

    return report


def _reporter_of_bars(stack: ExitStack) -> Report:
    """Bars that ``stack`` takes away; they begin with the first report."""
    tasks: dict[str, TaskID] = {}
    started: list[Progress] = []

    def report(stage: str, done: int, total: int) -> None:
        if not started:
            started.append(stack.enter_context(_bars()))
        (bars,) = started
        if stage not in tasks:
            tasks[stage] = bars.add_task(shown(stage).words, total=None, amount="")
        bars.update(
            tasks[stage], completed=done, total=total or None, amount=amount(stage, done, total)
        )

    return report


def _bars() -> Progress:
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.fields[amount]}"),
        TimeElapsedColumn(),
        console=Console(stderr=True),
        transient=True,
    )


def amount(stage: str, done: int, total: int) -> str:
    """``3/7``, or ``12.5 MB of 93.0 MB``; without a total, what is done so far, or nothing."""
    if shown(stage).in_bytes:
        counts = (done, total) if total else (done,)
        return " of ".join(quantity(count, "B") for count in counts)
    return f"{done}/{total}" if total else str(done or "")
