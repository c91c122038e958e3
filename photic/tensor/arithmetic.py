"""Arithmetic of two values and of signs, beyond the primitives: differences, quotients, powers.

A quotient is ``a * recip(b)``: a search may then move the factor. Floor-division is exact: of
integers by estimates in floating point that integers correct, of floats as NumPy defines it. No
division traps; an integer divided by 0 is 0.
"""

from __future__ import annotations

import numpy as np

from photic.base.errors import DtypeMismatch
from photic.ir.dim import Int
from photic.ir.dtype import BOOL, FLOAT32, FLOAT64, INT64, DType
from photic.tensor.compare import equal, isfinite, isinf, logical_xor, minus_one, not_equal
from photic.tensor.primitive import (
    accumulated,
    apply,
    floats_together,
    less,
    masked,
    mod,
    numbers_together,
    reciprocal,
    where,
)
from photic.tensor.rounding import abs, nearest
from photic.tensor.tensor import (
    Tensor,
    Value,
    in_dtype,
    is_weak,
    joined_dtype,
    method,
    number,
    tensor,
)


@method
def negative(x: Value) -> Tensor:
    """-x, a product with -1. Integers wrap; DtypeMismatch for bool."""
    value = tensor(x, "negative")
    if value.dtype == BOOL:
        raise DtypeMismatch(op="negative", given=BOOL, expected="a number dtype")
    return apply("mul", value, minus_one(value))


@method
def subtract(left: Value, right: Value) -> Tensor:
    """The difference, ``left + right*-1``. Integers wrap; DtypeMismatch for two bools."""
    dtype = joined_dtype((left, right), "subtract")
    if is_weak(right) and not isinstance(right, Int) and dtype.kind == "float":
        return in_dtype(left, dtype) + number(-float(right), dtype)
    a, b = numbers_together("subtract", left, right)
    return apply("add", a, negative(b))


@method
def divide(left: Value, right: Value) -> Tensor:
    """The quotient, ``left * recip(right)``: within 2 ulp where 1/right is a normal number.

    Integers and bools become float32. x/0 is inf or -inf by sign, 0/0 and inf/inf are nan.
    """
    dtype = joined_dtype((left, right), "divide")
    dtype = dtype if dtype.kind == "float" else FLOAT32
    top, bottom = in_dtype(left, dtype), in_dtype(right, dtype)
    if dtype.is_half:
        return (top.astype(FLOAT32) * reciprocal(bottom.astype(FLOAT32))).astype(dtype)
    if is_weak(right) and not isinstance(right, Int):
        with np.errstate(divide="ignore", over="ignore"):
            inverse = np.ones((), dtype.numpy) / np.asarray(right).astype(dtype.numpy)
        return top * number(float(inverse), dtype)
    return top * reciprocal(bottom)


true_divide = divide  # NumPy's other name


# --- floor-division -------------------------------------------------------------------------


@method
def floor_divide(left: Value, right: Value) -> Tensor:
    """The quotient rounded down. Integers: exact, wrapping, 0 where the divisor is 0.

    Floats as NumPy's: the whole number of times that ``right`` goes into ``left``, exact while it
    is below 2**23 (2**51 in float64); x//0 is x/0.
    """
    a, b = numbers_together("floor_divide", left, right)
    if a.dtype.kind == "float":
        return _floor_divide_floats(a, b)
    if isinstance(right, int) and right > 0 and right & (right - 1) == 0:
        return _divide_by_power_of_two(a, right)
    quotient = _quotient_wide(a, b) if a.dtype == INT64 else _quotient_narrow(a, b)
    return masked(not_equal(b, 0), quotient)


# Half of an int64's range; and a divisor from which its multiples have few enough bits for float64.
HALF, EXACT_FROM = 1 << 32, 1 << 11


def _divide_by_power_of_two(a: Tensor, right: int) -> Tensor:
    """Exact: what is left of ``a`` without its remainder is a multiple of ``right``.

    Of an int64 that multiple may have too many bits for a float: then by halves.
    """
    rest = mod(a, right)
    if a.dtype != INT64 or right >= EXACT_FROM:
        return _multiple_over(a - rest, right)
    low = mod(a, HALF)
    high = _multiple_over(a - low, HALF)
    return high * (HALF // right) + _multiple_over(low - rest, right)


def _multiple_over(multiple: Tensor, power: int) -> Tensor:
    wide = _exact_float(multiple.dtype)
    return (multiple.astype(wide) * (1 / power)).astype(multiple.dtype)


def _exact_float(dtype: DType) -> DType:
    """The float dtype that holds every integer of the dtype (of at most 32 bits) exactly."""
    return FLOAT32 if dtype.bytes < FLOAT32.bytes else FLOAT64


def _quotient_narrow(a: Tensor, b: Tensor) -> Tensor:
    """Of integers of at most 32 bits: a float quotient of a multiple is near a whole number."""
    wide = _exact_float(a.dtype)
    whole = a.astype(wide) - mod(a, b).astype(wide)
    return _nearest_integer(whole * reciprocal(b.astype(wide))).astype(a.dtype)


def _quotient_wide(a: Tensor, b: Tensor) -> Tensor:
    """Of int64: an estimate is off by up to 2**12; the first step leaves at most 1, the last 0.

    Products and differences wrap, which the true (small) remainders do not notice.
    """
    inverse = reciprocal(b.astype(FLOAT64))
    first = (a.astype(FLOAT64) * inverse).astype(INT64)
    second = first + ((a - first * b).astype(FLOAT64) * inverse).astype(INT64)
    excess = (a - second * b).astype(FLOAT64) - mod(a, b).astype(FLOAT64)
    return second + _nearest_integer(excess * inverse)


def _nearest_integer(x: Tensor) -> Tensor:
    """A float that is nearly whole, as int64."""
    return (x + where(less(x, 0), -0.5, 0.5).astype(x.dtype)).astype(INT64)


def _floor_divide_floats(a: Tensor, b: Tensor) -> Tensor:
    x, y = a.astype(FLOAT64), b.astype(FLOAT64)
    inverse = reciprocal(y)
    quotient = nearest((x - mod(x, y)) * inverse)
    # mod(x, inf) is inf where the signs differ: the quotient is then -1, else 0
    below = logical_xor(less(x, 0), less(y, 0)) * not_equal(x, 0)
    quotient = where(isinf(y) * isfinite(x), where(below, -1.0, x * inverse), quotient)
    quotient = where(equal(quotient, 0), x * inverse * 0.0, quotient)  # the sign of x/y
    return where(equal(y, 0), x * inverse, quotient).astype(a.dtype)


def divmod(left: Value, right: Value) -> tuple[Tensor, Tensor]:
    """``floor_divide`` and ``mod``."""
    return floor_divide(left, right), mod(left, right)


# --- remainders, between two values ---------------------------------------------------------

remainder = mod  # NumPy's name: the sign is the divisor's


def fmod(left: Value, right: Value) -> Tensor:
    """C's remainder: its sign, also of 0, is that of ``left``. Integers by 0 give 0, floats nan."""
    a, b = numbers_together("fmod", left, right)
    if a.dtype.kind == "float":
        rest = mod(abs(a), abs(b))
        is_zero = equal(a, 0) * equal(rest, 0)
        return where(is_zero, a, where(less(a, 0), -rest, rest))
    rest = mod(a, b)
    if not a.dtype.signed:
        return rest
    is_other = logical_xor(less(a, 0), less(rest, 0)) * not_equal(rest, 0)
    return rest - masked(is_other, b)


HALF_WAY = 0.5  # from here on the sum starts at the end


def lerp(start: Value, end: Value, weight: Value) -> Tensor:
    """``start + weight*(end - start)``, exactly ``end`` where the weight is 1."""
    a, b, w = floats_together("lerp", start, end, weight)
    dtype = a.dtype
    a, b, w = (x.astype(accumulated(dtype)) for x in (a, b, w))
    way = b - a
    result = where(less(w, HALF_WAY), a + w * way, b - way * (1.0 - w))
    return result.astype(dtype)
