"""The block types that run: one record each, saying where its fields lie and what they mean.

A field becomes a constant that is a typed, strided window of the file's own bytes: nothing is
copied, and the unpacking (``unpacking.py``) is composed of primitives, so that a compiler may fuse
it into whatever reads the weights. The result equals ``gguf.dequantize`` bit for bit (the payload
of a NaN apart). Types that are listed in ``block_types.py`` and not here are refused by name.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import NoReturn

import ml_dtypes
import numpy as np
from numpy.typing import NDArray

from photic.base.errors import BadArgument
from photic.frontends.errors import GgufUnsupported
from photic.frontends.gguf import unpacking
from photic.frontends.gguf.block_types import BY_NAME, BlockType
from photic.tensor.creation import constant
from photic.tensor.tensor import Tensor

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


_HALF = np.dtype("<f2")
_BYTE = np.dtype(np.uint8)
_SIGNED = np.dtype(np.int8)
_SINGLE = np.dtype("<f4")


def _halves_at(*offsets_bytes: int) -> tuple[Field, ...]:
    return tuple(Field(one, _HALF, 1) for one in offsets_bytes)


def _bytes_at(offset_bytes: int, *counts: int) -> tuple[Field, ...]:
    """Fields of bytes, one behind the other."""
    ends = itertools.accumulate(counts, initial=offset_bytes)
    return tuple(Field(start, _BYTE, count) for start, count in zip(ends, counts))


# The layouts are ggml's (ggml-common.h).
FORMATS: tuple[BlockFormat, ...] = (
    BlockFormat("F32", (Field(0, _SINGLE, 1),), unpacking.plain),
    BlockFormat("F16", (Field(0, _HALF, 1),), unpacking.plain),
    BlockFormat("BF16", (Field(0, np.dtype(ml_dtypes.bfloat16), 1),), unpacking.plain),
    BlockFormat("Q4_0", (*_halves_at(0), *_bytes_at(2, 16)), unpacking.nibbles),
    BlockFormat("Q4_1", (*_halves_at(0, 2), *_bytes_at(4, 16)), unpacking.nibbles_from),
    BlockFormat("Q5_0", (*_halves_at(0), *_bytes_at(2, 4, 16)), unpacking.fives),
    BlockFormat("Q5_1", (*_halves_at(0, 2), *_bytes_at(4, 4, 16)), unpacking.fives_from),
    BlockFormat("Q8_0", (*_halves_at(0), Field(2, _SIGNED, 32)), unpacking.scaled),
    BlockFormat("Q2_K", (*_bytes_at(0, 16, 64), *_halves_at(80, 82)), unpacking.two_bits),
    BlockFormat("Q3_K", (*_bytes_at(0, 32, 64, 12), *_halves_at(108)), unpacking.three_bits),
    BlockFormat("Q4_K", (*_halves_at(0, 2), *_bytes_at(4, 12, 128)), unpacking.four_bits),
    BlockFormat("Q5_K", (*_halves_at(0, 2), *_bytes_at(4, 12, 32, 128)), unpacking.five_bits),
    BlockFormat(
        "Q6_K",
        (*_bytes_at(0, 128, 64), Field(192, _SIGNED, 16), *_halves_at(208)),
        unpacking.six_bits,
    ),
    BlockFormat("Q8_K", (Field(0, _SINGLE, 1), Field(4, _SIGNED, 256)), unpacking.scaled),
    BlockFormat("IQ4_NL", (*_halves_at(0), *_bytes_at(2, 16)), unpacking.curved),
    BlockFormat("IQ4_XS", (*_halves_at(0), *_bytes_at(2, 2, 4, 128)), unpacking.curved_groups),
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
