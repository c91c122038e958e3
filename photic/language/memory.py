"""The most memory that this process has used so far."""

from __future__ import annotations

import sys
from pathlib import Path

KIB = 1024
STATUS, PEAK = Path("/proc/self/status"), "VmHWM:"


def peak_bytes() -> int:
    """Peak resident memory in bytes; 0 where the system does not tell.

    On Linux of this program alone: what getrusage tells also counts what the process held before it
    became this program, a copy of the one that started it.
    """
    if STATUS.exists():
        for line in STATUS.read_text(encoding="ascii", errors="replace").splitlines():
            if line.startswith(PEAK):
                return int(line.split()[1]) * KIB
    try:
        import resource
    except ImportError:
        return 0
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * KIB
