"""Powers: whole ones by repeated squaring, others through logarithms in float64.

``exp2(y*log2(x))`` in float32 magnifies a rounding up to 100 times, so it is done in float64 and
rounded once; float64 itself is right to about 1e-13. Special values are those of C's ``pow``.
"""

from __future__ import annotations

import numpy as np

from photic.base.errors import BadArgument
from photic.ir.dtype import FLOAT32, FLOAT64
from photic.tensor.compare import equal, isinf, less_equal, logical_or
from photic.tensor.primitive import (
    exp2,
    less,
    log2,
    masked,
    mod,
    negated,
    numbers_together,
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
    result = exp2(y * log2(size))
    # the sign bit: -0 is not less than 0, but its inverse is
    is_negative = logical_or(less(x, 0), less(reciprocal(x), 0))
    is_whole = logical_or(equal(mod(y, 1.0), 0), isinf(y))
    is_odd = equal(mod(y, 2.0), 1)
    result = where(is_negative * is_odd, -result, result)
    is_complex = less(-np.inf, x) * less(x, 0) * negated(is_whole)
    result = where(is_complex, np.nan, result)
    # where 0*inf made nan
    is_one = equal(x, 1) + equal(y, 0) + equal(size, 1) * isinf(y)
    return where(is_one, 1.0, result).astype(left.dtype)


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
