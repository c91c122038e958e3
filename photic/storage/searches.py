"""The last searches of this user: how often each rule found something. For people only.

A small file of JSON beside the tuning records, written whole. What cannot be written or read is
left out without a word: nothing depends on it.
"""

from __future__ import annotations

import json
from contextlib import suppress
from dataclasses import asdict, dataclass

from photic.storage.errors import CacheUnusable, FileUnwritable, NoSpace
from photic.storage.files import cache_folder, reading_folders, write_atomic

KIND = "records"
FILE = "searches.json"
KEPT = 20  # searches; older ones are forgotten


@dataclass(frozen=True, slots=True)
class Searched:
    """One search: when it ended (seconds since 1970), its length, candidates, matches by rule."""

    ended: float
    seconds: float
    candidates: int
    matches: dict[str, int]


def last_searches() -> list[Searched]:
    """The searches that are remembered, the oldest first."""
    for folder in reading_folders(KIND):
        with suppress(OSError, ValueError, TypeError, RecursionError):
            return [_read(one) for one in json.loads((folder / FILE).read_bytes())]
    return []


def remember_search(searched: Searched) -> None:
    """Add a search."""
    kept = [asdict(one) for one in (*last_searches(), searched)][-KEPT:]
    with suppress(NoSpace, FileUnwritable, CacheUnusable):
        write_atomic(cache_folder(KIND) / FILE, json.dumps(kept).encode())


def _read(given: dict[str, object]) -> Searched:
    """Raises TypeError or ValueError for what is none."""
    found = Searched(**given)  # type: ignore[arg-type]
    counts = found.matches.values() if isinstance(found.matches, dict) else [None]
    if any(type(one) is not int for one in (*counts, found.candidates)):
        raise TypeError("a count")
    return Searched(float(found.ended), float(found.seconds), found.candidates, found.matches)
