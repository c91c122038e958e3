"""One call's launches on a device, prepared: kernels with their arguments set, buffers, a queue.

A session is used by one thread at a time; what changes from call to call (addresses, sizes) is set
anew, all else once. Where the device shares our memory, buffers from outside are used where they
lie; elsewhere inputs are copied to it and outputs back. Constants are made once for all sessions of
a program and never copied again; states are copied when somebody looks at them. What a driver is
asked for is a ``Queue``.
"""

from __future__ import annotations

import ctypes
from collections import deque
from collections.abc import Callable, Hashable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from typing import Any, Protocol, TypeAlias

import numpy as np

from photic.forms.dim_eval import number_of
from photic.ir.dim import Data, Dim, Symbol, Var
from photic.targets.arrays import Place
from photic.targets.launches import Plan, packed
from photic.targets.registry import Threads


class Prepared(Protocol):
    """A kernel that keeps the arguments that it was given."""

    def give(self, number: int, memory: Any, start: int) -> None:
        """Which buffer is the parameter of this number, and where in it that begins."""

    def size(self, sizes: bytes, scratch: Any, total: int, each: int) -> None:
        """All that depends on sizes: their numbers, scratch, work-items, how many for each."""


class Queue(Protocol):
    """A driver's queue: what it is told to do is done in this order."""

    @property
    def shares_memory(self) -> bool:
        """True if the device works on our memory."""

    @property
    def group(self) -> int:
        """Work-items of a group."""

    def new(self, count: int) -> Any:
        """Memory of the device; its ``size`` is at least 1."""

    def view(self, address: int, count: int) -> Any:
        """Memory of ours as the device's; of a queue that does not share it, the device's own."""

    def kernel(self, name: str, count: int, size_bytes: int) -> Prepared:
        """A kernel of the program with so many buffers, to be given its arguments."""

    def groups(self, total: int, work: int, scratch: int) -> int:
        """How many groups share so many items: operations, and bytes of an item's scratch."""

    def put(self, memory: Any, address: int, count: int) -> None:
        """Bytes of ours to the device."""

    def take(self, memory: Any, address: int, count: int) -> None:
        """Bytes of the device to ours."""

    def move(self, target: tuple[Any, int], source: tuple[Any, int], count: int) -> None:
        """Bytes from a place on the device to another."""

    def byte(self, memory: Any, start: int) -> int:
        """A byte, when all before is done."""

    def launch(self, kernel: Any, groups: int) -> None:
        """Run a kernel."""

    def run(self, key: Hashable, steps: Callable[[], None]) -> None:
        """Do steps that launch and move: the same ones if the key is; any, if there is none."""

    def finish(self) -> None:
        """Wait for all."""


@dataclass(slots=True)
class Launch:
    """A kernel with its arguments set; ``at`` is what they were set for: scratch, and sizes."""

    kernel: Prepared
    total: Dim
    work: Dim
    scratch: int
    at: tuple[int, ...] = ()
    groups: int = 0


@dataclass(frozen=True, slots=True)
class Moved:
    """Bytes from one buffer to another."""

    target: int
    source: int
    count: Dim


@dataclass(frozen=True, slots=True)
class Repeated:
    """Steps for each value of the size in a slot."""

    slot: int
    trips: Dim
    body: tuple[Ready, ...]


@dataclass(frozen=True, slots=True)
class Chosen:
    """One of two lists of steps, by a byte of a buffer."""

    condition: int
    then: tuple[Ready, ...]
    otherwise: tuple[Ready, ...]


Ready: TypeAlias = Launch | Moved | Repeated | Chosen


@dataclass(slots=True)
class Kept:
    """The states of a program that lie on the device, by slot, until they are shown to others."""

    memory: dict[int, Any] = field(default_factory=dict)
    is_shown: bool = False


@dataclass(slots=True)
class Session:
    """Everything for one call at a time. ``constants`` are shared by all sessions of a program.

    So are the states that are ``kept`` on the device; without it each call copies them both ways.
    """

    queue: Queue
    plan: Plan
    constants: dict[int, Any]
    kept: Kept | None = None
    steps: tuple[Ready, ...] = field(init=False)
    scratch: Any = None
    scratch_bytes: int = 0
    arena: Any = None
    arena_at: tuple[int, ...] | None = None
    starts: dict[int, int] = field(default_factory=dict)
    buffers: dict[int, Any] = field(default_factory=dict)
    uses: dict[int, list[tuple[Prepared, int]]] = field(default_factory=dict)
    numbers: list[int] = field(default_factory=list)
    there: frozenset[int] = frozenset()
    given: dict[int, tuple[Any, int]] = field(default_factory=dict)
    changes: int = 0
    waits: bool = False  # for a byte of the device, in the middle

    def __post_init__(self) -> None:
        self.steps = self._prepared(self.plan.steps)

    # --- before the first call ------------------------------------------------------------------

    def _prepared(self, steps: Sequence[Sequence[Any]]) -> tuple[Ready, ...]:
        dim, found = self.plan.dim, list[Ready]()
        for kind, *parts in steps:
            match kind, parts:
                case "kernel", (name, arguments, total, work, scratch):
                    kernel = self._kernel(name, arguments)
                    found.append(Launch(kernel, dim(total), dim(work), scratch))
                case "copy", (target, source, count):
                    found.append(Moved(target, source, dim(count)))
                case "repeat", (slot, trips, body):
                    found.append(Repeated(slot, dim(trips), self._prepared(body)))
                case "branch", (condition, then, otherwise):
                    self.waits = True
                    sides = self._prepared(then), self._prepared(otherwise)
                    found.append(Chosen(condition, *sides))
        return tuple(found)

    def _kernel(self, name: str, arguments: Sequence[int]) -> Prepared:
        """A kernel of this step's own; which buffers it is given is noted."""
        sizes = np.zeros(max(1, len(self.plan.sizes)), np.int64)
        kernel = self.queue.kernel(f"photic_{name}", len(arguments), sizes.nbytes)
        for number, slot in enumerate(arguments):
            self.uses.setdefault(slot, []).append((kernel, number))
        return kernel

    # --- a call ---------------------------------------------------------------------------------

    def run(
        self,
        addresses: Sequence[int],
        sizes: Sequence[int],
        there: frozenset[int] = frozenset(),
    ) -> None:
        """One call, from beginning to end; the addresses of slots ``there`` are the device's."""
        self.give(addresses, sizes, there)
        self.enqueue()
        self.take(addresses)
        for slot in there:  # others' memory, which the next call may not use
            del self.buffers[slot]

    def give(
        self,
        addresses: Sequence[int],
        sizes: Sequence[int],
        there: frozenset[int] = frozenset(),
    ) -> None:
        """Buffers and sizes of the calls that follow."""
        self.numbers, self.there = list(sizes), there
        for slot, (role, count) in enumerate(self.plan.slots):
            self._give(slot, role, self.number(count), addresses[slot])
        if self.arena_at != tuple(self.numbers):
            self._pack()

    def _pack(self) -> None:
        """The arena for these sizes, and where in it each temporary begins."""
        self.arena_at = tuple(self.numbers)
        arena = [(start, end, self.number(size), k) for start, end, size, k in self.plan.arena]
        self.starts, count = packed(arena)
        if self.arena is None or self.arena.size < count:
            self.arena = self.queue.new(count)
        for number, start in self.starts.items():
            self._use(number, self.arena, start)

    def _use(self, slot: int, memory: Any, start: int) -> None:
        self.buffers[slot] = memory
        if self.given.get(slot) == (memory, start):
            return
        self.given[slot], self.changes = (memory, start), self.changes + 1
        for kernel, number in self.uses.get(slot, ()):
            kernel.give(number, memory, start)

    def enqueue(self) -> None:
        """All steps, once."""
        key = None if self.waits else (self.changes, self.scratch_bytes, *self.numbers)
        self.queue.run(key, lambda: self._run(self.steps))

    def take(self, addresses: Sequence[int]) -> None:
        """Wait for all steps; what they wrote is where the addresses say."""
        for slot, (role, size) in enumerate(self.plan.slots):
            is_ours = role == "output" or (role == "state" and not self._keeps())
            if is_ours and slot not in self.there and (count := self.number(size)):
                self.queue.take(self.buffers[slot], addresses[slot], count)
        self.queue.finish()

    def _keeps(self) -> bool:
        """Whether states stay on the device after a call."""
        return bool(self.kept and not self.kept.is_shown and not self.queue.shares_memory)

    def number(self, value: Dim) -> int:
        """What a size is in this call, and at this turn of the loops around."""
        if isinstance(value, int):
            return value
        names = {one.name: number for one, number in zip(self.plan.sizes, self.numbers)}

        def known(atom: Symbol | Var | Data) -> int:
            assert isinstance(atom, Symbol)
            return names[atom.name]

        return number_of(value, known)

    def _give(self, slot: int, role: str, count: int, address: int) -> None:
        """The buffer of a slot, as it is before the call."""
        same = self.constants if role == "constant" else self._states() if role == "state" else {}
        if slot in same:
            memory = same[slot]
        elif slot in self.there or (self.queue.shares_memory and count):
            memory = self.queue.view(address, count)
        else:
            memory = self.buffers.get(slot)
            if memory is None or memory.size < count:
                memory = self.queue.new(count)
            if count and role != "output":
                self.queue.put(memory, address, count)
        if role == "constant" and slot not in self.constants:
            self.queue.finish()  # other sessions have queues of their own
            self.constants[slot] = memory
        if role == "state" and self._keeps():
            self._states()[slot] = memory
        if self.buffers.get(slot) is not memory:
            self._use(slot, memory, 0)

    def _states(self) -> dict[int, Any]:
        """Those that are on the device already."""
        return self.kept.memory if self.kept and self._keeps() else {}

    def _run(self, steps: Sequence[Ready]) -> None:
        for step in steps:
            match step:
                case Launch():
                    self._launch(step)
                case Moved(target, source, size):
                    if count := self.number(size):
                        self.queue.move(self._place(target), self._place(source), count)
                case Repeated(slot, trips, body):
                    for turn in range(self.number(trips)):
                        self.numbers[slot] = turn
                        self._run(body)
                case Chosen(condition, then, otherwise):
                    self._run(then if self.queue.byte(*self._place(condition)) else otherwise)

    def _place(self, slot: int) -> tuple[Any, int]:
        return self.buffers[slot], self.starts.get(slot, 0)

    def _launch(self, step: Launch) -> None:
        if step.at != (self.scratch_bytes, *self.numbers):
            self._set_sizes(step)
        if step.groups:
            self.queue.launch(step.kernel, step.groups)

    def _set_sizes(self, step: Launch) -> None:
        """The arguments that depend on sizes, and how many groups there are."""
        total = self.number(step.total)
        step.groups = self.queue.groups(total, self.number(step.work), step.scratch)
        items = max(1, step.groups * self.queue.group)
        if self.scratch is None or step.scratch * items > self.scratch_bytes:
            self.scratch_bytes = step.scratch * items
            self.scratch = self.queue.new(self.scratch_bytes)
        step.at = (self.scratch_bytes, *self.numbers)
        sizes = np.array(self.numbers or [0], np.int64).tobytes()
        step.kernel.size(sizes, self.scratch, total, -(-total // items))


# --- a program ------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Alone:
    """A device schedules its own threads: scratch and arena are the sessions'."""

    threads: int = 0
    pointer: int = 0


@dataclass(frozen=True, slots=True)
class Loaded:
    """A program on a device, and the sessions that no call uses now.

    ``queue`` makes a new one; ``using`` is entered around a call. ``place`` is where its memory is,
    if others can be given that by address.
    """

    queue: Callable[[], Queue]
    using: Callable[[], AbstractContextManager[None]]
    plan: Plan
    constants: dict[int, Any] = field(default_factory=dict)
    free: deque[Session] = field(default_factory=deque)
    threads: Alone = field(default_factory=Alone)
    place: Place | None = None
    there: frozenset[int] = frozenset()
    kept: Kept = field(default_factory=Kept)

    def pool(self) -> Alone:
        """What a launch would run on now."""
        return self.threads

    def session(self) -> Session:
        """A new one, which copies states both ways at each call."""
        return Session(self.queue(), self.plan, self.constants)

    def show_states(self, addresses: Mapping[int, int]) -> None:
        """States by slot are copied to ours, and at each call from now on both ways."""
        if not self.kept.is_shown:
            self._bring(addresses)
            self.kept.is_shown = True

    def forget_states(self) -> None:
        """The next call takes states from our memory."""
        self.kept.memory.clear()

    def _bring(self, addresses: Mapping[int, int]) -> None:
        if self.kept.memory:
            with self.using():
                queue = self.queue()
                for slot, memory in self.kept.memory.items():
                    queue.take(memory, addresses[slot], memory.size)
                queue.finish()
            self.forget_states()

    def with_there(self, slots: frozenset[int]) -> Loaded:
        """The same program; the addresses of these slots are the device's."""
        return replace(self, there=slots)

    def launch(self, buffers: int, sizes: int, arena: int, scratch: int, pool: Threads) -> None:
        """Run once, from the addresses of the tables; the device has arena and scratch itself."""
        table = (ctypes.c_void_p * max(1, len(self.plan.slots))).from_address(buffers)
        numbers = (ctypes.c_int64 * max(1, len(self.plan.sizes))).from_address(sizes)
        with self.using():
            try:
                session = self.free.pop()
            except IndexError:
                session = Session(self.queue(), self.plan, self.constants, self.kept)
            session.run([one or 0 for one in table], list(numbers), self.there)
        self.free.append(session)
