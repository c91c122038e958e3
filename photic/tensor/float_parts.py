"""Floats taken apart: the whole part and the fraction, the mantissa and the exponent.

All of it is exact. Halves go through float32, integers become float32.
"""

from __future__ import annotations

from photic.base.errors import DtypeMismatch
from photic.ir.dtype import FLOAT32, FLOAT64, INT32, INT64
from photic.tensor.compare import clip, isfinite, isinf
from photic.tensor.primitive import accumulated, as_float, exp2, less, log2, where
from photic.tensor.rounding import abs, copysign, floor, trunc
from photic.tensor.tensor import Tensor, Value, broadcast_shape, expanded, tensor

# Steps by which a float64 is scaled so that it is rounded once: up, and down with room for the
# digits of a subnormal result.
UP, DOWN, LEAST = 1023, -969, -1022


def modf(x: Value) -> tuple[Tensor, Tensor]:
    """The fraction and the whole part, both with the sign of ``x``; of infinities 0 and these."""
    value = as_float(x, "modf")
    whole = trunc(value)
    rest = where(isinf(value), 0.0, value - whole)
    return copysign(rest, value), whole


def ldexp(x: Value, exponent: Value) -> Tensor:
    """``x * 2**exponent``, rounded once; the exponent is an integer. DtypeMismatch."""
    value, power = as_float(x, "ldexp"), tensor(exponent, "ldexp")
    if power.dtype.kind != "int":
        raise DtypeMismatch(op="ldexp", given=power.dtype, expected="an integer dtype")
    shape = broadcast_shape("ldexp", value.shape, power.shape)
    return expanded(_scaled(value, power.astype(INT64)), shape)


def _scaled(x: Tensor, power: Tensor) -> Tensor:
    """In float64 two steps bring the rest of the power into range."""
    result, rest = x.astype(FLOAT64), power
    for _ in range(2):
        step = where(less(UP, rest), UP, where(less(rest, LEAST), DOWN, 0))
        result, rest = result * _power_of_two(step), rest - step
    return (result * _power_of_two(clip(rest, LEAST, UP))).astype(x.dtype)


def _power_of_two(power: Tensor) -> Tensor:
    return exp2(power.astype(FLOAT64))


def frexp(x: Value) -> tuple[Tensor, Tensor]:
    """The mantissa, 1/2 or more and below 1 in magnitude, and the exponent (int32) of 2.

    0, infinities and nan are their own mantissa, with exponent 0.
    """
    value = as_float(x, "frexp")
    wide = value.astype(accumulated(value.dtype))
    size = abs(wide)
    plain = isfinite(wide) * less(0.0, size)
    near = floor(log2(where(plain, size, 1.0)).astype(FLOAT32)).astype(INT64) + 1
    mantissa = _scaled(where(plain, size, 0.5), -near)
    # the logarithm may have been rounded past a power of two
    near = near + where(less(mantissa, 1.0), where(less(mantissa, 0.5), -1, 0), 1)
    found = where(plain, _scaled(wide, -near), wide)
    return found.astype(value.dtype), where(plain, near, 0).astype(INT32)
