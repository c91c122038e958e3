"""Checkpoints: everything that a training needs to go on, one safetensors file each.

Promises: a file with a checkpoint's name is whole, whenever the process or the machine died; what
is read back is what was written, to the bit, or the file is passed over with a warning and the one
before it taken. The last ``keep`` are kept, and the one with the best score. A folder belongs to
one training at a time.

Does not know what the arrays mean.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import re
import warnings
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

import numpy as np
from numpy.typing import NDArray

from photic.base.errors import BadArgument, PhoticError
from photic.nn.callbacks import Monitor
from photic.nn.trainer_errors import CheckpointDamaged, CheckpointMismatch
from photic.storage.files import remove_quietly, write_errors
from photic.storage.tensorfile import TensorFile, open_tensors, write_tensors

Array = NDArray[np.generic]

FORMAT = "1"
PROGRESS = ":progress"  # the array that holds the progress, as JSON; no state has this name
STEP_DIGITS = 10
_NAME = re.compile(rf"step-(\d{{{STEP_DIGITS},}})\.safetensors")


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """A training after ``step`` steps: its arrays, and its progress as plain JSON values.

    ``score`` ranks checkpoints, the lowest first; nan where it was not judged.
    """

    step: int
    arrays: Mapping[str, Array]
    progress: Mapping[str, object]
    score: float = math.nan


class Checkpoints:
    """The checkpoints of one training, in ``folder``.

    A trainer writes one every ``every`` steps (0: none), after each epoch, and where it is
    interrupted. ``best`` is the figure of an epoch that ranks them, the lowest first, or with
    ``mode="max"`` the highest.
    """

    def __init__(
        self,
        folder: str | Path,
        *,
        every: int = 0,
        keep: int = 3,
        best: str = "val_loss",
        mode: str = "min",
    ) -> None:
        if keep < 1:
            raise BadArgument(op="Checkpoints", argument="keep", given=keep, expected="1 or more")
        if every < 0:
            raise BadArgument(op="Checkpoints", argument="every", given=every, expected="steps")
        self.folder = Path(folder)
        self.every = every
        self.keep = keep
        self.monitor = Monitor(best, mode)

    def write(self, checkpoint: Checkpoint) -> Path:
        """Keep a checkpoint, and remove those that are no longer wanted.

        Raises NoSpace or FileUnwritable; then all older ones are still there.
        """
        with write_errors(self.folder):
            self.folder.mkdir(parents=True, exist_ok=True)
        path = self.folder / f"step-{checkpoint.step:0{STEP_DIGITS}}.safetensors"
        metadata = {
            "format": FORMAT,
            "step": str(checkpoint.step),
            "score": repr(float(checkpoint.score)),
        }
        text = json.dumps(checkpoint.progress).encode()
        arrays = {**checkpoint.arrays, PROGRESS: np.frombuffer(text, np.uint8)}
        write_tensors(path, arrays, {**metadata, "sha256": _digest(arrays)})
        _keep_names(self.folder)
        self._remove_unwanted()
        return path

    def paths(self) -> list[Path]:
        """The files, the oldest first."""
        found = [(int(match[1]), path) for path, match in self._named()]
        return [path for _, path in sorted(found)]

    def latest(self) -> Checkpoint | None:
        """The newest checkpoint that can be read; None where there is none."""
        return self._first(list(reversed(self.paths())))

    def best(self) -> Checkpoint | None:
        """The checkpoint with the lowest score, the oldest of equals; None where none has one."""
        return self._first(self._ranked())

    def remove_all(self) -> None:
        """Forget what is here: a training begins anew."""
        for path in [*self.paths(), *self.folder.glob(".*.part")]:
            remove_quietly(path)

    def _named(self) -> Iterator[tuple[Path, re.Match[str]]]:
        with suppress(FileNotFoundError):
            for path in self.folder.iterdir():
                if match := _NAME.fullmatch(path.name):
                    yield path, match

    def _first(self, paths: list[Path]) -> Checkpoint | None:
        for path in paths:
            try:
                return read_checkpoint(path)
            except PhoticError as error:
                warnings.warn(
                    f"{error}; an older checkpoint is used", CheckpointDamaged, stacklevel=3
                )
        return None

    def _ranked(self) -> list[Path]:
        """The files with a score, the best first."""
        scores = [(_score(path), path) for path in self.paths()]
        ranked = [(score, path) for score, path in scores if not math.isnan(score)]
        return [path for _, path in sorted(ranked)]

    def _remove_unwanted(self) -> None:
        wanted = {*self.paths()[-self.keep :], *self._ranked()[:1]}
        for path in self.paths():
            if path not in wanted:
                remove_quietly(path)
        for part in self.folder.glob(".*.part"):  # of a process that was killed
            remove_quietly(part)


def read_checkpoint(path: str | Path) -> Checkpoint:
    """A checkpoint from its file.

    Raises FileUnreadable, TensorFileCorrupt, or CheckpointMismatch for a file that is no checkpoint
    or whose arrays are not those that were written.
    """
    file = open_tensors(path)
    if file.metadata.get("format") != FORMAT:
        _differs(path, "its format", repr(file.metadata.get("format")), repr(FORMAT))
    if _digest(file.tensors) != file.metadata.get("sha256"):
        _differs(path, "the sha256 of its arrays", "another", "the one that was written")
    try:
        step, score = int(file.metadata["step"]), float(file.metadata["score"])
        progress = dict(json.loads(file.tensors[PROGRESS].tobytes()))
    except (KeyError, TypeError, ValueError):
        _differs(path, "its content", "of another kind", "a checkpoint's")
    arrays = {name: one for name, one in file.tensors.items() if name != PROGRESS}
    return Checkpoint(step, arrays, progress, score)


def _differs(path: str | Path, what: str, given: object, expected: object) -> NoReturn:
    raise CheckpointMismatch(path=path, what=what, given=given, expected=expected)


def _digest(arrays: Mapping[str, Array]) -> str:
    digest = hashlib.sha256()
    for name in sorted(arrays):
        array = arrays[name]
        digest.update(f"{name} {array.dtype} {array.shape}\n".encode())
        digest.update(np.ascontiguousarray(array).reshape(-1).view(np.uint8).data)
    return digest.hexdigest()


def _score(path: Path) -> float:
    """The score of a file by its header alone; nan where it has none or cannot be read."""
    try:
        file: TensorFile = open_tensors(path)
        return float(file.metadata.get("score", "nan"))
    except (PhoticError, ValueError):
        return math.nan


def _keep_names(folder: Path) -> None:
    """Make a new name in a folder survive a loss of power, where folders can be opened."""
    with suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
