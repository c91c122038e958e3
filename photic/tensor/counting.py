"""How often numbers occur, and which elements are not 0.

A count by number is a scatter: a sum over the elements whose number is the place. What has a size
that only the data know is given a stated one, and the count beside it.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from photic.base.errors import BadArgument, ShapeMismatch
from photic.forms import movement
from photic.ir.dim import Dim
from photic.ir.dtype import FLOAT32, FLOAT64, INT64
from photic.tensor.axes import is_many
from photic.tensor.compare import equal, less_equal
from photic.tensor.creation import counted
from photic.tensor.errors import SizeOfMask
from photic.tensor.indexing import index_tensor
from photic.tensor.masks import masked_select
from photic.tensor.primitive import (
    less,
    masked,
    negated,
    reciprocal,
    reduced,
    total_dtype,
    where,
)
from photic.tensor.reductions import max, min, sum
from photic.tensor.searching import ends, searchsorted
from photic.tensor.shapes import moved, ravel, reshape, stack, transpose
from photic.tensor.tensor import Axes, Tensor, Value, expanded, number, tensor

# --- what is not 0 --------------------------------------------------------------------------


def count_nonzero(x: Value, axis: Axes = None, keepdims: bool = False) -> Tensor:
    """How many elements are not 0 (int64), along axes; nan is not 0."""
    return sum(tensor(x, "count_nonzero").astype("bool"), axis, keepdims)


def nonzero(x: Value, size: Dim | None = None, fill_value: int = 0) -> tuple[Tensor, Tensor]:
    """Where the elements stand that are not 0, and how many there are (int64).

    Row ``k`` of the places, which are (rank, size), has those of axis ``k``, in row-major order as
    NumPy's; past the last, ``fill_value``. Of more than ``size`` the first are given. SizeOfMask
    without a size; BadArgument for rank 0.
    """
    value = tensor(x, "nonzero")
    if value.ndim == 0:
        raise BadArgument(op="nonzero", argument="x", given="of rank 0", expected="an axis")
    if size is None:
        raise SizeOfMask(op="nonzero", shape=value.shape)
    mask = value.astype("bool")
    lines = (
        reshape(counted(0, n), (n, *(1,) * (value.ndim - k - 1))) for k, n in enumerate(value.shape)
    )
    places = [masked_select(expanded(one, value.shape), mask, size, fill_value) for one in lines]
    return stack(places), count_nonzero(mask)


def argwhere(x: Value, size: Dim | None = None, fill_value: int = 0) -> tuple[Tensor, Tensor]:
    """As ``nonzero``, the places as rows: (size, rank)."""
    places, count = nonzero(x, size, fill_value)
    return transpose(places), count


def flatnonzero(x: Value, size: Dim | None = None, fill_value: int = 0) -> tuple[Tensor, Tensor]:
    """As ``nonzero`` of all elements in row-major order; the places have one axis."""
    places, count = nonzero(ravel(tensor(x, "flatnonzero")), size, fill_value)
    return moved(places, movement.select, 0, 0), count


# --- counts by number -----------------------------------------------------------------------


def totals(places: Tensor, length: Dim, weights: Tensor) -> Tensor:
    """For each of ``length`` places the sum of the weights that have it; others are lost."""
    line = counted(0, length).astype(places.dtype)
    hits = equal(line[:, None], places)
    return reduced("sum", masked(hits, expanded(weights, hits.shape)), 1)


def bincount(x: Value, weights: Value | None = None, *, length: Dim) -> Tensor:
    """How often each of 0 .. length-1 occurs among all elements (int64), or the sum of its weights.

    Other numbers are lost. Weights have the shape of ``x``; halves accumulate in float32.
    """
    value = tensor(x, "bincount")
    places = ravel(index_tensor("bincount", value))
    if weights is None:
        return totals(places, length, number(1, INT64))
    return _weighted("bincount", places, length, value, weights)


def _weighted(op: str, places: Tensor, length: Dim, x: Tensor, weights: Value) -> Tensor:
    given = tensor(weights, op)
    if given.shape != x.shape:
        raise ShapeMismatch(op=op, left=x.shape, right=given.shape)
    total = totals(places, length, ravel(given).astype(total_dtype(given.dtype)))
    return total.astype(given.dtype) if given.dtype.is_half else total


# --- histograms -----------------------------------------------------------------------------

Range = tuple[float, float] | None
HALF = 0.5
HIGH_BITS = 2.0**29  # of a quotient: the product with a number of intervals is exact in float64


def histogram(
    x: Value,
    bins: int | Value | Sequence[float] = 10,
    range: Range = None,
    weights: Value | None = None,
    density: bool = False,
) -> tuple[Tensor, Tensor]:
    """How many elements lie in each interval (int64), and the edges of the intervals, as NumPy's.

    ``bins`` are a number of equal intervals over ``range`` (what the data span, if left out), or
    rising edges. The last interval holds its right end; what lies outside, and nan, is not counted.
    With ``weights`` it is their sum; ``density`` divides by the total and by widths. Edges and
    densities are in the dtype of ``x``, of integers in float32. BadArgument, ShapeMismatch.
    """
    value = tensor(x, "histogram")
    wide = ravel(value).astype(FLOAT64)
    if isinstance(bins, int | np.integer):
        edges, places = _equal_intervals(wide, int(bins), range)
    else:
        edges = _edges(bins)
        places = _between(wide, edges)
    count = edges.shape[0] - 1
    if weights is None:
        total = totals(places, count, number(1, INT64))
    else:
        total = _weighted("histogram", places, count, value, weights)
    dtype = value.dtype if value.dtype.kind == "float" else FLOAT32
    if density:
        total = _density(total.astype(FLOAT64), edges).astype(dtype)
    return total, edges.astype(dtype)


def _edges(bins: Value | Sequence[float]) -> Tensor:
    """Edges as float64; numbers in a list keep all their digits."""
    if isinstance(bins, list | tuple):
        return tensor(np.asarray(bins, np.float64))
    return tensor(bins, "histogram").astype(FLOAT64)  # type: ignore[arg-type]


def _between(x: Tensor, edges: Tensor) -> Tensor:
    """The interval in which each element lies: below 0 or past the last for none."""
    last = ends(edges)[1]
    found = searchsorted(edges, x, "right") - 1
    return found - equal(x, last).astype(INT64)


def _equal_intervals(x: Tensor, bins: int, range: Range) -> tuple[Tensor, Tensor]:
    """The edges of equal intervals, and for each element the one in which it lies, -1 for none."""
    if bins < 1:
        raise BadArgument(op="histogram", argument="bins", given=bins, expected="1 or more")
    low, high = _outer_edges(x, range)
    step = _divided(high - low, bins)

    def edge(place: Tensor) -> Tensor:
        return where(less(place, float(bins)), place * step + low, high)

    near = (x - low) * (reciprocal(high - low) * float(bins))
    place = where(less(near, bins - 1.0), near.astype(INT64), bins - 1).astype(FLOAT64)
    # rounding may have led past an edge, never past two
    place = place - less(x, edge(place)).astype(FLOAT64)
    is_more = negated(less(x, edge(place + 1.0))) * less(place, bins - 1.0)
    place = place + is_more.astype(FLOAT64)
    inside = less_equal(low, x) * less_equal(x, high)
    return edge(counted(0, bins + 1).astype(FLOAT64)), where(inside, place.astype(INT64), -1)


def _outer_edges(x: Tensor, range: Range) -> tuple[Tensor, Tensor]:
    """The ends of the range: of no data 0 and 1; half a unit around a single point."""
    if range is not None:
        given = [float(one) for one in range] if is_many(range) else []
        if len(given) != 2 or not -np.inf < given[0] <= given[1] < np.inf:
            raise BadArgument(
                op="histogram", argument="range", given=range, expected="two numbers, low to high"
            )
        low, high = (number(one, FLOAT64) for one in given)
    else:
        low, high = min(x), max(x)
        is_empty = less(high, low)
        low, high = where(is_empty, 0.0, low), where(is_empty, 1.0, high)
    around = where(equal(low, high), HALF, 0.0).astype(FLOAT64)
    return low - around, high + around


def _divided(x: Tensor, by: int) -> Tensor:
    """The quotient, corrected by what is left: as if divided."""
    inverse = number(1.0 / by, FLOAT64)
    near = x * inverse
    shifted = near * HIGH_BITS
    high = shifted - (shifted - near)
    rest = (x - high * float(by)) - (near - high) * float(by)
    return near + rest * inverse


def _density(total: Tensor, edges: Tensor) -> Tensor:
    before, after = (moved(edges, movement.shrink, 0, k, 1, edges.shape[0] - 1) for k in (0, 1))
    return total * reciprocal((after - before) * sum(total))


def histogram_bin_edges(
    x: Value, bins: int | Value | Sequence[float] = 10, range: Range = None
) -> Tensor:
    """The edges that ``histogram`` gives."""
    return histogram(x, bins, range)[1]


def histc(x: Value, bins: int = 100, min: float = 0, max: float = 0) -> Tensor:
    """``histogram`` over ``min .. max`` in the dtype of ``x``; equal ones: what the data span."""
    value = tensor(x, "histc")
    span = None if min == max == 0 else (min, max)
    return histogram(value, bins, span)[0].astype(value.dtype)
