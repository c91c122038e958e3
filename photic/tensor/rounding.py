"""Rounding to whole numbers, signs and magnitudes.

Whole numbers come from a cast to integers, which truncates; what the integers do not hold (large
values, infinities, nan) is whole already and left alone by selection. A zero has the sign of what
was rounded, as NumPy's. Integers are returned as they are. The sign of -0.0 shows in its inverse;
that of a nan is taken as positive.
"""

from __future__ import annotations

import builtins
from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps

from photic.ir import graph
from photic.ir.dtype import BOOL, FLOAT32, FLOAT64, INT32, INT64, DType
from photic.ir.graph import operand
from photic.tensor.axes import as_integer
from photic.tensor.compare import MOST, equal, is_number, isfinite
from photic.tensor.primitive import (
    accumulated,
    apply,
    floats_together,
    less,
    masked,
    mod,
    negated,
    reciprocal,
    where,
)
from photic.tensor.tensor import Tensor, Value, method, number, tensor, whole

# Halves go through float32. Floats that these integers do not hold are whole.
INTEGER: dict[DType, DType] = {FLOAT32: INT32, FLOAT64: INT64}


def _unfollowed(x: Tensor) -> Tensor:
    """The same value without a slope: a copy of a copy, which gradients take for one."""
    return whole(graph.cast(operand(graph.cast(x.operand, x.dtype)), x.dtype))


def _on_floats(function: Callable[[Tensor], Tensor]) -> Callable[[Value], Tensor]:
    """A function to whole numbers, of slope 0: integers stay, halves go through float32."""

    @wraps(function)
    def wrapped(x: Value) -> Tensor:
        value = tensor(x, function.__name__)
        if value.dtype.kind != "float":
            return value
        steps = _unfollowed(value)
        if value.dtype.is_half:
            return function(steps.astype(FLOAT32)).astype(value.dtype)
        return function(steps)

    return wrapped


@dataclass(frozen=True, slots=True)
class Cut:
    """A float's magnitude and sign, and what is left of it without its fraction."""

    magnitude: Tensor
    integer: Tensor
    whole: Tensor
    has_fraction: Tensor
    is_negative: Tensor


def _cut(x: Tensor) -> Cut:
    is_negative = less(x, 0.0)
    magnitude = where(is_negative, -x, x)
    integer = magnitude.astype(INTEGER[x.dtype])
    whole = integer.astype(x.dtype)
    return Cut(magnitude, integer, whole, less(whole, magnitude), is_negative)


def _with_sign(x: Tensor, cut: Cut, magnitude: Tensor) -> Tensor:
    """A rounded magnitude with the sign of x, of zeros too; x itself where it is too large."""
    rounded = where(cut.is_negative, -magnitude, magnitude)
    signed = where(less(0.0, magnitude), rounded, x * 0.0)
    return where(less(cut.magnitude, -float(INTEGER[x.dtype].low)), signed, x)


@_on_floats
def floor(x: Tensor) -> Tensor:
    """The largest whole number at most x. floor(-0) = -0; inf and nan stay."""
    cut = _cut(x)
    return _with_sign(x, cut, cut.whole + (cut.has_fraction * cut.is_negative).astype(x.dtype))


@_on_floats
def ceil(x: Tensor) -> Tensor:
    """The smallest whole number at least x. ceil(-0.5) = -0; inf and nan stay."""
    cut = _cut(x)
    is_up = cut.has_fraction * negated(cut.is_negative)
    return _with_sign(x, cut, cut.whole + is_up.astype(x.dtype))


@_on_floats
def trunc(x: Tensor) -> Tensor:
    """The whole number next to x toward 0. trunc(-0.5) = -0; inf and nan stay."""
    cut = _cut(x)
    return _with_sign(x, cut, cut.whole)


def frac(x: Value) -> Tensor:
    """What ``trunc`` takes away, ``x - trunc(x)``, exact; 0.0 of whole numbers, nan of inf."""
    value = tensor(x, "frac")
    return value - trunc(value)


def round(x: Value, decimals: int = 0) -> Tensor:
    """The nearest whole number, of two the even one; ``decimals`` places after the point.

    Rounding to decimals multiplies, rounds and divides, as NumPy does; what is too large to be
    multiplied stays, as do inf and nan. Integers are rounded (exactly) to places before the point
    only, and wrap.
    """
    places, value = as_integer("round", "decimals", decimals), tensor(x, "round")
    if places == 0:
        return nearest(value)
    if value.dtype.kind != "float":
        return _to_tens(value, -places) if places < 0 and value.dtype != BOOL else value
    wide = _unfollowed(value).astype(accumulated(value.dtype))
    return _to_decimals(wide, places).astype(value.dtype)


# Powers of ten that a float64 and an int64 hold.
MOST_DECIMALS, MOST_TENS = 308, 18


def _to_decimals(x: Tensor, places: int) -> Tensor:
    scale = 10.0 ** min(builtins.abs(places), MOST_DECIMALS)
    if places > 0:
        scaled = x * scale
        return where(isfinite(scaled), nearest(scaled) / scale, x)
    if scale > MOST[x.dtype.name]:
        return where(isfinite(x), x * 0.0, x)
    return nearest(x / scale) * scale


def _to_tens(x: Tensor, places: int) -> Tensor:
    """Integers to multiples of a power of ten: what is above one, and whether that is odd."""
    wide, step = x.astype(INT64), 10 ** min(places, MOST_TENS)
    above = mod(wide, step)
    is_odd = negated(less(mod(wide, 2 * step), step))
    is_up = less(step, above * 2) + equal(above * 2, step) * is_odd
    rounded = wide - above + masked(is_up, number(step, INT64))
    return (rounded if places <= MOST_TENS else wide * 0).astype(x.dtype)


def is_odd(integer: Tensor) -> Tensor:
    """The lowest bit: a product with the lowest integer keeps it alone, as the sign."""
    return less(integer * integer.dtype.low, 0)


@_on_floats
def nearest(x: Tensor) -> Tensor:
    """The nearest whole number, of two the even one; the sign of x on zeros."""
    cut = _cut(x)
    above = cut.magnitude - cut.whole  # exact: both have the grid of x
    is_up = less(0.5, above) + equal(above, 0.5) * is_odd(cut.integer)
    return _with_sign(x, cut, cut.whole + is_up.astype(x.dtype))


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
    return result + masked(negated(is_number(value)), _unfollowed(value))


def square(x: Value) -> Tensor:
    """x*x."""
    value = tensor(x, "square")
    return apply("mul", value, value)


# --- signs ----------------------------------------------------------------------------------


@method
def signbit(x: Value) -> Tensor:
    """True where the sign is minus, of -0.0 too; false for nan, whatever its bits are."""
    value = tensor(x, "signbit")
    if value.dtype.kind != "float":
        return less(value, 0) if value.dtype.signed else less(value, value)
    return less(value, 0.0) + less(reciprocal(value), 0.0)


def copysign(left: Value, right: Value) -> Tensor:
    """The magnitude of the first with the sign of the second, as ``signbit`` sees it."""
    a, b = floats_together("copysign", left, right)
    magnitude = abs(a)
    return where(signbit(b), -magnitude, magnitude)


def heaviside(x: Value, middle: Value) -> Tensor:
    """0 where x is negative, 1 where it is positive, ``middle`` where it is 0; nan stays."""
    value, at_zero = floats_together("heaviside", x, middle)
    step = less(0.0, value).astype(value.dtype)
    return where(is_number(value), where(equal(value, 0.0), at_zero, step), value)


# NumPy's other names.
absolute, around, fix, rint = abs, round, trunc, round
