"""Order statistics: the k-th smallest, medians, quantiles.

Nothing is sorted, unless many ranks are asked for. The key (``keys.py``) of the element that has
``k`` before it is found bit by bit, the highest first: a bit is set where at most ``k`` keys are
below what it makes. That is one count over all elements a bit; ranks and sizes may be known only at
the call.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from photic.base.errors import BadArgument
from photic.ir.dim import bounds, product
from photic.ir.dtype import FLOAT32, FLOAT64, INT64
from photic.tensor.axes import as_integer, checked_axis
from photic.tensor.compare import equal, isfinite, isnan
from photic.tensor.creation import counted
from photic.tensor.keys import key_bits, order_key
from photic.tensor.loops import Tensors, scan
from photic.tensor.ordering import as_lines, at_places, from_lines, ordered
from photic.tensor.primitive import less, negated, reduced, where
from photic.tensor.rounding import ceil, floor, nearest
from photic.tensor.shapes import (
    checked_axes,
    concat,
    expand_dims,
    moveaxis,
    reshape,
    squeeze,
    window,
)
from photic.tensor.tensor import (
    Axes,
    Tensor,
    Value,
    expanded,
    number,
    size_value,
    tensor,
)

FLOAT32_WHOLE = 2**24  # up to it float32 holds every whole number
MANY_COUNTS = 256  # counts of all elements; sorting them takes as long
Ranks = Callable[[Tensor], tuple[Tensor, Tensor]]

# --- elements of a rank ---------------------------------------------------------------------


def of_rank(lines: Tensor, ranks: Tensor) -> Tensor:
    """For each row the places of the elements before which ``ranks`` others stand in order.

    ``lines`` is (rows, n), ``ranks`` int64 (rows or 1, count). Of equal elements any may be given;
    -1 where there is no such rank.
    """
    count = ranks.shape[1]
    bits = key_bits(lines.dtype)
    if bounds(count)[0] * bits > MANY_COUNTS:
        return at_places(ordered(order_key(lines), lines.dtype, lines.shape[1]), ranks)
    key = order_key(lines)
    wanted = expanded(ranks, (lines.shape[0], count))
    return _first_place(key, _key_of_rank(key, wanted, bits))


def _key_of_rank(key: Tensor, ranks: Tensor, bits: int) -> Tensor:
    """The keys of ranks: the largest number below which there are at most so many keys."""
    flat = reshape(ranks, (product(ranks.shape),))
    lowest = -(2 ** (bits - 1))
    first = expanded(number(lowest, key.dtype), flat.shape)
    highest = -lowest if -lowest <= key.dtype.high else lowest  # which wraps, and so does the sum
    steps = [highest, *(2**k for k in reversed(range(bits - 1)))]

    def body(found: Tensors, step: Tensors) -> tuple[Tensors, Tensors]:
        higher = found[0] + step[0]
        limit = expand_dims(reshape(higher, ranks.shape), 2)
        count = reshape(_count_along(less(expand_dims(key, 1), limit), 2), flat.shape)
        return (where(less(flat, count), found[0], higher),), ()

    (found,), _ = scan(body, (first,), (np.array(steps, key.dtype.numpy),))
    return reshape(found, ranks.shape)


def _count_along(mask: Tensor, axis: int) -> Tensor:
    """How often a mask holds (int64): added in float32, whose vectors are wide, where exact."""
    exact = bounds(mask.shape[axis])[1] <= FLOAT32_WHOLE
    return reduced("sum", mask.astype(FLOAT32 if exact else INT64), axis).astype(INT64)


def _first_place(key: Tensor, wanted: Tensor) -> Tensor:
    """For each row the first place of each wanted key, -1 if it is not there."""
    extent = key.shape[1]
    hits = equal(expand_dims(key, 1), expand_dims(wanted, 2))
    last = size_value(extent) - 1
    from_end = last - counted(0, extent)
    found = reduced("max", where(hits, from_end, -1), 2)
    return where(less(found, 0), -1, last - found)


# --- the k-th smallest ----------------------------------------------------------------------


def kthvalue(x: Value, k: int, axis: int = -1, keepdims: bool = False) -> tuple[Tensor, Tensor]:
    """The k-th smallest element along an axis, from 1 on, and the first place (int64) of it.

    nan is the largest. BadArgument for a ``k`` that the axis may not have.
    """
    value = tensor(x, "kthvalue")
    place = checked_axis("kthvalue", axis, value.ndim)
    most = bounds(value.shape[place])[0]
    if not 1 <= as_integer("kthvalue", "k", k) <= most:
        raise BadArgument(op="kthvalue", argument="k", given=k, expected=f"1..{most}")
    lines = as_lines(value, place)
    places = of_rank(lines, expanded(number(k - 1, INT64), (1, 1)))
    found = (from_lines(one, value, place) for one in (at_places(lines, places), places))
    values, indices = (one if keepdims else squeeze(one, place) for one in found)
    return values, indices


# --- quantiles ------------------------------------------------------------------------------

# By method, for places between elements (float64): the ranks of two elements and the second's part.
METHODS: dict[str, Callable[[Tensor], tuple[Tensor, Tensor, Tensor | float]]] = {
    "linear": lambda at: (floor(at), ceil(at), at - floor(at)),
    "lower": lambda at: (floor(at), floor(at), 0.0),
    "higher": lambda at: (ceil(at), ceil(at), 0.0),
    "nearest": lambda at: (nearest(at), nearest(at), 0.0),
    "midpoint": lambda at: (floor(at), ceil(at), HALF),
}
HALF = 0.5
PERCENT = 100.0
Quantiles = Value | Sequence[float]


def quantile(
    x: Value, q: Quantiles, axis: Axes = None, method: str = "linear", keepdims: bool = False
) -> Tensor:
    """What a part ``q`` of the elements along axes is below, as NumPy's; all elements for None.

    ``q`` is one or several numbers in 0..1 (its axes come first in the result) or a tensor of
    them. Between two elements ``method`` decides: linear, lower, higher, nearest (of two the even
    place), midpoint. Integers give float32. Of nothing, or with a nan among the elements, it is
    nan. Raises BadArgument.
    """
    return _quantile("quantile", x, _parts("quantile", q, 1.0), axis, method, keepdims, _count)


def percentile(
    x: Value, q: Quantiles, axis: Axes = None, method: str = "linear", keepdims: bool = False
) -> Tensor:
    """``quantile`` of ``q / 100``."""
    parts = _parts("percentile", q, PERCENT)
    return _quantile("percentile", x, parts, axis, method, keepdims, _count)


def median(x: Value, axis: Axes = None, keepdims: bool = False) -> Tensor:
    """The middle element along axes, of an even number the mean of the middle two.

    Integers give float32; of nothing, or with a nan among the elements, it is nan.
    """
    return _quantile("median", x, HALF, axis, "midpoint", keepdims, _count)


def nanquantile(
    x: Value, q: Quantiles, axis: Axes = None, method: str = "linear", keepdims: bool = False
) -> Tensor:
    """``quantile`` of the elements that are not nan; nan where there are none."""
    parts = _parts("nanquantile", q, 1.0)
    return _quantile("nanquantile", x, parts, axis, method, keepdims, _count_of_numbers)


def nanpercentile(
    x: Value, q: Quantiles, axis: Axes = None, method: str = "linear", keepdims: bool = False
) -> Tensor:
    """``nanquantile`` of ``q / 100``."""
    parts = _parts("nanpercentile", q, PERCENT)
    return _quantile("nanpercentile", x, parts, axis, method, keepdims, _count_of_numbers)


def nanmedian(x: Value, axis: Axes = None, keepdims: bool = False) -> Tensor:
    """``median`` of the elements that are not nan; nan where there are none."""
    return _quantile("nanmedian", x, HALF, axis, "midpoint", keepdims, _count_of_numbers)


def _parts(op: str, q: Quantiles, whole: float) -> Tensor:
    """The parts asked for, as float64 in 0..1; BadArgument for numbers outside."""
    if isinstance(q, Tensor):
        return q.astype(FLOAT64) / whole
    given = np.asarray(q, np.float64)
    if not bool(np.all((given >= 0) & (given <= whole))):
        raise BadArgument(op=op, argument="q", given=q, expected=f"numbers in 0..{whole:g}")
    return tensor(np.asarray(given / whole))


def _count(lines: Tensor) -> Tensor:
    """How many elements of each row count: all; none if one is nan."""
    count = expanded(size_value(lines.shape[1]), (1, 1))
    if lines.dtype.kind != "float":
        return count
    has_nan = reduced("max", isnan(lines), 1)
    return where(expand_dims(has_nan, 1), 0, count)


def _count_of_numbers(lines: Tensor) -> Tensor:
    """How many elements of each row are not nan."""
    if lines.dtype.kind != "float":
        return _count(lines)
    return expand_dims(reduced("sum", negated(isnan(lines)).astype(INT64), 1), 1)


def _quantile(
    op: str,
    x: Value,
    q: Value,
    axis: Axes,
    method: str,
    keepdims: bool,
    count_of: Callable[[Tensor], Tensor],
) -> Tensor:
    value, parts = tensor(x, op), tensor(q, op).astype(FLOAT64)
    axes = checked_axes(op, axis, value.ndim)
    if method not in METHODS:
        raise BadArgument(op=op, argument="method", given=method, expected=", ".join(METHODS))
    rest = tuple(n for k, n in enumerate(value.shape) if k not in axes)
    last = moveaxis(value, axes, tuple(range(len(rest), value.ndim)))
    lines = reshape(last, (product(rest), product(value.shape[k] for k in axes)))
    flat = reshape(parts, (1, product(parts.shape)))
    found = _between(lines, flat, count_of(lines), method)
    kept = tuple(1 if k in axes else n for k, n in enumerate(value.shape)) if keepdims else rest
    return reshape(moveaxis(found, 0, 1), (*parts.shape, *kept))


def _between(lines: Tensor, parts: Tensor, count: Tensor, method: str) -> Tensor:
    """For each row and part what lies there among its first ``count`` elements in order."""
    at = parts * (count - 1).astype(FLOAT64)
    low, high, weight = METHODS[method](where(less(0, at), at, 0.0))
    low, high = (expanded(one.astype(INT64), (*at.shape,)) for one in (low, high))
    ends = at_places(lines, of_rank(lines, concat([low, high], 1)))
    dtype = lines.dtype if lines.dtype.kind == "float" else FLOAT32
    many = parts.shape[1]
    first, second = (
        window(ends, 1, k * many, (k + 1) * many, "quantile").astype(FLOAT64) for k in range(2)
    )
    nothing = less(count, 1)
    return where(nothing, np.nan, _mixed(first, second, weight)).astype(dtype)


def _mixed(first: Tensor, second: Tensor, weight: Tensor | float) -> Tensor:
    """A part of the way from one to the other; of equal ones, also infinite, exactly these."""
    part = tensor(weight).astype(FLOAT64)
    rest = 1.0 - part
    step = second - first
    from_near = where(less(part, HALF), first + step * part, second - step * rest)
    mixed = where(isfinite(step), from_near, first * rest + second * part)
    return where(equal(first, second), first, mixed)
