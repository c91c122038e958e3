"""Operators about types, constants and sizes: casts, constants, shapes, filled tensors."""

from __future__ import annotations

import math

import numpy as np

from photic.frontends.onnx.bits import INTEGER_OF, bits_of_float, float_of_bits
from photic.frontends.onnx.call import Call, Op
from photic.frontends.onnx.casts import cast
from photic.frontends.onnx.kinds import KIND, Array, Kind, kind_of_code
from photic.frontends.onnx.records import Constant
from photic.frontends.onnx.value import Value, sizes_array
from photic.ir.dim import product
from photic.ir.dtype import FLOAT32, FLOAT64
from photic.tensor import creation
from photic.tensor.tensor import Tensor

TYPE_NAMES = {  # before version 6 types have names
    "FLOAT": 1, "UINT8": 2, "INT8": 3, "UINT16": 4, "INT16": 5, "INT32": 6, "INT64": 7,
    "BOOL": 9, "FLOAT16": 10, "DOUBLE": 11, "UINT32": 12, "UINT64": 13,
}  # fmt: skip


def kind_named(call: Call, name: str, default: Kind | None = None) -> Kind:
    """The element type that an attribute names."""
    if name not in call.attributes and default is not None:
        return default
    code = call.attributes.get(name)
    if isinstance(code, str):
        code = TYPE_NAMES.get(code, 0)
    return kind_of_code(code if isinstance(code, int) else call.integer(name), call.node.where)


def _cast(call: Call) -> Value:
    return cast(call.value(0), kind_named(call, "to"), call.flag("saturate", True))


def _cast_like(call: Call) -> Value:
    return cast(call.value(0), call.value(1).kind, call.flag("saturate", True))


def _bit_cast(call: Call) -> Value:
    """Bits read as another type of the same size: integers, and floats of 16 bits or more."""
    value, to = call.value(0), kind_named(call, "to")
    if value.kind.bits != to.bits:
        raise call.attribute_error("to", to, f"a type of {value.kind.bits} bits")
    integers = [one.form != "coded" and one.carrier.kind == "int" for one in (value.kind, to)]
    if all(integers) or "bool" in (value.kind.name, to.name):
        return cast(value, to)
    signed = KIND.get(f"int{to.bits}")
    if signed is not None and value.kind.carrier in INTEGER_OF and integers == [False, True]:
        return cast(Value(bits_of_float(value.tensor), signed), to)
    if signed is not None and to.carrier in INTEGER_OF and integers == [True, False]:
        return Value(float_of_bits(cast(value, signed).tensor), to)
    raise call.attribute_error("to", to, f"a type to which the bits of {value.kind} are known")


# --- constants ------------------------------------------------------------------------------

_DTYPES = {"value_float": "float32", "value_floats": "float32"}


def _constant(call: Call) -> Value:
    for name in ("value", "sparse_value"):
        if name in call.attributes:
            found = call.constant(name)
            return Value(found.array, found.kind)
    for name in ("value_float", "value_int", "value_floats", "value_ints"):
        if name in call.attributes:
            dtype = _DTYPES.get(name, "int64")
            return Value(np.array(call.attributes[name], dtype), KIND[dtype])
    given = ", ".join(call.attributes) or "missing"
    raise call.attribute_error("value", given, "a tensor or numbers")


def _constant_of_shape(call: Call) -> Value:
    found = call.attributes.get("value")
    filler = found if isinstance(found, Constant) else Constant(np.zeros(1, "f4"), KIND["float32"])
    sizes = call.sizes(0)
    if all(isinstance(one, int) for one in sizes) and math.prod(sizes) <= SMALL:
        return Value(np.full(sizes, filler.array.reshape(-1)[0]), filler.kind)
    number = filler.array.reshape(-1)[0]
    return Value(creation.full(sizes, number, filler.kind.carrier), filler.kind)


SMALL = 4096  # elements; larger constants stay one number, repeated


def _eye_like(call: Call) -> Value:
    value = call.value(0)
    kind = kind_named(call, "dtype", value.kind)
    rows, columns = value.shape
    return Value(creation.eye(rows, columns, call.integer("k", 0), kind.carrier), kind)


def _range(call: Call) -> Tensor | Value:
    kind = call.value(0).kind
    first, last, step = (call.known(k).reshape(()).item() for k in range(3))
    if kind.carrier.kind == "float":
        return Value(_float_range(float(first), float(last), float(step), kind), kind)
    return creation.arange(first, last, step).astype(kind.carrier)


def _float_range(first: float, last: float, step: float, kind: Kind) -> Array:
    count = max(0, math.ceil((last - first) / step))
    wide = FLOAT64 if kind.carrier == FLOAT64 else FLOAT32
    return (first + np.arange(count) * step).astype(wide.numpy).astype(kind.carrier.numpy)


# --- sizes ----------------------------------------------------------------------------------


def _shape(call: Call) -> Array:
    shape = call.value(0).shape
    end = call.integer("end", len(shape))
    return sizes_array(shape[slice(call.integer("start", 0), end)])


def _size(call: Call) -> Array:
    return sizes_array([product(call.value(0).shape)]).reshape(())


def _identity(call: Call) -> Value:
    return call.value(0)


def _dropout(call: Call) -> list[Value | Tensor]:
    """Nothing is dropped: training is not supported."""
    if call.version >= 12 and call.has(2) and bool(call.scalar(2)):
        ratio = float(call.scalar(1)) if call.has(1) else 0.5
        if ratio != 0.0:
            raise call.wrong("training mode draws random numbers")
    x = call.value(0)
    return [x, creation.ones(x.shape, "bool")]


TYPES: tuple[Op, ...] = (
    Op("Cast", _cast),
    Op("CastLike", _cast_like),
    Op("BitCast", _bit_cast),
    Op("Constant", _constant),
    Op("ConstantOfShape", _constant_of_shape),
    Op("EyeLike", _eye_like),
    Op("Range", _range),
    Op("Shape", _shape),
    Op("Size", _size),
    Op("Identity", _identity),
    Op("Dropout", _dropout),
)
