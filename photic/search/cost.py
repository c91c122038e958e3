"""The analytic cost of a nest: cycles counted on its tiles, and bytes through the caches.

A prior for the search, never a verdict. Cycles follow the renderer: a value is computed once for
each point of the unrolled variables that it depends on, as a vector if it depends on the lanes, and
outside the reductions that it does not depend on. A trip of a reduction takes no less than the
latency of its accumulation. A border tile counts as often as it runs. Cache lines: from the inside
out, a loop touches as many more of a buffer as its variable reaches; once they do not fit a cache,
every turn of the loops around loads them again.
"""

from __future__ import annotations

import math
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from photic.forms.layout import offset
from photic.ir import index as form
from photic.ir.dim import Atom, Dim, Var, bounds, coefficient_of, substitute, variables
from photic.ir.index import Access, Buffer, Expr, Over
from photic.ir.nest import Clip, Fit, Loop, Nest, Part, Tile, parallel_loops
from photic.ir.program import ROW_MAJOR, Layout
from photic.ir.walk import parts_first
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
PAGE_BYTES = 4096  # lines so far apart share a place in a cache, which holds a few of them
WAYS = 8
UNEVEN = 1024.0
AT_ONCE = 8.0  # times as fast is a tile whose sums one instruction of the machine does
SOME = 0.5  # of the tiles of a loop, where some are left out
ACROSS_CYCLES = 8.0  # to combine the lanes of a vector
CYCLES_PER_SECOND = 2.5e9  # of a core; only ratios matter
PARALLEL_CYCLES = 4000.0  # to hand a kernel to the other threads

WEIGHTS: dict[str, float] = tomllib.loads(Path(__file__).with_name("cost.toml").read_text("utf-8"))

Known = Mapping[Atom, Dim]


def seconds(nests: tuple[Nest, ...], machine: Machine) -> float:
    """The predicted time of kernels one after the other."""
    counts = (cycles_of(one, machine) for one in nests)
    return sum(WEIGHTS[kind] * n for one in counts for kind, n in one.items()) / CYCLES_PER_SECOND


def cycles_of(nest: Nest, machine: Machine) -> dict[str, float]:
    """The cycles of a kernel by kind, before they are weighted."""
    loops, _ = parallel_loops(nest)
    items = math.prod(_number(loop.axis.extent, {}) for loop in loops)
    threads = max(1.0, min(float(machine.cores), items))
    rounds = math.ceil(items / threads) / items if items else 0.0  # the share of the slowest
    layouts = dict(zip(nest.parameters, nest.layouts, strict=True))
    layouts |= dict.fromkeys(nest.scratch, ROW_MAJOR)
    total = dict.fromkeys(WEIGHTS, 0.0)
    for tile, run in _runs(nest.body, _Run(1.0, (), {})):
        _TileCost(tile, run, layouts, machine, total).count()
    found = {kind: count * rounds for kind, count in total.items()}
    found["parallel"] = PARALLEL_CYCLES * (len(loops) > 0)
    return found


def _number(value: Dim, known: Known) -> float:
    """A size: at the geometric middle of its range where it has one."""
    low, high = bounds(substitute(value, known) if known else value)
    return float(high) if low == high else math.sqrt(max(1, low) * max(1, high))


@dataclass(frozen=True, slots=True)
class _Run:
    """How often a tile runs, the loops around it from the inside, the sizes of cut tiles."""

    times: float
    loops: tuple[tuple[Var, float], ...]
    known: Known


def _runs(parts: tuple[Part, ...], run: _Run) -> Iterator[tuple[Tile, _Run]]:
    """Each tile with how it runs."""
    for part in parts:
        if isinstance(part, Tile):
            yield part, run
        elif isinstance(part, Loop):
            trips = _number(part.axis.extent, run.known)
            loops = ((part.axis, trips), *run.loops)
            yield from _runs(part.body, _Run(run.times * trips, loops, run.known))
        elif isinstance(part, Clip):
            known = {**run.known, part.symbol: part.size}
            yield from _runs(part.body, replace(run, known=known))
        else:
            share = _whole_share(part, run.known)
            yield from _runs(part.whole, replace(run, times=run.times * share))
            yield from _runs(part.rest, replace(run, times=run.times * (1 - share)))


def _whole_share(fit: Fit, known: Known) -> float:
    """The part of the runs in which a whole tile fits, or in which a tile counts at all."""
    if not fit.rest:
        return SOME
    steps = [(one, coefficient_of(fit.needed, one)) for one in variables(fit.needed)]
    size = max((float(step) for _, step in steps if isinstance(step, int)), default=1.0)
    room = _number(fit.available, known) / max(1.0, size)
    return math.floor(room) / max(1, math.ceil(room)) if len(steps) == 1 else 1.0


@dataclass(slots=True)
class _TileCost:
    """The cycles of all runs of a tile."""

    tile: Tile
    run: _Run
    layouts: Mapping[Buffer, Layout]
    machine: Machine
    total: dict[str, float]

    def count(self) -> None:
        """Add all of it to the total."""
        store, times, lanes = self.tile.store, self.run.times, self.tile.lanes
        whole = replace(store, axes=(*self.tile.unrolled, *([lanes.axis] if lanes else [])))
        if self.machine.special(whole, lanes.axis if lanes else None):
            times /= AT_ONCE
        target = Access(store.buffer, store.index)
        axes = frozenset().union(*(variables(one) for one in store.index))
        self.total["tiles"] += TILE_CYCLES * times
        self.scope(store.value, frozenset(), times)
        self.access(target, STORE_CYCLES, times * self.points(axes))
        self.lines(target, ())
        for access, bound in form.loads_inside(store.value):
            self.lines(access, bound)

    def lines(self, access: Access, bound: tuple[Var, ...]) -> None:
        """The cycles that an access waits for cache lines, in all runs."""
        place = self.place(access)
        lanes, known = self.tile.lanes, self.run.known
        loops = [(axis, _number(axis.extent, known)) for axis in (*self.tile.unrolled, *bound)]
        if lanes is not None:
            loops = [one for one in loops if one[0] != lanes.axis]
            loops.insert(0, (lanes.axis, float(lanes.width * lanes.count)))
        steps = [
            (_step(place, axis) * access.buffer.dtype.bytes, trips)
            for axis, trips in (*loops, *self.run.loops)
        ]
        way = "next" if next((step for step, _ in steps if step), 0.0) <= LINE_BYTES else "other"
        self.total[f"near {way} lines"] += _loaded(steps, NEAR_BYTES)
        self.total[f"far {way} lines"] += _loaded(steps, self.machine.cache_bytes / 2)

    def place(self, access: Access) -> Dim:
        """The offset of an access in its buffer, in elements."""
        return offset(access.buffer.shape, self.layouts[access.buffer], access.index)

    def scope(self, value: Expr, bound: frozenset[Var], times: float) -> float:
        """What is computed of a value once the variables of reductions around it are known.

        Adds the cycles of so many times; returns those of one.
        """
        total = 0.0

        def inside(one: Expr) -> tuple[Expr, ...]:
            is_here = not bound or bound & one.free
            return one.children if is_here and not isinstance(one.attribute, Over) else ()

        for one in (x for x in parts_first([value], inside, ()) if not bound or bound & x.free):
            points = self.points(one.free)
            if isinstance(one.attribute, Access):
                total += self.access(one.attribute, LOAD_CYCLES, times * points) * points
            elif isinstance(one.attribute, Over):
                total += self.reduction(one, bound, times)
            else:
                total += self.operation(one, times * points) * points
        return total

    def reduction(self, one: Expr, bound: frozenset[Var], times: float) -> float:
        """The trips of a reduction, and what stands outside of it."""
        assert isinstance(one.attribute, Over)
        body, axis = one.children[0], one.attribute.axis
        trips = _number(axis.extent, self.run.known)
        lanes, across = self.tile.lanes, 0.0
        if lanes is not None and lanes.axis == axis:
            trips = math.ceil(trips / (lanes.width * lanes.count))
            across = (ACROSS_CYCLES + lanes.count) * self.points(one.free)
        inner = self.scope(body, frozenset({axis}), times * trips)
        added = INSTRUCTION * self.points(body.free)
        waits = max(0.0, LATENCY - inner - added) if axis not in self.tile.inner else 0.0
        self.total["operations"] += added * times * trips
        self.total["latency"] += waits * times * trips
        self.total["across"] += across * times
        outside = sum(self.scope(each, bound, times) for each in _free_of(body, axis))
        return trips * (inner + added + waits) + outside + across

    def points(self, free: frozenset[Var]) -> float:
        """How many registers a value is: one for each point of what is unrolled."""
        points = math.prod(
            _number(a.extent, self.run.known) for a in self.tile.unrolled if a in free
        )
        lanes = self.tile.lanes
        return points * (lanes.count if lanes is not None and lanes.axis in free else 1)

    def operation(self, one: Expr, times: float) -> float:
        """The cycles of one operation on one register."""
        lanes = self.tile.lanes
        cycles = 0.0 if one.op in FREE else CYCLES.get(one.op, INSTRUCTION)
        is_vector = lanes is not None and lanes.axis in one.free
        kind = "functions" if one.op in CYCLES else "operations"
        self.total[kind if is_vector else f"scalar {kind}"] += cycles * times
        return cycles

    def access(self, access: Access, whole: float, times: float) -> float:
        """A load or store: of one vector, of one element, or lane by lane."""
        lanes, place, kind = self.tile.lanes, self.place(access), "operations"
        if lanes is None or lanes.axis not in variables(place):
            kind = "scalar operations"
        elif (step := _step(place, lanes.axis)) in (1, 2):
            whole = whole * (2 * step - 1) + PART_CYCLES * (lanes.valid is not None)
        else:
            whole, kind = LANE_CYCLES * lanes.width, "lanes"
        self.total[kind] += whole * times
        return whole


def _loaded(steps: list[tuple[float, float]], cache_bytes: float) -> float:
    """How many lines come into a cache, given bytes a turn and turns of loops from the inside."""
    held, total, fits = 1.0, 1.0, True
    for step, trips in steps:
        if step and fits:
            held *= max(1.0, trips * min(1.0, step / LINE_BYTES))
            crowded = step % PAGE_BYTES == 0 and trips > WAYS * cache_bytes / NEAR_BYTES
            fits = held * LINE_BYTES <= cache_bytes and not crowded
            total = held
        elif not fits:
            total *= trips
    return total


def _step(place: Dim, axis: Var) -> float:
    """How many elements an offset moves with a variable; many if unevenly."""
    step = coefficient_of(place, axis)
    return UNEVEN if step is None else abs(_number(step, {})) if step != 0 else 0.0


def _free_of(body: Expr, axis: Var) -> list[Expr]:
    """The largest values inside a reduction that do not depend on its variable."""
    inside = parts_first([body], lambda one: one.children if axis in one.free else (), ())
    return [one for one in inside if axis not in one.free]
