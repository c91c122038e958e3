"""Orders of elements: sort, argsort, top-k.

Everything is done on integer keys (``keys.py``), so the order is total and stable: nan is the
largest, -0.0 equals 0.0, equal elements keep their order. A short axis is ordered by counting for
each element those before it. A long one digit by digit, the lowest first: in each pass an element's
place is what stands before its digit, before its run, and before it in its run. The first few of
many are looked for among the chunks that hold the largest elements.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from photic.base.errors import BadArgument
from photic.forms import movement
from photic.ir.dim import Dim, bounds, floordiv, product
from photic.ir.dtype import FLOAT32, INT32, INT64, UINT8, DType
from photic.tensor.axes import as_integer, checked_axis
from photic.tensor.compare import equal, reversed_order
from photic.tensor.creation import counted
from photic.tensor.indexing import looked_up, take_along_axis
from photic.tensor.keys import key_bits, last_key, order_key
from photic.tensor.primitive import less, masked, mod, negated, reduced, where
from photic.tensor.running import SUM, padded, running
from photic.tensor.shapes import (
    as_values,
    concat,
    expand_dims,
    moveaxis,
    moved,
    ravel,
    reshape,
    window,
)
from photic.tensor.tensor import Tensor, Value, expanded, number, size_value, tensor

SHORT = 512  # places: up to so many, comparing each with each is less work than passes
PASSES_WORTH = 1500  # comparisons that take as long as an element's share of all passes
PASSES_LENGTH = 20_000  # elements of a row for which it is worth to compile passes
LANES = 16  # of a wide vector of int32
DIGIT_BITS = 4
DIGITS = 2**DIGIT_BITS
RUNS = (32, 48, 16)  # places in which an element is compared with each before it; best first

# --- lines ----------------------------------------------------------------------------------


def as_lines(x: Tensor, axis: int) -> Tensor:
    """All lines along an axis as rows of a matrix."""
    last = moveaxis(x, axis, -1)
    return reshape(last, (product(last.shape[:-1]), last.shape[-1]))


def from_lines(lines: Tensor, x: Tensor, axis: int) -> Tensor:
    """Rows of a matrix as the lines along an axis of a tensor like ``x``."""
    rest = (*x.shape[:axis], *x.shape[axis + 1 :])
    return moveaxis(reshape(lines, (*rest, lines.shape[-1])), -1, axis)


def at_places(lines: Tensor, places: Tensor) -> Tensor:
    """For each row its elements at the row's places."""
    return looked_up(expand_dims(lines, 1), places.astype(INT64))


def placed(values: Tensor, places: Tensor, extent: Dim) -> Tensor:
    """For each row its values moved to its places, no two to one; those outside are lost."""
    line = counted(0, extent).astype(places.dtype)
    hits = equal(line[:, None], expand_dims(places, 1))
    return reduced("sum", masked(hits, expanded(expand_dims(values, 1), hits.shape)), -1)


def place_dtype(extent: Dim) -> DType:
    """An integer dtype for the places of an axis."""
    return INT32 if bounds(extent)[1] <= INT32.high else INT64


def _each_line(x: Tensor) -> Tensor:
    """The places of each row's elements."""
    rows, extent = x.shape
    return expanded(counted(0, extent).astype(place_dtype(extent)), (rows, extent))


# --- the order of keys ----------------------------------------------------------------------


def ordered(key: Tensor, dtype: DType, count: Dim) -> Tensor:
    """The places of the first ``count`` of each row of keys, which are those of a dtype."""
    extent = key.shape[1]
    if bounds(extent)[1] <= SHORT:
        return _by_ranks(key, dtype, count)
    if isinstance(extent, int) and isinstance(count, int):
        chunk = _chunk(extent, count)
        if chunk > 1:
            return _ordered_in_chunks(key, dtype, count, chunk)
    return moved(_by_digits(key, dtype), movement.shrink, 1, 0, 1, count)


def _by_ranks(key: Tensor, dtype: DType, count: Dim) -> Tensor:
    """The places of the first elements in order: each element counts those before it."""
    extent = key.shape[1]
    whole = floordiv(extent + (LANES - 1), LANES) * LANES
    laid = padded(key, 1, 0, whole - extent, last_key(dtype))
    place = counted(0, whole)
    earlier = less(place, place[:, None])
    before = _goes_before(laid, earlier, dtype)
    places = expanded(place.astype(INT32), laid.shape)
    return placed(places, reduced("sum", before.astype(INT32), -1), count)


def _goes_before(key: Tensor, earlier: Tensor, dtype: DType) -> Tensor:
    """For each two keys of a row, does the second go first: is it less, or equal and earlier."""
    wide = key.astype(INT64) if dtype == INT32 else key
    mine, other = expand_dims(wide, 2), expand_dims(wide, 1)
    if dtype == INT64:  # one more than a key might not be
        return less(other, mine) + equal(other, mine) * earlier
    return less(other, mine + earlier.astype(wide.dtype))


def _by_digits(key: Tensor, dtype: DType) -> Tensor:
    """The places of all elements in order, padded to whole runs by what is last."""
    extent, bits = key.shape[1], key_bits(dtype)
    run = _run(extent)
    whole = floordiv(extent + (run - 1), run) * run
    narrow = place_dtype(whole)
    places = expanded(counted(0, whole).astype(narrow), (key.shape[0], whole))
    for low in range(0, bits, DIGIT_BITS):
        digits = _digits(key, low, bits)
        digits = at_places(digits, places) if low else padded(digits, 1, 0, whole - extent, 0)
        if whole != extent:
            is_past = negated(less(places, size_value(extent).astype(narrow)))
            digits = digits + masked(is_past, number(DIGITS - 1, UINT8))
        places = placed(places, _places_by(digits, run, narrow), whole)
    return places


def _run(extent: Dim) -> int:
    """The length of runs: one that divides the axis where there is such."""
    known = extent if isinstance(extent, int) else 1
    return next((length for length in RUNS if known % length == 0), RUNS[0])


def _digits(key: Tensor, low: int, bits: int) -> Tensor:
    """The digit of each key from some bit on; the highest digit is counted from its lowest."""
    is_highest = low + DIGIT_BITS == bits
    part = key if is_highest else mod(key, 2 ** (low + DIGIT_BITS))
    part = part - mod(key, 2**low) if low else part
    # four bits and zeros below them: exact in float32
    digit = part.astype(FLOAT32) * 2.0**-low
    return (digit + DIGITS // 2 if is_highest else digit).astype(UINT8)


def _places_by(digits: Tensor, run: int, dtype: DType) -> Tensor:
    """For each element the place that it gets when its row is ordered by digits, stably."""
    rows, extent = digits.shape
    runs = reshape(digits, (rows, floordiv(extent, run), run))
    every = counted(0, DIGITS).astype(UINT8)
    mine = expand_dims(runs, 3)
    hits = equal(expand_dims(runs, 2), every[:, None])
    counts = reduced("sum", masked(hits, expanded(number(1, dtype), hits.shape)), -1)
    before_digit = running(SUM, reduced("sum", counts, 1), 1, 0)
    first = running(SUM, counts, 1, 0) + expand_dims(before_digit, 1)
    # of the first places of all digits up to mine, mine is the largest
    start = reduced("max", where(less(mine, every), 0, expand_dims(first, 2)), -1)
    place = counted(0, run)
    same = equal(mine, expand_dims(runs, 2)) * less(place, place[:, None])
    return reshape(start + reduced("sum", same.astype(dtype), -1), (rows, extent))


# --- the first few --------------------------------------------------------------------------


def _work(extent: int) -> int:
    """What it takes to order a row, in comparisons."""
    return extent * extent if extent <= SHORT else (extent + PASSES_LENGTH) * PASSES_WORTH


def _chunk(extent: int, count: int) -> int:
    """The length of chunks with which the first few of a row are found with least work."""
    middle = math.isqrt(extent // max(1, count))
    lengths = range(max(2, middle // 2), 2 * middle + 1, max(1, middle // 16))

    def work(length: int) -> int:
        return _work(extent // length) + _work(count * length + extent % length) + extent

    best = min(lengths, key=work, default=1)
    return best if best > 1 and work(best) < _work(extent) else 1


def _ordered_in_chunks(key: Tensor, dtype: DType, count: int, chunk: int) -> Tensor:
    """The first ``count`` elements stand in the ``count`` chunks whose first elements come first.

    An element of another chunk has before it the first elements of all of these. What is left
    behind the last whole chunk is looked at too.
    """
    rows, extent = key.shape
    assert isinstance(extent, int)
    chunks = extent // chunk
    cut = reshape(window(key, 1, 0, chunks * chunk, "ordered"), (rows, chunks, chunk))
    first = reversed_order(reduced("max", reversed_order(cut), 2))
    chosen = _sorted_places(ordered(first, dtype, count), chunks)
    inside = expand_dims(chosen, 2) * chunk + counted(0, chunk).astype(chosen.dtype)
    places = reshape(inside, (rows, count * chunk))
    if extent % chunk:
        rest = window(_each_line(key), 1, chunks * chunk, extent, "ordered")
        places = concat([places, rest], 1)
    return at_places(places, ordered(at_places(key, places), dtype, count))


def _sorted_places(places: Tensor, extent: int) -> Tensor:
    """Some places of each row in rising order."""
    count = places.shape[1]
    one = expanded(number(1, places.dtype), places.shape)
    flags = placed(one, places, extent)
    target = where(less(0, flags), running(SUM, flags, 1, 0), -1)
    return placed(_each_line(flags), target, count)


# --- what users call ------------------------------------------------------------------------


def _line_of(x: Value, axis: int | None, op: str) -> tuple[Tensor, int]:
    """The value and its axis; for None all elements in row-major order, and theirs."""
    value = tensor(x, op)
    if axis is None:
        return ravel(value), 0
    return value, checked_axis(op, axis, value.ndim)


def _directed(key: Tensor, descending: bool) -> Tensor:
    """Keys in whose order the elements shall stand."""
    return reversed_order(key) if descending else key


def _first(value: Tensor, place: int, count: Dim, descending: bool) -> tuple[Tensor, Tensor]:
    """Lines along an axis, and the places of the first ``count`` of each in order."""
    lines = as_lines(value, place)
    key = _directed(order_key(lines), descending)
    return lines, ordered(key, value.dtype, count)


def argsort(
    x: Value, axis: int | None = -1, descending: bool = False, stable: bool = True
) -> Tensor:
    """The places (int64) of the elements in order along an axis; of all elements for None.

    Always stable, also descending: equal elements (0.0 and -0.0, any two nan) keep their order. nan
    comes last, descending first.
    """
    value, place = _line_of(x, axis, "argsort")
    _, places = _first(value, place, value.shape[place], descending)
    return from_lines(places.astype(INT64), value, place)


def sort(x: Value, axis: int | None = -1, descending: bool = False, stable: bool = True) -> Tensor:
    """The elements in order along an axis, as ``argsort`` places them; of all for None."""
    value, place = _line_of(x, axis, "sort")
    lines, places = _first(value, place, value.shape[place], descending)
    return from_lines(at_places(lines, places), value, place)


def topk(
    x: Value, k: int, axis: int = -1, largest: bool = True, sorted: bool = True
) -> tuple[Tensor, Tensor]:
    """The ``k`` largest (or smallest) elements along an axis, in order, and their places (int64).

    In the order of ``argsort``: nan is the largest, of equal elements the first ones are taken.
    ``sorted=False`` allows any order and gives this one. BadArgument for more than there are.
    """
    value = tensor(x, "topk")
    place = checked_axis("topk", axis, value.ndim)
    extent, count = value.shape[place], as_integer("topk", "k", k)
    if count < 0 or count > bounds(extent)[0]:
        raise BadArgument(op="topk", argument="k", given=k, expected=f"0..{bounds(extent)[0]}")
    lines, places = _first(value, place, count, largest)
    found = (at_places(lines, places), places.astype(INT64))
    values, indices = (from_lines(one, value, place) for one in found)
    return values, indices


# --- NumPy's other orders -------------------------------------------------------------------


def partition(x: Value, kth: int | Sequence[int], axis: int | None = -1) -> Tensor:
    """The elements in an order with those of ranks ``kth`` at their places: that of ``sort``."""
    return sort(x, axis)


def argpartition(x: Value, kth: int | Sequence[int], axis: int | None = -1) -> Tensor:
    """The places (int64) of the elements in the order of ``partition``."""
    return argsort(x, axis)


def lexsort(keys: Sequence[Value], axis: int = -1) -> Tensor:
    """The places (int64) that put the last key in order, of equal ones the key before, and so on.

    Keys have one shape. BadArgument for none.
    """
    first, *others = as_values("lexsort", keys)
    order = argsort(first, axis)
    for key in others:
        order = take_along_axis(order, argsort(take_along_axis(key, order, axis), axis), axis)
    return order
