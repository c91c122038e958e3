"""Rounding to whole numbers, signs and magnitudes.

Whole numbers come from ``x - mod(x, 1)``; values so large that they are whole, infinities and nan
are left alone by selection. Zeros keep the sign that NumPy gives them. Integers are returned as
they are.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps

from photic.ir.dtype import BOOL, FLOAT32, FLOAT64, DType
from photic.tensor.compare import equal, is_number
from photic.tensor.primitive import apply, constant_like, less, masked, mod, negated, where
from photic.tensor.tensor import Tensor, Value, method, tensor

# From here on every float is whole; halves go through float32.
WHOLE_FROM: dict[DType, float] = {FLOAT32: 2.0**23, FLOAT64: 2.0**52}


def _on_floats(function: Callable[[Tensor], Tensor]) -> Callable[[Value], Tensor]:
    """A function to whole numbers: integers stay, halves go through float32."""

    @wraps(function)
    def wrapped(x: Value) -> Tensor:
        value = tensor(x, function.__name__)
        if value.dtype.kind != "float":
            return value
        if value.dtype.is_half:
            return function(value.astype(FLOAT32)).astype(value.dtype)
        return function(value)

    return wrapped


def _where_fractional(x: Tensor, result: Tensor) -> Tensor:
    """``result`` where ``x`` may have a fraction, ``x`` itself where it is whole, inf or nan."""
    limit = WHOLE_FROM[x.dtype]
    return where(less(-limit, x) * less(x, limit), result, x)


def _floor(x: Tensor) -> Tensor:
    return x - mod(x, constant_like(x, 1))


@_on_floats
def floor(x: Tensor) -> Tensor:
    """The largest whole number at most x. floor(-0) = -0; inf and nan stay."""
    return _where_fractional(x, _floor(x))


@_on_floats
def ceil(x: Tensor) -> Tensor:
    """The smallest whole number at least x. ceil(-0.5) = -0; inf and nan stay."""
    return _where_fractional(x, -_floor(-x))


@_on_floats
def trunc(x: Tensor) -> Tensor:
    """The whole number next to x toward 0. trunc(-0.5) = -0; inf and nan stay."""
    return _where_fractional(x, where(less(x, 0), -_floor(-x), _floor(x)))


def round(x: Value, decimals: int = 0) -> Tensor:
    """The nearest whole number, of two the even one; ``decimals`` places after the point.

    Rounding to decimals multiplies, rounds and divides, as NumPy does. inf and nan stay.
    """
    if decimals == 0:
        return nearest(x)
    scale = 10.0 ** abs(decimals)
    value = tensor(x, "round")
    if value.dtype.kind != "float":
        return value
    return nearest(value * scale) / scale if decimals > 0 else nearest(value / scale) * scale


@_on_floats
def nearest(x: Tensor) -> Tensor:
    """The nearest whole number, of two the even one; the sign of x on zeros."""
    low = _floor(x)
    above = x - low  # exact: both have the grid of x
    is_odd = equal(mod(low, constant_like(x, 2)), 1)
    is_up = less(0.5, above) + equal(above, 0.5) * is_odd
    whole = low + is_up.astype(x.dtype)
    return _where_fractional(x, where(equal(whole, 0), x * 0.0, whole))


@method
def abs(x: Value) -> Tensor:
    """The magnitude. abs(-0) = 0, abs(-inf) = inf; the lowest integer wraps to itself."""
    value = tensor(x, "abs")
    if value.dtype == BOOL or not value.dtype.signed:
        return value
    magnitude = where(less(value, 0), -value, value)
    # -0 is not less than 0; adding 0 makes it 0
    return magnitude + 0.0 if value.dtype.kind == "float" else magnitude


def sign(x: Value) -> Tensor:
    """1, 0 or -1 in the dtype of x; nan stays; sign(-0) = 0."""
    value = tensor(x, "sign")
    if value.dtype == BOOL:
        return value
    positive = less(0, value).astype(value.dtype)
    if not value.dtype.signed:
        return positive
    result = positive - less(value, 0).astype(value.dtype)
    if value.dtype.kind != "float":
        return result
    return result + masked(negated(is_number(value)), value)


def square(x: Value) -> Tensor:
    """x*x."""
    value = tensor(x, "square")
    return apply("mul", value, value)
