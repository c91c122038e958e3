"""The entry point of the installed ``photic`` script: Ctrl-C is quiet while it still imports.

Imports and compilations make many objects that stay; looking for cycles among them after each few
hundred took an eighth of the time to a first answer.
"""

from __future__ import annotations

import gc
import sys

ALLOCATIONS = 1_000_000  # more than were freed, before young objects are looked through
INTERRUPTED = 130  # as in ending.py, which is not imported yet


def run() -> None:
    """Run the command line."""
    gc.set_threshold(ALLOCATIONS)
    try:
        from photic.cli import main

        main.run()
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED)
