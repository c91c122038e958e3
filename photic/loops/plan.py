"""The choices for one kernel: its vectors, its register tile, the layouts it wants of constants.

One output or reduction variable goes across vectors, so that loads and the store are contiguous
(constants can be re-laid to be so); outputs that reuse the same loads are unrolled into a register
tile. ``decide`` picks among the legal ones; the first option of each is the best by target facts
alone, and where nobody measures it is taken. ``loops/build.py`` makes the nest.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from itertools import chain
from typing import TypeAlias

from photic.forms.merged_axes import merged
from photic.forms.parts import is_short, split_parts
from photic.forms.places import place_of
from photic.forms.rounding import is_widened, unrounded
from photic.forms.scatters import JOIN, Scatter, scatter_of
from photic.ir import dim as dims
from photic.ir import index as form
from photic.ir.dim import Data, Dim, FloorDiv, Mod, Var, bounds, coefficient_of, var, variables
from photic.ir.dtype import BOOL
from photic.ir.index import Access, Buffer, Expr, Store
from photic.ir.program import Function, Layout
from photic.ir.walk import parts_first
from photic.loops.order import orders
from photic.loops.target import Machine, Rows

REDUCED_WEIGHT, ACROSS = 256, 80  # at most, of a load inside a reduction; of adding up lanes
BROADCAST_COST = 0.25  # of a contiguous load
EVERY_SECOND = 3.0  # two loads, and a shuffle of both
WIDE_TILE = 4  # vectors side by side in a tile
WIDE_ROWS = 8  # of a tile
PAIR = 4  # rows and columns of a tile whose vectors run along a reduction
FILLED = (2, 4)  # steps from lane to lane with whose vectors side by side stores are whole
SPARE_REGISTERS = 3  # for operands and addresses
MOST_LANES = 3  # variables that are tried across vectors, the best by their accesses
PAGE_BYTES = 4096  # elements so far apart share places in caches, and none is fetched ahead
STAGED = ("staged", "as read")
GROUP_ROWS = 8  # tiles of rows that share what is staged, or more where enough are left
MOST_GROUP_ROWS = 32
STAGED_ROWS = 16  # with fewer rows, nothing is staged
COUNTS = (1, 2, 3, 4, 6, 8)  # vectors side by side
MANY = 4096  # stores whose choices are remembered
ROWS = (1, 2, 3, 4, 6, 8, 12)

Decide: TypeAlias = Callable[[str, Sequence[str]], int]
"""The number of the option taken, given what is decided and the options by name."""


def best_known(key: str, options: Sequence[str]) -> int:
    """The first option: the best by target facts."""
    return 0


@dataclass(frozen=True, slots=True)
class Choice:
    """The decisions of one nest."""

    store: Store
    lanes: Var | None
    width: int
    count: int
    rows: Rows
    layouts: dict[str, Layout] = field(hash=False)
    order: tuple[Var, ...] = ()  # of the store's axes, outermost first
    scatter: Scatter | None = None  # whose update ``store`` is
    staged: tuple[Expr, ...] = ()  # values that a tile of lanes computes once for many rows
    few: Rows = ()  # of a tile without the instruction, where an instruction does the reduction


def choose(
    function: Function,
    constants: frozenset[str],
    machine: Machine,
    decide: Decide,
    is_alone: bool = True,
) -> Choice:
    """Decide the vectors, the register tile, layouts wanted of constants, and what is staged.

    Only of a kernel's one store, which ``is_alone``, are axes merged and values staged.
    """
    store = split_parts(function.stores[0])
    store, scatter, width, known = _best_lanes(store, constants, machine, is_alone)
    lanes = known[decide("lanes", [one.name if one else "none" for one in known])]
    tiles, special, held = _register_tiles(store, lanes, width, constants, machine, is_alone)
    labels = [" ".join([f"{n}", *(f"{axis}:{size}" for axis, size in rows)]) for n, rows in tiles]
    count, rows = tiles[decide("register tile", labels)]
    is_special = special and (count, rows) == tiles[0]
    if machine.narrow and not is_special:
        store = replace(store, value=unrounded(store.value))
    layouts = _layouts(store, lanes, width * count, constants)
    across = {lanes: width * count} if lanes else {}
    found = orders(store, {**dict(rows), **across}, layouts)[-1 if scatter else 0 :]
    order = found[decide("order", [" ".join(axis.name for axis in one) for one in found])]
    made = Choice(store, lanes, width if lanes else 1, count, rows, layouts, order, scatter)
    if is_special:
        return replace(made, staged=held, few=special)
    staged = values_to_stage(made, machine) if is_alone else ()
    if staged:
        is_dear = any(_is_dear(made, one, constants) for one in staged)
        options = STAGED if is_dear else STAGED[::-1]
        staged = staged if options[decide("values", options)] == STAGED[0] else ()
    return replace(made, staged=staged)


def values_to_stage(choice: Choice, machine: Machine) -> tuple[Expr, ...]:
    """What is reduced and differs from lane to lane, but not from row to row of the tile.

    Only what may be computed at any place, and fits into a cache for all of a reduction. What is
    widened is staged before it is, if the machine may be narrow. Conditions guard loads: they stay.
    """
    lanes, bound = choice.lanes, set(form.bound(choice.store))
    if len(choice.rows) != 1 or lanes is None or lanes not in choice.store.axes:
        return ()
    rows = choice.rows[0][0]

    def is_staged(one: Expr) -> bool:
        is_common = lanes in one.free and rows not in one.free and not one.free.isdisjoint(bound)
        is_common &= one.dtype != BOOL and not (machine.narrow and is_widened(one))
        parts = list(form.walk(one)) if is_common else []
        return bool(parts) and all(form.is_in_range(x) and x.op not in JOIN for x in parts)

    inner = parts_first([choice.store.value], lambda x: () if is_staged(x) else x.children, ())
    found = [one for one in inner if is_staged(one)]
    sizes = (dims.product(a.extent for a in x.free & bound) * x.dtype.bytes for x in found)
    fits = sum(bounds(n)[1] for n in sizes) * choice.width * choice.count <= machine.cache_bytes
    return tuple(found) if fits and bounds(rows.extent)[1] >= STAGED_ROWS else ()


def staged_in(store: Store, value: Expr, name: str, lanes: Dim) -> tuple[Buffer, list[Var]]:
    """The buffer in which a value is staged for so many lanes, and the reductions over which."""
    axes = sorted(value.free.intersection(form.bound(store)), key=str)
    return Buffer(name, (*(axis.extent for axis in axes), lanes), value.dtype), axes


def _read_staged(store: Store, lanes: Var, value: Expr) -> Expr:
    """What reads a staged value, as if all lanes were."""
    buffer, axes = staged_in(store, value, f"staged {value}", lanes.extent)
    return form.load(buffer, [var(one.name, one.extent) for one in (*axes, lanes)])


def _is_dear(choice: Choice, value: Expr, constants: frozenset[str]) -> bool:
    """True if to compute a value takes longer than to load it."""
    access, lanes = value.attribute, choice.lanes
    if not isinstance(access, Access) or lanes is None:
        return True
    steps = (coefficient_of(place_of(access), axis) for axis in form.bound(choice.store))
    nearest = min((abs(n) for n in steps if isinstance(n, int) and n), default=0)
    is_far = nearest * value.dtype.bytes >= PAGE_BYTES and access.buffer.name not in constants
    return _access_cost(access, lanes, choice.width, constants) > 1 or is_far


@lru_cache(maxsize=MANY)
def _best_lanes(
    store: Store, constants: frozenset[str], machine: Machine, is_alone: bool
) -> tuple[Store, Scatter | None, int, list[Var | None]]:
    """The store, the lanes of a vector, and the best variables across them, by cost."""
    scatter = scatter_of(store)
    store = scatter.update if scatter else merged(store, constants) if is_alone else store
    width = _width(store, machine)
    axes = (*store.axes, *form.bound(store))
    legal = [one for one in axes if _is_legal(store, one)]
    costs = {one: _cost(store, one, width, constants) for one in (None, *legal)}
    special = {x: _register_tiles(store, x, width, constants, machine, is_alone)[1] for x in costs}
    best = sorted(costs, key=lambda one: (not special[one], costs[one]))
    return store, scatter, width, best[:MOST_LANES]


@lru_cache(maxsize=MANY)
def _register_tiles(
    store: Store,
    lanes: Var | None,
    width: int,
    constants: frozenset[str],
    machine: Machine,
    is_alone: bool,
) -> tuple[list[tuple[int, Rows]], Rows, tuple[Expr, ...]]:
    """Register tiles: the best known first, then others that the registers hold.

    If the first is that of an instruction, the rows of a tile without it, and what it has staged.
    """
    usual = _register_tile(store, lanes, width, constants, machine)
    best, held = machine.special(store, lanes), tuple[Expr, ...]()
    if best is None and is_alone and lanes is not None:
        held = values_to_stage(Choice(store, lanes, width, *usual, {}), machine)
        reads = {one: _read_staged(store, lanes, one) for one in held}
        best = machine.special(replace(store, value=form.replaced(store.value, reads)), lanes)
        best = best if best and [axis for axis, _ in best[1]] == [a for a, _ in usual[1]] else None
    found = [best or usual, usual]
    if lanes is not None:
        fitting = -(-bounds(lanes.extent)[1] // width)
        for count in (one for one in COUNTS if one == 1 or one <= fitting):
            found.append((count, ()))
            for axis in _reused(store, lanes):
                found += [(count, ((axis, size),)) for size in ROWS if size > 1]
    room = machine.vector_registers - SPARE_REGISTERS
    # accumulators, and the operands of one step
    needed = {one: one[0] * math.prod(size for _, size in one[1]) + one[0] for one in found}
    kept = [one for one, size in needed.items() if one == best or size <= room]
    return kept, usual[1] if best else (), held if best else ()


def _width(store: Store, machine: Machine) -> int:
    """Lanes of a vector: set by the widest number that the kernel computes with."""
    values = (one for one in form.walk(store.value) if one.op != "number")
    sizes = (one.dtype.bytes for one in values if one.dtype.kind == "float")
    return machine.vector_bytes // max([4, *sizes])


def _cost(store: Store, lanes: Var | None, width: int, constants: frozenset[str]) -> float:
    """A relative cost of the kernel's memory accesses with this vector variable."""
    total, rows = 0.0, _most_reused(store, lanes, width, constants)
    many = rows if rows is not None and bounds(rows.extent)[0] >= STAGED_ROWS else None
    uses = min(GROUP_ROWS, bounds(many.extent)[0] / WIDE_ROWS) if many else 1
    for access, bound in form.loads_inside(store.value):
        weight = min(REDUCED_WEIGHT, math.prod(bounds(one.extent)[1] for one in bound))
        if lanes is None or (lanes not in store.axes and lanes not in bound):
            total += weight * width
        else:
            cost = _access_cost(access, lanes, width, constants)
            is_staged = many and lanes in store.axes and many not in variables(place_of(access))
            total += weight * (min(cost, 1 + cost / uses) if is_staged else cost)
    target, moves = Access(store.buffer, store.index), lanes in store.axes
    total += _access_cost(target, lanes, width, frozenset()) if lanes and moves else width
    total += ACROSS * (lanes is not None and lanes not in store.axes)
    return total if lanes is None else total / _used_share(lanes, width)


def _most_reused(
    store: Store, lanes: Var | None, width: int, constants: frozenset[str]
) -> Var | None:
    """The other output variable whose rows load least for each.

    Of equal ones that whose rows are stored side by side, then the largest.
    """
    inner = [access for access, bound in form.loads_inside(store.value) if bound]
    costs = {one: _access_cost(one, lanes, width, constants) for one in inner if lanes}
    target = place_of(Access(store.buffer, store.index))

    def loaded(axis: Var) -> tuple[float, bool, int]:
        rows = max(1, min(WIDE_ROWS, bounds(axis.extent)[1]))
        moving = sum(cost for one, cost in costs.items() if axis in variables(place_of(one)))
        is_apart = lanes is None or lanes.extent % width == 0
        is_apart &= coefficient_of(target, axis) != 1
        return moving + (sum(costs.values()) - moving) / rows, is_apart, -bounds(axis.extent)[1]

    return min(_reused(store, lanes), key=loaded, default=None)


def _access_cost(access: Access, lanes: Var, width: int, constants: frozenset[str]) -> float:
    stride = coefficient_of(place_of(access), lanes)
    if stride == 0:
        return BROADCAST_COST
    is_cut = access.buffer.name in constants and _cut_axis(access, lanes) is not None
    if stride in (1, -1) or is_cut:
        return 1.0
    return EVERY_SECOND if stride == 2 else float(width)


def _used_share(lanes: Var, width: int) -> float:
    """The share of vector lanes in use, at the geometric middle of a symbolic extent."""
    low, high = bounds(lanes.extent)
    extent = max(1, math.isqrt(max(1, low) * max(1, high)))
    return extent / (-(-extent // width) * width)


def _is_legal(store: Store, lanes: Var) -> bool:
    """Vectors need conditions and places in memory that are affine in their variable."""
    if is_short(lanes) and lanes not in store.axes:
        return False
    attributes = [one.attribute for one in form.walk_store(store)]
    places = [place_of(one) for one in attributes if isinstance(one, Access)]
    others = (form.dims_of(one) for one in attributes if not isinstance(one, Access))
    for dim in (*store.index, *places, *chain.from_iterable(others)):
        for atom in dims.atoms(dim):
            if isinstance(atom, FloorDiv | Mod) and lanes in variables(atom.top):
                return False
            if isinstance(atom, Data) and lanes in atom.value.variables():
                return False
        if not isinstance(coefficient_of(dim, lanes), int) and lanes in variables(dim):
            return False
    return True


def _cut_axis(access: Access, lanes: Var) -> int | None:
    """The axis of a constant that moves with the vector variable, one for one, if only one does."""
    moving = [k for k, one in enumerate(access.index) if lanes in variables(one)]
    if len(moving) != 1 or coefficient_of(access.index[moving[0]], lanes) != 1:
        return None
    return moving[0] if isinstance(access.buffer.shape[moving[0]], int) else None


def _register_tile(
    store: Store, lanes: Var | None, width: int, constants: frozenset[str], machine: Machine
) -> tuple[int, Rows]:
    """The best known: how many vectors side by side, and which outputs are unrolled how often."""
    if lanes is None:
        return 1, ()
    fitting = max(1, -(-bounds(lanes.extent)[1] // width))
    between = _between(store, lanes)
    if not form.bound(store):
        return min(WIDE_TILE, fitting), between
    if lanes not in store.axes:
        rows = tuple((axis, PAIR) for axis in _reused(store, lanes)[-2:])
        return (1 if rows else min(WIDE_TILE, fitting)), rows
    wide = min(WIDE_TILE if machine.vector_registers > 16 else 2, fitting)
    count = min(range(wide, wide // 2, -1), key=lambda one: -(-fitting // one) * one)
    best = _most_reused(store, lanes, width, constants)
    if best is None:
        return count, ()
    beside = [(axis, size) for axis, size in between if axis != best]
    each = count * math.prod(size for _, size in beside)
    most = min(WIDE_ROWS, max(1, (machine.vector_registers - each - SPARE_REGISTERS) // each))

    def lacking(rows: int) -> int:
        left = dims.mod(-best.extent, rows)
        return left if isinstance(left, int) else WIDE_ROWS

    return count, ((best, min(range(most, most // 2, -1), key=lacking)), *beside)


def _between(store: Store, lanes: Var) -> Rows:
    """The axis whose places fill those between two lanes of what is stored."""
    target = place_of(Access(store.buffer, store.index))
    step = coefficient_of(target, lanes)
    found = [one for one in store.axes if coefficient_of(target, one) == 1 and one.extent == step]
    return tuple((one, step) for one in found if step in FILLED and isinstance(step, int))


def _reused(store: Store, lanes: Var | None) -> list[Var]:
    """The other output variables that some loads inside reductions depend on, but not all."""
    inner = [variables(place_of(one)) for one, bound in form.loads_inside(store.value) if bound]
    depend = {axis: sum(axis in one for one in inner) for axis in store.axes if axis != lanes}
    return [axis for axis, count in depend.items() if 0 < count < len(inner)]


def _layouts(
    store: Store, lanes: Var | None, tile: int, constants: frozenset[str]
) -> dict[str, Layout]:
    """The constants of a reduction that should lie in panels of the tile."""
    found: dict[str, Layout] = {}
    if lanes is None or lanes not in store.axes:
        return found
    for access, bound in form.loads_inside(store.value):
        axis = _cut_axis(access, lanes)
        if access.buffer.name in constants and axis is not None and bound:
            whole = var("panel", bounds(lanes.extent)[1]) * tile + var("lane", tile)
            place = dims.substitute(access.index[axis], {lanes: whole})
            if dims.mod(place, tile) == var("lane", tile):
                found[access.buffer.name] = Layout(axis, tile)
    return found
