"""Sampling images at places that data gives: ``grid_sample``, and the grids of affine maps.

Coordinates run from -1 to 1 over each axis, the last axis first, as PyTorch's. Every sample is a
sum of lookups times weights; lookups outside find 0, so that the padding with zeros costs nothing.
Halves are computed in float32 and rounded once.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from photic.base.errors import BadArgument, ShapeMismatch
from photic.ir.dim import Dim
from photic.ir.dtype import INT64, DType
from photic.tensor.axes import as_sizes
from photic.tensor.compare import clip
from photic.tensor.creation import counted
from photic.tensor.indexing import looked_up, merged
from photic.tensor.kernel_windows import CHANNEL_AXES
from photic.tensor.primitive import accumulated, as_float, less, mod, reciprocal, where
from photic.tensor.resize_places import cubic, named
from photic.tensor.rounding import abs as magnitude
from photic.tensor.rounding import floor, nearest
from photic.tensor.shapes import reshape
from photic.tensor.slicing import selected
from photic.tensor.tensor import Tensor, Value, in_dtype, joined_dtype, number, size_value

CUBIC_COEFFICIENT = -0.75
MARGIN = 4.0  # places past an axis; from there on every kernel reads zeros only


@dataclass(frozen=True, slots=True)
class _Axis:
    """One axis that is sampled: its size, as a number too, and whether -1 and 1 are its corners."""

    extent: Dim
    size: Tensor
    corners: bool


@dataclass(frozen=True, slots=True)
class _Tap:
    """A place of one axis for each sample (a whole float), and the weight of what is there."""

    place: Tensor
    weight: Tensor | None


Padding: TypeAlias = Callable[[Tensor, _Axis], Tensor]


# --- what lies outside ----------------------------------------------------------------------


def _as_it_is(place: Tensor, axis: _Axis) -> Tensor:
    """Brought near the axis, where there are zeros too; infinities with it."""
    return clip(place, in_dtype(-MARGIN, place.dtype), axis.size + (MARGIN - 1.0))


def _bordered(place: Tensor, axis: _Axis) -> Tensor:
    return clip(place, in_dtype(0.0, place.dtype), axis.size - 1.0)


def _reflected(place: Tensor, axis: _Axis) -> Tensor:
    """Folded at the corners, or half a place beyond them, until it lies inside."""
    low, span = (0.0, axis.size - 1.0) if axis.corners else (-0.5, axis.size)
    along = mod(magnitude(place - low), span * 2.0)
    folded = where(less(along, span), along, span * 2.0 - along) + low
    # one place between its own corners has nothing to fold
    return _bordered(where(less(0.0, span), folded, place), axis)


_PADDINGS: Mapping[str, Padding] = {
    "zeros": _as_it_is,
    "border": _bordered,
    "reflection": _reflected,
}


# --- which places, with which weights -------------------------------------------------------


def _nearest_tap(place: Tensor, axis: _Axis, padding: Padding) -> list[_Tap]:
    return [_Tap(nearest(padding(place, axis)), None)]


def _linear_taps(place: Tensor, axis: _Axis, padding: Padding) -> list[_Tap]:
    inside = padding(place, axis)
    low = floor(inside)
    part = inside - low
    return [_Tap(low, 1.0 - part), _Tap(low + 1.0, part)]


def _cubic_taps(place: Tensor, axis: _Axis, padding: Padding) -> list[_Tap]:
    """Padding moves each of the four places, not the sample."""
    near = place if padding is _reflected else _as_it_is(place, axis)
    low = floor(near)
    part, weights = near - low, cubic(CUBIC_COEFFICIENT)
    return [
        _Tap(padding(low + float(k), axis), weights(magnitude(part - float(k))))
        for k in range(-1, 3)
    ]


_MODES: Mapping[str, Callable[[Tensor, _Axis, Padding], list[_Tap]]] = {
    "nearest": _nearest_tap,
    "bilinear": _linear_taps,
    "bicubic": _cubic_taps,
}


# --- sampling -------------------------------------------------------------------------------


def grid_sample(
    x: Value,
    grid: Value,
    mode: str = "bilinear",
    padding_mode: str = "zeros",
    align_corners: bool = False,
) -> Tensor:
    """``x`` (batch, channels, *sizes) at the places of ``grid`` (batch, *out, len(sizes)).

    As PyTorch's: the result is (batch, channels, *out); ``mode`` bilinear (of any rank), nearest
    (ties to even), bicubic; ``padding_mode`` zeros, border, reflection. -1 and 1 are the outer
    places with ``align_corners``, else the outer edges. A coordinate that is nan gives nan, or 0
    if nearest; an infinite one lies outside, but is nan to reflection. Integers become float32.
    ShapeMismatch, BadArgument.
    """
    op = "grid_sample"
    named(op, "mode", mode, _MODES)
    named(op, "padding_mode", padding_mode, _PADDINGS)
    image, where_to = as_float(x, op), as_float(grid, op)
    rank = image.ndim - CHANNEL_AXES
    fits = rank >= 1 and where_to.ndim >= 2 and where_to.shape[-1] == rank
    if not fits or where_to.shape[0] != image.shape[0]:
        raise ShapeMismatch(op=op, left=image.shape, right=where_to.shape)
    dtype = joined_dtype((image, where_to), op)
    wide = accumulated(dtype)
    places = where_to.astype(wide)
    taps = []
    for k, extent in enumerate(image.shape[CHANNEL_AXES:]):
        axis = _Axis(extent, size_value(extent).astype(wide), align_corners)
        place = _on_axis(selected(places, places.ndim - 1, rank - 1 - k), axis)
        taps.append(_MODES[mode](place, axis, _PADDINGS[padding_mode]))
    return _sampled(image.astype(wide), taps).astype(dtype)


def _on_axis(coordinate: Tensor, axis: _Axis) -> Tensor:
    """-1 .. 1 as places of the axis."""
    if axis.corners:
        return (coordinate + 1.0) * 0.5 * (axis.size - 1.0)
    return ((coordinate + 1.0) * axis.size - 1.0) * 0.5


def _sampled(x: Tensor, taps: Sequence[Sequence[_Tap]]) -> Tensor:
    """The sum over every choice of one tap an axis."""
    extents, rank = x.shape[CHANNEL_AXES:], len(taps)
    out = taps[0][0].place.ndim - 1
    table = merged(x, CHANNEL_AXES, rank)
    table = reshape(table, (*table.shape[:CHANNEL_AXES], *(1,) * out, table.shape[-1]))
    total: Tensor | None = None
    for chosen in itertools.product(*taps):
        part = looked_up(table, _for_channels(_flat(chosen, extents)))
        for tap in chosen:
            part = part if tap.weight is None else part * _for_channels(tap.weight)
        total = part if total is None else total + part
    assert total is not None
    return total


def _for_channels(x: Tensor) -> Tensor:
    """(batch, *out) as (batch, 1, *out)."""
    return reshape(x, (x.shape[0], 1, *x.shape[1:]))


def _flat(chosen: Sequence[_Tap], extents: Sequence[Dim]) -> Tensor:
    """The place in row-major order; -1 outside, and for nan."""
    flat, inside = number(0, INT64), None
    for tap, extent in zip(chosen, extents, strict=True):
        end = size_value(extent)
        flat = flat * end + tap.place.astype(INT64)
        here = less(-1.0, tap.place) * less(tap.place, end.astype(tap.place.dtype))
        inside = here if inside is None else inside * here
    assert inside is not None
    return where(inside, flat, -1)


# --- affine maps ----------------------------------------------------------------------------


def affine_grid(theta: Value, size: Sequence[Dim], align_corners: bool = False) -> Tensor:
    """The grid for ``grid_sample`` that maps the result's coordinates by ``theta``, as PyTorch's.

    ``theta`` (batch, r, r + 1), ``size`` (batch, channels, *out) with r sizes; the result is
    (batch, *out, r). Halves are computed in float32 and rounded once. ShapeMismatch, BadArgument.
    """
    op, given = "affine_grid", as_float(theta, "affine_grid")
    size = as_sizes(op, "size", size)
    rank = len(size) - CHANNEL_AXES
    if rank < 1:
        raise BadArgument(op=op, argument="size", given=size, expected="(batch, channels, *sizes)")
    if given.shape != (size[0], rank, rank + 1):
        raise ShapeMismatch(op=op, left=given.shape, right=(size[0], rank, rank + 1))
    matrix = given.astype(accumulated(given.dtype))
    result: Tensor | None = None
    for k in range(rank + 1):
        column = reshape(selected(matrix, 2, k), (size[0], *(1,) * rank, rank))
        part = column
        if k < rank:
            extent = size[-1 - k]
            line = _coordinates(extent, align_corners, matrix.dtype)
            part = column * reshape(line, (extent, *(1,) * (k + 1)))
        result = part if result is None else result + part
    assert result is not None
    return result.astype(given.dtype)


def _coordinates(extent: Dim, corners: bool, dtype: DType) -> Tensor:
    """The coordinate of each place: -1 and 1 are the outer places, or the outer edges."""
    over = size_value(extent) - 1 if corners else size_value(extent)
    tops = (counted(0, extent) * 2 - (size_value(extent) - 1)).astype(dtype)
    # a single place between corners lies at 0
    return where(less(0, over), tops * reciprocal(over.astype(dtype)), 0.0)
