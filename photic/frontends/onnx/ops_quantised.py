"""Quantised operators as plain arithmetic: integers, scales and zero points."""

from __future__ import annotations

from photic.frontends.onnx.call import Call, Op
from photic.frontends.onnx.casts import cast, plain
from photic.frontends.onnx.dynamic import (
    DynamicWeight,
    dynamic_product,
    exactly_divided,
    integer_product,
    largest_sum,
    quantised_by_range,
)
from photic.frontends.onnx.kinds import KIND, Kind, kind_of_code
from photic.frontends.onnx.ops_gates import MICROSOFT
from photic.frontends.onnx.ops_windows import convolved
from photic.frontends.onnx.value import Value
from photic.ir.dtype import FLOAT32, INT32
from photic.tensor import (
    compare,
    creation,
    repeating,
    rounding,
    shapes,
)
from photic.tensor.tensor import Tensor


def limits(kind: Kind) -> tuple[int, int]:
    """The lowest and the highest integer of a kind."""
    if kind.is_signed:
        return -(1 << (kind.bits - 1)), (1 << (kind.bits - 1)) - 1
    return 0, (1 << kind.bits) - 1


def _laid(call: Call, part: Tensor, x: Tensor, axis: int, size: int) -> Tensor:
    """A scale or zero point over a tensor: one number, one for each place of an axis, or blocks."""
    if part.ndim == 0 or part.shape == (1,):
        return shapes.reshape(part, ())
    axis %= max(1, x.ndim)
    if part.ndim == 1 and size == 0:
        return shapes.reshape(part, [-1 if k == axis else 1 for k in range(x.ndim)])
    if size:
        repeated = repeating.repeat(part, size, axis)
        extent = x.shape[axis]
        places = [slice(None)] * x.ndim
        places[axis] = slice(0, extent)
        return repeated[tuple(places)]
    return part


def _dequantised(call: Call) -> Value:
    value, scale = call.value(0), call.value(1)
    x = plain(value)
    axis, size = call.integer("axis", 1), call.integer("block_size", 0)
    code = call.integer("output_dtype", 0)
    to = kind_of_code(code, call.node.where) if code else scale.kind
    wide = x.astype(INT32) if x.dtype.kind == "int" else x
    if call.has(2):
        zero = plain(call.value(2))
        zero = zero.astype(INT32) if zero.dtype.kind == "int" else zero
        wide = wide - _laid(call, zero, x, axis, size)
    factor = _laid(call, plain(scale).astype(FLOAT32), x, axis, size)
    return Value((wide.astype(FLOAT32) * factor).astype(to.carrier), to)


def _quantised(call: Call) -> Value:
    value = call.value(0)
    x = value.tensor
    axis, size = call.integer("axis", 1), call.integer("block_size", 0)
    code = call.integer("output_dtype", 0)
    if call.has(2):
        to = call.value(2).kind
    else:
        to = kind_of_code(code, call.node.where) if code else KIND["uint8"]
    wide = x.astype(FLOAT32)
    scaled = exactly_divided(wide, _laid(call, plain(call.value(1)), x, axis, size))
    if to.form == "coded":
        return cast(Value(scaled, KIND["float32"]), to, call.flag("saturate", True))
    return Value(_to_integers(call, scaled, to, x, axis, size), to)


def _to_integers(call: Call, scaled: Tensor, to: Kind, x: Tensor, axis: int, size: int) -> Tensor:
    whole = rounding.round(scaled)
    if call.has(2):
        whole = whole + _laid(call, plain(call.value(2)).astype(FLOAT32), x, axis, size)
    low, high = limits(to)
    return compare.clip(whole, float(low), float(high)).astype(to.carrier)


def _dynamic(call: Call) -> list[Value | Tensor]:
    found, kind = quantised_by_range(call.tensor(0)), KIND["uint8"]
    return [Value(found.integers, kind), found.scale, Value(found.zero, kind)]


# --- products -------------------------------------------------------------------------------


def _less_zero(x: Tensor, zero: Tensor | None, axis_from_end: int) -> Tensor:
    """Integers less their zero point: one number, or one for each row or column."""
    wide = x.astype(INT32)
    if zero is None:
        return wide
    point = zero.astype(INT32)
    if point.ndim == 1 and point.shape != (1,) and axis_from_end == 2:
        point = point[:, None]
    return wide - (shapes.reshape(point, ()) if point.shape == (1,) else point)


def _matmul_integer(call: Call) -> Tensor:
    left = _less_zero(call.tensor(0), call.optional(2), 2)
    right = _less_zero(call.tensor(1), call.optional(3), 1)
    return _product(call, left, right, 1, 3).astype(INT32)


def _product(call: Call, left: Tensor, right: Tensor, weight: int, zero: int) -> Tensor:
    """The exact product; ``weight`` and ``zero`` are numbers of inputs, the right side's."""
    most = largest_sum(call.value(weight), call.value(zero) if call.has(zero) else None)
    return integer_product(left, right, most)


def _matmul_integer_to_float(call: Call) -> Tensor:
    """com.microsoft: the integer product times both scales, and a bias."""
    left = _less_zero(call.tensor(0), call.optional(4), 2)
    right = _less_zero(call.tensor(1), call.optional(5), 1)
    total = _product(call, left, right, 1, 5).astype(FLOAT32)
    result = total * (call.tensor(2) * call.tensor(3))
    bias = call.optional(6)
    return result if bias is None else result + bias


def _dynamic_matmul(call: Call) -> Tensor:
    """com.microsoft: the left side quantised by its range first."""
    zero = call.optional(3)
    weight = call.tensor(1)
    nothing = creation.zeros((), weight.dtype)
    most = largest_sum(call.value(1), None if zero is None else call.value(3))
    held = DynamicWeight(weight, call.tensor(2), nothing if zero is None else zero, most)
    result = dynamic_product(call.tensor(0), held)
    bias = call.optional(4)
    return result if bias is None else result + bias


def _qlinear_matmul(call: Call) -> Value:
    left = _less_zero(call.tensor(0), call.tensor(2), 2)
    right = _less_zero(call.tensor(3), call.tensor(5), 1)
    total = _product(call, left, right, 3, 5).astype(FLOAT32)
    a_scale, b_scale, y_scale = (call.tensor(k).astype(FLOAT32) for k in (1, 4, 6))
    if a_scale.ndim == 1 and a_scale.shape != (1,):
        a_scale = a_scale[:, None]
    return _requantised(call, total * ((a_scale * b_scale) / y_scale), 7)


def _requantised(call: Call, scaled: Tensor, number: int) -> Value:
    """Rounded, the zero point added, in the kind of that."""
    kind = call.value(number).kind
    low, high = limits(kind)
    zero = call.tensor(number).astype(FLOAT32)
    zero = shapes.reshape(zero, ()) if zero.shape == (1,) else zero
    return Value(
        compare.clip(rounding.round(scaled) + zero, float(low), float(high)).astype(kind.carrier),
        kind,
    )


def _qlinear_conv(call: Call) -> Value:

    x = _less_zero(call.tensor(0), call.tensor(2), 1)
    weight, zero = call.tensor(3).astype(INT32), call.tensor(5).astype(INT32)
    weight = weight - (shapes.reshape(zero, (-1, *(1,) * (weight.ndim - 1))) if zero.ndim else zero)
    total = convolved(call, x, weight, call.optional(8)).astype(FLOAT32)
    w_scale = call.tensor(4)
    factor = call.tensor(1) * w_scale / call.tensor(6)
    if factor.ndim == 1 and factor.shape != (1,):
        factor = shapes.reshape(factor, (-1, *(1,) * (x.ndim - 2)))
    return _requantised(call, total * factor, 7)


QUANTISED: tuple[Op, ...] = (
    Op("QuantizeLinear", _quantised),
    Op("DequantizeLinear", _dequantised),
    Op("DynamicQuantizeLinear", _dynamic),
    Op("MatMulInteger", _matmul_integer),
    Op("QLinearMatMul", _qlinear_matmul),
    Op("QLinearConv", _qlinear_conv),
    Op("QuantizeLinear", _quantised, domain=MICROSOFT),
    Op("DequantizeLinear", _dequantised, domain=MICROSOFT),
    Op("MatMulIntegerToFloat", _matmul_integer_to_float, domain=MICROSOFT),
    Op("DynamicQuantizeMatMul", _dynamic_matmul, domain=MICROSOFT),
)
