"""FIL-01: hostile GGUF files raise an error that names the field, quickly and in little memory."""

from __future__ import annotations

import os
import struct
import time
import tracemalloc
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import numpy as np
import pytest
from frontends.gguf_fixtures import (
    ARRAY,
    F32,
    FLOAT32,
    STRING,
    UINT8,
    UINT32,
    Builder,
    changed,
    small_builder,
    small_bytes,
)
from hypothesis import given, settings
from hypothesis import strategies as st

from photic.base.errors import PhoticError
from photic.frontends.errors import GgufCorrupt, GgufUnsupported
from photic.frontends.gguf import GgufFile, open_gguf
from photic.storage.errors import FileUnreadable

SECONDS = 1.0
MEMORY_BYTES = 100_000_000


@contextmanager
def within_limits() -> Iterator[None]:
    """Fails when the body takes a second or 100 MB of Python and NumPy memory."""
    tracemalloc.start()
    began = time.process_time()
    try:
        yield
    finally:
        seconds = time.process_time() - began
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
    assert seconds < SECONDS
    assert peak < MEMORY_BYTES


def refused(path: Path, data: bytes) -> PhoticError:
    """Write the bytes, open them, return the error; no other outcome passes."""
    path.write_bytes(data)
    with within_limits(), pytest.raises((GgufCorrupt, GgufUnsupported)) as caught:
        open_gguf(path)
    assert str(path) in str(caught.value)
    return caught.value


def touch(file: GgufFile) -> None:
    """Read everything the file offers, so that a range that lies would be caught."""
    for value in file.metadata.values():
        assert isinstance(value, int | float | str | list)
    for tensor in file.tensors.values():
        data = file.data(tensor)
        assert data.nbytes == tensor.size_bytes
        assert not data.flags.writeable
        data.sum()


# label of the part to change, its new value, what the message must name
CHANGES: tuple[tuple[str, int, str], ...] = (
    ("rank of a.weight", 10**6, "rank of tensor 'a.weight' is 1000000"),
    ("rank of a.weight", 2**32 - 1, "rank of tensor 'a.weight' is 4294967295"),
    ("rank of a.weight", 5, "rank of tensor 'a.weight' is 5"),
    ("tensor count", 2**60, "tensor count is 1152921504606846976"),
    ("tensor count", 2**64 - 1, "tensor count"),
    ("tensor count", 10**6, "tensor count"),
    ("metadata count", 2**60, "metadata count"),
    ("length of general.architecture", 2**63, "general.architecture"),
    ("length of general.architecture", 2**64 - 1, "general.architecture"),
    ("length of tokenizer.ggml.tokens[2]", 2**63, "tokenizer.ggml.tokens'[2]"),
    ("length of key general.alignment", 2**63, "metadata key 1"),
    ("length of name of b.weight", 2**63, "name of tensor 2"),
    ("element count of tokenizer.ggml.tokens", 2**40, "element count of 'tokenizer.ggml.tokens'"),
    ("element count of tokenizer.ggml.scores", 2**40, "element count of 'tokenizer.ggml.scores'"),
    ("element count of tokenizer.ggml.scores", 2**62, "element count of 'tokenizer.ggml.scores'"),
    ("element type of tokenizer.ggml.scores", 99, "elements of 'tokenizer.ggml.scores'"),
    ("type of llama.block_count", 13, "type of 'llama.block_count' is 13"),
    ("value of test.flags[1]", 2, "test.flags' is the byte 2"),
    ("offset of c.weight", 2**40, "offset of tensor 'c.weight'"),
    ("offset of c.weight", 2**64 - 32, "offset of tensor 'c.weight'"),
    ("offset of c.weight", 257, "offset of tensor 'c.weight' is 257, expected a multiple of 32"),
    ("offset of c.weight", 128, "inside tensor"),
    ("offset of c.weight", 96, "inside tensor 'a.weight'"),
    ("size 0 of a.weight", 48, "row length of tensor 'a.weight' is 48"),
    ("size 1 of a.weight", 2**62, "dimensions of tensor 'a.weight'"),
    ("size 2 of c.weight", 2**20, "offset of tensor 'c.weight'"),
    ("value of general.alignment", 0, "general.alignment is 0"),
    ("value of general.alignment", 3, "general.alignment is 3"),
    ("value of general.alignment", 2**31, "offset of tensor"),
    ("block type of a.weight", 77, "type of tensor 'a.weight' is 77 (unknown)"),
    ("block type of a.weight", 2**32 - 1, "type of tensor 'a.weight' is 4294967295"),
    ("block type of a.weight", 4, "type of tensor 'a.weight' is 4 (Q4_2)"),
    ("version", 0, "version is 0"),
    ("version", 1, "version is 1"),
    ("version", 99, "version is 99"),
    ("version", 3 << 24, "byte order is big-endian"),
    ("magic", int.from_bytes(b"FUGG", "little"), "magic is b'FUGG'"),
)


@pytest.mark.parametrize(("label", "value", "named"), CHANGES)
def test_one_changed_number_is_named_in_the_error(
    tmp_path: Path, label: str, value: int, named: str
) -> None:
    assert named in str(refused(tmp_path / "hostile.gguf", changed(label, value)))


def one_tensor(sizes: tuple[int, ...], kind: int = F32) -> bytes:
    builder = Builder()
    builder.tensor("w", sizes, kind, 0)
    builder.data(bytes(64))
    return builder.bytes()


@pytest.mark.parametrize(
    "sizes",
    [
        (2**63 - 1, 2),
        (4194305, 2**42),
        (2**32, 2**32),
        (2**63, 2),
        (2**62, 4),
        (0, 2**63),
        (2**16, 2**16, 2**16, 2**16),
        (2**64 - 1,),
    ],
)
def test_dimensions_whose_product_wraps_are_refused(tmp_path: Path, sizes: tuple[int, ...]) -> None:
    assert "dimensions of tensor 'w'" in str(refused(tmp_path / "wrap.gguf", one_tensor(sizes)))


def test_an_array_nested_ten_thousand_deep_is_refused(tmp_path: Path) -> None:
    builder = Builder(key_count=1)
    builder.string("key", "deep")
    builder.add("type", "<I", ARRAY)
    for _ in range(10_000):
        builder.raw(struct.pack("<IQ", ARRAY, 1))
    assert "'deep' is an array nested" in str(refused(tmp_path / "deep.gguf", builder.bytes()))


def test_an_array_of_many_empty_arrays_is_refused_when_it_does_not_fit(tmp_path: Path) -> None:
    builder = Builder(key_count=1)
    builder.string("key", "wide")
    builder.add("type", "<I", ARRAY)
    builder.raw(struct.pack("<IQ", ARRAY, 2**40))
    assert "element count of 'wide'" in str(refused(tmp_path / "wide.gguf", builder.bytes()))


def test_scores_declared_as_uint8_are_refused(tmp_path: Path) -> None:
    builder = Builder()
    builder.array("tokenizer.ggml.tokens", STRING, ["a", "b", "c", "d"])
    builder.array("tokenizer.ggml.scores", UINT8, [1, 2, 3, 4])
    error = refused(tmp_path / "scores.gguf", builder.bytes())
    assert "tokenizer.ggml.scores is of type array of uint8" in str(error)
    assert "array of float32" in str(error)


def test_a_narrowed_element_type_over_the_same_bytes_is_refused(tmp_path: Path) -> None:
    data = changed("element type of tokenizer.ggml.scores", UINT8)
    refused(tmp_path / "narrow.gguf", data)


def test_scores_shorter_than_the_vocabulary_are_refused(tmp_path: Path) -> None:
    builder = Builder()
    builder.array("tokenizer.ggml.tokens", STRING, ["a", "b", "c"])
    builder.array("tokenizer.ggml.scores", FLOAT32, [0.0])
    error = refused(tmp_path / "short.gguf", builder.bytes())
    assert "tokenizer.ggml.scores is 1 long, expected 3" in str(error)


def test_a_file_cut_at_every_sixteenth_byte_is_refused(tmp_path: Path) -> None:
    data = small_bytes()
    path = tmp_path / "cut.gguf"
    for length in range(16, len(data), 16):
        refused(path, data[:length])


def test_a_tensor_name_given_twice_is_refused(tmp_path: Path) -> None:
    builder = Builder()
    builder.tensor("w", (8,), F32, 0)
    builder.tensor("w", (8,), F32, 32)
    builder.data(bytes(64))
    assert "name of tensor 1 is 'w' again" in str(refused(tmp_path / "x.gguf", builder.bytes()))


def test_a_key_given_twice_is_refused(tmp_path: Path) -> None:
    builder = Builder()
    builder.key("k", UINT32, 1)
    builder.key("k", UINT32, 2)
    assert "metadata key 1 is 'k' again" in str(refused(tmp_path / "x.gguf", builder.bytes()))


@pytest.mark.parametrize("where", ["tensor", "key", "value", "element"])
def test_text_that_is_not_utf8_is_refused(tmp_path: Path, where: str) -> None:
    builder = Builder()
    if where == "key":
        builder.key_count += 1
        builder.string("key", b"\xff\xfe")
        builder.raw(struct.pack("<IB", UINT8, 1))
    if where == "value":
        builder.key("k", STRING, b"\xc3")
    if where == "element":
        builder.array("k", STRING, ["fine", b"a\xff"])
    if where == "tensor":
        builder.tensor_count += 1
        builder.string("name", b"\xff")
        builder.raw(struct.pack("<IQIQ", 1, 8, F32, 0) + bytes(100))
    assert "UTF-8" in str(refused(tmp_path / "x.gguf", builder.bytes()))


def test_a_head_of_many_empty_strings_stays_within_limits(tmp_path: Path) -> None:
    # 8 bytes of file each: the cheapest way to make a reader allocate.
    builder = Builder(key_count=1)
    builder.string("key", "many")
    builder.add("type", "<I", ARRAY)
    builder.raw(struct.pack("<IQ", STRING, 2**23) + bytes(8 * 2**23))
    assert "element count of 'many'" in str(refused(tmp_path / "many.gguf", builder.bytes()))


@pytest.mark.parametrize("content", [b"G", b"GGUF", b"<html></html>" * 20, bytes(1000)])
def test_what_is_no_gguf_file_is_refused(tmp_path: Path, content: bytes) -> None:
    refused(tmp_path / "no.gguf", content)


def test_a_missing_or_empty_file_a_folder_and_a_pipe_are_unreadable(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    empty = tmp_path / "empty"
    empty.touch()
    for path in (tmp_path / "none", tmp_path, pipe, empty, tmp_path / "a\0b"):
        with pytest.raises(FileUnreadable):
            open_gguf(path)


def test_a_long_name_is_cut_in_the_message(tmp_path: Path) -> None:
    builder = Builder()
    builder.tensor("n" * 500, (8,), 999, 0)
    builder.data(bytes(64))
    message = str(refused(tmp_path / "x.gguf", builder.bytes()))
    assert "n" * 80 in message
    assert "n" * 90 not in message


# --- ten thousand mutated files ---------------------------------------------------------------

MUTATED_FILES = 10_000
INTERESTING = (0, 1, 2, 3, 4, 7, 8, 9, 12, 13, 31, 32, 33, 64, 127, 128, 255, 256)
EXTREMES = tuple(2**n + delta for n in (15, 16, 31, 32, 40, 62, 63, 64) for delta in (-1, 0, 1))

Mutation = Callable[[bytes, np.random.Generator], bytes]
_PLACES = [place for place in small_builder().places().values() if place[1]]
_NUMBERS = [place for place in _PLACES if place[1] in (1, 2, 4, 8)]


def flip_bytes(data: bytes, random: np.random.Generator) -> bytes:
    out = bytearray(data)
    for _ in range(int(random.integers(1, 9))):
        out[int(random.integers(len(out)))] ^= 1 << int(random.integers(8))
    return bytes(out)


def replace_bytes(data: bytes, random: np.random.Generator) -> bytes:
    out = bytearray(data)
    start = int(random.integers(len(out)))
    end = min(len(out), start + int(random.integers(1, 17)))
    out[start:end] = random.bytes(end - start)
    return bytes(out)


def truncate(data: bytes, random: np.random.Generator) -> bytes:
    return data[: int(random.integers(len(data)))]


def set_numbers(data: bytes, random: np.random.Generator) -> bytes:
    """One to three number fields get a value that a careless reader would trip over."""
    out = bytearray(data)
    for _ in range(int(random.integers(1, 4))):
        start, length = _NUMBERS[int(random.integers(len(_NUMBERS)))]
        pool = INTERESTING if random.integers(2) else EXTREMES
        value = pool[int(random.integers(len(pool)))] % (1 << 8 * length)
        out[start : start + length] = value.to_bytes(length, "little")
    return bytes(out)


def swap_fields(data: bytes, random: np.random.Generator) -> bytes:
    first, second = (_PLACES[int(i)] for i in random.integers(len(_PLACES), size=2))
    out = bytearray(data)
    taken = data[second[0] : second[0] + second[1]]
    out[first[0] : first[0] + first[1]] = taken
    return bytes(out)


def splice(data: bytes, random: np.random.Generator) -> bytes:
    """A run of bytes is copied to another place, inserted or over what was there."""
    start, end = sorted(int(i) for i in random.integers(len(data), size=2))
    target = int(random.integers(len(data)))
    keep = target + (end - start) * int(random.integers(2))
    return data[:target] + data[start:end] + data[keep:]


def delete(data: bytes, random: np.random.Generator) -> bytes:
    start = int(random.integers(len(data)))
    return data[:start] + data[start + int(random.integers(1, 65)) :]


MUTATIONS: tuple[Mutation, ...] = (
    flip_bytes,
    replace_bytes,
    truncate,
    set_numbers,
    set_numbers,
    swap_fields,
    splice,
    delete,
)


def test_ten_thousand_mutated_files_open_or_raise_our_own_error(tmp_path: Path) -> None:
    sound, path = small_bytes(), tmp_path / "mutated.gguf"
    outcomes = {True: 0, False: 0}
    worst_seconds, worst_bytes = 0.0, 0
    tracemalloc.start()
    try:
        for seed in range(MUTATED_FILES):
            random = np.random.default_rng(seed)
            path.write_bytes(MUTATIONS[seed % len(MUTATIONS)](sound, random))
            tracemalloc.reset_peak()
            began = time.process_time()
            try:
                touch(open_gguf(path))
                outcomes[True] += 1
            except PhoticError:
                outcomes[False] += 1
            worst_seconds = max(worst_seconds, time.process_time() - began)
            worst_bytes = max(worst_bytes, tracemalloc.get_traced_memory()[1])
    finally:
        tracemalloc.stop()
    assert worst_seconds < SECONDS
    assert worst_bytes < MEMORY_BYTES
    # Both ends are reached, or the mutations test nothing.
    assert min(outcomes.values()) > MUTATED_FILES // 20


@settings(max_examples=200, deadline=None)
@given(head=st.binary(max_size=400))
def test_any_bytes_after_a_true_magic_open_or_raise_our_own_error(
    tmp_path_factory: pytest.TempPathFactory, head: bytes
) -> None:
    path = tmp_path_factory.getbasetemp() / "any.gguf"
    path.write_bytes(b"GGUF" + struct.pack("<I", 3) + head)
    with suppress(GgufCorrupt, GgufUnsupported):
        touch(open_gguf(path))
