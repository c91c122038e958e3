"""Integers in the order of values: what sorting and selecting compare instead of floats.

No primitive reads the bits of a float, so its exponent is found by scaling: at most ten exact steps
by powers of two. A key is the number that the bits of the format spell, negative for negative
values, in NumPy's order: -inf ... -0.0 = 0.0 ... inf < nan.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from photic.ir.dtype import (
    BFLOAT16,
    FLOAT16,
    FLOAT32,
    FLOAT64,
    INT32,
    INT64,
    UINT8,
    DType,
)
from photic.tensor.compare import is_number
from photic.tensor.primitive import accumulated, constant_like, less, negated, where
from photic.tensor.tensor import Tensor, in_dtype, number


@dataclass(frozen=True, slots=True)
class Format:
    """A float format: bits of the fraction, and the largest exponent."""

    fraction: int
    exponent: int

    @property
    def infinity(self) -> int:
        """The key of inf; that of nan is one more."""
        return (2 * self.exponent + 1) << self.fraction


FORMATS: dict[DType, Format] = {
    FLOAT64: Format(52, 1023),
    FLOAT32: Format(23, 127),
    FLOAT16: Format(10, 15),
    BFLOAT16: Format(7, 127),
}
UINT8_MIDDLE = 128  # taken off, so that every key fits a signed integer of the value's size


def key_dtype(dtype: DType) -> DType:
    """The dtype of the keys of a dtype."""
    return INT64 if dtype in (FLOAT64, INT64) else INT32


def key_bits(dtype: DType) -> int:
    """Keys of a dtype are signed integers of so many bits."""
    return 8 * dtype.bytes


def last_key(dtype: DType) -> int:
    """A key that none is above, neither in this order nor in the opposite one."""
    return FORMATS[dtype].infinity + 1 if dtype in FORMATS else 2 ** (key_bits(dtype) - 1) - 1


def order_key(x: Tensor) -> Tensor:
    """Integers in the order of the elements; those of equal elements are equal, also of nan."""
    narrow = key_dtype(x.dtype)
    if x.dtype.kind != "float":
        key = x.astype(narrow)
        return key - UINT8_MIDDLE if x.dtype == UINT8 else key
    form = FORMATS[x.dtype]
    wide = x.astype(accumulated(x.dtype))
    is_negative = less(wide, 0)
    magnitude = where(is_negative, -wide, wide)
    is_finite = less(magnitude, constant_like(wide, math.inf))
    bits = where(is_finite, _bits(magnitude, form, narrow), number(form.infinity, narrow))
    key = where(is_negative, -bits, bits)
    return where(is_number(wide), key, number(form.infinity + 1, narrow))


def _bits(magnitude: Tensor, form: Format, narrow: DType) -> Tensor:
    """The bits of a finite number of no sign: the exponent above the fraction."""
    # what is below 1 is moved up by one power: subnormal numbers stay below 1 and come out right
    lift = form.exponent - 1
    is_small = less(magnitude, constant_like(magnitude, 1))
    value = magnitude * where(is_small, in_dtype(math.ldexp(1.0, lift), magnitude.dtype), 1.0)
    exponent = where(is_small, number(-lift, narrow), 0)
    step = (form.exponent + 1) // 2
    while step:
        # compilers walk each use of a value anew, so that it has two and no more
        is_large = negated(less(value, constant_like(value, 2.0**step)))
        value = value * where(is_large, in_dtype(2.0**-step, value.dtype), 1.0)
        exponent = exponent + where(is_large, number(step, narrow), 0)
        step //= 2
    one = 1 << form.fraction
    return (exponent + lift) * one + (value * float(one)).astype(narrow)
