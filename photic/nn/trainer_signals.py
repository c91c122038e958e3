"""Ctrl-C as a wish instead of an exception: what is being done ends in order."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from types import FrameType


@dataclass(slots=True)
class Interruption:
    """Whether Ctrl-C was pressed since the block began."""

    wanted: bool = False


@contextmanager
def interruptions() -> Iterator[Interruption]:
    """Note the first Ctrl-C inside the block; a second one raises KeyboardInterrupt as usual.

    In another thread than the main one, which alone may hear signals, and where a program handles
    Ctrl-C in a way of its own that is not Python's, nothing is changed.
    """
    found = Interruption()
    before = signal.getsignal(signal.SIGINT)
    ours = threading.current_thread() is threading.main_thread()
    if not ours or before is not signal.default_int_handler:
        yield found
        return

    def note(number: int, frame: FrameType | None) -> None:
        found.wanted = True
        signal.signal(signal.SIGINT, before)

    signal.signal(signal.SIGINT, note)
    try:
        yield found
    finally:
        signal.signal(signal.SIGINT, before)
