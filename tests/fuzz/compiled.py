"""Many graphs compiled at once and run between guards.

``build`` compiles a batch of graphs to one library, each with an entry function of its own.
``Built.run`` gives every buffer (inputs, states, outputs, constants, the arena or each intermediate
value) a place between guard words and a page that may not be touched: a store outside changes a
guard word, a load outside ends the process. Outputs and intermediate values begin as noise.
"""

from __future__ import annotations

import ctypes
import mmap
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from fuzz.movements import Array, number

from photic.codegen.clike import scratch_stride
from photic.codegen.dialect import Addresses
from photic.compiler.passes import PASSES, Compilation
from photic.forms.layout import elements
from photic.forms.program_check import check_program
from photic.ir.graph import Graph
from photic.ir.program import Program, name_of
from photic.loops.target import Machine
from photic.targets.c.entry import POOL, entry_source
from photic.targets.c.pool import pool
from photic.targets.c.toolchain import build_kernels, load_library
from photic.targets.registry import Target, target_named

PAGE = mmap.PAGESIZE
MARGIN = 256  # bytes of guard words on the open side of a buffer; more than four vectors
GUARD, NOISE = 0xA5, 0xC7  # what guard words and unwritten buffers hold
ENTRY = re.compile(r"\bk\d+(_at)?\b|\bphotic_entry\b")

_libc = ctypes.CDLL(None, use_errno=True)


@dataclass(slots=True)
class Guarded:
    """``count`` bytes that end at a page which may not be touched, or that begin after one."""

    count: int
    at_end: bool
    pages: mmap.mmap
    whole: Array
    start: int

    @classmethod
    def of(cls, count: int, at_end: bool) -> Guarded:
        """New bytes, all noise."""
        inner = -(-(count + MARGIN) // PAGE) * PAGE
        pages = mmap.mmap(-1, inner + PAGE)
        whole = np.frombuffer(pages, np.uint8)
        closed = inner if at_end else 0
        if _libc.mprotect(ctypes.c_void_p(whole.ctypes.data + closed), PAGE, 0):
            raise OSError(ctypes.get_errno(), "mprotect")
        start = inner - count if at_end else PAGE
        made = cls(count, at_end, pages, whole, start)
        made.margin[:] = GUARD
        made.bytes[:] = NOISE
        return made

    @property
    def bytes(self) -> Array:
        return self.whole[self.start : self.start + self.count]

    @property
    def margin(self) -> Array:
        if self.at_end:
            return self.whole[: self.start]
        return self.whole[self.start + self.count :]

    @property
    def address(self) -> int:
        return int(self.whole.ctypes.data) + self.start

    @property
    def is_intact(self) -> bool:
        return bool((self.margin == GUARD).all())


@dataclass(frozen=True, slots=True)
class Built:
    """One graph of a batch, ready to run."""

    graph: Graph
    state: Compilation
    entry: Callable[..., None]
    scratch: int  # bytes for each thread

    def run(
        self, inputs: Mapping[str, Array], states: Mapping[str, Array], sizes: Mapping[str, int]
    ) -> tuple[dict[str, Array], dict[str, Array], list[str]]:
        """Outputs, states' next values, and the names of buffers beside which was written."""
        return _Run(self.state, self.entry, self.scratch, sizes).results(inputs, states)


@dataclass(slots=True)
class _Run:
    state: Compilation
    entry: Callable[..., None]
    scratch: int
    sizes: Mapping[str, int]
    buffers: dict[str, Guarded] = field(default_factory=dict)

    def results(
        self, inputs: Mapping[str, Array], states: Mapping[str, Array]
    ) -> tuple[dict[str, Array], dict[str, Array], list[str]]:
        program, addresses = self.state.program, self.state.addresses
        given = {name_of("input", name): array for name, array in inputs.items()}
        given |= {name_of("state", name): array for name, array in states.items()}
        given |= self.state.constants
        table = (ctypes.c_void_p * max(1, len(addresses.slots)))()
        for name, slot in addresses.slots.items():
            self.buffers[name] = self.placed(name, slot, given)
            table[slot] = self.buffers[name].address
        self.buffers["arena"] = Guarded.of(self.state.memory.arena_bytes, True)
        numbers = (ctypes.c_int64 * max(1, len(addresses.sizes)))()
        for one in program.sizes:
            numbers[addresses.sizes[one.name]] = self.sizes[one.name]
        self.buffers["scratch"] = Guarded.of(self.scratch * pool().threads, True)
        places = (self.buffers["arena"].address, self.buffers["scratch"].address)
        self.entry(table, numbers, *places, pool().pointer)
        broken = [name for name, one in self.buffers.items() if not one.is_intact]
        broken += [name for name, array in given.items() if self.is_changed(name, array)]
        outputs = {name: self.array(buffer) for name, buffer in program.outputs.items()}
        after = {name: self.array(name_of("state", name)) for name in states}
        return outputs, after, broken

    def placed(self, name: str, slot: int, given: Mapping[str, Array]) -> Guarded:
        place = self.state.program.places[name]
        count = number(elements(place.buffer.shape, place.layout), self.sizes)
        made = Guarded.of(count * place.buffer.dtype.bytes, slot % 3 != 0)
        if name in given:
            made.bytes[:] = np.frombuffer(given[name].tobytes(), np.uint8)
        return made

    def is_changed(self, name: str, array: Array) -> bool:
        """True if an input or a constant was written."""
        if name not in self.buffers or self.state.program.places[name].role == "state":
            return False
        return self.buffers[name].bytes.tobytes() != array.tobytes()

    def array(self, name: str) -> Array:
        buffer = self.state.program.places[name].buffer
        shape = tuple(number(one, self.sizes) for one in buffer.shape)
        return self.buffers[name].bytes.view(buffer.dtype.numpy).reshape(shape)


def build(
    graphs: Sequence[Graph],
    machines: Sequence[Machine],
    small_work: int,
    change: Callable[[Compilation], None] = lambda state: None,
    flags: tuple[str, ...] = (),
) -> list[Built]:
    """One library for all graphs. Every second one has no arena: each value a buffer of its own.

    ``change`` is called on each compilation once its choices are made; ``flags`` are the C
    compiler's, after those that it always has.
    """
    target = target_named("c")
    states = []
    for number_, (graph, machine) in enumerate(zip(graphs, machines, strict=True)):
        states.append(compiled(graph, target, machine, number_ % 2 == 1, change))
    scratch = max(scratch_stride(state.nests) for state in states)
    library = load_library(build_kernels(_text(target, states, small_work, scratch), flags=flags))
    found = []
    for number_, (graph, state) in enumerate(zip(graphs, states, strict=True)):
        entry = library[f"c{number_}_photic_entry"]
        entry.restype, entry.argtypes = None, [ctypes.c_void_p] * 5
        found.append(Built(graph, state, entry, scratch))
    return found


def compiled(
    graph: Graph,
    target: Target,
    machine: Machine,
    is_apart: bool,
    change: Callable[[Compilation], None],
) -> Compilation:
    """The passes over one graph; ``is_apart`` puts intermediate values into the table."""
    state = Compilation(graph, target, machine, Program((), {}, {}, (), {}, {}))
    for one in PASSES:
        one.run(state)
        if one.name == "lower":
            check_program(state.program)
        if one.name == "choose":
            change(state)
        if one.name == "place" and is_apart:
            slots = {name: slot for slot, name in enumerate(state.program.places)}
            state.addresses = Addresses(slots, {}, state.addresses.sizes)
    return state


def _text(target: Target, states: Sequence[Compilation], small_work: int, scratch: int) -> str:
    needs = frozenset(n for s in states for one in s.sources.values() for n in one.needs)
    lines = [target.dialect.head, target.dialect.prelude(needs)]
    lines += [f"#define SMALL_WORK {small_work}", f"#define SCRATCH {scratch}", "#define KERNELS 1"]
    lines += [POOL]
    for number_, state in enumerate(states):
        entry = entry_source(state.program, state.nests, state.addresses)
        entry = entry.replace(POOL.rstrip("\n"), "")
        entry = "\n".join(one for one in entry.splitlines() if not one.startswith("#define"))
        for text in (*(one.text for one in state.sources.values()), entry):
            lines.append(ENTRY.sub(lambda found, n=number_: f"c{n}_{found[0]}", text))
    return "\n".join(lines)
