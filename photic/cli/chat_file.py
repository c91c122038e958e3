"""A conversation as a file: ``{"messages": [{"role": ..., "content": ...}, ...]}`` in JSON.

That is how others write conversations too. A system message may come first; then a user's and an
assistant's messages take turns, and the last is the assistant's. A file is written whole or not at
all, and read whole or refused.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

from photic.cli.errors import ConversationFile

if TYPE_CHECKING:
    from photic.language.turns import Said

MOST_BYTES = 64 << 20  # of a file: far more than any context holds
ROLES = ("user", "assistant")


def write_conversation(path: Path, messages: Sequence[Said]) -> None:
    """Write a file, in place of an older one. Raises NoSpace or FileUnwritable."""
    from photic.storage.files import write_out

    plain = [{"role": one.role, "content": one.content} for one in messages]
    text = json.dumps({"messages": plain}, ensure_ascii=False, indent=1) + "\n"
    write_out(path, text.encode())


def read_conversation(path: Path) -> list[Said]:
    """The messages of a file. Raises FileUnreadable, or ConversationFile with what is wrong."""
    from photic.storage.errors import FileUnreadable

    try:
        with path.open("rb") as file:
            content = file.read(MOST_BYTES + 1)
    except (OSError, ValueError) as error:  # the latter: a NUL in the path
        problem = (getattr(error, "strerror", None) or str(error)).lower()
        raise FileUnreadable(path=path, problem=problem) from None
    if len(content) > MOST_BYTES:
        _refuse(path, f"it has more than {MOST_BYTES} bytes")
    try:
        found = json.loads(content)
    except (ValueError, RecursionError):
        _refuse(path, "it is no JSON")
    if not isinstance(found, Mapping) or not isinstance(found.get("messages"), list):
        _refuse(path, 'it has no list of "messages"')
    return _checked(path, found["messages"])


def _checked(path: Path, rows: Sequence[object]) -> list[Said]:
    from photic.language.turns import SYSTEM, Said

    said: list[Said] = []
    for place, row in enumerate(rows):
        role, content = (
            (row.get("role"), row.get("content")) if isinstance(row, Mapping) else (None, None)
        )
        if not isinstance(content, str) or _has_surrogates(content):
            _refuse(path, f"messages[{place}] has no content that is text")
        turns = len(said) - bool(said and said[0].role == SYSTEM)
        allowed = (ROLES[turns % len(ROLES)], *([SYSTEM] if place == 0 else []))
        if role not in allowed:
            _refuse(path, f"messages[{place}] is of {role!r}, not of {' or '.join(allowed)}")
        said.append(Said(str(role), content))
    if said and said[-1].role == ROLES[0]:
        _refuse(path, "the last message has no answer")
    return said


def _has_surrogates(text: str) -> bool:
    """JSON can spell half a character, which no tokenizer takes."""
    return any("\ud800" <= character <= "\udfff" for character in text)


def _refuse(path: Path, problem: str) -> NoReturn:
    raise ConversationFile(path=path, problem=problem)
