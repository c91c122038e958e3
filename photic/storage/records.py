"""Tuning records in an SQLite file: for each key one record, the fastest.

Any number of processes may use one file; one that is killed while it writes loses no record but its
own. A damaged file is moved aside. What cannot be written is kept in memory, and the caller is
warned, once: records save time, they are never needed. What a record says is not looked at here.
"""

from __future__ import annotations

import secrets
import sqlite3
from collections.abc import Callable, Iterable
from contextlib import closing, suppress
from pathlib import Path
from typing import TextIO, TypeAlias

from photic.base.trace import emit
from photic.forms.errors import BadText
from photic.storage.record import Record, line_of, parsed

Statement: TypeAlias = tuple[str, tuple[str | float, ...]]

RECORDS_FILE = "tuning.sqlite"  # the name of the user's own
TABLE_VERSION = 1
WAIT_SECONDS = 30.0  # for the writes of other processes
ALL_KEYS = ("", "g")  # what lies between
READ, WRITE = "rw", "rwc"  # SQLite's modes; reading, too, may have to undo a killed write
BEFORE_ADDING: tuple[Statement, ...] = (
    ("BEGIN IMMEDIATE", ()),
    ("CREATE TABLE IF NOT EXISTS records (key TEXT PRIMARY KEY, seconds REAL, line TEXT)", ()),
    (f"PRAGMA user_version = {TABLE_VERSION}", ()),
)
ADD = """INSERT INTO records VALUES (?, ?, ?) ON CONFLICT (key) DO UPDATE SET
seconds = excluded.seconds, line = excluded.line WHERE excluded.seconds <= records.seconds"""
FIND = "SELECT line FROM records WHERE key BETWEEN ? AND ?"
DAMAGED = frozenset({sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB})
PRIMARY_CODE = 0xFF  # of an SQLite error; the other bits give details


class Records:
    """The records in a file, or only in memory for None. ``warn`` is told what is wrong with it."""

    def __init__(self, path: Path | None, warn: Callable[[str], None]) -> None:
        self._path, self._warn = path, warn
        self._kept: dict[str, Record] = {}  # what could not be written
        self._is_writable = path is not None
        self._is_warned = False

    def best(self, key: str) -> Record | None:
        """The record of a key, if there is one; an event tells what was asked for."""
        found = self._between(key, key).get(key)
        emit("files", "record", key=key, found=found is not None)
        return found

    def add(self, key: str, record: Record) -> None:
        """Keep a record, unless the key has a faster one."""
        if self._is_writable:
            new: Statement = (ADD, (key, record.seconds, line_of(key, record)))
            self._is_writable = self._lines(WRITE, *BEFORE_ADDING, new, ("COMMIT", ())) is not None
        if not self._is_writable:
            self._keep(self._kept, key, record)

    def export(self, file: TextIO) -> int:
        """Write every record as a line of JSON; returns how many."""
        found = self._between(*ALL_KEYS)
        file.writelines(line_of(key, found[key]) + "\n" for key in sorted(found))
        return len(found)

    def import_(self, file: Iterable[str]) -> int:
        """Add what ``export`` wrote; returns how many. Raises BadText, and then adds nothing."""
        found = []
        for number, line in enumerate(file, 1):
            try:
                found.append(parsed(line))
            except ValueError as error:
                raise BadText(line=number, problem=str(error)) from None
        for key, record in found:
            self.add(key, record)
        return len(found)

    def _between(self, low: str, high: str) -> dict[str, Record]:
        """The records of some keys; a line in the file that makes no sense is none."""
        found = {key: one for key, one in self._kept.items() if low <= key <= high}
        for line in self._lines(READ, (FIND, (low, high))) or ():
            with suppress(ValueError):
                self._keep(found, *parsed(line))
        return found

    def _keep(self, found: dict[str, Record], key: str, record: Record) -> None:
        if key not in found or record.seconds <= found[key].seconds:
            found[key] = record

    def _lines(self, mode: str, *statements: Statement) -> list[str] | None:
        """What the last statement finds; None, with the caller warned, where one fails."""
        if self._path is None or (mode == READ and not self._path.exists()):
            return []
        for _ in range(2):  # again if a damaged file could be moved aside
            file = _number(self._path)
            try:
                return _done(self._path, mode, statements)
            except (sqlite3.Error, OSError) as error:
                if not self._is_warned:
                    self._warn(f"{self._path}: {error}")
                self._is_warned = True
                is_damaged = getattr(error, "sqlite_errorcode", 0) & PRIMARY_CODE in DAMAGED
                if not is_damaged or not _moved_aside(self._path, file):
                    return None
        return None


# --- the file -------------------------------------------------------------------------------


def _done(path: Path, mode: str, statements: Iterable[Statement]) -> list[str]:
    """Do all on the file, opened anew, so that forks, threads and replaced files do no harm."""
    rows: list[tuple[str]] = []
    uri = f"{path.absolute().as_uri()}?mode={mode}"
    opened = sqlite3.connect(uri, WAIT_SECONDS, isolation_level=None, uri=True)
    with closing(opened) as connection:
        (version,) = connection.execute("PRAGMA user_version").fetchone()
        if version not in (0, TABLE_VERSION):
            raise sqlite3.DatabaseError(f"it was made by another version of photic ({version})")
        for text, values in statements if version or mode == WRITE else ():
            rows = connection.execute(text, values).fetchall()
    return [line for (line,) in rows]


def _number(path: Path) -> int:
    """What tells a file from another that takes its name later; 0 if there is none."""
    with suppress(OSError):
        return path.stat().st_ino
    return 0


def _moved_aside(path: Path, file: int) -> bool:
    """Whether the damaged file is out of the way: by us, or by a process that was faster."""
    if _number(path) == file:
        away = f"{path.name}.damaged-{secrets.token_hex(4)}"
        with suppress(OSError):
            for suffix in ("-journal", ""):  # a journal must not be played into the next file
                if path.with_name(path.name + suffix).exists():
                    path.with_name(path.name + suffix).rename(path.with_name(away + suffix))
    return _number(path) != file
