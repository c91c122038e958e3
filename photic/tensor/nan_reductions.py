"""Reductions and running values that leave out nan; of integers and bools the plain ones."""

from __future__ import annotations

from photic.tensor.compare import equal, is_number, reversed_order
from photic.tensor.loops import prod
from photic.tensor.primitive import accumulated, as_float, less, reciprocal, sqrt, where
from photic.tensor.reductions import any, argmax, max, mean, sum, var
from photic.tensor.running import cumprod, cumsum
from photic.tensor.tensor import Axes, Tensor, Value, tensor

NAN, INFINITY = float("nan"), float("inf")


def _known(x: Tensor) -> Tensor | None:
    """Where there is no nan; None for a dtype that has none."""
    return is_number(x) if x.dtype.kind == "float" else None


def nansum(x: Value, axis: Axes = None, keepdims: bool = False) -> Tensor:
    """The sum of what is not nan; 0 of nothing. Dtypes as ``sum``."""
    value = tensor(x, "nansum")
    known = _known(value)
    return sum(value if known is None else where(known, value, 0.0), axis, keepdims)


def nanmax(x: Value, axis: Axes = None, keepdims: bool = False) -> Tensor:
    """The largest that is not nan; nan where there are no others; of nothing as ``max``."""
    value = tensor(x, "nanmax")
    if _known(value) is None:
        return max(value, axis, keepdims)
    # one comparison of each element for either: -inf is no candidate, but shows that some are known
    found = max(where(less(-INFINITY, value), value, -INFINITY), axis, keepdims)
    others = any(less(value, INFINITY), axis, keepdims)
    return where(others + less(-INFINITY, found), found, NAN)


def nanmin(x: Value, axis: Axes = None, keepdims: bool = False) -> Tensor:
    """The smallest that is not nan; nan where there are no others; of nothing as ``min``."""
    value = tensor(x, "nanmin")
    return reversed_order(nanmax(reversed_order(value), axis, keepdims))


# --- means ----------------------------------------------------------------------------------


def nanmean(x: Value, axis: Axes = None, keepdims: bool = False) -> Tensor:
    """The mean of what is not nan; nan of nothing. Integers give float32."""
    value = tensor(x, "nanmean")
    known = _known(value)
    if known is None:
        return mean(value, axis, keepdims)
    wide = value.astype(accumulated(value.dtype))
    return _mean(wide, known, axis, 0, keepdims).astype(value.dtype)


def _mean(x: Tensor, known: Tensor, axis: Axes, ddof: int, keepdims: bool) -> Tensor:
    """The sum of the known ones over how many they are less ``ddof``, at least 0."""
    count = sum(known, axis, keepdims) - ddof
    total = sum(where(known, x, 0.0), axis, keepdims)
    return total * reciprocal(where(less(count, 0), 0, count).astype(x.dtype))


def nanvar(x: Value, axis: Axes = None, ddof: int = 0, keepdims: bool = False) -> Tensor:
    """``var`` of what is not nan, in two passes; nan where fewer than ``ddof + 1`` are left."""
    value = tensor(x, "nanvar")
    known = _known(value)
    if known is None:
        return var(value, axis, ddof, keepdims)
    wide = value.astype(accumulated(value.dtype))
    distance = where(known, wide - _mean(wide, known, axis, 0, True), 0.0)
    return _mean(distance * distance, known, axis, ddof, keepdims).astype(value.dtype)


def nanstd(x: Value, axis: Axes = None, ddof: int = 0, keepdims: bool = False) -> Tensor:
    """The square root of ``nanvar``."""
    value = as_float(x, "nanstd")
    wide = value.astype(accumulated(value.dtype))
    return sqrt(nanvar(wide, axis, ddof, keepdims)).astype(value.dtype)


def nanprod(x: Value, axis: Axes = None, keepdims: bool = False) -> Tensor:
    """The product of what is not nan; 1 of nothing. Dtypes as ``prod``."""
    return prod(_filled("nanprod", x, 1.0), axis, keepdims)


def _filled(op: str, x: Value, fill: float) -> Tensor:
    """A number for each nan."""
    value = tensor(x, op)
    known = _known(value)
    return value if known is None else where(known, value, fill)


# --- running values, places -----------------------------------------------------------------


def nancumsum(x: Value, axis: int | None = None) -> Tensor:
    """``cumsum`` in which nan counts as 0."""
    return cumsum(_filled("nancumsum", x, 0.0), axis)


def nancumprod(x: Value, axis: int | None = None) -> Tensor:
    """``cumprod`` in which nan counts as 1."""
    return cumprod(_filled("nancumprod", x, 1.0), axis)


def nanargmax(x: Value, axis: int | None = None, keepdims: bool = False) -> Tensor:
    """The first place (int64) of the largest that is not nan; -1 where there are no others.

    BadArgument for an axis of size 0.
    """
    value = tensor(x, "nanargmax")
    known = _known(value)
    if known is None:
        return argmax(value, axis, keepdims)
    best = nanmax(value, axis, keepdims=True)
    found = argmax(equal(value, best), axis, keepdims)
    return where(any(known, axis, keepdims), found, -1)


def nanargmin(x: Value, axis: int | None = None, keepdims: bool = False) -> Tensor:
    """The first place (int64) of the smallest that is not nan; else as ``nanargmax``."""
    return nanargmax(reversed_order(tensor(x, "nanargmin")), axis, keepdims)
