"""The GGUF reader agrees with the ``gguf`` package; its accessors check declared types."""

from __future__ import annotations

import time
from pathlib import Path

import gguf
import numpy as np
import pytest
from frontends.gguf_fixtures import F32, STRING, Builder, small_bytes

from photic.frontends.errors import GgufCorrupt
from photic.frontends.gguf import GgufFile, open_gguf
from photic.frontends.gguf.block_types import BY_IDENTIFIER, BY_NAME

# The gguf package still gives Q8_1 the size of a block with two float32 (it never is in a file);
# ggml's own struct has two halves.
OUTDATED_IN_PEER = {"Q8_1"}
OPEN_SECONDS = 0.15


@pytest.fixture
def small(tmp_path: Path) -> GgufFile:
    path = tmp_path / "small.gguf"
    path.write_bytes(small_bytes())
    return open_gguf(path)


def assert_same_as_peer(path: Path) -> None:
    """Every key, type, tensor, shape, offset and byte agrees with gguf.GGUFReader."""
    ours, peer = open_gguf(path), gguf.GGUFReader(path)
    keys = {key: one for key, one in peer.fields.items() if not key.startswith("GGUF.")}
    assert list(ours.metadata) == list(keys)
    for key, one in keys.items():
        assert ours.metadata[key] == one.contents()
        expected = " of ".join(kind.name.lower() for kind in one.types)
        assert ours.types[key] == expected
    assert list(ours.tensors) == [one.name for one in peer.tensors]
    for one in peer.tensors:
        tensor = ours.tensors[one.name]
        assert tensor.shape == tuple(int(size) for size in reversed(one.shape))
        assert tensor.block_type == one.tensor_type.name
        assert (tensor.offset_bytes, tensor.size_bytes) == (one.data_offset, one.n_bytes)
        assert np.array_equal(ours.data(tensor), one.data.reshape(-1).view(np.uint8))


def write_with_peer(path: Path, alignment: int) -> dict[str, np.ndarray]:
    """A file by gguf.GGUFWriter with every kind of key, and the arrays it holds."""
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_custom_alignment(alignment)
    writer.add_block_count(3)
    writer.add_layer_norm_rms_eps(1e-6)
    writer.add_bool("test.flag", False)
    writer.add_int64("test.wide", -(2**60))
    writer.add_float64("test.double", 1 / 3)
    writer.add_string("test.text", "naïve 👍\0 end")
    writer.add_token_list(["<s>", "Ġthe", "👍", ""])
    writer.add_token_scores([0.0, -1.5, 2.25, 1e-30])
    writer.add_token_types([3, 1, 1, 6])
    writer.add_array("test.heads", [4, 8, 4])
    random = np.random.default_rng(3)
    arrays = {
        "a.weight": random.standard_normal((3, 5)).astype(np.float32),
        "b.weight": random.standard_normal((2, 3, 4)).astype(np.float16),
        "c.weight": np.arange(7, dtype=np.int32),
    }
    for name, array in arrays.items():
        writer.add_tensor(name, array)
    for name, kind in (("q4.weight", "Q4_1"), ("q8.weight", "Q8_0")):
        block_type = gguf.GGMLQuantizationType[kind]
        packed = gguf.quantize(random.standard_normal((6, 64)).astype(np.float32), block_type)
        writer.add_tensor(name, packed, raw_dtype=block_type)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return arrays


@pytest.mark.parametrize("alignment", [32, 64, 8])
def test_a_file_by_the_peers_writer_reads_the_same_as_by_its_reader(
    tmp_path: Path, alignment: int
) -> None:
    path = tmp_path / "peer.gguf"
    arrays = write_with_peer(path, alignment)
    assert_same_as_peer(path)
    file = open_gguf(path)
    assert file.alignment == alignment
    for name, array in arrays.items():
        tensor = file.tensors[name]
        assert tensor.shape == array.shape
        assert np.array_equal(file.data(tensor).view(array.dtype).reshape(array.shape), array)


def test_our_own_small_file_reads_the_same_with_the_peer(small: GgufFile) -> None:
    assert_same_as_peer(small.path)


@pytest.mark.model
def test_smollm2_reads_the_same_with_the_peer(smollm2_path: Path) -> None:
    assert_same_as_peer(smollm2_path)


@pytest.mark.model
def test_smollm2_opens_fast(smollm2_path: Path) -> None:
    seconds = []
    for _ in range(3):
        began = time.process_time()
        open_gguf(smollm2_path)
        seconds.append(time.process_time() - began)
    assert min(seconds) < OPEN_SECONDS


def test_version_two_reads_as_version_three_does(tmp_path: Path) -> None:
    builder = Builder(version=2)
    builder.key("k", STRING, "v")
    builder.tensor("w", (2, 3), F32, 0)
    builder.data(np.arange(6, dtype=np.float32).tobytes())
    path = tmp_path / "two.gguf"
    path.write_bytes(builder.bytes())
    file = open_gguf(path)
    assert file.version == 2
    assert file.text("k") == "v"
    assert file.tensors["w"].shape == (3, 2)
    assert file.data(file.tensors["w"]).view(np.float32).tolist() == [0, 1, 2, 3, 4, 5]


def test_the_size_of_every_block_type_is_the_peers() -> None:
    for block_type, (values, size) in gguf.GGML_QUANT_SIZES.items():
        if block_type.name in OUTDATED_IN_PEER:
            continue
        ours = BY_IDENTIFIER[int(block_type)]
        assert (ours.name, ours.values, ours.bytes) == (block_type.name, values, size)
        assert BY_NAME[ours.name] is ours


def test_data_is_a_read_only_window_of_the_file(small: GgufFile) -> None:
    data = small.data(small.tensors["a.weight"])
    assert data.base is not None
    assert np.shares_memory(data, small.mapped)
    assert not data.flags.writeable


def test_data_outlives_the_file_object(tmp_path: Path) -> None:
    path = tmp_path / "small.gguf"
    path.write_bytes(small_bytes())
    file = open_gguf(path)
    data = file.data(file.tensors["b.weight"])
    expected = data.copy()
    del file
    assert np.array_equal(data, expected)


def test_tensors_of_no_elements_and_of_no_axes_are_read(tmp_path: Path) -> None:
    builder = Builder()
    builder.tensor("empty", (0, 4), F32, 0)
    builder.tensor("scalar", (), F32, 0)
    builder.tensor("last", (3, 0), F32, 32)
    builder.data(np.float32(2.5).tobytes() + bytes(28))
    path = tmp_path / "odd.gguf"
    path.write_bytes(builder.bytes())
    file = open_gguf(path)
    assert file.tensors["empty"].shape == (4, 0)
    assert file.data(file.tensors["empty"]).size == 0
    assert file.data(file.tensors["last"]).size == 0
    assert file.data(file.tensors["scalar"]).view(np.float32).tolist() == [2.5]


def test_a_file_without_tensors_needs_no_data_section(tmp_path: Path) -> None:
    builder = Builder()
    builder.key("k", STRING, "v")
    path = tmp_path / "vocabulary.gguf"
    path.write_bytes(builder.bytes())
    assert open_gguf(path).tensors == {}


def test_accessors_return_values_of_the_declared_type(small: GgufFile) -> None:
    assert small.integer("llama.block_count") == 2
    assert small.integer("test.scalar.10") == 2**63
    assert small.number("llama.attention.layer_norm_rms_epsilon") == np.float32(1e-5)
    assert small.number("llama.block_count") == 2.0
    assert small.flag("test.scalar.7") is True
    assert small.text("tokenizer.ggml.model") == "gpt2"
    assert small.strings("tokenizer.ggml.tokens") == ["<s>", "Ġa", "b", "ü", ""]
    assert small.integers("tokenizer.ggml.token_type") == [3, 1, 1, 1, 1]
    assert small.floats("tokenizer.ggml.scores") == [0.0, -1.0, -2.0, -3.5, 4.0]
    assert small.flags("test.flags") == [True, False]


def test_a_missing_key_gives_the_default_or_an_error(small: GgufFile) -> None:
    assert small.integer("none", 5) == 5
    assert small.number("none", 0.5) == 0.5
    assert small.text("none", "") == ""
    assert small.flag("none", False) is False
    assert small.strings("none", ()) == []
    with pytest.raises(GgufCorrupt, match="none is missing, expected an integer"):
        small.integer("none")


@pytest.mark.parametrize(
    ("accessor", "key", "message"),
    [
        ("integer", "tokenizer.ggml.model", "of type string, expected an integer"),
        ("integer", "test.scalar.7", "of type bool, expected an integer"),
        ("integer", "test.scalar.12", "of type float64, expected an integer"),
        ("number", "test.scalar.7", "of type bool, expected a number"),
        ("flag", "test.scalar.0", "of type uint8, expected a bool"),
        ("text", "llama.block_count", "of type uint32, expected a string"),
        ("strings", "tokenizer.ggml.scores", "array of float32, expected an array of strings"),
        ("integers", "tokenizer.ggml.scores", "array of float32, expected an array of integers"),
        ("integers", "test.flags", "array of bool, expected an array of integers"),
        ("floats", "tokenizer.ggml.token_type", "array of int32, expected an array of floats"),
        ("flags", "tokenizer.ggml.token_type", "array of int32, expected an array of bools"),
    ],
)
def test_a_key_of_another_type_is_an_error_even_with_a_default(
    small: GgufFile, accessor: str, key: str, message: str
) -> None:
    for arguments in ((), (None,), ([],)):
        with pytest.raises(GgufCorrupt, match=message) as caught:
            getattr(small, accessor)(key, *arguments)
        assert key in str(caught.value)


def test_changing_a_returned_list_does_not_change_the_file(small: GgufFile) -> None:
    small.strings("tokenizer.ggml.tokens").clear()
    assert len(small.strings("tokenizer.ggml.tokens")) == 5


def test_nested_arrays_within_the_limit_are_read(tmp_path: Path) -> None:
    builder = Builder(key_count=1)
    builder.string("key", "nested")
    for kind, count in ((9, None), (9, 2), (4, 1)):
        builder.add("", "<I", kind)
        if count is not None:
            builder.add("", "<Q", count)
    builder.add("", "<I", 11)
    builder.add("", "<I", 8)
    builder.add("", "<Q", 0)
    path = tmp_path / "nested.gguf"
    path.write_bytes(builder.bytes())
    file = open_gguf(path)
    assert file.metadata["nested"] == [[11], []]
    assert file.types["nested"] == "array of array of string or array of uint32"
