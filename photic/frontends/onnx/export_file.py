"""The constants of an ONNX file, in it or in a file of data beside it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import onnx

from photic.frontends.onnx.export_writer import cast_code
from photic.frontends.onnx.kinds import Array
from photic.ir.dtype import dtype_of

DATA_SUFFIX = ".data"  # of the file beside the model
ALIGNED_BYTES = 4096  # where each tensor of it begins, so that it can be mapped
LEAST_BESIDE_BYTES = 1024  # smaller tensors stay in the model's file
MOST_IN_A_FILE_BYTES = (1 << 31) - (1 << 24)  # protobuf's 2 GiB, less room for the nodes
EXTERNAL = onnx.TensorProto.EXTERNAL


def in_the_file(arrays: Mapping[str, Array]) -> list[onnx.TensorProto]:
    """Tensors with their data."""
    return [_tensor(name, one, raw=_bytes(one)) for name, one in arrays.items()]


def beside(arrays: Mapping[str, Array], path: Path) -> list[onnx.TensorProto]:
    """Tensors whose data are written to a file beside the model's. OSError."""
    found = []
    place = 0
    with Path(f"{path}{DATA_SUFFIX}").open("wb") as file:
        for name, one in arrays.items():
            data = _bytes(one)
            if len(data) < LEAST_BESIDE_BYTES:
                found.append(_tensor(name, one, raw=data))
                continue
            place += -place % ALIGNED_BYTES
            file.seek(place)
            file.write(data)
            proto = _tensor(name, one, raw=None)
            entries = {
                "location": f"{path.name}{DATA_SUFFIX}",
                "offset": place,
                "length": len(data),
            }
            for key, value in entries.items():
                proto.external_data.add(key=key, value=str(value))
            proto.data_location = EXTERNAL
            place += len(data)
            found.append(proto)
    return found


def _tensor(name: str, array: Array, raw: bytes | None) -> onnx.TensorProto:
    code = cast_code(dtype_of(array.dtype))
    proto = onnx.TensorProto(name=name, data_type=code, dims=array.shape)
    if raw is not None:
        proto.raw_data = raw
    return proto


def _bytes(array: Array) -> bytes:
    """Little-endian, row by row."""
    return np.ascontiguousarray(array).astype(array.dtype.newbyteorder("<"), copy=False).tobytes()
