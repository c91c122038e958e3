"""A model's compiled program, kept between runs in the cache.

Promises: a kept program is used only for the same model, the same code of photic and the same
kind of machine; one that is damaged is made again; of several processes that want the same new
one, one compiles and the others wait for it; an interruption leaves no half program. Of one
model's programs the two newest stay.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import time
import warnings
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path

from photic.base.errors import PhoticError, PhoticWarning
from photic.base.trace import Event, emit, listening
from photic.storage.errors import CacheUnusable, FileUnwritable, NoSpace
from photic.storage.files import cache_folder, locked, reading_folders
from photic.targets.registry import target_named
from photic.tensor.program import Program
from photic.tensor.store import load_program

Progress = Callable[[str, int, int], None]

KIND = "programs"
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
    the target that ``make`` compiles for. ``progress("compile", done, total)`` is called while
    it compiles. A program that cannot be kept is given all the same, with a warning.
    """
    first, second = _hash(model), _hash((own_code(), target_named(target).key()))
    name = f"{first}-{second}"
    found = _found(name)
    if found is not None:
        return found
    try:
        folder = cache_folder(KIND)
    except CacheUnusable as error:
        _warn(error)
        return _made(make, progress)
    progress("compile", 0, 0)
    with locked(folder / f".lock-{name[0]}", LOCK_SECONDS):
        found = _found(name)  # another process may have been faster
        if found is not None:
            return found
        program = _made(make, progress)
        try:
            program.save(folder / name)
        except (NoSpace, FileUnwritable) as error:
            _warn(error)
        _forget_older(folder, first)
    return program


def _hash(parts: Sequence[str]) -> str:
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:NAME_CHARACTERS]


def _found(name: str) -> Program | None:
    for folder in reading_folders(KIND):
        if (folder / name).is_dir():
            try:
                return load_program(folder / name)
            except PhoticError as error:
                emit("files", "program refused", problem=str(error))
    return None


def _warn(error: PhoticError) -> None:
    problem = str(error).splitlines()[0]
    message = f"{problem}; the compiled model is not kept, and the next start compiles it again"
    warnings.warn(message, PhoticWarning, stacklevel=2)


def _made(make: Callable[[], Program], progress: Progress) -> Program:
    """``make()``, each pass of the compiler and the C compiler counted as it ends."""
    from photic.compiler.passes import PASSES  # heavy, and of no use to a warm start

    total = len(PASSES) + 1
    done = 0

    def count(event: Event) -> None:
        nonlocal done
        if event.stage == "times" or (event.stage, event.name) == ("source", "compiled"):
            done = min(done + 1, total)
            progress("compile", done, total)

    progress("compile", done, total)
    with listening(count):
        program = make()
    progress("compile", total, total)
    return program


def _forget_older(folder: Path, first: str) -> None:
    """Remove older programs of the same model, and what killed processes left."""
    dated = []
    for entry in folder.iterdir():
        with suppress(OSError):
            dated.append((entry.stat().st_mtime, entry))
    dated.sort(reverse=True)
    own = [entry for _, entry in dated if entry.name.startswith(f"{first}-")]
    stale = time.time() - STALE_SECONDS
    left = [entry for when, entry in dated if entry.name.startswith(".") and when < stale]
    for entry in (*own[KEPT_PROGRAMS:], *(one for one in left if one.is_dir())):
        shutil.rmtree(entry, ignore_errors=True)


def own_code() -> str:
    """A fingerprint of photic's own files, so that an edit never meets an older program.

    Of an installation that is no folder (a zip file), its size and time of change.
    """
    digest = hashlib.sha256()
    for root, folders, files in os.walk(PACKAGE):
        folders[:] = sorted(set(folders) - {"__pycache__"})
        for name in sorted(files):
            if name.endswith(CODE_SUFFIXES):
                content = Path(root, name).read_bytes()
                digest.update(f"{os.path.relpath(root, PACKAGE)}/{name} {len(content)}\n".encode())
                digest.update(content)
    if not PACKAGE.is_dir():
        archive = next(one for one in PACKAGE.parents if one.exists()).stat()
        digest.update(f"{archive.st_size} {archive.st_mtime_ns}".encode())
    return digest.hexdigest()
