"""The bits of floats as integers and back, by arithmetic: no primitive reads them.

A nan has the bits of the usual one, whatever its own are.
"""

from __future__ import annotations

import math

from photic.ir.dtype import FLOAT16, FLOAT32, FLOAT64, INT16, INT32, INT64, DType
from photic.tensor import bitwise, compare, primitive, rounding
from photic.tensor.keys import FORMATS, order_key
from photic.tensor.tensor import Tensor

INTEGER_OF = {FLOAT64: INT64, FLOAT32: INT32, FLOAT16: INT16}
FLOAT_OF = {one: other for other, one in INTEGER_OF.items()}


def bits_of_float(x: Tensor) -> Tensor:
    """The signed integer with the bits of each float."""
    to = INTEGER_OF[x.dtype]
    key = order_key(x)
    quiet = FORMATS[x.dtype].infinity + (1 << (FORMATS[x.dtype].fraction - 1))
    size = primitive.where(compare.isnan(x), quiet, rounding.abs(key)).astype(to)
    is_negative = compare.logical_and(rounding.signbit(x), compare.logical_not(compare.isnan(x)))
    return primitive.where(is_negative, size + to.low, size)


def float_of_bits(bits: Tensor) -> Tensor:
    """The float with the bits of each signed integer."""
    to = FLOAT_OF[bits.dtype]
    form = FORMATS[to]
    size = bitwise.bitwise_and(bits, bits.dtype.high)
    exponent = bitwise.right_shift(size, form.fraction)
    fraction = bitwise.bitwise_and(size, (1 << form.fraction) - 1)
    value = _scaled(fraction, exponent, to)
    top = 2 * form.exponent + 1
    infinite = primitive.where(fraction > 0, math.nan, math.inf).astype(to)
    value = primitive.where(compare.equal(exponent, top), infinite, value)
    return primitive.where(bits < 0, -value, value)


def _scaled(fraction: Tensor, exponent: Tensor, to: DType) -> Tensor:
    """The number of a fraction and an exponent, by powers of 2 that are exact."""
    form = FORMATS[to]
    is_small = compare.equal(exponent, 0)
    whole = primitive.where(is_small, fraction, fraction + (1 << form.fraction))
    places = primitive.where(is_small, 1, exponent) - form.exponent - form.fraction
    value = whole.astype(FLOAT64)
    step = form.exponent + 1
    while step:
        up, down = compare.greater_equal(places, step), compare.less_equal(places, -step)
        factor = primitive.where(
            up, 2.0 ** min(step, form.exponent), primitive.where(down, 2.0**-step, 1.0)
        )
        value = value * factor.astype(FLOAT64)
        places = places - primitive.where(up, step, 0) + primitive.where(down, step, 0)
        step //= 2
    return value.astype(to)
