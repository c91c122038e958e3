"""Operators that look at an image between its places: regions of interest, convolutions that bend.

Both are sums of lookups times weights. How many samples a region has may depend on the data; then
the largest number is read back (``Unread``), and regions with fewer leave the rest out.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from photic.frontends.onnx.call import Call, Op
from photic.frontends.onnx.kinds import KIND
from photic.frontends.onnx.value import Value
from photic.ir.dim import Dim, product
from photic.ir.dtype import FLOAT32, INT64
from photic.tensor import (
    compare,
    creation,
    indexing,
    linear,
    primitive,
    reductions,
    rounding,
    shapes,
)
from photic.tensor.tensor import Tensor

HALF_PIXEL_SINCE = 16  # the version in which RoiAlign places its regions by the pixels' middles


# --- regions of interest --------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Line:
    """One axis of all regions: places (regions, bins, samples) at the lower and the upper end.

    ``share`` is the weight of the upper end, ``inside`` false where a sample counts as 0; of each
    region ``count`` samples exist, the others are not ``there``.
    """

    low: Tensor
    high: Tensor
    share: Tensor
    inside: Tensor
    there: Tensor
    count: Tensor


def _line(call: Call, first: Tensor, last: Tensor, bins: int, extent: Dim, shifted: bool) -> _Line:
    """The samples of regions from ``first`` to ``last`` along an axis."""
    span = last - first
    span = span if shifted else compare.maximum(span, 1.0)
    size = span / bins
    count, most = _samples(call, size)
    sample = creation.arange(most).astype(FLOAT32)
    at_bin = creation.arange(bins).astype(FLOAT32)[:, None]
    step = (sample + 0.5) / count[:, None, None]
    place = first[:, None, None] + (at_bin + step) * size[:, None, None]
    end = creation.size(extent).astype(FLOAT32)
    inside = compare.logical_and(place >= -1.0, place <= end)
    within = compare.clip(place, 0.0, end - 1.0)
    low = rounding.floor(within)
    high = compare.minimum(low + 1.0, end - 1.0)
    there = sample < count[:, None, None]
    return _Line(low.astype(INT64), high.astype(INT64), within - low, inside, there, count)


def _samples(call: Call, size: Tensor) -> tuple[Tensor, int]:
    """How many samples each region has in a bin; the largest of these numbers."""
    fixed = call.integer("sampling_ratio", 0)
    if fixed > 0:
        return creation.full(size.shape, float(fixed)), fixed
    count = compare.maximum(rounding.ceil(size), 1.0)
    most = call.known_value(Value(reductions.max(count).astype(INT64), KIND["int64"]))
    return count, int(most.reshape(()).item())


def _regions(call: Call) -> Tensor:
    """(regions, channels, height, width): of each bin the mean of its samples, or the largest."""
    x, boxes, owner = call.tensor(0), call.tensor(1), call.tensor(2)
    modes = ("half_pixel", "output_half_pixel")
    usual = modes[call.version < HALF_PIXEL_SINCE]
    shifted = call.choice("coordinate_transformation_mode", modes, usual) == modes[0]
    ends = boxes.astype(FLOAT32) * call.number("spatial_scale", 1.0) - (0.5 if shifted else 0.0)
    high, wide = call.integer("output_height", 1), call.integer("output_width", 1)
    rows = _line(call, ends[:, 1], ends[:, 3], high, x.shape[2], shifted)
    columns = _line(call, ends[:, 0], ends[:, 2], wide, x.shape[3], shifted)
    takes_mean = call.choice("mode", ("avg", "max"), "avg") == "avg"
    corners = _corners(x, owner, rows, columns)
    there = _crossed(rows.there, columns.there)
    if takes_mean:
        total = reductions.sum(primitive.where(there, sum(corners[1:], corners[0]), 0.0), (3, 5))
        counts = rows.count * columns.count
        result = total / shapes.reshape(counts, (-1, 1, 1))
    else:
        best = corners[0]
        for one in corners[1:]:
            best = compare.maximum(best, one)
        result = reductions.max(primitive.where(there, best, -math.inf), (3, 5))
    return shapes.swapaxes(result, 0, 1).astype(x.dtype)


def _crossed(rows: Tensor, columns: Tensor) -> Tensor:
    """(regions, bins, samples) of both axes, true where both are: with all five axes."""
    return compare.logical_and(_of_rows(rows), _of_columns(columns))


def _of_rows(x: Tensor) -> Tensor:
    return x[:, :, :, None, None]


def _of_columns(x: Tensor) -> Tensor:
    return x[:, None, None]


def _corners(x: Tensor, owner: Tensor, rows: _Line, columns: _Line) -> list[Tensor]:
    """The four neighbours of each sample by their weights: (channels, regions, ...)."""
    batch, channels, height, width = x.shape
    flat = shapes.reshape(shapes.swapaxes(x, 0, 1), (channels, product((batch, height, width))))
    inside = _crossed(rows.inside, columns.inside)
    image = owner.astype(INT64)[:, None, None, None, None]
    found = []
    for row, row_weight in ((rows.low, 1.0 - rows.share), (rows.high, rows.share)):
        for column, weight in ((columns.low, 1.0 - columns.share), (columns.high, columns.share)):
            line = image * creation.size(height) + _of_rows(row)
            place = line * creation.size(width) + _of_columns(column)
            shares = _of_rows(row_weight) * _of_columns(weight)
            taken = indexing.take(flat, place, 1).astype(FLOAT32)
            found.append(primitive.where(inside, taken * shares, 0.0))
    return found


# --- convolutions at places that bend -------------------------------------------------------


def _bent_conv(call: Call) -> Tensor:
    """A convolution whose every tap is moved by the data, perhaps with a weight of its own."""
    x, weight, offset = call.tensor(0), call.tensor(1), call.tensor(2)
    bias, mask = call.optional(3), call.optional(4)
    groups, bends = call.integer("group", 1), call.integer("offset_group", 1)
    kernel = tuple(int(one) for one in weight.shape[2:] if isinstance(one, int))
    taps, rank, out = math.prod(kernel), x.ndim - 2, offset.shape[2:]
    batch, channels, *extents = x.shape
    moves = shapes.reshape(offset, (batch * bends, taps, rank, *out))
    places = [_places(call, moves[:, :, k], k, kernel) for k in range(rank)]
    images = shapes.reshape(x, (batch * bends, channels // bends, *extents))
    seen = _between(images, places)
    seen = shapes.reshape(seen, (batch, bends, -1, taps, *out))
    if mask is not None:
        seen = seen * shapes.reshape(mask, (batch, bends, 1, taps, *out))
    depth = channels // groups * taps
    columns = shapes.reshape(seen, (batch, groups, depth, product(out)))
    rows = shapes.reshape(weight, (groups, -1, depth))
    result = shapes.reshape(linear.matmul(rows, columns), (batch, weight.shape[0], *out))
    return result if bias is None else result + shapes.reshape(bias, (-1, *(1,) * rank))


def _places(call: Call, moves: Tensor, axis: int, kernel: Sequence[int]) -> Tensor:
    """Where every tap looks along one axis: (images, taps, *out)."""
    rank = len(kernel)
    strides = call.ints("strides") or (1,) * rank
    apart = call.ints("dilations") or (1,) * rank
    pads = call.ints("pads") or (0,) * (2 * rank)
    tap = np.indices(kernel)[axis].reshape(-1) * apart[axis] - pads[axis]
    first = shapes.reshape(creation.constant(tap, FLOAT32), (-1, *(1,) * rank))
    step = creation.arange(moves.shape[2 + axis]).astype(FLOAT32) * float(strides[axis])
    along = shapes.reshape(step, [-1 if k == axis else 1 for k in range(rank)])
    return first + along + moves.astype(FLOAT32)


def _between(images: Tensor, places: Sequence[Tensor]) -> Tensor:
    """(images, channels, *sizes) at places (images, taps, *out) of each axis; 0 lies around them.

    The result is (images, channels, taps, *out).
    """
    count, channels, *extents = images.shape
    table = shapes.reshape(images, (count, channels, *(1,) * (places[0].ndim - 1), -1))
    lows = [rounding.floor(one) for one in places]
    total: Tensor | None = None
    for corner in itertools.product((0.0, 1.0), repeat=len(places)):
        flat, weight = creation.size(0), creation.constant(1.0, FLOAT32)
        for step, place, low, extent in zip(corner, places, lows, extents):
            size, at = creation.size(extent), low + step
            share = place - low if step else 1.0 - (place - low)
            inside = compare.logical_and(at >= 0.0, at < size.astype(FLOAT32))
            weight = weight * primitive.where(inside, share, 0.0)
            flat = flat * size + primitive.where(inside, at, 0.0).astype(INT64)
        part = indexing.looked_up(table, flat[:, None]) * weight[:, None].astype(images.dtype)
        total = part if total is None else total + part
    assert total is not None
    return total


REGIONS: tuple[Op, ...] = (
    Op("RoiAlign", _regions),
    Op("DeformConv", _bent_conv),
)
