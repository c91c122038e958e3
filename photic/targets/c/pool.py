"""The process's thread pool, as generated code is given it.

Promises: ``pool()`` gives one pool to all who ask; its ``pointer`` stays valid as long as the
process lives, in forked children too. ``set_threads`` gives later callers another pool and leaves
running calls theirs: take ``threads`` (to size scratch) and ``pointer`` from the same ``Pool``.

Does not run anything itself: see pool.c.
"""

from __future__ import annotations

import ctypes
import os
import threading
from dataclasses import dataclass, field
from pathlib import Path

from photic.base.errors import BadArgument
from photic.base.settings import int_setting
from photic.targets.c.facts import usable_cores
from photic.targets.c.toolchain import build_runtime, load_library
from photic.targets.errors import TooLarge

SOURCE = Path(__file__).with_name("pool.c")
MOST_THREADS = 1024


@dataclass(frozen=True, slots=True)
class Pool:
    """``pointer`` is the address of a ``struct photic_pool``; ``threads`` counts the caller too."""

    pointer: int
    threads: int


@dataclass(slots=True)
class _Pools:
    """The pools made so far by their number of threads (none is ever freed), and the current."""

    made: dict[int, Pool] = field(default_factory=dict)
    current: Pool | None = None
    lock: threading.Lock = field(default_factory=threading.Lock)


_pools = _Pools()


def _unlock_after_fork() -> None:
    # another thread may have held the lock at the moment of the fork
    _pools.lock = threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_unlock_after_fork)


def pool() -> Pool:
    """The current pool: PHOTIC_THREADS threads, or as many as there are usable cores.

    Raises BadArgument for a PHOTIC_THREADS outside 0..1024, CompilerMissing as the toolchain.
    """
    return _pools.current or set_threads(int_setting("threads"))


def set_threads(threads: int) -> Pool:
    """Make a pool of ``threads`` (0: as many as there are usable cores) the current one."""
    if not 0 <= threads <= MOST_THREADS:
        expected = f"0 (all cores) to {MOST_THREADS}"
        raise BadArgument(op="set_threads", argument="threads", given=threads, expected=expected)
    count = threads or min(usable_cores(), MOST_THREADS)
    with _pools.lock:
        if count not in _pools.made:
            _pools.made[count] = _create(count)
        _pools.current = _pools.made[count]
        return _pools.current


def _create(threads: int) -> Pool:
    library = load_library(build_runtime(SOURCE.read_text(encoding="utf-8")))
    create = library.photic_pool_create
    create.argtypes = (ctypes.c_int64,)
    create.restype = ctypes.c_void_p
    pointer = create(threads)
    if not pointer:
        raise TooLarge(what="a thread pool", given="more memory", expected="what the system has")
    return Pool(int(pointer), threads)
