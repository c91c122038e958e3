"""Packing float arrays into quantised blocks, in NumPy: for writing files and for tests.

The rules, the same for every type: a value is divided by the scale *as stored* (float16, rounded
to nearest even) in float32, rounded to nearest with ties to even, then shifted, then saturated.
A scale is always finite: one that float16 cannot hold becomes 65504, one that rounds to 0 makes a
block of its base value. NaN counts as 0, infinities as the largest float32. A block of zeros
comes back as exact zeros. Unpacking, which runs in compiled programs, is in ``blocks.py``.
"""

from __future__ import annotations

from typing import NoReturn

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

from photic.base.errors import BadArgument
from photic.frontends.gguf.block_types import BY_NAME, BlockType

Q8_0_LEVEL = 127  # the largest code used for the scale; -128 is reached by rounding only
Q4_1_LEVEL = 15
NIBBLE = 16
LARGEST_HALF = float(np.finfo(np.float16).max)

Float32 = NDArray[np.float32]
Bytes = NDArray[np.uint8]


def quantise_linear(
    values: ArrayLike, scale: float, zero_point: int, dtype: DTypeLike
) -> NDArray[np.integer]:
    """``saturate(round(values / scale) + zero_point)`` in an integer dtype of up to 32 bits.

    The division is in float32 (float64 for float64 values), ties go to even, the zero point is
    added before saturating, and NaN gives 0. ``scale`` is positive and finite.
    """
    given = np.asarray(values)
    kind = np.dtype(dtype)
    if not (np.isfinite(scale) and scale > 0):
        _refuse("quantise_linear", "scale", scale, "a positive finite number")
    working = np.dtype(np.float64 if given.dtype == np.float64 else np.float32)
    with np.errstate(over="ignore"):  # what overflows saturates below
        scaled: NDArray[np.floating] = given.astype(working) / np.asarray(scale, working)
    codes = np.rint(scaled.astype(np.float64)) + zero_point
    limits = np.iinfo(kind)
    saturated = np.nan_to_num(np.clip(codes, limits.min, limits.max), nan=0.0)
    stored: NDArray[np.integer] = saturated.astype(kind)
    return stored


def quantise_q8_0(values: ArrayLike) -> Bytes:
    """Blocks of 32: a float16 scale, 32 int8 codes.

    float [..., n] to uint8 [..., n / 32 * 34]; n must be a multiple of 32 (BadArgument).
    """
    blocks, shape = _blocks("quantise_q8_0", values, BY_NAME["Q8_0"])
    scale = _half(np.abs(blocks).max(axis=-1, keepdims=True) / Q8_0_LEVEL)
    limits = np.iinfo(np.int8)
    codes = np.clip(_codes(blocks, scale), limits.min, limits.max).astype(np.int8)
    return _joined(shape, scale, codes)


def quantise_q4_1(values: ArrayLike) -> Bytes:
    """Blocks of 32: a float16 scale, a float16 minimum, 32 codes of 4 bits.

    float [..., n] to uint8 [..., n / 32 * 20]; n must be a multiple of 32 (BadArgument). Codes of
    the first half of a block are the low nibbles of its bytes, those of the second the high ones.
    """
    blocks, shape = _blocks("quantise_q4_1", values, BY_NAME["Q4_1"])
    lowest = blocks.min(axis=-1, keepdims=True).astype(np.float64)
    highest = blocks.max(axis=-1, keepdims=True).astype(np.float64)
    minimum, scale = _half(lowest), _half((highest - lowest) / Q4_1_LEVEL)
    codes = np.clip(_codes(blocks - minimum, scale), 0, Q4_1_LEVEL).astype(np.uint8)
    low, high = np.split(codes, 2, axis=-1)
    return _joined(shape, scale, minimum, low + NIBBLE * high)


def _blocks(function: str, values: ArrayLike, kind: BlockType) -> tuple[Float32, tuple[int, ...]]:
    """Float32 [blocks, values per block], NaN and infinities replaced, and the packed shape."""
    given = np.asarray(values)
    length = given.shape[-1] if given.ndim else 1
    if length % kind.values:
        _refuse(function, "the row length", length, f"a multiple of {kind.values}")
    with np.errstate(over="ignore"):  # float64 beyond float32 becomes an infinity, then finite
        finite = np.nan_to_num(given.astype(np.float32), nan=0.0)
    shape = (*given.shape[:-1], length // kind.values * kind.bytes)
    return finite.reshape(-1, kind.values), shape


def _half(values: NDArray[np.floating]) -> Float32:
    """Rounded to float16 and saturated, as float32."""
    rounded: NDArray[np.float16] = np.clip(values, -LARGEST_HALF, LARGEST_HALF).astype(np.float16)
    return rounded.astype(np.float32)


def _codes(values: Float32, scale: Float32) -> Float32:
    """``round(values / scale)``, and 0 where the scale is 0."""
    codes: Float32 = np.zeros_like(values)
    np.divide(values, scale, out=codes, where=scale != 0)
    np.rint(codes, out=codes)
    return codes


def _joined(shape: tuple[int, ...], *parts: NDArray[np.generic]) -> Bytes:
    """The parts of each block, one after another, float32 ones stored as float16."""
    stored = [part.astype("<f2") if part.dtype == np.float32 else part for part in parts]
    return np.concatenate([part.view(np.uint8) for part in stored], axis=-1).reshape(shape)


def _refuse(function: str, argument: str, given: object, expected: str) -> NoReturn:
    raise BadArgument(op=function, argument=argument, given=given, expected=expected)
