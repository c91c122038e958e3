"""Named arrays in one file, in the safetensors format: strict reading over a map, atomic writing.

Reading checks the whole header before it hands out anything, in Python integers: a damaged or
hostile file raises TensorFileCorrupt naming the field, quickly and in little memory. The arrays
are read-only windows of the file (a copy only where the file leaves one misaligned). No code in
a file is ever run. Types of less than a byte (F4, F6) are not read.
"""

from __future__ import annotations

import itertools
import json
import math
import mmap
import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import NoReturn

import ml_dtypes
import numpy as np
from numpy.typing import NDArray

from photic.base.errors import BadArgument
from photic.storage.errors import TensorFileCorrupt
from photic.storage.files import write_atomic
from photic.storage.mapping import map_file

Array = NDArray[np.generic]

LENGTH_BYTES = 8
# 100,000 tensors take about 15 MB.
MAXIMUM_HEADER_BYTES = 1 << 24
# {name: {"shape": [...]}}
HEADER_DEPTH = 3
MAXIMUM_RANK = 32
# Elements, zero sizes counted as one: no later product of sizes can pass 2**63.
MAXIMUM_ELEMENTS = 1 << 56
# Where written data begins: a cache line, so that the first arrays are aligned for vectors.
DATA_ALIGNMENT = 64
SHOWN_CHARACTERS = 80
METADATA = "__metadata__"
TENSOR_KEYS = ("dtype", "shape", "data_offsets")

DTYPES: dict[str, np.dtype[np.generic]] = {
    "BOOL": np.dtype(np.bool_),
    "U8": np.dtype(np.uint8),
    "I8": np.dtype(np.int8),
    "U16": np.dtype("<u2"),
    "I16": np.dtype("<i2"),
    "U32": np.dtype("<u4"),
    "I32": np.dtype("<i4"),
    "U64": np.dtype("<u8"),
    "I64": np.dtype("<i8"),
    "F8_E4M3": np.dtype(ml_dtypes.float8_e4m3fn),
    "F8_E5M2": np.dtype(ml_dtypes.float8_e5m2),
    "F8_E8M0": np.dtype(ml_dtypes.float8_e8m0fnu),
    "F16": np.dtype("<f2"),
    "BF16": np.dtype(ml_dtypes.bfloat16),
    "F32": np.dtype("<f4"),
    "F64": np.dtype("<f8"),
    "C64": np.dtype("<c8"),
}
_NAMES = {dtype: name for name, dtype in DTYPES.items()}

# A JSON string, its end missing or not: one match from each opening quote, never a retry.
_STRING = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*"?', re.DOTALL)
_NOT_BRACKETS = bytes(set(range(256)) - set(b"[]{}"))


@dataclass(frozen=True, slots=True, eq=False)
class TensorFile:
    """What a file holds: its arrays in the file's order of names, and its text metadata."""

    tensors: Mapping[str, Array]
    metadata: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class _Described:
    """One tensor of the header, its form checked and its place not yet."""

    name: str
    dtype: np.dtype[np.generic]
    shape: tuple[int, ...]
    begin: int
    end: int


# --- reading --------------------------------------------------------------------------------


def open_tensors(path: str | os.PathLike[str]) -> TensorFile:
    """Map a file and check all of its header.

    Raises FileUnreadable when there is no such regular file, TensorFileCorrupt when it is not
    sound. Arrays of no elements and of no axes are sound.
    """
    data = map_file(path)
    start, header = _header(str(path), data)
    metadata = _metadata(str(path), header.pop(METADATA, {}))
    described = [_describe(str(path), name, value) for name, value in header.items()]
    _check_tiling(str(path), described, len(data) - start)
    tensors = {one.name: _window(str(path), data, start, one) for one in described}
    return TensorFile(MappingProxyType(tensors), MappingProxyType(metadata))


def read_tensors(path: str | os.PathLike[str]) -> Mapping[str, Array]:
    """The arrays of a file by name; see ``open_tensors``."""
    return open_tensors(path).tensors


def _fail(path: str, field: str, given: object, expected: str) -> NoReturn:
    raise TensorFileCorrupt(path=path, field=field, given=given, expected=expected)


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= SHOWN_CHARACTERS else text[:SHOWN_CHARACTERS] + "..."


def _header(path: str, data: mmap.mmap) -> tuple[int, dict[str, object]]:
    """Where the arrays begin, and the header's object."""
    if len(data) < LENGTH_BYTES:
        _fail(path, "file", f"{len(data)} bytes long", f"at least {LENGTH_BYTES}")
    length = int.from_bytes(data[:LENGTH_BYTES], "little")
    most = min(MAXIMUM_HEADER_BYTES, len(data) - LENGTH_BYTES)
    if not 0 < length <= most:
        _fail(path, "header length", length, f"1 to {most}")
    start = LENGTH_BYTES + length
    raw = data[LENGTH_BYTES:start]
    _check_depth(path, raw)
    try:
        header = _parse(path, raw)
    except (ValueError, RecursionError) as error:  # RecursionError: a caller deep in its stack
        _fail(path, "header", f"not JSON ({_shown(str(error))})", "one JSON object in UTF-8")
    if not isinstance(header, dict):
        _fail(path, "header", _shown(header), "a JSON object")
    return start, header


def _check_depth(path: str, raw: bytes) -> None:
    """The JSON parser recurses: nothing deeper than a sound header may reach it."""
    brackets = _STRING.sub(b"", raw).translate(None, _NOT_BRACKETS)
    for _ in range(HEADER_DEPTH):
        brackets = brackets.replace(b"[]", b"").replace(b"{}", b"")
    if brackets:
        _fail(path, "header", "unbalanced or too deep", f"at most {HEADER_DEPTH} levels of JSON")


def _parse(path: str, raw: bytes) -> object:
    def once(pairs: list[tuple[str, object]]) -> dict[str, object]:
        out: dict[str, object] = {}
        for key, value in pairs:
            key.encode()  # a lone surrogate is a UnicodeEncodeError, which is a ValueError
            if key in out:
                _fail(path, "header", f"with the key {_shown(key)} twice", "each key once")
            out[key] = value
        return out

    def no_constant(text: str) -> NoReturn:
        raise ValueError(f"{text} is not JSON")

    return json.loads(raw.decode(), object_pairs_hook=once, parse_constant=no_constant)


def _metadata(path: str, value: object) -> dict[str, str]:
    if not isinstance(value, dict):
        _fail(path, METADATA, _shown(value), "a map from text to text")
    for key, text in value.items():
        if not isinstance(text, str):
            _fail(path, f"{METADATA}[{_shown(key)}]", _shown(text), "text")
    return value


def _describe(path: str, name: str, value: object) -> _Described:
    label = f"tensor {_shown(name)}"
    if not isinstance(value, dict) or sorted(value) != sorted(TENSOR_KEYS):
        _fail(path, label, _shown(value), f"a map with exactly {', '.join(TENSOR_KEYS)}")
    dtype = value["dtype"]
    if not isinstance(dtype, str) or dtype not in DTYPES:
        _fail(path, f"dtype of {label}", _shown(dtype), f"one of {', '.join(DTYPES)}")
    shape = _naturals(path, f"shape of {label}", value["shape"])
    if len(shape) > MAXIMUM_RANK:
        _fail(path, f"shape of {label}", f"of rank {len(shape)}", f"at most {MAXIMUM_RANK} axes")
    if math.prod(max(size, 1) for size in shape) > MAXIMUM_ELEMENTS:
        _fail(path, f"shape of {label}", _shown(shape), "a product that fits the file")
    offsets = _naturals(path, f"data_offsets of {label}", value["data_offsets"])
    if len(offsets) != 2 or offsets[0] > offsets[1]:
        _fail(path, f"data_offsets of {label}", _shown(offsets), "a begin and an end after it")
    size = math.prod(shape) * DTYPES[dtype].itemsize
    if offsets[1] - offsets[0] != size:
        given = f"{offsets[1] - offsets[0]} bytes"
        _fail(path, f"data_offsets of {label}", given, f"{size} bytes, by its shape and dtype")
    return _Described(name, DTYPES[dtype], shape, offsets[0], offsets[1])


def _naturals(path: str, field: str, value: object) -> tuple[int, ...]:
    # type(), not isinstance: true and false are no sizes.
    if not isinstance(value, list) or any(type(one) is not int or one < 0 for one in value):
        _fail(path, field, _shown(value), "a list of integers from 0 up")
    return tuple(value)


def _check_tiling(path: str, described: list[_Described], data_bytes: int) -> None:
    """The arrays cover the data exactly: no overlap, no gap, nothing beyond the end."""
    placed = sorted(described, key=lambda one: (one.begin, one.end))
    begins = [one.begin for one in placed] + [data_bytes]
    ends = [0] + [one.end for one in placed]
    names = [f"tensor {_shown(one.name)}" for one in placed]
    for name, end, begin in zip(names, ends, begins, strict=False):
        if begin != end:
            _fail(path, f"begin of {name}", begin, f"{end}, where the one before it ends")
    if ends[-1] != data_bytes:
        where = names[-1] if names else "the header"
        _fail(path, f"end of {where}", ends[-1], f"{data_bytes}, the end of the file's data")


def _window(path: str, data: mmap.mmap, start: int, one: _Described) -> Array:
    if one.begin == one.end:
        empty: Array = np.empty(one.shape, one.dtype)
        empty.flags.writeable = False
        return empty
    count = math.prod(one.shape)
    if one.dtype == np.bool_:
        held = np.frombuffer(data, np.uint8, count, start + one.begin)
        if held.max() > 1:
            _fail(path, f"data of tensor {_shown(one.name)}", f"the byte {held.max()}", "0 or 1")
    flat: Array = np.frombuffer(data, one.dtype, count, start + one.begin)
    if not flat.flags.aligned:
        flat = flat.copy()
        flat.flags.writeable = False
    return flat.reshape(one.shape)


# --- writing --------------------------------------------------------------------------------


def write_tensors(
    path: str | os.PathLike[str],
    tensors: Mapping[str, Array],
    metadata: Mapping[str, str],
) -> None:
    """Write arrays of any memory layout, and text; the same content gives the same bytes.

    The file appears whole or not at all. Raises BadArgument for a dtype outside the format or the
    name "__metadata__", NoSpace or FileUnwritable where writing fails.
    """
    names = sorted(tensors, key=lambda name: (-tensors[name].dtype.itemsize, name))
    write_atomic(Path(path), _chunks([(name, tensors[name]) for name in names], metadata))


def _chunks(tensors: list[tuple[str, Array]], metadata: Mapping[str, str]) -> Iterator[bytes]:
    header: dict[str, object] = {METADATA: dict(sorted(metadata.items()))} if metadata else {}
    ends = list(itertools.accumulate((array.nbytes for _, array in tensors), initial=0))
    for (name, array), begin, end in zip(tensors, ends, ends[1:], strict=False):
        if name == METADATA:
            raise BadArgument(op="write_tensors", argument="a name", given=name, expected="another")
        offsets = {"data_offsets": [begin, end]}
        header[name] = {"dtype": _dtype_name(array), "shape": list(array.shape), **offsets}
    text = json.dumps(header, ensure_ascii=False, separators=(",", ":")).encode()
    text += b" " * (-(LENGTH_BYTES + len(text)) % DATA_ALIGNMENT)
    yield len(text).to_bytes(LENGTH_BYTES, "little") + text
    for _, array in tensors:
        yield array.astype(array.dtype.newbyteorder("<"), copy=False).tobytes()


def _dtype_name(array: Array) -> str:
    dtype = array.dtype.newbyteorder("<")
    if dtype not in _NAMES:
        expected = ", ".join(str(one) for one in _NAMES)
        raise BadArgument(
            op="write_tensors", argument="dtype", given=str(array.dtype), expected=expected
        )
    return _NAMES[dtype]
