"""Random numbers as functions of a key and a place: no hidden state, equal on every target.

A key is an int64 number made by ``key`` from a seed; ``split`` and ``fold_in`` make new ones of
it. Element i of a draw is a function of the key and of i alone, so a longer draw begins with the
shorter one, and neither threads nor shapes change it. Use a key for one draw: two draws with one
key are the same words. Bits come from Squares with four rounds (Widynski 2020, arXiv 2004.06278),
which needs no exclusive or: products and sums of int64 that wrap, and halves exchanged. Floats are
made with operations that are rounded correctly, so that they too are equal to the bit in every
kernel that adds in the order written. Not for cryptography.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from photic.base.errors import BadArgument, DtypeMismatch
from photic.ir.dim import Dim, bounds, product
from photic.ir.dtype import BFLOAT16, FLOAT16, FLOAT32, FLOAT64, INT64, DType, dtype_of
from photic.tensor.arithmetic import floor_divide
from photic.tensor.axes import checked_axis
from photic.tensor.compare import limited, maximum
from photic.tensor.creation import checked_shape, counted
from photic.tensor.indexing import embedding, take
from photic.tensor.loops import Tensors, scan
from photic.tensor.primitive import (
    accumulated,
    as_float,
    less,
    masked,
    mod,
    sqrt,
    where,
)
from photic.tensor.quantiles import exact_log, normal_probability, normal_quantile
from photic.tensor.reductions import argmax
from photic.tensor.shapes import reshape, window
from photic.tensor.tensor import (
    DTypeLike,
    Tensor,
    Value,
    broadcast_shape,
    number,
    size_value,
    tensor,
)

Shape = Dim | Sequence[Dim]

WORD = 2**32  # a word is a number below this in an int64
HALF_DOWN = 2.0**-32
# Keys of the paper's own programs; as multipliers they lead from a key to its two child streams.
ROOT = 0x548C9DECBCE65297
OTHER_ROOT = 0xC58EFD154CE32F6D

# The bits of a uniform number: as many as the dtype holds of every number in 0..1.
UNIFORM_BITS: dict[DType, int] = {FLOAT64: 53, FLOAT32: 24, FLOAT16: 11, BFLOAT16: 8}


# --- words ----------------------------------------------------------------------------------


def _signed(value: int) -> int:
    """The int64 with the bits of an unsigned number."""
    return (value + 2**63) % 2**64 - 2**63


def _low(x: Tensor) -> Tensor:
    """The lower half of 64 bits as a word."""
    return mod(x, WORD)


def _high(x: Tensor) -> Tensor:
    """The upper half of 64 bits as a word: what is left without the lower is exact as float64."""
    upper = ((x - _low(x)).astype(FLOAT64) * HALF_DOWN).astype(INT64)
    return _low(upper)


def _turned(x: Tensor) -> Tensor:
    """Both halves of 64 bits exchanged."""
    return _low(x) * WORD + _high(x)


def words(key: Tensor, counters: Tensor) -> Tensor:
    """Squares with four rounds: for each int64 counter a word, 0 .. 2**32 - 1, as int64."""
    y = counters * key
    z = y + key
    x = _turned(y * y + y)
    x = _turned(x * x + z)
    x = _turned(x * x + y)
    return _high(x * x + z)


def _checked_key(op: str, key: Tensor) -> Tensor:
    if not isinstance(key, Tensor):
        raise BadArgument(op=op, argument="key", given=repr(key), expected="what random.key gives")
    if key.dtype != INT64:
        raise DtypeMismatch(op=op, given=key.dtype, expected="int64, as random.key gives")
    if key.ndim:
        raise BadArgument(op=op, argument="key", given=key.shape, expected="one key, of rank 0")
    return key


def _drawn(op: str, key: Tensor, shape: Shape, each: int) -> list[Tensor]:
    """``each`` words for every place of a shape: place i has counters ``each*i, ...``."""
    sizes = checked_shape(op, shape)
    places = reshape(counted(0, product(sizes)), sizes) * each
    return [words(_checked_key(op, key), places + k if k else places) for k in range(each)]


# --- keys -----------------------------------------------------------------------------------


def key(seed: Value) -> Tensor:
    """A key from a seed, an integer or an integer tensor of rank 0: neighbours are unrelated."""
    if isinstance(seed, int) and not isinstance(seed, bool):
        seed = _signed(seed)
    return fold_in(number(_signed(ROOT), INT64), seed)


def fold_in(key: Tensor, data: Value) -> Tensor:
    """A new key for each integer of ``data``, in its shape; other integers, other keys."""
    parent, given = _checked_key("fold_in", key), tensor(data, "fold_in")
    if given.dtype.kind != "int":
        raise DtypeMismatch(op="fold_in", given=given.dtype, expected="an integer dtype")
    counters = given.astype(INT64)
    upper, lower = (words(parent * _signed(root), counters) for root in (ROOT, OTHER_ROOT))
    # keys are odd, so that no two counters have one product with them
    return upper * WORD + (lower - mod(lower, 2) + 1)


def split(key: Tensor, count: Dim = 2) -> Tensor:
    """``count`` new keys, those of ``fold_in`` with 0, 1, ...; ``a, b = split(key)``."""
    return fold_in(key, counted(0, count))


# --- uniform numbers ------------------------------------------------------------------------


def _unit(op: str, key: Tensor, shape: Shape, dtype: DType) -> Tensor:
    """Uniform in 0 <= u < 1, a multiple of ``2**-bits``."""
    if dtype.kind != "float":
        raise DtypeMismatch(op=op, given=dtype, expected="a float dtype")
    bits = UNIFORM_BITS[dtype]
    if dtype != FLOAT64:
        (word,) = _drawn(op, key, shape, 1)
        top = word - mod(word, 2 ** (32 - bits))
        return (top.astype(FLOAT32) * HALF_DOWN).astype(dtype)
    first, second = _drawn(op, key, shape, 2)
    rest = second - mod(second, 2 ** (64 - bits))
    return first.astype(FLOAT64) * HALF_DOWN + rest.astype(FLOAT64) * HALF_DOWN**2


def uniform(
    key: Tensor,
    shape: Shape = (),
    low: float = 0.0,
    high: float = 1.0,
    dtype: DTypeLike = "float32",
) -> Tensor:
    """Uniform numbers, ``low <= x < high``; where high - low is rounded, x may round to high.

    In 0..1 they are multiples of 2**-24 in float32, 2**-53 in float64, 2**-11 and 2**-8 in halves.
    """
    unit = _unit("uniform", key, shape, dtype_of(dtype))
    if low == 0.0 and high == 1.0:
        return unit
    return unit * (high - low) + low


def bernoulli(key: Tensor, p: Value = 0.5, shape: Shape | None = None) -> Tensor:
    """True with probability ``p``, in its shape unless another is given; never for 0, always for 1.

    A probability is met to 2**-24, or 2**-53 where it is float64.
    """
    chance = as_float(p, "bernoulli")
    chance = chance.astype(FLOAT32) if chance.dtype.is_half else chance
    drawn = _unit("bernoulli", key, chance.shape if shape is None else shape, chance.dtype)
    return less(drawn, chance)


def dropout(x: Value, rate: float, key: Tensor) -> Tensor:
    """Each element 0 with probability ``rate``, the others over ``1 - rate``; all 0 for rate 1."""
    given = as_float(x, "dropout")
    value = given.astype(accumulated(given.dtype))
    if not 0.0 <= rate <= 1.0:
        raise BadArgument(op="dropout", argument="rate", given=rate, expected="0 to 1")
    scale = 1.0 / (1.0 - rate) if rate < 1.0 else 0.0
    kept = bernoulli(key, 1.0 - rate, value.shape)
    return where(kept, value * scale, 0.0).astype(given.dtype)


def randint(
    key: Tensor, low: Value, high: Value, shape: Shape = (), dtype: DTypeLike = "int64"
) -> Tensor:
    """Integers, ``low <= x < high``: the upper part of the span times 96 random bits.

    So no value's share differs from another's by more than 2**-96 (relatively 2**-32 at worst).
    Bounds may be integer tensors, which broadcast with ``shape``; where low >= high, low. Raises
    BadArgument for numbers that are not in order or do not fit the dtype, DtypeMismatch.
    """
    wanted = dtype_of(dtype)
    if wanted.kind != "int":
        raise DtypeMismatch(op="randint", given=wanted, expected="an integer dtype")
    if isinstance(low, int) and isinstance(high, int):
        _check_bounds(low, high, wanted)
    bottom, top = (_as_int64("randint", one) for one in (low, high))
    span = masked(less(bottom, top), top - bottom)
    sizes = broadcast_shape("randint", checked_shape("randint", shape), span.shape)
    return (_scaled(_drawn("randint", key, sizes, 3), span) + bottom).astype(wanted)


def _as_int64(op: str, x: Value) -> Tensor:
    value = tensor(x, op)
    if value.dtype.kind != "int":
        raise DtypeMismatch(op=op, given=value.dtype, expected="an integer dtype")
    return value.astype(INT64)


def _check_bounds(low: int, high: int, dtype: DType) -> None:
    most = min(dtype.high + 1, INT64.high)
    if not dtype.low <= low < high <= most:
        raise BadArgument(
            op="randint",
            argument="low, high",
            given=(low, high),
            expected=f"low < high in {dtype.low}..{most}",
        )


def _scaled(drawn: Sequence[Tensor], span: Tensor) -> Tensor:
    """``floor(span * 0.d0 d1 d2)`` in base 2**32, the span as 64 bits without a sign.

    Long multiplication, from the lowest word on; no step passes 64 bits.
    """
    low, high = _low(span), _high(span)
    carry = number(0, INT64)
    for word in reversed(drawn):
        carry = high * word + _high(carry) + _high(low * word + _low(carry))
    return carry


# --- continuous numbers, rounded the same everywhere -------------------------------------------


def _sides(op: str, key: Tensor, shape: Shape, dtype: DType) -> tuple[Tensor, Tensor]:
    """A uniform number p inside 0..1 and 1 - p, both relatively right also near 0.

    An odd number over 2**32, or 2**64 for float64, so that neither is ever 0.
    """
    if dtype.kind != "float":
        raise DtypeMismatch(op=op, given=dtype, expected="a float dtype")
    if dtype != FLOAT64:
        (word,) = _drawn(op, key, shape, 1)
        odd = word - mod(word, 2) + 1
        return odd.astype(FLOAT32) * HALF_DOWN, (WORD - odd).astype(FLOAT32) * HALF_DOWN
    first, second = _drawn(op, key, shape, 2)
    odd = second - mod(second, 2) + 1
    low, high = odd.astype(FLOAT64), (WORD - odd).astype(FLOAT64)
    top = first.astype(FLOAT64)
    rest = (WORD - 1 - first).astype(FLOAT64)
    return (top + low * HALF_DOWN) * HALF_DOWN, (rest + high * HALF_DOWN) * HALF_DOWN


def exponential(key: Tensor, shape: Shape = (), dtype: DTypeLike = "float32") -> Tensor:
    """Exponential numbers of mean 1, ``-log(1 - u)``: from 2**-32 to 22.2, of float64 to 44.4."""
    wanted = dtype_of(dtype)
    return _exponential("exponential", key, shape, wanted).astype(wanted)


def _exponential(op: str, key: Tensor, shape: Shape, dtype: DType) -> Tensor:
    p, rest = _sides(op, key, shape, dtype)
    return -exact_log(rest, -p)


# An exponential number is scaled into the range of exact_log; the least is out of reach of chance.
GUMBEL_SCALE = 2.0**-6
GUMBEL_LEAST = 2.0**-58


def gumbel(key: Tensor, shape: Shape = (), dtype: DTypeLike = "float32") -> Tensor:
    """Gumbel numbers, ``-log(exponential)``: from -3.1 to 22.2, of float64 -3.8 to 40.2."""
    wanted = dtype_of(dtype)
    x = _exponential("gumbel", key, shape, wanted)
    scaled = where(less(x, GUMBEL_LEAST), GUMBEL_LEAST, x) * GUMBEL_SCALE
    return -(exact_log(scaled, scaled - 1.0) - math.log(GUMBEL_SCALE)).astype(wanted)


def categorical(key: Tensor, logits: Value, axis: int = -1) -> Tensor:
    """A place along the axis (int64), each with probability softmax(logits): the Gumbel maximum.

    -inf is never chosen, nan always is; the result lacks the axis.
    """
    given = as_float(logits, "categorical")
    value = given.astype(accumulated(given.dtype))
    return argmax(value + gumbel(key, value.shape, value.dtype), axis)


# --- normal numbers ---------------------------------------------------------------------------


def normal(key: Tensor, shape: Shape = (), dtype: DTypeLike = "float32") -> Tensor:
    """Normal numbers of mean 0 and variance 1, by the inverse of their distribution.

    From a uniform number of 32 bits (64 for float64), so within 6.3 (9.2) of 0; the inverse is
    right to 1e-6 in float32, 1e-14 in float64. Halves are rounded from float32.
    """
    wanted = dtype_of(dtype)
    return normal_quantile(*_sides("normal", key, shape, wanted)).astype(wanted)


def truncated_normal(
    key: Tensor, low: float, high: float, shape: Shape = (), dtype: DTypeLike = "float32"
) -> Tensor:
    """Normal numbers that lie in ``low .. high``, by the inverse of their distribution in float64.

    Precise where low or high is within 8 of 0 (the tail that is meant counts). BadArgument.
    """
    if not low < high:
        raise BadArgument(
            op="truncated_normal", argument="low, high", given=(low, high), expected="low < high"
        )
    wanted = dtype_of(dtype)
    if wanted.kind != "float":
        raise DtypeMismatch(op="truncated_normal", given=wanted, expected="a float dtype")
    if low > 0:  # small probabilities are precise, those near 1 are not
        return -truncated_normal(key, -high, -low, shape, wanted)
    below, above = normal_probability(low), normal_probability(high)
    p, rest = _sides("truncated_normal", key, shape, FLOAT64)
    chance = p * above + rest * below
    found = normal_quantile(chance, 1.0 - chance)
    return limited(found, low, high).astype(wanted)


# --- permutations -----------------------------------------------------------------------------

# Rounds of a Feistel network: four would do for large ones (Luby and Rackoff 1988: three or four
# half rounds); on few places they mix more slowly, and orders can be counted.
ROUNDS = 6
ROUNDS_OF_FEW, FEW = 12, 64
ROUND_STRIDE = 2**40  # between the counters of two rounds


def permutation(key: Tensor, count: Dim) -> Tensor:
    """The numbers 0 .. count - 1 in random order, each place computed by itself.

    A Feistel network on a grid that holds the numbers and a few more; from a place outside them
    the network is followed on until it comes back inside, which is again a permutation.
    """
    op = "permutation"
    parent = _checked_key(op, key)
    (size,) = checked_shape(op, count)
    grid = _grid(size)
    places = _shuffled(parent, counted(0, size + grid.outside), grid)
    inside = window(places, 0, 0, size, op)
    outside = window(places, 0, size, size + grid.outside, op)
    reach = 1
    while reach < bounds(grid.outside)[1]:  # each step of the table is followed twice as far
        outside = _inside(outside, outside, grid)
        reach *= 2
    return _inside(inside, outside, grid)


def shuffle(key: Tensor, x: Value, axis: int = 0) -> Tensor:
    """``x`` in random order along an axis, the same for all of its lines."""
    value = tensor(x, "shuffle")
    place = checked_axis("shuffle", axis, value.ndim)
    return take(value, permutation(key, value.shape[place]), place)


@dataclass(frozen=True, slots=True)
class _Grid:
    """``rows * columns`` places for ``count`` numbers; at most ``outside`` are too many.

    ``rounds`` is how many of ``most_rounds`` are meant.
    """

    count: Value
    rows: Value
    columns: Value
    outside: Dim
    rounds: Value
    most_rounds: int


def _grid(count: Dim) -> _Grid:
    """Near a square, with an even number of rows so that odd permutations occur too."""
    if isinstance(count, int):
        rows = max(2, math.isqrt(count))
        rows += rows % 2
        columns = max(1, -(-count // rows))
        rounds = ROUNDS_OF_FEW if count <= FEW else ROUNDS
        return _Grid(count, rows, columns, rows * columns - count, rounds, rounds)
    size = size_value(count)
    root = sqrt(size.astype(FLOAT64)).astype(INT64)
    height = maximum(root + mod(root, 2), 2)
    width = maximum(floor_divide(size + height - 1, height), 1)
    outside = math.isqrt(bounds(count)[1]) + 2
    if bounds(count)[0] > FEW:
        return _Grid(size, height, width, outside, ROUNDS, ROUNDS)
    meant = where(less(FEW, size), ROUNDS, ROUNDS_OF_FEW)
    return _Grid(size, height, width, outside, meant, ROUNDS_OF_FEW)


def _shuffled(key: Tensor, places: Tensor, grid: _Grid) -> Tensor:
    """A permutation of the grid's places, row-major."""

    def body(carried: Tensors, sliced: Tensors) -> tuple[Tensors, Tensors]:
        (row, column), (k,) = carried, sliced
        first = k * (2 * ROUND_STRIDE)
        other_row = _advanced(row, words(key, column + first), grid.rows)
        second = words(key, other_row + (first + ROUND_STRIDE))
        other_column = _advanced(column, second, grid.columns)
        if isinstance(grid.rounds, int):
            return (other_row, other_column), ()
        is_meant = less(k, grid.rounds)
        return (where(is_meant, other_row, row), where(is_meant, other_column, column)), ()

    start = floor_divide(places, grid.columns), mod(places, grid.columns)
    (row, column), _ = scan(body, start, (counted(0, grid.most_rounds),))
    return row * grid.columns + column


def _advanced(x: Tensor, word: Tensor, extent: Value) -> Tensor:
    """``x`` plus a random number below the extent, modulo the extent."""
    total = x + _high(word * extent)
    return where(less(total, extent), total, total - extent)


def _inside(places: Tensor, table: Tensor, grid: _Grid) -> Tensor:
    """Places outside the numbers replaced by where the table says that they lead."""
    lead = embedding(places - grid.count, table)
    return where(less(places, grid.count), places, lead)
