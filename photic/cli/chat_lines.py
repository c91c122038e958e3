"""Where the lines of a chat come from: a person at a terminal, or a pipe.

A terminal has a prompt, line editing and a history of lines (readline, where Python has it); a line
that ends in a backslash goes on in the next. In a pipe nothing is drawn, and a line is a line.
"""

from __future__ import annotations

import sys
from contextlib import suppress
from typing import Protocol

import typer

from photic.cli.options import checked_text

PROMPT, CONTINUED = "> ", "... "
GOES_ON = "\\"


class Lines(Protocol):
    """Lines, one after another."""

    @property
    def drawn(self) -> bool:
        """Whether a person reads along."""

    def read(self) -> str:
        """The next line, without its end. Raises EOFError, BadArgument for what is no UTF-8."""


def lines() -> Lines:
    """What stdin is; a usage error where it is closed."""
    if sys.stdin is None:
        raise typer.BadParameter("stdin is closed: there is nobody to talk with")
    return Terminal() if sys.stdin.isatty() else Pipe()


class Pipe:
    """Lines as another program writes them."""

    drawn = False

    def read(self) -> str:
        line = sys.stdin.buffer.readline()
        if not line:
            raise EOFError
        return checked_text("chat", line.decode("utf-8", errors="surrogateescape").rstrip("\r\n"))


class Terminal:
    """Lines as a person types them; Ctrl-C gives up the line, Ctrl-D ends."""

    drawn = True

    def __init__(self) -> None:
        with suppress(ImportError):  # Windows has a line editor of its own
            import readline  # noqa: F401  # input() edits lines with it

    def read(self) -> str:
        while True:
            try:
                line = self._line(PROMPT)
                while line.endswith(GOES_ON):
                    line = line.removesuffix(GOES_ON) + "\n" + self._line(CONTINUED)
                return checked_text("chat", line)
            except KeyboardInterrupt:
                print("\n(/exit or Ctrl-D ends)", file=sys.stderr)
            except EOFError:
                print(file=sys.stderr)
                raise

    def _line(self, prompt: str) -> str:
        if sys.stdout.isatty():
            return input(prompt)
        print(prompt, end="", file=sys.stderr, flush=True)  # stdout holds the answers only
        return input()
