"""Arrays that ``photic run`` reads for a saved program; what is none is told in a line."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from photic.cli.errors import ArrayFile
from photic.cli.run_program import read_array, write_array
from photic.storage.errors import FileUnreadable


def test_an_array_comes_back_the_same(tmp_path: Path) -> None:
    array = np.arange(6, dtype=np.float32).reshape(2, 3)
    write_array(tmp_path / "x.npy", array)
    assert np.array_equal(read_array(tmp_path / "x.npy"), array)


def test_a_file_that_is_not_there_is_said_to_be_missing(tmp_path: Path) -> None:
    with pytest.raises(FileUnreadable, match=r"x\.npy: no such file or directory$"):
        read_array(tmp_path / "x.npy")


@pytest.mark.parametrize("content", [b"", b"hello", b"\x93NUMPY", b"\x93NUMPY\x01\x00v\x00{"])
def test_a_file_of_another_format_is_no_array(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "x.npy").write_bytes(content)
    with pytest.raises(ArrayFile) as error:
        read_array(tmp_path / "x.npy")
    assert "pickle" not in str(error.value)


def test_objects_are_never_unpickled(tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", np.array([None]), allow_pickle=True)
    with pytest.raises(ArrayFile, match="it holds Python objects"):
        read_array(tmp_path / "x.npy")
