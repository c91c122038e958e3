"""The most memory that this process has used so far."""

from __future__ import annotations

import sys

KIB = 1024


def peak_bytes() -> int:
    """Peak resident memory in bytes; 0 where the system does not tell."""
    try:
        import resource
    except ImportError:
        return 0
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * KIB
