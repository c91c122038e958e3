"""The element types of ONNX, as a table, and the dtype that carries each of them here.

Types that photic has are carried as they are. Larger unsigned integers are carried in the next
signed type and wrapped after arithmetic (``uint64`` in the bits of int64), integers of four and two
bits in bytes, the small floats by their codes in bytes. Strings and complex numbers are not read.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import ml_dtypes
import numpy as np
import numpy.typing as npt

from photic.frontends.onnx.errors import OnnxType
from photic.ir.dtype import (
    BFLOAT16,
    BOOL,
    FLOAT16,
    FLOAT32,
    FLOAT64,
    INT8,
    INT16,
    INT32,
    INT64,
    UINT8,
    DType,
)

Array = npt.NDArray[np.generic]


@dataclass(frozen=True, slots=True)
class Kind:
    """An element type: ``code`` is its number in files; ``bits`` of one element in raw data.

    ``form`` is native, unsigned (wrapped in a wider carrier), narrow (few bits in a byte) or coded
    (a float by its code).
    """

    name: str
    code: int
    numpy: np.dtype[np.generic]
    carrier: DType
    bits: int
    form: str = "native"

    def __str__(self) -> str:
        return self.name

    @property
    def is_signed(self) -> bool:
        """False for unsigned integers."""
        return not self.name.startswith("u")

    @property
    def is_float(self) -> bool:
        """True for floats of any size."""
        return self.form == "coded" or self.carrier.kind == "float"


def _kind(name: str, code: int, carrier: DType, bits: int, form: str = "native") -> Kind:
    own = getattr(ml_dtypes, name, None)
    return Kind(name, code, np.dtype(own if own is not None else name), carrier, bits, form)


# the numbers are those of TensorProto.DataType in onnx.proto
KINDS: tuple[Kind, ...] = (
    _kind("float32", 1, FLOAT32, 32),
    _kind("uint8", 2, UINT8, 8),
    _kind("int8", 3, INT8, 8),
    _kind("uint16", 4, INT32, 16, "unsigned"),
    _kind("int16", 5, INT16, 16),
    _kind("int32", 6, INT32, 32),
    _kind("int64", 7, INT64, 64),
    _kind("bool", 9, BOOL, 8),
    _kind("float16", 10, FLOAT16, 16),
    _kind("float64", 11, FLOAT64, 64),
    _kind("uint32", 12, INT64, 32, "unsigned"),
    _kind("uint64", 13, INT64, 64, "unsigned"),
    _kind("bfloat16", 16, BFLOAT16, 16),
    _kind("float8_e4m3fn", 17, UINT8, 8, "coded"),
    _kind("float8_e4m3fnuz", 18, UINT8, 8, "coded"),
    _kind("float8_e5m2", 19, UINT8, 8, "coded"),
    _kind("float8_e5m2fnuz", 20, UINT8, 8, "coded"),
    _kind("uint4", 21, UINT8, 4, "narrow"),
    _kind("int4", 22, INT8, 4, "narrow"),
    _kind("float4_e2m1fn", 23, UINT8, 4, "coded"),
    _kind("float8_e8m0fnu", 24, UINT8, 8, "coded"),
    _kind("uint2", 25, UINT8, 2, "narrow"),
    _kind("int2", 26, INT8, 2, "narrow"),
)
BY_CODE: Mapping[int, Kind] = {one.code: one for one in KINDS}
BY_NUMPY: Mapping[np.dtype[np.generic], Kind] = {one.numpy: one for one in KINDS}
NATIVE: Mapping[DType, Kind] = {one.carrier: one for one in KINDS if one.form == "native"}
KIND = {one.name: one for one in KINDS}
UNREAD = {8: "string", 14: "complex64", 15: "complex128", 0: "undefined"}


def kind_of_code(code: int, where: str) -> Kind:
    """The element type of a number in a file. OnnxType."""
    if code not in BY_CODE:
        raise OnnxType(
            where=where, given=UNREAD.get(code, code), expected=", ".join(one.name for one in KINDS)
        )
    return BY_CODE[code]


def kind_of_array(array: Array, where: str) -> Kind:
    """The element type of an array as users have it. OnnxType."""
    if array.dtype not in BY_NUMPY:
        raise OnnxType(
            where=where, given=array.dtype, expected=", ".join(one.name for one in KINDS)
        )
    return BY_NUMPY[array.dtype]


def carried(array: Array, kind: Kind) -> Array:
    """An array of a kind's own dtype in the dtype that carries it."""
    if kind.form == "native":
        return array
    if kind.form == "coded":
        return array.view(np.uint8)
    if kind.bits == INT64.bytes * 8:
        return array.view(np.int64)
    return array.astype(kind.carrier.numpy)


def shown(array: Array, kind: Kind) -> Array:
    """The way back: what a user sees of a carried array."""
    if kind.form == "native":
        return array
    if kind.form == "coded":
        return np.ascontiguousarray(array).view(kind.numpy)
    if kind.bits == INT64.bytes * 8:
        return np.ascontiguousarray(array).view(np.uint64)
    return array.astype(kind.numpy)
