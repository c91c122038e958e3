"""Slopes, areas and values between points: what is known of a function at some places.

Halves are computed in float32 and rounded once, integers become float32.
"""

from __future__ import annotations

import math

from photic.base.errors import BadArgument, ShapeMismatch
from photic.tensor.axes import as_integer, checked_axis
from photic.tensor.compare import clip, equal, isnan
from photic.tensor.indexing import take
from photic.tensor.linear import in_floats
from photic.tensor.primitive import less, mod, reciprocal, where
from photic.tensor.reductions import sum
from photic.tensor.rounding import abs
from photic.tensor.running import cumsum, diff
from photic.tensor.searching import searchsorted
from photic.tensor.shapes import checked_axes, concat, reshape, window
from photic.tensor.tensor import Axes, Tensor, Value, size_value, tensor


def _part(x: Tensor, axis: int, start: int, end: int, op: str) -> Tensor:
    """Places from ``start`` to ``end`` (0 or less: that many before the end)."""
    return window(x, axis, start, x.shape[axis] + end if end <= 0 else end, op)


def _along(x: Tensor, axis: int, rank: int) -> Tensor:
    """A line along one of ``rank`` axes."""
    return reshape(x, (x.shape[0], *(1,) * (rank - axis - 1)))


SECOND = 2  # the order of ends that a parabola through three places gives

# --- slopes ---------------------------------------------------------------------------------


def gradient(
    f: Value, *varargs: Value, axis: Axes = None, edge_order: int = 1
) -> Tensor | tuple[Tensor, ...]:
    """The slopes along axes (all for None; a tuple if there are several), as NumPy's.

    Inside by central differences, at the ends by ``edge_order`` 1 or 2. ``varargs``: nothing, a
    distance for all axes, or for each axis a distance or the places (one axis). BadArgument for an
    axis that may have ``edge_order`` places or fewer; ShapeMismatch.
    """
    dtype, (value,) = in_floats("gradient", f)
    axes = checked_axes("gradient", axis, value.ndim)
    order = as_integer("gradient", "edge_order", edge_order)
    spacing = list(varargs) * len(axes) if len(varargs) == 1 else list(varargs) or [1.0] * len(axes)
    if len(spacing) != len(axes) or order not in (1, SECOND) or not axes:
        expected = f"edge_order 1 or 2, and none, one or {len(axes)} spacings"
        given = (edge_order, len(varargs))
        raise BadArgument(
            op="gradient", argument="edge_order, varargs", given=given, expected=expected
        )
    found = [_slopes(value, k, one, order).astype(dtype) for k, one in zip(axes, spacing)]
    return found[0] if len(found) == 1 else tuple(found)


def _slopes(x: Tensor, axis: int, spacing: Value, order: int) -> Tensor:
    """Along one axis: each slope of the two steps beside it, weighed by the other one's length."""
    step = _steps(x, axis, spacing)
    rise = diff(x, axis=axis) * reciprocal(step)
    before, after = (_part(rise, axis, k, k - 1, "gradient") for k in (0, 1))
    part = tensor(0.5).astype(x.dtype)
    if step.ndim:
        left, right = (_part(step, axis, k, k - 1, "gradient") for k in (0, 1))
        part = left * reciprocal(left + right)
    bend = after - before
    # over equal steps the place itself has no part, whatever it is
    inside = before + bend * part if step.ndim else _across(x, axis) * (reciprocal(step) * 0.5)
    first, last = _part(rise, axis, 0, 1, "gradient"), _last(rise, axis)
    if order == SECOND:
        share, rest = part, 1.0 - part
        if part.ndim:
            share, rest = _part(share, axis, 0, 1, "gradient"), _last(rest, axis)
        first = first - share * _part(bend, axis, 0, 1, "gradient")
        last = last + rest * _last(bend, axis)
    return concat([first, inside, last], axis)


def _across(x: Tensor, axis: int) -> Tensor:
    """For each place inside the difference of the two beside it."""
    return _part(x, axis, SECOND, 0, "gradient") - _part(x, axis, 0, -SECOND, "gradient")


def _last(x: Tensor, axis: int) -> Tensor:
    extent = x.shape[axis]
    return window(x, axis, extent - 1, extent, "gradient")


def _steps(x: Tensor, axis: int, spacing: Value) -> Tensor:
    """The distances between places: a number, or one for each step along the axis."""
    given = tensor(spacing, "gradient").astype(x.dtype)
    if given.ndim == 0:
        return given
    if given.shape != (x.shape[axis],):
        raise ShapeMismatch(op="gradient", left=x.shape, right=given.shape)
    shape = tuple(given.shape[0] if k == axis else 1 for k in range(x.ndim))
    return diff(reshape(given, shape), axis=axis)


# --- areas ----------------------------------------------------------------------------------


def trapezoid(y: Value, x: Value | None = None, dx: Value = 1.0, axis: int = -1) -> Tensor:
    """The area below ``y`` along an axis, between places ``x`` or places ``dx`` apart.

    ``x`` is a line along the axis, or broadcasts with ``y``. 0 of a single place and of none.
    """
    dtype, parts, place = _trapezoids("trapezoid", y, x, dx, axis)
    return sum(parts, place).astype(dtype)  # type: ignore[arg-type]


def cumulative_trapezoid(
    y: Value, x: Value | None = None, dx: Value = 1.0, axis: int = -1
) -> Tensor:
    """The area below ``y`` up to each place but the first; else as ``trapezoid``."""
    dtype, parts, place = _trapezoids("cumulative_trapezoid", y, x, dx, axis)
    return cumsum(parts, place).astype(dtype)  # type: ignore[arg-type]


def _trapezoids(
    op: str, y: Value, x: Value | None, dx: Value, axis: int
) -> tuple[object, Tensor, int]:
    """The dtype of the result, the area between each two places, and their axis."""
    dtype, (value, along) = in_floats(op, y, dx if x is None else x)
    place = checked_axis(op, axis, value.ndim)
    if value.shape[place] == 0:
        return dtype, value, place
    middle = (_part(value, place, 1, 0, op) + _part(value, place, 0, -1, op)) * 0.5
    if x is None:
        return dtype, middle * along, place
    if along.ndim == 1:
        along = _along(along, place, value.ndim)
    return dtype, middle * diff(along, axis=place - value.ndim), place


# --- between points -------------------------------------------------------------------------


def interp(
    x: Value, xp: Value, fp: Value, left: Value | None = None, right: Value | None = None
) -> Tensor:
    """The values at ``x`` of the lines through the points (xp, fp), as NumPy's.

    ``xp`` and ``fp`` have one axis, ``xp`` rises. Outside it is ``left`` and ``right``, the first
    and last of ``fp`` if left out; nan stays. There is no period. ShapeMismatch, BadArgument.
    """
    dtype, (at, places, values) = in_floats("interp", x, xp, fp)
    if places.ndim != 1 or places.shape != values.shape:
        raise ShapeMismatch(op="interp", left=places.shape, right=values.shape)
    if places.shape[0] == 0:
        raise BadArgument(op="interp", argument="xp", given="no points", expected="one or more")
    last = size_value(places.shape[0]) - 1
    low = clip(searchsorted(places, at, "right") - 1, 0, last)
    high = clip(low + 1, 0, last)
    start, first = take(places, low), take(values, low)
    run, rise = take(places, high) - start, take(values, high) - first
    inside = where(equal(at, start), first, first + rise * reciprocal(run) * (at - start))
    ends = [
        take(values, 0) if left is None else left,
        take(values, last) if right is None else right,
    ]
    result = where(less(at, take(places, 0)), tensor(ends[0]).astype(at.dtype), inside)
    result = where(less(take(places, last), at), tensor(ends[1]).astype(at.dtype), result)
    return where(isnan(at), at, result).astype(dtype)


def unwrap(
    p: Value, discont: float | None = None, axis: int = -1, period: float = 2 * math.pi
) -> Tensor:
    """Jumps along an axis of more than ``discont`` (half a ``period``) made smaller by periods."""
    dtype, (value,) = in_floats("unwrap", p)
    place = checked_axis("unwrap", axis, value.ndim)
    if value.shape[place] == 0:
        return value.astype(dtype)
    step = diff(value, axis=place)
    half = period / 2
    kept = mod(step + half, period) - half
    kept = where(equal(kept, -half) * less(0.0, step), half, kept)
    moved = where(
        less(abs(step), half if discont is None else max(discont, half)), 0.0, kept - step
    )
    first = _part(value, place, 0, 1, "unwrap")
    rest = _part(value, place, 1, 0, "unwrap") + cumsum(moved, place)
    return concat([first, rest], place).astype(dtype)
