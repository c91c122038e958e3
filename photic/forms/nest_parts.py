"""Parts of nests with a variable replaced, or with other accesses."""

from __future__ import annotations

from collections.abc import Callable

from photic.ir import index as form
from photic.ir.dim import Dim, Var, substitute, var
from photic.ir.index import Access, Expr, Store
from photic.ir.nest import Clip, Fit, Lanes, Loop, Part, Tile


def put(store: Store, axis: Var, value: Dim) -> Store:
    """A store at one value of an axis."""
    axes = tuple(one for one in store.axes if one != axis)
    index = tuple(substitute(one, {axis: value}) for one in store.index)
    return Store(store.buffer, axes, index, form.substitute_expr(store.value, {axis: value}))


def moved(part: Part, axis: Var, value: Dim) -> Part:
    """A part with a loop variable replaced."""
    if isinstance(part, Tile):
        lanes = part.lanes
        if lanes is not None and lanes.valid is not None:
            valid = substitute(lanes.valid, {axis: value})
            lanes = Lanes(lanes.axis, lanes.width, lanes.count, valid, lanes.reduced)
        store, unrolled = put(part.store, axis, value), list[Var]()
        for one in part.unrolled:
            unrolled.append(Var(one.name, substitute(one.extent, {axis: value})))
            store = put(store, one, var(one.name, unrolled[-1].extent))
        return Tile(store, tuple(unrolled), lanes, part.inner)
    if isinstance(part, Loop):
        inner = Var(part.axis.name, substitute(part.axis.extent, {axis: value}))
        return Loop(inner, part.kind, tuple(moved(one, axis, value) for one in part.body))
    assert isinstance(part, Fit), "clips stand in no lone loop"
    return Fit(
        substitute(part.needed, {axis: value}),
        substitute(part.available, {axis: value}),
        tuple(moved(one, axis, value) for one in part.whole),
        tuple(moved(one, axis, value) for one in part.rest),
    )


def accessing(part: Part, seen: Callable[[Access], Access]) -> Part:
    """A part in which ``seen`` stands for each access; what stores write is at no place of data."""
    if isinstance(part, Tile):

        def build(one: Expr, children: tuple[Expr, ...], dim: Callable[[Dim], Dim]) -> Expr:
            if not isinstance(one.attribute, Access):
                return form.rebuilt(one, children, dim)
            access = seen(Access(one.attribute.buffer, tuple(map(dim, one.attribute.index))))
            return form.load(access.buffer, access.index)

        store = part.store
        target = seen(Access(store.buffer, store.index))
        value = form.rewritten(store.value, {}, build)
        store = Store(target.buffer, store.axes, target.index, value)
        return Tile(store, part.unrolled, part.lanes, part.inner)
    if isinstance(part, Loop):
        return Loop(part.axis, part.kind, tuple(accessing(one, seen) for one in part.body))
    if isinstance(part, Clip):
        body = tuple(accessing(one, seen) for one in part.body)
        return Clip(part.symbol, part.size, part.available, body)
    whole, rest = (tuple(accessing(one, seen) for one in each) for each in (part.whole, part.rest))
    return Fit(part.needed, part.available, whole, rest)
