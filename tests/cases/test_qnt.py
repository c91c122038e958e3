"""QNT-01 and QNT-02: rounding to even, saturation, zero blocks, scales that never overflow."""

from __future__ import annotations

from collections.abc import Callable

import gguf
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from photic.base.errors import BadArgument
from photic.frontends.gguf.pack import quantise_linear, quantise_q4_1, quantise_q8_0

Packer = Callable[[np.ndarray], np.ndarray]
PACKERS: tuple[tuple[str, Packer], ...] = (("Q8_0", quantise_q8_0), ("Q4_1", quantise_q4_1))
every_type = pytest.mark.parametrize(("name", "pack"), PACKERS, ids=[one[0] for one in PACKERS])

TIES = [0.25, 0.75, 1.25, 1.75, -0.25, -0.75]
HALF_ULP = 2.0**-11  # of float16, relative
LARGEST_HALF = 65504.0


def unpacked(name: str, packed: np.ndarray) -> np.ndarray:
    return gguf.dequantize(packed, gguf.GGMLQuantizationType[name])


# --- QNT-01 ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("values", "scale", "zero_point", "dtype", "expected"),
    [
        (TIES, 0.5, 0, np.int8, [0, 2, 2, 4, 0, -2]),
        (TIES, 0.5, 0, np.uint8, [0, 2, 2, 4, 0, 0]),
        (TIES, 0.5, 10, np.int8, [10, 12, 12, 14, 10, 8]),
        (TIES, 0.5, 10, np.uint8, [10, 12, 12, 14, 10, 8]),
        ([-129, -128, -127, 127, 128, 300], 1, 0, np.int8, [-128, -128, -127, 127, 127, 127]),
        ([-129, -128, 117, 118, 300], 1, 10, np.int8, [-119, -118, 127, 127, 127]),
        ([-10.5, -11.5, -12.5, 245.5], 1, 10, np.uint8, [0, 0, 0, 255]),
        ([1e38, -1e38, np.inf, -np.inf], 1e-3, 0, np.int8, [127, -128, 127, -128]),
        ([2.0**40, -(2.0**40)], 1, 0, np.int32, [2**31 - 1, -(2**31)]),
    ],
)
def test_ties_go_to_even_then_the_zero_point_is_added_then_it_saturates(
    values: list[float], scale: float, zero_point: int, dtype: type, expected: list[int]
) -> None:
    codes = quantise_linear(np.array(values, np.float32), scale, zero_point, dtype)
    assert codes.dtype == dtype
    assert codes.tolist() == expected


@pytest.mark.parametrize("zero_point", [0, 10])
def test_nan_quantises_to_zero(zero_point: int) -> None:
    assert quantise_linear([np.nan], 1.0, zero_point, np.int8).tolist() == [0]


def test_half_values_are_divided_in_float32() -> None:
    values = np.float16([0.05002, -0.05002])
    scale = float(np.float16(0.09998))
    assert quantise_linear(values, scale, 0, np.int8).tolist() == [1, -1]  # 0.50031 rounds up


@pytest.mark.parametrize("scale", [0.0, -1.0, np.inf, np.nan])
def test_a_scale_that_is_not_positive_and_finite_is_refused(scale: float) -> None:
    with pytest.raises(BadArgument, match="scale"):
        quantise_linear([1.0], scale, 0, np.int8)


def test_codes_of_blocks_round_ties_to_even() -> None:
    # 127 makes the scale 1 exactly; the codes are then the rounded values.
    row = np.zeros(32, np.float32)
    row[:8] = [127, 0.5, 1.5, 2.5, -0.5, -1.5, -2.5, 126.5]
    assert quantise_q8_0(row)[2:10].view(np.int8).tolist() == [127, 0, 2, 2, 0, -2, -2, 126]
    row[:8] = [15, 0.5, 1.5, 2.5, 3.5, 4.5, 13.5, 14.5]
    assert (quantise_q4_1(row)[4:12] % 16).tolist() == [15, 0, 2, 2, 4, 4, 14, 14]


# --- QNT-02 ---------------------------------------------------------------------------------


def one_tiny() -> np.ndarray:
    row = np.zeros(256, np.float32)
    row[100] = 1e-30
    return row


@every_type
def test_blocks_of_zeros_come_back_as_zeros(name: str, pack: Packer) -> None:
    for row in (np.zeros(256, np.float32), -np.zeros(256, np.float32), one_tiny()):
        assert np.array_equal(unpacked(name, pack(row)), np.zeros(256))


@every_type
@pytest.mark.parametrize("value", [1.0, 0.1, -3.25, 1e-6, LARGEST_HALF, -LARGEST_HALF])
def test_blocks_of_equal_values_come_back_within_a_half_ulp(
    name: str, pack: Packer, value: float
) -> None:
    found = unpacked(name, pack(np.full(256, value, np.float32)))
    # float16 steps: half an ulp of the stored scale or minimum, at least half the smallest one
    allowed = abs(value) * HALF_ULP + 127 * 2.0**-25
    assert np.all(np.abs(found - value) <= allowed)


@every_type
@pytest.mark.parametrize("value", [1e30, np.inf, np.finfo(np.float32).max])
def test_a_scale_past_float16_saturates(name: str, pack: Packer, value: float) -> None:
    row = np.linspace(-1, 1, 256, dtype=np.float32)
    row[3], row[40] = value, -value
    packed = pack(row)
    found = unpacked(name, packed)
    assert np.all(np.isfinite(found))
    scales = packed.reshape(8, -1)[:, :2].copy().view(np.float16)
    assert np.all(np.isfinite(scales))


@every_type
def test_nan_packs_as_zero_does(name: str, pack: Packer) -> None:
    row = np.linspace(-1, 1, 64, dtype=np.float32)
    row[5] = 0.0
    with_nan = row.copy()
    with_nan[5] = np.nan
    assert np.array_equal(pack(with_nan), pack(row))


@every_type
@pytest.mark.parametrize("length", [14, 1, 33, 1153])
def test_a_row_that_is_no_whole_number_of_blocks_is_refused(
    name: str, pack: Packer, length: int
) -> None:
    with pytest.raises(BadArgument, match=f"row length is {length}, expected a multiple of 32"):
        pack(np.zeros((2, length), np.float32))


@every_type
def test_a_row_of_1152_is_36_blocks(name: str, pack: Packer) -> None:
    block_bytes = gguf.GGML_QUANT_SIZES[gguf.GGMLQuantizationType[name]][1]
    assert pack(np.zeros((3, 1152), np.float32)).shape == (3, 36 * block_bytes)


@every_type
def test_no_rows_and_no_blocks_pack_to_nothing(name: str, pack: Packer) -> None:
    assert pack(np.zeros((0, 64), np.float32)).shape[0] == 0
    assert pack(np.zeros((2, 0), np.float32)).shape == (2, 0)


@every_type
@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), exponent=st.integers(-12, 12))
def test_what_is_packed_comes_back_within_half_a_step(
    name: str, pack: Packer, seed: int, exponent: int
) -> None:
    row = np.random.default_rng(seed).standard_normal((2, 96)).astype(np.float32) * 2.0**exponent
    blocks = row.reshape(-1, 32)
    levels = {"Q8_0": 127, "Q4_1": 15}[name]
    span = np.abs(blocks).max(1) if name == "Q8_0" else np.ptp(blocks, axis=1)
    # Half a step; and the scale and the minimum, each off by half a float16 ulp (at least 2^-25).
    largest = np.abs(blocks).max(1)
    allowed = span / levels * 0.5 + 4 * largest * HALF_ULP + (levels + 1) * 2.0**-25
    error = np.abs(unpacked(name, pack(row)).reshape(-1, 32) - blocks).max(1)
    assert np.all(error <= allowed)


@every_type
def test_packing_is_no_worse_than_the_peers(name: str, pack: Packer) -> None:
    row = np.random.default_rng(1).standard_normal((64, 256)).astype(np.float32)
    peer = gguf.quantize(row, gguf.GGMLQuantizationType[name])
    ours_error = np.mean((unpacked(name, pack(row)) - row) ** 2)
    peer_error = np.mean((unpacked(name, peer) - row) ** 2)
    assert ours_error <= peer_error * 1.001  # rounding by the stored scale, not the exact one
