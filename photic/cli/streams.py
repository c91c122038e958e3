"""The command's streams: what goes to stdout arrives or ends the command; stderr never ends it.

The one place that knows full disks, readers that left and closed streams: every command prints as
it likes, help and version texts too. A failed stream is pointed at nothing, so that what is still
buffered fails no second time.
"""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


class PipeClosed(Exception):
    """The reader of stdout went away. No OSError, or typer would take it for a plain failure."""


class _Watched(io.TextIOWrapper):
    """A text stream of which a failed write is told as what it means.

    Below it all is as Python made it: an interrupt comes before a write or after it.
    """

    is_lossy = False

    def write(self, text: str) -> int:
        """Raises PipeClosed, NoSpace or FileUnwritable, unless what is written may be lost."""
        with self._told():
            return super().write(text)
        return len(text)

    def flush(self) -> None:
        """As ``write``."""
        with self._told():
            super().flush()

    @contextmanager
    def _told(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            _silence(self.fileno())
            if isinstance(error, BrokenPipeError) and not self.is_lossy:
                raise PipeClosed from None
            if not self.is_lossy:
                from photic.storage.files import write_errors

                with write_errors(Path("stdout")):
                    raise


def _silence(descriptor: int) -> None:
    """From now on all is lost that goes there."""
    nothing = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nothing, descriptor)
    os.close(nothing)


def watch_streams() -> None:
    """Replace stdout and stderr; a stream that a shell closed becomes one in which all is lost."""
    for name, is_lossy in (("stdout", False), ("stderr", True)):
        given = getattr(sys, name)
        if given is None:
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115
        elif isinstance(given, io.TextIOWrapper):
            setattr(sys, name, _watched(given, is_lossy=is_lossy))


def _watched(given: io.TextIOWrapper, *, is_lossy: bool) -> _Watched:
    """The same stream; a terminal without emoji still gets the text."""
    made = _Watched(
        given.buffer,
        given.encoding,
        given.errors if is_lossy else "replace",
        line_buffering=given.line_buffering,
        write_through=given.write_through,
    )
    made.is_lossy = is_lossy
    return made
