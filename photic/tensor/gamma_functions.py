"""The logarithm of the gamma function and its slope, by Stirling's series far from 0.

Float32 is computed in float64 and rounded once. Float64 results err by a few units in the last
place of what they are made of: where arguments are negative, and ``digamma`` near its zero, not
relatively. Halves and integers go through float32.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from photic.ir.dtype import FLOAT32, FLOAT64
from photic.tensor.compare import equal
from photic.tensor.elementary import log, polynomial
from photic.tensor.primitive import in_float32, less, masked, reciprocal, sin, where
from photic.tensor.rounding import nearest
from photic.tensor.tensor import Tensor
from photic.tensor.waves import cos

# Below it arguments are raised by as many steps of one.
STEPS = 8

# Up to here lgamma(-x) is lgamma(x), in float64.
TINY = 2.0**-60

# A place where sines are quick, for those that are not taken.
EASY = 0.125

# B(2k)/(2k*(2k - 1)) and B(2k)/(2k), of the Bernoulli numbers: DLMF 5.11.1 and 5.11.2. What the
# first that is left out would add at 8 is below 1e-16.
LOG_SERIES = (
    1 / 12, -1 / 360, 1 / 1260, -1 / 1680, 1 / 1188, -691 / 360360, 1 / 156, -3617 / 122400,
)  # fmt: skip
SLOPE_SERIES = (
    1 / 12, -1 / 120, 1 / 252, -1 / 240, 1 / 132, -691 / 32760, 1 / 12, -3617 / 8160,
)  # fmt: skip


# lgamma(x) = (x - 1)*(x - 2)*p(x - 3/2) around its zeros. By Remez's exchange in 60 digits; its
# relative error is 7e-18.
NEAR_FROM, MIDDLE, NEAR_TO = 0.75, 1.5, 2.25
# fmt: off
NEAR = (
    0.48312895054098089, -0.14595989591430605, 0.062911401074567042, -0.03130848750101895,
    0.016797098630946667, -0.0094256224478921493, 0.0054464578553404119, -0.0032120740967627249,
    0.0019229158879161712, -0.0011644140994103145, 0.00071152578442091048,
    -0.00043799961710721263, 0.0002712452960645027, -0.00016885839919303689,
    0.00010581736708199015, -6.6511679239618103e-5, 4.0960269680910351e-5,
    -2.5631442036298299e-5, 1.9129166233354464e-5, -1.2728263056859003e-5,
    1.8894898959707052e-6, -3.0603759370765113e-7, 9.3763440889040605e-6,
    -6.9133066621565071e-6, -4.4363759516742752e-6, 3.3885655010086535e-6,
    2.866279870414544e-6, -1.9876239556424795e-6,
)
# fmt: on


@dataclass(frozen=True, slots=True)
class Raised:
    """Of x at least 0: what Stirling's series takes, ``gamma(far)/gamma(x)``, and its slope."""

    far: Tensor
    steps: Tensor
    slope: Tensor


def _raised(x: Tensor, is_low: Tensor) -> Raised:
    """``x*(x + 1)*...*(x + 7)`` where it is low, in pairs that have the same sum."""
    low = where(is_low, x, 1.0)
    u = low * (low + 7.0)
    outer, inner = u * (u + 12.0), (u + 6.0) * (u + 10.0)
    slope = (outer * (u + 8.0) + inner * (u + 6.0)) * ((low + 3.5) * 4.0)
    far = where(is_low, x + float(STEPS), x)
    return Raised(far, where(is_low, outer * inner, 1.0), masked(is_low, slope))


def _stirling(z: Tensor) -> Tensor:
    """log(gamma(z)) for z of at least 8."""
    inverse = reciprocal(z)
    rest = inverse * polynomial(inverse * inverse, LOG_SERIES)
    return (z - 0.5) * (log(z) - 1.0) + (0.5 * math.log(2 * math.pi) - 0.5) + rest


@in_float32
def lgamma(x: Tensor) -> Tensor:
    """log(|gamma(x)|): inf at 0, at negative whole numbers and at infinities; 0 at 1 and 2."""
    if x.dtype == FLOAT32:
        result = _log_gamma(x.astype(FLOAT64))
        return where(equal(x, 1.0) + equal(x, 2.0), 0.0, result.astype(FLOAT32))
    is_near = less(NEAR_FROM, x) * less(x, NEAR_TO)
    near = where(is_near, x, 1.0)
    around = (near - 1.0) * (near - 2.0) * polynomial(near - MIDDLE, NEAR)
    return where(is_near, around + 0.0, _log_gamma(x))  # not -0.0


def _log_gamma(x: Tensor) -> Tensor:
    """Right to a few units of the last place of 1 near its zeros."""
    is_negative = less(x, -TINY)
    size = where(less(x, 0.0), -x, x)
    raised = _raised(size, less(size, float(STEPS)))
    known = _stirling(raised.far)
    # gamma(x)*gamma(-x) = -pi/(x*sin(pi*x))
    sine = sin(where(is_negative, x - nearest(x), EASY) * math.pi)
    sine = where(less(sine, 0.0), -sine, sine)
    factor = where(is_negative, size * sine * reciprocal(raised.steps), raised.steps)
    result = where(is_negative, math.log(math.pi) - known, known) - log(factor)
    return where(equal(size, math.inf), math.inf, result)


@in_float32
def digamma(x: Tensor) -> Tensor:
    """The slope of ``lgamma``: -inf at 0, inf at -0, nan at negative whole numbers and -inf."""
    if x.dtype == FLOAT32:
        return digamma(x.astype(FLOAT64)).astype(FLOAT32)
    is_negative = less(x, 0.0)
    size = where(is_negative, 1.0 - x, x)
    raised = _raised(size, less(size, float(STEPS)))
    inverse = reciprocal(raised.far)
    squared = inverse * inverse
    stirling = log(raised.far) - inverse * 0.5 - squared * polynomial(squared, SLOPE_SERIES)
    direct = stirling - raised.slope * reciprocal(raised.steps)
    # psi(x) = psi(1 - x) - pi/tan(pi*x)
    rest = where(is_negative, x - nearest(x), EASY)
    sine = where(equal(rest, 0.0), math.nan, sin(rest * math.pi))
    tail = cos(rest * math.pi) * reciprocal(sine) * math.pi
    return where(is_negative, direct - tail, direct)
