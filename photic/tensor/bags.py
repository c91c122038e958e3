"""Bags of looked-up rows: the sum, mean or largest of the rows that each bag names."""

from __future__ import annotations

import math

from photic.base.errors import BadArgument, ShapeMismatch
from photic.ir.dtype import INT64
from photic.tensor.compare import equal, maximum
from photic.tensor.creation import counted
from photic.tensor.indexing import embedding
from photic.tensor.norms import in_dtype_of
from photic.tensor.primitive import accumulated, masked, reciprocal, reduced, where
from photic.tensor.running import cumsum
from photic.tensor.shapes import expand_dims
from photic.tensor.tensor import Tensor, Value, number, size_value, tensor

MODES = ("sum", "mean", "max")


def embedding_bag(
    indices: Value,
    table: Value,
    offsets: Value | None = None,
    mode: str = "mean",
    per_sample_weights: Value | None = None,
) -> Tensor:
    """Rows of ``table`` (K, width) at the indices of each bag, as one: (bags, width).

    ``indices`` is (bags, each); or (count,), where bag b begins at ``offsets[b]`` (bags,), rising
    from 0, and ends where the next one begins. ``mode`` is "sum", "mean" or "max";
    ``per_sample_weights``, for "sum" only, has the shape of the indices. An empty bag is 0. A place
    outside 0..K-1 is a row of zeros. Halves are added in float32. Raises BadArgument,
    ShapeMismatch.
    """
    if mode not in MODES:
        raise BadArgument(op="embedding_bag", argument="mode", given=repr(mode), expected=MODES)
    index = tensor(indices, "embedding_bag")
    if index.ndim != (2 if offsets is None else 1):
        raise BadArgument(
            op="embedding_bag",
            argument="rank of indices",
            given=index.ndim,
            expected="2, or 1 with offsets",
        )
    given = tensor(table, "embedding_bag")
    rows = embedding(index, given.astype(accumulated(given.dtype)))
    if per_sample_weights is not None:
        rows = _weighted(rows, index, per_sample_weights, mode)
    result = _rows_of_equal(rows, mode) if offsets is None else _by_offsets(rows, offsets, mode)
    return result.astype(given.dtype)


def _weighted(rows: Tensor, index: Tensor, weights: Value, mode: str) -> Tensor:
    value = in_dtype_of(rows, weights)
    if mode != "sum":
        raise BadArgument(
            op="embedding_bag", argument="mode", given=repr(mode), expected="'sum' with weights"
        )
    if value.shape != index.shape:
        raise ShapeMismatch(op="embedding_bag weights", left=value.shape, right=index.shape)
    return rows * expand_dims(value, -1)


def _rows_of_equal(rows: Tensor, mode: str) -> Tensor:
    """Bags of equally many rows, on axis 1."""
    count = size_value(rows.shape[1])
    if mode == "max":
        return where(equal(count, 0), 0.0, reduced("max", rows, 1))
    return _divided(reduced("sum", rows, 1), count, mode)


def _divided(total: Tensor, count: Tensor, mode: str) -> Tensor:
    if mode == "sum":
        return total
    return total * reciprocal(maximum(count, 1).astype(total.dtype))


def _by_offsets(rows: Tensor, offsets: Value, mode: str) -> Tensor:
    """Bags one after another: each row goes to the bag of the last offset up to its place."""
    starts = tensor(offsets, "embedding_bag").astype(INT64)
    if starts.ndim != 1:
        raise BadArgument(
            op="embedding_bag", argument="rank of offsets", given=starts.ndim, expected=1
        )
    bags, count = starts.shape[0], rows.shape[0]
    begun = equal(counted(0, count)[:, None], starts)
    bag = cumsum(reduced("sum", masked(begun, number(1, INT64)), 1)) - 1
    is_here = equal(counted(0, bags)[:, None], bag)
    held = reduced("sum", masked(is_here, number(1, INT64)), 1)[:, None]
    if mode == "max":
        largest = reduced("max", where(is_here[:, None, :], rows.T, -math.inf), 2)
        return where(equal(held, 0), 0.0, largest)
    return _divided(reduced("sum", masked(is_here[:, None, :], rows.T), 2), held, mode)
