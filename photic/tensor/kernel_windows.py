"""Windows of a kernel over the last axes: sizes, strides, dilations, paddings as users write them.

One record an axis says where its windows lie; ``windowed`` is the view through all of them. The
padding is made before the view, so that a compiler may keep a padded copy. Where a symbolic size
leaves open how many windows there are, it is refused.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import wraps
from typing import ParamSpec, TypeAlias, TypeVar

from photic.base.errors import BadArgument
from photic.forms import movement
from photic.ir.dim import Dim, at_most, bounds, floordiv
from photic.tensor.axes import as_integer, as_many, as_sizes, is_many
from photic.tensor.errors import UnknownSize
from photic.tensor.padding import pad
from photic.tensor.shapes import moved
from photic.tensor.tensor import Scalar, Tensor

Sizes: TypeAlias = int | Sequence[int]
Padding: TypeAlias = str | int | Sequence[int] | Sequence[tuple[Dim, Dim]]

CHANNEL_AXES = 2  # before the sizes: of weights outputs and inputs, of images batch and channels
VALID, SAME, SAME_LOWER = "valid", "same", "same_lower"


@dataclass(frozen=True, slots=True)
class Window:
    """The windows along one axis.

    ``before`` and ``after`` are the padding as asked for. The last window ends ``tail`` places
    past the end of the axis (before it, if negative), ``past`` of them beyond the padding.
    """

    size: Dim
    stride: int
    dilation: int
    before: Dim
    after: Dim
    tail: Dim
    past: Dim
    count: Dim

    @property
    def is_padded(self) -> bool:
        """False if no place outside the axis is read."""
        return not (self.before == 0 and self.after == 0 and self.past == 0)


# --- what users write -----------------------------------------------------------------------


def per_axis(op: str, argument: str, given: Sizes, rank: int, least: int) -> tuple[int, ...]:
    """One integer for each of ``rank`` axes, at least ``least``; one number stands for all."""
    many = [as_integer(op, argument, one) for one in as_many(given)]
    many = many if is_many(given) else many * rank
    if len(many) != rank or any(one < least for one in many):
        expected = f"one integer or {rank}, each {least} or more"
        raise BadArgument(op=op, argument=argument, given=given, expected=expected)
    return tuple(many)


def padding_pairs(op: str, given: Padding, rank: int) -> list[tuple[Dim, Dim]]:
    """(before, after) for each axis; a number stands for both, one number for all axes."""
    many = as_many(given) if is_many(given) else (given,) * rank
    pairs = [as_sizes(op, "padding", one if is_many(one) else (one, one)) for one in many]
    couples = [(one[0], one[1]) for one in pairs if len(one) == 2]
    if len(couples) != rank or any(bounds(width)[0] < 0 for one in couples for width in one):
        expected = f"a number or {rank}, or {rank} pairs (before, after), 0 or more"
        raise BadArgument(op=op, argument="padding", given=given, expected=expected)
    return couples


def _same(op: str, extent: Dim, reach: Dim, stride: int, mode: str) -> tuple[Dim, Dim]:
    """The padding with which there are ``ceil(extent / stride)`` windows."""
    last = (floordiv(extent + (stride - 1), stride) - 1) * stride
    both = _larger(op, last + reach - extent, 0) if stride > 1 else reach - 1
    less = floordiv(both, 2)
    return (less, both - less) if mode == SAME else (both - less, less)


def _larger(op: str, left: Dim, right: Dim) -> Dim:
    """The larger of two sizes; UnknownSize where that depends on the call."""
    if at_most(left, right):
        return right
    if at_most(right, left):
        return left
    raise UnknownSize(op=op, given=f"max({left}, {right})")


# --- windows --------------------------------------------------------------------------------


def windows_of(
    op: str,
    extents: Sequence[Dim],
    sizes: Sequence[Dim],
    stride: Sizes,
    padding: Padding,
    dilation: Sizes,
    ceil_mode: bool = False,
) -> list[Window]:
    """The windows along each axis. BadArgument where none fits; UnknownSize.

    ``padding``: "valid", "same" (the odd place at the end), "same_lower" (at the start), or
    widths. With ``ceil_mode`` their number is rounded up, but each begins inside the axis or
    before it.
    """
    rank = len(extents)
    strides = per_axis(op, "stride", stride, rank, 1)
    dilations = per_axis(op, "dilation", dilation, rank, 1)
    if padding in (SAME, SAME_LOWER):
        reaches = [(size - 1) * apart + 1 for size, apart in zip(sizes, dilations)]
        axes = zip(extents, reaches, strides)
        pairs = [_same(op, extent, reach, step, str(padding)) for extent, reach, step in axes]
    else:
        pairs = padding_pairs(op, 0 if padding == VALID else padding, rank)
    return [
        _window(op, *one, ceil_mode)
        for one in zip(extents, sizes, strides, dilations, pairs, strict=True)
    ]


def _window(
    op: str,
    extent: Dim,
    size: Dim,
    stride: int,
    dilation: int,
    padding: tuple[Dim, Dim],
    ceil_mode: bool,
) -> Window:
    before, after = padding
    reach = (size - 1) * dilation + 1
    spare = extent + before + after - reach
    count = floordiv(spare, stride) + 1
    if ceil_mode:
        every = floordiv(spare + (stride - 1), stride) + 1
        inside = floordiv(extent + before + (stride - 1), stride)
        count = every + inside - _larger(op, every, inside)
    tail = (count - 1) * stride + reach - extent - before
    past = tail - after if ceil_mode and not at_most(tail, after) else 0
    if not (at_most(1, count) or extent == count == 0):
        expected = f"surely {reach} or more with its padding"
        raise BadArgument(op=op, argument="an axis", given=f"of size {extent}", expected=expected)
    return Window(size, stride, dilation, before, after, tail, past, count)


def windowed(x: Tensor, windows: Sequence[Window], outside: Scalar) -> Tensor:
    """(..., sizes) as (..., counts, window sizes); ``outside`` is what the padding holds."""
    axes = list(enumerate(windows, start=x.ndim - len(windows)))
    padded = {axis: (one.before, one.tail) for axis, one in axes if one.is_padded}
    if padded:
        x = pad(x, padded, constant_values=outside)
    for axis, one in axes:
        if axis not in padded:
            x = moved(x, movement.shrink, axis, 0, 1, x.shape[axis] + one.tail)
        x = moved(x, movement.windows, axis, one.size, one.stride, one.dilation)
    return x


# --- functions of a stated rank -------------------------------------------------------------

_P = ParamSpec("_P")
_R = TypeVar("_R")


def of_rank(
    rank: int,
    function: Callable[_P, _R],
    argument: str,
    checked: Callable[[str, object, int], object],
) -> Callable[_P, _R]:
    """``function`` for kernels of this rank: its ``argument`` is ``checked(name, given, rank)``."""
    name = f"{function.__name__}{rank}d"
    signature = inspect.signature(function)

    @wraps(function)
    def fixed_rank(*args: _P.args, **kwargs: _P.kwargs) -> _R:
        bound = signature.bind(*args, **kwargs)
        bound.arguments[argument] = checked(name, bound.arguments[argument], rank)
        return function(*bound.args, **bound.kwargs)

    fixed_rank.__name__ = fixed_rank.__qualname__ = name
    fixed_rank.__doc__ = f"As ``{function.__name__}`` over the last axes, {rank} of them."
    return fixed_rank


def over_last(rank: int, function: Callable[_P, _R]) -> Callable[_P, _R]:
    """``function`` over exactly ``rank`` axes: one ``kernel_size`` may stand for all of them."""

    def sizes(name: str, given: object, rank: int) -> object:
        return per_axis(name, "kernel_size", given, rank, 1)  # type: ignore[arg-type]

    return of_rank(rank, function, "kernel_size", sizes)
