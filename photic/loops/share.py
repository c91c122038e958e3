"""Functions shared by kernels: two stores with the same meaning up to names are one function.

Parameters are numbered by first use and variables by first appearance, so that the layers of a
model, which differ only in their buffers, compile once. Partial writes of a state are found here:
a store that gives old elements back where a condition fails runs only where it holds.
"""

from __future__ import annotations

import itertools
from collections.abc import Collection
from dataclasses import dataclass, field

from photic.ir import index as form
from photic.ir.dim import Atom, Dim, Var, add, at_most, coefficient_of, mul, substitute, var
from photic.ir.index import Access, Buffer, Expr, Order, Over, Store
from photic.ir.program import Function, Kernel, Step


@dataclass(slots=True)
class Functions:
    """The functions so far, by name and by meaning; ``sizes`` are names that no variable has."""

    sizes: frozenset[str]
    table: dict[str, Function] = field(default_factory=dict)
    known: dict[tuple[Buffer, tuple[Var, ...], tuple[Dim, ...], Expr], str] = field(
        default_factory=dict
    )

    def kernel(self, store: Store) -> Kernel:
        """The call that does this store, of an old or a new function."""
        store = only_changes(store)
        buffers = list(dict.fromkeys([store.buffer, *(one.buffer for one in _loads(store))]))
        names = {one: Buffer(f"p{k}", one.shape, one.dtype) for k, one in enumerate(buffers)}
        plain = _renamed(store, names, self.sizes)
        key = (plain.buffer, plain.axes, plain.index, plain.value)
        if key not in self.known:
            names_left = (f"k{k}" for k in itertools.count(len(self.table)))
            name = next(one for one in names_left if one not in self.table)
            self.known[key] = name
            self.table[name] = Function(name, tuple(names.values()), (plain,))
        return Kernel(self.known[key], tuple(one.name for one in buffers))

    def reads_in_place(self, step: Step) -> bool:
        """True if a kernel reads its target only at the element that it writes."""
        if not isinstance(step, Kernel):
            return False
        return all(
            access.index == store.index
            for store in self.table[step.function].stores
            for access in form.loads(store.value)
            if access.buffer == store.buffer
        )


def _loads(store: Store) -> list[Access]:
    return list(form.loads(store.value))


def unlike(name: str, sizes: Collection[str]) -> str:
    """The name, longer by as much as it takes that no size has it."""
    while name in sizes:
        name += "_"
    return name


def _renamed(store: Store, buffers: dict[Buffer, Buffer], sizes: frozenset[str]) -> Store:
    """The store over other buffers, its variables numbered by first appearance."""
    table: dict[Atom, Dim] = {}
    for number, axis in enumerate(store.axes):
        table[axis] = var(unlike(f"a{number}", sizes), substitute(axis.extent, table))
    for one in form.walk(store.value):
        if isinstance(one.attribute, Over):
            axis = one.attribute.axis
            table[axis] = var(unlike(f"k{len(table)}", sizes), substitute(axis.extent, table))
    value = form.renamed(store.value, table, buffers)
    axes = tuple(_variable(table[axis]) for axis in store.axes)
    return Store(
        buffers[store.buffer], axes, tuple(substitute(one, table) for one in store.index), value
    )


def _variable(value: Dim) -> Var:
    assert not isinstance(value, int)
    atom = value.terms[0][0][0]
    assert isinstance(atom, Var)
    return atom


def only_changes(store: Store) -> Store:
    """``x[i] = select(lo <= i < hi, v, x[i])`` for all i is ``x[i] = v`` for i in lo..hi."""
    value = store.value
    if value.op != "select":
        return store
    old = value.children[2].attribute
    if not isinstance(old, Access) or old != Access(store.buffer, store.index):
        return store
    condition, table = form.TRUE, dict[Atom, Dim]()
    axes = {axis: (0, axis.extent) for axis in store.axes}
    ranges: dict[Var, tuple[Dim, Dim]] = dict(axes)
    for term in form.conjuncts(value.children[0]):
        if not _narrow(term, ranges):
            condition = form.both(condition, term)
    kept: list[Var] = []
    for axis, (low, high) in ranges.items():
        if (low, high) != axes[axis]:
            shorter = Var(axis.name, add(high, mul(low, -1)))
            table[axis] = add(low, var(shorter.name, shorter.extent))
            kept += [shorter] if shorter.extent != 1 else []
        else:
            kept.append(axis)
    inner = form.select(condition, value.children[1], value.children[2])
    index = tuple(substitute(one, table) for one in store.index)
    return Store(store.buffer, tuple(kept), index, form.substitute_expr(inner, table))


def _narrow(term: Expr, ranges: dict[Var, tuple[Dim, Dim]]) -> bool:
    """Take a condition ``i < e`` or ``e <= i`` into the range of i, if e is provably inside."""
    if not isinstance(term.attribute, Order):
        return False
    gap = term.attribute.gap
    for axis, (low, high) in ranges.items():
        sign = coefficient_of(gap, axis)
        if sign not in (1, -1):
            continue
        rest = add(gap, mul(var(axis.name, axis.extent), mul(sign, -1)))
        if form.dim_depends(rest, ranges):
            continue
        limit = rest if sign == -1 else add(mul(rest, -1), 1)
        if not (at_most(low, limit) and at_most(limit, high)):
            continue
        ranges[axis] = (low, limit) if sign == -1 else (limit, high)
        return True
    return False
