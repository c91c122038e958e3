"""Elementary functions of one float, composed of the primitives: within 4 ulp in float32.

Arguments are split so that no rounding is magnified: an exponent's whole part is taken off with
ln 2 in two parts, and a cosine is a quotient of two sines of exact arguments. Halves are computed
in float32 and rounded once; integers become float32. Accuracy assumes the primitives' 2 ulp.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from photic.ir.dtype import FLOAT32, FLOAT64, DType
from photic.tensor.compare import limited, maximum
from photic.tensor.primitive import (
    exp2,
    in_float32,
    less,
    log2,
    reciprocal,
    sin,
    sqrt,
    where,
)
from photic.tensor.rounding import abs
from photic.tensor.tensor import Tensor, Value

LOG2_E = math.log2(math.e)
LN_2 = math.log(2)
LOG10_2 = math.log10(2)


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


_hex = float.fromhex

SPLITS: dict[DType, Split] = {
    FLOAT32: Split(_hex("0x1.62E4p0"), _hex("0x1.7f7d1cf79abcap-19"), 1.5 * 2**23, -105.0, 90.0),
    FLOAT64: Split(
        _hex("0x1.62E42FEFA38p0"), _hex("0x1.ef35793c7673p-44"), 1.5 * 2**52, -746.0, 711.0
    ),
}


def exp_times_power(x: Tensor, power: int) -> Tensor:
    """``e**x * 2**power``, right where only the product is in range.

    With ``x = 2*k*ln 2 + r`` it is ``exp2(r*log2 e) * 2**k * 2**(k + power)``; the first product
    is exact, so a subnormal result is rounded once.
    """
    split = SPLITS[x.dtype]
    x = limited(x, split.least, split.most)
    rounder = split.rounder
    half = (x * (LOG2_E / 2) + rounder) - rounder
    rest = (x - half * split.high) - half * split.low
    return exp2(rest * LOG2_E) * exp2(half) * exp2(half + float(power) if power else half)


@in_float32
def exp(x: Tensor) -> Tensor:
    """e**x. exp(-inf) = 0, exp(inf) = inf; subnormal results are kept."""
    return exp_times_power(x, 0)


# --- logarithms -----------------------------------------------------------------------------


@in_float32
def log(x: Tensor) -> Tensor:
    """The natural logarithm. log(0) = -inf, log(x < 0) = nan."""
    return log2(x) * LN_2


@in_float32
def log10(x: Tensor) -> Tensor:
    """The logarithm to base 10. log10(0) = -inf, log10(x < 0) = nan."""
    return log2(x) * LOG10_2


@in_float32
def rsqrt(x: Tensor) -> Tensor:
    """1/sqrt(x). rsqrt(0) = inf, rsqrt(x < 0) = nan."""
    return reciprocal(sqrt(x))


# --- waves ----------------------------------------------------------------------------------

# cos(x) is sin(2x)/(2 sin(x)) where the sine is not small: both sines are relatively right, their
# arguments exact. Elsewhere |cos(x)| is sqrt(1 - sin(x)**2), and those two sines give the sign.
SMALL_SINE = 0.5


@in_float32
def cos(x: Tensor) -> Tensor:
    """The cosine, over the whole range; never above 1. cos(inf) = nan."""
    sine, double = sin(x), sin(x * 2.0)
    is_small = less(-SMALL_SINE, sine) * less(sine, SMALL_SINE)
    magnitude = sqrt(1.0 - sine * sine)
    from_root = where(less(double * sine, 0.0), -magnitude, magnitude)
    result = where(is_small, from_root, double * reciprocal(sine * 2.0))
    # beyond half the largest float 2x is infinite: right there to 2**-22, not relatively
    largest = 2.0 ** (127 if x.dtype == FLOAT32 else 1023)
    half_sine = sin(x * 0.5)
    return where(less(abs(x), largest), result, 1.0 - half_sine * half_sine * 2.0)


# --- gates ----------------------------------------------------------------------------------


@in_float32
def sigmoid(x: Tensor) -> Tensor:
    """1/(1 + exp(-x)); subnormal results are kept. sigmoid(-inf) = 0, sigmoid(inf) = 1."""
    decay = exp_times_power(-abs(x), 0)
    upper = reciprocal(decay + 1.0)
    return where(less(x, 0.0), decay * upper, upper)


@in_float32
def silu(x: Tensor) -> Tensor:
    """x*sigmoid(x). silu(-inf) = nan, as -inf*0."""
    return x * sigmoid(x)


def relu(x: Value) -> Tensor:
    """The larger of x and 0; nan stays."""
    return maximum(x, 0)
