"""Kernels of a program in groups, each to be searched as one region.

A kernel joins the last group that it shares a value with, if nothing between needs it to come
later. Left alone is what reads a large constant (which it wants re-laid), writes over what is read
elsewhere, or reads at places that come from data. A group's ``Work`` says what it computes in
names of its own, so that the layers of a model, which differ only in their buffers, have one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from photic.forms.scatters import scatter_of
from photic.ir import index as form
from photic.ir.dim import Atom, Dim, Symbol, bounds, mul, product, symbols, var
from photic.ir.program import Branch, Kernel, Program, Repeat, Step, all_steps, touched
from photic.search.work import LARGE_BYTES, Work

MOST_STORES = 12  # of a group: so many saturate in a moment


@dataclass(frozen=True, slots=True)
class Group:
    """Kernels that run one after the other; ``arguments`` are the buffers for b0, b1, ..."""

    work: Work
    kernels: tuple[Kernel, ...]
    arguments: tuple[str, ...]

    @property
    def text(self) -> str:
        """What groups have in common that are searched once: the work and the ranges of sizes."""
        ranges = [f"{one.name} {one.low} {one.high}" for one in symbols_of(self.work)]
        return "\n".join([self.work.text(), *ranges])


def symbols_of(work: Work) -> list[Symbol]:
    """The sizes that a work depends on, by name."""
    found: set[Symbol] = set()
    for store in work.stores:
        for dim in (*store.index, *form.dims_in(store.value), *(a.extent for a in store.axes)):
            found |= symbols(dim)
    for buffer in work.buffers:
        for extent in buffer.shape:
            found |= symbols(extent)
    return sorted(found, key=lambda one: one.name)


def partition(program: Program) -> tuple[Program, list[Group]]:
    """The program with kernels in the order of their groups, and the groups, each in a row."""
    groups: list[Group] = []
    uses = Counter(name for step in all_steps(program.steps) for name in _names(program, step))

    def within(steps: tuple[Step, ...]) -> tuple[Step, ...]:
        found: list[Step] = []
        for run in _runs(steps):
            if isinstance(run, Repeat):
                found.append(replace(run, body=within(run.body)))
            elif isinstance(run, Branch):
                found.append(replace(run, then=within(run.then), otherwise=within(run.otherwise)))
            elif isinstance(run, list):
                for members in _grouped(program, run):
                    groups.append(_group(program, members, uses))
                    found += members
            else:
                found.append(run)
        return tuple(found)

    return replace(program, steps=within(program.steps)), groups


def _names(program: Program, step: Step) -> set[str]:
    if isinstance(step, Repeat | Branch):
        return set()
    return set().union(*touched(step, program))


def _runs(steps: Iterable[Step]) -> Iterator[list[Kernel] | Step]:
    """Kernels in a row as lists, every other step alone."""
    row: list[Kernel] = []
    for step in steps:
        if isinstance(step, Kernel):
            row.append(step)
            continue
        if row:
            yield row
        yield step
        row = []
    if row:
        yield row


@dataclass(slots=True)
class _Members:
    kernels: list[Kernel]
    is_open: bool
    reads: set[str]
    writes: set[str]


def _grouped(program: Program, kernels: list[Kernel]) -> list[list[Kernel]]:
    groups: list[_Members] = []
    for one in kernels:
        reads, writes = touched(one, program)
        joins = _may_join(program, one, writes)
        values = {name for name in reads if program.places[name].role != "constant"}
        last = len(groups)
        while last and not _conflict(groups[last - 1], reads, writes):
            last -= 1
        # groups[last - 1] is the last that must run before; it and all behind may take the kernel
        hosts = [
            group
            for group in groups[max(0, last - 1) :]
            if joins
            and group.is_open
            and len(group.kernels) < MOST_STORES
            and values & (group.reads | group.writes)
        ]
        if hosts:
            hosts[-1].kernels.append(one)
            hosts[-1].reads |= values
            hosts[-1].writes |= writes
        else:
            groups.insert(len(groups) if joins else last, _Members([one], joins, values, writes))
    return [group.kernels for group in groups]


def _conflict(group: _Members, reads: set[str], writes: set[str]) -> bool:
    return bool(writes & (group.reads | group.writes) or reads & group.writes)


def _may_join(program: Program, step: Kernel, writes: set[str]) -> bool:
    stores = program.functions[step.function].stores
    places = [program.places[name] for name in step.arguments]
    large = any(
        one.role == "constant"
        and bounds(mul(product(one.buffer.shape), one.buffer.dtype.bytes))[1] > LARGE_BYTES
        for one in places
    )
    is_looked_up = any(form.data_in((*stores[0].index, *form.dims_in(stores[0].value))))
    is_plain = not is_looked_up and scatter_of(stores[0]) is None
    own = stores[0].buffer in form.buffers_read(stores[0])
    fresh = all(program.places[name].role in ("temporary", "output") for name in writes)
    return len(stores) == 1 and is_plain and fresh and not own and not large


def _group(program: Program, kernels: list[Kernel], uses: Counter[str]) -> Group:
    inner = Counter(name for one in kernels for name in _names(program, one))
    names = dict.fromkeys(name for step in kernels for name in step.arguments)
    numbers = {name: number for number, name in enumerate(names)}
    stores = []
    for step in kernels:
        function = program.functions[step.function]
        own = {
            buffer: replace(buffer, name=f"b{numbers[name]}")
            for buffer, name in zip(function.parameters, step.arguments, strict=True)
        }
        for store in function.stores:
            axes: dict[Atom, Dim] = {one: var(one.name, one.extent) for one in form.bound(store)}
            value = form.renamed(store.value, axes, own)
            stores.append(replace(store, buffer=own[store.buffer], value=value))
    roles = {f"b{k}": (name, program.places[name].role) for name, k in numbers.items()}
    inside = {name for name in names if inner[name] == uses[name]}
    temporary = {b for b, (name, role) in roles.items() if role == "temporary" and name in inside}
    constants = {b for b, (_, role) in roles.items() if role == "constant"}
    work = Work(tuple(stores), frozenset(temporary), frozenset(constants))
    return Group(work, tuple(kernels), tuple(numbers))
