"""A GGUF file as a read-only map: checked metadata, checked tensor ranges, no copies of weights.

It promises that every tensor it lists lies inside the file, aligned, apart from every other one
and of the size its shape asks for, and that a damaged or hostile file raises GgufCorrupt or
GgufUnsupported quickly, naming the field. It does not interpret weights or models, does not read
big-endian files, and cannot help when the file is shortened while it is open.
"""

from __future__ import annotations

import itertools
import math
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, NoReturn, cast

import numpy as np
from numpy.typing import NDArray

from photic.frontends.errors import GgufCorrupt, GgufUnsupported
from photic.frontends.gguf.block_types import BY_IDENTIFIER, BY_NAME, REMOVED, BlockType
from photic.frontends.gguf.metadata import Cursor, Entry, read_entry, shown
from photic.frontends.model_file import ModelFile
from photic.storage.mapping import map_file

if TYPE_CHECKING:
    from photic.tensor.tensor import Tensor

MAGIC = b"GGUF"
VERSIONS = (2, 3)
# A big-endian file's version, read little-endian, has nothing in its lower half.
SWAPPED_MASK = 0xFFFF
DEFAULT_ALIGNMENT = 32
MAXIMUM_RANK = 4
# Metadata and tensor list together; the largest in use take 15 MB.
MAXIMUM_HEAD_BYTES = 1 << 26
# Keys, and tensors; the largest files in use have about 100 and 2,000.
MAXIMUM_ENTRIES = 1 << 16
# Elements of a tensor, zero sizes counted as one: no later product of sizes can pass 2**63.
MAXIMUM_TENSOR_ELEMENTS = 1 << 56
# key length, type, one byte of value; name length, rank, type, offset
SMALLEST_KEY_BYTES = 8 + 4 + 1
SMALLEST_TENSOR_BYTES = 8 + 4 + 4 + 8


@dataclass(frozen=True, slots=True)
class KnownKey:
    """A key every GGUF reader agrees on: its allowed types, and the array it is as long as."""

    key: str
    types: tuple[str, ...]
    as_long_as: str = ""


_TOKENS = "tokenizer.ggml.tokens"
# Checked when the file is opened: other readers take these on trust and read past their ends.
KNOWN_KEYS: tuple[KnownKey, ...] = (
    KnownKey("general.architecture", ("string",)),
    KnownKey("general.alignment", ("uint32",)),
    KnownKey("tokenizer.ggml.model", ("string",)),
    KnownKey(_TOKENS, ("array of string",)),
    KnownKey("tokenizer.ggml.merges", ("array of string",)),
    KnownKey("tokenizer.ggml.scores", ("array of float32",), _TOKENS),
    KnownKey("tokenizer.ggml.token_type", ("array of int32", "array of uint32"), _TOKENS),
    KnownKey("tokenizer.chat_template", ("string",)),
)


@dataclass(frozen=True, slots=True)
class GgufTensor:
    """One tensor: its NumPy shape (outermost axis first), block type, place and size."""

    name: str
    shape: tuple[int, ...]
    block_type: str
    offset_bytes: int
    size_bytes: int


@dataclass(frozen=True, slots=True, eq=False)
class GgufFile(ModelFile):
    """An open file. The accessors check the declared type and raise GgufCorrupt naming the key."""

    version: int
    alignment: int
    tensors: Mapping[str, GgufTensor]
    mapped: NDArray[np.uint8] = field(repr=False)

    def data(self, tensor: GgufTensor) -> NDArray[np.uint8]:
        """The tensor's bytes: a read-only window of the mapped file, uint8, one axis."""
        return self.mapped[tensor.offset_bytes : tensor.offset_bytes + tensor.size_bytes]

    def values(self, name: str) -> Tensor:
        """A tensor, unpacked to float32. Raises GgufUnsupported."""
        from photic.frontends.gguf.blocks import unpack  # a warm start does without

        found = self.tensors[name]
        return unpack(self.data(found), found.block_type, found.shape)

    def corrupt(self, key: str, given: object, expected: str) -> NoReturn:
        """Raise GgufCorrupt."""
        raise GgufCorrupt(path=self.path, field=key, given=given, expected=expected)

    def unsupported(self, what: str, given: object, expected: str) -> NoReturn:
        """Raise GgufUnsupported."""
        raise GgufUnsupported(path=self.path, what=what, given=given, expected=expected)


def open_gguf(path: str | os.PathLike[str]) -> GgufFile:
    """Map a GGUF file (version 2 or 3, little-endian) and check all of its head.

    Raises FileUnreadable when there is no such regular file, GgufCorrupt for a damaged file and
    GgufUnsupported for a version, byte order or tensor type that is not read here.
    """
    path = Path(path)
    data = map_file(path)
    cursor = Cursor(str(path), data, 0, min(len(data), MAXIMUM_HEAD_BYTES))
    version = _version(cursor)
    tensor_count = cursor.count("tensor count", SMALLEST_TENSOR_BYTES, MAXIMUM_ENTRIES)
    key_count = cursor.count("metadata count", SMALLEST_KEY_BYTES, MAXIMUM_ENTRIES)
    entries = _entries(cursor, key_count)
    _check_known_keys(cursor, entries)
    alignment = _alignment(cursor, entries)
    tensors = _tensors(cursor, tensor_count, alignment)
    return GgufFile(
        path=path,
        version=version,
        alignment=alignment,
        metadata=MappingProxyType({key: entry.value for key, entry in entries.items()}),
        types=MappingProxyType({key: entry.type_name for key, entry in entries.items()}),
        shapes=MappingProxyType({name: one.shape for name, one in tensors.items()}),
        tensors=MappingProxyType(tensors),
        mapped=np.frombuffer(data, np.uint8),
    )


def _version(cursor: Cursor) -> int:
    start = cursor.take(len(MAGIC), "magic")
    magic = cursor.data[start : cursor.position]
    if magic != MAGIC:
        cursor.fail("magic", magic, repr(MAGIC))
    version = cursor.uint32("version")
    if version == 0:
        cursor.fail("version", version, "2 or 3")
    if version & SWAPPED_MASK == 0:
        _unsupported(cursor, "byte order", "big-endian", "little-endian")
    if version not in VERSIONS:
        _unsupported(cursor, "version", version, "2, 3")
    return version


def _unsupported(cursor: Cursor, what: str, given: object, expected: str) -> NoReturn:
    raise GgufUnsupported(path=cursor.path, what=what, given=given, expected=expected)


def _entries(cursor: Cursor, count: int) -> dict[str, Entry]:
    entries: dict[str, Entry] = {}
    for index in range(count):
        key = cursor.text(f"metadata key {index}")
        if key in entries:
            cursor.fail(f"metadata key {index}", f"{shown(key)} again", "each key once")
        entries[key] = read_entry(cursor, shown(key))
    return entries


def _check_known_keys(cursor: Cursor, entries: dict[str, Entry]) -> None:
    for known in KNOWN_KEYS:
        entry = entries.get(known.key)
        if entry is None:
            continue
        if entry.type_name not in known.types:
            cursor.fail(known.key, f"of type {entry.type_name}", " or ".join(known.types))
        if known.as_long_as and known.as_long_as in entries:
            _check_length(cursor, known, _length(entry), _length(entries[known.as_long_as]))


def _check_length(cursor: Cursor, known: KnownKey, given: int, expected: int) -> None:
    if given != expected:
        cursor.fail(known.key, f"{given} long", f"{expected}, the length of {known.as_long_as}")


def _length(entry: Entry) -> int:
    return len(entry.value) if isinstance(entry.value, list) else 1


def _alignment(cursor: Cursor, entries: dict[str, Entry]) -> int:
    if "general.alignment" not in entries:
        return DEFAULT_ALIGNMENT
    alignment = cast(int, entries["general.alignment"].value)
    if alignment == 0 or alignment & (alignment - 1):
        cursor.fail("general.alignment", alignment, "a power of two")
    return alignment


@dataclass(frozen=True, slots=True)
class _Described:
    """A tensor as the head describes it, its offset still relative and unchecked."""

    name: str
    shape: tuple[int, ...]
    kind: BlockType
    offset: int


def _tensors(cursor: Cursor, count: int, alignment: int) -> dict[str, GgufTensor]:
    described: dict[str, _Described] = {}
    for index in range(count):
        one = _describe(cursor, index)
        if one.name in described:
            cursor.fail(f"name of tensor {index}", f"{shown(one.name)} again", "each name once")
        described[one.name] = one
    data_start = -(-cursor.position // alignment) * alignment
    tensors = {name: _place(cursor, one, alignment, data_start) for name, one in described.items()}
    _check_apart(cursor, tensors)
    return tensors


def _describe(cursor: Cursor, index: int) -> _Described:
    name = cursor.text(f"name of tensor {index}")
    label = f"tensor {shown(name)}"
    rank = cursor.uint32(f"rank of {label}")
    if rank > MAXIMUM_RANK:
        cursor.fail(f"rank of {label}", rank, f"at most {MAXIMUM_RANK}")
    sizes = [cursor.uint64(f"dimensions of {label}") for _ in range(rank)]
    if math.prod(max(size, 1) for size in sizes) > MAXIMUM_TENSOR_ELEMENTS:
        cursor.fail(f"dimensions of {label}", tuple(sizes), "a product that fits the file")
    kind = _block_type(cursor, label, cursor.uint32(f"type of {label}"))
    # ggml counts axes from the innermost, which is the one cut into blocks.
    row = sizes[0] if sizes else 1
    if row % kind.values:
        cursor.fail(f"row length of {label}", row, f"a multiple of {kind.values} ({kind.name})")
    return _Described(name, tuple(reversed(sizes)), kind, cursor.uint64(f"offset of {label}"))


def _block_type(cursor: Cursor, label: str, identifier: int) -> BlockType:
    if identifier in BY_IDENTIFIER:
        return BY_IDENTIFIER[identifier]
    given = f"{identifier} ({REMOVED.get(identifier, 'unknown')})"
    _unsupported(cursor, f"type of {label}", given, ", ".join(BY_NAME))


def _place(cursor: Cursor, one: _Described, alignment: int, data_start: int) -> GgufTensor:
    label = f"tensor {shown(one.name)}"
    if one.offset % alignment:
        cursor.fail(f"offset of {label}", one.offset, f"a multiple of {alignment}")
    size = math.prod(one.shape) // one.kind.values * one.kind.bytes
    start, file_bytes = data_start + one.offset, len(cursor.data)
    if start + size > file_bytes:
        given = f"{one.offset} (bytes {start} to {start + size})"
        cursor.fail(f"offset of {label}", given, f"inside the file of {file_bytes} bytes")
    return GgufTensor(one.name, one.shape, one.kind.name, start, size)


def _check_apart(cursor: Cursor, tensors: dict[str, GgufTensor]) -> None:
    held = sorted((one.offset_bytes, one.size_bytes, one.name) for one in tensors.values())
    filled = [one for one in held if one[1]]
    for (start, size, name), (following, _, other) in itertools.pairwise(filled):
        if start + size > following:
            given = f"{following}, inside tensor {shown(name)}"
            cursor.fail(f"offset of tensor {shown(other)}", given, f"{start + size} or more")
