"""How an example begins and ends as a command."""

from __future__ import annotations

import sys
from collections.abc import Callable

INTERRUPTED = 130


def run(main: Callable[[list[str]], int]) -> None:
    """Exit with the code of ``main``; Ctrl-C before its training begins ends it quietly too."""
    try:
        sys.exit(main(sys.argv[1:]))
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED)
