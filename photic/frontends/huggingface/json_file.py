"""A JSON file of a folder as a checked table: values by key, each of the kind asked for.

A missing file, one that is no JSON object, and a value of another kind are FolderBroken, which
names the file and the key. Files are read only up to a size that no honest one reaches.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

from photic.frontends.errors import FolderBroken, FolderUnsupported
from photic.frontends.gguf.metadata import shown
from photic.storage.mapping import map_file

# Of tokenizers with 262,144 tokens and as many merges; configs take some kilobytes.
MAXIMUM_BYTES = 1 << 27


@dataclass(frozen=True, slots=True)
class JsonTable:
    """One object of a file; ``within`` is what is written before its keys in messages."""

    path: Path
    table: Mapping[str, object]
    within: str = ""

    def fail(self, key: str, given: object, expected: str) -> NoReturn:
        """Raise FolderBroken for a key."""
        raise FolderBroken(
            path=self.path, field=self.within + key, given=_text(given), expected=expected
        )

    def refuse(self, key: str, given: object, expected: str) -> NoReturn:
        """Raise FolderUnsupported for a key's value."""
        raise FolderUnsupported(
            path=self.path, what=self.within + key, given=_text(given), expected=expected
        )

    def integer(self, key: str) -> int | None:
        """An integer; None where it is missing or null."""
        found = self.table.get(key)
        if found is not None and (isinstance(found, bool) or not isinstance(found, int)):
            self.fail(key, found, "an integer")
        return found

    def number(self, key: str) -> float | None:
        """A finite number; None where it is missing or null."""
        found = self.table.get(key)
        if found is None:
            return None
        if isinstance(found, bool) or not isinstance(found, int | float):
            self.fail(key, found, "a number")
        if not math.isfinite(found):
            self.fail(key, found, "a finite number")
        return float(found)

    def flag(self, key: str) -> bool | None:
        """A bool; None where it is missing or null."""
        found = self.table.get(key)
        if found is not None and not isinstance(found, bool):
            self.fail(key, found, "true or false")
        return found

    def text(self, key: str) -> str | None:
        """A text; None where it is missing or null."""
        found = self.table.get(key)
        if found is not None and not isinstance(found, str):
            self.fail(key, found, "a text")
        return found

    def numbers(self, key: str) -> tuple[float, ...]:
        """A list of finite numbers."""
        found = self.table.get(key)
        if not isinstance(found, list) or not all(
            isinstance(one, int | float) and math.isfinite(one) for one in found
        ):
            self.fail(key, found, "a list of numbers")
        return tuple(map(float, found))

    def texts(self, key: str) -> tuple[str, ...] | None:
        """A list of texts; None where it is missing or null."""
        found = self.table.get(key)
        if found is None:
            return None
        if not isinstance(found, list) or not all(isinstance(one, str) for one in found):
            self.fail(key, found, "a list of texts")
        return tuple(found)

    def inner(self, key: str) -> JsonTable | None:
        """An object in this one; None where it is missing or null."""
        found = self.table.get(key)
        if found is None:
            return None
        if not isinstance(found, dict):
            self.fail(key, found, "an object")
        return JsonTable(self.path, found, f"{self.within}{key}.")


def read_json(path: Path) -> JsonTable:
    """The object that a file holds. Raises FileUnreadable or FolderBroken."""
    data = map_file(path)
    if len(data) > MAXIMUM_BYTES:
        raise FolderBroken(
            path=path, field="the size", given=len(data), expected=f"up to {MAXIMUM_BYTES} bytes"
        )
    try:
        found = json.loads(data[:].decode("utf-8"))
    except (ValueError, RecursionError) as error:
        raise FolderBroken(
            path=path, field="the text", given=_text(str(error)), expected="JSON"
        ) from None
    if not isinstance(found, dict):
        raise FolderBroken(
            path=path, field="the file", given=_text(found), expected="a JSON object"
        )
    return JsonTable(path, found)


def _text(value: object) -> str:
    return "missing" if value is None else shown(str(value))
