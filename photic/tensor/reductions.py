"""Reductions over one, several or all axes, and what rests on them: means, softmax, places.

``axis`` is an integer, a tuple or None (all axes), negative ones from the end; ``keepdims`` keeps
size 1. Sums and products of integers below 64 bits and of bools are int64, halves accumulate in
float32 and are rounded once. Of nothing: sum 0, prod 1, max -inf, min inf, mean nan.
"""

from __future__ import annotations

import builtins
import math
from collections.abc import Callable

import numpy as np

from photic.base.errors import BadArgument, DtypeMismatch
from photic.ir import graph
from photic.ir.dim import Dim, bounds, product
from photic.ir.dtype import INT32, INT64, dtype_of
from photic.tensor.axes import checked_axis
from photic.tensor.compare import is_number, isfinite, reversed_order, truth
from photic.tensor.creation import counted
from photic.tensor.elementary import log
from photic.tensor.primitive import (
    accumulated,
    as_float,
    exp2,
    in_totals,
    less,
    negated,
    reciprocal,
    reduced,
    sqrt,
    where,
)
from photic.tensor.shapes import checked_axes, flip, ravel, reshape
from photic.tensor.tensor import (
    Axes,
    DTypeLike,
    Tensor,
    Value,
    method,
    number,
    size_value,
    tensor,
    whole,
)

LOG2_E = math.log2(math.e)


def over_axes(x: Tensor, axis: Axes, keepdims: bool, op: str, one: Callable[..., Tensor]) -> Tensor:
    """``one(x, axis)`` for each axis, the last first."""
    axes = checked_axes(op, axis, x.ndim)
    result = x
    for place in sorted(axes, reverse=True):
        result = one(result, place)
    if not keepdims:
        return result
    return reshape(result, tuple(1 if k in axes else n for k, n in enumerate(x.shape)))


def _reduced(x: Tensor, axis: Axes, keepdims: bool, op: str, name: str) -> Tensor:
    """``sum`` or ``max`` over axes; errors name the function that was called."""
    return over_axes(x, axis, keepdims, name, lambda value, place: reduced(op, value, place))


@method
def sum(
    x: Value, axis: Axes = None, keepdims: bool = False, *, dtype: DTypeLike | None = None
) -> Tensor:
    """The sum; 0 of nothing. Small integers and bools give int64, halves accumulate in float32.

    Where ``dtype`` is given, x is cast to it first, and integers wrap in it.
    """
    wide, result = in_totals(tensor(x, "sum"), dtype)
    return _reduced(wide, axis, keepdims, "sum", "sum").astype(result)


def _summed(x: Tensor, axis: Axes, keepdims: bool) -> Tensor:
    """The sum of floats in their own dtype, halves rounded once."""
    wide = x.astype(accumulated(x.dtype))
    return _reduced(wide, axis, keepdims, "sum", "sum").astype(x.dtype)


@method
def max(x: Value, axis: Axes = None, keepdims: bool = False) -> Tensor:
    """The largest; nan if any is nan; of nothing -inf, the lowest integer, False."""
    return _reduced(tensor(x, "max"), axis, keepdims, "max", "max")


@method
def min(x: Value, axis: Axes = None, keepdims: bool = False) -> Tensor:
    """The smallest; nan if any is nan; of nothing inf, the highest integer, True."""
    value = reversed_order(tensor(x, "min"))
    return reversed_order(_reduced(value, axis, keepdims, "max", "min"))


@method
def any(x: Value, axis: Axes = None, keepdims: bool = False) -> Tensor:
    """True if one is not 0; False of nothing."""
    return _reduced(truth(x), axis, keepdims, "max", "any")


@method
def all(x: Value, axis: Axes = None, keepdims: bool = False) -> Tensor:
    """True if none is 0; True of nothing."""
    return negated(_reduced(negated(truth(x)), axis, keepdims, "max", "all"))


# --- means ----------------------------------------------------------------------------------


def _count(x: Tensor, axis: Axes) -> Dim:
    """How many elements go into one result."""
    return product(x.shape[k] for k in checked_axes("mean", axis, x.ndim))


def divided_by_count(total: Tensor, count: Dim) -> Tensor:
    """Times 1/count, a constant where the count is known; a count below 0 is 0."""
    if isinstance(count, int):
        with np.errstate(divide="ignore"):
            inverse = np.ones((), total.dtype.numpy) / np.asarray(float(builtins.max(count, 0)))
        return total * float(inverse)
    divisor = size_value(count)
    if bounds(count)[0] < 0:
        divisor = where(less(divisor, 0), 0, divisor)
    return total * reciprocal(divisor.astype(total.dtype))


@method
def mean(
    x: Value, axis: Axes = None, keepdims: bool = False, *, dtype: DTypeLike | None = None
) -> Tensor:
    """The sum times 1/count; nan of nothing. Integers are summed exactly and give float32.

    Where ``dtype`` is given, floats are cast to it first. DtypeMismatch if it is no float.
    """
    value = tensor(x, "mean")
    result = as_float(value, "mean").dtype if dtype is None else dtype_of(dtype)
    if result.kind != "float":
        raise DtypeMismatch(op="mean", given=result, expected="a float dtype")
    wide, _ = in_totals(value, result if value.dtype.kind == "float" else None)
    total = _reduced(wide, axis, keepdims, "sum", "mean").astype(accumulated(result))
    return divided_by_count(total, _count(value, axis)).astype(result)


def var(x: Value, axis: Axes = None, ddof: int = 0, keepdims: bool = False) -> Tensor:
    """The mean square distance from the mean, in two passes; divided by ``count - ddof``."""
    given = as_float(x, "var")
    value = given.astype(accumulated(given.dtype))
    distance = value - mean(value, axis, keepdims=True)
    total = _reduced(distance * distance, axis, keepdims, "sum", "var")
    return divided_by_count(total, _count(value, axis) - ddof).astype(given.dtype)


def std(x: Value, axis: Axes = None, ddof: int = 0, keepdims: bool = False) -> Tensor:
    """The square root of ``var``."""
    given = as_float(x, "std")
    value = given.astype(accumulated(given.dtype))
    return sqrt(var(value, axis, ddof, keepdims)).astype(given.dtype)


# --- where the extremes are -----------------------------------------------------------------


@method
def argmax(x: Value, axis: int | None = None, keepdims: bool = False) -> Tensor:
    """The first place (int64) of the largest value, or of the first nan; all elements for None.

    BadArgument for an axis of size 0; -1 where a symbolic size is 0 at the call.
    """
    value = tensor(x, "argmax")
    if axis is None:
        found = argmax(ravel(value), 0)
        return reshape(found, (1,) * value.ndim) if keepdims else found
    place = checked_axis("argmax", axis, value.ndim)
    extent = value.shape[place]
    if extent == 0:
        raise BadArgument(op="argmax", argument="axis", given="of size 0", expected="1 or more")
    best = max(value, place, keepdims=True)
    is_best = negated(less(value, best))
    if value.dtype.kind == "float":
        # beside nan only nan counts: no number is less than nan, but that makes it no maximum
        is_best = is_best * (is_number(best) + negated(is_number(value)))
    # the place counted from the end, from 1 on, so that the largest number is the first place
    kind = INT32 if bounds(extent)[1] <= INT32.high else INT64
    from_end = flip(counted(1, extent + 1), 0).reshape(extent, *(1,) * (value.ndim - place - 1))
    ranked = is_best.astype(kind) * from_end.astype(kind)
    found = _reduced(ranked, place, keepdims, "max", "argmax").astype(INT64)
    result = (number(extent, INT64) if isinstance(extent, int) else size_value(extent)) - found
    if bounds(extent)[0] == 0:
        return where(less(0, size_value(extent)), result, -1)
    return result


@method
def argmin(x: Value, axis: int | None = None, keepdims: bool = False) -> Tensor:
    """The first place (int64) of the smallest value, or of the first nan; else as ``argmax``."""
    return argmax(reversed_order(tensor(x, "argmin")), axis, keepdims)


# --- exponentials of rows -------------------------------------------------------------------


def below_maximum(x: Value, axis: Axes, op: str) -> tuple[Tensor, Tensor]:
    """The value less its row's maximum (in float32 for halves), and the maximum."""
    value = as_float(x, op)
    wide = value.astype(accumulated(value.dtype))
    top = _stopped(max(wide, axis, keepdims=True))
    return wide - top, top


def _stopped(x: Tensor) -> Tensor:
    """The same value, through which no gradient passes: what is taken off is given back later."""
    for _ in range(2):  # a copy of a copy, see photic/autograd
        x = whole(graph.cast(x.operand, x.dtype))
    return x


def softmax(x: Value, axis: Axes = -1) -> Tensor:
    """exp(x) over its sum along the axis; a row that is all -inf (or has nan, or inf) is nan.

    Written as exp2((x - max)*log2(e)): the argument is at most 0, so this is within 3e-7 of the
    row's largest weight, and the search knows the form.
    """
    shifted, _ = below_maximum(x, axis, "softmax")
    weights = exp2(shifted * LOG2_E)
    total = _summed(weights, axis, keepdims=True)
    return (weights * reciprocal(total)).astype(as_float(x, "softmax").dtype)


def softmin(x: Value, axis: Axes = -1) -> Tensor:
    """``softmax`` of -x."""
    return softmax(as_float(x, "softmin") * -1.0, axis)


def log_softmax(x: Value, axis: Axes = -1) -> Tensor:
    """The logarithm of ``softmax``, without its underflow."""
    shifted, _ = below_maximum(x, axis, "log_softmax")
    total = _summed(exp2(shifted * LOG2_E), axis, keepdims=True)
    return (shifted - log(total)).astype(as_float(x, "log_softmax").dtype)


def logsumexp(x: Value, axis: Axes = None, keepdims: bool = False) -> Tensor:
    """log(sum(exp(x))) without overflow; -inf of nothing and of rows that are all -inf."""
    value = as_float(x, "logsumexp")
    wide = value.astype(accumulated(value.dtype))
    top = max(wide, axis, keepdims=True)
    # an infinite maximum would make inf - inf
    shift = _stopped(where(isfinite(top), top, 0.0))
    total = _summed(exp2((wide - shift) * LOG2_E), axis, keepdims=True)
    result = shift + log(total)
    if not keepdims:
        axes = checked_axes("logsumexp", axis, value.ndim)
        result = reshape(result, tuple(n for k, n in enumerate(value.shape) if k not in axes))
    return result.astype(value.dtype)


# NumPy's other names.
amax, amin = max, min
