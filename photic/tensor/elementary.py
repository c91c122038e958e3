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
from photic.tensor.compare import limited
from photic.tensor.primitive import (
    constant_like,
    exp2,
    in_float32,
    less,
    log2,
    masked,
    reciprocal,
    sqrt,
    where,
)
from photic.tensor.rounding import abs
from photic.tensor.tensor import Tensor

LOG2_E = math.log2(math.e)
LN_2 = math.log(2)
LOG10_2 = math.log10(2)
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


def exp_times_power(x: Tensor, power: int) -> Tensor:
    """``e**x * 2**power``, right where only the product is in range."""
    split = SPLITS[x.dtype]
    return _exp_in_range(limited(x, split.least, split.most), power)


def exp_of_at_most_0(x: Tensor) -> Tensor:
    """``e**x`` for ``x <= 0`` or nan."""
    least = constant_like(x, SPLITS[x.dtype].least)
    return _exp_in_range(where(less(x, least), least, x), 0)


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


def polynomial(x: Tensor, coefficients: Sequence[float]) -> Tensor:
    """``c0 + c1*x + c2*x**2 + ...`` by Horner's rule."""
    result = constant_like(x, coefficients[-1])
    for one in reversed(coefficients[:-1]):
        result = result * x + one
    return result


# Between these arguments e**x - 1 would lose digits; its Taylor series does not. The counts of
# terms leave less than a quarter of an ulp at both ends.
SERIES_FROM, SERIES_TO = -1.0, 1.5
SERIES_TERMS: dict[DType, int] = {FLOAT32: 12, FLOAT64: 20}


@in_float32
def expm1(x: Tensor) -> Tensor:
    """e**x - 1, relatively right also near 0. expm1(-0) = -0, expm1(-inf) = -1."""
    terms = [1 / math.factorial(n) for n in range(2, SERIES_TERMS[x.dtype] + 1)]
    near = limited(x, SERIES_FROM, SERIES_TO)
    series = near + near * near * polynomial(near, terms)
    is_near = less(SERIES_FROM, x) * less(x, SERIES_TO)
    result = where(is_near, series, exp_times_power(x, 0) - 1.0)
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


@in_float32
def rsqrt(x: Tensor) -> Tensor:
    """1/sqrt(x). rsqrt(0) = inf, rsqrt(x < 0) = nan."""
    return reciprocal(sqrt(x))
