"""A training's progress on stderr: a bar on a terminal, a line an epoch in a log file."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from photic.nn.callbacks import Callback, Moment, Plan

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress, TaskID

SHOWN_DIGITS = 4


class ProgressBar(Callback):
    """Shows epochs, batches and figures; ``console`` is rich's, on stderr unless given."""

    def __init__(self, console: Console | None = None) -> None:
        self._given = console
        self._console = console
        self._bars: Progress | None = None
        self._task: TaskID | None = None
        self._plan = Plan(0, 0, 0, 0)

    def begin(self, plan: Plan) -> None:
        from rich.console import Console

        self._plan = plan
        self._console = self._given or Console(stderr=True)
        if self._console.is_terminal:
            self._bars = _bars(self._console)
            self._bars.start()
            self._task = self._bars.add_task(self._words(plan.epoch), total=None, figures="")

    def after_step(self, moment: Moment) -> None:
        if self._bars is not None and self._task is not None:
            self._bars.update(
                self._task,
                description=self._words(moment.epoch),
                completed=moment.batch,
                total=self._plan.batches or None,
                figures=figures(moment.values),
            )

    def after_epoch(self, moment: Moment) -> None:
        assert self._console is not None
        words = f"{self._words(moment.epoch)}  {figures(moment.values)}"
        self._console.print(words, highlight=False, soft_wrap=True)

    def end(self) -> None:
        if self._bars is not None:
            self._bars.stop()
            self._bars = None

    def _words(self, epoch: int) -> str:
        return f"epoch {epoch + 1}/{self._plan.epochs}"


def figures(values: Mapping[str, float]) -> str:
    """``loss 0.1234  accuracy 0.97``"""
    return "  ".join(f"{name} {value:.{SHOWN_DIGITS}g}" for name, value in values.items())


def _bars(console: Console) -> Progress:
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[figures]}"),
        TimeElapsedColumn(),
    )
    return Progress(*columns, console=console, transient=True)
