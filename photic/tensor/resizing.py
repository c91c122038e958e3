"""Resizing axes: nearest places, linear and cubic interpolation, areas. Channels first, as PyTorch.

``interpolate`` is PyTorch's; ``resize`` has every choice that ONNX offers. Axes are resized one
after another: those that shrink first, those that grow last, and of these the last axis before
the others, so that the least is looked up. Halves are interpolated in float32 and rounded once.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TypeAlias

import numpy as np

from photic.base.errors import BadArgument
from photic.forms import movement
from photic.ir.dim import Dim, at_most
from photic.tensor.adaptive import adaptive_avg_pool
from photic.tensor.axes import as_many, as_size, is_many
from photic.tensor.indexing import looked_up
from photic.tensor.kernel_windows import CHANNEL_AXES
from photic.tensor.primitive import (
    accumulated,
    as_float,
    constant_like,
    masked,
    reduced,
    where,
)
from photic.tensor.resize_places import (
    COORDINATES,
    ROUNDINGS,
    Kernel,
    Line,
    Resized,
    Taps,
    cubic,
    floor_places,
    floor_view,
    is_covered,
    named,
    scaled_size,
    simplest_fraction,
    taps,
    triangle,
)
from photic.tensor.shapes import checked_axes, moveaxis, moved, reshape
from photic.tensor.tensor import Tensor, Value, fixed, seen, tensor

Scales: TypeAlias = float | Sequence[float] | None

FEW_TAPS = 8  # of an axis: each is a lookup of its own
SMOOTH, SHARP = -0.75, -0.5  # the cubic kernels of PyTorch, without antialias and with


@dataclass(frozen=True, slots=True)
class _Manner:
    """How axes are resized: nearest places by a rounding, or weighted ones by a kernel."""

    coordinates: str
    rounding: str = "floor"
    kernel: Kernel | None = None
    radius: int = 0
    excluding: bool = False
    antialias: bool = False


# --- PyTorch's ------------------------------------------------------------------------------

LINEAR, CUBIC, AREA = "linear", "cubic", "area"
CROPPING = "tf_crop_and_resize"
_NEAREST: Mapping[str, _Manner] = {
    "nearest": _Manner("asymmetric"),
    "nearest-exact": _Manner("half_pixel", "round_prefer_ceil"),
}
# PyTorch's words: what is done, and for how many axes
_MODES: Mapping[str, tuple[str, int | None]] = {
    "nearest": ("nearest", None),
    "nearest-exact": ("nearest-exact", None),
    "area": (AREA, None),
    "linear": (LINEAR, None),
    "bilinear": (LINEAR, 2),
    "trilinear": (LINEAR, 3),
    "cubic": (CUBIC, None),
    "bicubic": (CUBIC, 2),
}


def interpolate(
    x: Value,
    size: Dim | Sequence[Dim] | None = None,
    scale_factor: Scales = None,
    mode: str = "nearest",
    align_corners: bool | None = None,
    recompute_scale_factor: bool | None = None,
    antialias: bool = False,
) -> Tensor:
    """(batch, channels, *sizes) in other sizes, as PyTorch's.

    ``size`` or ``scale_factor``, for all axes or for each. ``mode``: nearest, nearest-exact, area,
    linear (bilinear, trilinear), cubic (bicubic); the last two may antialias. Sizes may be
    symbolic, with a ``scale_factor`` that is a fraction of a small power of 2. Integers become
    float32, but for nearest. BadArgument, UnknownSize.
    """
    op, value = "interpolate", tensor(x, "interpolate")
    named(op, "mode", mode, _MODES)
    kind, rank = _MODES[mode]
    if value.ndim <= CHANNEL_AXES or rank not in (None, value.ndim - CHANNEL_AXES):
        expected = f"(batch, channels, {f'{rank} sizes' if rank else '*sizes'})"
        raise BadArgument(op=op, argument="x", given=value.shape, expected=expected)
    if kind not in (LINEAR, CUBIC) and (align_corners or antialias):
        given = "align_corners" if align_corners else "antialias"
        raise BadArgument(op=op, argument=given, given=True, expected=f"not with {mode}")
    axes = _sized(op, value, size, scale_factor, bool(recompute_scale_factor))
    if kind == AREA:
        return adaptive_avg_pool(value, [one.new for one in axes.values()])
    if kind in _NEAREST:
        return _resized(value, axes, _NEAREST[kind])
    coordinates = "align_corners" if align_corners else "half_pixel"
    if align_corners and antialias:  # PyTorch takes the scale alone from the corners
        coordinates = "half_pixel"
        axes = {k: replace(one, step=_between_corners(one)) for k, one in axes.items()}
    kernel, radius = (triangle, 1) if kind == LINEAR else (cubic(SHARP if antialias else SMOOTH), 2)
    manner = _Manner(coordinates, "", kernel, radius, excluding=antialias, antialias=antialias)
    return _resized(value, axes, manner)


def _between_corners(r: Resized) -> tuple[Dim, Dim]:
    """The steps from the first to the last place, of the old axis and of the new one."""
    return (0, 1) if r.new == 1 else (r.old - 1, r.new - 1)


def _sized(
    op: str,
    x: Tensor,
    size: Dim | Sequence[Dim] | None,
    scale_factor: Scales,
    recompute: bool,
) -> dict[int, Resized]:
    """The axes after the channels with their new sizes. BadArgument."""
    extents = x.shape[CHANNEL_AXES:]
    rank = len(extents)
    if (size is None) == (scale_factor is None):
        expected = "one of size and scale_factor"
        raise BadArgument(op=op, argument="size", given=size, expected=expected)
    given = size if scale_factor is None else scale_factor
    many = as_many(given) if is_many(given) else (given,) * rank
    if len(many) != rank:
        raise BadArgument(op=op, argument="size", given=given, expected=f"{rank} of them")
    sizes = many if scale_factor is None else None
    scales = None if scale_factor is None else _scales(op, many)
    made = _planned(op, extents, sizes, scales, keeps_scale=not recompute)
    return dict(enumerate(made, start=CHANNEL_AXES))


def _scales(op: str, given: Sequence[object]) -> list[float]:
    """Scales as Python's numbers, which a fraction of NumPy's would not be. BadArgument."""
    if not all(isinstance(one, int | float | np.number) and one > 0 for one in given):
        raise BadArgument(op=op, argument="scale", given=given, expected="numbers above 0")
    return [float(one) for one in given]  # type: ignore[arg-type]


def _planned(
    op: str,
    extents: Sequence[Dim],
    sizes: Sequence[object] | None,
    scales: Sequence[float] | None,
    keeps_scale: bool,
) -> list[Resized]:
    """Each axis with its new size, and how far apart its places are. BadArgument."""
    made = []
    for k, extent in enumerate(extents):
        if sizes is not None:
            new = as_size(op, "size", sizes[k])
        else:
            assert scales is not None
            new = scaled_size(op, extent, scales[k])
        step: tuple[Dim, Dim] = (extent, new)
        if scales is not None and keeps_scale:
            ratio = simplest_fraction(scales[k])
            step = (ratio.denominator, ratio.numerator)
        if not (at_most(1, extent) and at_most(1, new)):
            given = f"{extent} to {new}"
            raise BadArgument(op=op, argument="a size", given=given, expected="surely 1 or more")
        made.append(Resized(op, extent, new, step))
    return made


# --- ONNX's ---------------------------------------------------------------------------------


def resize(
    x: Value,
    sizes: Sequence[Dim] | None = None,
    scales: Sequence[float] | None = None,
    axes: Sequence[int] | None = None,
    mode: str = "nearest",
    coordinates: str = "half_pixel",
    rounding: str = "round_prefer_floor",
    cubic_coeff_a: float = SMOOTH,
    exclude_outside: bool = False,
    antialias: bool = False,
    roi: Sequence[tuple[float, float]] | None = None,
    extrapolation_value: float = 0.0,
) -> Tensor:
    """Some axes (all for None) in other sizes, with every choice of ONNX's ``Resize``.

    ``mode``: nearest, linear, cubic. ``coordinates`` and ``rounding`` (of nearest) have ONNX's
    names. ``sizes``, ``scales`` or both: where both are given, sizes say how many places there are
    and scales how far apart they lie. ``roi``: (start, end) of each axis for tf_crop_and_resize,
    which gives ``extrapolation_value`` outside. ONNX's ratios that round differently in float32
    are exact here. BadArgument, UnknownSize.
    """
    op, value = "resize", tensor(x, "resize")
    named(op, "mode", mode, dict.fromkeys(("nearest", LINEAR, CUBIC)))
    named(op, "coordinates", coordinates, COORDINATES)
    named(op, "rounding", rounding, ROUNDINGS)
    places = checked_axes(op, axes, value.ndim)
    counts = {len(as_many(one)) for one in (sizes, scales, roi) if one is not None}
    if counts - {len(places)} or (sizes is None and scales is None):
        expected = f"{len(places)} of them, or as many scales"
        raise BadArgument(op=op, argument="sizes", given=sizes, expected=expected)
    extents = [value.shape[axis] for axis in places]
    apart = None if scales is None else _scales(op, as_many(scales))
    given = None if sizes is None else as_many(sizes)
    made = _planned(op, extents, given, apart, keeps_scale=True)
    if roi is not None:
        crops = [(simplest_fraction(first), simplest_fraction(last)) for first, last in roi]
        made = [replace(one, crop=crop) for one, crop in zip(made, crops)]
    kernel = {"nearest": None, LINEAR: triangle, CUBIC: cubic(cubic_coeff_a)}[mode]
    radius = 2 if mode == CUBIC else 1
    manner = _Manner(coordinates, rounding, kernel, radius, exclude_outside, antialias)
    planned = dict(zip(places, made))
    result = _resized(value, planned, manner)
    if coordinates != CROPPING:
        return result
    for axis, one in planned.items():
        inside = is_covered(COORDINATES[coordinates](one), one)
        shown = reshape(inside, (one.new, *(1,) * (value.ndim - axis - 1)))
        result = where(shown, result, constant_like(result, extrapolation_value))
    return result


# --- axes one after another -----------------------------------------------------------------


def _resized(x: Tensor, axes: Mapping[int, Resized], manner: _Manner) -> Tensor:
    """All axes resized, the result in the dtype of ``x`` (float32 where integers are weighed)."""
    coordinates = COORDINATES[manner.coordinates]
    if manner.kernel is None:
        for axis in _in_turn(axes):
            line = ROUNDINGS[manner.rounding](coordinates(axes[axis]))
            x = _nearest(x, axis, axes[axis], line)
        return x
    value = as_float(x, "resize")
    result = value.astype(accumulated(value.dtype))
    for axis in _in_turn(axes):
        line = coordinates(axes[axis])
        if not (axes[axis].old == axes[axis].new and _is_plain(line)):
            result = _weighed(result, axis, axes[axis], line, manner)
    return result.astype(value.dtype)


def _is_plain(line: Line) -> bool:
    """True where each place is known to lie on the old one of its number."""
    numbers = line.numbers
    return numbers is not None and numbers[1] == 0 and numbers[0] == numbers[2]


def _in_turn(axes: Mapping[int, Resized]) -> list[int]:
    """Axes that shrink, the first one first, then those that grow, the last one first."""
    shrinking = [axis for axis, one in sorted(axes.items()) if at_most(one.new, one.old)]
    return shrinking + [axis for axis in sorted(axes, reverse=True) if axis not in shrinking]


def _nearest(x: Tensor, axis: int, r: Resized, line: Line) -> Tensor:
    view = floor_view(x.operand.view, axis, line, r)
    if view is not None:
        return seen(x, view)
    return _looked_up(x, axis, floor_places(line, r))


def _weighed(x: Tensor, axis: int, r: Resized, line: Line, manner: _Manner) -> Tensor:
    """The places of an axis as sums of old ones."""
    assert manner.kernel is not None
    stretch = _stretch(r) if manner.antialias else Fraction(1)
    found = taps(line, r, manner.radius, manner.kernel, stretch, manner.excluding)
    count = found.places.shape[0]
    assert isinstance(count, int)
    are_all_read = not (manner.antialias or manner.excluding)
    if count > FEW_TAPS:
        every = found.each(lambda one: moveaxis(one, 0, 1))
        return reduced("sum", _weighed_at(x, axis, every, are_all_read), axis + 1)
    total: Tensor | None = None
    for tap in range(count):
        part = _weighed_at(x, axis, _of_tap(found, tap), are_all_read)
        total = part if total is None else total + part
    assert total is not None
    return total


def _of_tap(found: Taps, tap: int) -> Taps:
    return found.each(lambda one: moved(one, movement.select, 0, tap))


def _weighed_at(x: Tensor, axis: int, at: Taps, are_all_read: bool) -> Tensor:
    """The axis at places, times their weights; what is not read does not show, nan neither."""
    after = (1,) * (x.ndim - axis - 1)
    weights, is_read = (reshape(one, (*one.shape, *after)) for one in (at.weights, at.is_read))
    part = _looked_up(x, axis, at.places) * weights.astype(x.dtype)
    return part if are_all_read else masked(is_read, part)


def _stretch(r: Resized) -> Fraction:
    """How many old places lie between two new ones, at least 1. UnknownSize."""
    apart, steps = (fixed(r.op, one) for one in r.step)
    return max(Fraction(apart, steps), Fraction(1))


def _looked_up(x: Tensor, axis: int, places: Tensor) -> Tensor:
    """The axis at places inside it; the axes of ``places`` stand where it was."""
    table = moveaxis(x, axis, -1)
    table = reshape(table, (*table.shape[:axis], *(1,) * places.ndim, *table.shape[axis:]))
    return looked_up(table, reshape(places, (*places.shape, *(1,) * (x.ndim - axis - 1))))
