"""The logarithm and the normal quantile, of operations that are rounded correctly everywhere.

Sums, products, reciprocals and square roots only: unlike those of ``ph.log``, results are equal to
the bit on every target, which random numbers promise. For float32 and float64; not for arguments
outside the ranges that are stated.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from photic.ir.dtype import FLOAT32, FLOAT64, DType
from photic.tensor.elementary import polynomial
from photic.tensor.primitive import constant_like, less, masked, reciprocal, sqrt, where
from photic.tensor.tensor import Tensor

# log(m) = 2*(s + s**3/3 + ...) with s = (m - 1)/(m + 1) and m in sqrt(1/2)..sqrt(2): so many
# terms leave less than a quarter of an ulp.
LOG_TERMS: dict[DType, int] = {FLOAT32: 6, FLOAT64: 11}
HALVINGS = (32, 16, 8, 4, 2, 1)
ROOT_HALF = math.sqrt(0.5)
LN_2_HIGH = 0.693359375  # so few bits that its product with an exponent is exact
LN_2_LOW = math.log(2) - LN_2_HIGH


def exact_log(x: Tensor, less_one: Tensor) -> Tensor:
    """log(x) for 2**-64 <= x < sqrt(2); ``less_one`` is x - 1, which is used where x > sqrt(1/2).

    Within 2 ulp.
    """
    m, exponent = x, constant_like(x, 0.0)
    for k, below in [*((k, 2.0**-k) for k in HALVINGS), (1, ROOT_HALF)]:
        is_small = less(m, below)
        m = m * where(is_small, constant_like(x, 2.0**k), constant_like(x, 1.0))
        exponent = exponent - masked(is_small, constant_like(x, float(k)))
    s = where(less(ROOT_HALF, x), less_one, m - 1.0) * reciprocal(m + 1.0)
    series = polynomial(s * s, [2 / (2 * n + 1) for n in range(LOG_TERMS[x.dtype])])
    return exponent * LN_2_HIGH + (exponent * LN_2_LOW + s * series)


# --- the normal distribution ----------------------------------------------------------------

# The inverse of the normal distribution in quotients of polynomials, from Wichura (1988),
# algorithm AS 241: PPND16 for float64, PPND7 for float32. In each row numerator and denominator.
Quotient = tuple[tuple[float, ...], tuple[float, ...]]


@dataclass(frozen=True, slots=True)
class Inverse:
    """The three quotients: near the middle, in the tail, and far out."""

    middle: Quotient
    tail: Quotient
    far: Quotient


INVERSES: dict[DType, Inverse] = {
    FLOAT32: Inverse(
        (
            (3.3871327179, 50.434271938, 159.29113202, 59.109374720),
            (1.0, 17.895169469, 78.757757664, 67.187563600),
        ),
        (
            (1.4234372777, 2.7568153900, 1.3067284816, 0.17023821103),
            (1.0, 0.73700164250, 0.12021132975),
        ),
        (
            (6.6579051150, 3.0812263860, 0.42868294337, 0.017337203997),
            (1.0, 0.24197894225, 0.012258202635),
        ),
    ),
    FLOAT64: Inverse(
        (
            (
                3.3871328727963666080, 133.14166789178437745, 1971.5909503065514427,
                13731.693765509461125, 45921.953931549871457, 67265.770927008700853,
                33430.575583588128105, 2509.0809287301226727,
            ),
            (
                1.0, 42.313330701600911252, 687.18700749205790830, 5394.1960214247511077,
                21213.794301586595867, 39307.895800092710610, 28729.085735721942674,
                5226.4952788528545610,
            ),
        ),
        (
            (
                1.42343711074968357734, 4.63033784615654529590, 5.76949722146069140550,
                3.64784832476320460504, 1.27045825245236838258, 0.241780725177450611770,
                0.0227238449892691845833, 7.74545014278341407640e-4,
            ),
            (
                1.0, 2.05319162663775882187, 1.67638483018380384940, 0.689767334985100004550,
                0.148103976427480074590, 0.0151986665636164571966, 5.47593808499534494600e-4,
                1.05075007164441684324e-9,
            ),
        ),
        (
            (
                6.65790464350110377720, 5.46378491116411436990, 1.78482653991729133580,
                0.296560571828504891230, 0.0265321895265761230930, 1.24266094738807843860e-3,
                2.71155556874348757815e-5, 2.01033439929228813265e-7,
            ),
            (
                1.0, 0.599832206555887937690, 0.136929880922735805310, 0.0148753612908506148525,
                7.86869131145613259100e-4, 1.84631831751005468180e-5, 1.42151175831644588870e-7,
                2.04426310338993978564e-15,
            ),
        ),
    ),
}  # fmt: skip
MIDDLE_WIDTH = 0.425  # |p - 1/2| up to which the first quotient holds
MIDDLE_SHIFT = 0.180625
TAIL_SHIFT, TAIL_END = 1.6, 5.0  # of sqrt(-log(p))


def normal_probability(x: float) -> float:
    """The probability that a normal number is below ``x``; relatively right for x < 0."""
    return math.erfc(-x * ROOT_HALF) / 2


def _quotient(x: Tensor, parts: Quotient) -> Tensor:
    top, bottom = parts
    return polynomial(x, top) * reciprocal(polynomial(x, bottom))


def normal_quantile(p: Tensor, rest: Tensor) -> Tensor:
    """The number below which a normal one lies with probability ``p``; ``rest`` is 1 - p."""
    inverse = INVERSES[p.dtype]
    is_low = less(p, rest)
    side = where(is_low, p, rest)
    q = 0.5 - side
    middle = q * _quotient(MIDDLE_SHIFT - q * q, inverse.middle)
    root = sqrt(-exact_log(side, side - 1.0))
    tail = _quotient(root - TAIL_SHIFT, inverse.tail)
    if p.dtype == FLOAT64:  # of float32 no root is as large
        tail = where(less(TAIL_END, root), _quotient(root - TAIL_END, inverse.far), tail)
    size = where(less(MIDDLE_WIDTH, q), tail, middle)
    return where(is_low, -size, size)
