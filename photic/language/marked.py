"""Text that remembers which of its characters came from a user.

A chat template mixes its own text with users'. Only its own may become control tokens, so each
character's author has to survive what templates do to text: adding, cutting, trimming, replacing.
Promises: a user's character never loses its mark in the functions below; where a change moves
characters in no simple way, all of the result is marked as a user's if any of the input was.

Methods of ``str`` that are not wrapped here drop the marks; callers use these functions instead.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import SupportsIndex

USER, OWN = b"\1", b"\0"


class Marked(str):
    """A text with at least one user's character; ``user[i]`` is 1 where character i is one."""

    __slots__ = ("user",)
    user: bytes

    def __str__(self) -> str:
        return self  # str(text) must not drop the marks

    def __getitem__(self, place: SupportsIndex | slice) -> str:
        character_or_part = super().__getitem__(place)  # IndexError as usual
        chosen = self.user[place]
        return marked(character_or_part, chosen if isinstance(chosen, bytes) else bytes((chosen,)))

    def __iter__(self) -> Iterator[str]:
        return (self[place] for place in range(len(self)))


def marked(text: str, user: bytes) -> str:
    """``text`` with its marks; a plain str where none of it is a user's."""
    assert len(text) == len(user)
    if 1 not in user:
        return str.__str__(text)
    made = Marked(text)
    made.user = user
    return made


def users(text: str) -> str:
    """``text``, all of it a user's."""
    return marked(text, USER * len(text))


def marks(text: str) -> bytes:
    """1 for each character that is a user's, else 0."""
    return text.user if isinstance(text, Marked) else OWN * len(text)


def coarse(result: str, *sources: str) -> str:
    """``result``, all of it a user's if any of the texts it was made of had a user's character."""
    return users(result) if any(isinstance(one, Marked) for one in sources) else result


def join(separator: str, parts: Sequence[str]) -> str:
    text = separator.join(parts)
    if not any(isinstance(one, Marked) for one in (separator, *parts)):
        return text
    return marked(text, marks(separator).join(map(marks, parts)))


def repeat(text: str, count: int) -> str:
    return marked(str.__mul__(text, count), marks(text) * count)


def replace(text: str, old: str, new: str, count: int = -1) -> str:
    if not old:
        return coarse(str.replace(text, old, new, count), text, new)
    return join(new, split(text, old, count))


def recased(change: Callable[[str], str]) -> Callable[[str], str]:
    """``change``, which alters letters one by one, with marks (coarse where the length changes)."""

    def changed(text: str) -> str:
        result = change(text)
        if len(result) == len(text):
            return marked(result, marks(text))
        return coarse(result, text)

    return changed


# --- parts of a text ------------------------------------------------------------------------


def _located(text: str, parts: Sequence[str], gap: int = 0) -> list[str]:
    """The ``parts`` of ``text``, given from left to right, with its marks.

    Between two parts lie ``gap`` characters, or (gap 0) only such as no part begins with.
    """
    user, found, at = marks(text), [], 0
    for part in parts:
        start = at if gap else text.index(part, at)
        at = start + len(part)
        found.append(marked(part, user[start:at]))
        at += gap
    return found


def strip(text: str, characters: str | None = None) -> str:
    return lstrip(rstrip(text, characters), characters)


def lstrip(text: str, characters: str | None = None) -> str:
    result = str.lstrip(text, characters)
    return marked(result, marks(text)[len(text) - len(result) :])


def rstrip(text: str, characters: str | None = None) -> str:
    result = str.rstrip(text, characters)
    return marked(result, marks(text)[: len(result)])


def split(text: str, separator: str | None = None, maxsplit: int = -1) -> list[str]:
    return _located(text, str.split(text, separator, maxsplit), len(separator or ""))


def rsplit(text: str, separator: str | None = None, maxsplit: int = -1) -> list[str]:
    return _located(text, str.rsplit(text, separator, maxsplit), len(separator or ""))


def splitlines(text: str, keepends: bool = False) -> list[str]:
    return _located(text, str.splitlines(text, keepends))


def partition(text: str, separator: str) -> tuple[str, ...]:
    return tuple(_located(text, str.partition(text, separator)))


def rpartition(text: str, separator: str) -> tuple[str, ...]:
    return tuple(_located(text, str.rpartition(text, separator)))


def removeprefix(text: str, prefix: str) -> str:
    result = str.removeprefix(text, prefix)
    return marked(result, marks(text)[len(text) - len(result) :])


def removesuffix(text: str, suffix: str) -> str:
    result = str.removesuffix(text, suffix)
    return marked(result, marks(text)[: len(result)])
