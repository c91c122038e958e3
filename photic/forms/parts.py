"""Axes as mixed-radix numbers of parts: where an index divides a variable, the variable is split.

Before: ``sum k:576 ... w[k // 32, k % 32]``. After: ``sum b:18 sum i:32 ... w[b, i]``. Short parts
of a reduction go innermost, where a tile writes them out. A variable stays whole if its divisors
do not divide one another.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise

from photic.forms.places import flat
from photic.ir import dim as dims
from photic.ir import index as form
from photic.ir.dim import Atom, Dim, FloorDiv, Mod, Var, substitute, var
from photic.ir.index import Expr, Order, Over, Store

SHORT = 8  # values; a reduction this short is written out instead of looped


def split_parts(store: Store) -> Store:
    """The store with every divided variable split, until none is left that can be."""
    while True:
        cuts = _cuts(store)
        splits = {axis: made for axis, at in cuts.items() if (made := _parts(axis, at))}
        if not splits:
            return store
        store = _split(store, splits)


def _cuts(store: Store) -> dict[Var, set[int]]:
    """The constants by which each variable is divided, alone or with a number added."""
    found: dict[Var, set[int]] = {}
    for dim in (*store.index, *form.dims_in(store.value)):
        for atom in dims.atoms(dim):
            if isinstance(atom, FloorDiv | Mod) and isinstance(atom.bottom, int):
                match [one for one in dims.terms_of(atom.top) if one[0]]:
                    case [((Var() as axis,), 1)]:
                        found.setdefault(axis, set()).add(atom.bottom)
    return found


def _parts(axis: Var, cuts: set[int]) -> tuple[Var, ...]:
    """The parts of a variable, outermost first; none if the divisors are no chain."""
    sizes: list[Dim] = [1, *sorted(cuts), axis.extent]
    extents = [dims.exact_div(large, small) or 0 for small, large in pairwise(sizes)]
    if 0 in extents:
        return ()
    parts = [Var(f"{axis.name}_{k}", n) for k, n in enumerate(reversed(extents))]
    return tuple(parts) if sum(1 for one in parts if one.extent != 1) > 1 else ()


def _split(store: Store, splits: dict[Var, tuple[Var, ...]]) -> Store:
    table: dict[Atom, Dim] = {axis: joined(parts) for axis, parts in splits.items()}

    def build(one: Expr, children: tuple[Expr, ...], dim: Callable[[Dim], Dim]) -> Expr:
        if isinstance(one.attribute, Over) and one.attribute.axis in splits:
            return _nested(one.op, splits[one.attribute.axis], children[0])
        return form.rebuilt(one, children, dim)

    axes = [part for axis in store.axes for part in splits.get(axis, (axis,))]
    kept = tuple(one for one in axes if one.extent != 1)
    index = tuple(substitute(one, table) for one in store.index)
    return Store(store.buffer, kept, index, form.rewritten(store.value, table, build))


def joined(parts: Sequence[Var]) -> Dim:
    """The number whose digits are the variables, outermost first."""
    return flat([one.extent for one in parts], [var(one.name, one.extent) for one in parts])


def _nested(op: str, parts: tuple[Var, ...], value: Expr) -> Expr:
    """Nested reductions over the parts; short ones that conditions ask about go innermost."""
    asked = asked_axes(value)
    order = [one for one in parts if one not in asked] + [one for one in parts if one in asked]
    for part in reversed(order):
        if part.extent != 1:
            value = form.reduce(op, part, value)
    return value


def asked_axes(value: Expr) -> set[Var]:
    """Short axes that index conditions ask about: written out, the conditions are decided."""
    gaps = (one.attribute.gap for one in form.walk(value) if isinstance(one.attribute, Order))
    return {axis for gap in gaps for axis in dims.variables(gap) if is_short(axis)}


def written_out(value: Expr) -> frozenset[Var]:
    """The reductions that a tile writes out: up to SHORT points, innermost or asked about."""
    asked = asked_axes(value)
    found: set[Var] = set()
    points = 1
    attributes = (one.attribute for one in form.walk(value))
    for axis in (one.axis for one in attributes if isinstance(one, Over)):
        if isinstance(axis.extent, int) and is_short(axis) and (axis in asked or not found):
            points *= axis.extent
            found |= {axis} if points <= SHORT else set()
    return frozenset(found)


def is_short(axis: Var) -> bool:
    """True for a constant extent that a tile may write out."""
    return isinstance(axis.extent, int) and axis.extent <= SHORT
