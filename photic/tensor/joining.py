"""Joins with names of their own: rows under rows, columns beside columns, matrices in a corner."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt

from photic.base.errors import BadArgument
from photic.ir.dim import Dim
from photic.tensor.axes import checked_axis
from photic.tensor.indexing import take
from photic.tensor.padding import pad
from photic.tensor.shapes import (
    as_values,
    atleast_1d,
    atleast_2d,
    atleast_3d,
    concat,
    concatenate,
    moveaxis,
    ravel,
    reshape,
)
from photic.tensor.tensor import (
    Tensor,
    Value,
    expanded,
    fixed,
    in_dtype,
    joined_dtype,
    tensor,
)


def _joined(
    op: str, values: Sequence[Value], axis: int, least: Callable[[Value], Tensor]
) -> Tensor:
    """The values in one dtype, each of the rank that ``least`` gives it, one after another."""
    given = as_values(op, values)
    dtype = joined_dtype(given, op)
    return concat([least(in_dtype(one, dtype)) for one in given], axis)


def vstack(values: Sequence[Value]) -> Tensor:
    """Rows under rows: along axis 0 of two or more."""
    return _joined("vstack", values, 0, atleast_2d)


def hstack(values: Sequence[Value]) -> Tensor:
    """Side by side: along axis 1, lines and numbers along axis 0."""
    ranks = {tensor(one, "hstack").ndim for one in as_values("hstack", values)[:1]}
    return _joined("hstack", values, 0 if ranks <= {0, 1} else 1, atleast_1d)


def dstack(values: Sequence[Value]) -> Tensor:
    """One behind another: along axis 2 of three or more."""
    return _joined("dstack", values, 2, atleast_3d)


def column_stack(values: Sequence[Value]) -> Tensor:
    """Side by side, lines as columns."""
    return _joined("column_stack", values, 1, _as_columns)


def _as_columns(x: Value) -> Tensor:
    value = tensor(x, "column_stack")
    return value if value.ndim > 1 else reshape(value, (-1, 1))


def append(x: Value, values: Value, axis: int | None = None) -> Tensor:
    """``values`` after ``x`` along an axis; of all elements in row-major order for None."""
    return concatenate([x, values], axis)


def block_diag(*matrices: Value) -> Tensor:
    """Matrices along the diagonal of a larger one, 0 elsewhere; lines are matrices of one row."""
    dtype = joined_dtype(matrices, "block_diag")
    parts = [atleast_2d(in_dtype(one, dtype)) for one in matrices]
    columns = sum((one.shape[1] for one in parts), start=0)
    before: Dim = 0
    rows: list[Tensor] = []
    for one in parts:
        width = one.shape[1]
        rows.append(pad(one, ((0, 0), (before, columns - before - width))))
        before = before + width
    return concat(rows, 0)


def _require_within(op: str, places: object, extent: int, last: int) -> None:
    """BadArgument for a place that is not in ``-extent .. last``; slices and masks have none."""
    at = np.asarray([] if isinstance(places, slice) else places)
    if at.dtype.kind == "i" and not ((at >= -extent) & (at <= last)).all():
        expected = f"places in {-extent}..{last}"
        raise BadArgument(op=op, argument="places", given=places, expected=expected)


def delete(
    x: Value, places: int | slice | Sequence[int] | npt.NDArray[np.int64], axis: int | None = None
) -> Tensor:
    """Without the places of an axis, which are known now; of all elements for None. UnknownSize."""
    value = tensor(x, "delete")
    if axis is None:
        return delete(ravel(value), places, 0)
    along = checked_axis("delete", axis, value.ndim)
    extent = fixed("delete", value.shape[along])
    _require_within("delete", places, extent, extent - 1)
    return take(value, np.delete(np.arange(extent), places), along)


def insert(
    x: Value,
    places: int | slice | Sequence[int] | npt.NDArray[np.int64],
    values: Value,
    axis: int | None = None,
) -> Tensor:
    """With ``values`` before places of an axis, which are known now; of all elements for None.

    As NumPy's: places are those of ``x``, and values broadcast. UnknownSize, ShapeMismatch.
    """
    value = tensor(x, "insert")
    if axis is None:
        return insert(ravel(value), places, values, 0)
    along = checked_axis("insert", axis, value.ndim)
    extent = fixed("insert", value.shape[along])
    _require_within("insert", places, extent, extent)
    new = in_dtype(values, value.dtype)
    new = reshape(new, (*(1,) * (value.ndim - new.ndim), *new.shape))
    is_slice = isinstance(places, slice)
    at = np.asarray(np.arange(extent)[places] if is_slice else places, np.int64)
    new = moveaxis(new, 0, along) if at.ndim == 0 else new
    # a single place takes all values; new ones are numbered behind the old ones
    count = fixed("insert", new.shape[along]) if at.size == 1 else at.size
    numbers = extent + np.arange(count)
    order = np.insert(np.arange(extent), at.item() if at.size == 1 else at, numbers)
    laid = expanded(new, (*value.shape[:along], count, *value.shape[along + 1 :]))
    return take(concat([value, laid], along), order, along)


def block(arrays: Value | Sequence[object]) -> Tensor:
    """Nested lists of tensors joined: the innermost along the last axis, as NumPy's ``block``.

    BadArgument for lists nested unequally, ShapeMismatch.
    """
    depth = _depth(arrays)
    rank = max([depth, *_ranks(arrays)])
    return _blocked(arrays, depth, rank)


def _depth(arrays: object) -> int:
    """How deep lists are nested. BadArgument."""
    if not isinstance(arrays, list | tuple):
        return 0
    depths = {_depth(one) for one in arrays}
    if len(depths) != 1:
        raise BadArgument(
            op="block", argument="arrays", given="lists", expected="all nested alike, none empty"
        )
    return depths.pop() + 1


def _ranks(arrays: object) -> list[int]:
    if isinstance(arrays, list | tuple):
        return [rank for one in arrays for rank in _ranks(one)]
    return [tensor(arrays, "block").ndim]  # type: ignore[arg-type]


def _blocked(arrays: object, depth: int, rank: int) -> Tensor:
    if isinstance(arrays, list | tuple):
        return concat([_blocked(one, depth - 1, rank) for one in arrays], -depth)
    value = tensor(arrays, "block")  # type: ignore[arg-type]
    return reshape(value, (*(1,) * (rank - value.ndim), *value.shape))
