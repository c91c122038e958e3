"""What is said of candidates that were raced at several sets of sizes, by their outcomes there.

How fast one was beside the best so far, and whether it wins. Of two whose times cannot be told
apart the one that needs clearly less memory is the better one (``is_thriftier``).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import fmean

from photic.search.space import Candidate, most_bytes
from photic.targets.measure import MARGIN, Outcome, Timed, Unmeasured, beats, ratio
from photic.tuning import tried
from photic.tuning.candidate import scratch_of
from photic.tuning.trial import Source

CLEARLY_LESS = 0.5  # of the memory of another candidate
LEAST_BYTES = 1 << 16  # less memory stays in a near cache and does not matter
NEAR = 2 * MARGIN  # of the time: what a race of many may hide, and one of two tells


def score(firsts: Sequence[Outcome], outcomes: Sequence[Outcome]) -> float:
    """The time over that of the best so far: the geometric mean of all points; inf if it failed."""
    total = 0.0
    for first, one in zip(firsts, outcomes, strict=True):
        if not (isinstance(first, Timed) and isinstance(one, Timed)):
            return math.inf
        total += math.log(ratio(one.samples, first.samples).median)
    return math.exp(total / len(firsts))


def seen(firsts: Sequence[Outcome], outcomes: Sequence[Outcome]) -> float:
    """As ``score``, but of the slowness that is seen either way: round by round, and at its best.

    A few rounds in which the machine was busy make the one or the other look fast, seldom both.
    """
    total = 0.0
    for first, one in zip(firsts, outcomes, strict=True):
        if isinstance(first, Timed) and isinstance(one, Timed):
            total += math.log(min(one.samples) / min(first.samples))
    return max(score(firsts, outcomes), math.exp(total / len(firsts)))


def seconds_of(best: float, score: float, outcomes: Sequence[Outcome]) -> float | None:
    """A candidate's time, by its ratio to the ``best`` seconds so far; None if it has none.

    If the best so far did not run this time, the candidate's own times are known alone.
    """
    if math.isfinite(score):
        return score * best
    alone = [one.seconds for one in outcomes if isinstance(one, Timed)]
    return fmean(alone) if len(alone) == len(outcomes) else None


def wins(firsts: Sequence[Outcome], outcomes: Sequence[Outcome]) -> bool:
    """Faster beyond doubt at some sizes, and as far as was seen no slower at any."""
    faster = any(beats(one, first) for one, first in zip(outcomes, firsts, strict=True))
    return faster and all(map(is_no_slower, outcomes, firsts))


def is_no_slower(one: Outcome, first: Outcome) -> bool:
    """As far as was seen; beside what was not timed, nothing is slower."""
    if not (isinstance(one, Timed) and isinstance(first, Timed)):
        return not isinstance(first, Timed)
    return ratio(one.samples, first.samples).median <= 1 + MARGIN


def is_upheld(one: Outcome, first: Outcome) -> bool:
    """Whether one was seen to be faster, or there was nothing to see."""
    if isinstance(one, Timed) and isinstance(first, Timed):
        return ratio(one.samples, first.samples).median < 1
    return isinstance(one, Timed | Unmeasured)


def is_open(verdict: str, score: float) -> bool:
    """Whether a race left open that a candidate is faster than what is best after it."""
    return verdict == tried.UNTIMED or (verdict == tried.EVEN and score < 1 - MARGIN)


def is_near(one: Outcome, first: Outcome) -> bool:
    """Whether one was not seen to be slower by more than the margin; also if time was up."""
    return isinstance(one, Unmeasured) or (isinstance(one, Timed) and is_no_slower(one, first))


def is_thriftier(one: Candidate, other: Candidate) -> bool:
    """Whether one needs clearly less memory of its own, and the other so much that it matters."""
    most = bytes_of(other)
    return most >= LEAST_BYTES and bytes_of(one) <= CLEARLY_LESS * most


def bytes_of(made: Candidate) -> int:
    """The memory that it needs besides inputs and outputs, with the scratch of one thread."""
    return most_bytes(made.stored) + scratch_of(made.nests)


@dataclass(frozen=True, slots=True)
class Bar:
    """What a candidate has to keep to in a race with another, and what is said of it then."""

    is_kept: Callable[[Outcome, Outcome], bool]
    won: str
    lost: str


FASTER = Bar(is_upheld, "", "it won, but not once more beside what the search began with")
NO_SLOWER = Bar(is_near, "as fast as the best, with less memory", "less memory, but slower")
AS_FAST = "another is as fast and needs less memory"

Judge = Callable[[Source, Source | None, Bar], tuple[str, str]]  # None: what it began with


def fastest(
    order: Sequence[int], sources: Sequence[Source], verdicts: list[tuple[str, str]], judge: Judge
) -> int | None:
    """The first of those that won a race that is right and faster once more; notes the verdicts."""
    for k in order:
        verdicts[k] = judge(sources[k + 1], None, FASTER)
        if verdicts[k][0] == tried.WON:
            return k
    return None


def thriftier(
    seconds: float,
    sources: Sequence[Source],
    scores: Sequence[float],
    verdicts: list[tuple[str, str]],
    times: list[float | None],
    winner: int | None,
    judge: Judge,
) -> int | None:
    """The winner, or who is as fast as the best and needs clearly less memory.

    Its time counts as that of the best, from which it cannot be told apart; ``seconds`` are those
    of the first source.
    """
    best = sources[0 if winner is None else winner + 1]
    most = (1 + NEAR) * (1.0 if winner is None else scores[winner])
    near = [k for k, one in enumerate(scores) if one <= most and verdicts[k][0] != tried.WRONG]
    less = [k for k in near if is_thriftier(sources[k + 1].candidate, best.candidate)]
    if not less:
        return winner
    found = min(less, key=lambda k: bytes_of(sources[k + 1].candidate))
    verdicts[found] = judge(sources[found + 1], best, NO_SLOWER)
    if verdicts[found][0] != tried.WON:
        return winner
    times[found] = seconds if winner is None else times[winner]
    if winner is not None:
        verdicts[winner] = tried.EVEN, AS_FAST
    return found
