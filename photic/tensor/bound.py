"""A program bound to its arrays: what a call checks and allocates is done once, before the runs.

Inputs are read where they lie, as they are at each run; outputs are arrays of the bound call's own,
which each run writes again. Not for several threads at once: bind once for each.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Protocol

from photic.storage.artifact import Array
from photic.targets.registry import Loaded, Threads


class Work(Protocol):
    """The filled addresses of a call, and the threads that its arena was made for."""

    table_address: int
    sizes_address: int
    arena_address: int
    scratch_address: int
    pool: Threads


class Bound:
    """A prepared call. ``outputs`` are written again by each run; copy what is to be kept."""

    def __init__(
        self,
        loaded: Loaded,
        prepare: Callable[[Threads], Work],
        inputs: Mapping[str, Array],
        outputs: Mapping[str, Array],
    ) -> None:
        self.inputs, self.outputs = MappingProxyType(inputs), MappingProxyType(outputs)
        self._loaded, self._prepare = loaded, prepare
        self._enter(prepare(loaded.pool()))

    def _enter(self, work: Work) -> None:
        self._work, self._pool = work, work.pool
        places = (work.table_address, work.sizes_address, work.arena_address, work.scratch_address)
        self._places = places

    def run(self) -> Mapping[str, Array]:
        """Run once; the same output arrays each time, holding this run's values."""
        pool = self._loaded.pool()
        if pool is not self._pool:  # the number of threads was changed, or the process forked
            self._enter(self._prepare(pool))
        self._loaded.launch(*self._places, pool)
        return self.outputs
