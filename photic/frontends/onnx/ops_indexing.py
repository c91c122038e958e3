"""Operators that look up and write at places, and those whose results' sizes the data decide.

The latter count first; the count is read back (``Unread``) unless the data are constants, and the
rest is built for that size.
"""

from __future__ import annotations

import numpy as np

from photic.frontends.onnx.call import Call, Op
from photic.frontends.onnx.kinds import KIND
from photic.frontends.onnx.suppression import suppressed
from photic.frontends.onnx.value import Value, native
from photic.ir.dim import Dim
from photic.ir.dtype import INT64
from photic.tensor import compare, counting, creation, indexing, primitive, scattering, shapes
from photic.tensor.tensor import Tensor

REDUCTIONS = {"add": "sum", "mul": "prod", "max": "amax", "min": "amin"}


def _gather(call: Call) -> Value:
    value = call.value(0)
    axis = call.integer("axis", 0)
    indices = call.value(1).held
    if isinstance(indices, np.ndarray) and indices.ndim == 0 and indices.dtype != object:
        places: list[slice | int] = [slice(None)] * len(value.shape)
        extent = value.shape[axis]
        if isinstance(extent, int) and -extent <= int(indices) < extent:
            places[axis] = int(indices)
            return Value(value.tensor[tuple(places)], value.kind)
    return Value(indexing.take(value.tensor, call.tensor(1), axis), value.kind)


def _gather_elements(call: Call) -> Value:
    value = call.value(0)
    return Value(indexing.gather(value.tensor, call.integer("axis", 0), call.tensor(1)), value.kind)


def _gather_nd(call: Call) -> Value:
    value = call.value(0)
    return Value(
        indexing.gather_nd(value.tensor, call.tensor(1), call.integer("batch_dims", 0)), value.kind
    )


def _scatter_elements(call: Call) -> Value:
    value, axis = call.value(0), call.integer("axis", 0)
    reduce = call.choice("reduction", ("none", *REDUCTIONS), "none")
    if reduce == "none":
        return Value(
            scattering.scatter(value.tensor, axis, call.tensor(1), call.tensor(2)), value.kind
        )
    result = scattering.scatter_reduce(
        value.tensor, axis, call.tensor(1), call.tensor(2), REDUCTIONS[reduce]
    )
    return Value(result, value.kind)


def _scatter_nd(call: Call) -> Value:
    value = call.value(0)
    reduce = call.choice("reduction", ("none", *REDUCTIONS), "none")
    return Value(
        scattering.scatter_nd(value.tensor, call.tensor(1), call.tensor(2), reduce), value.kind
    )


def _tensor_scatter(call: Call) -> Value:
    """A cache with a part written along one axis, from a place of its own in each batch row."""
    value, new, axis = call.value(0), call.tensor(1), call.integer("axis", -2)
    mode = call.choice("mode", ("linear", "circular"), "linear")
    old = value.tensor
    axis %= old.ndim
    extent = old.shape[axis]
    starts = call.optional(2)
    first = creation.zeros((old.shape[0],), INT64) if starts is None else starts
    counted = creation.arange(new.shape[axis])
    places = first[:, None] + counted
    if mode == "circular":
        places = places % creation.size(extent)
    sizes = {0: new.shape[0], axis: new.shape[axis]}
    laid = [sizes.get(k, 1) for k in range(old.ndim)]
    return Value(scattering.put_along_axis(old, _spread(places, laid, new), new, axis), value.kind)


def _spread(places: Tensor, shape: list[Dim], like: Tensor) -> Tensor:
    return shapes.broadcast_to(shapes.reshape(places, shape), like.shape)


def _one_hot(call: Call) -> Value:
    """One of two values: the second where the place is the index, negative ones from the end."""
    depth = call.sizes(1)[0]
    values = call.value(2)
    indices = call.tensor(0)
    places = indices if indices.dtype.kind == "int" else indices.astype(INT64)
    axis = call.integer("axis", -1)
    axis = axis + indices.ndim + 1 if axis < 0 else axis
    size = creation.size(depth)
    wide = places.astype(INT64)
    from_front = primitive.where(wide < 0, wide + size, wide)
    lined = shapes.reshape(
        creation.arange(depth), [-1 if k == axis else 1 for k in range(places.ndim + 1)]
    )
    is_it = compare.equal(lined, shapes.expand_dims(from_front, axis))
    off, on = values.tensor[0], values.tensor[1]
    return Value(primitive.where(is_it, on, off), values.kind)


# --- sizes that data decide -----------------------------------------------------------------


def _count(call: Call, mask: Tensor) -> int:
    """How many are true, read back."""
    total = counting.count_nonzero(mask)
    return int(call.known_value(Value(total, KIND["int64"])).reshape(()).item())


def _nonzero(call: Call) -> Tensor:
    x = call.tensor(0)
    count = _count(call, shapes.reshape(x, (1,)) if x.ndim == 0 else x)
    if x.ndim == 0:
        return creation.zeros((0, count), INT64)
    places, _ = counting.argwhere(x, size=count)
    return shapes.transpose(places)


def _compress(call: Call) -> Value:
    """The places of an axis where a condition holds, or of all elements."""
    value, condition = call.value(0), call.tensor(1)
    axis = call.integer("axis") if "axis" in call.attributes else None
    x = value.tensor if axis is not None else shapes.ravel(value.tensor)
    along = axis if axis is not None else 0
    extent = x.shape[along]
    if isinstance(extent, int) and isinstance(condition.shape[0], int):
        condition = condition[: min(extent, condition.shape[0])]
    count = _count(call, condition)
    places, _ = counting.flatnonzero(condition, size=count)
    return Value(indexing.take(x, places, along), value.kind)


def _unique(call: Call) -> list[Value | Tensor]:
    """The distinct elements, or slices of an axis: these are numbered in NumPy, once read."""
    value = call.value(0)
    axis = call.integer("axis") if "axis" in call.attributes else None
    in_order = call.flag("sorted", True)
    array = call.known(0)
    _, first, back, counts = np.unique(
        array, return_index=True, return_inverse=True, return_counts=True, axis=axis
    )
    order = np.arange(len(first)) if in_order else np.argsort(first)
    rank = np.empty_like(order)
    rank[order] = np.arange(len(order))
    flat = array.reshape(-1) if axis is None else array
    taken = np.take(flat, first[order], 0 if axis is None else axis)
    places = (first[order], rank[back.reshape(-1)], counts[order])
    return [Value(taken, value.kind), *(native(one.astype(np.int64)) for one in places)]


def _suppressed(call: Call) -> Value:
    """The boxes that stay, as (batch, class, box) in falling order of their scores."""
    boxes, scores = call.tensor(0), call.tensor(1)
    most = int(call.scalar(2)) if call.has(2) else 0
    overlap = float(call.scalar(3)) if call.has(3) else 0.0
    least = float(call.scalar(4)) if call.has(4) else None
    if most <= 0:
        return Value(np.zeros((0, 3), np.int64), KIND["int64"])
    kept, total = suppressed(
        boxes, scores, most, overlap, least, call.integer("center_point_box", 0)
    )
    count = int(call.known_value(Value(total, KIND["int64"])).reshape(()).item())
    rows, _ = counting.flatnonzero(shapes.ravel(kept[..., 0] >= 0), size=count)
    return Value(indexing.take(shapes.reshape(kept, (-1, 3)), rows, 0), KIND["int64"])


INDEXING: tuple[Op, ...] = (
    Op("Gather", _gather),
    Op("GatherElements", _gather_elements),
    Op("GatherND", _gather_nd),
    Op("Scatter", _scatter_elements),
    Op("ScatterElements", _scatter_elements),
    Op("ScatterND", _scatter_nd),
    Op("TensorScatter", _tensor_scatter),
    Op("OneHot", _one_hot),
    Op("NonZero", _nonzero),
    Op("Compress", _compress),
    Op("Unique", _unique),
    Op("NonMaxSuppression", _suppressed),
)
