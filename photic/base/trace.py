"""Trace events: what the stages of a compilation tell whoever listens.

``emit(stage, name, **data)`` calls every listener; with no listener it costs a truth test.
Nothing here prints. Stages: graph, search, nests, source, times, files, pull.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Event:
    """One thing that happened: its stage, its name and named data."""

    stage: str
    name: str
    data: dict[str, object]


@dataclass(frozen=True, slots=True)
class Lazily:
    """A text that is made only if somebody reads it."""

    make: Callable[[], str]

    def __str__(self) -> str:
        return self.make()


Listener = Callable[[Event], None]
_listeners: list[Listener] = []


def emit(stage: str, name: str, **data: object) -> None:
    """Tell every listener."""
    if _listeners:
        event = Event(stage, name, data)
        for listener in tuple(_listeners):
            listener(event)


@contextmanager
def listening(listener: Listener) -> Iterator[None]:
    """Hear events inside the ``with`` statement."""
    _listeners.append(listener)
    try:
        yield
    finally:
        _listeners.remove(listener)
