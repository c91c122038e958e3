"""What a line of a chat that begins with a slash does: one table of commands."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from photic.cli.chat_file import read_conversation, write_conversation
from photic.cli.errors import CommandIncomplete, CommandUnknown
from photic.cli.table import columns

if TYPE_CHECKING:
    from photic.language.turns import Conversation

SLASH = "/"


@dataclass(frozen=True, slots=True)
class Command:
    """A word after a slash; ``argument`` is how its help calls what follows, "" for nothing."""

    word: str
    argument: str
    help: str
    run: Callable[[Conversation, str], None]
    needs_argument: bool = False


def is_command(line: str) -> bool:
    return line.startswith(SLASH) and not line.startswith(SLASH * 2)


def message_of(line: str) -> str:
    """The message that a line stands for: of two slashes at its front, one is left."""
    return line[1:] if line.startswith(SLASH * 2) else line


def run_command(conversation: Conversation, line: str) -> None:
    """Raises EOFError where the chat ends, CommandUnknown, CommandIncomplete, or file errors."""
    word, _, rest = line.removeprefix(SLASH).partition(" ")
    command = _BY_WORD.get(word)
    if command is None:
        known = ", ".join(SLASH + one for one in _BY_WORD)
        raise CommandUnknown(given=SLASH + word, expected=known)
    argument = rest.strip()
    if command.needs_argument and not argument:
        raise CommandIncomplete(given=SLASH + word, expected=command.argument)
    command.run(conversation, argument)


def note(text: str) -> None:
    """Something that is no answer."""
    print(f"({text})", file=sys.stderr)


def _system(conversation: Conversation, text: str) -> None:
    conversation.system = text or None
    note("the system message is set" if text else "the system message is the model's own")


def _reset(conversation: Conversation, _: str) -> None:
    conversation.turns = ()
    note("the conversation begins anew")


def _save(conversation: Conversation, name: str) -> None:
    messages = conversation.messages()
    write_conversation(Path(name).expanduser(), messages)
    note(f"{name}: {_counted(len(messages))} written")


def _load(conversation: Conversation, name: str) -> None:
    messages = read_conversation(Path(name).expanduser())
    conversation.replace(messages)
    note(f"{name}: {_counted(len(messages))} read")


def _counted(count: int) -> str:
    return f"{count} message" if count == 1 else f"{count} messages"


def _help(_: Conversation, __: str) -> None:
    rows = [(f"{SLASH}{one.word} {one.argument}".rstrip(), one.help) for one in COMMANDS]
    print(columns([*rows, *KEYS]), file=sys.stderr)


def _exit(_: Conversation, __: str) -> None:
    raise EOFError


COMMANDS = (
    Command("system", "TEXT", "set the system message; without a text, the model's own", _system),
    Command("reset", "", "forget what was said; the system message stays", _reset),
    Command("save", "FILE", "write the conversation to a file", _save, needs_argument=True),
    Command("load", "FILE", "go on from a conversation in a file", _load, needs_argument=True),
    Command("help", "", "show this list", _help),
    Command("exit", "", "end; so does Ctrl-D", _exit),
)
KEYS = (
    ("Ctrl-C", "stop the answer; what was said of it stays in the conversation"),
    ("...\\", "a backslash at the end of a line: the message goes on in the next"),
    ("//...", "a message that begins with a slash"),
)
_BY_WORD = {one.word: one for one in COMMANDS}
