"""Casts between ONNX's element types, on what carries them."""

from __future__ import annotations

from photic.frontends.onnx.codes import decoded, encoded
from photic.frontends.onnx.kinds import KIND, Kind
from photic.frontends.onnx.value import Value
from photic.ir.dtype import BOOL, FLOAT32, INT64
from photic.tensor import compare, primitive
from photic.tensor.tensor import Tensor


def cast(value: Value, to: Kind, saturate: bool = True) -> Value:
    """The value in another element type, by the rules of the standard's Cast.

    Floats to integers truncate; photic's own types saturate, others keep the low bits of int64.
    Integers keep their low bits.
    """
    if value.kind == to:
        return value
    x = plain(value)
    if to.form == "coded":
        floats = x if x.dtype.kind == "float" else x.astype(FLOAT32)
        return Value(encoded(floats, to, saturate), to)
    if to.form == "native":
        return Value(x.astype(to.carrier), to)
    if x.dtype == BOOL:
        return Value(x.astype(to.carrier), to)
    if x.dtype.kind == "float":
        return Value(_of_float(x, to), to)
    if to.bits == INT64.bytes * 8:
        return Value(x.astype(INT64), to)
    return Value(wrapped(x.astype(INT64), to).astype(to.carrier), to)


def plain(value: Value) -> Tensor:
    """The value as numbers: codes decoded, uint64 as floats where it has no other form."""
    if value.kind.form == "coded":
        return decoded(value.tensor, value.kind)
    return value.tensor


def _of_float(x: Tensor, to: Kind) -> Tensor:
    """Truncated to 64 bits, of which the low ones are kept."""
    if to == KIND["uint64"]:
        half = float(1 << (to.bits - 1))
        low = primitive.where(x < half, x, x - half).astype(INT64)
        return primitive.where(x < half, compare.maximum(low, 0), low + INT64.low)
    return wrapped(x.astype(INT64), to).astype(to.carrier)


def wrapped(x: Tensor, to: Kind) -> Tensor:
    """An integer's low bits, as the kind reads them."""
    size = 1 << to.bits
    low = x % size
    return primitive.where(low >= size // 2, low - size, low) if to.is_signed else low
