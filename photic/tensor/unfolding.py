"""Windows of axes, side by side (``unfold``) and added up again (``fold``).

Windows are views. Adding them up is a sum over the places in a window of views that lie apart, so
what no window covers is exactly 0. Spatial axes may be any number of them.
"""

from __future__ import annotations

from collections.abc import Sequence

from photic.base.errors import BadArgument
from photic.forms import movement
from photic.ir.dim import Dim, at_most, product
from photic.ir.view import Shape, axis_variable
from photic.tensor.axes import (
    as_integer,
    as_many,
    as_size,
    checked_axis,
    infer_shape,
    is_many,
)
from photic.tensor.creation import checked_shape
from photic.tensor.kernel_windows import Padding, Sizes, Window, per_axis, windowed, windows_of
from photic.tensor.primitive import accumulated, reduced
from photic.tensor.shapes import moved, reshape, transpose
from photic.tensor.slicing import apart
from photic.tensor.tensor import Axes, Tensor, Value, in_dtype, tensor


def windows(x: Tensor, axis: int, size: Dim, step: int, dilation: int, op: str) -> Tensor:
    """An axis as starts of windows, and a new last axis of places in them; BadArgument."""
    size, step = as_size(op, "size", size), as_integer(op, "step", step)
    reach = (size - 1) * dilation + 1
    if step < 1 or dilation < 1 or not (at_most(0, size) and at_most(reach, x.shape[axis])):
        raise BadArgument(
            op=op, argument="window", given=f"of {reach} places", expected=f"in {x.shape[axis]}"
        )
    return moved(x, movement.windows, axis, size, step, dilation)


def sliding_window_view(x: Value, window_shape: Dim | Sequence[Dim], axis: Axes = None) -> Tensor:
    """Every window of these axes (all for None), as NumPy's; new last axes are its places."""
    value = tensor(x, "sliding_window_view")
    sizes = checked_shape("sliding_window_view", window_shape)
    given = range(value.ndim) if axis is None else as_many(axis)
    axes = [checked_axis("sliding_window_view", one, value.ndim) for one in given]
    if len(axes) != len(sizes):
        raise BadArgument(
            op="sliding_window_view", argument="window_shape", given=sizes,
            expected=f"{len(axes)} sizes",
        )  # fmt: skip
    for one, size in zip(axes, sizes):
        value = windows(value, one, size, 1, 1, "sliding_window_view")
    return value


def windows_along(x: Value, dimension: int, size: Dim, step: int) -> Tensor:
    """PyTorch's ``Tensor.unfold``: windows ``step`` apart; a new last axis is the places in one."""
    value = tensor(x, "unfold")
    return windows(value, checked_axis("unfold", dimension, value.ndim), size, step, 1, "unfold")


# --- unfold and fold ------------------------------------------------------------------------


def unfold(
    x: Value, kernel_size: Sizes, dilation: Sizes = 1, padding: Padding = 0, stride: Sizes = 1
) -> Tensor:
    """Every window of (N, C, *spatial) as a column: (N, C * places of a window, windows).

    Without the axis N, neither has the result. Around the tensor lies 0. BadArgument.
    """
    value = tensor(x, "unfold")
    sizes = _sizes("unfold", kernel_size)
    _require_rank("unfold", value, len(sizes) + 1, len(sizes) + 2)
    lead = value.ndim - len(sizes)
    extents = value.shape[lead:]
    seen = windowed(value, windows_of("unfold", extents, sizes, stride, padding, dilation), 0)
    spatial, places = range(lead, value.ndim), range(value.ndim, seen.ndim)
    rows = value.shape[lead - 1] * product(sizes)
    columns = product(seen.shape[k] for k in spatial)
    laid = transpose(seen, [*range(lead), *places, *spatial])
    return reshape(laid, (*value.shape[: lead - 1], rows, columns))


def fold(
    x: Value,
    output_size: Dim | Sequence[Dim],
    kernel_size: Sizes,
    dilation: Sizes = 1,
    padding: Padding = 0,
    stride: Sizes = 1,
) -> Tensor:
    """Columns of ``unfold`` put back in (N, C, *output_size), where they overlap added.

    What no window covers is 0. BadArgument, CannotReshape where sizes do not fit.
    """
    value = tensor(x, "fold")
    sizes = _sizes("fold", kernel_size)
    _require_rank("fold", value, 2, 2 + 1)
    extents = checked_shape("fold", output_size)
    extents = extents * len(sizes) if len(extents) == 1 else extents
    if len(extents) != len(sizes):
        raise BadArgument(
            op="fold", argument="output_size", given=output_size, expected=f"{len(sizes)} sizes"
        )
    form = windows_of("fold", extents, sizes, stride, padding, dilation)
    channels = infer_shape((value.shape[-2],), (-1, product(sizes)))[0]
    shape = (*value.shape[:-2], channels, *sizes, *(one.count for one in form))
    return _added_up(reshape(value, shape), extents, form)


def _sizes(op: str, kernel_size: Sizes) -> tuple[int, ...]:
    """The size of a window along each spatial axis; as PyTorch's, one number means two axes."""
    rank = len(as_many(kernel_size)) if is_many(kernel_size) else 2
    return per_axis(op, "kernel_size", kernel_size, rank, 1)


def _require_rank(op: str, x: Tensor, *ranks: int) -> None:
    if x.ndim not in ranks:
        raise BadArgument(op=op, argument="rank", given=x.ndim, expected=f"one of {ranks}")


def _added_up(x: Tensor, extents: Shape, form: Sequence[Window]) -> Tensor:
    """(..., *places of a window, *windows) to (..., *extents)."""
    rank = len(extents)
    lead = x.ndim - 2 * rank
    laid = x.astype(accumulated(x.dtype))
    for k, (extent, one) in enumerate(zip(extents, form)):
        place = axis_variable(lead + k, one.size)
        offset = one.before - place * one.dilation
        laid = moved(laid, apart, lead + rank + k, extent, offset, one.stride)
    for _ in extents:
        laid = reduced("sum", laid, lead)
    # from 0 on, as what no window covers would be -0.0
    return (laid + in_dtype(0, laid.dtype)).astype(x.dtype)
