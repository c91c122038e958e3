"""Where numbers lie among sorted ones: searches, intervals.

A search finds the binary digits of the place from the highest on, one lookup each.
"""

from __future__ import annotations

from collections.abc import Sequence

from photic.base.errors import BadArgument, ShapeMismatch
from photic.forms import movement
from photic.ir.dim import bounds
from photic.ir.dtype import INT64
from photic.tensor.compare import is_number
from photic.tensor.creation import constant
from photic.tensor.indexing import index_tensor, looked_up, take_along_axis
from photic.tensor.primitive import less, negated, where
from photic.tensor.shapes import expand_dims, flip, moved
from photic.tensor.tensor import (
    Tensor,
    Value,
    expanded,
    in_dtype,
    joined_dtype,
    number,
    size_value,
    tensor,
)

Numbers = Value | Sequence[float]


def line_of(values: Numbers, op: str) -> Tensor:
    """Numbers that may come as a list."""
    if isinstance(values, list | tuple):
        return constant(values)
    return tensor(values, op)  # type: ignore[arg-type]


def searchsorted(a: Numbers, v: Value, side: str = "left", sorter: Value | None = None) -> Tensor:
    """Where each element of ``v`` could be put into the sorted ``a`` (int64), as NumPy's.

    ``a`` has one axis, or as many as ``v``, which is then looked up row by row in its last axis.
    "left" is before equal elements, "right" after them; nan is the largest. ``sorter``, in the
    shape of ``a``, are the places of its elements in order, as ``argsort`` gives them. BadArgument,
    DtypeMismatch, ShapeMismatch.
    """
    if side not in ("left", "right"):
        raise BadArgument(op="searchsorted", argument="side", given=side, expected="left or right")
    line = line_of(a, "searchsorted")
    line = line if sorter is None else _in_order(line, sorter)
    dtype = joined_dtype((line, v), "searchsorted")
    line, wanted = line.astype(dtype), in_dtype(v, dtype)
    if line.ndim == 0 or (line.ndim > 1 and line.shape[:-1] != wanted.shape[:-1]):
        raise ShapeMismatch(op="searchsorted", left=line.shape, right=wanted.shape)
    table = expand_dims(line, -2) if line.ndim > 1 else line
    extent = size_value(line.shape[-1])
    last = expanded(number(-1, INT64), wanted.shape)  # known to come before the place
    step = 1 << bounds(line.shape[-1])[1].bit_length()
    while step := step // 2:
        reached = last + step
        comes_before = _is_before(looked_up(table, reached), wanted, side)
        last = where(less(reached, extent) * comes_before, reached, last)
    return last + 1


def _in_order(line: Tensor, sorter: Value) -> Tensor:
    places = index_tensor("searchsorted", sorter)
    if places.shape != line.shape:
        raise ShapeMismatch(op="searchsorted sorter", left=line.shape, right=places.shape)
    return take_along_axis(line, places, -1)


def _is_before(element: Tensor, wanted: Tensor, side: str) -> Tensor:
    """Whether an element of the line comes before the place that is looked for."""
    if side == "right":
        return negated(_is_less(wanted, element))
    return _is_less(element, wanted)


def _is_less(left: Tensor, right: Tensor) -> Tensor:
    """In NumPy's order: nan is the largest, and equal to itself."""
    if left.dtype.kind != "float":
        return less(left, right)
    return less(left, right) + is_number(left) * negated(is_number(right))


def digitize(x: Value, bins: Numbers, right: bool = False) -> Tensor:
    """The number (int64) of the interval between ``bins`` in which each element lies, as NumPy's.

    ``bins`` (one axis) rise or fall; an interval holds its left end, or the right one if ``right``.
    """
    value, edges = tensor(x, "digitize"), line_of(bins, "digitize")
    if edges.ndim != 1:
        raise ShapeMismatch(op="digitize", left=value.shape, right=edges.shape)
    extent = edges.shape[0]
    falls = less(ends(edges)[1], ends(edges)[0])
    rising = where(falls, flip(edges), edges)
    found = searchsorted(rising, value, "left" if right else "right")
    return where(falls, size_value(extent) - found, found)


def ends(x: Tensor) -> tuple[Tensor, Tensor]:
    """The first and the last element of a vector."""
    return moved(x, movement.select, 0, 0), moved(x, movement.select, 0, x.shape[0] - 1)


def bucketize(x: Value, boundaries: Numbers, right: bool = False) -> Tensor:
    """Between which rising boundaries each element lies (int64), as PyTorch's.

    An element that equals a boundary lies below it, or above it if ``right``.
    """
    return searchsorted(boundaries, x, "right" if right else "left")
