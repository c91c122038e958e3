"""Running values along an axis: sums, products, maxima, minima, logarithms of sums.

An axis is cut into runs of at most ``LONGEST_RUN`` places. Inside a run a value is made of few
elements, in vectors; what all earlier runs come to is the same question about one value a run. So
the work is a few passes and never an n x n table, and sizes may be symbolic. Sums round differently
from a sum from left to right, not worse; nan and infinity reach only the places after them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import reduce

from photic.base.errors import BadArgument
from photic.forms import movement
from photic.ir.dim import Dim, bounds, floordiv
from photic.ir.dtype import BOOL, INT32, INT64, DType
from photic.tensor.axes import as_integer, checked_axis
from photic.tensor.compare import is_number, isfinite, not_equal, reversed_order
from photic.tensor.creation import counted
from photic.tensor.elementary import LOG2_E, log
from photic.tensor.primitive import (
    accumulated,
    as_float,
    exp2,
    in_totals,
    less,
    masked,
    negated,
    reduced,
    where,
)
from photic.tensor.shapes import concat, expand_dims, moved, ravel, reshape, window
from photic.tensor.tensor import DTypeLike, Tensor, Value, expanded, number, tensor

LONGEST_RUN = 16  # places: the lanes of a wide vector of float32
SHORTEST_RUN = 8  # places; shorter ones leave too much to the next level

# --- what a running value is made of --------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Chain:
    """What two values come to, what a short axis comes to, and up to each of its places.

    ``inside(x, axis, more)`` is what the places before ``k + more`` come to, for each k.
    """

    identity: Callable[[DType], float]
    both: Callable[[Tensor, Tensor], Tensor]
    whole: Callable[[Tensor, int], Tensor]
    inside: Callable[[Tensor, int, int], Tensor]


def _triangle(x: Tensor, axis: int, more: int) -> tuple[Tensor, Tensor]:
    """A short axis against itself, on a new axis after it; true where a place does not count."""
    extent = x.shape[axis]
    later = negated(less(counted(0, extent), counted(more, extent + more)[:, None]))
    later = reshape(later, (extent, extent, *(1,) * (x.ndim - axis - 1)))
    shape = (*x.shape[:axis], extent, *x.shape[axis:])
    return expanded(later, shape), expanded(expand_dims(x, axis), shape)


def _sums(x: Tensor, axis: int, more: int) -> Tensor:
    later, table = _triangle(x, axis, more)
    return reduced("sum", masked(negated(later), table), axis + 1)


def _maxima(x: Tensor, axis: int, more: int) -> Tensor:
    later, table = _triangle(x, axis, more)
    return reduced("max", where(later, number(lowest(x.dtype), x.dtype), table), axis + 1)


def _product(x: Tensor, axis: int) -> Tensor:
    places = range(bounds(x.shape[axis])[1])
    return reduce(_times, (moved(x, movement.select, axis, k) for k in places))


def _products(x: Tensor, axis: int, more: int) -> Tensor:
    """No primitive multiplies along an axis: each place is a product of selected elements."""
    place = _line(counted(0, x.shape[axis]), axis, x.ndim)
    one = number(1, x.dtype)
    parts = (
        where(less(place, k + 1 - more), one, moved(x, movement.shrink, axis, k, 1, 1))
        for k in range(bounds(x.shape[axis])[1])
    )
    return reduce(_times, parts, expanded(one, x.shape))


def _line(values: Tensor, axis: int, rank: int) -> Tensor:
    """A vector along one axis of a tensor of some rank."""
    return reshape(values, (values.shape[0], *(1,) * (rank - axis - 1)))


def _times(left: Tensor, right: Tensor) -> Tensor:
    return left * right


def lowest(dtype: DType) -> float:
    """The smallest value of a dtype, the identity of ``max``."""
    return float("-inf") if dtype.kind == "float" else dtype.low


def _larger(left: Tensor, right: Tensor) -> Tensor:
    """As ``maximum``, by selection: cheap beside other work."""
    is_right = less(left, right)
    if left.dtype.kind == "float":
        is_right = is_right + negated(is_number(right))
    return where(is_right, right, left)


SUM = Chain(
    identity=lambda _: 0,
    both=lambda left, right: left + right,
    whole=lambda x, axis: reduced("sum", x, axis),
    inside=_sums,
)
MAX = Chain(
    identity=lowest, both=_larger, whole=lambda x, axis: reduced("max", x, axis), inside=_maxima
)
PRODUCT = Chain(identity=lambda _: 1, both=_times, whole=_product, inside=_products)

# --- runs of an axis ------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Runs:
    """An axis of some extent cut into ``count`` runs, the first ``full`` of them whole."""

    axis: int
    extent: Dim
    run: int

    @property
    def count(self) -> Dim:
        return floordiv(self.extent + (self.run - 1), self.run)

    @property
    def full(self) -> Dim:
        return floordiv(self.extent, self.run)

    def whole(self, x: Tensor) -> Tensor:
        """The whole runs as (full, run): what the last one comes to matters only if it is."""
        return self._cut(moved(x, movement.shrink, self.axis, 0, 1, self.full * self.run))

    def all(self, x: Tensor) -> Tensor:
        """All runs as (count, run); what stands in places past the end is never asked for."""
        return self._cut(padded(x, self.axis, 0, self.count * self.run - self.extent, 0))

    def each(self, x: Tensor, fill: float) -> Tensor:
        """One value a whole run as one for each run, ``fill`` for the last if it is not whole."""
        return padded(x, self.axis, 0, self.count - self.full, fill)

    def joined(self, x: Tensor) -> Tensor:
        """The inverse of ``all``."""
        shape = (*x.shape[: self.axis], self.count * self.run, *x.shape[self.axis + 2 :])
        past = self.count * self.run - self.extent
        return moved(reshape(x, shape), movement.pad, self.axis, 0, -past)

    def _cut(self, x: Tensor) -> Tensor:
        shape = (floordiv(x.shape[self.axis], self.run), self.run)
        return reshape(x, (*x.shape[: self.axis], *shape, *x.shape[self.axis + 1 :]))


def runs_of(x: Tensor, axis: int) -> Runs:
    """The runs of an axis, of a length that divides it where there is such."""
    extent, run = x.shape[axis], LONGEST_RUN
    if isinstance(extent, int):
        lengths = range(LONGEST_RUN, SHORTEST_RUN - 1, -1)
        run = next((n for n in lengths if extent % n == 0), LONGEST_RUN)
    return Runs(axis, extent, run)


def padded(x: Tensor, axis: int, before: Dim, after: Dim, fill: float) -> Tensor:
    """Places around an axis that hold ``fill``; by itself a view reads -0.0 (0, False) there."""
    if before == 0 and after == 0:
        return x
    laid = moved(x, movement.pad, axis, before, after)
    if fill == 0:
        return laid
    inside = moved(expanded(number(True, BOOL), (x.shape[axis],)), movement.pad, 0, before, after)
    line = expanded(_line(negated(inside), axis, x.ndim), laid.shape)
    return laid + masked(line, number(fill, x.dtype))


def running(chain: Chain, x: Tensor, axis: int, more: int) -> Tensor:
    """What the elements before place ``k + more`` of an axis come to, for each k."""
    if bounds(x.shape[axis])[1] <= LONGEST_RUN:
        return chain.inside(x, axis, more)
    runs, nothing = runs_of(x, axis), chain.identity(x.dtype)
    whole = runs.each(chain.whole(runs.whole(x), axis + 1), nothing)
    inside = chain.inside(runs.all(x), axis + 1, more)
    earlier = expand_dims(running(chain, whole, axis, 0), axis + 1)
    if runs.extent == runs.full * runs.run:  # then what is joined first needs no copy
        return chain.both(runs.joined(expanded(earlier, inside.shape)), runs.joined(inside))
    return runs.joined(chain.both(earlier, inside))


# --- sums and products ----------------------------------------------------------------------


def _cumulative(
    chain: Chain, x: Value, axis: int | None, dtype: DTypeLike | None, op: str
) -> Tensor:
    value = tensor(x, op)
    if axis is None:
        value, axis = ravel(value), 0
    place = checked_axis(op, axis, value.ndim)
    wide, result = in_totals(value, dtype)
    return running(chain, wide, place, 1).astype(result)


def cumsum(x: Value, axis: int | None = None, dtype: DTypeLike | None = None) -> Tensor:
    """The sum of all elements up to each place; of all in row-major order for None.

    Integers and bools give int64, unless a dtype is given: then x is cast to it first. Halves
    accumulate in float32.
    """
    return _cumulative(SUM, x, axis, dtype, "cumsum")


def cumprod(x: Value, axis: int | None = None, dtype: DTypeLike | None = None) -> Tensor:
    """The product of all elements up to each place; dtypes as ``cumsum``."""
    return _cumulative(PRODUCT, x, axis, dtype, "cumprod")


# --- maxima, minima -------------------------------------------------------------------------


def cummax(x: Value, axis: int) -> tuple[Tensor, Tensor]:
    """The largest element up to each place and where it is (int64), as PyTorch's.

    Of equal elements the last place is given. From the first nan on the value is nan, and the place
    that of the last nan. Of 0.0 and -0.0 either may be given.
    """
    value = tensor(x, "cummax")
    place = checked_axis("cummax", axis, value.ndim)
    top = running(MAX, value, place, 1)
    is_new = negated(less(value, top))
    if value.dtype.kind == "float":
        # no number is less than nan, but that makes it no maximum
        is_new = is_new * (is_number(top) + negated(is_number(value)))
    narrow = INT32 if bounds(value.shape[place])[1] <= INT32.high else INT64
    line = _line(counted(0, value.shape[place]).astype(narrow), place, value.ndim)
    return top, running(MAX, where(is_new, line, 0), place, 1).astype(INT64)


def cummin(x: Value, axis: int) -> tuple[Tensor, Tensor]:
    """The smallest element up to each place and where it is (int64); else as ``cummax``."""
    values, places = cummax(reversed_order(tensor(x, "cummin")), axis)
    return reversed_order(values), places


# --- logarithms of sums ---------------------------------------------------------------------


def logcumsumexp(x: Value, axis: int) -> Tensor:
    """The logarithm of the sum of exp(x) up to each place, without overflow, as PyTorch's.

    Integers and bools give float32. While all are -inf it is -inf; from inf on inf, from nan on
    nan.
    """
    value = as_float(x, "logcumsumexp")
    place = checked_axis("logcumsumexp", axis, value.ndim)
    exponent = value.astype(accumulated(value.dtype))
    top = running(MAX, exponent, place, 1)
    total = _weighted(exponent, None, top, place, 1)
    return (_shift(top) + log(total)).astype(value.dtype)


def _shift(top: Tensor) -> Tensor:
    """What is taken off exponents: their maximum, but 0 for one that is not finite."""
    return where(isfinite(top), top, number(0, top.dtype))


def _weight(exponent: Tensor, top: Tensor) -> Tensor:
    return exp2((exponent - _shift(top)) * LOG2_E)


def _weighted(exponent: Tensor, weight: Tensor | None, top: Tensor, axis: int, more: int) -> Tensor:
    """The sum of ``weight * exp(exponent - top)`` over the places before ``k + more``.

    ``top`` is the running maximum of the exponents; no weight is 1.
    """
    if bounds(exponent.shape[axis])[1] <= LONGEST_RUN:
        return _weighted_inside(exponent, weight, top, axis, more)
    runs = runs_of(exponent, axis)
    cut = runs.whole(exponent)
    highest = reduced("max", cut, axis + 1)
    parts = _weight(cut, expand_dims(highest, axis + 1))
    if weight is not None:
        parts = parts * runs.whole(weight)
    whole = runs.each(reduced("sum", parts, axis + 1), 0)
    highest = runs.each(highest, lowest(exponent.dtype))
    before = running(MAX, highest, axis, 0)
    earlier = _weighted(highest, whole, before, axis, 0)
    tops = runs.all(top)
    laid = runs.all(exponent)
    weights = None if weight is None else runs.all(weight)
    inside = _weighted_inside(laid, weights, tops, axis + 1, more)
    spread = expand_dims(earlier, axis + 1) * _weight(expand_dims(before, axis + 1), tops)
    return runs.joined(spread + inside)


def _weighted_inside(
    exponent: Tensor, weight: Tensor | None, top: Tensor, axis: int, more: int
) -> Tensor:
    later, exponents = _triangle(exponent, axis, more)
    parts = _weight(exponents, expand_dims(top, axis + 1))
    if weight is not None:
        parts = parts * _triangle(weight, axis, more)[1]
    return reduced("sum", masked(negated(later), parts), axis + 1)


# --- differences ----------------------------------------------------------------------------


def diff(x: Value, n: int = 1, axis: int = -1) -> Tensor:
    """Each element less the one before it, ``n`` times over; the axis gets shorter by ``n``.

    Of bools it is whether they differ. Integers wrap. BadArgument for a negative ``n``.
    """
    value = tensor(x, "diff")
    place = checked_axis("diff", axis, value.ndim)
    if as_integer("diff", "n", n) < 0:
        raise BadArgument(op="diff", argument="n", given=n, expected="an integer, 0 or more")
    result = value.astype(accumulated(value.dtype)) if value.dtype.kind == "float" else value
    for _ in range(n):
        result = _difference(result, place)
    return result.astype(value.dtype)


def _difference(x: Tensor, axis: int) -> Tensor:
    extent = x.shape[axis]
    if extent == 0:
        return x
    later, earlier = (window(x, axis, k, extent - 1 + k, "diff") for k in (1, 0))
    return not_equal(later, earlier) if x.dtype == BOOL else later - earlier


# --- with a first value ---------------------------------------------------------------------


def cumulative_sum(
    x: Value,
    axis: int | None = None,
    include_initial: bool = False,
    *,
    dtype: DTypeLike | None = None,
) -> Tensor:
    """``cumsum``, of one axis if ``axis`` is left out; perhaps with a 0 in front."""
    return _with_initial("cumulative_sum", SUM, x, axis, dtype, include_initial)


def cumulative_prod(
    x: Value,
    axis: int | None = None,
    include_initial: bool = False,
    *,
    dtype: DTypeLike | None = None,
) -> Tensor:
    """``cumprod``, of one axis if ``axis`` is left out; perhaps with a 1 in front."""
    return _with_initial("cumulative_prod", PRODUCT, x, axis, dtype, include_initial)


def _with_initial(
    op: str, chain: Chain, x: Value, axis: int | None, dtype: DTypeLike | None, is_longer: bool
) -> Tensor:
    value = tensor(x, op)
    if axis is None and value.ndim != 1:
        raise BadArgument(op=op, argument="axis", given=None, expected="an axis, of several")
    place = checked_axis(op, 0 if axis is None else axis, value.ndim)
    result = _cumulative(chain, value, place, dtype, op)
    if not is_longer:
        return result
    shape = (*result.shape[:place], 1, *result.shape[place + 1 :])
    first = expanded(number(chain.identity(result.dtype), result.dtype), shape)
    return concat([first, result], place)
