"""The runtime of a compiled program: arrays in, one call of the entry function, arrays out.

Thread-safe: each call checks out a workspace (arena, table of addresses) from a pool; a program
with states runs one call at a time. Results never share storage with anything; an input that shares
memory with a state is read as it was before the call.
"""

from __future__ import annotations

import ctypes
import math
import os
import threading
import weakref
from collections import deque
from collections.abc import Collection, Mapping
from contextlib import nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING

import numpy as np

from photic.base.errors import BadArgument
from photic.storage.artifact import Argument, Array, Artifact, KernelReport
from photic.storage.making import Making
from photic.targets.errors import TooLarge
from photic.targets.registry import Apart, Loaded, Threads
from photic.tensor.apart import lent_inputs
from photic.tensor.bound import Bound, Prepared, shared
from photic.tensor.ports import Sizes, accept, address_of, fixed_shape, port_of
from photic.tensor.recycled import Recycled, pages

if TYPE_CHECKING:
    from photic.targets.arrays import DeviceArray, Lent

ALIGNMENT = 64  # bytes


@dataclass(frozen=True, slots=True)
class Report:
    """What is known of a compiled program."""

    kernels: tuple[KernelReport, ...]
    candidates: int
    seconds: float
    stopped: str
    matches: Mapping[str, int]


@dataclass(slots=True)
class _Workspace:
    """What one call needs for itself: the table of addresses, the sizes, the arena."""

    table: ctypes.Array[ctypes.c_void_p]
    sizes: ctypes.Array[ctypes.c_int64]
    arena: Array
    arena_address: int
    scratch_address: int
    pool: Threads
    table_address: int = field(init=False)
    sizes_address: int = field(init=False)

    def __post_init__(self) -> None:
        self.table_address = ctypes.addressof(self.table)
        self.sizes_address = ctypes.addressof(self.sizes)


class Program:
    """A compiled program. Call it with its inputs by name; sizes are read off their shapes."""

    def __init__(self, artifact: Artifact, loaded: Loaded) -> None:
        self.artifact = artifact
        self._loaded = loaded
        self._apart = loaded if isinstance(loaded, Apart) else None
        self._place = None if self._apart is None else self._apart.place
        self._free: deque[_Workspace] = deque()
        self._lock = threading.Lock()
        self._ports = {one.name: port_of(one) for one in artifact.inputs}
        self._read = [(one.name, one.slot) for one in artifact.inputs if one.slot >= 0]
        self._states = {one.name: _zeros(one) for one in artifact.states}
        self._results = [(one, one.dtype.numpy, fixed_shape(one.shape)) for one in artifact.outputs]
        self._recycled = [Recycled() for _ in artifact.outputs]
        self.report = _report(artifact)
        _stateful.add(self)

    @property
    def peak_bytes(self) -> int:
        """Bytes of arena and scratch at the largest sizes; inputs, outputs, constants aside."""
        return self._bytes(self._loaded.pool())

    def _bytes(self, pool: Threads) -> int:
        return self.artifact.arena_bytes + self.artifact.scratch_bytes * pool.threads

    @property
    def constant_bytes(self) -> int:
        """Bytes of the constants as the kernels read them."""
        return sum(one.nbytes for one in self.artifact.constants.values())

    @property
    def states(self) -> Mapping[str, Array]:
        """The states by name: live arrays, to be read or written into between calls.

        On a device with memory of its own they stay there until this is asked for; from then on
        each call copies them both ways.
        """
        if self._apart is not None and self._states:
            with self._lock:
                self._apart.show_states(self._state_addresses())
        return MappingProxyType(self._states)

    def reset(self) -> None:
        """All states zero again."""
        with self._lock:
            for array in self._states.values():
                array[...] = 0
            if self._apart is not None:
                self._apart.forget_states()

    def __call__(self, /, **given: object) -> dict[str, Array]:
        """Run once. Values are arrays (NumPy or DLPack) or, for sizes, integers.

        Arrays that lie on the program's device already, by DLPack or ``__cuda_array_interface__``,
        are read there.

        Returns a new array for each output. Raises InputMissing, InputUnknown, InputShape,
        InputDtype, InputUnreadable, SizeMissing, SizeOutOfRange, SizeConflict.
        """
        lent = {} if self._place is None else lent_inputs(self._place, given)
        arrays, sizes = self._accepted(given, lent)
        outputs = self._outputs(sizes)
        self._run(arrays, outputs, sizes, self._slots(lent))
        return outputs

    def on_device(self, /, **given: object) -> dict[str, DeviceArray]:
        """As a call, with results that stay on the device, for a target of memory of its own.

        They export ``__cuda_array_interface__`` and DLPack, and are read there by other programs.
        Raises what a call raises, and BadArgument for other targets.
        """
        if self._place is None:
            expected = "cuda or hip, whose devices have memory of their own"
            fields = {"given": self.artifact.target, "expected": expected}
            raise BadArgument(op="on_device", argument="the target", **fields)
        lent = lent_inputs(self._place, given)
        arrays, sizes = self._accepted(given, lent)
        made = {
            one.name: self._place.empty(sizes.shape(one.shape) if fixed is None else fixed, dtype)
            for one, dtype, fixed in self._results
        }
        left = frozenset(one.slot for one, *_ in self._results)
        outputs = {name: one.view() for name, one in made.items()}
        self._run(arrays, outputs, sizes, self._slots(lent) | left)
        return made

    def _accepted(
        self, given: Mapping[str, object], lent: Mapping[str, Lent]
    ) -> tuple[dict[str, Array], Sizes]:
        views = {name: one.view for name, one in lent.items()}
        return accept(self._ports, self.artifact.sizes, {**given, **views} if lent else given)

    def _slots(self, names: Collection[str]) -> frozenset[int]:
        """Where the inputs of these names go."""
        return frozenset(slot for name, slot in self._read if name in names)

    def bind(self, /, **given: object) -> Bound:
        """A prepared call on these arrays, which are read as they are at each ``run()``.

        They are read in place if C-contiguous, else copied by each run. Sizes are those of now. The
        runs of a program with states go in turn with its calls. Raises what a call raises, and
        BadArgument for an input that is no array.
        """
        inputs = shared(self._ports, given)
        arrays, sizes = accept(self._ports, self.artifact.sizes, {**given, **inputs})
        read = {name: self._unshared(array) for name, array in arrays.items()}
        outputs = self._outputs(sizes)

        def prepare(pool: Threads) -> _Workspace:
            work = self._workspace(pool)
            self._fill(work, read, outputs, sizes)
            return work

        turn = (lambda: self._lock) if self._states else None  # a fork makes another lock
        return Bound(Prepared(self._loaded, prepare, inputs, read, outputs, turn))

    def save(self, path: str | Path) -> None:
        """Write the program to a folder; ``photic.load`` reads it back."""
        from photic.tensor.store import save_artifact

        save_artifact(self.artifact, Path(path))

    def _outputs(self, sizes: Sizes) -> dict[str, Array]:
        made: dict[str, Array] = {}
        for (one, dtype, fixed), memory in zip(self._results, self._recycled, strict=True):
            shape = sizes.shape(one.shape) if fixed is None else fixed
            made[one.name] = memory.empty(shape, dtype)
        return made

    def _run(
        self,
        arrays: dict[str, Array],
        outputs: Mapping[str, Array],
        sizes: Sizes,
        there: frozenset[int],
    ) -> None:
        """Run once, in turn with other calls if there are states.

        What lies in the slots ``there`` is on the device already.
        """
        with self._lock if self._states else nullcontext():
            pool = self._loaded.pool()
            try:
                work = self._free.pop()
            except IndexError:
                work = self._workspace(pool)
            if work.pool is not pool:
                work = self._workspace(pool)
            if self._states:
                arrays = {name: self._unshared(array) for name, array in arrays.items()}
            self._fill(work, arrays, outputs, sizes)
            addresses = (work.sizes_address, work.arena_address, work.scratch_address)
            loaded = self._loaded
            if there:
                assert self._apart is not None
                loaded = self._apart.with_there(there)
            loaded.launch(work.table_address, *addresses, pool)
            self._free.append(work)

    def _fill(
        self,
        work: _Workspace,
        arrays: Mapping[str, Array],
        outputs: Mapping[str, Array],
        sizes: Sizes,
    ) -> None:
        table = work.table
        for name, slot in self._read:
            table[slot] = address_of(arrays[name])
        for one, *_ in self._results:
            table[one.slot] = address_of(outputs[one.name])
        for number, symbol in enumerate(self.artifact.sizes):
            work.sizes[number] = sizes.values[symbol.name]

    def _unshared(self, array: Array) -> Array:
        """The array, or a copy of one that shares memory with a state: a call may write it."""
        shares = any(np.may_share_memory(array, state) for state in self._states.values())
        return array.copy() if shares else array

    def _state_addresses(self) -> dict[int, int]:
        """Where states lie in our memory, by slot."""
        found = ((one.slot, self._states[one.name]) for one in self.artifact.states)
        return {slot: array.ctypes.data for slot, array in found if slot >= 0}

    def _workspace(self, pool: Threads) -> _Workspace:
        artifact = self.artifact
        table = (ctypes.c_void_p * max(1, artifact.slots))()
        for name, slot in artifact.constant_slots.items():
            table[slot] = artifact.constants[name].ctypes.data
        for slot, address in self._state_addresses().items():
            table[slot] = address
        numbers = (ctypes.c_int64 * max(1, len(artifact.sizes) + artifact.counters))()
        try:
            arena = np.empty(self._bytes(pool) + 2 * ALIGNMENT, np.uint8)
        except (MemoryError, ValueError):
            raise TooLarge(
                what="the arena", given=self._bytes(pool), expected="what memory is left"
            ) from None
        start = arena.ctypes.data + -arena.ctypes.data % ALIGNMENT
        scratch = start + artifact.arena_bytes + -artifact.arena_bytes % ALIGNMENT
        return _Workspace(table, numbers, arena, start, scratch, pool)


def _report(artifact: Artifact) -> Report:
    """What the artifact knows; of one without its making, the kernels."""
    known = artifact.making or Making()
    counts = (known.candidates, known.seconds, known.stopped)
    return Report(artifact.kernels, *counts, dict(known.matches))


_stateful: weakref.WeakSet[Program] = weakref.WeakSet()


def _unlock_after_fork() -> None:
    # another thread may have been in a call at the moment of the fork
    for program in _stateful:
        program._lock = threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_unlock_after_fork)


def _zeros(argument: Argument) -> Array:
    """A state's memory, of which only what is written takes space.

    Mapped by ourselves, since NumPy asks for huge pages: a cache that is filled along an inner
    axis touches all of them at its first rows.
    """
    shape = tuple(int(extent) for extent in argument.shape)
    dtype = argument.dtype.numpy
    size = math.prod(shape) * dtype.itemsize
    try:
        memory = pages(max(1, size), "MADV_NOHUGEPAGE")
    except (OSError, ValueError, OverflowError):
        what = f"the state {argument.name!r}"
        raise TooLarge(what=what, given=size, expected="what memory is left") from None
    return np.frombuffer(memory, dtype, math.prod(shape)).reshape(shape)
