"""Lookups by integer tensors, and writing a part of a state.

A lookup is a sum over the table's axis of ``where(k == index) * table``, with an exact mask: the
compiler reads it as a load. So an index outside the axis finds nothing and gives 0; negative ones
count from the end where NumPy's do.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from photic.base.errors import BadArgument, DtypeMismatch, ShapeMismatch
from photic.forms import movement
from photic.ir.dim import Dim, bounds, product
from photic.ir.dtype import INT64
from photic.ir.view import Shape, View
from photic.tensor.axes import as_size, checked_axis
from photic.tensor.compare import equal
from photic.tensor.creation import counted
from photic.tensor.primitive import less, masked, negated, reduced, where
from photic.tensor.shapes import (
    as_values,
    broadcast_arrays,
    expand_dims,
    moved,
    ravel,
    reshape,
    stack,
    window,
)
from photic.tensor.slicing import selected
from photic.tensor.tensor import (
    DTypeLike,
    Tensor,
    Value,
    broadcast_shape,
    expanded,
    fixed,
    in_dtype,
    joined_dtype,
    method,
    size_value,
    tensor,
)

Places = Value | Sequence[int]


def index_tensor(op: str, index: Places) -> Tensor:
    """An index as int64; DtypeMismatch for floats and bools."""
    if isinstance(index, list | tuple):
        index = np.asarray(index, dtype=None if index else np.int64)
    value = tensor(index, op)  # type: ignore[arg-type]
    if value.dtype.kind != "int":
        raise DtypeMismatch(op=op, given=value.dtype, expected="an integer dtype")
    return value.astype(INT64)


# --- how a lookup is written ----------------------------------------------------------------


def from_end(index: Tensor, extent: Dim) -> Tensor:
    """Negative places counted from the end, as NumPy's."""
    return where(less(index, 0), index + size_value(extent), index)


def looked_up(table: Tensor, index: Tensor) -> Tensor:
    """The element of the table's last axis at each index, which broadcasts with its other axes."""
    shape = broadcast_shape("[]", table.shape[:-1], index.shape)
    extent = table.shape[-1]
    wide = expanded(index, shape)
    return reduced(
        "sum",
        masked(equal(counted(0, extent), expand_dims(wide, -1)), expanded(table, (*shape, extent))),
        -1,
    )


def _taken(x: Tensor, index: Tensor, axis: int) -> Tensor:
    """The places of an axis at each index, whose axes stand where the axis was."""
    before, extent, after = x.shape[:axis], x.shape[axis], x.shape[axis + 1 :]
    # x as (before, index axes of size 1, after, K); the index as (index axes, after of size 1)
    order = [*range(axis), *range(axis + 1, x.ndim), axis]
    last = moved(x, movement.permute, order)
    table = reshape(last, (*before, *(1,) * index.ndim, *after, extent))
    return looked_up(table, reshape(index, (*index.shape, *(1,) * len(after))))


def looked_up_along(x: Tensor, places: Sequence[Tensor], axis: int) -> Tensor:
    """The elements of axes ``axis, axis + 1, ...`` at the places of as many tensors, broadcast."""
    extents = x.shape[axis : axis + len(places)]
    index = row_major_places("[]", places, extents)
    return _taken(merged(x, axis, len(places)), index, axis)


def merged(x: Tensor, axis: int, count: int) -> Tensor:
    """So many axes as one, in row-major order."""
    shape = x.shape
    extent = product(shape[axis : axis + count])
    return reshape(x, (*shape[:axis], extent, *shape[axis + count :]))


def row_major_places(op: str, places: Sequence[Tensor], extents: Shape) -> Tensor:
    """Where in row-major order the element of several axes stands; -1 if outside one of them.

    Negative places count from the end; the tensors broadcast together. Of one axis the place is
    given as it is, inside or outside.
    """
    shape = broadcast_shape(op, *(one.shape for one in places))
    ended = [from_end(one, extent) for one, extent in zip(places, extents, strict=True)]
    if len(ended) == 1:
        return ended[0]
    total, inside = ended[0], is_place(ended[0], extents[0])
    for one, extent in zip(ended[1:], extents[1:]):
        total = total * size_value(extent) + one
        inside = inside * is_place(one, extent)
    return where(inside, expanded(total, shape), -1)


def is_place(index: Tensor, extent: Dim) -> Tensor:
    """True where ``0 <= index < extent``."""
    return negated(less(index, 0)) * less(index, size_value(extent))


# --- lookups along an axis ------------------------------------------------------------------


@method
def take(x: Value, indices: Places, axis: int | None = None) -> Tensor:
    """Elements at integer places along an axis (of all elements for None), as NumPy's ``take``.

    Negative places count from the end; places outside give 0. The result has the axes of
    ``indices`` where ``axis`` was.
    """
    value = tensor(x, "take")
    index = index_tensor("take", indices)
    if axis is None:
        return take(ravel(value), index, 0)
    place = checked_axis("take", axis, value.ndim)
    return _taken(value, from_end(index, value.shape[place]), place)


def index_select(x: Value, dim: int, index: Places) -> Tensor:
    """As ``take`` along an axis, by a tensor of rank 1 or 0; the axis stays."""
    places = index_tensor("index_select", index)
    if places.ndim > 1:
        raise BadArgument(
            op="index_select", argument="index", given=f"of rank {places.ndim}", expected="rank 1"
        )
    return take(x, ravel(places), dim)


def at_place(x: Value, dim: int, index: Dim | Tensor) -> Tensor:
    """PyTorch's ``select``: the slice at one place of an axis, which is gone; also by a tensor."""
    value = tensor(x, "select")
    axis = checked_axis("select", dim, value.ndim)
    return take(value, index, axis) if isinstance(index, Tensor) else selected(value, axis, index)


def narrow(x: Value, dim: int, start: Dim | Tensor, length: Dim) -> Tensor:
    """``length`` places of an axis from ``start`` on, which may be a tensor of rank 0.

    An integer that does not fit is refused; places outside that a tensor names are 0. BadArgument.
    """
    value = tensor(x, "narrow")
    axis = checked_axis("narrow", dim, value.ndim)
    if isinstance(start, Tensor):
        return take(value, index_tensor("narrow", start) + counted(0, length), axis)
    first, count = (as_size("narrow", "start, length", one) for one in (start, length))
    first = first + value.shape[axis] if isinstance(first, int) and first < 0 else first
    return window(value, axis, first, first + count, "narrow")


def embedding(indices: Value, table: Value) -> Tensor:
    """Rows of a table (K, ...) at integer places; a place outside 0..K-1 gives zeros."""
    index, rows = index_tensor("embedding", indices), tensor(table, "embedding")
    return _taken(rows, index, checked_axis("embedding", 0, rows.ndim))


def take_along_axis(x: Value, indices: Places, axis: int | None = -1) -> Tensor:
    """For each place of ``indices`` the element of the same line of ``x``, as NumPy's.

    ``indices`` has the rank of ``x``; other axes broadcast. Negative places count from the end;
    places outside give 0. With ``axis=None`` of all elements in row-major order.
    """
    value, index = tensor(x, "take_along_axis"), index_tensor("take_along_axis", indices)
    if axis is None:
        return take_along_axis(ravel(value), index, 0)
    if value.ndim != index.ndim:
        raise ShapeMismatch(op="take_along_axis", left=value.shape, right=index.shape)
    place = checked_axis("take_along_axis", axis, value.ndim)
    # x as (..., 1 for the axis, ..., K): the axis goes last, the index's place stays
    order = [*range(place), *range(place + 1, value.ndim), place]
    table = expand_dims(moved(value, movement.permute, order), place)
    return looked_up(table, from_end(index, value.shape[place]))


def gather(x: Value, dim: int, index: Places) -> Tensor:
    """PyTorch's: ``out[i][j] = x[index[i][j]][j]`` (``dim=0``), in the shape of ``index``.

    ``index`` has the rank of ``x`` and is no longer along other axes, whose first places it goes
    with. Negative places count from the end; places outside give 0. BadArgument, ShapeMismatch.
    """
    value, places = tensor(x, "gather"), index_tensor("gather", index)
    if value.ndim != places.ndim:
        raise ShapeMismatch(op="gather", left=value.shape, right=places.shape)
    if value.ndim == 0:
        return reshape(gather(ravel(value), dim, ravel(places)), ())
    axis = checked_axis("gather", dim, value.ndim)
    for other in (k for k in range(value.ndim) if k != axis):
        value = window(value, other, 0, places.shape[other], "gather")
    return take_along_axis(value, places, axis)


def gather_nd(x: Value, indices: Places, batch_dims: int = 0) -> Tensor:
    """ONNX's: the last axis of ``indices`` holds a place for each of so many axes of ``x``.

    The first ``batch_dims`` axes belong together in both. Negative places count from the end;
    places outside give 0. BadArgument, ShapeMismatch, UnknownSize.
    """
    value, index = tensor(x, "gather_nd"), index_tensor("gather_nd", indices)
    places = components("gather_nd", index, value.ndim - batch_dims)
    batch = value.shape[:batch_dims]
    if index.shape[:batch_dims] != batch:
        raise ShapeMismatch(op="gather_nd", left=batch, right=index.shape[:batch_dims])
    end = batch_dims + len(places)
    at = row_major_places("gather_nd", places, value.shape[batch_dims:end])
    rest = value.shape[end:]
    table = moved(merged(value, batch_dims, len(places)), _axis_last, batch_dims)
    spread = (*batch, *(1,) * (at.ndim - batch_dims), *rest, table.shape[-1])
    return looked_up(reshape(table, spread), reshape(at, (*at.shape, *(1,) * len(rest))))


def _axis_last(view: View, axis: int) -> View:
    order = [k for k in range(view.rank) if k != axis]
    return movement.permute(view, [*order, axis])


def components(op: str, index: Tensor, most: int) -> list[Tensor]:
    """The tensors that lie along the last axis of an index, 1 to ``most``; BadArgument."""
    count = fixed(op, index.shape[-1]) if index.ndim else 0
    if not 1 <= count <= most:
        raise BadArgument(
            op=op, argument="indices", given=index.shape, expected=f"1 to {most} places, last axis"
        )
    return [index[..., k] for k in range(count)]


# --- choices --------------------------------------------------------------------------------


def choose(a: Places, choices: Sequence[Value]) -> Tensor:
    """At each place the value of the choice that ``a`` names; one outside gives 0. Broadcasts."""
    choices = as_values("choose", choices)
    dtype = joined_dtype(choices, "choose")
    index, *given = broadcast_arrays(
        index_tensor("choose", a), *(in_dtype(one, dtype) for one in choices)
    )
    return looked_up(stack(given, -1), from_end(index, len(given)))


def select(condlist: Sequence[Value], choicelist: Sequence[Value], default: Value = 0) -> Tensor:
    """NumPy's: at each place the choice of the first condition that holds, else ``default``."""
    condlist, choicelist = (as_values("select", one) for one in (condlist, choicelist))
    if len(condlist) != len(choicelist):
        raise BadArgument(
            op="select", argument="choicelist", given=len(choicelist), expected="one a condition"
        )
    result = default
    for condition, choice in reversed(list(zip(condlist, choicelist, strict=True))):
        result = where(condition, choice, result)
    return tensor(result)


def one_hot(indices: Value, depth: Dim, dtype: DTypeLike = "float32") -> Tensor:
    """1 at the place given, 0 elsewhere, on a new last axis; all 0 for a place outside."""
    index = index_tensor("one_hot", indices)
    return equal(counted(0, depth), expand_dims(index, -1)).astype(dtype)


# --- writing --------------------------------------------------------------------------------


def update(old: Value, new: Value, start: Dim, axis: int) -> Tensor:
    """``old`` with ``new`` written from place ``start`` of an axis on; what passes the end is lost.

    ``start`` is an integer or symbolic and not negative; other axes of ``new`` broadcast. As the
    next value of the state ``old`` it is done in place.
    """
    value = tensor(old, "update")
    part = tensor(new, "update").astype(value.dtype)
    place, start = checked_axis("update", axis, value.ndim), as_size("update", "start", start)
    if bounds(start)[0] < 0:
        raise BadArgument(op="update", argument="start", given=start, expected="0 or more")
    if part.ndim != value.ndim:
        raise ShapeMismatch(op="update", left=value.shape, right=part.shape)
    extent, length = value.shape[place], part.shape[place]
    part = expanded(part, (*value.shape[:place], length, *value.shape[place + 1 :]))
    laid = moved(part, movement.pad, place, start, extent - start - length)
    inside = _between(extent, start, start + length)
    line = reshape(inside, (extent, *(1,) * (value.ndim - place - 1)))
    return where(line, laid, value)


def _between(extent: Dim, start: Dim, end: Dim) -> Tensor:
    """For each place of an axis, is it in ``start .. end - 1``."""
    places = counted(0, extent)
    before_end = less(places, size_value(end))
    if start == 0:
        return before_end
    return before_end * negated(less(places, size_value(start)))
