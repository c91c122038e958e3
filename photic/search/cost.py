"""The analytic cost of a nest: cycles counted on its tiles, and bytes through the caches.

A prior for the search, never a verdict. Cycles follow the renderer: a value is computed once for
each point of the unrolled variables that it depends on, as a vector if it depends on the lanes, and
outside the reductions that it does not depend on. A trip of a reduction takes no less than the
latency of its accumulation. A border tile counts as often as it runs. An access to what does not
fit the first cache costs more where the innermost loop around it moves it to another cache line.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from photic.ir.dim import Atom, Dim, Var, bounds, coefficient_of, substitute, variables
from photic.ir.index import Access, Buffer, Expr, Over
from photic.ir.program import ROW_MAJOR, Layout
from photic.loops.layout import offset
from photic.loops.nest import Clip, Fit, Loop, Nest, Part, Tile, parallel_loops
from photic.loops.target import Machine

# Cycles of operations on one register, by name; all others take one instruction.
CYCLES = {"exp2": 12.0, "log2": 16.0, "sin": 24.0, "recip": 4.0, "sqrt": 8.0, "mod": 4.0}
FREE = frozenset({"number", "sum", "max", "iota"})
INSTRUCTION = 0.5
LOAD_CYCLES = 0.5
STORE_CYCLES = 1.0
LANE_CYCLES = 2.5  # of each lane that is loaded or stored alone
LATENCY = 4.0  # of an accumulation
TILE_CYCLES = 6.0  # to enter a tile: addresses, sums across lanes, the jump back
PART_CYCLES = 3.0  # more for a vector that is filled in part
NEAR_BYTES = 32768  # a first-level cache
LINE_BYTES = 64
SECOND_CYCLES = (1.5, 6.0)  # a cache line from the second level: the next one, or another
OUTER_CYCLES = (6.0, 30.0)  # from beyond
UNEVEN = 1024.0
ACROSS_CYCLES = 8.0  # to combine the lanes of a vector
CYCLES_PER_SECOND = 2.5e9  # of a core; only ratios matter
BYTES_PER_CYCLE = 6.0  # of a core from memory
PARALLEL_CYCLES = 4000.0  # to hand a kernel to the other threads

Known = Mapping[Atom, Dim]


def seconds(nests: tuple[Nest, ...], machine: Machine) -> float:
    """The predicted time of kernels one after the other."""
    return sum(_nest_seconds(one, machine) for one in nests)


def _nest_seconds(nest: Nest, machine: Machine) -> float:
    loops, _ = parallel_loops(nest)
    items = math.prod(_number(loop.axis.extent, {}) for loop in loops)
    threads = min(float(machine.cores), items)
    rounds = math.ceil(items / threads) / items if items else 0.0  # the share of the slowest
    layouts = dict(zip(nest.parameters, nest.layouts, strict=True))
    layouts |= dict.fromkeys(nest.scratch, ROW_MAJOR)
    places = {one: (lay, _lines(_bytes(one), machine)) for one, lay in layouts.items()}
    runs = _runs(nest.body, _Run(1.0, None, {}))
    cycles = sum(_TileCost(tile, run, places).cycles() * run.times for tile, run in runs)
    traffic = sum(_bytes(one) for one in nest.parameters)
    total = max(cycles * rounds, traffic / BYTES_PER_CYCLE / threads)
    return (total + PARALLEL_CYCLES * (len(loops) > 0)) / CYCLES_PER_SECOND


def _number(value: Dim, known: Known) -> float:
    """A size: at the geometric middle of its range where it has one."""
    low, high = bounds(substitute(value, known) if known else value)
    return float(high) if low == high else math.sqrt(max(1, low) * max(1, high))


def _bytes(buffer: Buffer) -> float:
    return buffer.dtype.bytes * math.prod(_number(one, {}) for one in buffer.shape)


def _lines(size: float, machine: Machine) -> tuple[float, float]:
    """The extra cycles for the next cache line, and for any other, of a buffer of this size."""
    if size <= NEAR_BYTES:
        return 0.0, 0.0
    return SECOND_CYCLES if size <= machine.cache_bytes / 2 else OUTER_CYCLES


@dataclass(frozen=True, slots=True)
class _Run:
    """How often a tile runs, the innermost loop around it, the sizes of tiles that loops cut."""

    times: float
    fastest: Var | None
    known: Known


def _runs(parts: tuple[Part, ...], run: _Run) -> Iterator[tuple[Tile, _Run]]:
    """Each tile with how it runs."""
    for part in parts:
        if isinstance(part, Tile):
            yield part, run
        elif isinstance(part, Loop):
            trips = _number(part.axis.extent, run.known)
            fastest = part.axis if trips > 1 else run.fastest
            yield from _runs(part.body, _Run(run.times * trips, fastest, run.known))
        elif isinstance(part, Clip):
            known = {**run.known, part.symbol: part.size}
            yield from _runs(part.body, replace(run, known=known))
        else:
            share = _whole_share(part, run.known)
            yield from _runs(part.whole, replace(run, times=run.times * share))
            yield from _runs(part.rest, replace(run, times=run.times * (1 - share)))


def _whole_share(fit: Fit, known: Known) -> float:
    """The part of the runs in which a whole tile fits."""
    steps = [(one, coefficient_of(fit.needed, one)) for one in variables(fit.needed)]
    size = max((float(step) for _, step in steps if isinstance(step, int)), default=1.0)
    room = _number(fit.available, known) / max(1.0, size)
    return math.floor(room) / max(1, math.ceil(room)) if len(steps) == 1 else 1.0


@dataclass(slots=True)
class _TileCost:
    """The cycles of one run of a tile."""

    tile: Tile
    run: _Run
    places: Mapping[Buffer, tuple[Layout, tuple[float, float]]]

    def cycles(self) -> float:
        """All of it."""
        store = self.tile.store
        target = self.access(Access(store.buffer, store.index), STORE_CYCLES, self.run.fastest)
        axes = frozenset().union(*(variables(one) for one in store.index))
        inside = self.scope(store.value, frozenset())
        return TILE_CYCLES + inside + target * self.points(axes)

    def scope(self, value: Expr, bound: frozenset[Var]) -> float:
        """What is computed of a value once the variables of reductions around it are known."""
        total, seen, stack = 0.0, set[Expr](), [value]
        while stack:
            one = stack.pop()
            if one in seen or (bound and not bound & one.free):
                continue
            seen.add(one)
            total += self.operation(one, bound) * self.points(one.free)
            if isinstance(one.attribute, Over):
                total += self.reduction(one, bound)
            else:
                stack += one.children
        return total

    def reduction(self, one: Expr, bound: frozenset[Var]) -> float:
        """The trips of a reduction, and what stands outside of it."""
        assert isinstance(one.attribute, Over)
        body, axis = one.children[0], one.attribute.axis
        trips = _number(axis.extent, self.run.known)
        lanes = self.tile.lanes
        across = 0.0
        if lanes is not None and lanes.axis == axis:
            trips = math.ceil(trips / (lanes.width * lanes.count))
            across = (ACROSS_CYCLES + lanes.count) * self.points(one.free)
        inner = self.scope(body, frozenset({axis}))
        accumulated = INSTRUCTION * self.points(body.free)
        a_trip = inner + accumulated
        if axis not in self.tile.inner:
            a_trip = max(LATENCY, a_trip)
        outside = sum(self.scope(each, bound) for each in _free_of(body, axis))
        return trips * a_trip + outside + across

    def points(self, free: frozenset[Var]) -> float:
        """How many registers a value is: one for each point of what is unrolled."""
        axes = [axis for axis in self.tile.unrolled if axis in free]
        points = math.prod(_number(axis.extent, self.run.known) for axis in axes)
        lanes = self.tile.lanes
        return points * (lanes.count if lanes is not None and lanes.axis in free else 1)

    def operation(self, one: Expr, bound: frozenset[Var]) -> float:
        """The cycles of one operation on one register."""
        if isinstance(one.attribute, Access):
            fastest = next(iter(bound), self.run.fastest)
            return self.access(one.attribute, LOAD_CYCLES, fastest)
        return 0.0 if one.op in FREE else CYCLES.get(one.op, INSTRUCTION)

    def access(self, access: Access, whole: float, fastest: Var | None) -> float:
        """A load or store: of one vector, of one element, or lane by lane."""
        layout, (following, other) = self.places[access.buffer]
        place, element = (
            offset(access.buffer.shape, layout, access.index),
            access.buffer.dtype.bytes,
        )
        lanes = self.tile.lanes
        step = _step(place, fastest) * element
        lines, wide = min(1.0, step / LINE_BYTES), 1.0
        if lanes is not None and lanes.axis in variables(place):
            if _step(place, lanes.axis) == 1:
                whole += PART_CYCLES * (lanes.valid is not None)
                lines = float(step > 0)
            else:
                whole, wide = LANE_CYCLES * lanes.width, float(lanes.width)
        return whole + wide * lines * (following if step <= 2 * LINE_BYTES else other)


def _step(place: Dim, axis: Var | None) -> float:
    """How many elements an offset moves with a variable; many if unevenly."""
    step = coefficient_of(place, axis) if axis is not None else 0
    if step is None:
        return UNEVEN
    return abs(_number(step, {})) if step != 0 else 0.0


def _free_of(body: Expr, axis: Var) -> list[Expr]:
    """The largest values inside a reduction that do not depend on its variable."""
    found, stack, seen = [], [body], set[Expr]()
    while stack:
        one = stack.pop()
        if one in seen:
            continue
        seen.add(one)
        if axis not in one.free:
            found.append(one)
        else:
            stack += one.children
    return found
