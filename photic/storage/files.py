"""The files that photic keeps between runs: in folders of its own, never seen half written.

Promises: a folder from ``cache_folder`` can be written and, for kernels, run from, and nobody else
can write there; where the configured folder is not so, a private temporary folder takes its place
with one warning. ``write_atomic`` leaves the old file or the new one, never a mixture.
``read_checked`` returns exactly the bytes that ``write_checked`` was given, or says why not.

Does not keep a cache small, and does not protect against the same user (or root) on purpose
changing both a file and its checksum.
"""

from __future__ import annotations

import atexit
import errno
import hashlib
import os
import secrets
import shutil
import stat
import sys
import tempfile
import threading
import time
import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

import platformdirs

from photic.base.errors import PhoticWarning
from photic.base.settings import text_setting
from photic.storage.errors import CacheUnusable, FileUnwritable, NoSpace

# --- folders --------------------------------------------------------------------------------

PRIVATE = 0o700
WRITABLE_BY_OTHERS = stat.S_IWGRP | stat.S_IWOTH
# A temporary folder with less room than this is passed over: a program's kernels take a few MB.
LEAST_FREE_BYTES = 32 << 20
TEMPORARY_PARENTS = ("/dev/shm", "/var/tmp", "/tmp")


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind of kept file: must its folder allow running code, and be safe from others?"""

    name: str
    executable: bool
    trusted: bool


KINDS = {
    one.name: one
    for one in (
        Kind("kernels", executable=True, trusted=True),
        Kind("programs", executable=False, trusted=True),
        Kind("records", executable=False, trusted=True),
        Kind("digests", executable=False, trusted=True),
        Kind("models", executable=False, trusted=False),  # data, checked by sha256 when fetched
    )
}


@dataclass(slots=True)
class _Folders:
    """What this process knows: checked folders, temporary roots (by executable), if it warned."""

    checked: set[Path] = field(default_factory=set)
    temporary: dict[bool, Path] = field(default_factory=dict)
    warned: bool = False
    lock: threading.RLock = field(default_factory=threading.RLock)


_folders = _Folders()


def _unlock_after_fork() -> None:
    # another thread may have held the lock at the moment of the fork
    _folders.lock = threading.RLock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_unlock_after_fork)


def cache_folder(kind: str) -> Path:
    """The folder to write files of ``kind`` (one of ``KINDS``); it exists.

    PHOTIC_CACHE, else the user's cache folder, else (with one warning) a private temporary folder
    that is removed when the process ends. Raises CacheUnusable when not even that can be made.
    """
    record = KINDS[kind]
    folder = _configured_folder(record)
    with _folders.lock:
        if folder in _folders.checked and os.path.isdir(folder):
            return folder
        problem = _make_folder(folder) or folder_problem(folder, record)
        if not problem:
            _folders.checked.add(folder)
            return folder
    instead = temporary_folder(kind)
    warn_of_fallback(f"{folder}: {problem}")
    return instead


def reading_folders(kind: str) -> tuple[Path, ...]:
    """The folders where files of ``kind`` may already lie, in the order to look; never warns.

    A configured folder that cannot be written, but that only we or root could have filled, is
    among them.
    """
    record = KINDS[kind]
    configured = _configured_folder(record)
    usable = (
        configured in _folders.checked
        or (configured.is_absolute() and not _reading_problem(configured, record))
    )  # fmt: skip
    temporary = _folders.temporary.get(record.executable)
    return ((configured,) if usable else ()) + ((temporary / kind,) if temporary else ())


def temporary_folder(kind: str) -> Path:
    """A private temporary folder for ``kind``, removed when the process ends; never warns.

    Raises CacheUnusable when the system has no usable temporary folder either.
    """
    record = KINDS[kind]
    with _folders.lock:
        root = _folders.temporary.get(record.executable)
        if root is None or not os.path.isdir(root):
            root = _make_temporary(record)
            _folders.temporary[record.executable] = root
        folder = root / kind
        folder.mkdir(mode=PRIVATE, exist_ok=True)
    return folder


def warn_of_fallback(problem: str) -> None:
    """Say once in a process that a temporary folder is used because of ``problem``."""
    with _folders.lock:
        known, _folders.warned = _folders.warned, True
    if not known:
        warnings.warn(
            f"{problem}; a temporary folder is used instead, and nothing is kept for the next run."
            " Set PHOTIC_CACHE to a folder that only you can write and programs may run from",
            PhoticWarning,
            stacklevel=3,
        )


def folder_problem(folder: Path, kind: Kind) -> str:
    """Why ``folder`` cannot serve ``kind`` for reading and writing; "" when it can."""
    if problem := _reading_problem(folder, kind):
        return problem
    return "" if os.access(folder, os.W_OK | os.X_OK) else "the folder cannot be written"


def trust_problem(path: Path) -> str:
    """Why others could have put or changed ``path`` (a file or folder); "" when they cannot.

    It must belong to us or to root, and only its owner may write it. Windows: always "".
    """
    try:
        status = path.stat()
    except OSError as error:
        return _reason(error)
    if os.name == "nt":
        return ""
    if status.st_uid not in (os.geteuid(), 0):
        return "it belongs to another user"
    return "others can write it" if status.st_mode & WRITABLE_BY_OTHERS else ""


def _reading_problem(folder: Path, kind: Kind) -> str:
    try:
        if not stat.S_ISDIR(folder.stat().st_mode):
            return "not a folder"
        if kind.executable and _forbids_running(folder):
            return "programs may not run from this file system (noexec)"
        if not kind.trusted:
            return ""
        return trust_problem(folder) or trust_problem(folder.parent) or _ancestor_problem(folder)
    except OSError as error:
        return _reason(error)


def _ancestor_problem(folder: Path) -> str:
    """A folder that all may write, without the sticky bit, lets them replace what lies in it."""
    for parent in folder.resolve().parents:
        mode = parent.stat().st_mode
        if os.name != "nt" and mode & stat.S_IWOTH and not mode & stat.S_ISVTX:
            return f"others can write {parent}"
    return ""


def _configured_folder(kind: Kind) -> Path:
    """A relative path stands for "no home folder is known"."""
    text = text_setting("cache")
    try:
        if text:
            return Path(text).expanduser().absolute() / kind.name
        return Path(platformdirs.user_cache_path("photic", appauthor=False)) / kind.name
    except RuntimeError:
        return Path("~") / kind.name


def _make_folder(folder: Path) -> str:
    if not folder.is_absolute():
        return "no home folder is known"
    try:
        _make_private(folder)
    except OSError as error:
        return _reason(error)
    return ""


def _make_private(folder: Path) -> None:
    """Make ``folder`` and its missing parents, each for its owner only."""
    if not os.path.isdir(folder):
        _make_private(folder.parent)
        folder.mkdir(mode=PRIVATE, exist_ok=True)


def _forbids_running(folder: Path) -> bool:
    flag = getattr(os, "ST_NOEXEC", 0)
    return bool(flag and os.statvfs(folder).f_flag & flag)


def _make_temporary(kind: Kind) -> Path:
    for parent in _temporary_parents():
        try:
            if shutil.disk_usage(parent).free < LEAST_FREE_BYTES:
                continue
            if kind.executable and _forbids_running(parent):
                continue
            root = Path(tempfile.mkdtemp(prefix="photic-", dir=parent))
        except OSError:
            continue
        atexit.register(_remove_own, root, os.getpid())
        return root
    raise CacheUnusable(problem="nor can a temporary folder take its place")


def _temporary_parents() -> Iterator[Path]:
    with suppress(FileNotFoundError):
        yield Path(tempfile.gettempdir())
    yield from (Path(one) for one in TEMPORARY_PARENTS)


def _remove_own(root: Path, process: int) -> None:
    if os.getpid() == process:  # a forked child must not remove its parent's folder
        shutil.rmtree(root, ignore_errors=True)


# --- files ----------------------------------------------------------------------------------

FILE_MODE = 0o644  # before the umask: never writable by others
BLOB_MAGIC = b"photic blob 1\n"
DIGEST_CHARACTERS = 64
NO_SPACE = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
LOCK_POLL_SECONDS = (0.001, 0.05)


@dataclass(frozen=True, slots=True)
class Missing:
    """A kept file could not be had; ``reason`` is "absent", "corrupt" or "unreadable"."""

    reason: str


def write_atomic(path: Path, data: bytes | Iterable[bytes]) -> None:
    """Write ``path`` as a whole or not at all; an older file is replaced.

    Raises NoSpace, or FileUnwritable for any other refusal; the partial file is removed.
    """
    part = path.with_name(f".{secrets.token_hex(8)}.part")
    try:
        with write_errors(path):
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
            descriptor = os.open(part, flags, FILE_MODE)
        try:
            for chunk in (data,) if isinstance(data, bytes) else data:
                with write_errors(path):
                    _write_all(descriptor, chunk)
            with write_errors(path):
                os.fsync(descriptor)
        finally:
            os.close(descriptor)
        with write_errors(path):
            os.replace(part, path)
    finally:
        remove_quietly(part)


def write_out(path: Path, data: bytes) -> None:
    """As ``write_atomic``, but a device or a pipe is written into, never replaced."""
    with write_errors(path):
        is_special = path.exists() and not path.is_file() and not path.is_dir()
    if not is_special:
        write_atomic(path, data)
        return
    with write_errors(path), path.open("wb", buffering=0) as file:
        file.write(data)


def _write_all(descriptor: int, data: bytes) -> None:
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(descriptor, rest) :]


@contextmanager
def write_errors(path: Path) -> Iterator[None]:
    """Turn an OSError inside ``with`` into NoSpace or FileUnwritable about ``path``."""
    try:
        yield
    except OSError as error:
        if error.errno in NO_SPACE:
            raise NoSpace(path=path, what="a file") from error
        raise FileUnwritable(path=path, what="a file", problem=_reason(error)) from error


def write_checked(path: Path, payload: bytes) -> None:
    """Write ``payload`` behind its sha256, for ``read_checked``; errors as ``write_atomic``."""
    digest = hashlib.sha256(payload).hexdigest().encode()
    write_atomic(path, (BLOB_MAGIC, digest, b"\n", payload))


def read_checked(path: Path) -> bytes | Missing:
    """The payload of ``write_checked``, or why there is none; a corrupt file is removed."""
    try:
        blob = path.read_bytes()
    except FileNotFoundError:
        return Missing("absent")
    except OSError:
        return Missing("unreadable")
    header_bytes = len(BLOB_MAGIC) + DIGEST_CHARACTERS + 1
    payload = blob[header_bytes:]
    digest = hashlib.sha256(payload).hexdigest().encode()
    if blob[:header_bytes] != BLOB_MAGIC + digest + b"\n":
        remove_quietly(path)
        return Missing("corrupt")
    return payload


def file_sha256(path: Path) -> str:
    """The sha256 of a file, in hexadecimal; OSError as the file system raises it."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def remove_quietly(path: Path) -> None:
    """Remove a file if it is there and we may."""
    with suppress(OSError):
        path.unlink()


@contextmanager
def locked(path: Path, timeout_seconds: float) -> Iterator[bool]:
    """Hold the lock file ``path`` against other threads and processes inside ``with``.

    A hint that saves double work, never needed for right results: gives False, and goes on, when
    the lock cannot be had (no folder, no lock support, ``timeout_seconds`` passed). The system
    frees the lock of a process that dies.
    """
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT, FILE_MODE)
    except OSError:
        yield False
        return
    try:
        yield _wait_for_lock(descriptor, timeout_seconds)
    finally:
        os.close(descriptor)


def _wait_for_lock(descriptor: int, timeout_seconds: float) -> bool:
    end = time.monotonic() + timeout_seconds
    pause, longest = LOCK_POLL_SECONDS
    while True:
        try:
            _try_lock(descriptor)
            return True
        except (BlockingIOError, PermissionError):
            if time.monotonic() > end:
                return False
        except OSError:  # a file system without locks
            return False
        time.sleep(pause)
        pause = min(2 * pause, longest)


if sys.platform == "win32":
    import msvcrt

    def _try_lock(descriptor: int) -> None:
        msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)

else:
    import fcntl

    def _try_lock(descriptor: int) -> None:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)


def _reason(error: OSError) -> str:
    return (error.strerror or str(error)).lower()
