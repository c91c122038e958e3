"""The typed values in the head of a GGUF file, read from bytes that nobody vouches for.

Every length is compared, as a Python integer, with what is left of the file before anything of
that size is made, so a hostile file costs no more than its own few bytes. What a value means is
not known here; only that it is well formed.
"""

from __future__ import annotations

import mmap
import struct
from dataclasses import dataclass
from typing import NoReturn

import numpy as np
from numpy.typing import NDArray

from photic.frontends.errors import GgufCorrupt
from photic.frontends.model_file import MetadataValue

# Largest array elements of all arrays together. The largest vocabularies in use (262,144 tokens
# with scores, types and merges) need 1.3 million.
MAXIMUM_ELEMENTS = 1 << 22
# Arrays in arrays; no file in use has any.
MAXIMUM_NESTING = 4
# Quoted text in an error message is cut here: names come from the file.
SHOWN_CHARACTERS = 80

STRING = 8
ARRAY = 9
BOOL = 7
LENGTH_BYTES = 8
ARRAY_HEAD_BYTES = 12

_UINT32 = struct.Struct("<I")
_UINT64 = struct.Struct("<Q")


@dataclass(frozen=True, slots=True)
class ValueType:
    """One metadata type: its number in files, its name, its element dtype ("" = no fixed size)."""

    identifier: int
    name: str
    dtype: str


VALUE_TYPES: tuple[ValueType, ...] = (
    ValueType(0, "uint8", "<u1"),
    ValueType(1, "int8", "<i1"),
    ValueType(2, "uint16", "<u2"),
    ValueType(3, "int16", "<i2"),
    ValueType(4, "uint32", "<u4"),
    ValueType(5, "int32", "<i4"),
    ValueType(6, "float32", "<f4"),
    ValueType(BOOL, "bool", "|u1"),
    ValueType(STRING, "string", ""),
    ValueType(ARRAY, "array", ""),
    ValueType(10, "uint64", "<u8"),
    ValueType(11, "int64", "<i8"),
    ValueType(12, "float64", "<f8"),
)
_BY_IDENTIFIER = {one.identifier: one for one in VALUE_TYPES}


@dataclass(frozen=True, slots=True)
class Entry:
    """One metadata value with the type the file declares: "uint32", "array of float32", ..."""

    type_name: str
    value: MetadataValue


def shown(text: str) -> str:
    """A name from the file, quoted and cut for an error message."""
    return repr(text if len(text) <= SHOWN_CHARACTERS else text[:SHOWN_CHARACTERS] + "...")


@dataclass(slots=True)
class Cursor:
    """A place in the mapped head of a file. Reading moves it; reading past ``end`` is an error."""

    path: str
    data: mmap.mmap
    position: int
    end: int
    elements_left: int = MAXIMUM_ELEMENTS

    def fail(self, field: str, given: object, expected: str) -> NoReturn:
        """Raise GgufCorrupt for this file."""
        raise GgufCorrupt(path=self.path, field=field, given=given, expected=expected)

    def take(self, count: int, field: str) -> int:
        """Step over ``count`` bytes; the position before the step."""
        start = self.position
        if count > self.end - start:
            self.fail(field, f"{count} bytes long", f"at most the {self.end - start} bytes left")
        self.position = start + count
        return start

    def uint32(self, field: str) -> int:
        return int(_UINT32.unpack_from(self.data, self.take(_UINT32.size, field))[0])

    def uint64(self, field: str) -> int:
        return int(_UINT64.unpack_from(self.data, self.take(_UINT64.size, field))[0])

    def count(self, field: str, smallest_bytes: int, maximum: int) -> int:
        """A uint64 that counts things of at least ``smallest_bytes`` each that follow."""
        count = self.uint64(field)
        most = min(maximum, (self.end - self.position) // smallest_bytes)
        if count > most:
            self.fail(field, count, f"at most {most}")
        return count

    def text(self, field: str) -> str:
        """A length and UTF-8 bytes."""
        length = self.uint64(f"length of {field}")
        start = self.take(length, field)
        try:
            return self.data[start : self.position].decode()
        except UnicodeDecodeError as error:
            self.fail(field, f"broken at its byte {error.start}", "UTF-8")


def read_entry(cursor: Cursor, key: str) -> Entry:
    """The type and value that follow a key."""
    identifier = cursor.uint32(f"type of {key}")
    if identifier == ARRAY:
        return _array(cursor, key, depth=1)
    if identifier == STRING:
        return Entry("string", cursor.text(key))
    kind = _value_type(cursor, key, identifier)
    return Entry(kind.name, _scalars(cursor, key, kind, 1)[0])


def _value_type(cursor: Cursor, key: str, identifier: int) -> ValueType:
    if identifier not in _BY_IDENTIFIER:
        cursor.fail(f"type of {key}", identifier, f"a metadata type, 0..{len(VALUE_TYPES) - 1}")
    return _BY_IDENTIFIER[identifier]


def _array(cursor: Cursor, key: str, depth: int) -> Entry:
    if depth > MAXIMUM_NESTING:
        cursor.fail(key, f"an array nested {depth} deep", f"at most {MAXIMUM_NESTING} levels")
    kind = _value_type(cursor, f"the elements of {key}", cursor.uint32(f"element type of {key}"))
    count = cursor.count(f"element count of {key}", _smallest_bytes(kind), cursor.elements_left)
    cursor.elements_left -= count
    if kind.identifier == STRING:
        return Entry("array of string", [*_strings(cursor, key, count)])
    if kind.identifier == ARRAY:
        parts = [_array(cursor, key, depth + 1) for _ in range(count)]
        inner = sorted({part.type_name for part in parts})
        return Entry("array of " + (" or ".join(inner) or "array"), [part.value for part in parts])
    return Entry(f"array of {kind.name}", _scalars(cursor, key, kind, count))


def _smallest_bytes(kind: ValueType) -> int:
    if kind.identifier == STRING:
        return LENGTH_BYTES
    if kind.identifier == ARRAY:
        return ARRAY_HEAD_BYTES
    return np.dtype(kind.dtype).itemsize


def _scalars(cursor: Cursor, key: str, kind: ValueType, count: int) -> list[MetadataValue]:
    dtype = np.dtype(kind.dtype)
    start = cursor.take(count * dtype.itemsize, key)
    # Sliced first: frombuffer refuses an empty range that begins at the very end.
    raw = cursor.data[start : cursor.position]
    values: NDArray[np.generic] = np.frombuffer(raw, dtype, count)
    if kind.identifier == BOOL:
        if bool(np.any(values > 1)):  # type: ignore[operator]
            cursor.fail(key, f"the byte {max(raw)}", "0 or 1, being a bool")
        values = values.astype(np.bool_)
    return list(values.tolist())


def _strings(cursor: Cursor, key: str, count: int) -> list[str]:
    # The hot loop of opening a file: 98,000 strings for a vocabulary of 49,152.
    data, position, end = cursor.data, cursor.position, cursor.end
    unpack, out = _UINT64.unpack_from, []
    try:
        for _ in range(count):
            start = position + LENGTH_BYTES
            if start > end:
                break
            position = start + unpack(data, position)[0]
            if position > end:
                break
            out.append(data[start:position].decode())
    except UnicodeDecodeError as error:
        cursor.fail(f"{key}[{len(out)}]", f"broken at its byte {error.start}", "UTF-8")
    if len(out) < count:
        cursor.fail(f"length of {key}[{len(out)}]", "past the end", f"within byte {end}")
    cursor.position = position
    return out
