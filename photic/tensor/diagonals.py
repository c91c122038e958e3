"""Diagonals and triangles of matrices. A diagonal is a view; what lies beside one is exactly 0."""

from __future__ import annotations

from collections.abc import Sequence

from photic.base.errors import BadArgument, ShapeMismatch
from photic.ir.dim import Dim, at_most
from photic.ir.view import Bound, View, axis_variables, composed
from photic.tensor.axes import as_integer, checked_axis
from photic.tensor.creation import counted
from photic.tensor.primitive import less, negated, where
from photic.tensor.reductions import sum as total
from photic.tensor.shapes import checked_axes, expand_dims, moveaxis, moved, ravel, reshape
from photic.tensor.tensor import DTypeLike, Tensor, Value, expanded, in_dtype, tensor

# --- triangles ------------------------------------------------------------------------------


def _numbered(rows: Dim, columns: Dim, k: int) -> tuple[Tensor, Tensor]:
    """The row with ``k`` added, as a column, and the column; both moved so that none is below 0."""
    right, down = max(0, -k), max(0, k)
    deep = counted(down, rows + down)
    return expand_dims(deep, 1), counted(right, columns + right)


def _below(rows: Dim, columns: Dim, k: int) -> Tensor:
    """True where ``column - row <= k``."""
    deep, across = _numbered(rows, columns, k)
    return negated(less(deep, across))


def tri(rows: Dim, columns: Dim | None = None, k: int = 0, dtype: DTypeLike = "float32") -> Tensor:
    """A matrix that is 1 on and below the diagonal ``column - row == k``, 0 above."""
    return _below(rows, rows if columns is None else columns, k).astype(dtype)


def tril(x: Value, k: int = 0) -> Tensor:
    """0 above the diagonal ``column - row == k`` of the last two axes, also over nan."""
    value = tensor(x, "tril")
    checked_axis("tril", -2, value.ndim)
    return where(_below(value.shape[-2], value.shape[-1], k), value, in_dtype(0, value.dtype))


def triu(x: Value, k: int = 0) -> Tensor:
    """0 below the diagonal ``column - row == k`` of the last two axes, also over nan."""
    value = tensor(x, "triu")
    checked_axis("triu", -2, value.ndim)
    under = _below(value.shape[-2], value.shape[-1], k - 1)
    return where(under, in_dtype(0, value.dtype), value)


# --- diagonals ------------------------------------------------------------------------------


def diagonal(x: Value, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Tensor:
    """The elements ``[i, i + offset]`` of two axes, as a new last axis; the two are gone.

    BadArgument where symbolic sizes leave its length open.
    """
    value = tensor(x, "diagonal")
    axes = checked_axes("diagonal", (axis1, axis2), value.ndim)
    return moved(value, _diagonal, axes[0], axes[1], as_integer("diagonal", "offset", offset))


def _diagonal(view: View, first: int, second: int, offset: int) -> View:
    """The view of ``diagonal``."""
    down, right = max(0, -offset), max(0, offset)
    length = diagonal_length(view.shape[first] - down, view.shape[second] - right)
    shape = (*(n for k, n in enumerate(view.shape) if k not in (first, second)), length)
    *rest, place = axis_variables(shape)
    index = iter(rest)
    starts = {first: place + down, second: place + right}
    return composed(
        view, shape, [starts[k] if k in starts else next(index) for k in range(view.rank)]
    )


def diagonal_length(rows: Dim, columns: Dim) -> Dim:
    """The smaller of both, at least 0; BadArgument where it depends on sizes which it is."""
    for one, other in ((rows, columns), (columns, rows)):
        if at_most(one, 0):
            return 0
        if at_most(one, other) and at_most(0, one):
            return one
    raise BadArgument(
        op="diagonal", argument="matrix", given=f"{rows} by {columns}", expected="a known shape"
    )


def trace(x: Value, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Tensor:
    """The sum of a diagonal; dtypes as ``sum``."""
    return total(diagonal(x, offset, axis1, axis2), -1)


def on_diagonal(rows: Dim, columns: Dim, offset: int) -> Tensor:
    """True where ``column - row == offset``."""
    deep, across = _numbered(rows, columns, offset)
    return deep == across


def diag_embed(x: Value, offset: int = 0, dim1: int = -2, dim2: int = -1) -> Tensor:
    """The last axis as the diagonal ``column - row == offset`` of matrices that are 0 elsewhere.

    ``dim1`` and ``dim2`` are the rows and the columns in the result. AxisOutOfRange, BadArgument.
    """
    value = tensor(x, "diag_embed")
    checked_axis("diag_embed", -1, value.ndim)
    axes = checked_axes("diag_embed", (dim1, dim2), value.ndim + 1)
    offset = as_integer("diag_embed", "offset", offset)
    extent = value.shape[-1] + abs(offset)
    return _set_diagonal(in_dtype(0, value.dtype), value, (extent, extent), offset, axes)


def _set_diagonal(
    x: Tensor, line: Tensor, sizes: tuple[Dim, Dim], offset: int, axes: Sequence[int]
) -> Tensor:
    """``x`` with lines on a diagonal of two axes of these sizes."""
    laid = moved(line, _on_rows, *sizes, offset)
    inside = expanded(on_diagonal(*sizes, offset), laid.shape)
    placed = [moveaxis(one, (-2, -1), axes) for one in (inside, laid)]
    return where(placed[0], placed[1], x)


def _on_rows(view: View, rows: Dim, columns: Dim, offset: int) -> View:
    """The last axis along the rows of a matrix, each element in its whole row."""
    shape = (*view.shape[:-1], rows, columns)
    *rest, row, _ = axis_variables(shape)
    place = row - max(0, -offset)
    return composed(view, shape, [*rest, place], [Bound(place, view.shape[-1])])


def diag(x: Value, k: int = 0) -> Tensor:
    """A matrix with this line on its diagonal ``k``; or that diagonal of a matrix. BadArgument."""
    value = tensor(x, "diag")
    if value.ndim not in (1, 2):
        raise BadArgument(op="diag", argument="rank", given=value.ndim, expected="1 or 2")
    return diag_embed(value, k) if value.ndim == 1 else diagonal(value, k)


def diagflat(x: Value, k: int = 0) -> Tensor:
    """A matrix with all elements, in row-major order, on its diagonal ``k``."""
    return diag_embed(ravel(x), k)


def diagonal_scatter(x: Value, src: Value, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Tensor:
    """``x`` with a diagonal replaced by ``src``, of the shape that ``diagonal`` gives.

    BadArgument, ShapeMismatch.
    """
    value = tensor(x, "diagonal_scatter")
    axes = checked_axes("diagonal_scatter", (dim1, dim2), value.ndim)
    part = in_dtype(src, value.dtype)
    shape = diagonal(value, offset, *axes).shape
    if part.ndim and part.shape != shape:
        raise ShapeMismatch(op="diagonal_scatter", left=shape, right=part.shape)
    sizes = value.shape[axes[0]], value.shape[axes[1]]
    offset = as_integer("diagonal_scatter", "offset", offset)
    return _set_diagonal(value, expanded(part, shape), sizes, offset, axes)


def fill_diagonal(x: Value, value: Value) -> Tensor:
    """``x`` with a number on the diagonal of all its axes, as a new tensor. BadArgument."""
    given = tensor(x, "fill_diagonal")
    if given.ndim < 2:
        raise BadArgument(op="fill_diagonal", argument="rank", given=given.ndim, expected="2 more")
    lines = [
        reshape(counted(0, n), (n, *(1,) * (given.ndim - k - 1))) for k, n in enumerate(given.shape)
    ]
    on = lines[0] == lines[1]
    for one in lines[2:]:
        on = on * (lines[0] == one)
    return where(on, in_dtype(value, given.dtype), given)
