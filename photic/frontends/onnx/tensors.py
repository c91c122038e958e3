"""Tensors of an ONNX file as arrays, their sizes checked before anything is read.

Data may stand in the file or in files beside it: in the model's folder or below, never elsewhere.
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from photic.frontends.onnx.errors import OnnxCorrupt, OnnxData
from photic.frontends.onnx.kinds import Array, Kind, carried, kind_of_code
from photic.frontends.onnx.records import Constant

if TYPE_CHECKING:
    import onnx

BYTE_BITS = 8
MOST_BYTES = 1 << 37  # of one tensor; more is no model, but an attempt on the memory
MOST_LETTERS = 4096  # of a path, as the usual systems have it
PACKED_PER_ENTRY = {4: 2, 2: 4}  # elements of so many bits in an entry of int32_data
EXTERNAL = 1  # TensorProto.DataLocation
LOCATION = "location"  # the key of external data that names the file


def read_tensor(proto: onnx.TensorProto, folder: Path, path: str, where: str) -> Constant:
    """The tensor, in the dtype that carries its kind. OnnxCorrupt, OnnxType."""
    place = f"{where}, tensor {proto.name!r}" if proto.name else where
    kind = kind_of_code(proto.data_type, place)
    shape = tuple(proto.dims)
    count = math.prod(shape)
    if any(size < 0 for size in shape) or count * kind.bits > MOST_BYTES * BYTE_BITS:
        raise OnnxCorrupt(path=path, where=place, problem=f"shape {shape} is no tensor's")
    if proto.data_location == EXTERNAL:
        flat = _of_bytes(_external(proto, folder, path, place), kind, count, path, place)
    elif proto.HasField("raw_data"):
        flat = _of_bytes(np.frombuffer(proto.raw_data, np.uint8), kind, count, path, place)
    else:
        flat = _of_fields(proto, kind, count, path, place)
    return Constant(carried(flat, kind).reshape(shape), kind)


def _of_bytes(data: Array, kind: Kind, count: int, path: str, place: str) -> Array:
    """Elements from little-endian bytes; of several in a byte the first is the lowest."""
    expected = -(-count * kind.bits // BYTE_BITS)
    if data.nbytes != expected:
        problem = f"{data.nbytes} bytes of data, expected {expected}"
        raise OnnxCorrupt(path=path, where=place, problem=problem)
    if kind.bits >= BYTE_BITS:
        stored = kind.numpy.newbyteorder("<")
        return data.view(stored).astype(kind.numpy, copy=False)
    return _unpacked(data, kind, count)


def _unpacked(data: Array, kind: Kind, count: int) -> Array:
    per_byte = BYTE_BITS // kind.bits
    shifts = np.arange(per_byte, dtype=np.uint8) * np.uint8(kind.bits)
    parts = (data.view(np.uint8)[:, None] >> shifts) & np.uint8((1 << kind.bits) - 1)
    flat = parts.reshape(-1)[:count]
    if kind.form == "coded":
        return flat.view(kind.numpy)
    half = 1 << (kind.bits - 1)
    numbers = flat.astype(np.int8)
    signed = (numbers ^ half) - half if kind.is_signed else numbers
    return signed.astype(kind.numpy)


def _of_fields(proto: onnx.TensorProto, kind: Kind, count: int, path: str, place: str) -> Array:
    """Elements from the typed fields."""
    from onnx import numpy_helper

    fields = (proto.float_data, proto.int32_data, proto.int64_data, proto.double_data)
    entries = max(len(one) for one in (*fields, proto.uint64_data))
    expected = -(-count // PACKED_PER_ENTRY.get(kind.bits, 1))
    if entries != expected:
        problem = f"{entries} numbers of data, expected {expected}"
        raise OnnxCorrupt(path=path, where=place, problem=problem)
    try:
        array: Array = np.asarray(numpy_helper.to_array(proto))
    except (ValueError, TypeError, OverflowError) as error:
        raise OnnxCorrupt(path=path, where=place, problem=str(error)) from None
    return array.reshape(-1).astype(kind.numpy, copy=False)


# --- files beside the model -----------------------------------------------------------------


def locations(proto: onnx.TensorProto) -> list[str]:
    """Where a tensor says that its data are, if not in the model's file."""
    if proto.data_location != EXTERNAL:
        return []
    return [one.value for one in proto.external_data if one.key == LOCATION]


def _external(proto: onnx.TensorProto, folder: Path, path: str, place: str) -> Array:
    """The bytes of a tensor that lies in another file, as a read-only map."""
    entries = {one.key: one.value for one in proto.external_data}
    file = beside(entries.get(LOCATION, ""), folder, path, place)
    size = file.stat().st_size
    offset = _number(entries.get("offset", "0"), path, place)
    length = _number(entries.get("length", str(max(0, size - offset))), path, place)
    if offset + length > size:
        problem = f"bytes {offset}..{offset + length} of {file.name}, which has {size}"
        raise OnnxCorrupt(path=path, where=place, problem=problem)
    if length == 0:
        return np.zeros(0, np.uint8)
    return np.memmap(file, np.uint8, "r", offset, (length,))


def beside(location: str, folder: Path, path: str, place: str) -> Path:
    """The file, which must really lie in the model's folder or below.

    Where the model itself is a link, as in the caches of model hubs, its data may be links to the
    folder that the model lies in; the location may not lead out of the folder by itself.
    """
    homes = [folder.resolve()]
    parts = Path(location).parts if len(location) < MOST_LETTERS else ("..",)
    try:
        if Path(path).is_symlink():
            homes.append(Path(path).resolve().parent)
        leads_out = not location or ".." in parts or Path(location).is_absolute()
        file = homes[0] if leads_out else (homes[0] / location).resolve()
        is_inside = any(map(file.is_relative_to, homes))
        if is_inside and not leads_out and not file.exists():
            fields = {"path": path, "where": place, "location": location, "folder": homes[0]}
            raise OnnxData(**fields)
        is_inside = is_inside and file.is_file()
    except (OSError, ValueError):
        is_inside = False
    if not is_inside:
        problem = f"data in {location[:MOST_LETTERS]!r}, which is no file in the model's folder"
        raise OnnxCorrupt(path=path, where=place, problem=problem)
    return file


def _number(text: str, path: str, place: str) -> int:
    if not text.isdecimal():
        problem = f"offset or length of external data is {text!r}"
        raise OnnxCorrupt(path=path, where=place, problem=problem)
    return int(text)
