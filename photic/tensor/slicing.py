"""Parts of an axis: one place, a slice, a run of places, the axis split into several. All views.

Integer bounds behave as NumPy's and are refused where a symbolic size leaves open what they mean.
Symbolic bounds are taken as they are: places outside the axis read 0.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate

import numpy as np

from photic.base.errors import BadArgument
from photic.forms import movement
from photic.ir.dim import Dim, Int, at_most, exact_div, floordiv, mod, mul
from photic.ir.view import Bound, View, axis_variables, composed
from photic.tensor.axes import as_integer, as_size, as_sizes, checked_axis
from photic.tensor.shapes import moved
from photic.tensor.tensor import Tensor, Value, fixed, tensor

DEPTH_RANK = 3  # of an array with a third axis


def selected(x: Tensor, axis: int, at: Dim) -> Tensor:
    """The slice at one place, the axis gone; BadArgument for an integer not surely inside."""
    extent, at = x.shape[axis], as_size("[]", "index", at)
    place = at + extent if isinstance(at, int) and at < 0 else at
    if isinstance(at, int) and not (at_most(0, place) and at_most(place + 1, extent)):
        raise BadArgument(
            op="[]", argument=f"index of axis {axis}", given=at, expected=f"surely inside {extent}"
        )
    return moved(x, movement.select, axis, place)


def sliced(x: Tensor, axis: int, given: slice) -> Tensor:
    """``x[..., start:stop:step]`` along one axis. BadArgument, also for what sizes leave open."""
    step = 1 if given.step is None else as_integer("[]", "step", given.step)
    if step == 0:
        raise BadArgument(op="[]", argument="step", given=step, expected="an integer, not 0")
    if given.start is None and given.stop is None and step == 1:
        return x
    first, length = slice_of(x.shape[axis], given.start, given.stop, step)
    return moved(x, movement.shrink, axis, first, step, length)


def slice_of(extent: Dim, start: object, stop: object, step: int) -> tuple[Dim, Dim]:
    """The first place of a slice and how many there are."""
    if step < 0:
        first = extent - 1 if start is None else _place(start, extent, -1, -1)
        last = -1 if stop is None else _place(stop, extent, -1, -1)
        length = _length(first - last, -step)
    else:
        first = 0 if start is None else _place(start, extent, 0, 0)
        last = extent if stop is None else _place(stop, extent, 0, 0)
        length = _length(last - first, step)
    return (0 if length == 0 else first), length


def _place(bound: object, extent: Dim, low: int, past: int) -> Dim:
    """A slice's bound as NumPy clips it: from the end if negative, into ``low .. extent + past``.

    A symbolic bound that may or may not lie inside is taken as it is.
    """
    at = as_size("[]", "bound", bound)
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


def apart(view: View, axis: int, extent: Dim, offset: Dim, step: int) -> View:
    """The way back from slices: place i of the longer axis shows place ``(i + offset) / step``.

    Where that is not whole, or outside, it shows nothing. ``offset`` may depend on other axes.
    """
    shape = (*view.shape[:axis], extent, *view.shape[axis + 1 :])
    index = axis_variables(shape)
    place = index[axis] + offset
    index[axis] = floordiv(place, step)
    limits = [Bound(index[axis], view.shape[axis]), Bound(mod(place, step), 1)]
    return composed(view, shape, index, limits)


# --- several parts --------------------------------------------------------------------------


def split(x: Value, sections: int | Sequence[Dim], axis: int = 0) -> list[Tensor]:
    """Equal parts of an axis, or parts that end at the given places (and the rest), as NumPy's.

    BadArgument if the axis has not so many equal parts.
    """
    value = tensor(x, "split")
    place = checked_axis("split", axis, value.ndim)
    if isinstance(sections, Sequence | np.ndarray):
        return _split_at(value, list(sections), place)
    sections = as_integer("split", "sections", sections)
    extent = value.shape[place]
    part = exact_div(extent, sections) if sections > 0 else None
    if part is None:
        raise BadArgument(
            op="split", argument="sections", given=sections, expected=f"a divisor of {extent}"
        )
    return _split_at(value, [mul(part, k) for k in range(1, sections)], place)


def array_split(x: Value, sections: int | Sequence[Dim], axis: int = 0) -> list[Tensor]:
    """As ``split``; of parts that cannot be equal the first ones are one longer. UnknownSize."""
    value = tensor(x, "array_split")
    place = checked_axis("array_split", axis, value.ndim)
    if isinstance(sections, Sequence | np.ndarray):
        return _split_at(value, list(sections), place)
    count = as_integer("array_split", "sections", sections)
    if count < 1:
        raise BadArgument(op="array_split", argument="sections", given=count, expected="1 more")
    least, longer = divmod(fixed("array_split", value.shape[place]), count)
    ends = [least * k + min(k, longer) for k in range(1, count)]
    return _split_at(value, list(ends), place)


def _split_at(x: Tensor, ends: list[Dim], axis: int) -> list[Tensor]:
    """Slices from one place to the next; places may lie past the end or before the last one."""
    starts: list[Dim | None] = [None, *ends]
    return [sliced(x, axis, slice(one, end)) for one, end in zip(starts, [*ends, None])]


def hsplit(x: Value, sections: int | Sequence[Dim]) -> list[Tensor]:
    """``split`` along axis 1, or 0 where there is no other."""
    value = tensor(x, "hsplit")
    return split(value, sections, min(1, value.ndim - 1))


def vsplit(x: Value, sections: int | Sequence[Dim]) -> list[Tensor]:
    """``split`` along axis 0 of two or more."""
    return split(_with_rank("vsplit", x, 2), sections, 0)


def dsplit(x: Value, sections: int | Sequence[Dim]) -> list[Tensor]:
    """``split`` along axis 2 of three or more."""
    return split(_with_rank("dsplit", x, DEPTH_RANK), sections, 2)


def _with_rank(op: str, x: Value, least: int) -> Tensor:
    value = tensor(x, op)
    if value.ndim < least:
        raise BadArgument(
            op=op,
            argument="tensor",
            given=f"of rank {value.ndim}",
            expected=f"rank {least} or more",
        )
    return value


def chunk(x: Value, chunks: int, dim: int = 0) -> list[Tensor]:
    """Parts of ``ceil(size / chunks)`` places, the last shorter; perhaps fewer than ``chunks``.

    A symbolic size must be a multiple of ``chunks``. BadArgument, UnknownSize.
    """
    value = tensor(x, "chunk")
    axis = checked_axis("chunk", dim, value.ndim)
    extent, chunks = value.shape[axis], as_integer("chunk", "chunks", chunks)
    if chunks < 1:
        raise BadArgument(op="chunk", argument="chunks", given=chunks, expected="1 or more")
    if isinstance(extent, Int) and exact_div(extent, chunks) is not None:
        return split(value, chunks, axis)
    known = fixed("chunk", extent)
    return split_by(value, max(1, -(-known // chunks)), axis) if known else [value] * chunks


def split_by(x: Value, split_size: int | Sequence[Dim], dim: int = 0) -> list[Tensor]:
    """PyTorch's ``split``: parts of so many places, the last perhaps shorter; or of these sizes."""
    value = tensor(x, "split")
    axis = checked_axis("split", dim, value.ndim)
    extent = value.shape[axis]
    if not isinstance(split_size, Sequence | np.ndarray):
        size = as_integer("split", "size", split_size)
        if size < 1:
            raise BadArgument(op="split", argument="size", given=size, expected="1 or more")
        return _split_at(value, list(range(size, fixed("split", extent), size)), axis)
    sizes = as_sizes("split", "sizes", split_size)
    ends = list(accumulate(sizes))
    if not ends or ends[-1] != extent:
        raise BadArgument(op="split", argument="sizes", given=sizes, expected=f"a sum of {extent}")
    return _split_at(value, ends[:-1], axis)


def unbind(x: Value, dim: int = 0) -> tuple[Tensor, ...]:
    """The slices at each place of an axis, which is gone from them. UnknownSize."""
    value = tensor(x, "unbind")
    axis = checked_axis("unbind", dim, value.ndim)
    return tuple(selected(value, axis, k) for k in range(fixed("unbind", value.shape[axis])))


def unstack(x: Value, axis: int = 0) -> tuple[Tensor, ...]:
    """NumPy's name of ``unbind``."""
    return unbind(x, axis)
