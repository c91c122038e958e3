"""Unpacking blocks by primitives equals gguf.dequantize bit for bit, without copying the file."""

from __future__ import annotations

from pathlib import Path

import gguf
import numpy as np
import pytest
from frontends.gguf_fixtures import small_bytes
from hypothesis import given, settings
from hypothesis import strategies as st

import photic as ph
from photic.base.errors import BadArgument
from photic.forms.eval import evaluate_operand
from photic.frontends.errors import GgufUnsupported
from photic.frontends.gguf import open_gguf
from photic.frontends.gguf.block_types import BLOCK_TYPES, BY_NAME
from photic.frontends.gguf.blocks import FORMATS, unpack
from photic.frontends.gguf.pack import quantise_q4_1, quantise_q8_0
from photic.ir.graph import Payload, topological

BY_FORMAT = {one.name: one for one in FORMATS}
NAMES = tuple(BY_FORMAT)
QUANTISED = tuple(name for name in NAMES if BY_NAME[name].values > 1)


def evaluated(data: np.ndarray, name: str, shape: tuple[int, ...]) -> np.ndarray:
    tensor = unpack(data, name, shape)
    assert tensor.shape == shape
    assert str(tensor.dtype) == "float32"
    return evaluate_operand(tensor.operand, {})


def peer(data: np.ndarray, name: str, shape: tuple[int, ...]) -> np.ndarray:
    with np.errstate(invalid="ignore", over="ignore"):  # scales may be infinite or NaN
        if name == "Q8_K":  # which the package does not unpack: float32 scale, 256 codes, 16 sums
            blocks = data.reshape(-1, BY_NAME[name].bytes)
            codes = blocks[:, 4:260].copy().view(np.int8)
            found = blocks[:, :4].copy().view(np.float32) * codes.astype(np.float32)
        else:
            found = gguf.dequantize(data, gguf.GGMLQuantizationType[name])
    return found.reshape(shape)


def scales_of(name: str) -> list[range]:
    """Where the float scales of a block lie: of quantised types the fields that are no codes."""
    fields = BY_FORMAT[name].fields if name in QUANTISED else ()
    return [
        range(one.offset_bytes, one.offset_bytes + one.dtype.itemsize)
        for one in fields
        if one.dtype.kind == "f"
    ]


def stored(name: str, scale: float) -> np.ndarray:
    dtype = np.float32 if name == "Q8_K" else np.float16
    return np.array([scale], dtype).view(np.uint8)


def with_scale(name: str, scale: float) -> np.ndarray:
    """Eight blocks of random codes; minimums are the scale's negative."""
    data = np.random.default_rng(2).integers(0, 256, (8, BY_NAME[name].bytes)).astype(np.uint8)
    for sign, place in zip((1, -1), scales_of(name), strict=False):
        data[:, place.start : place.stop] = stored(name, sign * scale)
    return data.reshape(-1)


def assert_same_bits(found: np.ndarray, expected: np.ndarray) -> None:
    """Equal to the bit, zeros' signs included; of NaN only that it is one."""
    nan = np.isnan(expected)
    assert np.array_equal(np.isnan(found), nan)
    bits = [np.ascontiguousarray(one).view(np.uint32)[~nan] for one in (found, expected)]
    assert np.array_equal(*bits)


@pytest.mark.parametrize("name", NAMES)
@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), rows=st.integers(1, 3), blocks=st.integers(1, 3))
def test_any_bytes_unpack_as_the_peers(name: str, seed: int, rows: int, blocks: int) -> None:
    kind = BY_NAME[name]
    data = np.random.default_rng(seed).integers(0, 256, rows * blocks * kind.bytes, np.uint8)
    shape = (rows, blocks * kind.values)
    assert_same_bits(evaluated(data, name, shape), peer(data, name, shape))


@pytest.mark.parametrize("name", NAMES)
def test_every_pattern_of_a_code_unpacks_as_the_peers(name: str) -> None:
    kind = BY_NAME[name]
    data = np.zeros((256, kind.bytes), np.uint8)
    data[:] = np.arange(256, dtype=np.uint8)[:, None]
    for place in scales_of(name):
        data[:, place.start : place.stop] = stored(name, 0.1)
    shape = (256, kind.values)
    assert_same_bits(evaluated(data.reshape(-1), name, shape), peer(data.reshape(-1), name, shape))


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("lead", [(), (1,), (2, 3), (0,), (2, 0, 3)])
def test_any_rank_unpacks(name: str, lead: tuple[int, ...]) -> None:
    kind = BY_NAME[name]
    shape = (*lead, 2 * kind.values)
    data = np.arange(int(np.prod(lead)) * 2 * kind.bytes).astype(np.uint8)
    if 0 in shape:
        assert evaluated(data, name, shape).size == 0
    else:
        assert_same_bits(evaluated(data, name, shape), peer(data, name, shape))


@pytest.mark.parametrize("name", NAMES)
def test_a_row_of_no_elements_unpacks_to_nothing(name: str) -> None:
    assert evaluated(np.empty(0, np.uint8), name, (3, 0)).shape == (3, 0)


def test_a_scalar_unpacks() -> None:
    assert evaluated(np.float32([2.5]).view(np.uint8), "F32", ()) == np.float32(2.5)


@pytest.mark.parametrize("name", QUANTISED)
def test_the_codes_of_misaligned_data_are_read_right(name: str) -> None:
    kind = BY_NAME[name]
    whole = np.random.default_rng(1).integers(0, 60, 4 * kind.bytes + 1, np.uint8)
    shape = (4, kind.values)
    assert_same_bits(evaluated(whole[1:], name, shape), peer(whole[1:].copy(), name, shape))


def constants_of(data: np.ndarray, name: str, shape: tuple[int, ...]) -> list[np.ndarray]:
    nodes = topological([unpack(data, name, shape).operand.node])
    attributes = [node.attribute for node in nodes if node.op == "constant"]
    return [one.array for one in attributes if isinstance(one, Payload)]


@pytest.mark.parametrize("name", NAMES)
def test_the_constants_are_windows_of_the_data(name: str) -> None:
    kind = BY_NAME[name]
    # Past the size under which graphs keep a copy of a constant by its content.
    shape = (4096, kind.values)
    data = np.zeros(4096 * kind.bytes, np.uint8)
    # All but numbers, and the 16 values of a table.
    windows = [one for one in constants_of(data, name, shape) if one.size > 16]
    assert windows
    assert all(np.shares_memory(one, data) for one in windows)


@pytest.mark.parametrize("length", [1, 14, 33, 48])
@pytest.mark.parametrize("name", QUANTISED)
def test_a_row_that_is_no_whole_number_of_blocks_is_refused(name: str, length: int) -> None:
    with pytest.raises(BadArgument, match=f"row length is {length}, expected a multiple of "):
        unpack(np.zeros(2 * BY_NAME[name].bytes, np.uint8), name, (2, length))


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("excess", [-1, 1])
def test_too_few_or_too_many_bytes_are_refused(name: str, excess: int) -> None:
    kind = BY_NAME[name]
    with pytest.raises(BadArgument, match="the data is"):
        unpack(np.zeros(kind.bytes + excess, np.uint8), name, (kind.values,))


@pytest.mark.parametrize("name", sorted({one.name for one in BLOCK_TYPES} - set(NAMES)))
def test_a_type_that_is_not_unpacked_is_named(name: str) -> None:
    with pytest.raises(GgufUnsupported, match=f"the block type is {name}; supported: F32, F16"):
        unpack(np.zeros(BY_NAME[name].bytes, np.uint8), name, (BY_NAME[name].values,))


@pytest.mark.parametrize(("name", "pack"), [("Q8_0", quantise_q8_0), ("Q4_1", quantise_q4_1)])
def test_zeros_and_a_tiny_value_come_back_as_exact_zeros(name: str, pack: object) -> None:
    assert callable(pack)
    rows = np.zeros((3, 256), np.float32)
    rows[1, 100] = 1e-30
    assert np.array_equal(evaluated(pack(rows).reshape(-1), name, (3, 256)), np.zeros((3, 256)))


SCALES = (65504.0, -65504.0, 2.0**-24, 0.0, -0.0, np.inf, -np.inf, np.nan)


@pytest.mark.parametrize("name", QUANTISED)
@pytest.mark.parametrize("scale", SCALES)
def test_the_extreme_scales_unpack_as_the_peers(name: str, scale: float) -> None:
    flat, shape = with_scale(name, scale), (8, BY_NAME[name].values)
    found = evaluated(flat, name, shape)
    assert np.all(np.isfinite(found)) or not np.isfinite(scale)
    assert_same_bits(found, peer(flat, name, shape))


def test_compiled_blocks_unpack_as_the_peers() -> None:
    """Every type at once: random bytes, a middling scale, a tiny one, an infinite one.

    The fields are inputs, because what depends on constants alone is not left to a program.
    """
    data, outputs, given = {}, {}, {}
    for name in QUANTISED:
        rng = np.random.default_rng(3)
        parts = [rng.integers(0, 256, 8 * BY_NAME[name].bytes).astype(np.uint8)]
        parts += [with_scale(name, scale) for scale in (0.1, 2.0**-24, np.inf)]
        data[name] = np.concatenate(parts)
        packed = data[name].reshape(32, BY_NAME[name].bytes)
        fields = []
        for one in BY_FORMAT[name].fields:
            end = one.offset_bytes + one.count * one.dtype.itemsize
            key = f"{name}_{one.offset_bytes}"
            given[key] = packed[:, one.offset_bytes : end].copy().view(one.dtype)
            fields.append(ph.input(key, given[key].shape, one.dtype.name))
        outputs[name] = BY_FORMAT[name].values(*fields)
    found = ph.compile(outputs, search=0)(**given)
    for name in QUANTISED:
        shape = (32, BY_NAME[name].values)
        assert_same_bits(found[name], peer(data[name], name, shape))


def test_the_tensors_of_a_file_unpack_as_the_peers(tmp_path: Path) -> None:
    path = tmp_path / "small.gguf"
    path.write_bytes(small_bytes())
    file = open_gguf(path)
    for tensor in file.tensors.values():
        data = file.data(tensor)
        found = evaluated(data, tensor.block_type, tensor.shape)
        assert_same_bits(found, peer(data, tensor.block_type, tensor.shape))


@pytest.mark.model
def test_the_weights_of_smollm2_unpack_as_the_peers(smollm2_path: Path) -> None:
    file = open_gguf(smollm2_path)
    kinds: set[str] = set()
    for name in ("output_norm.weight", "blk.0.ffn_down.weight", "blk.29.attn_k.weight"):
        tensor = file.tensors[name]
        kinds.add(tensor.block_type)
        found = evaluated(file.data(tensor), tensor.block_type, tensor.shape)
        assert_same_bits(found, peer(file.data(tensor), tensor.block_type, tensor.shape))
    embedding = file.tensors["token_embd.weight"]
    rows = 512
    data = file.data(embedding)[: rows * embedding.size_bytes // embedding.shape[0]]
    shape = (rows, embedding.shape[1])
    found = evaluated(data, embedding.block_type, shape)
    assert_same_bits(found, peer(data, embedding.block_type, shape))
    assert kinds | {embedding.block_type} == {"F32", "Q4_1", "Q8_0"}
