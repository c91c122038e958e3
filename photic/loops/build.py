"""From choices to a nest: axes become loops, register tiles and vectors; borders get bodies.

Before: ``y[i, j] = sum k: x[i, k]*w[k, j]``, lanes j, rows i. After: loops over tiles of j and of
i, outer ones parallel until every core has enough; where a tile does not fit, a body for the rest.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache

from photic.ir import index as form
from photic.ir.dim import Dim, Var, add, bounds, floordiv, mul, product, substitute, var
from photic.ir.index import Store
from photic.ir.nest import Fit, Lanes, Loop, LoopKind, Nest, Part, Tile
from photic.ir.program import ROW_MAJOR, Function, Layout
from photic.loops.parts import written_out
from photic.loops.plan import MANY, Choice
from photic.loops.target import Machine

ENOUGH_ITEMS = 16  # parallel items for each core
GROUP = 16  # tiles of a lone vector loop that one parallel item takes


def nest(function: Function, choice: Choice, layouts: dict[str, Layout], machine: Machine) -> Nest:
    """The nest of these choices, with the layouts that the constants really have."""
    lays = tuple(layouts.get(one.name, ROW_MAJOR) for one in function.parameters)
    body = parallel(choice, machine)
    return Nest(function.name, function.parameters, lays, body, work(function.stores[0]))


def parallel(choice: Choice, machine: Machine) -> tuple[Part, ...]:
    """All loops of one statement, outer ones parallel."""
    loops, parts = inside(choice)
    return _around(parts, loops, choice.store, machine)


def serial(choice: Choice) -> tuple[Part, ...]:
    """The loops of one statement's tile, none of them parallel."""
    return _serially(*inside(choice))


def inside(choice: Choice) -> tuple[list[Var], tuple[Part, ...]]:
    """The loops that a choice needs around its tiles, outermost first, and the tiles."""
    loops, parts = _inside(choice)
    if (made := choice.scatter) is None:
        return loops, parts
    fill = _inside(replace(choice, store=made.fill))[1]
    return loops, (*_serially(made.places, fill), *_serially(made.terms, parts))


def _serially(axes: Sequence[Var], parts: tuple[Part, ...]) -> tuple[Part, ...]:
    for axis in reversed(axes):
        parts = (Loop(axis, "serial", parts),)
    return parts


@lru_cache(maxsize=MANY)
def _inside(choice: Choice) -> tuple[list[Var], tuple[Part, ...]]:
    store, rows = choice.store, dict(choice.rows)
    loops = [axis for axis in store.axes if axis is not choice.lanes and axis not in rows]
    if choice.lanes is not None and choice.lanes in store.axes:
        tiles, parts = _across(store, choice)
        loops.append(tiles)
    else:
        lanes = None
        if choice.lanes is not None:
            lanes = Lanes(choice.lanes, choice.width, choice.count, None, True)
        parts = _rows(store, list(choice.rows), (), lanes)
    loops += [_tiles_of(axis, size) for axis, size in choice.rows]
    return [one for one in loops if one.extent != 1], parts


def _tiles_of(axis: Var, size: int) -> Var:
    """The variable that counts tiles of an axis."""
    return Var(f"{axis.name}_t", floordiv(add(axis.extent, size - 1), size))


def _put(store: Store, axis: Var, value: Dim) -> Store:
    axes = tuple(one for one in store.axes if one is not axis)
    index = tuple(substitute(one, {axis: value}) for one in store.index)
    return Store(store.buffer, axes, index, form.substitute_expr(store.value, {axis: value}))


def _across(store: Store, choice: Choice) -> tuple[Var, tuple[Part, ...]]:
    """The output variable across vectors: the loop over its tiles, and the parts inside."""
    axis = choice.lanes
    assert axis is not None
    size = choice.width * choice.count
    tiles, lane = _tiles_of(axis, size), Var(f"{axis.name}_v", size)
    start = mul(var(tiles.name, tiles.extent), size)
    inner = _put(store, axis, add(start, var(lane.name, size)))
    rows = list(choice.rows)

    def body(valid: Dim | None) -> tuple[Part, ...]:
        return _rows(inner, rows, (), Lanes(lane, choice.width, choice.count, valid, False))

    left = add(axis.extent, mul(start, -1))
    return tiles, _fitted(axis.extent, start, size, body(None), body(left))


def _fitted(
    extent: Dim, start: Dim, size: int, whole: tuple[Part, ...], rest: tuple[Part, ...]
) -> tuple[Part, ...]:
    if isinstance(extent, int) and extent % size == 0:
        return whole
    if isinstance(extent, int) and extent < size:
        return rest
    return (Fit(add(start, size), extent, whole, rest),)


def _rows(
    store: Store, rows: list[tuple[Var, int]], unrolled: tuple[Var, ...], lanes: Lanes | None
) -> tuple[Part, ...]:
    """The unrolled variables, one after the other, each with a loop for the rows that are left."""
    if not rows:
        return (Tile(store, unrolled, lanes, written_out(store.value)),)
    (axis, size), others = rows[0], rows[1:]
    tiles, row = _tiles_of(axis, size), Var(f"{axis.name}_u", size)
    start = mul(var(tiles.name, tiles.extent), size)
    made = _put(store, axis, add(start, var(row.name, size)))
    whole = _rows(made, others, (*unrolled, row) if size > 1 else unrolled, lanes)
    left = Var(f"{axis.name}_r", add(axis.extent, mul(start, -1)))
    single = _put(store, axis, add(start, var(left.name, left.extent)))
    rest: tuple[Part, ...] = (Loop(left, "serial", _rows(single, others, unrolled, lanes)),)
    return _fitted(axis.extent, start, size, whole, rest)


def _around(
    parts: tuple[Part, ...], loops: list[Var], store: Store, machine: Machine
) -> tuple[Part, ...]:
    """The loops around the tile, outer ones parallel until there are items enough."""
    if len(loops) == 1 and not form.bound(store) and bounds(loops[0].extent)[1] > GROUP:
        return _grouped(parts, loops[0])
    wanted = ENOUGH_ITEMS * machine.cores
    kinds: list[LoopKind] = []
    items = 1
    for loop in loops:
        kinds.append("parallel" if items < wanted else "serial")
        items *= max(1, bounds(loop.extent)[1])
    for loop, kind in zip(reversed(loops), reversed(kinds), strict=True):
        parts = (Loop(loop, kind, parts),)
    return parts


def _grouped(parts: tuple[Part, ...], tiles: Var) -> tuple[Part, ...]:
    """A lone loop over tiles: parallel over groups of them, so that an item is worth a thread."""
    groups, inner = _tiles_of(tiles, GROUP), Var(f"{tiles.name}_g", GROUP)
    place = add(mul(var(groups.name, groups.extent), GROUP), var(inner.name, GROUP))
    moved = tuple(_moved(part, tiles, place) for part in parts)
    fit = Fit(add(place, 1), tiles.extent, moved, ())
    return (Loop(groups, "parallel", (Loop(inner, "serial", (fit,)),)),)


def _moved(part: Part, axis: Var, value: Dim) -> Part:
    """A part with a loop variable replaced."""
    if isinstance(part, Tile):
        lanes = part.lanes
        if lanes is not None and lanes.valid is not None:
            valid = substitute(lanes.valid, {axis: value})
            lanes = Lanes(lanes.axis, lanes.width, lanes.count, valid, lanes.reduced)
        return Tile(_put(part.store, axis, value), part.unrolled, lanes, part.inner)
    if isinstance(part, Loop):
        inner = Var(part.axis.name, substitute(part.axis.extent, {axis: value}))
        return Loop(inner, part.kind, tuple(_moved(one, axis, value) for one in part.body))
    assert isinstance(part, Fit), "clips stand in no lone loop"
    return Fit(
        substitute(part.needed, {axis: value}),
        part.available,
        tuple(_moved(one, axis, value) for one in part.whole),
        tuple(_moved(one, axis, value) for one in part.rest),
    )


def work(store: Store) -> Dim:
    """An estimate of operations: each value once for each point of what it depends on."""
    values = [one for one in form.walk(store.value) if one.op not in ("number", "iota")]
    bound = set(form.bound(store))
    total: Dim = 0
    for one in values:
        total = add(total, product(axis.extent for axis in sorted(one.free & bound, key=str)))
    return mul(product(axis.extent for axis in store.axes), total)
