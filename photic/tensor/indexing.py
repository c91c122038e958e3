"""Indexing: brackets, lookups by integer tensors, and writing a part of a state.

A lookup is a sum over the table's axis of ``where(k == index) * table``, with an exact mask: the
compiler reads it as a load. So an index outside the axis finds nothing and gives 0; negative ones
count from the end where NumPy's do.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from photic.base.errors import BadArgument, DtypeMismatch, ShapeMismatch
from photic.forms import movement
from photic.ir.dim import Dim, Int, at_most, bounds, floordiv
from photic.ir.dtype import INT64
from photic.tensor.axes import checked_axis
from photic.tensor.compare import equal
from photic.tensor.creation import counted
from photic.tensor.errors import AxisOutOfRange
from photic.tensor.primitive import less, masked, negated, reduced, where
from photic.tensor.shapes import expand_dims, moved, ravel, reshape
from photic.tensor.tensor import (
    DTypeLike,
    Index,
    Tensor,
    Value,
    broadcast_shape,
    expanded,
    method,
    size_value,
    tensor,
)

# --- brackets -------------------------------------------------------------------------------


@method
def getitem(x: Tensor, index: Index | tuple[Index, ...]) -> Tensor:
    """``x[index]``: integers, slices, None, Ellipsis, and at most one integer tensor or list.

    Integer places and bounds behave as NumPy's, and are refused where a symbolic size leaves open
    what they mean. Symbolic ones are taken as they are: places outside the axis read 0.
    """
    entries = list(index) if isinstance(index, tuple) else [index]
    axis, result = 0, x
    lookup: tuple[int, Tensor] | None = None
    for entry in _without_ellipsis(entries, x.ndim):
        if entry is None:
            result = expand_dims(result, axis)
            axis += 1
        elif isinstance(entry, slice):
            result = _sliced(result, axis, entry)
            axis += 1
        elif isinstance(entry, int | np.integer | Int):
            result = _selected(result, axis, entry if isinstance(entry, Int) else int(entry))
        else:
            if lookup is not None:
                raise BadArgument(
                    op="[]", argument="index", given="two tensors", expected="at most one"
                )
            lookup = (axis, _index_tensor("[]", entry))  # type: ignore[arg-type]
            axis += 1
    return result if lookup is None else take(result, lookup[1], lookup[0])


def _without_ellipsis(entries: list[Index], rank: int) -> list[Index]:
    used = sum(1 for entry in entries if entry is not None and entry is not Ellipsis)
    dots = [k for k, entry in enumerate(entries) if entry is Ellipsis]
    if len(dots) > 1:
        raise BadArgument(op="[]", argument="index", given="two ...", expected="at most one")
    if used > rank:
        raise AxisOutOfRange(op="[]", axis=used - 1, rank=rank)
    fill: list[Index] = [slice(None)] * (rank - used)
    at = dots[0] if dots else len(entries)
    return entries[:at] + fill + entries[at + 1 :]


def _selected(x: Tensor, axis: int, at: Dim) -> Tensor:
    extent = x.shape[axis]
    place = at + extent if isinstance(at, int) and at < 0 else at
    if isinstance(at, int) and not (at_most(0, place) and at_most(place + 1, extent)):
        raise BadArgument(
            op="[]", argument=f"index of axis {axis}", given=at, expected=f"surely inside {extent}"
        )
    return moved(x, movement.select, axis, place)


def _sliced(x: Tensor, axis: int, given: slice) -> Tensor:
    step = 1 if given.step is None else given.step
    if not isinstance(step, int) or step == 0:
        raise BadArgument(op="[]", argument="step", given=step, expected="an integer, not 0")
    if given.start is None and given.stop is None and step == 1:
        return x
    extent = x.shape[axis]
    if step < 0:
        first = extent - 1 if given.start is None else _place(given.start, extent, -1, -1)
        last = -1 if given.stop is None else _place(given.stop, extent, -1, -1)
        length = _length(first - last, -step)
    else:
        first = 0 if given.start is None else _place(given.start, extent, 0, 0)
        last = extent if given.stop is None else _place(given.stop, extent, 0, 0)
        length = _length(last - first, step)
    if length == 0:
        first = 0
    return moved(x, movement.shrink, axis, first, step, length)


def _place(at: object, extent: Dim, low: int, past: int) -> Dim:
    """A slice's bound as NumPy clips it: from the end if negative, into ``low .. extent + past``.

    A symbolic bound that may or may not lie inside is taken as it is.
    """
    if isinstance(at, np.integer):
        at = int(at)
    if not isinstance(at, int | Int):
        raise BadArgument(op="[]", argument="bound", given=repr(at), expected="an integer")
    place = at + extent if isinstance(at, int) and at < 0 else at
    top = extent + past
    if at_most(top, place):
        return top
    if at_most(place, low):
        return low
    if isinstance(at, Int) or (at_most(low, place) and at_most(place, top)):
        return place
    raise BadArgument(
        op="[]", argument="bound", given=at, expected=f"surely inside or outside {extent}"
    )


def _length(reach: Dim, step: int) -> Dim:
    """``max(0, ceil(reach / step))``; BadArgument where the sign depends on sizes."""
    if at_most(reach, 0):
        return 0
    count = floordiv(reach + (step - 1), step)
    if not at_most(0, count):
        raise BadArgument(
            op="[]", argument="slice", given=f"of {reach} places", expected="surely 0 or more"
        )
    return count


def _index_tensor(op: str, index: Value | Sequence[int]) -> Tensor:
    """An index as int64; DtypeMismatch for floats and bools."""
    if isinstance(index, list | tuple):
        index = np.asarray(index, dtype=None if index else np.int64)
    value = tensor(index, op)  # type: ignore[arg-type]
    if value.dtype.kind != "int":
        raise DtypeMismatch(op=op, given=value.dtype, expected="an integer dtype")
    return value.astype(INT64)


# --- lookups --------------------------------------------------------------------------------


def _from_end(index: Tensor, extent: Dim) -> Tensor:
    """Negative places counted from the end, as NumPy's."""
    return where(less(index, 0), index + size_value(extent), index)


def _looked_up(table: Tensor, index: Tensor) -> Tensor:
    """The sum over the last axis of the table where its place is the index.

    ``table`` is (..., K), ``index`` broadcasts against its leading axes.
    """
    place = counted(0, table.shape[-1])
    return reduced("sum", masked(equal(place, index[..., None]), table), -1)


@method
def take(x: Value, indices: Value | Sequence[int], axis: int | None = None) -> Tensor:
    """Elements at integer places along an axis (of all elements for None), as NumPy's ``take``.

    Negative places count from the end; places outside give 0. The result has the axes of
    ``indices`` where ``axis`` was.
    """
    value = tensor(x, "take")
    index = _index_tensor("take", indices)
    if axis is None:
        return take(ravel(value), index, 0)
    place = checked_axis("take", axis, value.ndim)
    return _taken(value, _from_end(index, value.shape[place]), place)


def _taken(x: Tensor, index: Tensor, axis: int) -> Tensor:
    before, extent, after = x.shape[:axis], x.shape[axis], x.shape[axis + 1 :]
    # x as (before, index axes of size 1, after, K); the index as (index axes, after of size 1)
    order = [*range(axis), *range(axis + 1, x.ndim), axis]
    last = moved(x, movement.permute, order)
    table = reshape(last, (*before, *(1,) * index.ndim, *after, extent))
    spread = reshape(index, (*index.shape, *(1,) * len(after)))
    shape = broadcast_shape("take", table.shape[:-1], spread.shape)
    return _looked_up(expanded(table, (*shape, extent)), expanded(spread, shape))


def embedding(indices: Value, table: Value) -> Tensor:
    """Rows of a table (K, ...) at integer places; a place outside 0..K-1 gives zeros."""
    index = _index_tensor("embedding", indices)
    return _taken(tensor(table, "embedding"), index, 0)


def take_along_axis(x: Value, indices: Value, axis: int = -1) -> Tensor:
    """For each place of ``indices`` the element of the same line of ``x``, as NumPy's.

    ``indices`` has the rank of ``x``; other axes broadcast. Negative places count from the end;
    places outside give 0.
    """
    value, index = tensor(x, "take_along_axis"), _index_tensor("take_along_axis", indices)
    if value.ndim != index.ndim:
        raise ShapeMismatch(op="take_along_axis", left=value.shape, right=index.shape)
    place = checked_axis("take_along_axis", axis, value.ndim)
    index = _from_end(index, value.shape[place])
    # x as (..., 1 for the axis, ..., K): the axis goes last, the index's place stays
    order = [*range(place), *range(place + 1, value.ndim), place]
    table = expand_dims(moved(value, movement.permute, order), place)
    shape = broadcast_shape("take_along_axis", table.shape[:-1], index.shape)
    table = expanded(table, (*shape, table.shape[-1]))
    return _looked_up(table, expanded(index, shape))


def one_hot(indices: Value, depth: Dim, dtype: DTypeLike = "float32") -> Tensor:
    """1 at the place given, 0 elsewhere, on a new last axis; all 0 for a place outside."""
    index = _index_tensor("one_hot", indices)
    return equal(counted(0, depth), index[..., None]).astype(dtype)


# --- writing --------------------------------------------------------------------------------


def update(old: Value, new: Value, start: Dim, axis: int) -> Tensor:
    """``old`` with ``new`` written from place ``start`` of an axis on; what passes the end is lost.

    ``start`` is an integer or symbolic and not negative; other axes of ``new`` broadcast. As the
    next value of the state ``old`` it is done in place.
    """
    value = tensor(old, "update")
    part = tensor(new, "update").astype(value.dtype)
    place = checked_axis("update", axis, value.ndim)
    if bounds(start)[0] < 0:
        raise BadArgument(op="update", argument="start", given=start, expected="0 or more")
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
