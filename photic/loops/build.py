"""From choices to a nest: axes become loops, register tiles and vectors; borders get bodies.

Before: ``y[i, j] = sum k: x[i, k]*w[k, j]``, lanes j, rows i. After: loops over tiles of j and of
i, outer ones parallel until every core has enough; where a tile does not fit, a body for the rest.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import TypeAlias

from photic.forms.joined_nests import Limits, joined
from photic.forms.nest_parts import moved, put
from photic.forms.parts import written_out
from photic.forms.rounding import unrounded
from photic.ir import index as form
from photic.ir.dim import Dim, Var, bounds, mod, product, var
from photic.ir.index import Buffer, Expr, Store
from photic.ir.nest import Fit, Lanes, Loop, LoopKind, Nest, Part, Tile
from photic.ir.program import ROW_MAJOR, Function, Layout
from photic.loops.plan import GROUP_ROWS, MANY, MOST_GROUP_ROWS, STAGED_ROWS, Choice, staged_in
from photic.loops.target import Machine, Rows

LEAST_ROWS = 4  # left over that an instruction for whole tiles does
ENOUGH_ITEMS = 16  # parallel items for each core
ENOUGH_GROUPS = 4  # for each core, of rows that share what is staged
GROUP = 16  # tiles of a lone vector loop that one parallel item takes
GROUP_VECTORS = 4  # tiles of vectors that one term of a scatter goes to

Body: TypeAlias = Callable[[Store, Dim, Lanes], tuple[Part, ...]]


def nest(function: Function, choice: Choice, layouts: dict[str, Layout], machine: Machine) -> Nest:
    """The nest of these choices, with the layouts that the constants really have."""
    lays = tuple(layouts.get(one.name, ROW_MAJOR) for one in function.parameters)
    loops, parts, *scratch = _staged(choice, machine) if choice.staged else inside(choice)
    body, total = _around(parts, loops, choice.store, machine), work(function.stores[0])
    if choice.scatter:
        total = product(one.extent for one in choice.scatter.terms) * work(choice.store)
    flat = {one.name: one for one in (choice.store.buffer, *form.buffers_read(choice.store))}
    parameters = tuple(flat.get(one.name, one) for one in function.parameters)
    return Nest(function.name, parameters, lays, body, total, *scratch)


def together(
    nests: Sequence[Nest], private: Collection[str], machine: Machine
) -> list[tuple[tuple[int, ...], Nest]]:
    """Nests joined where that is right, with their numbers; not where cores share tiles."""
    if machine.group > 1:
        return [((number,), one) for number, one in enumerate(nests)]
    return joined(nests, private, Limits(ENOUGH_ITEMS * machine.cores, machine.cache_bytes))


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
    if loops:  # a term's places lie side by side
        (*loops, last), count = loops, GROUP if choice.lanes is None else GROUP_VECTORS
        fill, (groups, part) = (_in_groups(fill, last, count)[1],), _in_groups(parts, last, count)
        loops, parts = [*loops, groups], (part,)
    return loops, (*_serially(made.places, fill), *_serially(made.terms, parts))


def _serially(axes: Sequence[Var], parts: tuple[Part, ...]) -> tuple[Part, ...]:
    for axis in reversed(axes):
        parts = (Loop(axis, "serial", parts),)
    return parts


@lru_cache(maxsize=MANY)
def _inside(choice: Choice) -> tuple[list[Var], tuple[Part, ...]]:
    store = choice.store
    loops = {axis: axis for axis in choice.order}
    if choice.lanes is not None and choice.lanes in store.axes:

        def body(inner: Store, place: Dim, across: Lanes) -> tuple[Part, ...]:
            return _rows(inner, list(choice.rows), (), across, choice.few)

        tiles, parts = _across(store, choice, body)
        loops[choice.lanes] = tiles
    else:
        lanes = None
        if choice.lanes is not None:
            lanes = Lanes(choice.lanes, choice.width, choice.count, None, True)
        parts = _rows(store, list(choice.rows), (), lanes)
    loops |= {axis: _tiles_of(axis, size) for axis, size in choice.rows}
    return [one for one in loops.values() if one.extent != 1], parts


def _tiles_of(axis: Var, size: int) -> Var:
    """The variable that counts tiles of an axis."""
    return Var(f"{axis.name}_t", (axis.extent + size - 1) // size)


def _across(store: Store, choice: Choice, body: Body) -> tuple[Var, tuple[Part, ...]]:
    """The output variable across vectors: the loop over its tiles, and the parts inside.

    ``body`` makes them, given the store inside, the place of a lane, and the lanes. The last tile
    has only the vectors that it needs, where a known number of lanes is left.
    """
    axis = choice.lanes
    assert axis is not None
    size = choice.width * choice.count
    tiles = _tiles_of(axis, size)
    start = var(tiles.name, tiles.extent) * size
    left = axis.extent % size if isinstance(axis.extent, int) and not choice.few else 0

    def made(count: int, valid: Dim | None) -> tuple[Part, ...]:
        lane = Var(f"{axis.name}_v", choice.width * count)
        place = start + var(lane.name, lane.extent)
        return body(put(store, axis, place), place, Lanes(lane, choice.width, count, valid, False))

    rest = made(-(-left // choice.width) or choice.count, axis.extent - start)
    return tiles, _fitted(axis.extent, start, size, made(choice.count, None), rest)


def _staged(
    choice: Choice, machine: Machine
) -> tuple[list[Var], tuple[Part, ...], tuple[Buffer, ...], tuple[Buffer, ...]]:
    """The loops around groups of rows, what is inside, what is staged where, and what in pairs.

    A group first computes what all its rows read; where there are few rows it does not.
    """
    store, (rows, size) = choice.store, choice.rows[0]
    tiles, size = _tiles_of(rows, size), choice.width * choice.count
    held = {one: staged_in(store, one, f"staged{k}", size) for k, one in enumerate(choice.staged)}
    lanes = -(-bounds(choice.lanes.extent)[1] // size) if choice.lanes else 1
    even = bounds(tiles.extent)[1] * lanes * machine.group // (ENOUGH_GROUPS * machine.cores)
    together = max(GROUP_ROWS, min(even, max(MOST_GROUP_ROWS, machine.group)))
    groups, unrolled = _in_groups((), tiles, together)[0], written_out(store.value)
    special = machine.paired and choice.few
    paired = tuple(one for one, _ in held.values() if special and _has_pairs(one))

    def body(inner: Store, place: Dim, across: Lanes) -> tuple[Part, ...]:
        lane, first, reads = across.axis, list[Part](), dict[Expr, Expr]()
        for one, (buffer, axes) in held.items():
            value = form.substitute_expr(one, {choice.lanes: place} if choice.lanes else {})
            index = tuple(var(axis.name, axis.extent) for axis in (*axes, lane))
            reads[value], kept = form.load(buffer, index), Store(buffer, (), index, value)
            short = [axis for axis in axes if axis in unrolled]
            around = [axis for axis in axes if axis not in unrolled]
            if buffer in paired and axes[-1] in around:
                pair = Var(f"{axes[-1]}_u", 2)
                around[-1] = _tiles_of(axes[-1], 2)
                number = var(around[-1].name, around[-1].extent) * 2 + var(pair.name, 2)
                kept, short = put(kept, axes[-1], number), [*short, pair]
            tile = Tile(kept, tuple(short), across, frozenset())
            first += _serially(around, (tile,))
        changed = replace(inner, value=form.replaced(inner.value, reads))
        parts = _rows(changed, list(choice.rows), (), across, choice.few)
        made = _in_groups(parts, tiles, together)[1]
        if bounds(rows.extent)[0] >= STAGED_ROWS:
            return (*first, made)
        few = choice.few or choice.rows
        value = unrounded(inner.value) if machine.narrow else inner.value
        plain = _few(replace(inner, value=value), rows, few[0][1], across)
        return (Fit(STAGED_ROWS, rows.extent, (*first, made), plain),)

    loop, parts = _across(store, choice, body)
    others = (axis for axis in choice.order if axis not in (choice.lanes, rows))
    loops = [one for one in (*others, loop, groups) if one.extent != 1]
    return loops, parts, tuple(buffer for buffer, _ in held.values()), paired


def _has_pairs(buffer: Buffer) -> bool:
    """True for half numbers of which there is an even number along the last reduction."""
    return buffer.dtype.is_half and mod(buffer.shape[-2], 2) == 0


def _fitted(
    extent: Dim, start: Dim, size: int, whole: tuple[Part, ...], rest: tuple[Part, ...]
) -> tuple[Part, ...]:
    if isinstance(extent, int) and extent % size == 0:
        return whole
    if isinstance(extent, int) and extent < size:
        return rest
    return (Fit(start + size, extent, whole, rest),)


def _few(store: Store, rows: Var, size: int, lanes: Lanes | None) -> tuple[Part, ...]:
    """All rows, by loops over tiles of them."""
    return (Loop(_tiles_of(rows, size), "serial", _rows(store, [(rows, size)], (), lanes)),)


def _rows(
    store: Store,
    rows: list[tuple[Var, int]],
    unrolled: tuple[Var, ...],
    lanes: Lanes | None,
    few: Rows = (),
) -> tuple[Part, ...]:
    """The unrolled variables, one after the other, each with a loop for the rows that are left.

    Where an instruction does whole tiles it does what is left, too, unless that is ``few``.
    """
    if not rows:
        return (Tile(store, unrolled, lanes, written_out(store.value)),)
    (axis, size), others = rows[0], rows[1:]
    tiles, row = _tiles_of(axis, size), Var(f"{axis.name}_u", size)
    start = var(tiles.name, tiles.extent) * size
    made = put(store, axis, start + var(row.name, size))
    whole = _rows(made, others, (*unrolled, row) if size > 1 else unrolled, lanes)
    is_known = isinstance(axis.extent, int) and not few
    left = Var(f"{axis.name}_r", mod(axis.extent, size) if is_known else axis.extent - start)
    single = put(store, axis, start + var(left.name, left.extent))
    unrolled = (*unrolled, left) if is_known and left.extent != 1 else unrolled
    rest = _rows(single, others, unrolled, lanes)
    if not is_known:
        rest = (Loop(left, "serial", rest),)
    if few:
        tile = Tile(single, (left,), lanes, written_out(single.value))
        rest = (Fit(LEAST_ROWS, left.extent, (tile,), _few(single, left, few[0][1], lanes)),)
    return _fitted(axis.extent, start, size, whole, rest)


def _around(
    parts: tuple[Part, ...], loops: list[Var], store: Store, machine: Machine
) -> tuple[Part, ...]:
    """The loops around the tile, outer ones parallel until there are items enough."""
    wanted = ENOUGH_ITEMS * machine.cores
    if len(loops) == 1 and not form.bound(store) and bounds(loops[0].extent)[1] > GROUP:
        count = max(GROUP, bounds(loops[0].extent)[0] // wanted)  # an item is worth a thread
        groups, part = _in_groups(parts, loops[0], count)
        return (Loop(groups, "parallel", (part,)),)
    kinds, items = list[LoopKind](), 1
    for loop in loops:
        kinds.append("parallel" if items < wanted else "serial")
        items *= max(1, bounds(loop.extent)[1])
    for loop, kind in zip(reversed(loops), reversed(kinds), strict=True):
        parts = (Loop(loop, kind, parts),)
    return parts


def _in_groups(parts: tuple[Part, ...], tiles: Var, count: int) -> tuple[Var, Part]:
    """A loop over tiles as one over groups of them, and the loop over the tiles of a group."""
    groups, inner = _tiles_of(tiles, count), Var(f"{tiles.name}_g", count)
    place = var(groups.name, groups.extent) * count + var(inner.name, count)
    body = tuple(moved(part, tiles, place) for part in parts)
    is_even = isinstance(tiles.extent, int) and tiles.extent % count == 0
    body = body if is_even else (Fit(place + 1, tiles.extent, body, ()),)
    return groups, Loop(inner, "serial", body)


def work(store: Store) -> Dim:
    """An estimate of operations: each value once for each point of what it depends on."""
    values = [one for one in form.walk(store.value) if one.op not in ("number", "iota")]
    bound = set(form.bound(store))
    total: Dim = 0
    for one in values:
        total += product(axis.extent for axis in sorted(one.free & bound, key=str))
    return product(axis.extent for axis in store.axes) * total
