"""Programs in files: a folder with a manifest, the kernels' source, and constants as safetensors.

Beside them lies how the program came to be, for people. Programs of an older format load without.

Nothing in it is pickled or run before it is checked: the manifest carries the sha256 of every
other file and of itself, and every field is read by name and type. The folder appears whole or not
at all. Code is compiled again from its source (or taken from the kernel cache), never loaded from
the folder.
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
import shutil
import tempfile
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from photic.base.errors import PhoticError
from photic.forms.graph_text import parse_dim
from photic.ir.dim import Symbol
from photic.ir.dtype import DTYPES
from photic.storage.artifact import Argument, Artifact, KernelReport
from photic.storage.digests import kept_sha256
from photic.storage.errors import FileUnreadable, FileUnwritable
from photic.storage.files import file_sha256, write_atomic, write_errors
from photic.storage.making import Making, making_text, parsed_making
from photic.storage.tensorfile import read_tensors, write_tensors
from photic.targets.registry import target_named
from photic.tensor.errors import ProgramFile
from photic.tensor.program import Program

FORMAT = 3
MANIFEST, SOURCE, CONSTANTS = "manifest.json", "kernels.c", "constants.safetensors"
MAKING = "making.json"
PARTS = {2: (CONSTANTS, SOURCE), FORMAT: (CONSTANTS, SOURCE, MAKING)}
"""The formats that can be read, and the files of each beside the manifest."""
MOST_MANIFEST_BYTES = 64 << 20
SHOWN_CHARACTERS = 20  # of a format that is none
PUBLISH_TRIES = 32  # each but the last lost to another process


def save_artifact(artifact: Artifact, path: Path) -> None:
    """Write a program's folder; a program already there is replaced.

    Raises NoSpace, or FileUnwritable, also where something lies that is no program.
    """
    path = path.absolute()
    with write_errors(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        work = Path(tempfile.mkdtemp(dir=path.parent, prefix=f".{path.name}."))
    try:
        write_tensors(work / CONSTANTS, artifact.constants, {})
        write_atomic(work / SOURCE, artifact.source.encode())
        write_atomic(work / MAKING, making_text(artifact.making or Making()).encode())
        manifest = _described(artifact)
        manifest["files"] = {name: file_sha256(work / name) for name in PARTS[FORMAT]}
        manifest["sha256"] = _digest(manifest)
        write_atomic(work / MANIFEST, json.dumps(manifest).encode())
        _put_in_place(work, path)
    finally:
        shutil.rmtree(work, ignore_errors=True)


def _put_in_place(work: Path, path: Path) -> None:
    """Rename the folder into place; an older program is moved away first.

    Of several processes that do so at once, one after another wins.
    """
    for _ in range(PUBLISH_TRIES):
        try:
            os.rename(work, path)
            return
        except OSError as error:
            if error.errno not in (errno.ENOTEMPTY, errno.EEXIST, errno.ENOTDIR):
                with write_errors(path):
                    raise
        _check_replaceable(path)
        with (
            write_errors(path),
            tempfile.TemporaryDirectory(dir=path.parent, prefix=".") as old,
            suppress(FileNotFoundError),  # another process was faster
        ):
            os.rename(path, Path(old) / "old")
    raise FileUnwritable(path=path, what="a program", problem="the name stays taken")


def _check_replaceable(path: Path) -> None:
    """Only what ``save_artifact`` writes is ever moved away; a user's files are not."""
    try:
        others = set(os.listdir(path)) - {MANIFEST, *PARTS[FORMAT]}
    except FileNotFoundError:  # moved away by another process
        return
    except NotADirectoryError:
        others = {path.name}
    if others:
        raise FileUnwritable(path=path, what="a program", problem="something else is there")


def _digest(manifest: Mapping[str, object]) -> str:
    plain = {key: value for key, value in manifest.items() if key != "sha256"}
    return hashlib.sha256(json.dumps(plain, sort_keys=True).encode()).hexdigest()


def _described(artifact: Artifact) -> dict[str, object]:
    return {
        "format": FORMAT,
        "target": artifact.target,
        "machine": artifact.machine,
        "sizes": [[one.name, one.low, one.high] for one in artifact.sizes],
        "counters": artifact.counters,
        "inputs": [_argument(one) for one in artifact.inputs],
        "outputs": [_argument(one) for one in artifact.outputs],
        "states": [_argument(one) for one in artifact.states],
        "constants": dict(artifact.constant_slots),
        "slots": artifact.slots,
        "bytes": [
            artifact.arena_bytes,
            artifact.buffer_bytes,
            artifact.least_bytes,
            artifact.scratch_bytes,
        ],
        "kernels": [_kernel(one) for one in artifact.kernels],
    }


def _argument(one: Argument) -> list[object]:
    return [one.name, [str(extent) for extent in one.shape], one.dtype.name, one.slot]


def _kernel(one: KernelReport) -> dict[str, object]:
    return {
        "name": one.name,
        "source": one.source,
        "nest": one.nest,
        "calls": one.calls,
        "flops": one.flops,
        "bytes": one.bytes,
        "seconds": [one.seconds, one.predicted_seconds],
        "rules": list(one.rules),
        "timed": one.timed,
    }


# --- reading --------------------------------------------------------------------------------


def load_program(path: Path) -> Program:
    """A program from its folder, compiled for this machine if the kernel cache has it not."""
    artifact = load_artifact(path)
    target = target_named(artifact.target)
    return Program(artifact, target.load(target.build(artifact.source)))


def load_artifact(path: Path) -> Artifact:
    """The checked content of a program's folder; ProgramFile says what is wrong with it."""
    manifest = _manifest(path)
    _check_files(path, manifest)
    try:
        return _artifact(path, manifest)
    except (KeyError, TypeError, ValueError, AttributeError, PhoticError) as error:
        problem = f"the manifest is not sound ({type(error).__name__})"
        raise ProgramFile(path=path, problem=problem) from None


def _manifest(path: Path) -> dict[str, object]:
    try:
        size = (path / MANIFEST).stat().st_size
        if size > MOST_MANIFEST_BYTES:
            raise ProgramFile(path=path, problem=f"the manifest has {size} bytes")
        found = json.loads((path / MANIFEST).read_bytes())
    except OSError:
        raise FileUnreadable(path=path, problem="no saved program is here") from None
    except (ValueError, RecursionError):
        raise ProgramFile(path=path, problem="the manifest is not JSON") from None
    if not isinstance(found, dict):
        raise ProgramFile(path=path, problem="the manifest is no table")
    given = found.get("format")
    if type(given) is not int or given not in PARTS:
        known = " and ".join(map(str, PARTS))
        problem = f"it is of format {str(given)[:SHOWN_CHARACTERS]}; this version reads {known}"
        raise ProgramFile(path=path, problem=problem)
    if found.get("sha256") != _digest(found):
        raise ProgramFile(path=path, problem="the manifest was changed after it was written")
    return found


def _check_files(path: Path, manifest: Mapping[str, object]) -> None:
    files, known = manifest.get("files"), PARTS[_count(manifest["format"])]
    if not isinstance(files, dict) or set(files) != set(known):
        raise ProgramFile(path=path, problem="the manifest names other files")
    for name, expected in files.items():
        try:
            given = kept_sha256(path / name)
        except OSError:
            raise ProgramFile(path=path, problem=f"{name} is missing") from None
        if given != expected:
            raise ProgramFile(path=path, problem=f"{name} was changed after it was written")


def _artifact(path: Path, manifest: dict[str, object]) -> Artifact:
    symbols = {}
    for row in _rows(manifest["sizes"]):
        name, low, high = _rows(row)
        symbols[_text(name)] = Symbol(_text(name), _count(low), _count(high))
    arena, buffers, least, scratch = map(_count, _rows(manifest["bytes"]))
    slots = _count(manifest["slots"])
    constants = read_tensors(path / CONSTANTS)
    places = {_text(key): _count(value) for key, value in _table(manifest["constants"]).items()}
    if set(places) != set(constants) or any(slot >= slots for slot in places.values()):
        raise ValueError("constants")
    groups = [
        tuple(_read_argument(one, symbols, slots) for one in _rows(manifest[key]))
        for key in ("inputs", "outputs", "states")
    ]
    if any(one.slot < 0 for one in groups[1]):
        raise ValueError("outputs")
    return Artifact(
        sizes=tuple(symbols.values()),
        counters=_count(manifest["counters"]),
        inputs=groups[0],
        outputs=groups[1],
        states=groups[2],
        constants=constants,
        constant_slots=places,
        slots=slots,
        arena_bytes=arena,
        buffer_bytes=buffers,
        least_bytes=least,
        scratch_bytes=scratch,
        source=(path / SOURCE).read_text(),
        kernels=tuple(_read_kernel(_table(one)) for one in _rows(manifest["kernels"])),
        target=_text(manifest["target"]),
        machine=_text(manifest["machine"]),
        making=_making(path, manifest),
    )


def _making(path: Path, manifest: Mapping[str, object]) -> Making | None:
    """None for a format that has none."""
    if MAKING not in PARTS[_count(manifest["format"])]:
        return None
    return parsed_making((path / MAKING).read_text(encoding="utf-8"))


def _read_argument(row: object, symbols: Mapping[str, Symbol], slots: int) -> Argument:
    name, shape, dtype, slot = _rows(row)
    extents = tuple(parse_dim(_text(one), symbols, {}) for one in _rows(shape))
    place = -1 if slot == -1 else _count(slot)
    if place >= slots:
        raise ValueError("slot")
    return Argument(_text(name), extents, DTYPES[_text(dtype)], place)


def _read_kernel(table: Mapping[str, object]) -> KernelReport:
    seconds, predicted = map(_seconds, _rows(table["seconds"]))
    return KernelReport(
        name=_text(table["name"]),
        source=_text(table["source"]),
        nest=_text(table["nest"]),
        calls=_count(table["calls"]),
        flops=_count(table["flops"]),
        bytes=_count(table["bytes"]),
        seconds=seconds,
        predicted_seconds=predicted,
        rules=tuple(_text(one) for one in _rows(table["rules"])),
        timed=_timed(table.get("timed")),
    )


def _timed(value: object) -> tuple[float, float] | None:
    """Flops and bytes; None where an older version wrote none."""
    if value is None:
        return None
    flops, size = (_seconds(one) for one in _rows(value))
    if flops is None or size is None:
        raise TypeError("two numbers")
    return flops, size


def _rows(value: object) -> list[object]:
    if not isinstance(value, list):
        raise TypeError("list")
    return value


def _table(value: object) -> dict[str, object]:
    if not isinstance(value, dict):
        raise TypeError("table")
    return value


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError("text")
    return value


def _count(value: object) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        raise TypeError("count")
    return value


def _seconds(value: object) -> float | None:
    if value is not None and not isinstance(value, float):
        raise TypeError("seconds")
    return value
