"""A model's compiled program, kept between runs in the cache.

Promises: a kept program is used only for the same model, the same code of photic, the same kind of
machine, and as long as the tuning records that it was made from are still the best ones; one that
is damaged is made again; of several processes that want the same new one, one compiles and the
others wait for it; an interruption leaves no half program. Of one model's programs the two newest
stay.

Beside each program lies a note of the records that its compilation asked for, with a digest of what
they said: a start compares that, and needs neither the search nor the compiler to do so.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path

from photic.base.errors import PhoticError, PhoticWarning
from photic.base.trace import Event, emit, listening
from photic.storage.digests import remembered, state_of
from photic.storage.errors import CacheUnusable, FileUnwritable, NoSpace
from photic.storage.files import (
    cache_folder,
    locked,
    reading_folders,
    remove_quietly,
    write_atomic,
)
from photic.storage.record import line_of
from photic.storage.records import RECORDS_FILE, Records
from photic.targets.registry import target_named
from photic.tensor.program import Program
from photic.tensor.store import load_program

Progress = Callable[[str, int, int], None]

KIND = "programs"
NOTE_SUFFIX = ".records"  # of the file beside a program's folder
PACKAGE = Path(__file__).parents[1]
CODE_SUFFIXES = (".py", ".pyc", ".c", ".h")
NAME_CHARACTERS = 16  # of each hash in a folder's name
KEPT_PROGRAMS = 2  # of one model: the newest, and one for another version of photic
LOCK_SECONDS = 60.0  # a process that waits longer for another's program compiles its own
STALE_SECONDS = 3600.0  # work folders of killed processes


def kept_program(
    model: Sequence[str], target: str, make: Callable[[], Program], progress: Progress
) -> Program:
    """The program that an earlier run kept, or ``make()``, which is kept for later runs.

    ``model``: texts that tell this program from those of other models. ``target``: the name of
    the target that ``make`` compiles for, as ``compile`` takes it. While it compiles
    ``progress("compile", done, total)`` is called. A program that cannot be kept is given all the
    same, with a warning.
    """
    name = _name(model, target)
    found = _found(name)
    if found is not None:
        return found
    folder = _folder()
    if folder is None:
        return _made(make, progress)[0]
    progress("compile", 0, 0)
    with locked(folder / f".lock-{name[0]}", LOCK_SECONDS):
        found = _found(name)  # another process may have been faster
        return found if found is not None else _kept(folder, name, *_made(make, progress))


def remade_program(
    model: Sequence[str], target: str, make: Callable[[], Program], progress: Progress
) -> Program:
    """As ``kept_program``, but made anew in any case: for a ``make`` that searches."""
    program, keys = _made(make, progress)
    folder = _folder()
    if folder is None:
        return program
    name = _name(model, target)
    with locked(folder / f".lock-{name[0]}", LOCK_SECONDS):
        return _kept(folder, name, program, keys)


def _folder() -> Path | None:
    """Where programs are kept; None, with a warning, where they cannot be."""
    try:
        return cache_folder(KIND)
    except CacheUnusable as error:
        _warn(error)
        return None


def _kept(folder: Path, name: str, program: Program, keys: Sequence[str]) -> Program:
    """The program, now kept. The note comes last: without it the program is not used."""
    try:
        program.save(folder / name)
        write_atomic(folder / f"{name}{NOTE_SUFFIX}", _note(keys).encode())
    except (NoSpace, FileUnwritable) as error:
        _warn(error)
    _forget_older(folder, name)
    return program


def _name(model: Sequence[str], target: str) -> str:
    """The model's part and the part of this photic on this machine."""
    return f"{_hash(model)}-{_hash((own_code(), target_named(target).key()))}"


def _hash(parts: Sequence[str]) -> str:
    return hashlib.sha256("\n".join(parts).encode(errors="surrogateescape")).hexdigest()[
        :NAME_CHARACTERS
    ]


def _found(name: str) -> Program | None:
    for folder in reading_folders(KIND):
        if (folder / name).is_dir() and _is_current(folder / f"{name}{NOTE_SUFFIX}"):
            try:
                return load_program(folder / name)
            except PhoticError as error:
                emit("files", "program refused", problem=str(error))
    return None


def _is_current(note: Path) -> bool:
    """Whether the records that a program was made from still say the same."""
    try:
        text = note.read_text()
    except (OSError, ValueError):
        return False
    is_current = text == _note(text.splitlines()[1:])
    if not is_current:
        emit("files", "records changed", program=note.stem)
    return is_current


def _note(keys: Sequence[str]) -> str:
    """A digest of the best records of these keys, and the keys, one a line."""
    paths = [one / RECORDS_FILE for one in reading_folders("records")]
    path = next((one for one in paths if one.exists()), None)
    records = Records(path, lambda text: emit("search", "records", problem=text))
    found = [(key, records.best(key)) for key in sorted(set(keys))]
    lines = [key if one is None else line_of(key, one) for key, one in found]
    return "\n".join([_hash(lines), *(key for key, _ in found)])


def _warn(error: PhoticError) -> None:
    problem = str(error).splitlines()[0]
    message = f"{problem}; the compiled model is not kept, and the next start compiles it again"
    warnings.warn(message, PhoticWarning, stacklevel=2)


def _made(make: Callable[[], Program], progress: Progress) -> tuple[Program, list[str]]:
    """``make()`` and the keys of the records that it asked for.

    Each pass of the compiler and the C compiler are counted as they end.
    """
    from photic.compiler.passes import PASSES  # heavy, and of no use to a warm start

    total = len(PASSES) + 1
    done = 0
    keys: list[str] = []

    def hear(event: Event) -> None:
        nonlocal done
        if (event.stage, event.name) == ("files", "record"):
            keys.append(str(event.data["key"]))
        if event.stage == "times" or (event.stage, event.name) == ("source", "compiled"):
            done = min(done + 1, total)
            progress("compile", done, total)

    progress("compile", done, total)
    with listening(hear):
        program = make()
    progress("compile", total, total)
    return program, keys


def _forget_older(folder: Path, name: str) -> None:
    """Remove older programs of the same model, and what killed processes left."""
    dated = []
    for entry in folder.iterdir():
        with suppress(OSError):
            dated.append((entry.stat().st_mtime, entry))
    dated.sort(reverse=True)
    model = name.split("-")[0]
    folders = [(when, entry) for when, entry in dated if entry.is_dir()]
    own = [entry for _, entry in folders if entry.name.startswith(f"{model}-")]
    stale = time.time() - STALE_SECONDS
    left = [entry for when, entry in folders if entry.name.startswith(".") and when < stale]
    for entry in (*own[KEPT_PROGRAMS:], *left):
        shutil.rmtree(entry, ignore_errors=True)
        remove_quietly(entry.with_name(entry.name + NOTE_SUFFIX))


def own_code() -> str:
    """A fingerprint of photic's own files, so that an edit never meets an older program.

    Of an installation that is no folder (a zip file), its size and time of change.
    """
    files = list(_code_files())
    states = [state_of(os.stat(one)) for one in files]
    state = _hash([*files, *states]) if files and all(states) else ""
    return remembered(str(PACKAGE), state, lambda: _digest_of_code(files))


def _code_files() -> Iterator[str]:
    for root, folders, files in os.walk(PACKAGE):
        folders[:] = sorted(set(folders) - {"__pycache__"})
        yield from (os.path.join(root, one) for one in sorted(files) if one.endswith(CODE_SUFFIXES))


def _digest_of_code(files: Sequence[str]) -> str:
    digest = hashlib.sha256()
    for one in files:
        content = Path(one).read_bytes()
        digest.update(f"{os.path.relpath(one, PACKAGE)} {len(content)}\n".encode())
        digest.update(content)
    if not PACKAGE.is_dir():
        archive = next(one for one in PACKAGE.parents if one.exists()).stat()
        digest.update(f"{archive.st_size} {archive.st_mtime_ns}".encode())
    return digest.hexdigest()
