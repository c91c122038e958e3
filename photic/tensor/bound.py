"""A program bound to its arrays: what a call checks and allocates is done once, before the runs.

Inputs are read at each run as they are then: in place, or, where their elements do not lie as the
kernels read them or share memory with a state, through a copy made anew by each run. Outputs are
arrays of the bound call's own, which each run writes again. A run of a program with states waits
for other calls of that program. Not for several threads at once: bind once for each.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from types import MappingProxyType
from typing import Protocol

import numpy as np

from photic.base.errors import BadArgument
from photic.storage.artifact import Array
from photic.targets.registry import Loaded, Threads
from photic.tensor.ports import Port, as_array


class Work(Protocol):
    """The filled addresses of a call, and the threads that its arena was made for."""

    table_address: int
    sizes_address: int
    arena_address: int
    scratch_address: int
    pool: Threads


@dataclass(frozen=True, slots=True)
class Prepared:
    """What a bound call is made of.

    ``prepare`` fills a table of addresses for a pool. ``inputs`` are the caller's arrays, ``read``
    those that the table names: where the two differ, each run copies. ``turn`` is held during a
    run, where runs have to be ordered.
    """

    loaded: Loaded
    prepare: Callable[[Threads], Work]
    inputs: Mapping[str, Array]
    read: Mapping[str, Array]
    outputs: Mapping[str, Array]
    turn: Callable[[], AbstractContextManager[object]] | None


class Bound:
    """A prepared call. ``outputs`` are written again by each run; copy what is to be kept."""

    def __init__(self, prepared: Prepared) -> None:
        self.inputs = MappingProxyType(prepared.inputs)
        self.outputs = MappingProxyType(prepared.outputs)
        self._loaded, self._prepare, self._turn = prepared.loaded, prepared.prepare, prepared.turn
        pairs = ((one, prepared.inputs[name]) for name, one in prepared.read.items())
        self._copied = [(one, source) for one, source in pairs if one is not source]
        self._enter(self._prepare(self._loaded.pool()))

    def _enter(self, work: Work) -> None:
        self._work, self._pool = work, work.pool
        places = (work.table_address, work.sizes_address, work.arena_address, work.scratch_address)
        self._places = places

    def run(self) -> Mapping[str, Array]:
        """Run once; the same output arrays each time, holding this run's values."""
        if self._turn is None:
            return self._run()
        with self._turn():
            return self._run()

    def _run(self) -> Mapping[str, Array]:
        for copy, source in self._copied:
            np.copyto(copy, source)
        pool = self._loaded.pool()
        if pool is not self._pool:  # the number of threads was changed, or the process forked
            self._enter(self._prepare(pool))
        self._loaded.launch(*self._places, pool)
        return self.outputs


def shared(ports: Mapping[str, Port], given: Mapping[str, object]) -> dict[str, Array]:
    """The inputs among what was given, as arrays on the caller's own memory.

    BadArgument for what is neither NumPy's array nor exports DLPack: a run could not see what
    became of it. Raises InputUnreadable.
    """
    return {name: _shared(name, one) for name, one in given.items() if name in ports}


def _shared(name: str, value: object) -> Array:
    if isinstance(value, np.ndarray) or hasattr(value, "__dlpack__"):
        return as_array(name, value)
    expected = "an array of NumPy's, or one that DLPack shares"
    given = type(value).__name__
    raise BadArgument(op="bind", argument=name, given=given, expected=expected)
