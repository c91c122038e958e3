"""Elementary functions of one float, composed of the primitives: within 4 ulp in float32.

Arguments are split so that no rounding is magnified: an exponent's whole part is taken off with
ln 2 in two parts. Halves are computed in float32 and rounded once; integers become float32.
Accuracy assumes the primitives' 2 ulp.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from photic.ir.dtype import FLOAT32, FLOAT64, DType
from photic.tensor.compare import equal, is_number, isfinite, limited, maximum, minimum
from photic.tensor.primitive import (
    constant_like,
    exp2,
    in_float32,
    less,
    log2,
    masked,
    negated,
    pair_in_float32,
    reciprocal,
    sqrt,
    where,
)
from photic.tensor.rounding import abs
from photic.tensor.tensor import Tensor

LOG2_E = math.log2(math.e)
LN_2 = math.log(2)
LOG10_2 = math.log10(2)
HALF_TURN = 180.0  # degrees
LOG10_2_HIGH = 0.30102539  # in float32 a single constant would cost half an ulp


@dataclass(frozen=True, slots=True)
class Split:
    """How exp splits its argument in one dtype.

    ``high + low`` is 2*ln 2, ``high`` with so few bits that its product with a whole number in
    range is exact; ``rounder`` is 1.5 times the power of two from which floats are whole: adding
    and taking it away rounds. Arguments outside ``least .. most`` give 0 and inf.
    """

    high: float
    low: float
    rounder: float
    least: float
    most: float


# Below this magnitude f(x) = x + O(x**2) is x to half an ulp.
TINY: dict[DType, float] = {FLOAT32: 2.0**-25, FLOAT64: 2.0**-54}

_hex = float.fromhex

SPLITS: dict[DType, Split] = {
    FLOAT32: Split(_hex("0x1.62E4p0"), _hex("0x1.7f7d1cf79abcap-19"), 1.5 * 2**23, -105.0, 90.0),
    FLOAT64: Split(
        _hex("0x1.62E42FEFA38p0"), _hex("0x1.ef35793c7673p-44"), 1.5 * 2**52, -746.0, 713.0
    ),
}


# A chain of more steps would wait for each of its results.
LONGEST_CHAIN = 8


def polynomial(x: Tensor, coefficients: Sequence[float]) -> Tensor:
    """``c0 + c1*x + c2*x**2 + ...`` by Horner's rule, a long one in even and odd parts of x."""
    if len(coefficients) > LONGEST_CHAIN:
        squared = x * x
        even, odd = (polynomial(squared, coefficients[k::2]) for k in range(2))
        return even + x * odd
    result = constant_like(x, coefficients[-1])
    for one in reversed(coefficients[:-1]):
        result = result * x + one
    return result


def exp_times_power(x: Tensor, power: int) -> Tensor:
    """``e**x * 2**power``, right where only the product is in range."""
    split = SPLITS[x.dtype]
    return _exp_in_range(limited(x, split.least, split.most), power)


def _exp_in_range(x: Tensor, power: int) -> Tensor:
    """With ``x = 2*k*ln 2 + r`` it is ``exp2(r*log2 e) * 2**k * 2**(k + power)``.

    The first product is exact, so a subnormal result is rounded once.
    """
    split = SPLITS[x.dtype]
    half = (x * (LOG2_E / 2) + split.rounder) - split.rounder
    rest = (x + half * -split.high) + half * -split.low
    return exp2(rest * LOG2_E) * exp2(half) * exp2(half + float(power) if power else half)


@in_float32
def exp(x: Tensor) -> Tensor:
    """e**x. exp(-inf) = 0, exp(inf) = inf; subnormal results are kept."""
    return exp_times_power(x, 0)


# --- what an exponential is above 1 ----------------------------------------------------------

# e**r - 1 = r + r*r*p(r) for |r| up to ln(2)/2, and in float32 to 0.4. By Remez's exchange in 50
# digits; relative errors 7e-10 and 3e-19.
GROWTH: dict[DType, tuple[float, ...]] = {
    FLOAT32: (0.50000001, 0.16666666, 0.0416661241, 0.00833343507, 0.00139578363, 0.000198464642),
    FLOAT64: (
        0.5,
        0.16666666666666678,
        0.04166666666666649,
        0.0083333333333206899,
        0.001388888888896931,
        0.00019841269888801667,
        2.4801587162973329e-5,
        2.7557241257158925e-6,
        2.7557407383401697e-7,
        2.5110146221922132e-8,
        2.0874891582212761e-9,
    ),
}

# Where expm1 is -1 and infinite to rounding: its power of two stays in range up to there.
GROWN: dict[DType, tuple[float, float]] = {FLOAT32: (-40.0, 89.0), FLOAT64: (-40.0, 710.0)}

# Powers of two below the least normal number are reached by way of this one.
LIFT: dict[DType, int] = {FLOAT32: 64, FLOAT64: 512}


@dataclass(frozen=True, slots=True)
class Growth:
    """``e**x = (1 + part) * 2**power``, the power whole."""

    part: Tensor
    power: Tensor


def growth(high: Tensor, low: Tensor | None = None) -> Growth:
    """Of the sum of both; ``high`` in the range of ``SPLITS``, ``low`` below 1/32 in magnitude."""
    split = SPLITS[high.dtype]
    power = (high * LOG2_E + split.rounder) - split.rounder
    rest = (high + power * (-split.high / 2)) + power * (-split.low / 2)
    rest = rest if low is None else rest + low
    return Growth(rest + rest * rest * polynomial(rest, GROWTH[rest.dtype]), power)


def decayed(factor: Tensor, g: Growth) -> Tensor:
    """``factor * e**x`` where x is at most 0; a subnormal result is rounded once."""
    lift = LIFT[factor.dtype]
    return (factor + factor * g.part) * exp2(g.power + float(lift)) * 2.0**-lift


def exp_of_at_most_0(x: Tensor, power: int = 0) -> Tensor:
    """``e**x * 2**power`` for ``x <= 0`` or nan and a power of at least 0."""
    least = constant_like(x, SPLITS[x.dtype].least - power * LN_2)
    g = growth(where(less(x, least), least, x))
    lift = LIFT[x.dtype]
    return (g.part + 1.0) * exp2(g.power + float(lift)) * 2.0 ** (power - lift)


def expm1_in_range(x: Tensor) -> Tensor:
    """``e**x - 1`` for x of at least -40 whose power of two is in range; loses the sign of -0."""
    g = growth(x)
    scale = exp2(g.power)
    return g.part * scale + (scale - 1.0)


def expm1_of_at_most_0(x: Tensor) -> Tensor:
    """``e**x - 1`` for ``x <= 0`` or nan (x for others), relatively right near 0, -0 too."""
    result = expm1_in_range(limited(x, GROWN[x.dtype][0], 0.0))
    return where(less(-TINY[x.dtype], x), x, result)


@in_float32
def expm1(x: Tensor) -> Tensor:
    """e**x - 1, relatively right also near 0. expm1(-0) = -0, expm1(-inf) = -1."""
    g = growth(limited(x, *GROWN[x.dtype]))
    scale = exp2(g.power - 1.0)  # the power itself may be too large
    result = (g.part * scale + (scale - 0.5)) * 2.0
    return where(less(abs(x), TINY[x.dtype]), x, result)


# --- logarithms -----------------------------------------------------------------------------


@in_float32
def log(x: Tensor) -> Tensor:
    """The natural logarithm. log(0) = -inf, log(x < 0) = nan."""
    return log2(x) * LN_2


@in_float32
def log10(x: Tensor) -> Tensor:
    """The logarithm to base 10. log10(0) = -inf, log10(x < 0) = nan."""
    exponent = log2(x)
    return exponent * LOG10_2_HIGH + exponent * (LOG10_2 - LOG10_2_HIGH)


@in_float32
def log1p(x: Tensor) -> Tensor:
    """log(1 + x), relatively right also near 0. log1p(-1) = -inf, log1p(-0) = -0.

    log of the rounded sum u, and what the rounding left out: (x - (u - 1))/u.
    """
    u = x + 1.0
    left_out = (x - (u - 1.0)) * reciprocal(u)
    corrected = less(0.0, u) * less(u, math.inf)
    result = log2(u) * LN_2 + masked(corrected, left_out)
    return where(less(abs(x), TINY[x.dtype]), x, result)


# --- logarithms of sums of powers -------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Apart:
    """The larger of two, and by how much the other is less: the rounded difference and its error.

    0 of equal infinities; the error is left out where a power of the difference is 0 to rounding.
    """

    larger: Tensor
    high: Tensor
    low: Tensor


def _apart(left: Tensor, right: Tensor) -> Apart:
    larger, smaller = maximum(left, right), minimum(left, right)
    high = smaller - larger
    back = high + larger
    # Knuth, "The Art of Computer Programming" 2, section 4.2.2: what the difference lost, exactly
    low = (smaller - back) + ((back - high) - larger)
    kept = less(SPLITS[high.dtype].least, high)
    return Apart(larger, where(equal(left, right), 0.0, high), masked(kept, low))


def _log_of_one_and(x: Tensor) -> tuple[Tensor, Tensor]:
    """For x in 0 .. 1: log2 of the rounded ``1 + x``, and the natural logarithm of the rest."""
    u = x + 1.0
    return log2(u), (x - (u - 1.0)) * reciprocal(u)


@pair_in_float32
def logaddexp(left: Tensor, right: Tensor) -> Tensor:
    """log(exp(left) + exp(right)) without overflow; of -inf and -inf it is -inf.

    Near 0 the larger and a logarithm cancel: right to the last places of the larger, as NumPy's.
    """
    apart = _apart(left, right)
    least = constant_like(apart.high, SPLITS[apart.high.dtype].least)
    g = growth(where(less(apart.high, least), least, apart.high), apart.low)
    exponent, rest = _log_of_one_and((g.part + 1.0) * exp2(g.power))
    return apart.larger + (exponent * LN_2 + rest)


@pair_in_float32
def logaddexp2(left: Tensor, right: Tensor) -> Tensor:
    """log2(2**left + 2**right) without overflow; of -inf and -inf it is -inf.

    Near 0 the larger and a logarithm cancel: right to the last places of the larger, as NumPy's.
    """
    apart = _apart(left, right)
    power = exp2(apart.high)
    exponent, rest = _log_of_one_and(power + power * (apart.low * LN_2))
    return apart.larger + (exponent + rest * LOG2_E)


@pair_in_float32
def xlogy(left: Tensor, right: Tensor) -> Tensor:
    """left*log(right), but 0 where ``left`` is 0 and ``right`` is not nan."""
    logarithm = log(right)
    is_nothing = equal(left, 0.0) * is_number(right) * negated(isfinite(logarithm))
    return where(is_nothing, 0.0, left * logarithm)


@pair_in_float32
def xlog1py(left: Tensor, right: Tensor) -> Tensor:
    """left*log(1 + right), but 0 where ``left`` is 0 and ``right`` is not nan."""
    logarithm = log1p(right)
    is_nothing = equal(left, 0.0) * is_number(right) * negated(isfinite(logarithm))
    return where(is_nothing, 0.0, left * logarithm)


@in_float32
def entr(x: Tensor) -> Tensor:
    """-x*log(x), 0 at 0, -inf below."""
    inside = where(less(0.0, x), x, 1.0)
    return where(less(x, 0.0), -math.inf, where(equal(x, 0.0), 0.0, x * -log(inside)))


@in_float32
def rsqrt(x: Tensor) -> Tensor:
    """1/sqrt(x). rsqrt(0) = inf, rsqrt(x < 0) = nan."""
    return reciprocal(sqrt(x))


@in_float32
def deg2rad(x: Tensor) -> Tensor:
    """Degrees to radians."""
    return x * (math.pi / HALF_TURN)


@in_float32
def rad2deg(x: Tensor) -> Tensor:
    """Radians to degrees."""
    return x * (HALF_TURN / math.pi)


# NumPy's other names.
radians, degrees = deg2rad, rad2deg
