"""Where a training's figures go: CSV, JSON lines, TensorBoard.

A row is a step's number and values by name. Promises: a row that was written survives the death
of the process; after ``begin(step, rows)`` a file holds no more than so many, so that a training
that was ended and goes on leaves the same rows as one that was not.

Rows say nothing of time, except TensorBoard's, whose format demands it.
"""

from __future__ import annotations

import csv
import importlib
import io
import json
import math
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Protocol

from photic.nn.trainer_errors import PackageMissing
from photic.storage.files import write_atomic, write_errors

STEP = "step"
Values = Mapping[str, float]


class Log(Protocol):
    """What takes a training's figures."""

    def begin(self, step: int, rows: int) -> None:
        """A training begins after ``step`` steps and ``rows`` rows; later ones are dropped."""

    def write(self, step: int, values: Values) -> None:
        """A row."""

    def close(self) -> None:
        """No more rows until the next ``begin``."""


# --- files of lines -------------------------------------------------------------------------


class CsvLog:
    """A CSV file: a column ``step``, then a column a name; cells without a value are empty.

    A new name makes a new column, for which the file is written again. Numbers are written so that
    ``float`` reads them back exactly; nan and inf as these words. Raises NoSpace, FileUnwritable.
    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        self._names: list[str] = []

    def begin(self, step: int, rows: int) -> None:
        kept = self._rows()[:rows]
        self._names = [one for one in self._header() if one != STEP] if kept else []
        self._rewrite(kept)

    def write(self, step: int, values: Values) -> None:
        new = [name for name in values if name not in self._names]
        if new:
            rows = self._rows()
            self._names += new
            self._rewrite(rows)
        row = {STEP: str(step), **{name: _in_csv(one) for name, one in values.items()}}
        _append(self.path, self._lines([row]))

    def close(self) -> None:
        """Every row is in the file already."""

    def _header(self) -> list[str]:
        lines = _whole_lines(self.path)
        return next(csv.reader(lines[:1]), [])

    def _rows(self) -> list[dict[str, str]]:
        return [
            {name: cell for name, cell in row.items() if isinstance(name, str) and cell}
            for row in csv.DictReader(_whole_lines(self.path))
        ]

    def _rewrite(self, rows: Iterable[Mapping[str, str]]) -> None:
        columns = {name: name for name in (STEP, *self._names)}
        _replace(self.path, self._lines([columns, *rows]))

    def _lines(self, rows: Iterable[Mapping[str, str]]) -> str:
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        writer.writerows([row.get(name, "") for name in (STEP, *self._names)] for row in rows)
        return text.getvalue()


class JsonLog:
    """A file of JSON lines, each an object with ``step`` and the values by name.

    JSON has no nan and no infinities: they are the strings "nan", "inf" and "-inf". Raises NoSpace,
    FileUnwritable.
    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)

    def begin(self, step: int, rows: int) -> None:
        _replace(self.path, "".join(_whole_lines(self.path)[:rows]))

    def write(self, step: int, values: Values) -> None:
        row = {STEP: step, **{name: _in_json(one) for name, one in values.items()}}
        _append(self.path, json.dumps(row) + "\n")

    def close(self) -> None:
        """Every row is in the file already."""


def _in_csv(value: float) -> str:
    return str(value) if isinstance(value, int) else repr(float(value))


def _in_json(value: float) -> float | str:
    return value if math.isfinite(value) else str(value)


def _whole_lines(path: Path) -> list[str]:
    """The lines of a file, without a last one that was cut; none where there is no file."""
    try:
        lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
    except FileNotFoundError:
        return []
    return [line for line in lines if line.endswith("\n")]


def _replace(path: Path, text: str) -> None:
    with write_errors(path):
        path.parent.mkdir(parents=True, exist_ok=True)
    write_atomic(path, text.encode())


def _append(path: Path, text: str) -> None:
    # one write of the whole line: a process that is killed leaves no half of it
    with write_errors(path), path.open("ab", buffering=0) as file:
        file.write(text.encode())


# --- TensorBoard ----------------------------------------------------------------------------


class TensorBoardLog:
    """Event files in a folder, for TensorBoard; needs the package ``tensorboardX``.

    Raises PackageMissing where it is not installed, when the log is made.
    """

    def __init__(self, folder: str | Path) -> None:
        self.folder = Path(folder)
        self._library = _tensorboard()
        self._writer: _Writer | None = None

    def begin(self, step: int, rows: int) -> None:
        """Rows of later steps stay in the files, marked so that TensorBoard leaves them out."""
        self.close()
        purge = {"purge_step": step + 1} if step else {}
        self._writer = self._library.SummaryWriter(str(self.folder), **purge)

    def write(self, step: int, values: Values) -> None:
        if self._writer is None:
            self.begin(0, 0)
        assert self._writer is not None
        for name, value in values.items():
            self._writer.add_scalar(name, value, step)
        self._writer.flush()

    def close(self) -> None:
        if self._writer is not None:
            self._writer.close()
            self._writer = None


class _Writer(Protocol):
    """What is used of the package's writer."""

    def add_scalar(self, tag: str, scalar_value: float, global_step: int) -> object: ...
    def flush(self) -> None: ...
    def close(self) -> None: ...


class _Library(Protocol):
    """What is used of the package."""

    def SummaryWriter(self, folder: str, **options: int) -> _Writer: ...


def _tensorboard() -> _Library:
    try:
        found: _Library = importlib.import_module("tensorboardX")
    except ModuleNotFoundError as error:
        raise PackageMissing(
            what="TensorBoardLog", package="tensorboardX", extra="tensorboard"
        ) from error
    return found
