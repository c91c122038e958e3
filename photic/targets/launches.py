"""What a driver launches: kernel functions around a program's nests, and the plan of their calls.

For devices whose kernels a program on the host launches one by one. The plan is the last line of a
text, JSON in a comment: the sizes, the buffers from outside with their bytes, the temporaries with
where the arena has them at the largest sizes, and the steps. A buffer is named by its slot, a
temporary by -1, -2, and so on. Bytes and numbers of work-items are texts over the symbolic sizes
(``photic.forms.graph_text.parse_dim``).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from photic.codegen.clike import scratch_starts
from photic.codegen.dialect import Addresses
from photic.codegen.words import Words
from photic.forms.graph_text import parse_dim
from photic.forms.layout import ALIGNMENT, aligned_bytes, elements
from photic.ir.dim import Dim, Symbol, product
from photic.ir.index import Buffer
from photic.ir.nest import Nest, parallel_loops
from photic.ir.program import (
    Branch,
    Collective,
    Copy,
    Kernel,
    Layout,
    Program,
    Repeat,
    Step,
    all_steps,
)
from photic.targets.group_nests import SHARED, Turns, turns_of
from photic.targets.group_products import GROUP

PLAN = "//: "
SCRATCH_BYTES = 2**28  # of all work-items together; items take turns where this is not enough
UNKNOWN = "state"  # a buffer of no known role may be read and written

# --- the text -------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Spelling:
    """How a language writes a kernel function, and the nest's, which it calls.

    ``parameter`` is the k-th buffer's, ``start`` where it begins; ``memory`` is the type of bytes,
    ``item`` the number of a work-item as int64, ``group`` that of its
    group, if groups run nests together. ``inner`` stands before a nest's name, ``table``
    before the star of the buffers' table.
    """

    head: str
    inner: str
    memory: str
    parameter: str
    start: str
    item: str
    group: str = ""
    table: str = "const "

    @property
    def kernel(self) -> str:
        """The head of a nest's function, as dialects have it."""
        return (
            f"{self.inner} {{name}}({self.memory}{self.table}*buffers, const int64_t *sizes, "
            f"{self.memory}scratch, int64_t begin, int64_t end)"
        )


def entry_source(
    spelling: Spelling, program: Program, nests: dict[str, Nest], addresses: Addresses
) -> str:
    """Kernel functions for the nests, whose text stands before, and the plan."""
    words = Words()
    words.line(f"typedef struct {{ int64_t at[{max(1, len(addresses.sizes))}]; }} photic_sizes;")
    for nest in nests.values():
        _kernel(words, spelling, nest)
    counters = [one.counter for one in all_steps(program.steps) if isinstance(one, Repeat)]
    known = {one.name: one for one in (*program.sizes, *counters)}
    plan = {
        "sizes": [_size(known[name]) for name in addresses.sizes],
        "slots": list(_slots(program, nests, addresses)),
        "arena": list(_arena(program, addresses)),
        "steps": _steps(spelling, program, program.steps, nests, addresses),
    }
    return "\n".join([*words.lines, PLAN + json.dumps(plan)]) + "\n"


def _kernel(words: Words, spelling: Spelling, nest: Nest) -> None:
    """The function that a work-item runs: ``each`` items of the nest, and their scratch.

    A nest that groups run together has items for groups, of which ``total`` counts the work-items.
    """
    count, scratch, turns = len(nest.parameters), scratch_starts(nest)[-1], _turns(spelling, nest)
    total, item = (
        ("total", spelling.item) if turns is None else (f"total / {GROUP}", spelling.group)
    )
    given = "".join(spelling.parameter.format(k=k) + ", " for k in range(count))
    words.line(f"{spelling.head} photic_{nest.name}({given}const photic_sizes given,")
    with words.block(f"    {spelling.memory}scratch, int64_t total, int64_t each)"):
        starts = ", ".join(spelling.start.format(k=k) for k in range(count))
        words.line(f"{spelling.memory}buffers[] = {{{starts}}};")
        words.line(f"const int64_t place = {item}, begin = place * each;")
        words.line(f"const int64_t all = {total};")
        words.line("const int64_t end = begin + each < all ? begin + each : all;")
        own = f"scratch + place * {scratch if turns is None else _share(scratch) * GROUP}"
        if turns is not None and turns.is_shared:
            words.line(f"{SHARED} char own[{scratch}];")
            own = "own"
        words.line(f"{nest.name}(buffers, given.at, {own}, begin, end);")


def _turns(spelling: Spelling, nest: Nest) -> Turns | None:
    """How a group runs a nest together; None if it does not, or the language has no groups."""
    return turns_of(nest) if spelling.group else None


def _share(scratch: int) -> int:
    """Bytes of an item, whose group has so many."""
    return -(-scratch // (GROUP * ALIGNMENT)) * ALIGNMENT


def _size(symbol: Symbol) -> list[object]:
    return [symbol.name, symbol.low, symbol.high]


def _slots(
    program: Program, nests: dict[str, Nest], addresses: Addresses
) -> Iterator[tuple[str, str]]:
    """The role and the bytes of each buffer from outside, by slot."""
    seen: dict[str, tuple[Buffer, Layout]] = {}
    for step in all_steps(program.steps):
        if isinstance(step, Kernel):
            nest = nests[step.function]
            seen |= dict(zip(step.arguments, zip(nest.parameters, nest.layouts), strict=True))
    for name in addresses.slots:
        if place := program.places.get(name):
            yield place.role, str(_bytes(place.buffer, place.layout))
        else:
            yield UNKNOWN, str(_bytes(*seen[name]))


def _bytes(buffer: Buffer, layout: Layout) -> Dim:
    return elements(buffer.shape, layout) * buffer.dtype.bytes


def _arena(program: Program, addresses: Addresses) -> Iterator[tuple[int, int, str]]:
    """Where each temporary begins and ends at the largest sizes, and its bytes."""
    for name, start in addresses.offsets.items():
        place = program.places[name]
        end = start + aligned_bytes(place.buffer, place.layout)
        yield start, end, str(_bytes(place.buffer, place.layout))


def _steps(
    spelling: Spelling,
    program: Program,
    steps: tuple[Step, ...],
    nests: dict[str, Nest],
    addresses: Addresses,
) -> list[list[object]]:
    """The steps of the plan: a kind, then what it needs."""

    def inside(steps: tuple[Step, ...]) -> list[list[object]]:
        return _steps(spelling, program, steps, nests, addresses)

    found: list[list[object]] = []
    for step in steps:
        match step:
            case Kernel(function, arguments):
                nest = nests[function]
                where = [_where(addresses, name) for name in arguments]
                total, scratch = _items(spelling, nest)
                found.append(["kernel", function, where, str(total), str(nest.work), scratch])
            case Copy(target, source):
                place = program.places[source]
                pair = [_where(addresses, name) for name in (target, source)]
                found.append(["copy", *pair, str(_bytes(place.buffer, place.layout))])
            case Repeat(counter, trips, body):
                slot = addresses.sizes[counter.name]
                found.append(["repeat", slot, str(trips), inside(body)])
            case Branch(condition, then, otherwise):
                where_ = _where(addresses, condition)
                found.append(["branch", where_, inside(then), inside(otherwise)])
            case Collective():
                raise AssertionError("on one machine collectives are kernels")
    return found


def _items(spelling: Spelling, nest: Nest) -> tuple[Dim, int]:
    """How many work-items a nest has, and the bytes of scratch that each brings."""
    total = product(loop.axis.extent for loop in parallel_loops(nest)[0])
    scratch, turns = scratch_starts(nest)[-1], _turns(spelling, nest)
    if turns is None:
        return total, scratch
    return total * GROUP, 0 if turns.is_shared else _share(scratch)


def _where(addresses: Addresses, name: str) -> int:
    """A buffer's slot, or the number of a temporary."""
    if name in addresses.slots:
        return addresses.slots[name]
    return -1 - list(addresses.offsets).index(name)


# --- the plan -------------------------------------------------------------------------------


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


def parted(source: str) -> tuple[str, str]:
    """The kernels of a text, and its plan's."""
    text, _, plan = source.rpartition(PLAN)
    return text, plan.strip()


def plan_of(text: str) -> Plan:
    """The plan that ``entry_source`` wrote."""
    table: Mapping[str, Any] = json.loads(text)
    sizes = tuple(Symbol(*one) for one in table["sizes"])
    known = {one.name: one for one in sizes}

    def dim(text: str) -> Dim:
        return parse_dim(text, known, {})

    slots = tuple((role, dim(text)) for role, text in table["slots"])
    places = enumerate(table["arena"])
    arena = [(start, end, dim(size), -1 - k) for k, (start, end, size) in places]
    arena.sort(key=lambda one: one[:2])
    return Plan(sizes, slots, tuple(arena), table["steps"], dim)


def groups_of(total: int, group: int, scratch: int, most: int) -> int:
    """How many groups share so many items, of which each has bytes of scratch; at most ``most``."""
    groups = min(-(-total // group), most)
    return min(groups, max(1, SCRATCH_BYTES // (scratch * group))) if scratch else groups


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
