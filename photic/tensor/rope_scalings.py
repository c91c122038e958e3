"""The published ways of stretching a context, and how fast each pair of a head turns by them.

A record says which way and with which numbers; ``fixed_rates`` gives radians a token for each pair
and the gain of cos and sin, as numbers. ``width`` is how many elements of a head turn: all of them,
or fewer for a partial rotation. The two kinds that depend on how long the sequence is are
``rope_rates.py``'s. Reading the numbers from a model's file is up to others.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from photic.base.errors import BadArgument

Rates = npt.NDArray[np.float64]
DEFAULT_BASE = 10000.0


# --- the ways -------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class RopePlain:
    """``base**(-2*pair/width)``: Su and others 2021."""

    width: int
    base: float = DEFAULT_BASE


@dataclass(frozen=True, slots=True)
class RopeLinear:
    """Every rate over ``factor``: Chen and others 2023."""

    width: int
    base: float
    factor: float


@dataclass(frozen=True, slots=True)
class RopeDynamic:
    """The base grows with the length beyond ``trained``: dynamic NTK, Peng and others 2023, 3.3."""

    width: int
    base: float
    factor: float
    trained: int


@dataclass(frozen=True, slots=True)
class RopeYarn:
    """Fast pairs keep their rate, slow ones go over ``factor``, between them a ramp.

    YaRN, Peng and others 2023, sections 3.2 and 3.4. ``fast`` and ``slow`` are the turns within
    ``trained`` tokens where the ramp begins and ends, at whole pairs if ``truncate``. ``gain`` is
    that of cos and sin; without it, ``yarn_gain(factor)``, or where both are given
    ``yarn_gain(factor, mscale)/yarn_gain(factor, mscale_all)`` as DeepSeek has it.
    """

    width: int
    base: float
    factor: float
    trained: float
    fast: float = 32.0
    slow: float = 1.0
    truncate: bool = True
    gain: float | None = None
    mscale: float | None = None
    mscale_all: float | None = None


@dataclass(frozen=True, slots=True)
class RopeLlama3:
    """Waves longer than ``trained/low`` go over ``factor``, shorter than ``trained/high`` stay.

    Llama 3.1, Meta's reference code; between them the rates are mixed.
    """

    width: int
    base: float
    factor: float
    low: float
    high: float
    trained: int


@dataclass(frozen=True, slots=True)
class RopeLong:
    """Each pair over a number of its own: ``short`` up to ``trained`` tokens, ``long`` beyond.

    LongRoPE, Ding and others 2024; Phi-3 calls it ``longrope`` or ``su``. ``factor`` is how much
    further than trained it reaches; the gain is ``sqrt(1 + ln(factor)/ln(trained))`` unless
    ``short_gain`` and ``long_gain`` say otherwise.
    """

    width: int
    base: float
    short: tuple[float, ...]
    long: tuple[float, ...]
    trained: int
    factor: float
    short_gain: float | None = None
    long_gain: float | None = None


@dataclass(frozen=True, slots=True)
class RopeProportional:
    """The first ``fraction`` of all pairs turn, at the rates of the whole ``width``; others do not.

    Gemma 4's global layers. Rates go over ``factor``.
    """

    width: int
    base: float
    fraction: float
    factor: float = 1.0


RopeFixed = RopePlain | RopeLinear | RopeYarn | RopeLlama3 | RopeProportional
RopeScaling = RopeFixed | RopeDynamic | RopeLong


# --- their rates ----------------------------------------------------------------------------

POSITIVE = ("base", "factor", "trained", "fast", "slow", "low", "high", "gain")


def check_scaling(scaling: RopeScaling) -> None:
    """Raise BadArgument for an odd width, or one below 2, and for numbers without sense."""
    least = 4 if isinstance(scaling, RopeDynamic) else 2
    if scaling.width % 2 or scaling.width < least:
        raise bad_scaling("width", scaling.width, f"an even number of {least} or more")
    for name in POSITIVE:
        value = getattr(scaling, name, None)
        if value is not None and not (math.isfinite(value) and value > 0):
            raise bad_scaling(name, value, "a finite number above 0")


def bad_scaling(argument: str, given: object, expected: str) -> BadArgument:
    """The error for a number of a scaling."""
    return BadArgument(op="rope_rates", argument=argument, given=given, expected=expected)


def unscaled_rates(width: int, base: float) -> Rates:
    """``base**(-2*pair/width)`` of each pair."""
    pairs: Rates = np.arange(0, width, 2, dtype=np.float64)
    return np.power(base, -pairs / width)


def _plain(one: RopePlain) -> tuple[Rates, float]:
    return unscaled_rates(one.width, one.base), 1.0


def _linear(one: RopeLinear) -> tuple[Rates, float]:
    return unscaled_rates(one.width, one.base) / one.factor, 1.0


def _proportional(one: RopeProportional) -> tuple[Rates, float]:
    rates = unscaled_rates(one.width, one.base) / one.factor
    rates[int(one.fraction * one.width // 2) :] = 0.0
    return rates, 1.0


def _llama3(one: RopeLlama3) -> tuple[Rates, float]:
    rates = unscaled_rates(one.width, one.base)
    turns = one.trained * rates / (2 * math.pi)  # within the trained context
    kept = np.clip((turns - one.low) / (one.high - one.low), 0.0, 1.0)
    return rates * (kept + (1 - kept) / one.factor), 1.0


# --- YaRN -----------------------------------------------------------------------------------

YARN_LEAST_RAMP = 0.001  # pairs, where both ends of the ramp meet
YARN_GAIN = 0.1  # Peng and others 2023, section 3.4


def yarn_gain(factor: float, mscale: float = 1.0) -> float:
    """``1 + 0.1*mscale*ln(factor)``; 1 where nothing is stretched.

    The gain of cos and sin; models after DeepSeek multiply their score's scale by its square.
    """
    return 1.0 if factor <= 1 else 1.0 + YARN_GAIN * mscale * math.log(factor)


def _yarn(one: RopeYarn) -> tuple[Rates, float]:
    if one.base == 1:
        raise bad_scaling("base", one.base, "another number than 1")
    rates = unscaled_rates(one.width, one.base)
    first, last = (_pair_turning(one, turns) for turns in (one.fast, one.slow))
    if one.truncate:
        first, last = math.floor(first), math.ceil(last)
    first, last = max(first, 0), min(last, one.width - 1)
    ramp = (np.arange(one.width // 2) - first) / ((last - first) or YARN_LEAST_RAMP)
    slowed = np.clip(ramp, 0.0, 1.0)
    return rates / one.factor * slowed + rates * (1 - slowed), _yarn_gain_of(one)


def _pair_turning(one: RopeYarn, turns: float) -> float:
    """The pair, a real number, that turns so many times in ``trained`` tokens.

    ``base**(-2*pair/width) * trained = 2*pi*turns``, solved for the pair.
    """
    ratio = one.trained / (turns * 2 * math.pi)
    return one.width * math.log(ratio) / (2 * math.log(one.base))


def _yarn_gain_of(one: RopeYarn) -> float:
    if one.gain is not None:
        return one.gain
    if one.mscale and one.mscale_all:
        return yarn_gain(one.factor, one.mscale) / yarn_gain(one.factor, one.mscale_all)
    return yarn_gain(one.factor)


_FIXED: dict[type, Callable[..., tuple[Rates, float]]] = {
    RopePlain: _plain,
    RopeLinear: _linear,
    RopeProportional: _proportional,
    RopeLlama3: _llama3,
    RopeYarn: _yarn,
}


def fixed_rates(scaling: RopeFixed) -> tuple[Rates, float]:
    """The rates of ``width/2`` pairs, float64, and the gain; BadArgument as ``rope_rates``."""
    check_scaling(scaling)
    return _FIXED[type(scaling)](scaling)
