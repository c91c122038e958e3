"""Inverses of waves and of hyperbolic functions, composed of the primitives: within 4 ulp.

Each is a polynomial near 0 and, further away, a root, a quotient or a logarithm of what is near.
Polynomials were fitted by Remez's exchange in 50 digits: ``f(s) = s + s*z*p(z)`` with ``z = s*s``
(the area cosine: ``sqrt(2*t)*p(t)``, t = x - 1); by themselves they err by less than an eighth of
an ulp. A branch that is not taken gets arguments at which its slope is finite. Halves go through
float32, integers become float32.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from photic.ir.dtype import FLOAT32, FLOAT64, DType
from photic.tensor.compare import clip, isinf
from photic.tensor.elementary import LN_2, polynomial
from photic.tensor.primitive import (
    constant_like,
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
from photic.tensor.rounding import abs, signbit
from photic.tensor.tensor import Tensor, Value


@dataclass(frozen=True, slots=True)
class Inverses:
    """What the functions need in one dtype.

    pi/4 is ``quarter_high + quarter_low``, the first with so few bits that four times it is
    exact. Beyond ``large`` the 1 in sqrt(x*x + 1) is lost. ``scale`` squared is in range, and so
    is ``smallest``, the least float above 0, times it.
    """

    quarter_high: float
    quarter_low: float
    large: float
    scale: float
    smallest: float
    arc_tangent: tuple[float, ...]
    arc_sine: tuple[float, ...]
    area_tangent: tuple[float, ...]
    area_sine: tuple[float, ...]
    area_cosine: tuple[float, ...]


# fmt: off
INVERSES: dict[DType, Inverses] = {
    FLOAT32: Inverses(
        quarter_high=float.fromhex("0x1.921fbp-1"),
        quarter_low=float.fromhex("0x1.51110cp-23"),
        large=2.0**13,
        scale=2.0**64,
        smallest=2.0**-149,
        arc_tangent=(-0.333333155, 0.199984892, -0.142438442, 0.105959697, -0.0608337341),
        arc_sine=(0.166667539, 0.074952419, 0.045477091, 0.0241476163, 0.0422185723),
        area_tangent=(
            0.333332989, 0.20002587, 0.142214996, 0.118338653, 0.0509887342, 0.177192461,
        ),
        area_sine=(
            -0.166666568, 0.0749952911, -0.0445658983, 0.0297744389, -0.0197134962, 0.0104683183,
            -0.00299076935,
        ),
        area_cosine=(
            0.999999999, -0.0833331722, 0.0187461094, -0.00554566678, 0.00175576024,
            -0.000410170128,
        ),
    ),
    FLOAT64: Inverses(
        quarter_high=float.fromhex("0x1.921fb54442d18p-1"),
        quarter_low=float.fromhex("0x1.1a62633145c07p-55"),
        large=2.0**28,
        scale=2.0**512,
        smallest=2.0**-1074,
        arc_tangent=(
            -0.33333333333333199, 0.19999999999954066, -0.1428571428024684, 0.11111110786053719,
            -0.090908978340224779, 0.076920615937932268, -0.066631198881476169,
            0.058480052713589436, -0.050398288557546605, 0.038077890440531162,
            -0.017921798425377652,
        ),
        arc_sine=(
            0.16666666666665384, 0.07500000000342848, 0.044642856823607044, 0.030381959327053955,
            0.02237175361014881, 0.017359769935447063, 0.013884609055529155,
            0.012173214861573282, 0.006511114235550572, 0.01957323327242213,
            -0.016293073455705933, 0.031958313954722736,
        ),
        area_tangent=(
            0.33333333333334018, 0.19999999999787483, 0.14285714308760862, 0.11111109854003036,
            0.090909494516201561, 0.076914775937181361, 0.066781475259331129,
            0.057727552956211064, 0.059914802261860849, 0.014226519813975479,
            0.14574001357447138, -0.15402883738949034, 0.22547649664918225,
        ),
        area_sine=(
            -0.16666666666666348, 0.074999999999398105, -0.04464285710289346,
            0.030381943096422346, -0.022372131928141366, 0.017352406428565727,
            -0.013961578391367586, 0.011530410881545161, -0.0096584692146949281,
            0.0080182183985180805, -0.0062970022962751187, 0.004333092035278921,
            -0.0023458077332424681, 0.00085467201403718689, -0.00015284330909675893,
        ),
        area_cosine=(
            0.99999999999999999, -0.08333333333332621, 0.018749999999308589,
            -0.005580357116546897, 0.0018988710094601113, -0.00069912392600678371,
            0.00027109199490591468, -0.00010887839137600242, 4.4382276146278865e-5,
            -1.7383724902696858e-5, 5.6454668098889519e-6, -1.0621128444096815e-6,
        ),
    ),
}
# fmt: on


def _odd(x: Tensor, coefficients: tuple[float, ...]) -> Tensor:
    """``x + x*z*p(z)`` with z = x*x; -0.0 stays, also where p is negative."""
    squared = x * x
    return x + masked(less(0.0, squared), x * squared * polynomial(squared, coefficients))


def _with_sign(x: Tensor, magnitude: Tensor) -> Tensor:
    return where(less(x, 0.0), -magnitude, magnitude)


def _quarters(count: Tensor, rest: Tensor) -> Tensor:
    """``count*pi/4 + rest``, the product in two parts."""
    fit = INVERSES[rest.dtype]
    return count * fit.quarter_high + (count * fit.quarter_low + rest)


# --- inverses of waves ----------------------------------------------------------------------

# Up to this slope the polynomial serves, up to its inverse a turn by pi/4, beyond one by pi/2.
TAN_OF_EIGHTH = math.sqrt(2) - 1

# Beyond it asin(x) is pi/2 - 2*asin(sqrt((1 - x)/2)).
HALF = 0.5


@in_float32
def atan(x: Tensor) -> Tensor:
    """The angle in -pi/2 .. pi/2 with tangent x. atan(-0) = -0, atan(inf) = pi/2."""
    fit, magnitude = INVERSES[x.dtype], abs(x)
    is_turned, is_steep = less(TAN_OF_EIGHTH, magnitude), less(1 / TAN_OF_EIGHTH, magnitude)
    top = where(is_steep, -1.0, magnitude - 1.0)
    bottom = where(is_steep, magnitude, magnitude + 1.0)
    near = _odd(where(is_turned, top * reciprocal(bottom), x), fit.arc_tangent)
    turned = _quarters(where(is_steep, 2.0, 1.0).astype(x.dtype), near)
    return where(is_turned, _with_sign(x, turned), near)


@dataclass(frozen=True, slots=True)
class Slope:
    """Two magnitudes: the smaller and the larger, scaled so that quotients are in range."""

    small: Tensor
    large: Tensor
    is_steep: Tensor  # the first was the larger
    is_zero: Tensor  # the larger is 0: the smaller is 0 or nan


def _slope(y: Tensor, x: Tensor) -> Slope:
    fit = INVERSES[x.dtype]
    rise, run = abs(y), abs(x)
    is_steep = less(run, rise)
    small, large = where(is_steep, run, rise), where(is_steep, rise, run)
    are_infinite = isinf(rise) * isinf(run)
    small, large = (where(are_infinite, 1.0, one) for one in (small, large))
    up, down, one = (constant_like(x, by) for by in (fit.scale, 1 / fit.scale, 1.0))
    by = where(less(up, large), down, where(less(large, down), up, one))
    return Slope(small * by, large * by, is_steep, less(large, fit.smallest))


@pair_in_float32
def atan2(left: Tensor, right: Tensor) -> Tensor:
    """The angle in -pi .. pi of the point with height ``left`` and abscissa ``right``.

    As C's: zeros and infinities of either sign give whole parts of pi/4 with the sign of
    ``left``; nan if either is nan.
    """
    s = _slope(left, right)
    is_turned = less(s.large * TAN_OF_EIGHTH, s.small)
    top = where(is_turned, s.small - s.large, s.small)
    bottom = where(is_turned, s.small + s.large, s.large)
    inverse = reciprocal(where(s.is_zero, right, bottom))
    near = _odd(where(s.is_zero, s.small, top * inverse), INVERSES[left.dtype].arc_tangent)
    # the inverse of a bottom is not negative, but that of an abscissa -0.0 is
    is_left = less(right, 0.0) + less(inverse, 0.0)
    count = is_turned.astype(left.dtype)
    count = where(s.is_steep, 2.0 - count, count)
    count = where(is_left, 4.0 - count, count)
    is_back = s.is_steep * negated(is_left) + negated(s.is_steep) * is_left
    angle = _quarters(count, where(is_back, -near, near))
    return where(signbit(left), -angle, angle)


@dataclass(frozen=True, slots=True)
class Arc:
    """asin(x) where x is small, elsewhere asin(sqrt((1 - |x|)/2)), half of what is left of pi/2."""

    part: Tensor
    is_small: Tensor
    is_negative: Tensor


def _arc(x: Tensor) -> Arc:
    magnitude = abs(x)
    is_small = less(magnitude, HALF)
    root = sqrt(where(is_small, 1.0, (1.0 - magnitude) * 0.5))
    part = _odd(where(is_small, x, root), INVERSES[x.dtype].arc_sine)
    return Arc(part, is_small, less(x, 0.0))


@in_float32
def asin(x: Tensor) -> Tensor:
    """The angle in -pi/2 .. pi/2 with sine x. asin(-0) = -0; nan where |x| > 1."""
    arc = _arc(x)
    far = _quarters(x * 0.0 + 2.0, arc.part * -2.0)
    return where(arc.is_small, arc.part, where(arc.is_negative, -far, far))


@in_float32
def acos(x: Tensor) -> Tensor:
    """The angle in 0 .. pi with cosine x. acos(1) = 0; nan where |x| > 1."""
    arc = _arc(x)
    twice = arc.part * 2.0
    count = where(arc.is_small, 2.0, where(arc.is_negative, 4.0, 0.0)).astype(x.dtype)
    rest = where(arc.is_small, -arc.part, where(arc.is_negative, -twice, twice))
    return _quarters(count, rest)


# --- inverses of hyperbolic functions -------------------------------------------------------

# Where logarithms take over.
SINE_FROM, COSINE_FROM, TANGENT_FROM = 0.75, 1.5, 0.5


def _log_of_twice(x: Tensor, beside: Tensor) -> Tensor:
    """log(x + sqrt(beside)), where x is large log(2*x)."""
    is_large = less(INVERSES[x.dtype].large, x)
    summed = where(is_large, x, x + sqrt(where(is_large, 1.0, beside)))
    return (log2(summed) + is_large.astype(x.dtype)) * LN_2


@in_float32
def asinh(x: Tensor) -> Tensor:
    """The inverse of the hyperbolic sine. asinh(-0) = -0, asinh(inf) = inf."""
    magnitude = abs(x)
    is_small = less(magnitude, SINE_FROM)
    near = _odd(where(is_small, x, 0.0), INVERSES[x.dtype].area_sine)
    return where(is_small, near, _with_sign(x, _log_of_twice(magnitude, x * x + 1.0)))


@in_float32
def acosh(x: Tensor) -> Tensor:
    """The inverse of the hyperbolic cosine, 0 or more. acosh(1) = 0; nan where x < 1."""
    above = x - 1.0
    is_near = less(x, COSINE_FROM)
    near = where(is_near, above, 1.0)
    near = sqrt(near * 2.0) * polynomial(near, INVERSES[x.dtype].area_cosine)
    far = where(is_near, COSINE_FROM, x)
    return where(is_near, near, _log_of_twice(far, (far - 1.0) * (far + 1.0)))


@in_float32
def atanh(x: Tensor) -> Tensor:
    """The inverse of the hyperbolic tangent. atanh(1) = inf, atanh(-0) = -0; nan where |x| > 1."""
    magnitude = abs(x)
    is_small = less(magnitude, TANGENT_FROM)
    near = _odd(where(is_small, x, 0.0), INVERSES[x.dtype].area_tangent)
    far = where(is_small, TANGENT_FROM, magnitude)
    far = log2((far + 1.0) * reciprocal(1.0 - far)) * (LN_2 / 2)
    return where(is_small, near, _with_sign(x, far))


def logit(x: Value, eps: float | None = None) -> Tensor:
    """``log(x/(1 - x))``, the inverse of ``sigmoid``: -inf at 0, inf at 1, nan outside.

    With ``eps`` x is first limited to ``eps .. 1 - eps``.
    """
    return _logit(x if eps is None else clip(x, eps, 1.0 - eps))


@in_float32
def _logit(x: Tensor) -> Tensor:
    """Twice the area tangent of 2x - 1, which is exact near 1/2."""
    middle = x * 2.0 - 1.0
    is_near = less(-TANGENT_FROM, middle) * less(middle, TANGENT_FROM)
    near = _odd(where(is_near, middle, 0.0), INVERSES[x.dtype].area_tangent) * 2.0
    far = where(is_near, 0.25, x)
    return where(is_near, near, log2(far * reciprocal(1.0 - far)) * LN_2)


# NumPy's names.
arcsin, arccos, arctan, arctan2 = asin, acos, atan, atan2
arcsinh, arccosh, arctanh = asinh, acosh, atanh
