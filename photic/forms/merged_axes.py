"""Neighbouring axes of a store as one, where every buffer holds their places side by side.

Before: ``y[i, j] = x[i, j]*s`` for i:6 j:7. After: ``y[ij] = x[ij]*s`` for ij:42; both buffers are
named as they were and seen flat. Axes that a condition or a value counts stay, and so do those that
the buffers named by the caller have, and axes of symbolic sizes beside a reduction.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import permutations

from photic.forms.places import place_of
from photic.ir import index as form
from photic.ir.dim import Atom, Dim, Var, coefficient_of, product, substitute, var, variables
from photic.ir.index import Access, Expr, Store


def merged(store: Store, kept: frozenset[str]) -> Store:
    """The store with such axes merged, pair by pair; no axis of a buffer in ``kept`` is."""
    while (pair := next(_pairs(store, kept), None)) is not None:
        store = _merged(store, *pair)
    return store


def _pairs(store: Store, kept: frozenset[str]) -> Iterator[tuple[Var, Var]]:
    """Axes of which the second counts places and the first whole runs of them."""
    is_empty = 0 in store.buffer.shape
    if is_empty or any(form.data_in((*store.index, *form.dims_in(store.value)))):
        return
    accesses = [Access(store.buffer, store.index), *form.loads(store.value)]
    places = [place_of(one) for one in accesses]
    attributes = (one.attribute for one in form.walk(store.value))
    counted = [one for x in attributes if not isinstance(x, Access) for one in form.dims_of(x)]
    fixed = [place for place, x in zip(places, accesses, strict=True) if x.buffer.name in kept]
    free = [x for x in store.axes if not any(x in variables(one) for one in (*counted, *fixed))]
    if form.bound(store):  # what does many rows at once would be chosen for few, too
        free = [one for one in free if isinstance(one.extent, int)]
    for outer, inner in permutations(free, 2):
        steps = [(coefficient_of(at, outer), coefficient_of(at, inner)) for at in places]
        if all(b is not None and a == b * inner.extent for a, b in steps):
            yield outer, inner


def _merged(store: Store, outer: Var, inner: Var) -> Store:
    both = Var(f"{outer.name}_{inner.name}", outer.extent * inner.extent)
    table: dict[Atom, Dim] = {outer: 0, inner: var(both.name, both.extent)}

    def seen(access: Access) -> Access:
        buffer = access.buffer
        buffer = form.Buffer(buffer.name, (product(buffer.shape),), buffer.dtype)
        return Access(buffer, (substitute(place_of(access), table),))

    moving = {one.buffer for one in form.loads(store.value) if _moves(one, inner)} | {store.buffer}
    loads: dict[Expr, Expr] = {}
    for one in form.walk(store.value):
        if isinstance(one.attribute, Access) and one.attribute.buffer in moving:
            loads[one] = _loaded(seen(one.attribute))
    target = seen(Access(store.buffer, store.index))
    axes = tuple(both if one == inner else one for one in store.axes if one != outer)
    return Store(target.buffer, axes, target.index, form.replaced(store.value, loads))


def _loaded(access: Access) -> Expr:
    return form.load(access.buffer, access.index)


def _moves(access: Access, axis: Var) -> bool:
    return any(axis in variables(one) for one in access.index)
