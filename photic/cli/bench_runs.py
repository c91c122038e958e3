"""The runs of ``photic bench``: programs in processes of their own, timed in turns.

In every round each program is run once or, if that is short, several times; the order changes from
round to round, so that a drift of the machine meets all alike. Between two programs there is a
pause in which threads of the one before, which still wait for work, go to sleep.
"""

from __future__ import annotations

import json
import math
import statistics
import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from photic.cli import bench_worker
from photic.cli.bench_worker import KINDS
from photic.cli.peer_process import PeerProcess

if TYPE_CHECKING:
    from photic.storage.artifact import Array

LEAST_SECONDS = 0.02  # of one measurement; shorter runs are repeated
PAUSE_SECONDS = 0.01  # runtimes let threads spin for about a millisecond


@dataclass(frozen=True, slots=True)
class Entrant:
    """What is measured: a kind of program, its file, what it is fed."""

    kind: str
    path: Path
    feeds: Mapping[str, Array]
    sizes: Mapping[str, int] = field(default_factory=dict)


@dataclass(slots=True)
class Figures:
    """What was found of one program; ``seconds`` are of one run, of each round."""

    name: str
    version: str
    opening: float
    outputs: list[Array]
    seconds: list[float] = field(default_factory=list)
    peak_bytes: int = 0

    @property
    def median(self) -> float:
        """The seconds of a run."""
        return statistics.median(self.seconds)

    @property
    def spread(self) -> float:
        """Half the distance of the quartiles, as a part of the median."""
        if len(self.seconds) < 2:
            return 0.0
        low, _, high = statistics.quantiles(self.seconds, n=4)
        return (high - low) / 2 / self.median


def race(entrants: Sequence[Entrant], threads: int, rounds: int, folder: Path) -> list[Figures]:
    """The figures of every program. Raises PeerMissing, PeerFailed."""
    with ExitStack() as stack:
        started = [_started(stack, one, threads, folder / f"{k}") for k, one in enumerate(entrants)]
        runs = [max(1, math.ceil(LEAST_SECONDS / _seconds(one, 1))) for _, one in started]
        order = list(range(len(started)))
        for _ in range(rounds):
            for k in order:
                figures, process = started[k]
                figures.seconds.append(_seconds(process, runs[k]) / runs[k])
            order.reverse()
        for figures, process in started:
            figures.peak_bytes = int(str(process.job(runs=0)["peak_bytes"]))
    return [figures for figures, _ in started]


def _started(
    stack: ExitStack, one: Entrant, threads: int, files: Path
) -> tuple[Figures, PeerProcess]:
    """A process that has run once."""
    given, results = files.with_suffix(".in.npz"), files.with_suffix(".out.npz")
    np.savez(given, **one.feeds)  # type: ignore[arg-type]
    kind = KINDS[one.kind]
    arguments = [one.kind, str(one.path), str(given), str(results), str(threads)]
    arguments.append(json.dumps(dict(one.sizes)))
    settings = {"PHOTIC_THREADS": str(threads)}
    process = PeerProcess(one.kind, kind.package, bench_worker.__name__, arguments, **settings)
    stack.enter_context(closing(process))
    with np.load(results, allow_pickle=False) as arrays:
        outputs = [arrays[name] for name in arrays.files]
    told = process.greeting
    opening = float(str(told["opening"])) + float(str(told["first"]))
    return Figures(one.kind, str(told["version"]), opening, outputs), process


def _seconds(process: PeerProcess, runs: int) -> float:
    time.sleep(PAUSE_SECONDS)
    return float(str(process.job(runs=runs)["seconds"]))


def largest_error(got: Sequence[Array], expected: Sequence[Array]) -> float:
    """The largest difference, as a part of the largest number of its output; inf if shapes differ.

    Where both are nan or the same infinity there is no difference.
    """
    worst = 0.0
    for one, other in zip(got, expected, strict=True):
        if one.shape != other.shape:
            return math.inf
        a, b = (np.asarray(x, np.float64) for x in (one, other))
        same = (a == b) | (np.isnan(a) & np.isnan(b))
        with np.errstate(invalid="ignore"):
            difference = np.where(same, 0.0, np.abs(a - b))
        largest = float(np.max(np.abs(b), where=np.isfinite(b), initial=0.0))
        error = float(np.max(difference, initial=0.0))
        worst = max(worst, math.inf if math.isnan(error) else error / (largest or 1.0))
    return worst
