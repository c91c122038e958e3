"""The entry point of the installed ``photic`` script: Ctrl-C is quiet while it still imports."""

from __future__ import annotations

import sys

INTERRUPTED = 130  # as in ending.py, which is not imported yet


def run() -> None:
    """Run the command line."""
    try:
        from photic.cli import main

        main.run()
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED)
