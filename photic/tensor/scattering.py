"""Scatters: values written or added to places that integer tensors name.

Nothing is written in place: the result is a new tensor. A scatter is a reduction over the values,
each counting where ``place == index``; the compiler runs it over the values instead. Of several
values for one place, writing keeps the last one: the largest number of a value is found, and that
value looked up. Sums of halves are rounded once. Negative places count from the end; what would go
to places outside is dropped.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from photic.base.errors import BadArgument, ShapeMismatch
from photic.ir.dim import Dim, Int
from photic.ir.dtype import BOOL, INT64, DType
from photic.ir.view import Shape
from photic.tensor.arithmetic import divide, floor_divide
from photic.tensor.axes import checked_axis, is_many
from photic.tensor.brackets import Entry, walked
from photic.tensor.compare import equal, maximum, reversed_order
from photic.tensor.creation import counted
from photic.tensor.indexing import (
    Places,
    components,
    from_end,
    index_tensor,
    looked_up,
    merged,
    row_major_places,
)
from photic.tensor.loops import Tensors, scan
from photic.tensor.padding import pad
from photic.tensor.primitive import accumulated, less, masked, reduced, where
from photic.tensor.shapes import (
    expand_dims,
    moveaxis,
    ravel,
    repeated_whole,
    reshape,
    transpose,
    window,
)
from photic.tensor.tensor import (
    Tensor,
    Value,
    broadcast_shape,
    expanded,
    fixed,
    in_dtype,
    number,
    tensor,
)


@dataclass(frozen=True, slots=True)
class Scatter:
    """``values`` for the ``places`` of one ``axis`` of ``x``.

    Places and values broadcast with ``x``; they have size 1 along the axis, and a last axis more:
    the values one after another.
    """

    x: Tensor
    places: Tensor
    values: Tensor
    axis: int

    def hits(self) -> Tensor:
        """True where a place of the axis is that of a value."""
        extent = self.x.shape[self.axis]
        line = reshape(counted(0, extent), (extent, *(1,) * (self.x.ndim - self.axis)))
        return equal(line, self.places)

    def reduced(self, op: str, values: Tensor) -> Tensor:
        """The sum or the largest of the values of each place, in their dtype."""
        hits = self.hits()
        if op == "sum":
            return reduced("sum", masked(hits, values), -1)
        return reduced("max", where(hits, values, number(_lowest(values.dtype), values.dtype)), -1)

    def last(self) -> Tensor:
        """The number, from 1 on, of the last value for each place; below 1 where there is none."""
        numbers = counted(1, self.places.shape[-1] + 1)
        return reduced("max", masked(self.hits(), numbers), -1)


def _lowest(dtype: DType) -> float:
    return -np.inf if dtype.kind == "float" else dtype.low


def _highest(dtype: DType) -> float:
    return np.inf if dtype.kind == "float" else dtype.high


def _written(given: Scatter) -> Tensor:
    last = given.last()
    return where(less(last, 1), given.x, looked_up(given.values, last - 1))


def _added(given: Scatter) -> Tensor:
    if given.x.dtype == BOOL:
        return _largest(given)
    if given.places.shape[-1] == 0:
        return given.x  # the sum of nothing is 0.0, which would make 0.0 of -0.0
    wide = accumulated(given.x.dtype)
    total = given.reduced("sum", given.values.astype(wide))
    return (given.x.astype(wide) + total).astype(given.x.dtype)


def _largest(given: Scatter) -> Tensor:
    return maximum(given.x, given.reduced("max", given.values))


def _smallest(given: Scatter) -> Tensor:
    turned = Scatter(
        reversed_order(given.x), given.places, reversed_order(given.values), given.axis
    )
    return reversed_order(_largest(turned))


def _multiplied(given: Scatter) -> Tensor:
    """One value after another, the first of them first."""
    dtype = given.x.dtype
    lines = [moveaxis(one, -1, 0) for one in (given.places, given.values)]
    extent = given.x.shape[given.axis]
    line = reshape(counted(0, extent), _along(given.x.ndim, given.axis, extent))

    def step(table: Tensors, slices: Tensors) -> tuple[Tensors, Tensors]:
        place, value = slices
        factor = expanded(where(equal(line, place), value, 1), given.x.shape)
        return (table[0] * ravel(factor),), ()

    start = ravel(given.x).astype(accumulated(dtype))
    (result,), _ = scan(step, [start], [lines[0], lines[1].astype(start.dtype)])
    return reshape(result, given.x.shape).astype(dtype)


def _averaged(given: Scatter, own: int = 0) -> Tensor:
    """The sum of ``x`` and the values by their count, and ``own`` more; of integers rounded down.

    Where there is nothing to count it divides by 0.
    """
    dtype = given.x.dtype
    wide = accumulated(dtype)
    values = given.values.astype(wide)
    total = given.x.astype(wide) + given.reduced("sum", values)
    count = given.reduced("sum", expanded(number(1, INT64), given.places.shape)) + own
    by = divide if dtype.kind == "float" else floor_divide
    return by(total, count.astype(wide)).astype(dtype)


@dataclass(frozen=True, slots=True)
class Reduction:
    """How values join what is at their place; ``start`` is what changes none of them."""

    rule: Callable[[Scatter], Tensor]
    start: Callable[[DType], float]


_ADD = Reduction(_added, lambda dtype: 0)
_MULTIPLY = Reduction(_multiplied, lambda dtype: 1)
_MEAN = Reduction(lambda given: _averaged(given, 1), lambda dtype: 0)
_MAX = Reduction(_largest, _lowest)
_MIN = Reduction(_smallest, _highest)
_SET = Reduction(_written, lambda dtype: 0)
REDUCTIONS: Mapping[str, Reduction] = {
    "none": _SET,
    "set": _SET,
    "add": _ADD,
    "sum": _ADD,
    "mul": _MULTIPLY,
    "multiply": _MULTIPLY,
    "prod": _MULTIPLY,
    "max": _MAX,
    "amax": _MAX,
    "min": _MIN,
    "amin": _MIN,
}


def _reduction(op: str, name: str | None) -> Reduction:
    found = REDUCTIONS.get(name or "none")
    if found is None:
        raise BadArgument(
            op=op, argument="reduce", given=repr(name), expected=f"one of {', '.join(REDUCTIONS)}"
        )
    return found


# --- along an axis --------------------------------------------------------------------------


def scatter(x: Value, dim: int, index: Places, src: Value, reduce: str | None = None) -> Tensor:
    """PyTorch's: ``out[index[i][j]][j] = src[i][j]`` (``dim=0``), elsewhere ``x``.

    ``index`` has the rank of ``x`` and is no longer along other axes; ``src``, a number or a
    tensor, is no shorter than ``index``. ``reduce``: none (of several values the last one counts),
    add, multiply (in order), max, min. BadArgument, ShapeMismatch.
    """
    rule = _reduction("scatter", reduce).rule
    value, places, source = _checked("scatter", x, index, src)
    if value.ndim == 0:
        return reshape(scatter(ravel(value), dim, ravel(places), ravel(source), reduce), ())
    return rule(_scatter("scatter", value, dim, places, source))


def scatter_add(x: Value, dim: int, index: Places, src: Value) -> Tensor:
    """As ``scatter``, adding."""
    return scatter(x, dim, index, src, "add")


def scatter_reduce(
    x: Value, dim: int, index: Places, src: Value, reduce: str, include_self: bool = True
) -> Tensor:
    """As ``scatter``, by sum, prod, mean, amax or amin of the values (and of ``x`` itself).

    Without ``include_self`` only the values count where there are some. The mean of integers is
    rounded down.
    """
    value, places, source = _checked("scatter_reduce", x, index, src)
    if value.ndim == 0:
        lines = (ravel(places), ravel(source))
        return reshape(scatter_reduce(ravel(value), dim, *lines, reduce, include_self), ())
    given = _scatter("scatter_reduce", value, dim, places, source)
    chosen = _MEAN if reduce == "mean" else _reduction("scatter_reduce", reduce)
    if include_self:
        return chosen.rule(given)
    nothing = expanded(number(chosen.start(value.dtype), value.dtype), value.shape)
    result = (_averaged if reduce == "mean" else chosen.rule)(replace(given, x=nothing))
    return where(less(given.last(), 1), value, result)


def _checked(op: str, x: Value, index: Places, src: Value) -> tuple[Tensor, Tensor, Tensor]:
    """Tensors of one rank, the last in the dtype of the first and at least as long as the index."""
    value, places = tensor(x, op), index_tensor(op, index)
    source = in_dtype(src, value.dtype)
    source = source if source.ndim else expanded(source, places.shape)
    if not value.ndim == places.ndim == source.ndim:
        raise ShapeMismatch(op=op, left=value.shape, right=places.shape)
    for axis, extent in enumerate(places.shape):
        source = window(source, axis, 0, extent, op)
    return value, places, source


def _scatter(op: str, x: Tensor, dim: int, places: Tensor, values: Tensor) -> Scatter:
    """Values along an axis; other axes of ``x`` may go on after those of the values."""
    axis = checked_axis(op, dim, x.ndim)
    places = from_end(places, x.shape[axis])
    for k in (k for k in range(x.ndim) if k != axis):
        window(x, k, 0, places.shape[k], op)
    rest = [(0, 0 if k == axis else n - places.shape[k]) for k, n in enumerate(x.shape)]
    return _lines(x, axis, pad(places, rest, constant_values=-1), pad(values, rest))


def _lines(x: Tensor, axis: int, places: Tensor, values: Tensor) -> Scatter:
    """Places and values of the rank of ``x``, one after another along the axis."""
    aside, lines = (expand_dims(moveaxis(one, axis, -1), axis) for one in (places, values))
    return Scatter(x, aside, lines, axis)


def put_along_axis(x: Value, indices: Places, values: Value, axis: int | None = -1) -> Tensor:
    """``x`` with values at the places of ``indices`` in the same lines; the last one counts.

    NumPy's, but as a new tensor. ``indices`` and ``values`` broadcast with other axes. With
    ``axis=None`` in all elements in row-major order. ShapeMismatch.
    """
    op = "put_along_axis"
    value, places = tensor(x, op), index_tensor(op, indices)
    if axis is None:
        return reshape(put_along_axis(ravel(value), places, values, 0), value.shape)
    if value.ndim != places.ndim:
        raise ShapeMismatch(op=op, left=value.shape, right=places.shape)
    along = checked_axis(op, axis, value.ndim)
    shape = broadcast_shape(op, places.shape, _with(value.shape, along, 1))
    new = expanded(in_dtype(values, value.dtype), shape)
    return _written(_lines(value, along, from_end(places, value.shape[along]), new))


def _with(shape: Shape, axis: int, extent: Dim) -> Shape:
    return (*shape[:axis], extent, *shape[axis + 1 :])


# --- whole slices ---------------------------------------------------------------------------


def _slices(op: str, x: Tensor, dim: int, index: Places, source: Value) -> Scatter:
    """A slice of ``source`` for each place of a line of them, along an axis."""
    axis = checked_axis(op, dim, x.ndim)
    places = from_end(ravel(index_tensor(op, index)), x.shape[axis])
    new = in_dtype(source, x.dtype)
    values = expanded(new, _with(x.shape, axis, places.shape[0]))
    return _lines(x, axis, reshape(places, _along(x.ndim, axis, places.shape[0])), values)


def _along(rank: int, axis: int, extent: Dim) -> Shape:
    return (*(1,) * axis, extent, *(1,) * (rank - axis - 1))


def index_add(x: Value, dim: int, index: Places, source: Value, alpha: float = 1) -> Tensor:
    """``x`` with ``alpha`` times the slices of ``source`` added at the places of an axis."""
    value = tensor(x, "index_add")
    given = _slices("index_add", value, dim, index, source)
    return _added(given if alpha == 1 else replace(given, values=given.values * alpha))


def index_copy(x: Value, dim: int, index: Places, source: Value) -> Tensor:
    """``x`` with the slices of ``source`` at the places of an axis; the last one counts."""
    return _written(_slices("index_copy", tensor(x, "index_copy"), dim, index, source))


def index_fill(x: Value, dim: int, index: Places, value: Value) -> Tensor:
    """``x`` with one number in the slices at the places of an axis."""
    return _written(_slices("index_fill", tensor(x, "index_fill"), dim, index, value))


# --- several axes ---------------------------------------------------------------------------


def scatter_nd(x: Value, indices: Places, updates: Value, reduction: str = "none") -> Tensor:
    """ONNX's: the last axis of ``indices`` holds a place for each of the first axes of ``x``.

    ``updates`` has the other axes of ``indices`` and then those of ``x``. ``reduction``: none (the
    last one counts), add, mul (in order), max, min. BadArgument, ShapeMismatch, UnknownSize.
    """
    rule = _reduction("scatter_nd", reduction).rule
    value, index = tensor(x, "scatter_nd"), index_tensor("scatter_nd", indices)
    places = components("scatter_nd", index, value.ndim)
    at = row_major_places("scatter_nd", places, value.shape[: len(places)])
    rest = value.shape[len(places) :]
    new = expanded(in_dtype(updates, value.dtype), (*at.shape, *rest))
    return _at_places(value, 0, len(places), at, new, rule)


def _at_places(
    x: Tensor, axis: int, count: int, at: Tensor, values: Tensor, rule: Callable[[Scatter], Tensor]
) -> Tensor:
    """Scatter to ``count`` axes of ``x`` as one; values have the axes of ``at`` in their place."""
    table, places = merged(x, axis, count), ravel(at)
    lines = reshape(values, _with(table.shape, axis, places.shape[0]))
    where_to = reshape(places, _along(table.ndim, axis, places.shape[0]))
    return reshape(rule(_lines(table, axis, where_to, lines)), x.shape)


def index_put(
    x: Value, indices: Sequence[Entry], values: Value, accumulate: bool = False
) -> Tensor:
    """``x`` with values at ``x[indices]``, which they broadcast to; the last one counts, or all.

    ``indices``: what stands in brackets, but of slices only whole ones (``None`` is one, too). A
    mask that is not known before the call may stand alone, with one number. BadArgument,
    ShapeMismatch, SizeOfMask.
    """
    value, new = tensor(x, "index_put"), tensor(values, "index_put")
    if not is_many(indices):
        expected = "a sequence of what stands in brackets"
        raise BadArgument(op="index_put", argument="indices", given=indices, expected=expected)
    entries = [slice(None) if one is None else one for one in indices]
    if len(entries) == 1 and _is_open_mask(entries[0]) and new.ndim == 0:
        mask = tensor(entries[0])  # type: ignore[arg-type]
        wide = reshape(mask, (*mask.shape, *(1,) * (value.ndim - mask.ndim)))
        return where(wide, value + new if accumulate else in_dtype(new, value.dtype), value)
    if any(isinstance(one, slice) and one != slice(None) for one in entries):
        raise BadArgument(
            op="index_put", argument="indices", given="a slice", expected="whole slices, tensors"
        )
    walk = walked(value, [_as_tensor(one) for one in entries])
    order, start = walk.order()
    table = transpose(value, order)
    count = len(walk.places)
    at = row_major_places("index_put", walk.places, table.shape[start : start + count])
    shape = (*table.shape[:start], *at.shape, *table.shape[start + count :])
    lines = expanded(in_dtype(new, value.dtype), shape)
    result = _at_places(table, start, count, at, lines, _added if accumulate else _written)
    return transpose(result, [order.index(k) for k in range(len(order))])


def _as_tensor(entry: Entry) -> Entry:
    """Integers as tensors of rank 0, so that their axes stay."""
    is_integer = isinstance(entry, int | np.integer | Int) and not isinstance(entry, bool)
    return index_tensor("[]", entry) if is_integer else entry  # type: ignore[arg-type]


def _is_open_mask(entry: Entry) -> bool:
    """True for a mask that is not known before the call."""
    is_mask = isinstance(entry, Tensor) and entry.dtype == BOOL
    return is_mask and entry.operand.node.op != "constant"  # type: ignore[union-attr]


def put(x: Value, indices: Places, values: Value, accumulate: bool = False) -> Tensor:
    """``x`` with values at places of its elements in row-major order, as a new tensor.

    Too few values repeat. The last value for a place counts, or all. UnknownSize.
    """
    value, places = tensor(x, "put"), ravel(index_tensor("put", indices))
    new, count = ravel(in_dtype(values, value.dtype)), places.shape[0]
    if new.shape[0] not in (1, count):
        times = -(-fixed("put", count) // max(1, fixed("put", new.shape[0])))
        new = window(repeated_whole(new, 0, times), 0, 0, count, "put")
    return reshape(index_put(ravel(value), (places,), new, accumulate), value.shape)
