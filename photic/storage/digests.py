"""Digests of files, remembered: what did not change since it was read is not read again.

A digest is remembered with what the system says of its file, the time of its last change among it,
which nobody sets at will. A file that changed in the last seconds is always read: it may change
again without a trace. Promises: a digest given is that of the file's contents when it was last
changed by way of the system. A disk that loses bits by itself goes unnoticed. Where nothing can be
kept, every file is read.
"""

from __future__ import annotations

import hashlib
import os
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from photic.base.errors import PhoticError
from photic.storage.files import (
    cache_folder,
    file_sha256,
    reading_folders,
    remove_quietly,
    write_atomic,
)

KIND = "digests"
LEAST_BYTES = 1 << 20  # smaller files are read as fast as remembered
SETTLED_NS = 2_000_000_000  # clocks of file systems may be that coarse
MOST_KEPT = 256  # notes; a user has a few models and programs
NAME_CHARACTERS = 32


def kept_sha256(path: Path) -> str:
    """As ``file_sha256``, remembered for large files."""
    found = path.stat()
    if found.st_size < LEAST_BYTES:
        return file_sha256(path)
    return remembered(os.path.realpath(path), state_of(found), lambda: file_sha256(path))


def state_of(found: os.stat_result) -> str:
    """What changes with a file's contents; "" where it just changed or the system is no help."""
    if os.name == "nt" or time.time_ns() - found.st_ctime_ns < SETTLED_NS:
        return ""
    places = (found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns)
    return " ".join(map(str, places))


def remembered(subject: str, state: str, make: Callable[[], str]) -> str:
    """``make()``, or what it gave for the same subject in the same state, which "" never is."""
    if not state:
        return make()
    name = hashlib.sha256(subject.encode(errors="surrogateescape")).hexdigest()[:NAME_CHARACTERS]
    for folder in reading_folders(KIND):
        with suppress(OSError, ValueError):
            given, _, value = (folder / name).read_text(encoding="ascii").partition("\n")
            if given == state:
                return value
    value = make()
    with suppress(PhoticError, OSError):
        folder = cache_folder(KIND)
        write_atomic(folder / name, f"{state}\n{value}".encode())
        _forget_oldest(folder)
    return value


def _forget_oldest(folder: Path) -> None:
    notes = sorted(folder.iterdir(), key=lambda one: one.stat().st_mtime)
    for one in notes[:-MOST_KEPT]:
        remove_quietly(one)
