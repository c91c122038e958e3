"""One call's launches, prepared: kernels with their arguments set, buffers, a queue of its own.

A session is used by one thread at a time; what changes from call to call (addresses, sizes) is set
anew, all else once. Where the device shares our memory, buffers from outside are used where they
lie; elsewhere inputs and states are copied to it, outputs and states back. Constants are made once
for all sessions of a program and never copied again.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np

from photic.forms.dim_eval import number_of
from photic.forms.graph_text import parse_dim
from photic.ir.dim import Data, Dim, Symbol, Var
from photic.loops.layout import ALIGNMENT
from photic.targets.opencl.facts import Opened

SMALL_WORK = 100_000  # operations; less than this is left to one work-item of a processor
ROUNDS = 32  # groups for each compute unit, where a work-item runs several items


@dataclass(slots=True)
class Launch:
    """A kernel with its arguments set; ``at`` is what they were set for: scratch, and sizes."""

    kernel: Any
    count: int
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
    body: tuple[Prepared, ...]


@dataclass(frozen=True, slots=True)
class Chosen:
    """One of two lists of steps, by a byte of a buffer."""

    condition: int
    then: tuple[Prepared, ...]
    otherwise: tuple[Prepared, ...]


Prepared: TypeAlias = Launch | Moved | Repeated | Chosen


@dataclass(frozen=True, slots=True)
class Plan:
    """The plan of a text, read: sizes by slot, buffers from outside as roles and bytes, steps.

    ``arena`` has the temporaries by where they begin: begin, end, bytes now, and their number.
    """

    sizes: tuple[Symbol, ...]
    slots: tuple[tuple[str, Dim], ...]
    arena: tuple[tuple[int, int, Dim, int], ...]
    steps: Sequence[Sequence[Any]]
    dim: Callable[[str], Dim]


def plan_of(table: Mapping[str, Any]) -> Plan:
    """The plan that ``entry_source`` wrote."""
    sizes = tuple(Symbol(*one) for one in table["sizes"])
    known = {one.name: one for one in sizes}

    def dim(text: str) -> Dim:
        return parse_dim(text, known, {})

    slots = tuple((role, dim(text)) for role, text in table["slots"])
    places = enumerate(table["arena"])
    arena = [(start, end, dim(size), -1 - k) for k, (start, end, size) in places]
    arena.sort(key=lambda one: one[:2])
    return Plan(sizes, slots, tuple(arena), table["steps"], dim)


def packed(arena: Sequence[tuple[int, int, int, int]]) -> tuple[dict[int, int], int]:
    """Where temporaries begin whose bytes are less than planned, by number, and where all end.

    Before and after: what ended before another began still does, so that no two meet that did not.
    """
    starts, ends, last = dict[int, int](), list[tuple[int, int]](), 0
    for start, end, size, number in arena:
        begin = max((now for planned, now in ends if planned <= start), default=0)
        starts[number] = begin
        ends.append((end, begin + -(-size // ALIGNMENT) * ALIGNMENT))
        last = max(last, ends[-1][1])
    return starts, last


@dataclass(slots=True)
class Session:
    """Everything for one call at a time. ``constants`` are shared by all sessions of a program."""

    opened: Opened
    program: Any
    plan: Plan
    constants: dict[int, Any]
    queue: Any = field(init=False)
    steps: tuple[Prepared, ...] = field(init=False)
    scratch: Any = None
    scratch_bytes: int = 0
    arena: Any = None
    arena_at: tuple[int, ...] | None = None
    starts: dict[int, int] = field(default_factory=dict)
    buffers: dict[int, Any] = field(default_factory=dict)
    uses: dict[int, list[tuple[Any, int]]] = field(default_factory=dict)
    numbers: list[int] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.queue = self.opened.cl.CommandQueue(self.opened.context)
        self.steps = self._prepared(self.plan.steps)

    # --- before the first call ------------------------------------------------------------------

    def _new(self, count: int) -> Any:
        cl = self.opened.cl
        return cl.Buffer(self.opened.context, cl.mem_flags.READ_WRITE, max(1, count))

    def _prepared(self, steps: Sequence[Sequence[Any]]) -> tuple[Prepared, ...]:
        dim, found = self.plan.dim, list[Prepared]()
        for kind, *parts in steps:
            match kind, parts:
                case "kernel", (name, arguments, total, work, scratch):
                    kernel = self._kernel(name, arguments)
                    count = 2 * len(arguments)
                    found.append(Launch(kernel, count, dim(total), dim(work), scratch))
                case "copy", (target, source, count):
                    found.append(Moved(target, source, dim(count)))
                case "repeat", (slot, trips, body):
                    found.append(Repeated(slot, dim(trips), self._prepared(body)))
                case "branch", (condition, then, otherwise):
                    sides = self._prepared(then), self._prepared(otherwise)
                    found.append(Chosen(condition, *sides))
        return tuple(found)

    def _kernel(self, name: str, arguments: Sequence[int]) -> Any:
        """A kernel object of this step's own; which buffers it is given is noted."""
        kernel = self.opened.cl.Kernel(self.program, f"photic_{name}")
        for number, slot in enumerate(arguments):
            self.uses.setdefault(slot, []).append((kernel, 2 * number))
            kernel.set_arg(2 * number + 1, np.uint64(0))
        return kernel

    # --- a call ---------------------------------------------------------------------------------

    def run(self, addresses: Sequence[int], sizes: Sequence[int]) -> None:
        """One call, from beginning to end."""
        self.give(addresses, sizes)
        self.enqueue()
        self.take(addresses)

    def give(self, addresses: Sequence[int], sizes: Sequence[int]) -> None:
        """Buffers and sizes of the calls that follow."""
        self.numbers = list(sizes)
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
            self.arena = self._new(count)
        for number, start in self.starts.items():
            self.buffers[number] = self.arena
            for kernel, place in self.uses.get(number, ()):
                kernel.set_arg(place, self.arena)
                kernel.set_arg(place + 1, np.uint64(start))

    def enqueue(self) -> None:
        """All steps, once."""
        self._run(self.steps)

    def take(self, addresses: Sequence[int]) -> None:
        """Wait for all steps; what they wrote is where the addresses say."""
        for slot, (role, count) in enumerate(self.plan.slots):
            if role in ("output", "state"):
                self._take(slot, self.number(count), addresses[slot])
        self.queue.finish()

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
        if role == "constant" and slot in self.constants:
            buffer = self.constants[slot]
        elif self.opened.facts.shares_memory and count:
            cl = self.opened.cl
            flags = cl.mem_flags.READ_WRITE | cl.mem_flags.USE_HOST_PTR
            buffer = cl.Buffer(self.opened.context, flags, hostbuf=_memory(address, count))
        else:
            buffer = self.buffers.get(slot)
            if buffer is None or buffer.size < count:
                buffer = self._new(count)
            if count and role != "output":
                self.opened.cl.enqueue_copy(self.queue, buffer, _memory(address, count))
        if role == "constant":
            self.constants[slot] = buffer
        if self.buffers.get(slot) is not buffer:
            self.buffers[slot] = buffer
            for kernel, number in self.uses.get(slot, ()):
                kernel.set_arg(number, buffer)

    def _take(self, slot: int, count: int, address: int) -> None:
        """What a call wrote, where we can read it."""
        cl, buffer = self.opened.cl, self.buffers[slot]
        if not count:
            return
        if self.opened.facts.shares_memory:
            shape, flags = (count,), cl.map_flags.READ
            array, _ = cl.enqueue_map_buffer(self.queue, buffer, flags, 0, shape, np.uint8)
            array.base.release(self.queue)
        else:
            cl.enqueue_copy(self.queue, _memory(address, count), buffer)

    def _run(self, steps: Sequence[Prepared]) -> None:
        for step in steps:
            match step:
                case Launch():
                    self._launch(step)
                case Moved(target, source, count):
                    self._move(target, source, self.number(count))
                case Repeated(slot, trips, body):
                    for turn in range(self.number(trips)):
                        self.numbers[slot] = turn
                        self._run(body)
                case Chosen(condition, then, otherwise):
                    self._run(then if self._byte(condition) else otherwise)

    def _launch(self, step: Launch) -> None:
        if step.at != (self.scratch_bytes, *self.numbers):
            self._set_sizes(step)
        if step.groups:
            group = self.opened.facts.group
            shape, inside = (step.groups * group,), (group,)
            self.opened.cl.enqueue_nd_range_kernel(self.queue, step.kernel, shape, inside)

    def _set_sizes(self, step: Launch) -> None:
        """The arguments that depend on sizes, and how many groups there are."""
        known, total = self.opened.facts, self.number(step.total)
        groups = -(-total // known.group)
        if known.kind == "cpu" and self.number(step.work) < SMALL_WORK:
            groups = min(groups, 1)
        elif known.kind == "cpu" or step.scratch:
            groups = min(groups, known.units * ROUNDS)
        step.groups = groups
        each = -(-total // max(1, groups * known.group))
        numbers = np.array(self.numbers or [0], np.int64).tobytes()
        if step.scratch * groups * known.group > self.scratch_bytes:
            self.scratch_bytes = step.scratch * groups * known.group
            self.scratch = self._new(self.scratch_bytes)
        step.at = (self.scratch_bytes, *self.numbers)
        last = (numbers, self.scratch, np.int64(total), np.int64(each))
        for number, value in enumerate(last, step.count):
            step.kernel.set_arg(number, value)

    def _move(self, target: int, source: int, count: int) -> None:
        if count:
            to, start = self.starts.get(target, 0), self.starts.get(source, 0)
            starts = {"dst_offset": to, "src_offset": start, "byte_count": count}
            ends = self.buffers[target], self.buffers[source]
            self.opened.cl.enqueue_copy(self.queue, *ends, **starts)

    def _byte(self, slot: int) -> bool:
        found, start = np.empty(1, np.uint8), self.starts.get(slot, 0)
        self.opened.cl.enqueue_copy(self.queue, found, self.buffers[slot], src_offset=start)
        return bool(found[0])


def _memory(address: int, count: int) -> Any:
    """So many bytes of ours, as an array."""
    return np.frombuffer(memoryview((ctypes.c_char * count).from_address(address)), np.uint8)
