"""How a command ends: the exit codes, and the one place that turns exceptions into them.

A warning is one line on stderr. A user's mistake ends in a message, never in a traceback. A fault
of photic's own keeps its traceback, since nobody can mend it without one. Wrong options are
typer's to report (exit code 2).
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from enum import IntEnum
from typing import NoReturn

from photic.base.errors import PhoticError
from photic.cli.streams import PipeClosed


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
        sys.stdout.flush()
    except PhoticError as error:
        ended(Ending.FAILED, f"error: {error}")
    except MemoryError:
        ended(Ending.FAILED, "error: there is not enough memory")
    except KeyboardInterrupt:
        ended(Ending.INTERRUPTED)
    except (PipeClosed, BrokenPipeError):
        ended(Ending.PIPE_CLOSED)


def ended(ending: Ending, message: str = "") -> NoReturn:
    """End the command, with a line on stderr."""
    if message:
        print(message, file=sys.stderr)
    raise SystemExit(int(ending)) from None


def _print_warning(message: Warning | str, *_: object, **__: object) -> None:
    """In place of Python's own form, which shows a line of our source."""
    print(f"warning: {message}", file=sys.stderr)
