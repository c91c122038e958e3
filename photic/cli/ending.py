"""How a command ends: the exit codes, and the one place that turns exceptions into them.

A warning is one line on stderr. A user's mistake ends in a message, never in a traceback. A fault
of photic's own keeps its traceback, since nobody can mend it without one. Wrong options are
typer's to report (exit code 2).
"""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from enum import IntEnum
from pathlib import Path

import typer

from photic.base.errors import PhoticError


class Ending(IntEnum):
    """Exit codes. The last two are 128 plus the signal's number, as shells count them."""

    FINE = 0
    FAILED = 1
    USAGE = 2
    INTERRUPTED = 130
    PIPE_CLOSED = 141


@contextmanager
def endings() -> Iterator[None]:
    """Turn a user's error, Ctrl-C and a reader that left into their exit codes."""
    try:
        with warnings.catch_warnings():
            warnings.showwarning = _print_warning
            yield
        with stdout_errors():
            sys.stdout.flush()
    except PhoticError as error:
        print(f"error: {error}", file=sys.stderr)
        raise typer.Exit(Ending.FAILED) from None
    except KeyboardInterrupt:
        raise typer.Exit(Ending.INTERRUPTED) from None
    except BrokenPipeError:
        _silence_stdout()
        raise typer.Exit(Ending.PIPE_CLOSED) from None


def _print_warning(message: Warning | str, *_: object, **__: object) -> None:
    """In place of Python's own form, which shows a line of our source."""
    print(f"warning: {message}", file=sys.stderr)


@contextmanager
def stdout_errors() -> Iterator[None]:
    """Turn what a full disk does to stdout into NoSpace or FileUnwritable."""
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError:
        from photic.storage.files import write_errors

        _silence_stdout()
        with write_errors(Path("stdout")):
            raise


def _silence_stdout() -> None:
    """Point stdout at nothing, so that the interpreter's last flush does not fail as well."""
    nothing = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nothing, sys.stdout.fileno())
    os.close(nothing)
