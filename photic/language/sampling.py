"""Choosing the next token from logits, reproducibly.

The steps, in this order (transformers' and llama.cpp's): repetition penalty, temperature, top-k,
top-p, min-p, then one draw. Promises: the same options, seed and logits give the same tokens on
every machine with the same floating-point results of ``exp``; a draw uses one number of the
generator, whatever the options.

Does not compute logits, remember what was said, or know which tokens end an answer.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from photic.language.errors import BadSampling

SEED_LIMIT = 1 << 64
# A generator's raw 64 bits become a number in [0, 1) by their upper 53, a double's precision.
UNUSED_BITS = 11
UNIT = 2.0**-53
# Tokens looked at first, of the whole vocabulary, for those of the top-p mass; then times 16.
FIRST_NUCLEUS = 256
NUCLEUS_GROWTH = 16
RUN = 256  # chances added up together in a draw; about the root of a vocabulary's size


@dataclass(frozen=True, slots=True)
class SamplingOptions:
    """How to choose a token; raises BadSampling, naming the option, when one makes no sense.

    ``temperature`` 0 always takes the likeliest token. ``top_k`` 0, ``top_p`` 1, ``min_p`` 0 and
    ``repetition_penalty`` 1 are off. ``repetition_penalty`` above 1 makes tokens that were used
    already less likely: a positive logit is divided by it, a negative one multiplied.
    """

    temperature: float = 0.0
    top_k: int = 0
    top_p: float = 1.0
    min_p: float = 0.0
    repetition_penalty: float = 1.0
    seed: int = 0

    def __post_init__(self) -> None:
        for option in _OPTIONS:
            _check(option, getattr(self, option.name))


@dataclass(frozen=True, slots=True)
class _Option:
    """The range of one option: ``low`` to ``high``; each end belongs to it or does not."""

    name: str
    kind: type[int] | type[float]
    low: float
    high: float
    expected: str
    low_allowed: bool = True
    high_allowed: bool = True


_OPTIONS = (
    _Option("temperature", float, 0, math.inf, "a finite number, 0 or more", high_allowed=False),
    _Option("top_k", int, 0, math.inf, "an integer, 0 or more"),
    _Option("top_p", float, 0, 1, "a number above 0, at most 1", low_allowed=False),
    _Option("min_p", float, 0, 1, "a number from 0 to 1"),
    _Option(
        "repetition_penalty", float, 0, math.inf, "a finite number above 0",
        low_allowed=False, high_allowed=False,
    ),
    _Option("seed", int, 0, SEED_LIMIT, "an integer from 0 to 2**64 - 1", high_allowed=False),
)  # fmt: skip


def _check(option: _Option, given: object) -> None:
    kinds = (int, np.integer) if option.kind is int else (int, float, np.integer, np.floating)
    if isinstance(given, kinds) and not isinstance(given, bool):
        above = given >= option.low if option.low_allowed else given > option.low
        below = given <= option.high if option.high_allowed else given < option.high
        if above and below:
            return
    raise BadSampling(option=option.name, given=repr(given), expected=option.expected)


class Sampler:
    """Draws tokens, one after another; not safe to share between threads."""

    __slots__ = ("_bits", "options")

    def __init__(self, options: SamplingOptions) -> None:
        self.options = options
        self._bits = np.random.Philox(key=options.seed)

    def pick(self, logits: NDArray[np.float32], used: Sequence[int] | NDArray[np.integer]) -> int:
        """The next token for ``logits``, shape (vocabulary,), float32; they are not changed.

        ``used`` are the tokens so far, of prompt and answer, for the repetition penalty. -inf
        forbids a token. Raises BadSampling when a logit is NaN or +inf, or all are -inf. Of equal
        likeliest tokens temperature 0 takes the lowest.
        """
        if self.options.temperature == 0:
            return int(np.argmax(_scores(logits, used, self.options)))
        tokens, chances = distribution(logits, used, self.options)
        part = (int(self._bits.random_raw()) >> UNUSED_BITS) * UNIT
        return int(tokens[_place_at(chances, part)])


def distribution(
    logits: NDArray[np.float32],
    used: Sequence[int] | NDArray[np.integer],
    options: SamplingOptions,
) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
    """Candidates, rising, and their chances up to a common factor (the best: 1).

    A chance of 0 is never drawn. ``options.temperature`` must not be 0. Tokens that tie with the
    k-th of top-k all stay; of equal tokens at the edge of top-p the lowest stay. Errors as
    ``Sampler.pick``.
    """
    assert options.temperature > 0
    scores = _scores(logits, used, options)
    # The best becomes 0 before the division, so that a tiny temperature cannot overflow.
    scores = scores - scores.max()
    with np.errstate(over="ignore"):
        scores /= np.float32(max(options.temperature, _SMALLEST_TEMPERATURE))
    tokens = _all_tokens(len(scores))
    if 0 < options.top_k < len(scores):
        tokens = _top_k(scores, options.top_k)
        scores = scores[tokens]
    chances = np.exp(scores, out=scores)
    if options.top_p < 1:
        kept = _top_p(chances, options.top_p)
        tokens, chances = tokens[kept], chances[kept]
    if options.min_p > 0:
        kept = np.flatnonzero(chances >= np.float32(options.min_p))
        tokens, chances = tokens[kept], chances[kept]
    return tokens, chances


def _place_at(chances: NDArray[np.float32], part: float) -> int:
    """The place at which ``part``, in [0, 1), of the sum of all chances is passed.

    First the run of RUN chances that holds it, then the place in the run: adding up runs is
    several times faster than a running sum over the vocabulary.
    """
    runs = np.add.reduceat(chances, np.arange(0, len(chances), RUN), dtype=np.float64)
    sums = np.cumsum(runs)
    run, left = _first_past(sums, part * sums[-1])
    inside = np.cumsum(chances[run * RUN : (run + 1) * RUN], dtype=np.float64)
    return run * RUN + _first_past(inside, left)[0]


def _first_past(sums: NDArray[np.float64], point: float) -> tuple[int, float]:
    """The first place whose running sum exceeds ``point``, and how far into it ``point`` lies."""
    # Rounding can lift the point to the sum of all: then it is the last that adds anything.
    last = int(np.searchsorted(sums, sums[-1], side="left"))
    place = min(int(np.searchsorted(sums, point, side="right")), last)
    return place, point - (float(sums[place - 1]) if place else 0.0)


_SMALLEST_TEMPERATURE = float(np.finfo(np.float32).tiny)


@lru_cache(maxsize=1)
def _all_tokens(count: int) -> NDArray[np.int64]:
    tokens = np.arange(count)
    tokens.flags.writeable = False
    return tokens


def _scores(
    logits: NDArray[np.float32],
    used: Sequence[int] | NDArray[np.integer],
    options: SamplingOptions,
) -> NDArray[np.float32]:
    """The logits after the penalty; they may share storage with ``logits``."""
    scores = logits
    if options.repetition_penalty != 1 and len(used) > 0:
        scores = _penalised(logits, np.unique(np.asarray(used, np.int64)), options)
    best = scores.max(initial=-np.inf)
    if np.isfinite(best):
        return scores
    given = "NaN" if np.isnan(best) else f"{best} at best"
    raise BadSampling(option="a logit", given=given, expected="finite for at least one token")


def _penalised(
    logits: NDArray[np.float32], used: NDArray[np.int64], options: SamplingOptions
) -> NDArray[np.float32]:
    penalty = np.float32(options.repetition_penalty)
    chosen = logits[used]
    scores = logits.copy()
    with np.errstate(over="ignore"):
        scores[used] = np.where(chosen < 0, chosen * penalty, chosen / penalty)
    return scores


def _top_k(scores: NDArray[np.float32], count: int) -> NDArray[np.int64]:
    """Places, rising, of the ``count`` best and of those that equal the last of them."""
    if count >= len(scores):
        return np.arange(len(scores))
    edge = np.partition(scores, len(scores) - count)[len(scores) - count]
    return np.flatnonzero(scores >= edge)


def _top_p(chances: NDArray[np.float32], mass: float) -> NDArray[np.int64]:
    """Places, rising, of the fewest best whose chances add up to ``mass`` of the whole."""
    wanted = mass * float(chances.sum(dtype=np.float64))
    count = FIRST_NUCLEUS
    while True:
        places = _best_first(chances, count)
        sums = np.cumsum(chances[places], dtype=np.float64)
        if sums[-1] >= wanted or len(places) == len(chances):
            needed = int(np.searchsorted(sums, wanted, side="left")) + 1
            return np.sort(places[:needed])
        count *= NUCLEUS_GROWTH


def _best_first(chances: NDArray[np.float32], count: int) -> NDArray[np.int64]:
    places = _top_k(chances, count)
    return places[np.argsort(-chances[places], kind="stable")]
