"""Powers and roots: whole ones by repeated squaring, others through logarithms in float64.

``exp2(y*log2(x))`` in float32 magnifies a rounding up to 100 times, so it is done in float64 and
rounded once; float64 itself is right to about 1e-13. Special values are those of C's ``pow``.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from photic.base.errors import BadArgument
from photic.ir.dtype import FLOAT32, FLOAT64, DType
from photic.tensor.compare import equal, isfinite, isinf, less_equal, logical_or
from photic.tensor.primitive import (
    constant_like,
    exp2,
    in_float32,
    less,
    log2,
    masked,
    mod,
    negated,
    numbers_together,
    pair_in_float32,
    reciprocal,
    sqrt,
    where,
)
from photic.tensor.rounding import abs
from photic.tensor.tensor import Tensor, Value, expanded, method, number, tensor

# x**n with n up to this is a product of few enough factors to stay within 2 ulp.
FEW_FACTORS = 4


@method
def power(left: Value, right: Value) -> Tensor:
    """left**right. Integers wrap; x**0 = 1 and 1**y = 1, also for nan.

    Floats: a negative number to a power that is not whole is nan. Integers: a negative Python
    exponent is refused (BadArgument); in a tensor it gives 0 (1 or -1 for the bases 1 and -1).
    """
    base = tensor(left, "power")
    if isinstance(right, float) and right.is_integer() and base.dtype.kind == "float":
        right = int(right)
    if isinstance(right, int) and not isinstance(right, bool) and not _is_plain(left):
        if base.dtype.kind == "float":
            return _whole_power(base, right)
        if right < 0:
            raise BadArgument(
                op="power", argument="exponent", given=right, expected="0 or more for integers"
            )
        (base,) = numbers_together("power", base)
        return _by_squaring(base, right)
    if isinstance(right, float) and right == 0.5 and base.dtype.kind == "float":
        return sqrt(base)
    a, b = numbers_together("power", left, right)
    if _is_plain(left) and left == 2 and a.dtype.kind == "float":
        return exp2(b)
    return _float_power(a, b) if a.dtype.kind == "float" else _integer_power(a, b)


def _is_plain(value: Value) -> bool:
    return isinstance(value, bool | int | float | np.generic)


def _by_squaring(x: Tensor, n: int) -> Tensor:
    """x*x*...*x, n times; 1 for none."""
    if n == 0:
        return expanded(number(1, x.dtype), x.shape)
    result: Tensor | None = None
    square = x
    while True:
        if n % 2:
            result = square if result is None else result * square
        n //= 2
        if n == 0:
            assert result is not None
            return result
        square = square * square


def _whole_power(x: Tensor, n: int) -> Tensor:
    if x.dtype.is_half:
        return _whole_power(x.astype(FLOAT32), n).astype(x.dtype)
    if n == -1:
        return reciprocal(x)
    if x.dtype == FLOAT32 and not 0 <= n <= FEW_FACTORS:
        return _whole_power(x.astype(FLOAT64), n).astype(FLOAT32)
    return _by_squaring(x, n) if n >= 0 else reciprocal(_by_squaring(x, -n))


def _float_power(left: Tensor, right: Tensor) -> Tensor:
    x, y = left.astype(FLOAT64), right.astype(FLOAT64)
    size = abs(x)
    exponent = log2(size)
    result = exp2(y * exponent)
    # the sign bit: -0 is not less than 0, but its inverse is
    is_negative = logical_or(less(x, 0), less(reciprocal(x), 0))
    is_whole = logical_or(equal(mod(y, 1.0), 0), isinf(y))
    is_odd = equal(mod(y, 2.0), 1)
    result = where(is_negative * is_odd, -result, result)
    is_complex = less(-np.inf, x) * less(x, 0) * negated(is_whole)
    result = where(is_complex, np.nan, result)
    # where 0*inf made nan, and nan is nothing; elsewhere they are 1 by themselves
    is_one = equal(x, 1) * negated(isfinite(y)) + equal(y, 0) * negated(isfinite(exponent))
    return where(is_one + equal(size, 1) * isinf(y), 1.0, result).astype(left.dtype)


def _integer_power(base: Tensor, exponent: Tensor) -> Tensor:
    """By the exponent's bits: bit k is set where it mod 2**(k+1) is at least 2**k."""
    one = number(1, base.dtype)
    bits = 8 * base.dtype.bytes - base.dtype.signed
    result, square = expanded(one, base.shape), base
    for k in range(bits):
        low = exponent if k == bits - 1 else mod(exponent, 2 ** (k + 1))
        is_set = less_equal(2**k, low)
        result = where(is_set, result * square, result)
        square = square * square
    if not base.dtype.signed:
        return result
    odd = equal(mod(exponent, 2), 1)
    inverse = where(equal(base, 1), one, masked(equal(base, -1), where(odd, -one, one)))
    return where(less(exponent, 0), inverse, result)


# --- roots ----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Range:
    """Magnitudes in ``1/high .. high`` are as they are; others are scaled before they are squared,
    or by the cube of ``cubed`` before they are cubed."""

    high: float
    squared: float
    cubed: float


RANGES: dict[DType, Range] = {
    FLOAT32: Range(2.0**60, 2.0**100, 2.0**40),
    FLOAT64: Range(2.0**400, 2.0**700, 2.0**270),
}


def _scale(size: Tensor, scale: float) -> tuple[Tensor, Tensor]:
    """A power of two that brings a magnitude into range, and its inverse."""
    high = RANGES[size.dtype].high
    one, up, down = (constant_like(size, by) for by in (1.0, scale, 1 / scale))
    is_low, is_high = less(size, 1 / high), less(high, size)
    by = where(is_low, up, where(is_high, down, one))
    return by, where(is_low, down, where(is_high, up, one))


@in_float32
def cbrt(x: Tensor) -> Tensor:
    """The cube root, of negative numbers too. cbrt(-0) = -0, cbrt(inf) = inf.

    ``exp2(log2(|x|)/3)`` and a step of Newton's.
    """
    size = abs(x)
    by, back = _scale(size, RANGES[x.dtype].cubed)
    inside = size * by * by * by
    root = exp2(log2(inside) * (1 / 3))
    error = 1.0 - root * root * root * reciprocal(inside)
    root = (root + root * error * (1 / 3)) * back
    return where(less(0, size) * less(size, np.inf), where(less(x, 0), -root, root), x)


@pair_in_float32
def hypot(left: Tensor, right: Tensor) -> Tensor:
    """sqrt(left**2 + right**2) without overflow; inf if either is infinite, even beside nan."""
    a, b = abs(left), abs(right)
    by, back = _scale(where(less(a, b), b, a), RANGES[left.dtype].squared)
    p, q = a * by, b * by
    return where(isinf(a) + isinf(b), np.inf, sqrt(p * p + q * q) * back)


pow = power  # NumPy's other name
