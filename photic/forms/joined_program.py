"""A program's kernels in a row as one, where their nests can be joined.

The new kernel's function says what it computes of what it is given: values that it alone has are
written out where they are read.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeAlias

from photic.forms.nest_parts import accessing
from photic.ir import index as form
from photic.ir.dim import Atom, Dim, var, variables
from photic.ir.index import Access, Buffer, Expr, Store
from photic.ir.nest import Nest
from photic.ir.program import (
    Branch,
    Function,
    Kernel,
    Program,
    Repeat,
    Step,
    all_steps,
    touched,
)

Join: TypeAlias = Callable[[Sequence[Nest], Collection[str]], list[tuple[tuple[int, ...], Nest]]]
"""As ``joined_nests.joined``, for a machine."""


@dataclass(slots=True)
class _Joining:
    """The program, the nests so far, and which kernels were joined as which."""

    program: Program
    nests: dict[str, Nest]
    join: Join
    uses: Counter[str]
    functions: dict[str, Function]
    known: dict[tuple[object, ...], str] = field(default_factory=dict)
    members: dict[str, tuple[str, ...]] = field(default_factory=dict)


def joined_program(
    program: Program, nests: dict[str, Nest], join: Join
) -> tuple[Program, dict[str, Nest], dict[str, tuple[str, ...]]]:
    """The program, its nests, and for each new kernel those that it was made of."""
    steps = [one for one in all_steps(program.steps) if not isinstance(one, Repeat | Branch)]
    uses = Counter(name for one in steps for name in set().union(*touched(one, program)))
    uses += Counter(one.condition for one in all_steps(program.steps) if isinstance(one, Branch))
    state = _Joining(program, dict(nests), join, uses, dict(program.functions))
    body = tuple(_body(state, program.steps))
    used = {one.function for one in all_steps(body) if isinstance(one, Kernel)}
    functions = {name: one for name, one in state.functions.items() if name in used}
    kept = {name: one for name, one in state.nests.items() if name in used}
    return replace(program, steps=body, functions=functions), kept, state.members


def _body(state: _Joining, steps: Sequence[Step]) -> Iterator[Step]:
    row: list[Kernel] = []
    for step in steps:
        if isinstance(step, Kernel):
            row.append(step)
            continue
        yield from _row(state, row)
        row = []
        if isinstance(step, Repeat):
            yield replace(step, body=tuple(_body(state, step.body)))
        elif isinstance(step, Branch):
            then, otherwise = (tuple(_body(state, one)) for one in (step.then, step.otherwise))
            yield replace(step, then=then, otherwise=otherwise)
        else:
            yield step
    yield from _row(state, row)


def _row(state: _Joining, row: Sequence[Kernel]) -> Iterator[Kernel]:
    """Kernels one after the other, some of them as one."""
    inside = Counter(name for one in row for name in set().union(*touched(one, state.program)))
    places = state.program.places
    private = {
        name
        for name, count in inside.items()
        if count == state.uses[name] and places[name].role == "temporary"
    }
    nests = [_called(state.nests[one.function], one.arguments) for one in row]
    for members, nest in state.join(nests, private):
        if len(members) == 1:
            yield row[members[0]]
        else:
            yield _kernel(state, [row[number] for number in members], nest)


def _called(nest: Nest, names: Sequence[str]) -> Nest:
    """A nest whose parameters have other names."""
    table = {one.name: name for one, name in zip(nest.parameters, names, strict=True)}

    def seen(access: Access) -> Access:
        buffer = access.buffer
        return Access(replace(buffer, name=table.get(buffer.name, buffer.name)), access.index)

    return replace(
        nest,
        parameters=tuple(replace(one, name=table[one.name]) for one in nest.parameters),
        body=tuple(accessing(part, seen) for part in nest.body),
    )


def _kernel(state: _Joining, row: Sequence[Kernel], nest: Nest) -> Kernel:
    """The call of a joined nest, of a new function or of one that means the same."""
    names = [one.name for one in nest.parameters]
    numbers = {name: f"p{k}" for k, name in enumerate(names)}
    numbers |= {one.name: f"own{k}" for k, one in enumerate(nest.scratch)}
    calls = tuple((one.function, *(numbers[name] for name in one.arguments)) for one in row)
    if calls not in state.known:
        free = (f"k{k}" for k in range(len(state.functions), 2 * len(state.functions) + 1))
        name = next(one for one in free if one not in state.functions)
        made = replace(_called(nest, [numbers[one] for one in names]), name=name)
        state.known[calls], state.nests[name] = name, made
        state.functions[name] = _meaning(state, name, row, numbers, names)
        state.members[name] = tuple(one.function for one in row)
    return Kernel(state.known[calls], tuple(names))


# --- what it computes -----------------------------------------------------------------------


def _meaning(
    state: _Joining, name: str, row: Sequence[Kernel], numbers: dict[str, str], names: list[str]
) -> Function:
    """The stores of all members but for values of their own, which stand where they are read."""
    buffers = {
        k: replace(state.program.places[k].buffer, name=v)
        for k, v in numbers.items()
        if k in state.program.places
    }
    values: dict[Buffer, Store] = {}
    stores: list[Store] = []
    for number, one in enumerate(row):
        function = state.functions[one.function]
        given = {p: buffers[a] for p, a in zip(function.parameters, one.arguments, strict=True)}
        for store in function.stores:
            made = _inlined(_renamed(store, given, f"_{number}"), values)
            if made.buffer.name in (numbers[each] for each in names):
                stores.append(made)
            else:
                values[made.buffer] = made
    return Function(name, tuple(buffers[one] for one in names), tuple(stores))


def _renamed(store: Store, given: dict[Buffer, Buffer], end: str) -> Store:
    """A store of other buffers, its reductions over variables of other names."""
    table: dict[Atom, Dim] = {one: var(f"{one.name}{end}", one.extent) for one in form.bound(store)}
    value = form.renamed(store.value, table, given)
    return replace(store, buffer=given[store.buffer], value=value)


def _inlined(store: Store, values: dict[Buffer, Store]) -> Store:
    def build(one: Expr, children: tuple[Expr, ...], dim: Callable[[Dim], Dim]) -> Expr:
        access = one.attribute
        if isinstance(access, Access) and access.buffer in values:
            source = values[access.buffer]
            table: dict[Atom, Dim] = {}
            for at, place in zip(source.index, access.index, strict=True):
                table |= dict.fromkeys(variables(at), dim(place))
            return form.substitute_expr(source.value, table)
        return form.rebuilt(one, children, dim)

    return replace(store, value=form.rewritten(store.value, {}, build))
