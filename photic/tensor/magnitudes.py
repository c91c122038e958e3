"""Magnitudes: norms of vectors and of matrices, and distances between vectors.

Sums of powers are not scaled: where a square passes the range of the dtype, so does the norm, as
NumPy's and PyTorch's do. Halves are computed in float32 and rounded once, integers become float32.
"""

from __future__ import annotations

import math

import numpy as np

from photic.base.errors import BadArgument, ShapeMismatch
from photic.ir.dim import bounds, product
from photic.tensor.indexing import take
from photic.tensor.linear import in_floats
from photic.tensor.norms import p_norm
from photic.tensor.primitive import accumulated, as_float, less, reciprocal, where
from photic.tensor.reductions import sum as total
from photic.tensor.rotations import svdvals
from photic.tensor.rounding import abs
from photic.tensor.shapes import checked_axes, expand_dims, moveaxis, reshape
from photic.tensor.tensor import Axes, Tensor, Value, fixed

# Norms of matrices: the axis that is summed and the order of the vector norm of those sums, and
# the order of the vector norm of singular values.
BY_SUMS: dict[object, tuple[int, float]] = {
    1: (0, math.inf),
    -1: (0, -math.inf),
    math.inf: (1, math.inf),
    -math.inf: (1, -math.inf),
}
BY_SINGULAR_VALUES: dict[object, float] = {2: math.inf, -2: -math.inf, "nuc": 1.0}


def norm(
    x: Value, ord: float | str | None = None, axis: Axes = None, keepdims: bool = False
) -> Tensor:
    """The norm of vectors (one axis) or matrices (two axes), as NumPy's ``linalg.norm``.

    Without ``ord``: the root of the sum of squares of all elements, along any axes. Of vectors:
    ``sum(|x|**ord)**(1/ord)`` for any number, inf the largest, -inf the smallest magnitude, 0 how
    many are not 0. Of matrices: "fro", "nuc" (sum of singular values), 2 and -2 (largest, smallest
    of them), 1 and -1 (of the columns' sums of magnitudes), inf and -inf (of the rows'). Of nothing
    0, the smallest inf; nan passes. BadArgument for another ``ord`` or number of axes.
    """
    given = as_float(x, "norm")
    value = given.astype(accumulated(given.dtype))
    axes = checked_axes("norm", axis, value.ndim)
    if ord is None or (ord == "fro" and len(axes) == 2):
        result = _vector_norm(value, 2.0, axes)
    elif len(axes) == 1 and not isinstance(ord, str):
        result = _vector_norm(value, ord, axes)
    elif len(axes) == 2 and ord in BY_SUMS:
        summed, order = BY_SUMS[ord]
        sums = total(abs(value), axes[summed], keepdims=True)
        result = _vector_norm(sums, order, (axes[1 - summed],))
    elif len(axes) == 2 and ord in BY_SINGULAR_VALUES:
        values = svdvals(moveaxis(value, axes, (-2, -1)))
        kept = _vector_norm(values, BY_SINGULAR_VALUES[ord], (values.ndim - 1,))
        result = expand_dims(reshape(kept, kept.shape[:-1]), axes)
    else:
        expected = "a number for one axis; fro, nuc, 1, -1, 2, -2, inf or -inf for two"
        raise BadArgument(op="norm", argument="ord, axis", given=(ord, axis), expected=expected)
    if not keepdims:
        result = reshape(result, tuple(n for k, n in enumerate(value.shape) if k not in axes))
    return result.astype(given.dtype)


def _vector_norm(x: Tensor, p: float, axes: tuple[int, ...]) -> Tensor:
    """Along axes that stay with size 1; of nothing 0, but inf if the smallest is asked for."""
    if not axes:
        return abs(x)
    result = p_norm(x, p, axes)
    if p == math.inf and bounds(product(x.shape[k] for k in axes))[0] == 0:
        return where(less(result, 0.0), 0.0, result)
    return result


# --- distances ------------------------------------------------------------------------------


def pairwise_distance(
    x: Value, y: Value, p: float = 2.0, eps: float = 1e-6, keepdims: bool = False
) -> Tensor:
    """The p-norm of ``x - y + eps`` along the last axis, as PyTorch's; shapes broadcast."""
    dtype, (a, b) = in_floats("pairwise_distance", x, y)
    difference = a - b + eps
    result = _vector_norm(difference, p, checked_axes("pairwise_distance", -1, difference.ndim))
    return (result if keepdims else reshape(result, result.shape[:-1])).astype(dtype)


def cdist(x: Value, y: Value, p: float = 2.0) -> Tensor:
    """The p-norm of each row of ``x`` (..., n, m) less each row of ``y`` (..., k, m): (..., n, k).

    By differences, never by products of rows, so it is right for rows that are near each other.
    Raises ShapeMismatch, BadArgument for a rank below 2.
    """
    dtype, (a, b) = in_floats("cdist", x, y)
    if a.ndim < 2 or b.ndim < 2:
        raise BadArgument(op="cdist", argument="rank", given=(a.ndim, b.ndim), expected="2 or more")
    if a.shape[-1] != b.shape[-1]:
        raise ShapeMismatch(op="cdist", left=a.shape, right=b.shape)
    difference = expand_dims(a, -2) - expand_dims(b, -3)
    result = _vector_norm(difference, p, (difference.ndim - 1,))
    return reshape(result, result.shape[:-1]).astype(dtype)


def dist(x: Value, y: Value, p: float = 2.0) -> Tensor:
    """The p-norm of all elements of ``x - y``, which broadcast, as a number of rank 0."""
    dtype, (a, b) = in_floats("dist", x, y)
    difference = a - b
    result = _vector_norm(difference, p, tuple(range(difference.ndim)))
    return reshape(result, ()).astype(dtype)


def pdist(x: Value, p: float = 2.0) -> Tensor:
    """The p-norm of each row of ``x`` (n, m) less each later row: (n*(n - 1)/2,). BadArgument.

    ``n`` must be known: UnknownSize.
    """
    dtype, (value,) = in_floats("pdist", x)
    if value.ndim != 2:
        raise BadArgument(op="pdist", argument="rank", given=value.ndim, expected=2)
    first, second = np.triu_indices(fixed("pdist", value.shape[0]), 1)
    difference = take(value, first, 0) - take(value, second, 0)
    result = _vector_norm(difference, p, (1,))
    return reshape(result, result.shape[:1]).astype(dtype)


NO_LENGTH = 1e-7  # PyTorch adds it to the norms that it divides by


def renorm(x: Value, p: float, dim: int, maxnorm: float) -> Tensor:
    """Slices along an axis whose p-norm is above ``maxnorm`` brought down to it, as PyTorch's."""
    given = as_float(x, "renorm")
    value = given.astype(accumulated(given.dtype))
    (axis,) = checked_axes("renorm", dim, value.ndim)
    rest = tuple(k for k in range(value.ndim) if k != axis)
    length = _vector_norm(value, p, rest)
    factor = where(less(maxnorm, length), reciprocal(length + NO_LENGTH) * maxnorm, 1.0)
    return (value * factor).astype(given.dtype)
