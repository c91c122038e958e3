"""The tokenizer's tables in a GGUF file, checked as they are read.

A key that is missing where it must not be, or of another kind than it says, is TokenizerBroken.
What the tables mean is not known here.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn, cast

from photic.language.errors import TokenizerBroken

PREFIX = "tokenizer.ggml."
NORMAL, UNKNOWN, CONTROL, USER_DEFINED, UNUSED, BYTE = 1, 2, 3, 4, 5, 6  # token_type
SHOWN_CHARACTERS = 40


@dataclass(frozen=True, slots=True)
class Tables:
    """The ``tokenizer.*`` keys, checked as they are read."""

    metadata: Mapping[str, object]
    path: str | Path

    def fail(self, problem: str) -> NoReturn:
        raise TokenizerBroken(path=self.path, problem=problem)

    def text(self, key: str, default: str) -> str:
        return cast(str, self._value(PREFIX + key, str, default))

    def flag(self, key: str, default: bool) -> bool:
        return cast(bool, self._value(PREFIX + key, bool, default))

    def template(self) -> str | None:
        return cast("str | None", self._value("tokenizer.chat_template", str, None))

    def floats(self, key: str, count: int) -> list[float]:
        found = list(self._array(PREFIX + key))
        if len(found) != count or not all(issubclass(one, int | float) for one in _types(found)):
            self.fail(f"{PREFIX + key} is not one number for each of the {count} tokens")
        return list(map(float, cast(list[float], found)))

    def strings(self, key: str) -> list[str]:
        found = list(self._array(PREFIX + key))
        if not all(issubclass(one, str) for one in _types(found)):
            self.fail(f"{PREFIX + key} does not hold texts only")
        return cast(list[str], found)

    def kinds(self, count: int) -> list[int]:
        key = PREFIX + "token_type"
        if key not in self.metadata:
            return [NORMAL] * count
        found = list(self._array(key))
        if len(found) != count or not all(hasattr(one, "__index__") for one in _types(found)):
            self.fail(f"{key} is not one number for each of the {count} tokens")
        return list(map(int, cast(list[int], found)))

    def token_id(self, key: str, count: int) -> int | None:
        found = self.metadata.get(PREFIX + key)
        if found is None:
            return None
        if not hasattr(found, "__index__") or not 0 <= int(cast(int, found)) < count:
            self.fail(f"{PREFIX + key} is {found}, not one of the {count} tokens")
        return int(cast(int, found))

    def _array(self, key: str) -> Sequence[object]:
        found = self.metadata.get(key)
        if found is None or isinstance(found, str | bytes) or not hasattr(found, "__len__"):
            self.fail(f"{key} is {'missing' if found is None else 'no list'}")
        return cast(Sequence[object], found)

    def _value(self, key: str, kind: type, default: object) -> object:
        found = self.metadata.get(key, default)
        if found is not default and not isinstance(found, kind):
            self.fail(f"{key} is no {kind.__name__}")
        return found


def _types(found: Iterable[object]) -> set[type]:
    return set(map(type, found))


def shown(text: str) -> str:
    return repr(text if len(text) <= SHOWN_CHARACTERS else text[:SHOWN_CHARACTERS] + "...")
