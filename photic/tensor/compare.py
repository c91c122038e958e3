"""Comparisons, tests of special values, logic, and the larger and smaller of two.

Everything rests on ``less_than``, which is false for nan: equality is "neither is less" between
two numbers, so nan equals nothing. The larger of two is ``max`` over a stack of two, through which
nan passes.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from photic.forms import movement
from photic.ir.dim import Int
from photic.ir.dtype import BOOL, FLOAT32, FLOAT64
from photic.tensor.primitive import apply, constant_like, less, masked, negated, reduced, where
from photic.tensor.tensor import (
    Tensor,
    Value,
    expanded,
    is_weak,
    method,
    number,
    seen,
    tensor,
    together,
)

# --- comparisons ----------------------------------------------------------------------------


def is_number(x: Tensor) -> Tensor:
    """False where ``x`` is nan: every number is below 1 or above 0."""
    return less(x, constant_like(x, 1)) + less(constant_like(x, 0), x)


def _are_numbers(mask: Tensor, *given: tuple[Value, Tensor]) -> Tensor:
    """The mask, false where any of the values is nan; plain numbers need no test."""
    for value, x in given:
        plain = is_weak(value) and value == value  # nan is not itself
        if x.dtype.kind == "float" and not plain:
            mask = mask * is_number(x)
    return mask


@method
def greater(left: Value, right: Value) -> Tensor:
    """left > right as bool; false if either is nan."""
    a, b = together("greater", left, right)
    return less(b, a)


@method
def less_equal(left: Value, right: Value) -> Tensor:
    """left <= right as bool; false if either is nan."""
    a, b = together("less_equal", left, right)
    return _are_numbers(negated(less(b, a)), (left, a), (right, b))


@method
def greater_equal(left: Value, right: Value) -> Tensor:
    """left >= right as bool; false if either is nan."""
    return less_equal(right, left)


@method
def equal(left: Value, right: Value) -> Tensor:
    """left == right as bool; nan equals nothing, -0 equals 0."""
    a, b = together("equal", left, right)
    neither = negated(less(a, b)) * negated(less(b, a))
    return _are_numbers(neither, (left, a), (right, b))


@method
def not_equal(left: Value, right: Value) -> Tensor:
    """left != right as bool; true if either is nan."""
    return negated(equal(left, right))


# --- special values -------------------------------------------------------------------------


def _all(x: Tensor, answer: bool) -> Tensor:
    return expanded(number(answer, BOOL), x.shape)


def isnan(x: Value) -> Tensor:
    """True where nan; never for integers."""
    value = tensor(x, "isnan")
    return negated(is_number(value)) if value.dtype.kind == "float" else _all(value, False)


def isfinite(x: Value) -> Tensor:
    """True where neither nan nor infinite; always for integers."""
    value = tensor(x, "isfinite")
    if value.dtype.kind != "float":
        return _all(value, True)
    return less(value, constant_like(value, np.inf)) * less(constant_like(value, -np.inf), value)


def isinf(x: Value) -> Tensor:
    """True where inf or -inf; never for integers."""
    value = tensor(x, "isinf")
    if value.dtype.kind != "float":
        return _all(value, False)
    return is_number(value) * negated(isfinite(value))


def isposinf(x: Value) -> Tensor:
    """True where inf; never for integers."""
    value = tensor(x, "isposinf")
    return _all(value, False) if value.dtype.kind != "float" else isinf(value) * less(0, value)


def isneginf(x: Value) -> Tensor:
    """True where -inf; never for integers."""
    value = tensor(x, "isneginf")
    return _all(value, False) if value.dtype.kind != "float" else isinf(value) * less(value, 0)


# The largest finite numbers.
MOST = {
    "float64": float.fromhex("0x1.fffffffffffffp+1023"),
    "float32": float.fromhex("0x1.fffffep+127"),
    "float16": float.fromhex("0x1.ffcp+15"),
    "bfloat16": float.fromhex("0x1.fep+127"),
}


def nan_to_num(
    x: Value, nan: float = 0.0, posinf: float | None = None, neginf: float | None = None
) -> Tensor:
    """Numbers for nan and infinities; those that are None are the dtype's largest and lowest.

    Integers and bools stay.
    """
    value = tensor(x, "nan_to_num")
    if value.dtype.kind != "float":
        return value
    most = MOST[value.dtype.name]
    high, low = most if posinf is None else posinf, -most if neginf is None else neginf
    below = where(less(value, np.inf), value, high)
    number_only = where(less(-np.inf, below), below, low)
    return where(is_number(value), number_only, nan)


def isclose(
    left: Value, right: Value, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False
) -> Tensor:
    """True where ``|left - right| <= atol + rtol*|right|``, or both are the same infinity.

    Halves are compared in float32, integers in float64. nan is close to nothing, with
    ``equal_nan`` to nan.
    """
    a, b = together("isclose", left, right)
    dtype = FLOAT64 if a.dtype.kind != "float" else FLOAT32 if a.dtype.is_half else a.dtype
    a, b = a.astype(dtype), b.astype(dtype)
    allowed = where(less(b, 0), -b, b) * rtol + atol
    difference = a - b
    near = less_equal(difference, allowed) * less_equal(-allowed, difference) * isfinite(b)
    close = near + equal(a, b)
    return close + isnan(a) * isnan(b) if equal_nan else close


# --- logic ----------------------------------------------------------------------------------


def truth(x: Value) -> Tensor:
    """True where not 0; nan is true."""
    return tensor(x).astype(BOOL)


def logical_not(x: Value) -> Tensor:
    """True where the value is 0."""
    return negated(truth(x))


def logical_and(left: Value, right: Value) -> Tensor:
    """True where neither is 0."""
    return truth(left) * truth(right)


def logical_or(left: Value, right: Value) -> Tensor:
    """True where one of them is not 0."""
    return truth(left) + truth(right)


def logical_xor(left: Value, right: Value) -> Tensor:
    """True where exactly one of them is not 0."""
    a, b = truth(left), truth(right)
    return a * negated(b) + negated(a) * b


# --- the larger, the smaller ----------------------------------------------------------------


def _stacked(left: Tensor, right: Tensor) -> Tensor:
    """Two values on a new leading axis: each padded to two places, and added."""
    first, second = (movement.reshape(x.operand.view, (1, *x.shape)) for x in (left, right))
    return apply(
        "add",
        seen(left, movement.pad(first, 0, 0, 1)),
        seen(right, movement.pad(second, 0, 1, 0)),
    )


def maximum(left: Value, right: Value) -> Tensor:
    """The larger of two; nan if either is nan; of 0 and -0 either."""
    return reduced("max", _stacked(*together("maximum", left, right)), 0)


def minimum(left: Value, right: Value) -> Tensor:
    """The smaller of two; nan if either is nan; of 0 and -0 either."""
    a, b = together("minimum", left, right)
    return reversed_order(maximum(reversed_order(a), reversed_order(b)))


def reversed_order(x: Tensor) -> Tensor:
    """A value that is smaller where ``x`` is larger, and its own inverse: -x, -1 - x or not x."""
    if x.dtype == BOOL:
        return negated(x)
    minus = apply("mul", x, minus_one(x))
    return minus if x.dtype.kind == "float" else apply("add", minus, minus_one(x))


def minus_one(x: Tensor) -> Tensor:
    """-1 in the dtype of ``x``; in uint8 it is 255, which multiplies and adds like it."""
    return number(-1 if x.dtype.signed else x.dtype.high, x.dtype)


def fmax(left: Value, right: Value) -> Tensor:
    """The larger of two, or the one that is not nan; of 0 and -0 either."""
    return _of_numbers(maximum, *together("fmax", left, right))


def fmin(left: Value, right: Value) -> Tensor:
    """The smaller of two, or the one that is not nan; of 0 and -0 either."""
    return _of_numbers(minimum, *together("fmin", left, right))


def _of_numbers(function: Callable[[Value, Value], Tensor], a: Tensor, b: Tensor) -> Tensor:
    if a.dtype.kind != "float":
        return function(a, b)
    return function(where(is_number(a), a, b), where(is_number(b), b, a))


@method
def clip(x: Value, min: Value | None = None, max: Value | None = None) -> Tensor:
    """``minimum(maximum(x, min), max)``; a bound that is None is left out; nan passes."""
    value = tensor(x, "clip")
    if min is not None:
        value = _raised(value, min) if _is_ordinary(min) else maximum(value, min)
    if max is None:
        return value
    return _lowered(value, max) if _is_ordinary(max) else minimum(value, max)


def _is_ordinary(bound: Value) -> bool:
    """A number, which no nan of the other hides behind: selection is cheaper than ``max``."""
    return is_weak(bound) and not isinstance(bound, Int) and bool(bound == bound)


def _raised(x: Value, bound: Value) -> Tensor:
    value, bottom = together("clip", x, bound)
    return _chosen(less(value, bottom), bottom, value)


def _lowered(x: Value, bound: Value) -> Tensor:
    value, top = together("clip", x, bound)
    return _chosen(less(top, value), top, value)


def limited(x: Tensor, low: float, high: float) -> Tensor:
    """As ``clip`` between two numbers, but by selection: cheap inside other functions."""
    bottom, top = constant_like(x, low), constant_like(x, high)
    raised = _chosen(less(x, bottom), bottom, x)
    return _chosen(less(top, raised), top, raised)


def _chosen(mask: Tensor, yes: Tensor, no: Tensor) -> Tensor:
    return masked(mask, expanded(yes, no.shape)) + masked(negated(mask), no)
