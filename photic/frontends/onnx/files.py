"""An ONNX file that may have been read before: what tells it from others, what goes in and out.

``opened`` reads no graph of a file that it knows: of such it has the outline, which is remembered
by the digest of the file and by photic's own code. ``OnnxFile.digest`` is of the file and of all
data beside it, so that what is kept for a digest is for these bytes.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from photic.base.errors import PhoticError
from photic.frontends.onnx import records
from photic.frontends.onnx.kinds import KIND
from photic.frontends.onnx.tensors import beside
from photic.storage.digests import kept_sha256, remembered
from photic.storage.errors import FileUnreadable
from photic.tensor.kept import own_code

SHOWN_DIGEST = 16  # characters of the digest in front of an outline


@dataclass(frozen=True, slots=True)
class Outline:
    """What of a file is known without its graph.

    ``given``: the inputs that have a constant in the file. ``beside``: where data beside it lie.
    """

    inputs: tuple[records.Port, ...]
    outputs: tuple[records.Port, ...]
    given: tuple[str, ...]
    beside: tuple[str, ...]

    @property
    def asked(self) -> list[records.Port]:
        """The inputs that a caller must give."""
        return [one for one in self.inputs if one.name not in self.given]


def outline_of(model: records.Model) -> Outline:
    """The outline of a model that was read."""
    graph = model.graph
    given = tuple(one.name for one in graph.inputs if one.name in graph.constants)
    return Outline(graph.inputs, graph.outputs, given, model.beside)


@dataclass(slots=True)
class OnnxFile:
    """A file by its outline; ``model`` reads it. ``digest`` is empty if it cannot be had."""

    path: Path
    outline: Outline
    digest: str
    states: tuple[str, ...]
    _read: records.Model | None = field(default=None, repr=False)

    def model(self) -> records.Model:
        """The model, read once. FileUnreadable, also where it changed since it was opened.

        OnnxCorrupt, OnnxData, OnnxType.
        """
        if self._read is None:
            self._read = _model(self.path)
            if self.digest and not self.is_same():
                self._read = None
                raise FileUnreadable(path=self.path, problem="it changed since it was opened")
        return self._read

    def is_same(self) -> bool:
        """Whether the file and what lies beside it still are what they were when it was opened."""
        try:
            now = tuple(map(_state, (self.path, *_beside(self.path, self.outline))))
            sha256 = kept_sha256(self.path)
            return now == self.states and _digest(sha256, self.path, self.outline) == self.digest
        except (OSError, PhoticError):
            return False


def opened(path: str | Path) -> OnnxFile:
    """The file. FileUnreadable; if it was not read before, what reading raises, too."""
    file = Path(path)
    read: list[records.Model] = []

    def outline() -> str:
        read.append(_model(file))
        return _text(outline_of(read[0]))

    early = _state(file)  # before all reading: whatever changes from now on shows in the end
    try:
        sha256 = kept_sha256(file)
    except OSError as error:
        problem = (error.strerror or str(error)).lower()
        raise FileUnreadable(path=file, problem=problem) from None
    found = _parsed(remembered(f"onnx outline {sha256}", own_code(), outline))
    if found is None:  # the note is damaged
        read.append(_model(file))
        found = outline_of(read[0])
    model = read[0] if read else None
    try:
        states = (early, *map(_state, _beside(file, found)))
        return OnnxFile(file, found, _digest(sha256, file, found), states, model)
    except (OSError, PhoticError):  # data beside it that cannot be read: ``model`` says so
        return OnnxFile(file, found, "", (), model)


def _model(path: Path) -> records.Model:
    from photic.frontends.onnx.reader import read_model  # needs the package onnx, which is slow

    return read_model(path)


# --- what tells a file from others ----------------------------------------------------------


def _state(path: Path) -> str:
    """What the system says of a file; it changes with the contents."""
    try:
        found = os.stat(path)
    except OSError as error:
        return str(error)
    places = (found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns)
    return " ".join(map(str, places))


def _digest(sha256: str, path: Path, outline: Outline) -> str:
    parts = [sha256]
    for location, file in zip(outline.beside, _beside(path, outline), strict=True):
        parts.append(f"{kept_sha256(file)} {location}")
    return hashlib.sha256("\n".join(parts).encode(errors="surrogateescape")).hexdigest()


def _beside(path: Path, outline: Outline) -> list[Path]:
    return [beside(one, path.parent, str(path), one) for one in outline.beside]


# --- outlines as text -----------------------------------------------------------------------


def _text(outline: Outline) -> str:
    """The outline behind a digest of itself."""
    shown = json.dumps(
        [
            [_row(one) for one in outline.inputs],
            [_row(one) for one in outline.outputs],
            outline.given,
            outline.beside,
        ]
    )
    return f"{_short(shown)} {shown}"


def _row(port: records.Port) -> list[object]:
    kind = None if port.kind is None else port.kind.name
    return [port.name, kind, port.sizes, port.other]


def _parsed(text: str) -> Outline | None:
    """The outline in a text; None where the text is damaged."""
    digest, _, shown = text.partition(" ")
    if digest != _short(shown):
        return None
    inputs, outputs, given, beside = json.loads(shown)
    return Outline(_ports(inputs), _ports(outputs), tuple(given), tuple(beside))


def _ports(rows: Sequence[Any]) -> tuple[records.Port, ...]:
    return tuple(
        records.Port(name, kind and KIND[kind], sizes if sizes is None else tuple(sizes), other)
        for name, kind, sizes, other in rows
    )


def _short(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:SHOWN_DIGEST]
