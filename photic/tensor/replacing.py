"""Parts of an axis replaced, as new tensors: a place, a slice."""

from __future__ import annotations

from photic.base.errors import BadArgument, ShapeMismatch
from photic.ir.dim import Dim
from photic.ir.dtype import BOOL
from photic.tensor.axes import as_integer, as_size, checked_axis
from photic.tensor.primitive import where
from photic.tensor.shapes import expand_dims, moved
from photic.tensor.slicing import apart, selected, slice_of
from photic.tensor.tensor import Tensor, Value, expanded, in_dtype, number, tensor


def slice_scatter(
    x: Value,
    src: Value,
    dim: int = 0,
    start: Dim | None = None,
    end: Dim | None = None,
    step: int = 1,
) -> Tensor:
    """``x`` with ``x[start:end:step]`` along an axis replaced by ``src``, of its shape or a number.

    BadArgument, ShapeMismatch.
    """
    value = tensor(x, "slice_scatter")
    axis, step = (
        checked_axis("slice_scatter", dim, value.ndim),
        as_integer("slice_scatter", "step", step),
    )
    if step < 1:
        raise BadArgument(op="slice_scatter", argument="step", given=step, expected="1 or more")
    first, length = slice_of(value.shape[axis], start, end, step)
    return _replaced(value, in_dtype(src, value.dtype), axis, first, length, step)


def select_scatter(x: Value, src: Value, dim: int, index: Dim) -> Tensor:
    """``x`` with the slice at one place of an axis replaced. BadArgument, ShapeMismatch."""
    value = tensor(x, "select_scatter")
    axis = checked_axis("select_scatter", dim, value.ndim)
    place = as_size("select_scatter", "index", index)
    selected(value, axis, place)  # refuses a place outside
    first = place + value.shape[axis] if isinstance(place, int) and place < 0 else place
    part = in_dtype(src, value.dtype)
    part = expand_dims(part, axis) if part.ndim else part
    return _replaced(value, part, axis, first, 1, 1)


def _replaced(x: Tensor, src: Tensor, axis: int, first: Dim, length: Dim, step: int) -> Tensor:
    shape = (*x.shape[:axis], length, *x.shape[axis + 1 :])
    if src.ndim and src.shape != shape:
        raise ShapeMismatch(op="slice_scatter", left=shape, right=src.shape)
    laid = (axis, x.shape[axis], -first, step)
    inside = moved(expanded(number(True, BOOL), shape), apart, *laid)
    return where(inside, moved(expanded(src, shape), apart, *laid), x)
