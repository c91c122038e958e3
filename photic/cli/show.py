"""``PHOTIC_SHOW``: print the trace events of the stages named there to stderr.

One line per event, ``[stage] name key=value``; a value of several lines follows below. Events of
stages that are not named are not even formatted.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager

from photic.base.settings import setting
from photic.base.trace import Event, listening


@contextmanager
def showing() -> Iterator[None]:
    """Print the events of the stages in ``PHOTIC_SHOW`` until the ``with`` statement ends."""
    stages = setting("show")
    if not stages:
        yield
        return
    assert isinstance(stages, tuple)
    with listening(lambda event: _show(event, stages)):
        yield


def _show(event: Event, stages: tuple[str, ...]) -> None:
    if event.stage in stages:
        print(event_text(event), file=sys.stderr, flush=True)


def event_text(event: Event) -> str:
    """The event as text: short values on its line, long ones below it."""
    short = [f"{key}={value}" for key, value in event.data.items() if "\n" not in str(value)]
    long = [f"{key}:\n{value}" for key, value in event.data.items() if "\n" in str(value)]
    return "\n".join([" ".join([f"[{event.stage}] {event.name}", *short]), *long])
