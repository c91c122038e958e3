"""What became of a candidate, in a word and with the reason; told as an event, and kept.

The ``first`` of a region is what a search begins with. Another one ``won`` (it is the best from
then on), was ``slower`` or ``not clearly faster`` in the race, ``failed`` to build or to run, could
not be timed (``untimed``), or was found ``wrong`` by the check.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from photic.base.trace import emit
from photic.forms.candidate_check import Wrong
from photic.search.space import Candidate
from photic.storage.making import Tried
from photic.targets.measure import (
    Crashed,
    Hung,
    Outcome,
    OutOfBounds,
    Refused,
    Unmeasured,
    Unsteady,
)

FIRST, WON, SLOWER, EVEN, FAILED, UNTIMED, WRONG = (
    "first",
    "won",
    "slower",
    "not clearly faster",
    "failed",
    "untimed",
    "wrong",
)
MOST_WHY = 160  # characters


def raced(score: float, outcomes: Sequence[Outcome]) -> tuple[str, str]:
    """The verdict of a race on one that did not win it, and why; ``score`` over the best so far."""
    for one in outcomes:
        match one:
            case Refused(problem=problem):
                return FAILED, _short(f"refused: {problem}")
            case Crashed(how=how):
                return FAILED, _short(f"crashed: {how}")
            case Hung(seconds=seconds):
                return FAILED, f"hung for {seconds:.1f} s"
            case OutOfBounds(where=where):
                return FAILED, _short(f"wrote out of bounds: {where}")
            case Unsteady():
                return UNTIMED, "its times contradict each other"
            case Unmeasured():
                return UNTIMED, "the time was up"
    if score < 1:
        return EVEN, f"{score:.2f} of the time of the best so far, not beyond doubt"
    return SLOWER, f"{score:.2f} times as long as the best so far"


def wrong(found: object) -> tuple[str, str]:
    """The verdict of a check that failed."""
    assert isinstance(found, Wrong)
    numbers = ""
    if not math.isnan(found.limit):
        numbers = f": {found.got:g} for {found.expected:g} ± {found.limit:.2g}"
    return WRONG, _short(f"{found.case}, {found.where}{numbers}")


def tell(
    kept: list[Tried],
    region: str,
    elapsed: float,
    candidates: Sequence[tuple[object, str, float | None, tuple[str, str]]],
) -> None:
    """Keep candidates of one turn (kinds, seconds, verdicts), and emit an event for each."""
    for made, kind, seconds, (verdict, why) in candidates:
        assert isinstance(made, Candidate)
        count = len(made.nests)
        one = Tried(region, len(kept), elapsed, seconds, kind, count, verdict, why)
        kept.append(one)
        emit(
            "search",
            "candidate",
            region=region,
            number=one.number,
            elapsed=elapsed,
            seconds=seconds,
            kind=kind,
            kernels=count,
            verdict=verdict,
            why=why,
        )


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= MOST_WHY else f"{line[:MOST_WHY]} ..."
