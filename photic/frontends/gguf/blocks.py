"""The block types that run: one record each, saying where its fields lie and what they mean.

A field becomes a constant that is a typed, strided window of the file's own bytes: nothing is
copied, and the unpacking below is composed of primitives, so that a compiler may fuse it into
whatever reads the weights. The result equals ``gguf.dequantize`` bit for bit (the payload of a
NaN apart). Types that are listed in ``block_types.py`` and not here are refused by name.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import NoReturn

import ml_dtypes
import numpy as np
from numpy.typing import NDArray

from photic.base.errors import BadArgument
from photic.frontends.errors import GgufUnsupported
from photic.frontends.gguf.block_types import BY_NAME, BlockType
from photic.tensor.creation import constant
from photic.tensor.shapes import stack
from photic.tensor.tensor import Tensor

NIBBLE = 16  # a byte holds two codes of 0..15: the low one, and 16 times the high one
Q4_0_ZERO = 8  # the code of 0.0
# The widest element of a field; windows of data that lies worse are copied once.
ALIGNMENT_BYTES = 4


@dataclass(frozen=True, slots=True)
class Field:
    """``count`` elements of one dtype, so many bytes into every block."""

    offset_bytes: int
    dtype: np.dtype[np.generic]
    count: int


@dataclass(frozen=True, slots=True)
class BlockFormat:
    """How one type unpacks: ``values(*fields)`` gets [..., blocks, count] tensors as stored.

    It returns the values, float32 [..., blocks, values per block].
    """

    name: str
    fields: tuple[Field, ...]
    values: Callable[..., Tensor]


def _plain(values: Tensor) -> Tensor:
    return values.astype("float32")


def _scaled(scale: Tensor, codes: Tensor) -> Tensor:
    return scale.astype("float32") * codes.astype("float32")


def _scaled_nibbles(scale: Tensor, pairs: Tensor) -> Tensor:
    return scale.astype("float32") * (_nibbles(pairs) - Q4_0_ZERO)


def _scaled_nibbles_from(scale: Tensor, minimum: Tensor, pairs: Tensor) -> Tensor:
    return scale.astype("float32") * _nibbles(pairs) + minimum.astype("float32")


def _nibbles(pairs: Tensor) -> Tensor:
    """uint8 [..., k] to float32 [..., 2*k]: all low nibbles, then all high ones (exact)."""
    low = (pairs % NIBBLE).astype("float32")
    high = (pairs.astype("float32") - low) * (1 / NIBBLE)
    *lead, count = pairs.shape
    return stack([low, high], axis=-2).reshape((*lead, 2 * count))


_HALF = np.dtype("<f2")
_BYTE = np.dtype(np.uint8)

FORMATS: tuple[BlockFormat, ...] = (
    BlockFormat("F32", (Field(0, np.dtype("<f4"), 1),), _plain),
    BlockFormat("F16", (Field(0, _HALF, 1),), _plain),
    BlockFormat("BF16", (Field(0, np.dtype(ml_dtypes.bfloat16), 1),), _plain),
    BlockFormat("Q8_0", (Field(0, _HALF, 1), Field(2, np.dtype(np.int8), 32)), _scaled),
    BlockFormat("Q4_0", (Field(0, _HALF, 1), Field(2, _BYTE, 16)), _scaled_nibbles),
    BlockFormat(
        "Q4_1",
        (Field(0, _HALF, 1), Field(2, _HALF, 1), Field(4, _BYTE, 16)),
        _scaled_nibbles_from,
    ),
)
_BY_NAME = {one.name: one for one in FORMATS}


def unpack(data: NDArray[np.uint8], block_type: str, shape: tuple[int, ...]) -> Tensor:
    """The float32 tensor of ``shape`` that a constant of packed bytes stands for.

    ``data``: uint8, one axis, as ``GgufFile.data`` gives it; it must not change afterwards.
    Raises GgufUnsupported for a type that is not unpacked here, BadArgument for a row length that
    is no whole number of blocks, or for too many or too few bytes.
    """
    kind, form = _known(block_type)
    row = shape[-1] if shape else 1
    if row % kind.values:
        _refuse("the row length", row, f"a multiple of {kind.values} ({kind.name})")
    blocks = row // kind.values
    size = math.prod(shape[:-1]) * blocks * kind.bytes
    if data.size != size:
        _refuse("the data", f"{data.size} bytes", f"{size} for {kind.name} of shape {shape}")
    lead = (*shape[:-1], blocks)
    if data.ctypes.data % ALIGNMENT_BYTES:
        data = data.copy()
    packed = data.reshape(*lead, kind.bytes)
    return form.values(*(constant(_window(packed, one)) for one in form.fields)).reshape(shape)


def _known(block_type: str) -> tuple[BlockType, BlockFormat]:
    if block_type not in _BY_NAME:
        raise GgufUnsupported(
            path="unpack", what="the block type", given=block_type, expected=", ".join(_BY_NAME)
        )
    return BY_NAME[block_type], _BY_NAME[block_type]


def _refuse(argument: str, given: object, expected: str) -> NoReturn:
    raise BadArgument(op="unpack", argument=argument, given=given, expected=expected)


def _window(packed: NDArray[np.uint8], one: Field) -> NDArray[np.generic]:
    """[..., blocks, count]: one field of every block, where it lies."""
    end = one.offset_bytes + one.count * one.dtype.itemsize
    return packed[..., one.offset_bytes : end].view(one.dtype)
