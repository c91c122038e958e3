"""Operators that move elements: reshapes, orders of axes, joins, parts, padding, repetition."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from photic.base.errors import NoTruthValue
from photic.frontends.onnx.call import Call, Op
from photic.frontends.onnx.ops_reductions import axes_of
from photic.frontends.onnx.value import Value
from photic.ir.dim import Dim, Int, at_most, product
from photic.tensor import (
    creation,
    diagonals,
    indexing,
    padding,
    pixels,
    primitive,
    repeating,
    shapes,
    slicing,
)

PAD_MODES = {"constant": "constant", "reflect": "reflect", "edge": "edge", "wrap": "wrap"}
FAR = 1 << 31  # slices' ends beyond it mean "to the end"


def _reshape(call: Call) -> Value:
    value = call.value(0)
    given = call.ints("shape") if call.version < 5 else call.sizes(1)
    if given is None:
        raise call.attribute_error("shape", "missing", "sizes")
    if not call.flag("allowzero"):
        given = tuple(value.shape[k] if size == 0 else size for k, size in enumerate(given))
    return _same(value, given)


def _same(value: Value, shape: Sequence[Dim]) -> Value:
    """The elements in another shape; an array stays one."""
    if isinstance(value.held, np.ndarray) and all(isinstance(one, int) for one in shape):
        return Value(value.held.reshape([int(one) for one in shape]), value.kind)
    return Value(shapes.reshape(value.tensor, shape), value.kind)


def _flatten(call: Call) -> Value:
    value, axis = call.value(0), call.integer("axis", 1)
    axis = axis + len(value.shape) if axis < 0 else axis
    return _same(value, (product(value.shape[:axis]), product(value.shape[axis:])))


def _squeeze(call: Call) -> Value:
    value, axes = call.value(0), axes_of(call)
    return Value(shapes.squeeze(value.tensor, axes), value.kind)


def _unsqueeze(call: Call) -> Value:
    value, axes = call.value(0), axes_of(call)
    if axes is None:
        raise call.attribute_error("axes", "missing", "axes")
    return Value(shapes.expand_dims(value.tensor, axes), value.kind)


def _transpose(call: Call) -> Value:
    value, order = call.value(0), call.ints("perm")
    if isinstance(value.held, np.ndarray):
        return Value(np.transpose(value.held, order), value.kind)
    return Value(shapes.transpose(value.tensor, order), value.kind)


def _concat(call: Call) -> Value:
    axis = call.integer("axis", 1 if call.version < 4 else None)
    parts = [one for one in call.inputs if one is not None]
    return Value(shapes.concat([one.tensor for one in parts], axis), parts[0].kind)


def _expand(call: Call) -> Value:
    value, sizes = call.value(0), call.sizes(1)
    shape = shapes.broadcast_shapes(value.shape, sizes)
    return Value(shapes.broadcast_to(value.tensor, shape), value.kind)


def _tile(call: Call) -> Value:
    value = call.value(0)
    if call.version < 6:
        times = [1] * len(value.shape)
        times[int(call.scalar(2))] = int(call.scalar(1))
        return Value(repeating.tile(value.tensor, times), value.kind)
    return Value(repeating.tile(value.tensor, call.sizes(1)), value.kind)


# --- slices ---------------------------------------------------------------------------------


def _slice(call: Call) -> Value:
    value = call.value(0)
    rank = len(value.shape)
    if call.version < 10:
        starts: tuple[Dim, ...] = call.ints("starts") or ()
        ends: tuple[Dim, ...] = call.ints("ends") or ()
        axes, steps = call.ints("axes"), None
    else:
        starts, ends = call.sizes(1), call.sizes(2)
        axes = call.integers(3) if call.has(3) else None
        steps = call.integers(4) if call.has(4) else None
    axes = tuple(range(len(starts))) if axes is None else axes
    steps = (1,) * len(starts) if steps is None else steps
    places: list[slice] = [slice(None)] * rank
    for start, end, axis, step in zip(starts, ends, axes, steps, strict=True):
        if not -rank <= axis < rank:
            raise call.wrong(f"axis {axis} of a tensor of rank {rank}")
        places[axis] = slice(*_bounds(start, end, value.shape[axis], step), step)
    return Value(value.tensor[tuple(places)], value.kind)


def _bounds(start: Dim, end: Dim, extent: Dim, step: int) -> tuple[Dim | None, Dim | None]:
    """A slice's bounds as NumPy has them: those far outside, and before the start, left out."""
    first, last = _from_front(start, extent), _from_front(end, extent)
    if step < 0:
        is_to_start = isinstance(end, int) and (end < -FAR or at_most(last, -1))
        is_from_end = isinstance(start, int) and start > FAR
        return None if is_from_end else first, None if is_to_start else last
    return first, None if isinstance(end, int) and end > FAR else last


def _from_front(place: Dim, extent: Dim) -> Dim:
    """A place counted from the front, with what is before the first place at or before it."""
    if isinstance(place, int):
        if place >= 0 or place < -FAR or isinstance(extent, Int):
            return place if place >= -FAR else 0
        return max(-1, place + int(extent)) if place + int(extent) < 0 else place + int(extent)
    try:
        return place + extent if place < 0 else place
    except NoTruthValue:
        return place


UNEVEN_SINCE = 18  # the version in which the last part of Split may be smaller


def _split(call: Call) -> list[Value]:
    """Parts of an axis: of sizes that are given, or as equal as they can be."""
    value, axis = call.value(0), call.integer("axis", 0)
    extent = value.shape[axis]
    sizes = call.sizes(1) if call.has(1) else call.ints("split")
    if sizes is None:
        count = call.integer("num_outputs", len(call.node.outputs))
        if isinstance(extent, Int):
            parts = slicing.split(value.tensor, count, axis)
            return [Value(one, value.kind) for one in parts]
        if call.version < UNEVEN_SINCE and extent % count:
            raise call.wrong(f"{extent} places in {count} parts of one size")
        part = -(-extent // count)
        sizes = tuple(max(0, min(part, extent - part * k)) for k in range(count))
    numbers = [one for one in (*sizes, extent) if isinstance(one, int)]
    if len(numbers) > len(sizes) and (min(numbers) < 0 or sum(numbers[:-1]) != extent):
        raise call.wrong(f"parts of sizes {tuple(sizes)}, of an axis of {extent}")
    ends: list[Dim] = []
    for size in sizes[:-1]:
        ends.append(size + ends[-1] if ends else size)
    return [Value(one, value.kind) for one in slicing.split(value.tensor, ends, axis)]


# --- padding --------------------------------------------------------------------------------


def _pad(call: Call) -> Value:
    value = call.value(0)
    rank = len(value.shape)
    known = tuple(PAD_MODES)
    mode = call.choice("mode", known, "constant")
    if call.version < 11:
        widths: tuple[Dim, ...] = call.ints("pads") or call.ints("paddings") or ()
        filler: object = call.number("value", 0.0)
    else:
        widths = call.sizes(1)
        filler = call.optional(2)
        filler = 0 if filler is None else shapes.reshape(filler, ())
    axes = call.integers(3) if call.has(3) else tuple(range(rank))
    if len(widths) != 2 * len(axes):
        raise call.wrong(f"{len(widths)} widths for {len(axes)} axes")
    pairs: dict[int, tuple[Dim, Dim]] = {
        axis % rank: (widths[k], widths[k + len(axes)]) for k, axis in enumerate(axes)
    }
    if mode == "constant":
        return Value(padding.pad(value.tensor, pairs, mode, filler), value.kind)
    return Value(padding.pad(value.tensor, pairs, PAD_MODES[mode]), value.kind)


def _center(call: Call) -> Value:
    """Axes cut or padded with 0 to given sizes, the middle kept."""
    value, sizes = call.value(0), call.sizes(1)
    axes = call.ints("axes") or tuple(range(len(value.shape)))
    result = value.tensor
    for axis, size in zip(axes, sizes, strict=True):
        extent = result.shape[axis]
        if at_most(size, extent):
            start = (extent - size) // 2
            places: list[slice] = [slice(None)] * result.ndim
            places[axis] = slice(start, start + size)
            result = result[tuple(places)]
        else:
            before = (size - extent) // 2
            result = padding.pad(result, {axis: (before, size - extent - before)})
    return Value(result, value.kind)


def _triangle(call: Call) -> Value:
    value = call.value(0)
    diagonal = int(call.scalar(1)) if call.has(1) else 0
    cut = diagonals.triu if call.flag("upper", True) else diagonals.tril
    return Value(cut(value.tensor, diagonal), value.kind)


def _reverse(call: Call) -> Value:
    """Each sequence of a batch backwards up to its length."""
    value, lengths = call.value(0), call.tensor(1)
    time, batch = call.integer("time_axis", 0), call.integer("batch_axis", 1)
    x = shapes.moveaxis(value.tensor, (time, batch), (0, 1))
    places = creation.arange(x.shape[0])[:, None]
    turned = primitive.where(places < lengths, lengths - 1 - places, places)
    turned = shapes.reshape(turned, (*turned.shape, *(1,) * (x.ndim - 2)))
    result = indexing.take_along_axis(x, turned, 0)
    return Value(shapes.moveaxis(result, (0, 1), (time, batch)), value.kind)


def _space_to_depth(call: Call) -> Value:
    value, size = call.value(0), call.integer("blocksize")
    mode = call.choice("mode", ("DCR", "CRD"), "DCR")
    if mode == "DCR":
        return Value(pixels.space_to_depth(value.tensor, size), value.kind)
    return Value(pixels.pixel_unshuffle(value.tensor, size), value.kind)


def _depth_to_space(call: Call) -> Value:
    value, size = call.value(0), call.integer("blocksize")
    mode = call.choice("mode", ("DCR", "CRD"), "DCR")
    return Value(pixels.depth_to_space(value.tensor, size, mode), value.kind)


SHAPES: tuple[Op, ...] = (
    Op("Reshape", _reshape),
    Op("Flatten", _flatten),
    Op("Squeeze", _squeeze),
    Op("Unsqueeze", _unsqueeze),
    Op("Transpose", _transpose),
    Op("Concat", _concat),
    Op("Expand", _expand),
    Op("Tile", _tile),
    Op("Slice", _slice),
    Op("Split", _split),
    Op("Pad", _pad),
    Op("CenterCropPad", _center),
    Op("Trilu", _triangle),
    Op("ReverseSequence", _reverse),
    Op("SpaceToDepth", _space_to_depth),
    Op("DepthToSpace", _depth_to_space),
)
