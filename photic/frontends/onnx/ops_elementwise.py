"""Operators that act on each element: arithmetic, comparisons, logic, bits, functions."""

from __future__ import annotations

import functools
from collections.abc import Callable

import numpy as np

from photic.frontends.onnx.call import Call, Op
from photic.frontends.onnx.kinds import KIND
from photic.frontends.onnx.value import Value, is_symbolic
from photic.ir.graph import Payload
from photic.tensor import (
    activations,
    arithmetic,
    bitwise,
    creation,
    elementary,
    error_functions,
    inverse_functions,
    powers,
    primitive,
    rounding,
    shapes,
    waves,
)
from photic.tensor import compare as compare_functions
from photic.tensor.tensor import Tensor

Function = Callable[..., Tensor]
BROADCASTS = 7  # from this version on shapes meet as in NumPy


def unary(function: Function) -> Callable[[Call], Tensor]:
    """A function of one tensor."""
    return lambda call: function(call.tensor(0))


def pair(call: Call) -> tuple[Tensor, Tensor]:
    """Two tensors; before version 7 the second one is laid along the axis that is named."""
    left, right = call.tensor(0), call.tensor(1)
    if call.version < BROADCASTS and call.flag("broadcast") and "axis" in call.attributes:
        axis = call.integer("axis") % max(1, left.ndim)
        after = left.ndim - axis - right.ndim
        right = shapes.reshape(right, (*right.shape, *(1,) * after))
    return left, right


def binary(function: Function) -> Callable[[Call], Tensor]:
    """A function of two tensors that broadcast."""
    return lambda call: function(*pair(call))


def many(function: Function) -> Callable[[Call], Tensor]:
    """A function of two, taken over all inputs."""
    return lambda call: functools.reduce(function, call.tensors())


def _divide(call: Call) -> Tensor:
    """Quotients; those of integers are rounded to 0."""
    left, right = pair(call)
    if left.dtype.kind == "float":
        return arithmetic.divide(left, right)
    if not left.dtype.signed or call.value(0).kind.form == "unsigned":
        return arithmetic.floor_divide(left, right)
    return arithmetic.floor_divide(left - arithmetic.fmod(left, right), right)


def _modulo(call: Call) -> Tensor:
    left, right = pair(call)
    return arithmetic.fmod(left, right) if call.flag("fmod") else primitive.mod(left, right)


def _power(call: Call) -> Tensor:
    """A power in the dtype of the base."""
    base, exponent = pair(call)
    is_one = all(one == 1 for one in exponent.shape) and exponent.ndim <= base.ndim
    is_float = base.dtype.kind == exponent.dtype.kind == "float"
    held = exponent.operand.node.attribute
    if is_one and is_float and isinstance(held, Payload):  # a number: a square is a product
        return powers.power(base, float(held.array.reshape(()).item())).astype(base.dtype)
    return powers.power(base, exponent).astype(base.dtype)


def _mean(call: Call) -> Tensor:
    return many(primitive.add)(call) / len(call.inputs)


def _shift(call: Call) -> Tensor:
    x, places = call.tensor(0), call.tensor(1)
    direction = call.choice("direction", ("LEFT", "RIGHT"), "")
    if direction == "LEFT":
        return bitwise.left_shift(x, places)
    return _right_shifted(x, places, call)


def _right_shifted(x: Tensor, places: Tensor, call: Call) -> Tensor:
    """The bits moved down; of the highest half of uint64 the sign is taken for the bit it is."""
    kind = call.value(0).kind
    if kind != KIND["uint64"]:
        return bitwise.right_shift(x, places)
    top = bitwise.left_shift(creation.ones_like(x), kind.bits - 1 - places)
    moved = bitwise.right_shift(bitwise.bitwise_and(x, x.dtype.high), places)
    return primitive.where(x < 0, bitwise.bitwise_or(moved, top), moved)


def _clip(call: Call) -> Tensor:
    """Between bounds, which are attributes before version 11."""
    x = call.tensor(0)
    if call.version < 11:
        low, high = (call.number(k) if k in call.attributes else None for k in ("min", "max"))
        return compare_functions.clip(x, low, high)
    low_, high_ = (limit(call.value(k)) if call.has(k) else None for k in (1, 2))
    return compare_functions.clip(x, low_, high_)


def limit(value: Value) -> Tensor | int | float:
    """A bound, as a number where the model holds one: to choose is cheaper than a maximum."""
    held = value.held
    if isinstance(held, np.ndarray) and held.ndim == 0 and not is_symbolic(held):
        number: int | float = held.item()
        return number
    return value.tensor


def _largest(call: Call) -> Tensor:
    return _extreme(call, compare_functions.maximum, compare_functions.clip)


def _smallest(call: Call) -> Tensor:
    return _extreme(
        call, compare_functions.minimum, lambda x, bound: compare_functions.clip(x, max=bound)
    )


def _extreme(call: Call, of_two: Function, limited: Function) -> Tensor:
    """``of_two`` over all inputs that are tensors, then ``limited`` by those that are numbers."""
    limits = [limit(call.value(number)) for number in range(len(call.inputs))]
    varying = [one for one in limits if isinstance(one, Tensor)]
    if not varying:
        return many(of_two)(call)
    numbers = [one for one in limits if not isinstance(one, Tensor)]
    return functools.reduce(limited, numbers, functools.reduce(of_two, varying))


def _isinf(call: Call) -> Tensor:
    x = call.tensor(0)
    up, down = call.flag("detect_positive", True), call.flag("detect_negative", True)
    if up and down:
        return compare_functions.isinf(x)
    return (
        compare_functions.isposinf(x)
        if up
        else compare_functions.isneginf(x)
        if down
        else creation.zeros(x.shape, "bool")
    )


def _where(call: Call) -> Value:
    yes, no = call.value(1), call.value(2)
    return Value(primitive.where(call.tensor(0), yes.tensor, no.tensor), yes.kind)


def _is_below(compare: Function) -> Callable[[Call], Tensor]:
    """A comparison; of uint64 with the sign for the bit that it is."""

    def run(call: Call) -> Tensor:
        left, right = pair(call)
        if call.value(0).kind == KIND["uint64"]:
            lowest = left.dtype.low
            left, right = left + lowest, right + lowest
        return compare(left, right)

    return run


ELEMENTWISE: tuple[Op, ...] = (
    Op("Add", binary(primitive.add), wraps=True),
    Op("Sub", binary(arithmetic.subtract), wraps=True),
    Op("Mul", binary(primitive.multiply), wraps=True),
    Op("Div", _divide),
    Op("Mod", _modulo),
    Op("Pow", _power, wraps=True),
    Op("Neg", unary(arithmetic.negative)),
    Op("Abs", unary(rounding.abs)),
    Op("Sign", unary(rounding.sign)),
    Op("Reciprocal", unary(primitive.reciprocal)),
    Op("Floor", unary(rounding.floor)),
    Op("Ceil", unary(rounding.ceil)),
    Op("Round", unary(rounding.round)),
    Op("Sqrt", unary(primitive.sqrt)),
    Op("Exp", unary(elementary.exp)),
    Op("Log", unary(elementary.log)),
    Op("Erf", unary(error_functions.erf)),
    Op("Sin", unary(primitive.sin)),
    Op("Cos", unary(waves.cos)),
    Op("Tan", unary(waves.tan)),
    Op("Asin", unary(inverse_functions.asin)),
    Op("Acos", unary(inverse_functions.acos)),
    Op("Atan", unary(inverse_functions.atan)),
    Op("Sinh", unary(activations.sinh)),
    Op("Cosh", unary(activations.cosh)),
    Op("Tanh", unary(activations.tanh)),
    Op("Asinh", unary(inverse_functions.asinh)),
    Op("Acosh", unary(inverse_functions.acosh)),
    Op("Atanh", unary(inverse_functions.atanh)),
    Op("IsNaN", unary(compare_functions.isnan)),
    Op("IsInf", _isinf),
    Op("Max", _largest),
    Op("Min", _smallest),
    Op("Sum", many(primitive.add)),
    Op("Mean", _mean),
    Op("Equal", binary(compare_functions.equal)),
    Op("Less", _is_below(primitive.less)),
    Op("LessOrEqual", _is_below(compare_functions.less_equal)),
    Op("Greater", _is_below(compare_functions.greater)),
    Op("GreaterOrEqual", _is_below(compare_functions.greater_equal)),
    Op("And", binary(compare_functions.logical_and)),
    Op("Or", binary(compare_functions.logical_or)),
    Op("Xor", binary(compare_functions.logical_xor)),
    Op("Not", unary(compare_functions.logical_not)),
    Op("BitwiseAnd", binary(bitwise.bitwise_and)),
    Op("BitwiseOr", binary(bitwise.bitwise_or)),
    Op("BitwiseXor", binary(bitwise.bitwise_xor)),
    Op("BitwiseNot", unary(bitwise.bitwise_not), wraps=True),
    Op("BitShift", _shift, wraps=True),
    Op("Where", _where),
    Op("Clip", _clip),
)
