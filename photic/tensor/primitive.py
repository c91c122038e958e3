"""The twelve primitives on handles, and masks: what every other function here is composed of.

Operands of these functions have one dtype already and are broadcast here. ``masked`` is the exact
selection of DESIGN: where the mask is false it gives -0.0 (0, False), the identity of ``add``,
whatever the value is; so ``where`` is right to the bit. Users multiply with ``*``, which casts a
bool first and keeps 0*inf = nan.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps

from photic.base.errors import DtypeMismatch
from photic.ir import graph
from photic.ir.dtype import BOOL, FLOAT32, INT64, DType, dtype_of
from photic.tensor.axes import checked_axis
from photic.tensor.tensor import (
    DTypeLike,
    Tensor,
    Value,
    broadcast_shape,
    expanded,
    in_dtype,
    joined_dtype,
    method,
    number,
    tensor,
    together,
    whole,
)

# --- floats ---------------------------------------------------------------------------------


def as_float(x: Value, op: str) -> Tensor:
    """The value; integers and bools become float32."""
    value = tensor(x, op)
    return value if value.dtype.kind == "float" else value.astype(FLOAT32)


def in_float32(function: Callable[[Tensor], Tensor]) -> Callable[[Value], Tensor]:
    """A function of one float value: integers become float32; halves go through float32."""

    @wraps(function)
    def wrapped(x: Value) -> Tensor:
        value = as_float(x, function.__name__)
        if value.dtype.is_half:
            return function(value.astype(FLOAT32)).astype(value.dtype)
        return function(value)

    return wrapped


def floats_together(op: str, *values: Value) -> tuple[Tensor, ...]:
    """As ``together``; integers and bools become float32."""
    dtype = joined_dtype(values, op)
    dtype = dtype if dtype.kind == "float" else FLOAT32
    cast_values = [in_dtype(one, dtype) for one in values]
    shape = broadcast_shape(op, *(one.shape for one in cast_values))
    return tuple(expanded(one, shape) for one in cast_values)


def pair_in_float32(
    function: Callable[[Tensor, Tensor], Tensor],
) -> Callable[[Value, Value], Tensor]:
    """As ``in_float32``, of two values that broadcast and promote."""

    @wraps(function)
    def wrapped(left: Value, right: Value) -> Tensor:
        a, b = floats_together(function.__name__, left, right)
        if a.dtype.is_half:
            return function(a.astype(FLOAT32), b.astype(FLOAT32)).astype(a.dtype)
        return function(a, b)

    return wrapped


def _unary(op: str, x: Value) -> Tensor:
    return whole(graph.unary(op, as_float(x, op).operand))


def exp2(x: Value) -> Tensor:
    """2**x within 2 ulp. exp2(-inf) = 0, exp2(inf) = inf; subnormal results are kept."""
    return _unary("exp2", x)


def log2(x: Value) -> Tensor:
    """The logarithm to base 2 within 2 ulp. log2(0) = -inf, log2(x < 0) = nan."""
    return _unary("log2", x)


def sin(x: Value) -> Tensor:
    """The sine within 2 ulp over the whole range. sin(inf) = nan, sin(-0) = -0."""
    return _unary("sin", x)


def sqrt(x: Value) -> Tensor:
    """The square root, correctly rounded. sqrt(x < 0) = nan, sqrt(-0) = -0."""
    return _unary("sqrt", x)


def reciprocal(x: Value) -> Tensor:
    """1/x, correctly rounded. 1/0 = inf, 1/-0 = -inf, 1/inf = 0."""
    return _unary("recip", x)


# --- two operands ---------------------------------------------------------------------------


def apply(op: str, left: Tensor, right: Tensor) -> Tensor:
    """A binary primitive on two tensors of one dtype, broadcast."""
    shape = broadcast_shape(op, left.shape, right.shape)
    return whole(graph.binary(op, expanded(left, shape).operand, expanded(right, shape).operand))


def masked(mask: Tensor, value: Value) -> Tensor:
    """``value`` where the mask is true, -0.0 (0, False) elsewhere, for every value."""
    require_bool("mask", mask)
    return apply("mul", mask, tensor(value))


@method
def add(left: Value, right: Value) -> Tensor:
    """The sum. Integers wrap; on two bools it is or; inf + -inf = nan; -0.0 is the identity."""
    return apply("add", *together("add", left, right))


@method
def multiply(left: Value, right: Value) -> Tensor:
    """The product. Integers wrap; on two bools it is and; 0*inf = nan, also for a bool's 0."""
    return apply("mul", *together("multiply", left, right))


@method
def mod(left: Value, right: Value) -> Tensor:
    """The floored remainder: its sign is the divisor's. Integers by 0 give 0, floats nan."""
    return apply("mod", *numbers_together("mod", left, right))


@method
def less(left: Value, right: Value) -> Tensor:
    """left < right as bool; false if either is nan."""
    return apply("less_than", *together("less", left, right))


def numbers_together(op: str, *values: Value) -> tuple[Tensor, ...]:
    """As ``together``; DtypeMismatch if the common dtype is bool."""
    result = together(op, *values)
    if result[0].dtype == BOOL:
        raise DtypeMismatch(op=op, given=BOOL, expected="a number dtype")
    return result


def require_bool(op: str, x: Tensor) -> None:
    """DtypeMismatch for anything but bool."""
    if x.dtype != BOOL:
        raise DtypeMismatch(op=op, given=x.dtype, expected="bool")


# --- logic on bools, selection --------------------------------------------------------------


def negated(x: Tensor) -> Tensor:
    """The opposite of a bool: ``x < true``."""
    return apply("less_than", x, number(True, BOOL))


def where(condition: Value, yes: Value, no: Value) -> Tensor:
    """``yes`` where the condition holds (is not 0), else ``no``; nothing shows of the other.

    ``c*yes + (not c)*no`` with exact masks. Shapes broadcast, ``yes`` and ``no`` promote.
    """
    mask = tensor(condition, "where").astype(BOOL)
    first, second = together("where", yes, no)
    return masked(mask, first) + masked(negated(mask), second)


def constant_like(x: Tensor, value: float) -> Tensor:
    """A number of rank 0 in the dtype of ``x``."""
    return in_dtype(value, x.dtype)


# --- reductions -----------------------------------------------------------------------------


def reduced(op: str, x: Tensor, axis: int) -> Tensor:
    """``sum`` or ``max`` over one axis, which goes; the dtype stays."""
    return whole(graph.reduce(op, x.operand, checked_axis(op, axis, x.ndim)))


def accumulated(dtype: DType) -> DType:
    """The dtype in which a chain of operations on halves is done."""
    return FLOAT32 if dtype.is_half else dtype


def total_dtype(dtype: DType) -> DType:
    """In what sums and products are computed: integers and bools int64, halves float32."""
    return accumulated(dtype) if dtype.kind == "float" else INT64


def in_totals(x: Tensor, dtype: DTypeLike | None) -> tuple[Tensor, DType]:
    """The value in the dtype in which sums and products are computed, and that of the result.

    That is x's own, int64 for integers and bools; or ``dtype``, to which the value is cast first.
    Halves are computed in float32; integers wrap in the dtype that was asked for.
    """
    if dtype is None:
        wide = total_dtype(x.dtype)
        return x.astype(wide), x.dtype if x.dtype.kind == "float" else wide
    result = dtype_of(dtype)
    return x.astype(result).astype(INT64 if result == BOOL else accumulated(result)), result
