"""Pooling over windows of the last axes: the largest, the mean, a norm; and back to their places.

The functions take one size for each pooled axis, the last ones of the tensor; ``max_pool2d`` and
the like say how many there are, so that one number will do. Leading axes (batch, channels) are as
many as they like. Halves are summed in float32 and rounded once; means of integers are float32.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace

from photic.base.errors import BadArgument, ShapeMismatch
from photic.ir.dim import Dim, product
from photic.ir.dtype import INT64, DType
from photic.ir.view import Shape
from photic.tensor.axes import as_many, as_sizes, is_many
from photic.tensor.compare import equal, is_number
from photic.tensor.creation import counted
from photic.tensor.indexing import looked_up
from photic.tensor.kernel_windows import (
    Padding,
    Sizes,
    Window,
    over_last,
    per_axis,
    windowed,
    windows_of,
)
from photic.tensor.powers import power
from photic.tensor.primitive import (
    accumulated,
    as_float,
    less,
    masked,
    negated,
    reciprocal,
    reduced,
    sqrt,
)
from photic.tensor.rounding import abs as magnitude
from photic.tensor.shapes import expand_dims, flip, reshape
from photic.tensor.tensor import Tensor, Value, expanded, fixed, number, size_value, tensor


def lowest(dtype: DType) -> float:
    """What no value of the dtype is below."""
    return -math.inf if dtype.kind == "float" else dtype.low


def folded(op: str, x: Tensor, count: int) -> Tensor:
    """``sum`` or ``max`` over the last axes, ``count`` of them."""
    for _ in range(count):
        x = reduced(op, x, -1)
    return x


def _sizes(op: str, x: Tensor, kernel_size: Sizes) -> tuple[int, ...]:
    """A size for each pooled axis. BadArgument."""
    count = len(as_many(kernel_size))
    if not is_many(kernel_size) or not 0 < count <= x.ndim:
        expected = f"a size for each pooled axis, at most {x.ndim}"
        raise BadArgument(op=op, argument="kernel_size", given=kernel_size, expected=expected)
    return per_axis(op, "kernel_size", kernel_size, count, 1)


def _windows(
    op: str,
    x: Tensor,
    kernel_size: Sizes,
    stride: Sizes | None,
    padding: Padding,
    dilation: Sizes,
    ceil_mode: bool,
) -> list[Window]:
    """The windows over the last axes, as many as there are sizes. BadArgument."""
    sizes = _sizes(op, x, kernel_size)
    steps = sizes if stride is None else stride
    extents = x.shape[x.ndim - len(sizes) :]
    return windows_of(op, extents, sizes, steps, padding, dilation, ceil_mode)


# --- the largest ----------------------------------------------------------------------------


def max_pool(
    x: Value,
    kernel_size: Sizes,
    stride: Sizes | None = None,
    padding: Padding = 0,
    dilation: Sizes = 1,
    ceil_mode: bool = False,
) -> Tensor:
    """The largest of each window, as PyTorch's ``max_pool1d`` to ``3d``; nan if any is nan.

    ``stride`` is the kernel's size unless given. The padding (as for ``conv``) is never the
    largest; a window without any element gives -inf or the lowest integer. BadArgument.
    """
    value = tensor(x, "max_pool")
    windows = _windows("max_pool", value, kernel_size, stride, padding, dilation, ceil_mode)
    return folded("max", windowed(value, windows, lowest(value.dtype)), len(windows))


def max_pool_with_indices(
    x: Value,
    kernel_size: Sizes,
    stride: Sizes | None = None,
    padding: Padding = 0,
    dilation: Sizes = 1,
    ceil_mode: bool = False,
) -> tuple[Tensor, Tensor]:
    """``max_pool``, and where in the pooled axes (one after another, int64) the largest stands.

    Of equal values, and of several nan, the first in the window; the number of all places for a
    window without any.
    """
    value = tensor(x, "max_pool")
    windows = _windows("max_pool", value, kernel_size, stride, padding, dilation, ceil_mode)
    seen = windowed(value, windows, lowest(value.dtype))
    best = folded("max", seen, len(windows))
    extents = value.shape[value.ndim - len(windows) :]
    return best, first_places(seen, best, extents, lambda x: windowed(x, windows, 0))


def first_places(
    seen: Tensor, best: Tensor, extents: Shape, windows: Callable[[Tensor], Tensor]
) -> Tensor:
    """The first place of each window's best, as a number over all pooled axes.

    ``windows`` shows what ``seen`` shows of the input, with 0 in the padding.
    """
    rank = len(extents)
    top = expand_dims(best, tuple(range(best.ndim, best.ndim + rank)))
    is_best = negated(less(seen, top))
    if seen.dtype.kind == "float":
        # beside nan only nan counts: no number is less than nan, but that makes it no maximum
        is_best = is_best * (is_number(top) + negated(is_number(seen)))
    count = product(extents)
    # counted from the end, so that the largest such number is the first; 0 in the padding
    from_end = reshape(flip(counted(1, count + 1), 0), extents)
    return size_value(count) - folded("max", masked(is_best, windows(from_end)), rank)


def max_unpool(
    x: Value,
    indices: Value,
    kernel_size: Sizes,
    stride: Sizes | None = None,
    padding: Sizes = 0,
    output_size: Sequence[Dim] | None = None,
) -> Tensor:
    """Values back at the places of ``max_pool_with_indices``, 0 elsewhere, as PyTorch's.

    Of several values for one place the last is taken; places outside are lost. The sizes are
    ``(n - 1)*stride - 2*padding + kernel`` unless given. ShapeMismatch, BadArgument.
    """
    op, value, places = "max_unpool", tensor(x, "max_unpool"), tensor(indices, "max_unpool")
    if value.shape != places.shape:
        raise ShapeMismatch(op=op, left=value.shape, right=places.shape)
    sizes = _sizes(op, value, kernel_size)
    rank, first = len(sizes), value.ndim - len(sizes)
    steps = sizes if stride is None else per_axis(op, "stride", stride, rank, 1)
    around = per_axis(op, "padding", padding, rank, 0)
    extents = value.shape[first:]
    axes = zip(extents, sizes, steps, around)
    made: Shape = tuple((n - 1) * step - 2 * width + size for n, size, step, width in axes)
    made = made if output_size is None else as_sizes(op, "output_size", output_size)[-rank:]
    count, total = product(extents), product(made)
    lines = reshape(places.astype(INT64), (*value.shape[:first], 1, count))
    # which value comes to each place: the last one's number from 1 on, 0 for none
    meets = equal(expand_dims(counted(0, total), -1), lines)
    source = reduced("max", masked(meets, counted(1, count + 1)), -1)
    table = reshape(value, (*value.shape[:first], 1, count))
    return reshape(looked_up(table, source - 1), (*value.shape[:first], *made))


# --- means and norms ------------------------------------------------------------------------


def avg_pool(
    x: Value,
    kernel_size: Sizes,
    stride: Sizes | None = None,
    padding: Padding = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    divisor_override: int | None = None,
    dilation: Sizes = 1,
) -> Tensor:
    """The mean of each window, as PyTorch's ``avg_pool1d`` to ``3d``.

    ``count_include_pad``: zeros of the padding count; what lies past it (``ceil_mode``) never
    does. ``divisor_override`` divides instead of the count. A window without any element is nan.
    Integers are summed exactly and give float32. BadArgument.
    """
    op, value = "avg_pool", tensor(x, "avg_pool")
    windows = _windows(op, value, kernel_size, stride, padding, dilation, ceil_mode)
    is_float = value.dtype.kind == "float"
    wide = value.astype(accumulated(value.dtype) if is_float else INT64)
    total = as_float(folded("sum", windowed(wide, windows, 0), len(windows)), op)
    if divisor_override is None:
        extents = value.shape[value.ndim - len(windows) :]
        mean = _divided_by_counts(total, extents, windows, count_include_pad)
    else:
        mean = total / float(divisor_override)
    return mean.astype(value.dtype) if is_float else mean


def _divided_by_counts(
    total: Tensor, extents: Shape, windows: Sequence[Window], count_include_pad: bool
) -> Tensor:
    """The sums of windows divided by how many elements each has, axis by axis."""
    known, counts = 1.0, number(1.0, total.dtype)
    for axis, (extent, one) in enumerate(zip(extents, windows), start=1 - len(windows)):
        counted_in = one
        if count_include_pad:
            extent = extent + one.before + one.after
            counted_in = replace(one, before=0, after=0, tail=one.tail - one.after)
        if not counted_in.is_padded:
            known *= fixed("avg_pool", one.size)
            continue
        inside = expanded(number(1.0, total.dtype), (extent,))
        line = folded("sum", windowed(inside, [counted_in], 0), 1)
        counts = counts * reshape(line, (one.count, *(1,) * -axis))
    return total / known if counts.ndim == 0 else total * reciprocal(counts * known)


def lp_pool(
    x: Value,
    norm_type: float,
    kernel_size: Sizes,
    stride: Sizes | None = None,
    ceil_mode: bool = False,
    padding: Padding = 0,
    dilation: Sizes = 1,
) -> Tensor:
    """The p-norm of each window, ``sum(|x|**p)**(1/p)``; the largest magnitude for p = inf.

    PyTorch's takes x and not |x|, and weighs windows past the end (``ceil_mode``) up to full size.
    Integers become float32. BadArgument.
    """
    op, given = "lp_pool", as_float(x, "lp_pool")
    if not norm_type > 0:
        raise BadArgument(op=op, argument="norm_type", given=norm_type, expected="above 0")
    value = magnitude(given.astype(accumulated(given.dtype)))
    windows = _windows(op, value, kernel_size, stride, padding, dilation, ceil_mode)
    return p_norm(windowed(value, windows, 0), norm_type, len(windows)).astype(given.dtype)


def p_norm(magnitudes: Tensor, p: float, count: int) -> Tensor:
    """The p-norm over the last axes, ``count`` of them."""
    if p == math.inf:
        return folded("max", magnitudes, count)
    if p == 1:
        return folded("sum", magnitudes, count)
    if p == 2:
        return sqrt(folded("sum", magnitudes * magnitudes, count))
    return power(folded("sum", power(magnitudes, p), count), 1.0 / p)


# --- of a stated rank -----------------------------------------------------------------------

max_pool1d, max_pool2d, max_pool3d = (over_last(rank, max_pool) for rank in (1, 2, 3))
max_pool1d_with_indices, max_pool2d_with_indices, max_pool3d_with_indices = (
    over_last(rank, max_pool_with_indices) for rank in (1, 2, 3)
)
max_unpool1d, max_unpool2d, max_unpool3d = (over_last(rank, max_unpool) for rank in (1, 2, 3))
avg_pool1d, avg_pool2d, avg_pool3d = (over_last(rank, avg_pool) for rank in (1, 2, 3))
lp_pool1d, lp_pool2d, lp_pool3d = (over_last(rank, lp_pool) for rank in (1, 2, 3))
