"""Windows of axes, side by side (``unfold``) and added up again (``fold``).

Windows are views. Adding them up is a sum over the places in a window of views that lie apart, so
what no window covers is exactly 0. Spatial axes may be any number of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from photic.base.errors import BadArgument
from photic.forms import movement
from photic.ir.dim import Dim, at_most, floordiv, product
from photic.ir.view import Shape, axis_variable
from photic.tensor.axes import checked_axis, infer_shape
from photic.tensor.creation import checked_shape
from photic.tensor.padding import pad
from photic.tensor.primitive import accumulated, reduced
from photic.tensor.shapes import moved, reshape, transpose
from photic.tensor.slicing import apart
from photic.tensor.tensor import Axes, Tensor, Value, in_dtype, tensor

Each = int | Sequence[int]


def windows(x: Tensor, axis: int, size: Dim, step: int, dilation: int, op: str) -> Tensor:
    """An axis as starts of windows, and a new last axis of places in them; BadArgument."""
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
    given = range(value.ndim) if axis is None else (axis,) if isinstance(axis, int) else axis
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


@dataclass(frozen=True, slots=True)
class Windows:
    """Windows of the spatial axes, a number for each axis; as PyTorch's, one number means two."""

    size: tuple[int, ...]
    dilation: tuple[int, ...]
    padding: tuple[int, ...]
    stride: tuple[int, ...]

    def count(self, axis: int, extent: Dim) -> Dim:
        """How many windows a spatial axis of this size has; BadArgument where not surely one."""
        reach = (self.size[axis] - 1) * self.dilation[axis] + 1
        left = extent + 2 * self.padding[axis] - reach
        if not at_most(0, left):
            raise BadArgument(
                op="fold", argument="kernel_size", given=f"{reach} places", expected=f"in {extent}"
            )
        return floordiv(left, self.stride[axis]) + 1


def _windows(op: str, kernel_size: Each, dilation: Each, padding: Each, stride: Each) -> Windows:
    rank = 2 if isinstance(kernel_size, int) else len(kernel_size)
    return Windows(
        _each(op, "kernel_size", kernel_size, rank, 1),
        _each(op, "dilation", dilation, rank, 1),
        _each(op, "padding", padding, rank, 0),
        _each(op, "stride", stride, rank, 1),
    )


def _each(op: str, argument: str, given: Each, count: int, low: int) -> tuple[int, ...]:
    numbers = (given,) * count if isinstance(given, int) else tuple(given)
    if len(numbers) != count or any(one < low for one in numbers):
        raise BadArgument(
            op=op, argument=argument, given=given, expected=f"{count} numbers of {low} or more"
        )
    return numbers


def _require_rank(op: str, x: Tensor, *ranks: int) -> None:
    if x.ndim not in ranks:
        raise BadArgument(op=op, argument="rank", given=x.ndim, expected=f"one of {ranks}")


def unfold(
    x: Value, kernel_size: Each, dilation: Each = 1, padding: Each = 0, stride: Each = 1
) -> Tensor:
    """Every window of (N, C, *spatial) as a column: (N, C * places of a window, windows).

    Without the axis N, neither has the result. Around the tensor lies 0. BadArgument.
    """
    value = tensor(x, "unfold")
    form = _windows("unfold", kernel_size, dilation, padding, stride)
    rank = len(form.size)
    _require_rank("unfold", value, rank + 1, rank + 2)
    lead = value.ndim - rank
    value = pad(value, [(0, 0)] * lead + [(one, one) for one in form.padding])
    for k in range(rank):
        value = windows(value, lead + k, form.size[k], form.stride[k], form.dilation[k], "unfold")
    spatial = range(lead, lead + rank)
    order = [*range(lead), *range(lead + rank, value.ndim), *spatial]
    rows = value.shape[lead - 1] * product(form.size)
    columns = product(value.shape[k] for k in spatial)
    return reshape(transpose(value, order), (*value.shape[: lead - 1], rows, columns))


def fold(
    x: Value,
    output_size: Dim | Sequence[Dim],
    kernel_size: Each,
    dilation: Each = 1,
    padding: Each = 0,
    stride: Each = 1,
) -> Tensor:
    """Columns of ``unfold`` put back in (N, C, *output_size), where they overlap added.

    What no window covers is 0. BadArgument, CannotReshape where sizes do not fit.
    """
    value = tensor(x, "fold")
    form = _windows("fold", kernel_size, dilation, padding, stride)
    rank = len(form.size)
    _require_rank("fold", value, 2, 2 + 1)
    sizes = checked_shape("fold", output_size)
    sizes = sizes * rank if len(sizes) == 1 else sizes
    if len(sizes) != rank:
        raise BadArgument(
            op="fold", argument="output_size", given=output_size, expected=f"{rank} sizes"
        )
    counts = [form.count(k, size) for k, size in enumerate(sizes)]
    channels = infer_shape((value.shape[-2],), (-1, product(form.size)))[0]
    shape = (*value.shape[:-2], channels, *form.size, *counts)
    return _added_up(reshape(value, shape), sizes, form)


def _added_up(x: Tensor, sizes: Shape, form: Windows) -> Tensor:
    """(..., *places of a window, *windows) to (..., *sizes)."""
    rank = len(sizes)
    lead = x.ndim - 2 * rank
    laid = x.astype(accumulated(x.dtype))
    for k, size in enumerate(sizes):
        place = axis_variable(lead + k, form.size[k])
        offset = form.padding[k] - place * form.dilation[k]
        laid = moved(laid, apart, lead + rank + k, size, offset, form.stride[k])
    for _ in sizes:
        laid = reduced("sum", laid, lead)
    # from 0 on, as what no window covers would be -0.0
    return (laid + in_dtype(0, laid.dtype)).astype(x.dtype)
