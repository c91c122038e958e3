"""Checkpoints: what is kept, which are kept, and what is not trusted."""

from __future__ import annotations

import math
import os
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest

from photic import nn
from photic.base.errors import BadArgument
from photic.nn.trainer_errors import CheckpointDamaged, CheckpointMismatch
from photic.storage import files
from photic.storage.errors import FileUnreadable, NoSpace, TensorFileCorrupt

ARRAYS = {
    "weight": np.array([[1.5, -0.0, math.nan]], np.float32),
    "weight:exp_avg": np.array([1e-300, math.inf]),
    ":step": np.array(2**40, np.int64),
    "half": np.array([0.1, 3e38], ml_dtypes.bfloat16),
    "none": np.zeros((0, 3), np.float16),
}


def checkpoint(step: int, score: float = math.nan) -> nn.Checkpoint:
    return nn.Checkpoint(step, ARRAYS, {"epoch": 1, "loss": 0.1 + 0.2}, score)


def steps(folder: nn.Checkpoints) -> list[int]:
    return [nn.read_checkpoint(path).step for path in folder.paths()]


def test_what_is_read_is_what_was_written_to_the_bit(tmp_path: Path) -> None:
    path = nn.Checkpoints(tmp_path / "new" / "folder").write(checkpoint(7, 0.25))
    found = nn.read_checkpoint(path)
    assert (found.step, found.score) == (7, 0.25)
    assert found.progress == {"epoch": 1, "loss": 0.1 + 0.2}
    assert {name: (one.dtype, one.shape, one.tobytes()) for name, one in found.arrays.items()} == {
        name: (one.dtype, one.shape, one.tobytes()) for name, one in ARRAYS.items()
    }


def test_the_last_and_the_best_are_kept(tmp_path: Path) -> None:
    folder = nn.Checkpoints(tmp_path, keep=2)
    for step, score in enumerate((0.5, 0.1, math.nan, 0.1, 0.7), 1):
        folder.write(checkpoint(step, score))
    assert steps(folder) == [2, 4, 5]
    best, latest = folder.best(), folder.latest()
    assert best is not None and best.step == 2  # the first of equals
    assert latest is not None and latest.step == 5


def test_without_scores_or_files_there_is_none(tmp_path: Path) -> None:
    folder = nn.Checkpoints(tmp_path / "missing")
    assert folder.latest() is None and folder.paths() == []
    folder.write(checkpoint(1))
    assert folder.best() is None


def test_what_was_left_half_written_is_not_read_and_goes_away(tmp_path: Path) -> None:
    folder = nn.Checkpoints(tmp_path)
    folder.write(checkpoint(1))
    (tmp_path / ".abc.part").write_bytes(b"half")
    (tmp_path / "other.safetensors").write_bytes(b"a user's")
    assert steps(folder) == [1]
    folder.write(checkpoint(2))
    assert sorted(one.name for one in tmp_path.iterdir()) == [
        "other.safetensors",
        "step-0000000001.safetensors",
        "step-0000000002.safetensors",
    ]


@pytest.mark.parametrize(
    ("change", "error"),
    [
        (lambda blob: blob[:-1] + bytes([blob[-1] ^ 1]), CheckpointMismatch),
        (lambda blob: blob[: len(blob) // 2], TensorFileCorrupt),
        (lambda blob: b"", FileUnreadable),
        (lambda blob: blob.replace(b'"format":"1"', b'"format":"9"'), CheckpointMismatch),
    ],
)
def test_a_damaged_file_is_refused_and_the_one_before_it_taken(
    tmp_path: Path, change, error
) -> None:
    folder = nn.Checkpoints(tmp_path)
    folder.write(checkpoint(1))
    path = folder.write(checkpoint(2))
    path.write_bytes(change(path.read_bytes()))
    with pytest.raises(error):
        nn.read_checkpoint(path)
    with pytest.warns(CheckpointDamaged):
        latest = folder.latest()
    assert latest is not None and latest.step == 1


def test_a_full_disk_leaves_the_older_checkpoints(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = nn.Checkpoints(tmp_path, keep=1)
    folder.write(checkpoint(1))

    def full(descriptor: int, data: object) -> int:
        raise OSError(28, os.strerror(28))

    monkeypatch.setattr(files.os, "write", full)
    with pytest.raises(NoSpace):
        folder.write(checkpoint(2))
    monkeypatch.undo()
    assert [one.name for one in tmp_path.iterdir()] == ["step-0000000001.safetensors"]


def test_options_that_make_no_sense_are_refused(tmp_path: Path) -> None:
    for wrong in ({"keep": 0}, {"every": -1}, {"mode": "least"}):
        with pytest.raises(BadArgument):
            nn.Checkpoints(tmp_path, **wrong)
