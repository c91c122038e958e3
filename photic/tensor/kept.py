"""A model's compiled program, kept between runs in the cache.

Promises: a kept program is used only for the same model, the same code of photic, the same kind of
machine, and as long as the tuning records that it was made from are still the best ones; one that
is damaged is made again; of several processes that want the same new one, one compiles and the
others wait for it; an interruption leaves no half program. Of one model's programs a few stay, the
newest ones.

Beside each program lies a note of the records that its compilation asked for, with a digest of what
they said: a start compares that, and needs neither the search nor the compiler to do so. The note
also holds a text of whoever made the program.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
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
LOCK_SECONDS = 60.0  # a process that waits longer for another's program compiles its own
STALE_SECONDS = 3600.0  # work folders of killed processes


@dataclass(frozen=True, slots=True)
class Shelf:
    """How many programs stay: of one model, and bytes of all whose names begin with ``prefix``."""

    prefix: str
    programs: int
    most_bytes: int | None = None


ALONE = Shelf("", 2)
"""The newest program of a model, and one for another version of photic."""


@dataclass(frozen=True, slots=True)
class Making:
    """How a program comes to be: ``make`` gives it, and a text that is kept with it.

    ``model``: texts that tell the model from others; ``variant``: those that tell this program from
    the model's other ones. ``target``: as ``target_named`` takes it.
    ``is_same`` says, once it is made, whether the model is still the one that ``model`` names; if
    not, the program is given, but not kept.
    """

    model: Sequence[str]
    target: str
    make: Callable[[], tuple[Program, str]]
    variant: Sequence[str] = ()
    shelf: Shelf = ALONE
    is_same: Callable[[], bool] = lambda: True


def kept_program(
    model: Sequence[str], target: str, make: Callable[[], Program], progress: Progress
) -> Program:
    """The program that an earlier run kept, or ``make()``, which is kept for later runs.

    ``model``: texts that tell this program from those of other models. ``target``: the name of
    the target that ``make`` compiles for. ``progress("compile", done, total)`` is called while
    it compiles. A program that cannot be kept is given all the same, with a warning.
    """
    return kept(Making(model, target, lambda: (make(), "")), progress)[0]


def remade_program(
    model: Sequence[str], target: str, make: Callable[[], Program], progress: Progress
) -> Program:
    """As ``kept_program``, but made anew in any case: for a ``make`` that searches."""
    return remade(Making(model, target, lambda: (make(), "")), progress)[0]


def kept(making: Making, progress: Progress) -> tuple[Program, str]:
    """As ``kept_program``, with the text that was kept with it."""
    name = _name(making)
    found = _found(name)
    if found is not None:
        return found
    folder = _folder()
    if folder is None:
        return _made(making, progress)[0]
    progress("compile", 0, 0)
    with locked(folder / f".lock-{name[-1]}", LOCK_SECONDS):
        found = _found(name)  # another process may have been faster
        return (
            found if found is not None else _keep(folder / name, making, *_made(making, progress))
        )


def remade(making: Making, progress: Progress) -> tuple[Program, str]:
    """As ``kept``, but made anew in any case."""
    found, keys = _made(making, progress)
    folder = _folder()
    if folder is None:
        return found
    name = _name(making)
    with locked(folder / f".lock-{name[-1]}", LOCK_SECONDS):
        return _keep(folder / name, making, found, keys)


def _folder() -> Path | None:
    """Where programs are kept; None, with a warning, where they cannot be."""
    try:
        return cache_folder(KIND)
    except CacheUnusable as error:
        _warn(error)
        return None


def _keep(
    place: Path, making: Making, found: tuple[Program, str], keys: Sequence[str]
) -> tuple[Program, str]:
    """The program, now kept. The note comes last: without it the program is not used."""
    if not making.is_same():
        emit("files", "model changed while it was compiled")
        return found
    program, text = found
    try:
        program.save(place)
        write_atomic(place.with_name(place.name + NOTE_SUFFIX), _note(keys, text).encode())
    except (NoSpace, FileUnwritable) as error:
        _warn(error)
    _forget_older(place.parent, place.name, making.shelf)
    return found


def _name(making: Making) -> str:
    """The model's part, and that of this variant by this photic on this machine."""
    target = target_named(making.target)
    own = (own_code(), target.name, target.key(), *making.variant)
    return f"{making.shelf.prefix}{_hash(making.model)}-{_hash(own)}"


def _hash(parts: Sequence[str]) -> str:
    return hashlib.sha256("\n".join(parts).encode(errors="surrogateescape")).hexdigest()[
        :NAME_CHARACTERS
    ]


def _found(name: str) -> tuple[Program, str] | None:
    for folder in reading_folders(KIND):
        if (folder / name).is_dir():
            text = _current(folder / f"{name}{NOTE_SUFFIX}")
            try:
                return None if text is None else (load_program(folder / name), text)
            except PhoticError as error:
                emit("files", "program refused", problem=str(error))
    return None


def _current(note: Path) -> str | None:
    """The text of a note, if the records that the program was made from still say the same."""
    try:
        whole = note.read_text()
        _, shown, *keys = whole.splitlines()
        text = json.loads(shown)
    except (OSError, ValueError, RecursionError):
        return None
    if not isinstance(text, str) or whole != _note(keys, text):
        emit("files", "records changed", program=note.stem)
        return None
    return text


def _note(keys: Sequence[str], text: str) -> str:
    """A digest of these keys' best records and of the text; the text; the keys, one a line."""
    paths = [one / RECORDS_FILE for one in reading_folders("records")]
    path = next((one for one in paths if one.exists()), None)
    records = Records(path, lambda text: emit("search", "records", problem=text))
    found = [(key, records.best(key)) for key in sorted(set(keys))]
    lines = [key if one is None else line_of(key, one) for key, one in found]
    shown = json.dumps(text)
    return "\n".join([_hash([shown, *lines]), shown, *(key for key, _ in found)])


def _warn(error: PhoticError) -> None:
    problem = str(error).splitlines()[0]
    message = f"{problem}; the compiled model is not kept, and the next start compiles it again"
    warnings.warn(message, PhoticWarning, stacklevel=2)


def _made(making: Making, progress: Progress) -> tuple[tuple[Program, str], list[str]]:
    """What was made, and the keys of the records that it asked for.

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
        found = making.make()
    progress("compile", total, total)
    return found, keys


def _forget_older(folder: Path, name: str, shelf: Shelf) -> None:
    """Remove older programs of the same model and shelf, and what killed processes left."""
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
    older = [*own[shelf.programs :], *left]
    if shelf.most_bytes is not None:
        alike = [one for _, one in folders if one.name.startswith(shelf.prefix)]
        older += _beyond([one for one in alike if one.name != name], shelf.most_bytes)
    for entry in older:
        shutil.rmtree(entry, ignore_errors=True)
        remove_quietly(entry.with_name(entry.name + NOTE_SUFFIX))


def _beyond(folders: Sequence[Path], most_bytes: int) -> list[Path]:
    """The folders, newest first, from the one on that has no room."""
    room = most_bytes
    for number, folder in enumerate(folders):
        with suppress(OSError):
            room -= sum(one.stat().st_size for one in folder.iterdir())
        if room < 0:
            return list(folders[number:])
    return []


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
