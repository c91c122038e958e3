"""Operations on the bits of integers, which no primitive has: bits are remainders compared.

Bit k of x is set where ``x mod 2**(k+1)`` (floored, so also right for negative x) is at least
``2**k``. A mask of low bits is one ``mod``; else the bits that two values share are a sum over all
bits, written out term by term: C compilers know such sums and make one instruction of them. On
bools the operations are the logical ones.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce

import numpy as np

from photic.base.errors import BadArgument, DtypeMismatch
from photic.forms import movement
from photic.ir.dim import floordiv
from photic.ir.dtype import BOOL, INT16, UINT8, DType
from photic.tensor.arithmetic import floor_divide
from photic.tensor.axes import as_integer, checked_axis
from photic.tensor.compare import logical_xor, reversed_order
from photic.tensor.primitive import add, less, masked, mod, negated, where
from photic.tensor.shapes import moveaxis, moved, ravel, reshape
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


# --- shifts ---------------------------------------------------------------------------------


@method
def left_shift(x: Value, places: Value) -> Tensor:
    """Bits moved up; those that leave are lost, all of them for as many places as there are bits.

    A Python integer of places must be 0 or more (BadArgument); of a tensor's, negative ones give 0.
    """
    if not _is_fixed("left_shift", places):
        return _shifted("left_shift", x, places, _up)
    return _up(_integer("left_shift", x), int(places))


@method
def right_shift(x: Value, places: Value) -> Tensor:
    """Bits moved down, the sign kept: floor(x / 2**places).

    A Python integer of places must be 0 or more (BadArgument); of a tensor's, negative ones leave
    the sign only.
    """
    if not _is_fixed("right_shift", places):
        return _shifted("right_shift", x, places, _down)
    return _down(_integer("right_shift", x), int(places))


def _integer(op: str, x: Value) -> Tensor:
    value = tensor(x, op)
    if value.dtype.kind != "int":
        raise DtypeMismatch(op=op, given=value.dtype, expected="an integer dtype")
    return value


def _is_fixed(op: str, places: Value) -> bool:
    if not isinstance(places, int | np.integer):
        return False
    if places < 0:
        raise BadArgument(op=op, argument="places", given=places, expected="an integer, 0 or more")
    return True


def _up(x: Tensor, places: int) -> Tensor:
    if places > 8 * x.dtype.bytes - 1:
        return expanded(number(0, x.dtype), x.shape)
    if places == _value_bits(x.dtype):
        return x * x.dtype.low  # the sign bit alone
    return x * (1 << places)


def _down(x: Tensor, places: int) -> Tensor:
    if places >= _value_bits(x.dtype):
        return where(less(x, 0), number(-1, x.dtype), 0) if x.dtype.signed else x * 0
    return floor_divide(x, 1 << places)


def _shifted(op: str, x: Value, places: Value, by: Callable[[Tensor, int], Tensor]) -> Tensor:
    """A shift by each power of two that is in the number of places."""
    value, count = together(op, _integer(op, x), _integer(op, places))
    bits = 8 * value.dtype.bytes
    result = value
    for k in range(bits.bit_length() - 1):
        is_set = negated(less(mod(count, 2 ** (k + 1)), 2**k))
        result = where(is_set, by(result, 2**k), result)
    is_outside = less(count, 0) + negated(less(count, bits))
    return where(is_outside, by(value, bits), result)


# NumPy's other names.
invert = bitwise_invert = bitwise_not
bitwise_left_shift, bitwise_right_shift = left_shift, right_shift

# --- bits and bytes -------------------------------------------------------------------------

BYTE = 8  # bits


def bitwise_count(x: Value) -> Tensor:
    """How many bits of the magnitude are 1 (uint8). DtypeMismatch for floats and bools."""
    value = _integer("bitwise_count", x)
    if value.dtype.signed:
        value = where(less(value, 0), value * -1, value)
    return reduce(add, (bit.astype(UINT8) for bit in _bits(value)))


def _weights(order: str) -> list[int]:
    if order not in ("big", "little"):
        raise BadArgument(op="bits", argument="bitorder", given=order, expected="big or little")
    weights = [2**k for k in range(BYTE)]
    return weights if order == "little" else weights[::-1]


def packbits(x: Value, axis: int | None = None, bitorder: str = "big") -> Tensor:
    """Each 8 places of an axis as the bits of a uint8: 1 where not 0; zeros fill up the last.

    Of all elements for None. The first place is the highest bit, or the lowest ("little").
    """
    value, weights = tensor(x, "packbits").astype(BOOL), _weights(bitorder)
    if axis is None:
        return packbits(ravel(value), 0, bitorder)
    place = checked_axis("packbits", axis, value.ndim)
    extent = value.shape[place]
    count = floordiv(extent + (BYTE - 1), BYTE)
    last = moved(moveaxis(value, place, -1), movement.pad, value.ndim - 1, 0, count * BYTE - extent)
    bits = reshape(last, (*last.shape[:-1], count, BYTE)).astype(UINT8)
    # term by term: a sum of products with a table would be arranged as a product of matrices
    terms = [bits[..., k] * weight for k, weight in enumerate(weights)]
    return moveaxis(reduce(add, terms), -1, place)


def unpackbits(
    x: Value, axis: int | None = None, count: int | None = None, bitorder: str = "big"
) -> Tensor:
    """The bits (0 or 1, uint8) of each uint8 side by side along an axis; else as ``packbits``.

    ``count`` keeps so many (negative: all but so many), zeros after them. DtypeMismatch.
    """
    value, weights = tensor(x, "unpackbits"), np.array(_weights(bitorder), np.int16)
    if value.dtype != UINT8:
        raise DtypeMismatch(op="unpackbits", given=value.dtype, expected="uint8")
    if axis is None:
        return unpackbits(ravel(value), 0, count, bitorder)
    place = checked_axis("unpackbits", axis, value.ndim)
    last = moveaxis(value, place, -1).astype(INT16)[..., None]
    bits = negated(less(mod(last, weights * 2), weights)).astype(UINT8)
    line = reshape(bits, (*bits.shape[:-2], bits.shape[-2] * BYTE))
    if count is not None:
        kept = as_integer("unpackbits", "count", count)
        extra = kept - line.shape[-1] if kept >= 0 else kept
        line = moved(line, movement.pad, line.ndim - 1, 0, extra)
    return moveaxis(line, -1, place)
