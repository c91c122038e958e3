"""Pooling to a stated size: adaptive pools, and pools over everything.

Window i of m over n places is ``floor(i*n/m) .. ceil((i+1)*n/m) - 1``, as PyTorch's. All windows
are views of the longest length that read nothing past their end. Sizes may be symbolic.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

from photic.base.errors import BadArgument
from photic.ir.dim import Dim, bounds, exact_div, floordiv
from photic.ir.dtype import BOOL, INT64
from photic.ir.view import Bound, Shape, View, axis_variables, composed
from photic.tensor.axes import as_many, as_size, is_many
from photic.tensor.creation import counted
from photic.tensor.kernel_windows import CHANNEL_AXES, of_rank
from photic.tensor.pooling import first_places, folded, lowest, p_norm
from photic.tensor.primitive import accumulated, as_float, masked, negated, reciprocal
from photic.tensor.reductions import max as largest
from photic.tensor.reductions import mean
from photic.tensor.rounding import abs as magnitude
from photic.tensor.shapes import moved, reshape
from photic.tensor.tensor import Tensor, Value, expanded, in_dtype, number, size_value, tensor

OutputSize: TypeAlias = Dim | Sequence[Dim | None] | None


def adaptive_avg_pool(x: Value, output_size: OutputSize) -> Tensor:
    """The means of ``output_size`` windows that share out the last axes, as PyTorch's.

    A size for each pooled axis; None keeps an axis as it is. Halves are summed in float32,
    integers exactly (their means are float32). BadArgument.
    """
    op, value = "adaptive_avg_pool", tensor(x, "adaptive_avg_pool")
    is_float = value.dtype.kind == "float"
    wide = value.astype(accumulated(value.dtype) if is_float else INT64)
    shares = _shares(op, value, output_size)
    total = as_float(folded("sum", _shared_out(wide, shares), len(shares)), op)
    counts = number(1, INT64)
    for axis, one in enumerate(shares, start=1 - len(shares)):
        counts = counts * reshape(one.lengths, (-1, *(1,) * -axis))
    result = total * reciprocal(counts.astype(total.dtype))
    return result.astype(value.dtype) if is_float else result


def adaptive_max_pool(x: Value, output_size: OutputSize) -> Tensor:
    """The largest of ``output_size`` windows that share out the last axes, as PyTorch's."""
    value = tensor(x, "adaptive_max_pool")
    shares = _shares("adaptive_max_pool", value, output_size)
    return folded("max", _with_lowest(value, shares), len(shares))


def adaptive_max_pool_with_indices(x: Value, output_size: OutputSize) -> tuple[Tensor, Tensor]:
    """``adaptive_max_pool``, and the first place of each, as ``max_pool_with_indices``."""
    value = tensor(x, "adaptive_max_pool")
    shares = _shares("adaptive_max_pool", value, output_size)
    seen = _with_lowest(value, shares)
    best = folded("max", seen, len(shares))
    extents = value.shape[value.ndim - len(shares) :]
    return best, first_places(seen, best, extents, lambda places: _shared_out(places, shares))


# --- windows --------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Share:
    """One axis of ``extent`` places shared out to ``count`` windows of at most ``longest``."""

    extent: Dim
    count: Dim
    longest: Dim

    def first(self, window: Dim) -> Dim:
        """The first place of a window."""
        return floordiv(window * self.extent, self.count)

    def last(self, window: Dim) -> Dim:
        """The last place of a window."""
        return floordiv((window + 1) * self.extent - 1, self.count)

    @property
    def lengths(self) -> Tensor:
        """How many places each window has; of rank 0 where all have the same."""
        if exact_div(self.extent, self.count) is not None:
            return size_value(self.longest)
        places = counted(0, self.extent)
        return moved(places, _lasts, self) - moved(places, _firsts, self) + 1


def _firsts(view: View, share: _Share) -> View:
    """The first place of every window, of a view that counts places."""
    return composed(view, (share.count,), [share.first(*axis_variables((share.count,)))])


def _lasts(view: View, share: _Share) -> View:
    return composed(view, (share.count,), [share.last(*axis_variables((share.count,)))])


def _windows(view: View, axis: int, share: _Share) -> View:
    """One axis as windows, and (appended last) the places in them; nothing past their ends."""
    shape = (*view.shape[:axis], share.count, *view.shape[axis + 1 :], share.longest)
    index = axis_variables(shape)
    place, window = index.pop(), index[axis]
    index[axis] = share.first(window) + place
    return composed(view, shape, index, [Bound(share.last(window) - index[axis], share.extent)])


def _shares(op: str, x: Tensor, output_size: OutputSize) -> list[_Share]:
    """How each of the last axes is shared out. BadArgument."""
    many = as_many(output_size)
    if not is_many(output_size) or len(many) > x.ndim:
        expected = f"a size for each pooled axis, at most {x.ndim}"
        raise BadArgument(op=op, argument="output_size", given=output_size, expected=expected)
    extents = x.shape[x.ndim - len(many) :]
    made = []
    for extent, size in zip(extents, many):
        count = extent if size is None else as_size(op, "output_size", size)
        if bounds(count)[0] < (1 if count != 0 else 0):
            raise BadArgument(op=op, argument="output_size", given=count, expected="1 or more")
        made.append(_Share(extent, count, _longest(extent, count)))
    return made


def _longest(extent: Dim, count: Dim) -> Dim:
    """The most places of a window; where sizes are symbolic perhaps one more."""
    even = exact_div(extent, count) if count != 0 else 0
    if even is not None:
        return even
    if isinstance(extent, int) and isinstance(count, int):
        whole = _Share(extent, count, 0)
        return max(int(whole.last(k)) - int(whole.first(k)) + 1 for k in range(count))
    return floordiv(extent + count - 1, count) + 1


def _shared_out(x: Tensor, shares: Sequence[_Share]) -> Tensor:
    """(..., sizes) as (..., counts, longest); past the end of a window nothing."""
    first = x.ndim - len(shares)
    for axis, one in enumerate(shares, start=first):
        x = moved(x, _windows, axis, one)
    return x


def _with_lowest(x: Tensor, shares: Sequence[_Share]) -> Tensor:
    """As ``_shared_out``; past the end of a window lies what no value is below."""
    inside = _shared_out(expanded(number(True, BOOL), x.shape), shares)
    return _shared_out(x, shares) + masked(negated(inside), in_dtype(lowest(x.dtype), x.dtype))


# --- over everything ------------------------------------------------------------------------


def _all_sizes(op: str, x: Value) -> tuple[Tensor, tuple[int, ...]]:
    value = tensor(x, op)
    if value.ndim < CHANNEL_AXES:
        expected = "(batch, channels, *sizes)"
        raise BadArgument(op=op, argument="x", given=f"of shape {value.shape}", expected=expected)
    return value, tuple(range(CHANNEL_AXES, value.ndim))


def global_avg_pool(x: Value) -> Tensor:
    """The mean over all sizes of (batch, channels, *sizes); each keeps 1. BadArgument."""
    value, axes = _all_sizes("global_avg_pool", x)
    return mean(value, axes, keepdims=True)


def global_max_pool(x: Value) -> Tensor:
    """The largest over all sizes of (batch, channels, *sizes); each keeps 1. BadArgument."""
    value, axes = _all_sizes("global_max_pool", x)
    return largest(value, axes, keepdims=True)


def global_lp_pool(x: Value, norm_type: float = 2.0) -> Tensor:
    """The p-norm over all sizes of (batch, channels, *sizes); each keeps 1. BadArgument."""
    given, axes = _all_sizes("global_lp_pool", as_float(x, "global_lp_pool"))
    value = magnitude(given.astype(accumulated(given.dtype)))
    kept: Shape = (*value.shape[:CHANNEL_AXES], *(1,) * len(axes))
    return reshape(p_norm(value, norm_type, len(axes)), kept).astype(given.dtype)


# --- of a stated rank -----------------------------------------------------------------------


def _sizes(name: str, given: object, rank: int) -> object:
    """One size for each axis; one, or None, stands for all."""
    many = as_many(given) if is_many(given) else (given,) * rank
    if len(many) != rank:
        raise BadArgument(op=name, argument="output_size", given=given, expected=f"{rank} sizes")
    return many


adaptive_avg_pool1d, adaptive_avg_pool2d, adaptive_avg_pool3d = (
    of_rank(rank, adaptive_avg_pool, "output_size", _sizes) for rank in (1, 2, 3)
)
adaptive_max_pool1d, adaptive_max_pool2d, adaptive_max_pool3d = (
    of_rank(rank, adaptive_max_pool, "output_size", _sizes) for rank in (1, 2, 3)
)
