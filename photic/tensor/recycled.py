"""Memory of large results, for later calls once nothing refers to a result any more.

Pages that come fresh from the system are zeroed before they can be written: of 40 MB that takes as
long as to compute them. One piece an output is kept, the last that became free, and lives as long
as the program. A result owns its piece until it and all views of it are gone.
"""

from __future__ import annotations

import math
import mmap
import weakref
from collections import deque
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field

import numpy as np

from photic.storage.artifact import Array

LEAST_BYTES = 1 << 20  # smaller results are given again by the allocator


@dataclass(slots=True)
class Recycled:
    """The piece of one output that is free; safe under threads."""

    free: deque[mmap.mmap] = field(default_factory=lambda: deque(maxlen=1))

    def empty(self, shape: Sequence[int], dtype: np.dtype[np.generic]) -> Array:
        """A new array that holds anything. MemoryError."""
        size = math.prod(shape) * dtype.itemsize
        if size < LEAST_BYTES:
            return np.empty(shape, dtype)
        memory = self._piece(size)
        # of an array over another array, NumPy's views would refer to the other alone
        made: Array = np.ndarray(shape, dtype, memory)
        weakref.finalize(made, self.free.append, memory).atexit = False
        return made

    def _piece(self, size: int) -> mmap.mmap:
        with suppress(IndexError):
            memory = self.free.pop()
            if len(memory) == size:
                return memory
        return _new(size)


def _new(size: int) -> mmap.mmap:
    try:
        return pages(size, "MADV_HUGEPAGE")
    except (OSError, ValueError, OverflowError):
        raise MemoryError(f"{size} bytes of a result") from None


def pages(size: int, advice: str) -> mmap.mmap:
    """Zeroed pages, private to this process also after a fork; OSError, ValueError, OverflowError.

    ``advice`` is a name of ``mmap``, for systems and kernels that know it.
    """
    if not hasattr(mmap, "MAP_ANONYMOUS"):
        return mmap.mmap(-1, size)
    memory = mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    if hasattr(mmap, advice):
        with suppress(OSError):  # a kernel without huge pages
            memory.madvise(getattr(mmap, advice))
    return memory
