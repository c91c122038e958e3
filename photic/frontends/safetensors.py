"""safetensors files: arrays by name, checked and mapped, never copied where alignment allows.

The format itself is read and written in ``photic.storage.tensorfile``, which compiled programs use
too; these are its public names.
"""

from __future__ import annotations

import os
from collections.abc import Mapping

from photic.storage.tensorfile import Array, open_tensors, write_tensors

__all__ = ["open_safetensors", "read_metadata", "write_safetensors"]


def open_safetensors(path: str | os.PathLike[str]) -> Mapping[str, Array]:
    """The arrays of a file by name: read-only, bfloat16 and float8 as ml_dtypes has them.

    Raises FileUnreadable (no such regular file) or TensorFileCorrupt (names the field).
    """
    return open_tensors(path).tensors


def read_metadata(path: str | os.PathLike[str]) -> Mapping[str, str]:
    """The file's ``__metadata__``: text by name, empty when there is none. Raises as above."""
    return open_tensors(path).metadata


def write_safetensors(
    path: str | os.PathLike[str],
    tensors: Mapping[str, Array],
    metadata: Mapping[str, str] | None = None,
) -> None:
    """Write arrays and text metadata, whole or not at all.

    Raises BadArgument (a dtype outside the format), NoSpace or FileUnwritable.
    """
    write_tensors(path, tensors, metadata or {})
