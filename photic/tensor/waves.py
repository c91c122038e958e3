"""Cosine, tangent and sinc, composed of the primitive sine: relatively right, also where small.

``sin(x + pi/2)`` would lose digits in the sum, so a cosine is a quotient of two sines of exact
arguments. The tangent of a float32 takes multiples of pi/2 off in float64. Halves go through
float32, integers become float32.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from photic.ir.dtype import FLOAT32, FLOAT64, INT32, DType
from photic.tensor.compare import isfinite
from photic.tensor.elementary import polynomial
from photic.tensor.primitive import in_float32, less, negated, reciprocal, sin, sqrt, where
from photic.tensor.rounding import INTEGER, abs, is_odd, nearest
from photic.tensor.tensor import Tensor

# Where the sine is smaller, the cosine comes from it alone.
SMALL_SINE = 0.5


@dataclass(frozen=True, slots=True)
class Sines:
    """Of x: the sine, that of 2x, and the cosine where the sine is small; where x is huge, the
    second is the sine of x/2, and ``rough`` is 1 - 2*sin(x/2)**2, right to 2**-22 only."""

    once: Tensor
    twice: Tensor
    is_small: Tensor
    root: Tensor
    is_huge: Tensor
    rough: Tensor


def _is_huge(x: Tensor) -> Tensor:
    """Where 2x is infinite: in the top binade."""
    return negated(isfinite(x * 2.0))


def _sines(x: Tensor) -> Sines:
    is_huge = _is_huge(x)
    once, twice = sin(x), sin(where(is_huge, x * 0.5, x * 2.0))
    is_small = less(-SMALL_SINE, once) * less(once, SMALL_SINE)
    root = sqrt(1.0 - where(is_small, once * once, 0.0))
    root = where(less(twice * once, 0.0), -root, root)
    return Sines(once, twice, is_small, root, is_huge, 1.0 - twice * twice * 2.0)


@in_float32
def cos(x: Tensor) -> Tensor:
    """The cosine, never above 1. cos(inf) = nan. From 2**127 on within 2**-22, not relatively."""
    s = _sines(x)
    quotient = s.twice * reciprocal(where(s.is_small, 1.0, s.once * 2.0))
    return where(s.is_huge, s.rough, where(s.is_small, s.root, quotient))


@in_float32
def tan(x: Tensor) -> Tensor:
    """The tangent. tan(-0) = -0, tan(inf) = nan.

    In float32 within 4 ulp up to 2**18 in magnitude and within 8 from there to 2**127; in float64
    within 4 ulp to 2**1023; beyond, its denominator is right to 2**-22 (2**-51) only.
    """
    if x.dtype == FLOAT32:
        return _tan_float32(x)
    s = _sines(x)
    top = where(s.is_small, s.once, s.once * s.once * 2.0)
    bottom = where(s.is_small, s.root, s.twice)
    return where(s.is_huge, s.once, top) * reciprocal(where(s.is_huge, s.rough, bottom))


# --- the tangent of a float32 ---------------------------------------------------------------

# pi/2 in parts: all but the last have at most 8 bits, so that their products with whole numbers
# below 2**16 are exact; the first three end at 2**-24, so that what they leave is exact too. All
# together they leave 2**-68 of pi/2.
HALF_PI_FIRST = tuple(map(float.fromhex, ("0x1.92p+0", "0x1.fp-12", "0x1.6ap-17")))
HALF_PI_LAST = tuple(map(float.fromhex, ("0x1.1p-26", "0x1.0ap-34", "0x1.4611a6p-42")))
TAKEN_OFF_BELOW = 102_400.0

# tan(r) = r + r*z*p(z) with z = r*r, for |r| up to pi/4. By Remez's exchange in 50 digits; its
# relative error is 1.8e-8.
TANGENT = (
    0.333331534,
    0.133388842,
    0.0534045689,
    0.0244530003,
    0.0030848975,
    0.00940522917,
)


def _without(multiple: Tensor, x: Tensor) -> Tensor:
    """``x - multiple*pi/2``, rounded twice at most: what the first rounding drops is put back."""
    rest = x
    for part in HALF_PI_FIRST:
        rest = rest + multiple * -part
    first, second, third = (multiple * -part for part in HALF_PI_LAST)
    near = rest + first
    dropped = first - (near - rest)  # -0.0 stays
    return (near + second) + (dropped + third)


def _tan_float32(x: Tensor) -> Tensor:
    """Near 0 ``tan(rest)`` or ``-1/tan(rest)``, further away ``2*sin(x)**2/sin(2x)``."""
    is_near = less(-TAKEN_OFF_BELOW, x) * less(x, TAKEN_OFF_BELOW)
    whole = (x * (2 / math.pi) + where(less(x, 0.0), -0.5, 0.5)).astype(INT32)
    r = _without(whole.astype(FLOAT32), x)
    squared = r * r
    tangent = r + r * squared * polynomial(squared, TANGENT)
    odd = is_odd(whole)
    is_huge = _is_huge(x)
    once, twice = sin(x), sin(where(is_huge, x * 0.5, x * 2.0))
    top = where(is_huge, once, once * once * 2.0)
    bottom = where(is_huge, 1.0 - twice * twice * 2.0, twice)
    top = where(is_near, where(odd, -1.0, tangent), top)
    return top * reciprocal(where(is_near, where(odd, tangent, 1.0), bottom))


# --- sinc -----------------------------------------------------------------------------------

# Below this magnitude sinc is 1 to a quarter of an ulp.
SINC_ONE: dict[DType, float] = {FLOAT32: 2.0**-14, FLOAT64: 2.0**-28}


@in_float32
def sinc(x: Tensor) -> Tensor:
    """``sin(pi*x)/(pi*x)``, 1 at 0, relatively right: exactly 0 at other whole numbers.

    sinc(inf) = nan.
    """
    whole = nearest(x)
    odd = is_odd(whole.astype(INTEGER[x.dtype]))
    sine = sin((x - whole) * math.pi)
    is_one = less(abs(x), SINC_ONE[x.dtype])
    below = where(is_one, 1.0, x * math.pi)
    return where(is_one, 1.0, where(odd, -sine, sine) * reciprocal(below))
