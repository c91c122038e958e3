"""Functions shared by kernels: two stores with the same meaning up to names are one function.

Parameters are numbered by first use and variables by first appearance, so that the layers of a
model, which differ only in their buffers, compile once. Partial writes of a state are found here:
a store that gives old elements back where a condition fails runs only where it holds.
"""

from __future__ import annotations

import itertools
from collections.abc import Collection
from dataclasses import dataclass, field

from photic.forms.partial_writes import only_changes
from photic.ir import index as form
from photic.ir.dim import Atom, Dim, Var, substitute, var, variables
from photic.ir.index import Buffer, Store
from photic.ir.program import Function, Kernel, Step
from photic.ir.view import Shape


@dataclass(slots=True)
class Functions:
    """The functions so far, by name and by meaning; ``sizes`` are names that no variable has."""

    sizes: frozenset[str]
    table: dict[str, Function] = field(default_factory=dict)
    known: dict[Store, str] = field(default_factory=dict)

    def kernel(self, store: Store) -> Kernel:
        """The call that does this store, of an old or a new function."""
        store = only_changes(store)
        used = dict.fromkeys([store.buffer, *(one.buffer for one in form.loads(store.value))])
        names = {one: Buffer(f"p{k}", one.shape, one.dtype) for k, one in enumerate(used)}
        plain = _renamed(store, names, self.sizes)
        if plain not in self.known:
            free = (f"k{k}" for k in itertools.count(len(self.table)))
            self.known[plain] = name = next(one for one in free if one not in self.table)
            self.table[name] = Function(name, tuple(names.values()), (plain,))
        return Kernel(self.known[plain], tuple(one.name for one in used))

    def reads_in_place(self, step: Step) -> bool:
        """True if a kernel reads its target only at the element that it writes."""
        return isinstance(step, Kernel) and all(
            access.index == store.index
            for store in self.table[step.function].stores
            for access in form.loads(store.value)
            if access.buffer == store.buffer
        )


def points_of(shape: Shape) -> tuple[tuple[Var, ...], tuple[Dim, ...]]:
    """The variables of a store of a whole buffer, and the index that they make."""
    axes = [Var(f"a{k}", extent) for k, extent in enumerate(shape)]
    index = tuple(var(one.name, one.extent) for one in axes)
    return tuple(one for one in axes if one.extent != 1), index


def unlike(name: str, sizes: Collection[str]) -> str:
    """The name, longer by as much as it takes that no size has it."""
    while name in sizes:
        name += "_"
    return name


def _renamed(store: Store, buffers: dict[Buffer, Buffer], sizes: frozenset[str]) -> Store:
    """The store over other buffers, its variables numbered by first appearance."""
    table: dict[Atom, Dim] = {}
    for letter, bound in (("a", store.axes), ("k", form.bound(store))):
        for axis in bound:
            name = unlike(f"{letter}{len(table)}", sizes)
            table[axis] = var(name, substitute(axis.extent, table))
    axes = (axis for one in store.axes for axis in variables(table[one]))
    index = tuple(substitute(one, table) for one in store.index)
    value = form.renamed(store.value, table, buffers)
    return Store(buffers[store.buffer], tuple(axes), index, value)
