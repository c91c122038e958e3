"""From a region and a plan to a nest: several statements under shared tile loops.

A plan is a tree: ``Open`` a loop over the tiles of an axis around a subtree, ``Then`` one subtree
after another, ``Leaf`` one statement. Inside an open axis a statement computes one tile of it.
Where a value lives follows from the tree (the law *tile*): at the outermost of the last place
shared with its readers and the place where a loop over one of its own reductions opens. A fold's
accumulators are rescaled whenever the running extremum moves (the law *rescale*).

Promises the meaning of the region for every plan that ``faults`` finds nothing wrong with. Chooses
nothing: tile sizes, lanes and register tiles come with the plan.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import TypeAlias

from photic.ir import index as form
from photic.ir.dim import (
    Atom,
    Dim,
    Symbol,
    Var,
    bounds,
    coefficient_of,
    substitute,
    symbol,
    var,
    variables,
)
from photic.ir.index import Access, Buffer, Expr, Over, Store
from photic.ir.nest import Clip, Fit, Loop, Part
from photic.loops.statements import Region, Statement, Weight


@dataclass(frozen=True, slots=True)
class Open:
    """A loop over the tiles of an axis around a subtree."""

    axis: Var
    body: Plan


@dataclass(frozen=True, slots=True)
class Then:
    """One subtree after another."""

    first: Plan
    rest: Plan


@dataclass(frozen=True, slots=True)
class Leaf:
    """One statement of the region, by number."""

    number: int


Plan: TypeAlias = Open | Then | Leaf
Path = tuple[Open, ...]
Parts: TypeAlias = tuple[Part, ...]
TileParts = Callable[[Store], Parts]
Place: TypeAlias = tuple[Buffer, tuple[Dim, ...]]


@dataclass(frozen=True, slots=True)
class Kernel:
    """One kernel: its statements by number, its loops, what each parallel item has for itself."""

    members: tuple[int, ...]
    body: Parts
    scratch: tuple[Buffer, ...]


@dataclass(frozen=True, slots=True)
class Arrangement:
    """Kernels in order, and where each value lives."""

    kernels: tuple[Kernel, ...]
    homes: dict[str, Home]


@dataclass(frozen=True, slots=True)
class Home:
    """Where a value lives: its buffer there, and which axes were open before it."""

    buffer: Buffer
    outside: tuple[Var, ...]
    axes: tuple[Var, ...]
    is_output: bool


@dataclass(slots=True)
class _State:
    """One arrangement under construction."""

    region: Region
    sizes: dict[Var, int]
    inner: Var | None
    tile: TileParts
    whole: TileParts
    paths: dict[int, Path]
    homes: dict[str, Home] = field(default_factory=dict)
    extra: dict[str, Buffer] = field(default_factory=dict)


def paths_of(plan: Plan, above: Path = ()) -> dict[int, Path]:
    """For each statement the loops around it, outermost first."""
    if isinstance(plan, Leaf):
        return {plan.number: above}
    if isinstance(plan, Open):
        return paths_of(plan.body, (*above, plan))
    return {**paths_of(plan.first, above), **paths_of(plan.rest, above)}


def read_targets(statement: Statement) -> set[str]:
    """The names of the buffers that a statement reads."""
    return {access.buffer.name for access in form.loads(statement.value)}


def arrange(
    region: Region,
    plan: Plan,
    sizes: dict[Var, int],
    inner: Var | None,
    tile: TileParts,
    whole: TileParts,
) -> Arrangement:
    """The loops of a plan. ``sizes`` are tile sizes of opened axes, ``inner`` lies innermost.

    ``tile`` makes the inside of one statement's tile: its register tile and vectors; ``whole`` all
    of a statement that no loop is open around.
    """
    state = _State(region, sizes, inner, tile, whole, paths_of(plan))
    for number, statement in enumerate(region.statements):
        state.homes[statement.target.name] = _home(state, number, statement)
    return Arrangement(tuple(_kernel(state, one) for one in _borders(plan)), state.homes)


def _borders(plan: Plan) -> Iterator[Plan]:
    """The subtrees outside all loops: a cut there is a border between kernels."""
    if isinstance(plan, Then):
        yield from _borders(plan.first)
        yield from _borders(plan.rest)
    else:
        yield plan


def _kernel(state: _State, plan: Plan) -> Kernel:
    state.extra = {}
    body = _parts(state, plan, ())
    numbers = tuple(sorted(paths_of(plan)))
    members = [state.region.statements[number] for number in numbers]
    homes = [state.homes[one.target.name] for one in members]
    scratch = [home.buffer for home in homes if home.outside] + list(state.extra.values())
    return Kernel(numbers, _parallel(members, body), tuple(scratch))


def _home(state: _State, number: int, statement: Statement) -> Home:
    path = state.paths[number]
    shared = len(path)
    for other, reader in enumerate(state.region.statements):
        if statement.target.name in read_targets(reader) or reader.running == statement.target.name:
            shared = min(shared, _common(path, state.paths[other]))
    own = statement.reduced
    for depth, loop in enumerate(path):
        if loop.axis in own:
            shared = min(shared, depth)
    if statement.target.name in state.region.outputs:
        return Home(statement.target, (), statement.axes, True)
    outside = tuple(loop.axis for loop in path[:shared])
    axes = [axis for axis in statement.axes if _extent(state, axis, outside) != 1]
    if state.inner in axes:
        axes = [axis for axis in axes if axis != state.inner] + [state.inner]
    shape = tuple(_extent(state, axis, outside) for axis in axes)
    buffer = Buffer(statement.target.name, shape, statement.target.dtype)
    return Home(buffer, outside, tuple(axes), False)


def _extent(state: _State, axis: Var, outside: tuple[Var, ...]) -> Dim:
    return state.sizes[axis] if axis in outside else axis.extent


def _common(one: Path, other: Path) -> int:
    count = 0
    for a, b in zip(one, other, strict=False):
        if a is not b:
            break
        count += 1
    return count


# --- walking the plan -----------------------------------------------------------------------


def _parts(state: _State, plan: Plan, path: Path) -> Parts:
    if isinstance(plan, Leaf):
        return _leaf(state, state.region.statements[plan.number], path)
    if isinstance(plan, Then):
        return _parts(state, plan.first, path) + _parts(state, plan.rest, path)
    inside = paths_of(plan.body, (*path, plan))
    members = [state.region.statements[number] for number in sorted(inside)]
    starting = [one for one in members if plan.axis in one.reduced]
    outer = [loop.axis for loop in path]
    starting = [one for one in starting if not any(axis in one.reduced for axis in outer)]
    before = tuple(part for one in starting for part in _start(state, one, path))
    body = _parts(state, plan.body, (*path, plan))
    for gap in _gaps(state, (*path, plan), members):
        most = _most(state, gap, (*path, plan))
        if most is not None and bounds(most)[0] < 1:
            body = (Fit(1, most, body, ()),)
    return (*before, _opened(state, plan.axis, body))


def _gaps(state: _State, path: Path, members: list[Statement]) -> list[Dim]:
    """The numbers that must be positive somewhere in a tile of the open axes, or it adds nothing.

    All reductions over open axes agree about them, and nothing outside reads what else is inside.
    """
    opened = {loop.axis for loop in path}
    adding = [one for one in members if opened & set(one.reduced)]
    inner = {one.target.name for one in members if one not in adding}
    others = [one for one in state.region.statements if one not in members]
    read = set().union(state.region.outputs, *(read_targets(one) for one in others))
    if not adding or inner & read:
        return []
    gaps = [gap for gap in adding[0].gaps if all(gap in one.gaps for one in adding)]
    return [gap for gap in gaps if path[-1].axis in variables(gap)]


def _most(state: _State, gap: Dim, path: Path) -> Dim | None:
    """An upper bound of a number over the tiles of open axes and all of the others."""
    table, counters = _table(state, path), set[Var]()
    for loop in path:
        counters |= variables(table[loop.axis]) - {_inside(state, loop.axis)}
    gap = substitute(gap, table)
    if any(form.data_in((gap,))):
        return None
    for one in variables(gap) - counters:
        step, extent = coefficient_of(gap, one), bounds(one.extent)[1]
        if not isinstance(step, int):
            return None
        gap = substitute(gap, {one: extent - 1 if step > 0 else 0})
    return gap


def _opened(state: _State, axis: Var, body: Parts) -> Part:
    size = state.sizes[axis]
    tiles = Var(f"{axis.name}_o", (axis.extent + size - 1) // size)
    clip = _clip(axis, size)
    if clip is not None:
        start = var(tiles.name, tiles.extent) * size
        body = (Clip(clip, size, axis.extent - start, body),)
    return Loop(tiles, "serial", body)


def _clip(axis: Var, size: int) -> Symbol | None:
    """The size of the tile at the border, where there is one."""
    if size == 1 or (isinstance(axis.extent, int) and axis.extent % size == 0):
        return None
    return Symbol(f"{axis.name}_n", 1, size)


def _inside(state: _State, axis: Var) -> Var:
    """The variable inside one tile of an open axis."""
    size = state.sizes[axis]
    clip = _clip(axis, size)
    return Var(f"{axis.name}_i", size if clip is None else symbol(clip.name, 1, size))


def _table(state: _State, path: Path) -> dict[Atom, Dim]:
    """The open axes as tile number times size plus place in the tile."""
    table: dict[Atom, Dim] = {}
    for loop in path:
        size, axis = state.sizes[loop.axis], loop.axis
        tiles = var(f"{axis.name}_o", (axis.extent + size - 1) // size)
        inner = _inside(state, axis)
        table[axis] = tiles * size + var(inner.name, inner.extent)
    return table


def _place(state: _State, home: Home, path: Path) -> tuple[Dim, ...]:
    """The index of a value in its home, seen from inside the open axes of a path."""
    table = _table(state, path)
    index: list[Dim] = []
    for axis in home.axes:
        if axis in home.outside:
            inner = _inside(state, axis)
            index.append(var(inner.name, inner.extent))
        else:
            index.append(substitute(var(axis.name, axis.extent), table))
    return tuple(index)


def _value(state: _State, value: Expr, path: Path) -> Expr:
    """A statement's value inside the open axes, reading other values from their homes."""
    table = _table(state, path)
    done: dict[Expr, Expr] = {}

    def visit(one: Expr) -> Expr:
        if one in done:
            return done[one]
        attribute = one.attribute
        if isinstance(attribute, Access) and attribute.buffer.name in state.homes:
            home = state.homes[attribute.buffer.name]
            at = attribute.index if home.is_output else _place(state, home, path)
            if home.is_output:
                at = tuple(substitute(dim, table) for dim in at)
            done[one] = form.load(home.buffer, at)
        elif isinstance(attribute, Over) and attribute.axis in table:
            inner = _inside(state, attribute.axis)
            body = visit(one.children[0])
            done[one] = form.reduce(one.op, inner, body) if inner.extent != 1 else body
        else:
            children = tuple(visit(child) for child in one.children)
            done[one] = form.rebuilt(one, children, lambda dim: substitute(dim, table))
        return done[one]

    return visit(value)


def _target(state: _State, statement: Statement, path: Path) -> Place:
    home = state.homes[statement.target.name]
    if home.is_output:
        table = _table(state, path)
        return home.buffer, tuple(substitute(one, table) for one in statement.index)
    return home.buffer, _place(state, home, path)


def _stored(state: _State, statement: Statement, path: Path, where: Place, value: Expr) -> Parts:
    """The tile of one store over what is not open of the statement's axes."""
    opened = {loop.axis for loop in path}
    axes = [_inside(state, axis) if axis in opened else axis for axis in statement.axes]
    kept = tuple(axis for axis in axes if axis.extent != 1)
    make = state.tile if path else state.whole
    return make(Store(where[0], kept, where[1], value))


def _leaf(state: _State, statement: Statement, path: Path) -> Parts:
    """One statement: assigned, or accumulated where a loop over its reduction is open."""
    where = _target(state, statement, path)
    value = _value(state, statement.value, path)
    own = statement.reduced
    if not any(loop.axis in own for loop in path):
        return _stored(state, statement, path, where, value)
    held = form.load(*where)
    if statement.weight is not None and _is_running(state, statement, path):
        weight = state.extra[_weight_name(state, statement)]
        running = next(x for x in state.region.statements if x.target.name == statement.running)
        factor = form.load(weight, _target(state, running, path)[1])
        held = form.binary("mul", held, factor)
    joined = form.binary("maximum" if statement.value.op == "max" else "add", held, value)
    arrange = _extremum if statement.weight is None else _stored
    return arrange(state, statement, path, where, joined)


def _is_running(state: _State, statement: Statement, path: Path) -> bool:
    """True if the extremum that a statement is relative to runs in a loop around both."""
    names = [one.target.name for one in state.region.statements]
    number = names.index(statement.running)
    extremum = state.region.statements[number]
    shared = path[: _common(path, state.paths[number])]
    return any(loop.axis in extremum.reduced for loop in shared)


def _extremum(state: _State, statement: Statement, path: Path, where: Place, value: Expr) -> Parts:
    """A running extremum: its next value beside the old one, the weights, then moved over."""
    scaled = [
        one
        for number, one in enumerate(state.region.statements)
        if one.weight is not None
        and one.running == statement.target.name
        and _is_running(state, one, state.paths[number])
    ]
    if not scaled:
        return _stored(state, statement, path, where, value)
    fresh = _beside(state, replace(where[0], name=f"{where[0].name}_next"))
    parts = _stored(state, statement, path, (fresh, where[1]), value)
    for one in {_weight_name(state, each): each for each in scaled}.values():
        assert one.weight is not None
        factor = _weighed(one.weight, form.load(*where), form.load(fresh, where[1]))
        aside = _beside(state, replace(where[0], name=_weight_name(state, one), dtype=factor.dtype))
        parts += _stored(state, statement, path, (aside, where[1]), factor)
    return parts + _stored(state, statement, path, where, form.load(fresh, where[1]))


def _beside(state: _State, buffer: Buffer) -> Buffer:
    """A scratch buffer that the kernel needs beside its values."""
    return state.extra.setdefault(buffer.name, buffer)


def _weight_name(state: _State, statement: Statement) -> str:
    """One name for equal weights of one extremum: that of the first accumulator with it."""
    first = next(
        one
        for one in state.region.statements
        if (one.running, one.weight) == (statement.running, statement.weight)
    )
    return f"{statement.running}_{first.target.name}"


def _weighed(weight: Weight, old: Expr, new: Expr) -> Expr:
    """The weight's expression with the old and the new extremum in place."""
    known = {weight.old.name: old, weight.new.name: new}
    done: dict[Expr, Expr] = {}

    def visit(one: Expr) -> Expr:
        if one not in done:
            attribute = one.attribute
            if isinstance(attribute, Access) and attribute.buffer.name in known:
                done[one] = known[attribute.buffer.name]
            else:
                children = tuple(visit(child) for child in one.children)
                done[one] = form.rebuilt(one, children, lambda dim: dim)
        return done[one]

    return visit(weight.value)


def _start(state: _State, statement: Statement, path: Path) -> Parts:
    """The identity in an accumulator, before the first loop over one of its reductions."""
    empty = form.zero if statement.value.op == "sum" else form.lowest
    where = _target(state, statement, path)
    return _stored(state, statement, path, where, empty(statement.target.dtype))


# --- parallel loops, and what is wrong with a plan ------------------------------------------


def _parallel(members: list[Statement], parts: Parts) -> Parts:
    """Outer loops over output axes of all statements run in parallel; clips move inside them."""
    axes = {axis for one in members for axis in one.axes}
    axes -= {axis for one in members for axis in one.reduced}
    names = {f"{axis.name}_o" for axis in axes}
    loops: list[Loop] = []
    clips: list[Clip] = []
    inside = parts
    while len(inside) == 1:
        only = inside[0]
        if isinstance(only, Loop) and only.axis.name in names:
            loops.append(only)
        elif isinstance(only, Clip):
            clips.append(only)
        else:
            break
        inside = only.body
    for clip in reversed(clips):
        inside = (Clip(clip.symbol, clip.size, clip.available, inside),)
    for loop in reversed(loops):
        inside = (Loop(loop.axis, "parallel", inside),)
    return inside


def faults(region: Region, plan: Plan) -> Iterator[str]:
    """What makes a plan illegal: broken dependences, open reductions read, folds not closed."""
    paths = paths_of(plan)
    order = list(paths)
    names = {one.target.name: number for number, one in enumerate(region.statements)}
    for place, number in enumerate(order):
        statement = region.statements[number]
        if not all(loop.axis in statement.every_axis for loop in paths[number]):
            yield f"statement {number} sits in a loop over an axis that it does not have"
        for name in read_targets(statement) & set(names):
            maker = names[name]
            if maker not in order[:place]:
                yield f"statement {number} reads {name} before it is made"
            shared = paths[number][: _common(paths[number], paths[maker])]
            own = region.statements[maker].reduced
            open_own = [loop.axis for loop in shared if loop.axis in own]
            if open_own and statement.running != name:
                yield f"statement {number} reads {name} inside its own reduction"
            if (
                open_own
                and statement.weight is None
                and not _is_relative_safe(region, number, open_own, paths)
            ):
                yield f"statement {number}, relative to {name}, is read outside the fold"


def _is_relative_safe(region: Region, number: int, axes: list[Var], paths: dict[int, Path]) -> bool:
    """The law *closure*: a relative value is read only by members inside the same fold loop."""
    statement = region.statements[number]
    depth = max(k for k, loop in enumerate(paths[number]) if loop.axis in axes) + 1
    for other, reader in enumerate(region.statements):
        if statement.target.name in read_targets(reader):
            same = _common(paths[number], paths[other]) >= depth
            if not same or reader.running != statement.running:
                return False
    return True
