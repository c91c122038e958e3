"""What occurs among elements: the distinct ones, and the most frequent.

Elements are put in order; then equal ones stand in runs. nan equals nan, and 0.0 equals -0.0.
"""

from __future__ import annotations

from photic.forms import movement
from photic.ir.dim import Dim, product
from photic.ir.dtype import INT64
from photic.tensor.axes import checked_axis
from photic.tensor.counting import totals
from photic.tensor.creation import counted
from photic.tensor.errors import SizeOfMask
from photic.tensor.keys import order_key
from photic.tensor.ordering import as_lines, at_places, from_lines, ordered, placed
from photic.tensor.primitive import less, reduced, where
from photic.tensor.reductions import argmax
from photic.tensor.running import MAX, SUM, running
from photic.tensor.shapes import moved, ravel, reshape, squeeze
from photic.tensor.tensor import Scalar, Tensor, Value, expanded, in_dtype, number, tensor


def _runs(lines: Tensor) -> tuple[Tensor, Tensor]:
    """The places of each row in order; in that order, whether an element is the first of a run."""
    extent = lines.shape[1]
    key = order_key(lines)
    places = ordered(key, lines.dtype, extent)
    there = at_places(key, places)
    is_more = less(moved(there, movement.pad, 1, 1, -1), there)
    return places, is_more + expanded(less(counted(0, extent), 1), is_more.shape)


def unique(
    x: Value, size: Dim | None = None, fill_value: Scalar = 0
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """The distinct elements in order; which of them each element is; how often each; how many.

    ``size`` of them are given: past the last stands ``fill_value``, 0 times, and those that are too
    many are lost. Which one each element is has the shape of ``x``. All but the elements are int64.
    SizeOfMask without a size.
    """
    value = tensor(x, "unique")
    if size is None:
        raise SizeOfMask(op="unique", shape=value.shape)
    lines = reshape(ravel(value), (1, product(value.shape)))
    places, is_first = _runs(lines)
    which = running(SUM, is_first.astype(places.dtype), 1, 1) - 1
    count = reduced("sum", is_first.astype(INT64), 1)
    found = placed(at_places(lines, places), where(is_first, which, -1), size)
    values = where(less(counted(0, size), count), found[0], in_dtype(fill_value, value.dtype))
    inverse = placed(which, places, lines.shape[1]).astype(INT64)
    counts = totals(which[0], size, number(1, INT64))
    return values, reshape(inverse, value.shape), counts, reshape(count, ())


def mode(x: Value, axis: int = -1, keepdims: bool = False) -> tuple[Tensor, Tensor]:
    """The most frequent element along an axis, and the last place (int64) where it stands.

    Of several the smallest, as PyTorch's; nan is the largest. BadArgument for an axis of size 0.
    """
    value = tensor(x, "mode")
    place = checked_axis("mode", axis, value.ndim)
    lines = as_lines(value, place)
    places, is_first = _runs(lines)
    at = counted(0, lines.shape[1]).astype(places.dtype)
    length = at - running(MAX, where(is_first, at, 0), 1, 1)
    last = at_places(places, argmax(length, 1, keepdims=True)).astype(INT64)
    found = (from_lines(one, value, place) for one in (at_places(lines, last), last))
    values, indices = (one if keepdims else squeeze(one, place) for one in found)
    return values, indices
