"""FIL-02: hostile safetensors files raise a clear error, quick and small; sound ones load."""

from __future__ import annotations

import json
import struct
import time
import tracemalloc
from contextlib import suppress
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest
import safetensors.numpy
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from photic.base.errors import BadArgument
from photic.frontends import safetensors as photic_safetensors
from photic.frontends.safetensors import open_safetensors, write_safetensors
from photic.storage.errors import FileUnreadable, TensorFileCorrupt
from photic.storage.tensorfile import DTYPES, open_tensors, read_tensors

SECONDS = 1.0
MEMORY_BYTES = 100_000_000


def with_header(header: bytes, data: bytes = b"", length: int | None = None) -> bytes:
    return struct.pack("<Q", len(header) if length is None else length) + header + data


def with_json(header: object, data: bytes = b"") -> bytes:
    return with_header(json.dumps(header).encode(), data)


def tensor(dtype: object, shape: object, offsets: object) -> dict[str, object]:
    return {"dtype": dtype, "shape": shape, "data_offsets": offsets}


def refused(path: Path, content: bytes) -> str:
    """The message of the error; anything but TensorFileCorrupt, or slow or big, fails."""
    path.write_bytes(content)
    tracemalloc.start()
    began = time.process_time()
    try:
        with pytest.raises(TensorFileCorrupt) as caught:
            open_safetensors(path)
        seconds = time.process_time() - began
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert seconds < SECONDS
    assert peak < MEMORY_BYTES
    assert str(path) in str(caught.value)
    return str(caught.value)


EIGHT = bytes(range(8))
TWO_FLOATS = tensor("F32", [2], [0, 8])

# what is wrong, the file, what the message must say
BAD_FILES: tuple[tuple[str, bytes, str], ...] = (
    ("length 2^63", with_header(b"{}", length=2**63), "header length is 9223372036854775808"),
    ("length 0", with_header(b"", EIGHT), "header length is 0"),
    ("length past the file", with_header(b"{}", length=3), "header length is 3"),
    ("no length", b"\x02\0\0", "3 bytes long"),
    ("no JSON", with_header(b"{oops}"), "not JSON"),
    ("not an object", with_header(b"[]"), "a JSON object"),
    ("number", with_header(b"17"), "a JSON object"),
    ("not UTF-8", with_header(b'{"\xff": 1}'), "not JSON"),
    ("UTF-16", with_header("{}".encode("utf-16")), "header"),
    ("lone surrogate", with_header(b'{"\\ud800": {}}'), "not JSON"),
    ("NaN", with_header(b'{"a": NaN}'), "NaN is not JSON"),
    ("two objects", with_header(b"{}{}"), "not JSON"),
    ("digits", with_header(b'{"a": ' + b"9" * 10_000 + b"}"), "not JSON"),
    ("deep lists", with_header(b"[" * 100_000 + b"]" * 100_000), "too deep"),
    ("deep maps", with_header(b'{"a":' * 100_000 + b"1" + b"}" * 100_000), "too deep"),
    ("deep, open", with_header(b'{"a":' + b"[" * 100_000), "too deep"),
    ("open string", with_header(b'"\\"' * 200_000), "header"),
    (
        "shape wraps to an empty range",
        with_json({"w": tensor("F32", [2**32, 2**32], [0, 0])}),
        "shape of tensor 'w'",
    ),
    ("shape wraps", with_json({"w": tensor("U8", [2**63, 2], [0, 0])}), "shape of tensor 'w'"),
    ("zero hides", with_json({"w": tensor("U8", [0, 2**63], [0, 0])}), "shape of tensor 'w'"),
    ("rank 1000", with_json({"w": tensor("U8", [1] * 1000, [0, 1])}, b"1"), "of rank 1000"),
    ("negative size", with_json({"w": tensor("F32", [-2], [0, 8])}, EIGHT), "shape of tensor"),
    ("float size", with_json({"w": tensor("F32", [2.0], [0, 8])}, EIGHT), "shape of tensor"),
    ("bool size", with_json({"w": tensor("F64", [True], [0, 8])}, EIGHT), "shape of tensor"),
    ("text size", with_json({"w": tensor("F32", ["2"], [0, 8])}, EIGHT), "shape of tensor"),
    ("shape no list", with_json({"w": tensor("F32", 2, [0, 8])}, EIGHT), "shape of tensor"),
    ("begin past end", with_json({"w": tensor("F32", [2], [8, 0])}, EIGHT), "data_offsets"),
    ("negative begin", with_json({"w": tensor("F32", [2], [-8, 0])}, EIGHT), "data_offsets"),
    ("three offsets", with_json({"w": tensor("F32", [2], [0, 4, 8])}, EIGHT), "data_offsets"),
    ("end past the file", with_json({"w": tensor("F32", [4], [0, 16])}, EIGHT), "end of tensor"),
    ("size mismatch", with_json({"w": tensor("F32", [3], [0, 8])}, EIGHT), "12 bytes"),
    (
        "overlap",
        with_json({"a": tensor("U8", [6], [0, 6]), "b": tensor("U8", [6], [2, 8])}, EIGHT),
        "begin of tensor 'b' is 2",
    ),
    (
        "same range twice",
        with_json({"a": tensor("U8", [8], [0, 8]), "b": tensor("U8", [8], [0, 8])}, EIGHT),
        "begin of tensor 'b' is 0",
    ),
    (
        "gap",
        with_json({"a": tensor("U8", [2], [0, 2]), "b": tensor("U8", [4], [4, 8])}, EIGHT),
        "begin of tensor 'b' is 4",
    ),
    ("gap in front", with_json({"a": tensor("U8", [4], [4, 8])}, EIGHT), "begin of tensor 'a'"),
    ("bytes left over", with_json({"a": tensor("U8", [4], [0, 4])}, EIGHT), "end of tensor 'a'"),
    ("bytes and no tensor", with_json({}, EIGHT), "end of the header is 0"),
    (
        "empty tensor outside",
        with_json({"a": tensor("U8", [8], [0, 8]), "e": tensor("U8", [0], [99, 99])}, EIGHT),
        "begin of tensor 'e' is 99",
    ),
    (
        "duplicate tensor",
        with_header(b'{"w":' + json.dumps(TWO_FLOATS).encode() + b',"w":{}}', EIGHT),
        "the key 'w' twice",
    ),
    (
        "duplicate shape",
        with_header(b'{"w":{"dtype":"U8","shape":[8],"shape":[8],"data_offsets":[0,8]}}', EIGHT),
        "the key 'shape' twice",
    ),
    ("dtype X9", with_json({"w": tensor("X9", [2], [0, 8])}, EIGHT), "dtype of tensor 'w' is 'X9'"),
    ("dtype f32", with_json({"w": tensor("f32", [2], [0, 8])}, EIGHT), "dtype of tensor"),
    ("dtype a list", with_json({"w": tensor([], [2], [0, 8])}, EIGHT), "dtype of tensor"),
    ("no dtype", with_json({"w": {"shape": [2], "data_offsets": [0, 8]}}, EIGHT), "exactly dtype"),
    ("a key more", with_json({"w": {**TWO_FLOATS, "extra": 1}}, EIGHT), "exactly dtype"),
    ("tensor null", with_json({"w": None}), "exactly dtype"),
    ("metadata a list", with_json({"__metadata__": []}), "__metadata__ is []"),
    ("metadata null", with_json({"__metadata__": None}), "__metadata__ is None"),
    ("metadata of numbers", with_json({"__metadata__": {"a": 1}}), "__metadata__['a'] is 1"),
    ("bool of 2", with_json({"w": tensor("BOOL", [2], [0, 2])}, b"\1\2"), "the byte 2"),
)


@pytest.mark.parametrize(
    ("content", "message"), [one[1:] for one in BAD_FILES], ids=[one[0] for one in BAD_FILES]
)
def test_a_bad_file_is_refused_by_name(tmp_path: Path, content: bytes, message: str) -> None:
    assert message in refused(tmp_path / "bad.safetensors", content)


def test_a_sound_file_cut_anywhere_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "sound.safetensors"
    write_safetensors(path, {"a": np.arange(5.0), "b": np.arange(3, dtype=np.int8)}, {"k": "v"})
    content = path.read_bytes()
    for length in range(1, len(content)):
        refused(path, content[:length])
    path.write_bytes(content + b"\0")
    with pytest.raises(TensorFileCorrupt, match="end of tensor"):
        open_safetensors(path)


def test_a_missing_file_is_unreadable(tmp_path: Path) -> None:
    for path in (tmp_path / "none", tmp_path):
        with pytest.raises(FileUnreadable):
            open_safetensors(path)


def test_tensors_of_no_elements_and_of_no_axes_load(tmp_path: Path) -> None:
    path = tmp_path / "odd.safetensors"
    header = {
        "none": tensor("F32", [0, 3], [0, 0]),
        "scalar": tensor("F32", [], [0, 4]),
        "between": tensor("F16", [5, 0], [4, 4]),
        "last": tensor("F32", [1], [4, 8]),
        "end": tensor("BF16", [0], [8, 8]),
    }
    path.write_bytes(with_json(header, np.float32([2.5, -1]).tobytes()))
    arrays = open_safetensors(path)
    assert {name: one.shape for name, one in arrays.items()} == {
        "none": (0, 3),
        "scalar": (),
        "between": (5, 0),
        "last": (1,),
        "end": (0,),
    }
    assert arrays["scalar"] == np.float32(2.5)
    assert arrays["last"].tolist() == [-1]


def test_a_file_of_nothing_loads(tmp_path: Path) -> None:
    path = tmp_path / "empty.safetensors"
    path.write_bytes(with_header(b"{}      "))
    assert open_tensors(path).tensors == {}
    assert open_tensors(path).metadata == {}


def example_arrays() -> dict[str, np.ndarray]:
    """One array of every dtype that NumPy and the peer share."""
    random = np.random.default_rng(5)
    kinds = ("bool", "u1", "i1", "u2", "i2", "u4", "i4", "u8", "i8", "f2", "f4", "f8")
    arrays = {kind: random.integers(0, 2, (3, 5)).astype(kind) for kind in kinds}
    return {**arrays, "bf16": random.standard_normal((2, 7)).astype(ml_dtypes.bfloat16)}


def test_files_by_the_peer_read_the_same(tmp_path: Path) -> None:
    path = tmp_path / "peer.safetensors"
    arrays = example_arrays()
    safetensors.numpy.save_file(arrays, path, metadata={"format": "np"})
    read = open_safetensors(path)
    assert read.keys() == arrays.keys()
    for name, array in arrays.items():
        assert read[name].dtype == array.dtype
        assert np.array_equal(read[name], array)
    assert photic_safetensors.read_metadata(path) == {"format": "np"}


def test_our_files_are_read_by_the_peer(tmp_path: Path) -> None:
    path = tmp_path / "ours.safetensors"
    arrays = example_arrays()
    write_safetensors(path, arrays, {"ключ": "значение"})
    with safetensors.safe_open(path, "np") as file:
        assert file.metadata() == {"ключ": "значение"}
        assert set(file.keys()) == arrays.keys()
        for name, array in arrays.items():
            assert np.array_equal(file.get_tensor(name), array)


@pytest.mark.parametrize("name", sorted(DTYPES))
def test_every_dtype_of_the_table_is_written_and_read(tmp_path: Path, name: str) -> None:
    path = tmp_path / "one.safetensors"
    raw = np.arange(16 * DTYPES[name].itemsize, dtype=np.uint8) % (2 if name == "BOOL" else 251)
    array = raw.view(DTYPES[name]).reshape(4, 4)
    write_safetensors(path, {"w": array})
    read = open_safetensors(path)["w"]
    assert read.dtype == array.dtype
    assert read.tobytes() == array.tobytes()


@settings(max_examples=60, deadline=None)
@given(
    array=hnp.arrays(
        st.sampled_from([np.float32, np.int64, np.uint8]),
        hnp.array_shapes(min_dims=0, max_dims=4, min_side=0, max_side=5),
    ),
    name=st.text(st.characters(exclude_categories=["Cs"]), max_size=8),
)
def test_any_array_under_any_name_comes_back(
    tmp_path_factory: pytest.TempPathFactory, array: np.ndarray, name: str
) -> None:
    path = tmp_path_factory.getbasetemp() / "any.safetensors"
    write_safetensors(path, {name: array})
    read = open_safetensors(path)[name]
    assert read.shape == array.shape
    assert read.tobytes() == array.tobytes()


def test_arrays_of_any_memory_layout_and_byte_order_are_written(tmp_path: Path) -> None:
    path = tmp_path / "layouts.safetensors"
    base = np.arange(24, dtype=np.float32).reshape(4, 6)
    arrays = {
        "transposed": base.T,
        "strided": base[::2, ::-3],
        "big": base.astype(">f4"),
        "spread": np.broadcast_to(base[:1], (3, 6)),
    }
    write_safetensors(path, arrays)
    for name, array in read_tensors(path).items():
        assert np.array_equal(array, arrays[name])


def test_arrays_are_read_only_windows_of_the_file(tmp_path: Path) -> None:
    path = tmp_path / "windows.safetensors"
    write_safetensors(path, {"a": np.arange(4.0), "e": np.empty(0), "b": np.arange(2.0)})
    arrays = open_safetensors(path)
    for name in ("a", "b"):
        assert not arrays[name].flags.owndata
    for array in arrays.values():
        assert not array.flags.writeable


def test_a_misaligned_array_is_copied_to_an_aligned_one(tmp_path: Path) -> None:
    path = tmp_path / "misaligned.safetensors"
    header = {"a": tensor("U8", [1], [0, 1]), "b": tensor("F32", [2], [1, 9])}
    path.write_bytes(with_json(header, b"\7" + np.float32([1.5, -2]).tobytes()))
    array = open_safetensors(path)["b"]
    assert array.tolist() == [1.5, -2]
    assert array.flags.aligned
    assert not array.flags.writeable


def test_the_first_array_begins_on_a_cache_line(tmp_path: Path) -> None:
    path = tmp_path / "aligned.safetensors"
    write_safetensors(path, {"name" * 5: np.arange(4.0)}, {"k": "v"})
    length = struct.unpack("<Q", path.read_bytes()[:8])[0]
    assert (8 + length) % 64 == 0


def test_the_same_content_gives_the_same_bytes(tmp_path: Path) -> None:
    first, second = tmp_path / "1", tmp_path / "2"
    a, b = np.arange(3), np.arange(4.0)
    write_safetensors(first, {"a": a, "b": b}, {"x": "1", "y": "2"})
    write_safetensors(second, {"b": b, "a": a}, {"y": "2", "x": "1"})
    assert first.read_bytes() == second.read_bytes()


def test_what_the_format_cannot_hold_is_refused_before_the_file_changes(tmp_path: Path) -> None:
    path = tmp_path / "kept.safetensors"
    write_safetensors(path, {"a": np.arange(3)})
    before = path.read_bytes()
    bad = (
        {"a": np.array(["text"])},
        {"a": np.zeros(2, np.complex128)},
        {"__metadata__": np.ones(2)},
    )
    for tensors in bad:
        with pytest.raises(BadArgument):
            write_safetensors(path, tensors)
    assert path.read_bytes() == before
    assert [one.name for one in tmp_path.iterdir()] == [path.name]


MUTATED_FILES = 2_000


def test_mutated_files_open_or_raise_our_own_error(tmp_path: Path) -> None:
    path = tmp_path / "mutated.safetensors"
    write_safetensors(path, example_arrays(), {"format": "np"})
    sound = path.read_bytes()
    header_bytes = sound.rindex(b"}") + 1
    opened = 0
    for seed in range(MUTATED_FILES):
        random = np.random.default_rng(seed)
        content = bytearray(sound)
        for _ in range(int(random.integers(1, 4))):
            where = int(random.integers(header_bytes if seed % 4 else len(sound)))
            content[where] = int(random.choice(list(b'0123456789[]{}",:\\-e\xff\0')))
        path.write_bytes(bytes(content[: len(content) - seed % 3 // 2]))
        with suppress(TensorFileCorrupt):
            for array in open_safetensors(path).values():
                array.tobytes()
            opened += 1
    assert 0 < opened < MUTATED_FILES
