"""The data types, as one table: their NumPy form, kind and size.

How two of them promote is a matter of tensors: every operation here has operands of one dtype.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from typing import Literal

import ml_dtypes  # noqa: F401  # gives NumPy the name bfloat16
import numpy as np

from photic.base.errors import BadArgument

Kind = Literal["bool", "int", "float"]


@dataclass(frozen=True, slots=True)
class DType:
    """One data type: ``short`` is its name in generated code, ``bytes`` its size in memory."""

    name: str
    short: str
    kind: Kind
    bytes: int
    signed: bool

    def __str__(self) -> str:
        return self.name

    def __eq__(self, other: object) -> bool:  # to its name, to NumPy's dtype and type, too
        return bool(getattr(other, "name", getattr(other, "__name__", other)) == self.name)

    def __hash__(self) -> int:
        return hash(self.name)

    @property
    def numpy(self) -> np.dtype[np.generic]:
        """The NumPy dtype that holds it."""
        return np.dtype(self.name)

    @property
    def is_half(self) -> bool:
        """True for the 16-bit floats, whose arithmetic is done in float32."""
        return self.kind == "float" and self.bytes == 2

    @property
    def low(self) -> int:
        """The smallest integer (integers and bool only)."""
        assert self.kind != "float"
        return -(2 ** (8 * self.bytes - 1)) if self.signed else 0

    @property
    def high(self) -> int:
        """The largest integer (integers and bool only)."""
        assert self.kind != "float"
        return 1 if self.kind == "bool" else 2 ** (8 * self.bytes - self.signed) - 1


FLOAT64 = DType("float64", "f64", "float", 8, True)
FLOAT32 = DType("float32", "f32", "float", 4, True)
FLOAT16 = DType("float16", "f16", "float", 2, True)
BFLOAT16 = DType("bfloat16", "bf16", "float", 2, True)
INT64 = DType("int64", "i64", "int", 8, True)
INT32 = DType("int32", "i32", "int", 4, True)
INT16 = DType("int16", "i16", "int", 2, True)
INT8 = DType("int8", "i8", "int", 1, True)
UINT8 = DType("uint8", "u8", "int", 1, False)
BOOL = DType("bool", "bool", "bool", 1, False)

DTYPES: dict[str, DType] = {
    one.name: one
    for one in (FLOAT64, FLOAT32, FLOAT16, BFLOAT16, INT64, INT32, INT16, INT8, UINT8, BOOL)
}


def dtype_of(given: DType | str | np.dtype[np.generic] | type) -> DType:
    """The record for a name, a NumPy dtype or a Python type; BadArgument for what is not listed."""
    names: dict[object, str] = {float: "float32", int: "int64", bool: "bool"}
    with suppress(AttributeError, TypeError, KeyError):  # what is no dtype, or none that is here
        key = given if isinstance(given, str | type) else given.name
        return DTYPES[np.dtype(names.get(key, key)).name]
    raise BadArgument(op="dtype", argument="dtype", given=given, expected=", ".join(DTYPES))


def accumulator(dtype: DType) -> DType:
    """The dtype in which a sum of this dtype is accumulated."""
    return FLOAT32 if dtype.is_half else dtype
