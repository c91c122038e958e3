"""Operations on the bits of integers, which no primitive has: bits are remainders compared.

Bit k of x is set where ``x mod 2**(k+1)`` (floored, so also right for negative x) is at least
``2**k``. A mask of low bits is one ``mod``; other operations go through an axis of bits, which the
compiler unrolls or not. On bools they are the logical ones.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from photic.base.errors import BadArgument, DtypeMismatch
from photic.ir.dtype import BOOL, DType
from photic.tensor.arithmetic import floor_divide
from photic.tensor.compare import logical_xor, reversed_order
from photic.tensor.primitive import less, masked, mod, negated, reduced, where
from photic.tensor.shapes import concat, expand_dims
from photic.tensor.tensor import Tensor, Value, expanded, method, number, tensor, together


def _require_bits(op: str, x: Tensor) -> None:
    if x.dtype.kind == "float":
        raise DtypeMismatch(op=op, given=x.dtype, expected="an integer dtype or bool")


@method
def bitwise_not(x: Value) -> Tensor:
    """Every bit turned: -1 - x; on bool the opposite."""
    value = tensor(x, "bitwise_not")
    _require_bits("bitwise_not", value)
    return reversed_order(value)


@method
def bitwise_and(left: Value, right: Value) -> Tensor:
    """The bits that both have; on bools, and."""
    a, b = together("bitwise_and", left, right)
    if isinstance(right, int) and not isinstance(right, bool) and _is_low_mask(right, a.dtype):
        return mod(a, right + 1)
    return _by_bits("bitwise_and", a, b, lambda p, q: p * q)


def _is_low_mask(value: int, dtype: DType) -> bool:
    """True for 2**k - 1 where 2**k fits the dtype."""
    return dtype.kind == "int" and 0 <= value < dtype.high and value & (value + 1) == 0


@method
def bitwise_or(left: Value, right: Value) -> Tensor:
    """The bits that one of them has; on bools, or."""
    a, b = together("bitwise_or", left, right)
    return _by_bits("bitwise_or", a, b, lambda p, q: p + q)


@method
def bitwise_xor(left: Value, right: Value) -> Tensor:
    """The bits that exactly one of them has; on bools, exclusive or."""
    a, b = together("bitwise_xor", left, right)
    return _by_bits("bitwise_xor", a, b, logical_xor)


def _by_bits(op: str, a: Tensor, b: Tensor, combine: Callable[[Tensor, Tensor], Tensor]) -> Tensor:
    _require_bits(op, a)
    if a.dtype == BOOL:
        return combine(a, b)
    both = combine(_bits(a), _bits(b))
    top = a.dtype.low if a.dtype.signed else 2 ** (_value_bits(a.dtype) - 1)
    powers = [2**k for k in range(_value_bits(a.dtype))]
    weights = np.array([*powers, top][: both.shape[-1]]).astype(a.dtype.numpy)
    return reduced("sum", masked(both, weights), -1)


def _value_bits(dtype: DType) -> int:
    return 8 * dtype.bytes - dtype.signed


def _bits(x: Tensor) -> Tensor:
    """The bits as bools on a new last axis, the lowest first, the sign last."""
    count = _value_bits(x.dtype)
    low = where(less(x, 0), x - x.dtype.low, x) if x.dtype.signed else x
    powers = np.array([2**k for k in range(count - 1)], x.dtype.numpy)
    column = expand_dims(low, -1)
    bits = [negated(less(mod(column, powers * 2), powers)), negated(less(column, 2 ** (count - 1)))]
    if x.dtype.signed:
        bits.append(less(expand_dims(x, -1), 0))
    return concat(bits, -1)


def _checked_shift(op: str, x: Value, places: int) -> Tensor:
    value = tensor(x, op)
    if value.dtype.kind != "int":
        raise DtypeMismatch(op=op, given=value.dtype, expected="an integer dtype")
    if not isinstance(places, int) or places < 0:
        raise BadArgument(op=op, argument="places", given=places, expected="an integer, 0 or more")
    return value


def left_shift(x: Value, places: int) -> Tensor:
    """Bits moved up by a fixed number of places; those that leave are lost."""
    value = _checked_shift("left_shift", x, places)
    count = _value_bits(value.dtype)
    if places > 8 * value.dtype.bytes - 1:
        return expanded(number(0, value.dtype), value.shape)
    if places == count:
        return value * value.dtype.low  # the sign bit alone
    return value * (1 << places)


def right_shift(x: Value, places: int) -> Tensor:
    """Bits moved down by a fixed number of places, the sign kept: floor(x / 2**places)."""
    value = _checked_shift("right_shift", x, places)
    if places >= _value_bits(value.dtype):
        return (
            where(less(value, 0), number(-1, value.dtype), 0) if value.dtype.signed else value * 0
        )
    return floor_divide(value, 1 << places)
