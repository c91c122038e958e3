"""com.microsoft's operators between quantised tensors: read as numbers, computed, written again.

A zero point that is left out is 0, and the result has the type of the first input then.
"""

from __future__ import annotations

from collections.abc import Callable

from photic.frontends.onnx.call import Call, Op
from photic.frontends.onnx.casts import plain
from photic.frontends.onnx.dynamic import exactly_divided
from photic.frontends.onnx.ops_gates import MICROSOFT
from photic.frontends.onnx.ops_quantised import limits
from photic.frontends.onnx.ops_windows import average_pooled
from photic.frontends.onnx.value import Value
from photic.ir.dtype import FLOAT32, INT32
from photic.tensor import (
    activations,
    adaptive,
    compare,
    gates,
    linear,
    primitive,
    reductions,
    rounding,
    shapes,
)
from photic.tensor.tensor import Tensor

Function = Callable[[Call, Tensor], Tensor]
TRIPLE = 3  # inputs of a quantised tensor: its integers, scale, zero point


def _centred(call: Call, number: int) -> Tensor:
    """The integers of three inputs from ``number`` on, less their zero point, in int32."""
    x = plain(call.value(number)).astype(INT32)
    if not call.has(number + 2):
        return x
    return x - _single(call.tensor(number + 2)).astype(INT32)


def _single(x: Tensor) -> Tensor:
    """A scale or zero point of one element as a number; of several as they are."""
    return shapes.reshape(x, ()) if x.shape == (1,) else x


def _read(call: Call, number: int) -> Tensor:
    """The numbers of three inputs: integers, scale, zero point."""
    return _centred(call, number).astype(FLOAT32) * _single(call.tensor(number + 1))


def _written(call: Call, x: Tensor, scale: int) -> Value:
    """Numbers by the scale of an input and the zero point of the next, if there is one."""
    kind = call.value(scale + 1 if call.has(scale + 1) else 0).kind
    whole = rounding.round(exactly_divided(x, _single(call.tensor(scale))))
    if call.has(scale + 1):
        whole = whole + _single(plain(call.value(scale + 1))).astype(FLOAT32)
    low, high = limits(kind)
    return Value(compare.clip(whole, float(low), float(high)).astype(kind.carrier), kind)


def _of_one(function: Function) -> Callable[[Call], Value]:
    """A function of one quantised tensor."""
    return lambda call: _written(call, function(call, _read(call, 0)), TRIPLE)


def _of_two(function: Callable[[Tensor, Tensor], Tensor]) -> Callable[[Call], Value]:
    """A function of two quantised tensors."""
    return lambda call: _written(call, function(_read(call, 0), _read(call, TRIPLE)), 2 * TRIPLE)


def _leaky(call: Call, x: Tensor) -> Tensor:
    return gates.leaky_relu(x, call.number("alpha", 0.01))


def _softmax(call: Call, x: Tensor) -> Tensor:
    """Over an axis, or before version 13 over all axes from one on."""
    axis = call.integer("axis", -1)
    if call.integer("opset", 13) >= 13:
        return reductions.softmax(x, axis)
    flat = shapes.reshape(x, (*x.shape[: axis % x.ndim], -1))
    return shapes.reshape(reductions.softmax(flat, -1), x.shape)


def _channels_first(pooled: Function) -> Function:
    """A function of (batch, channels, *sizes), of tensors whose channels may be last."""

    def run(call: Call, x: Tensor) -> Tensor:
        if not call.flag("channels_last"):
            return pooled(call, x)
        return shapes.moveaxis(pooled(call, shapes.moveaxis(x, -1, 1)), 1, -1)

    return run


def _concat(call: Call) -> Value:
    """Tensors each with its scale and zero point; the result's come first."""
    parts = [_read(call, number) for number in range(2, len(call.inputs), TRIPLE)]
    return _written(call, shapes.concat(parts, call.integer("axis")), 0)


def _gemm(call: Call) -> Value | Tensor:
    """A product of matrices; without a scale for the result it is float32."""
    a, b = _centred(call, 0), _centred(call, TRIPLE)
    a = shapes.transpose(a) if call.flag("transA") else a
    b = shapes.transpose(b) if call.flag("transB") else b
    total = linear.matmul(a, b)
    if call.has(6):
        total = total + call.tensor(6)
    factor = _single(call.tensor(1)) * _single(call.tensor(4)) * call.number("alpha", 1.0)
    result = total.astype(FLOAT32) * factor
    return _written(call, result, 7) if call.has(7) else result


QLINEAR: tuple[Op, ...] = (
    Op("QLinearAdd", _of_two(primitive.add), domain=MICROSOFT),
    Op("QLinearMul", _of_two(primitive.multiply), domain=MICROSOFT),
    Op("QLinearSigmoid", _of_one(lambda call, x: activations.sigmoid(x)), domain=MICROSOFT),
    Op("QLinearLeakyRelu", _of_one(_leaky), domain=MICROSOFT),
    Op("QLinearSoftmax", _of_one(_softmax), domain=MICROSOFT),
    Op("QLinearAveragePool", _of_one(_channels_first(average_pooled)), domain=MICROSOFT),
    Op(
        "QLinearGlobalAveragePool",
        _of_one(_channels_first(lambda call, x: adaptive.global_avg_pool(x))),
        domain=MICROSOFT,
    ),
    Op("QLinearConcat", _concat, domain=MICROSOFT),
    Op("QGemm", _gemm, domain=MICROSOFT),
)
