"""Operations on the bits of integers, which no primitive has: bits are remainders compared.

Bit k of x is set where ``x mod 2**(k+1)`` (floored, so also right for negative x) is at least
``2**k``. A mask of low bits is one ``mod``; else the bits that two values share are a sum over all
bits, written out term by term: C compilers know such sums and make one instruction of them. On
bools the operations are the logical ones.
"""

from __future__ import annotations

from functools import reduce

from photic.base.errors import BadArgument, DtypeMismatch
from photic.ir.dtype import BOOL, DType
from photic.tensor.arithmetic import floor_divide
from photic.tensor.compare import logical_xor, reversed_order
from photic.tensor.primitive import add, less, masked, mod, negated, where
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
    return _in_both("bitwise_and", a, b)


def _is_low_mask(value: int, dtype: DType) -> bool:
    """True for 2**k - 1 where 2**k fits the dtype."""
    return dtype.kind == "int" and 0 <= value < dtype.high and value & (value + 1) == 0


@method
def bitwise_or(left: Value, right: Value) -> Tensor:
    """The bits that one of them has; on bools, or."""
    a, b = together("bitwise_or", left, right)
    both = _in_both("bitwise_or", a, b)
    return a + b if a.dtype == BOOL else a + b - both


@method
def bitwise_xor(left: Value, right: Value) -> Tensor:
    """The bits that exactly one of them has; on bools, exclusive or."""
    a, b = together("bitwise_xor", left, right)
    both = _in_both("bitwise_xor", a, b)
    return logical_xor(a, b) if a.dtype == BOOL else a + b - both - both


def _in_both(op: str, a: Tensor, b: Tensor) -> Tensor:
    """The bits that both have: a + b counts these twice and the others once."""
    _require_bits(op, a)
    if a.dtype == BOOL:
        return a * b
    weights = [2**k for k in range(_value_bits(a.dtype))]
    if a.dtype.signed:
        weights.append(a.dtype.low)
    bits = zip(_bits(a), _bits(b), weights, strict=True)
    return reduce(add, (masked(p * q, number(weight, a.dtype)) for p, q, weight in bits))


def _value_bits(dtype: DType) -> int:
    return 8 * dtype.bytes - dtype.signed


def _bits(x: Tensor) -> list[Tensor]:
    """The bits as bools, the lowest first, the sign last."""
    count = _value_bits(x.dtype)
    low = where(less(x, 0), x - x.dtype.low, x) if x.dtype.signed else x
    bits = [negated(less(mod(low, 2 ** (k + 1)), 2**k)) for k in range(count - 1)]
    bits.append(negated(less(low, 2 ** (count - 1))))
    return [*bits, less(x, 0)] if x.dtype.signed else bits


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
