"""The analytic cost of a nest: instructions counted on its tiles, and bytes through the caches.

A prior for the search, never a verdict. Instructions follow the renderer: a value is computed once
for each point of the unrolled variables that it depends on, as a vector if it depends on the lanes.
Bytes: each buffer is read again for every pass of the loops inside which it does not fit the cache.
"""

from __future__ import annotations

from collections.abc import Iterator

from photic.ir.dim import Dim, Var, bounds, coefficient_of, variables
from photic.ir.index import Access, Buffer, Expr, Over
from photic.ir.program import ROW_MAJOR
from photic.loops.layout import offset
from photic.loops.nest import Fit, Loop, Nest, Part, Tile, parallel_loops
from photic.loops.target import Machine

CYCLES = {"exp2": 12.0, "log2": 16.0, "sin": 24.0, "recip": 8.0, "sqrt": 8.0, "mod": 4.0}
LOAD_CYCLES = 0.5
STORE_CYCLES = 1.0
LANE_CYCLES = 1.5  # of each lane that is loaded or stored alone
NEAR_BYTES = 32768  # a first-level cache; scratch beyond it costs as below
FAR_CYCLES = 1.5  # more for each vector of scratch in the second level
OUTER_CYCLES = 8.0  # more beyond that
INSTRUCTIONS_PER_CYCLE = 2.0
CYCLES_PER_SECOND = 2.5e9  # of a core; only ratios matter
BYTES_PER_CYCLE = 6.0  # of a core from memory
PARALLEL_CYCLES = 4000.0  # to hand a kernel to the other threads


def seconds(nests: tuple[Nest, ...], machine: Machine) -> float:
    """The predicted time of kernels one after the other."""
    return sum(_nest_seconds(one, machine) for one in nests)


def _nest_seconds(nest: Nest, machine: Machine) -> float:
    loops, _ = parallel_loops(nest)
    items = 1.0
    for loop in loops:
        items *= _size(loop.axis.extent)
    threads = min(float(machine.cores), items)
    rounds = -(-items // threads) / items if items else 0.0  # the share of the slowest thread
    scratch = {one: _bytes(one.shape, one.dtype.bytes) for one in nest.scratch}
    far = {one: _distance(size, machine) for one, size in scratch.items()}
    cycles = sum(_tile_cycles(tile, times, far) for tile, times in _tiles(nest.body, 1.0))
    traffic = sum(
        _bytes(one.shape, one.dtype.bytes) for one in nest.parameters if one not in scratch
    )
    total = max(cycles * rounds, traffic / BYTES_PER_CYCLE / threads)
    return (total + PARALLEL_CYCLES * (len(loops) > 0)) / CYCLES_PER_SECOND


def _size(value: Dim) -> float:
    low, high = bounds(value)
    return float(high) if low == high else max(1.0, (max(1, low) * max(1, high)) ** 0.5)


def _bytes(shape: tuple[Dim, ...], element: int) -> float:
    total = float(element)
    for extent in shape:
        total *= _size(extent)
    return total


def _tiles(parts: tuple[Part, ...], times: float) -> Iterator[tuple[Tile, float]]:
    """Each tile that runs on whole tiles, with how often; borders are left out."""
    for part in parts:
        if isinstance(part, Tile):
            yield part, times
        elif isinstance(part, Loop):
            yield from _tiles(part.body, times * _size(part.axis.extent))
        elif isinstance(part, Fit):
            yield from _tiles(part.whole, times)
        else:
            yield from _tiles(part.body, times)


def _distance(size: float, machine: Machine) -> float:
    """The extra cycles of a vector access to scratch of this size."""
    if size <= NEAR_BYTES:
        return 0.0
    return FAR_CYCLES if size <= machine.cache_bytes / 2 else OUTER_CYCLES


def _tile_cycles(tile: Tile, times: float, far: dict[Buffer, float]) -> float:
    """Cycles of all runs of one tile."""
    known: set[tuple[Expr, float]] = set()
    total = 0.0
    stack: list[tuple[Expr, float]] = [(tile.store.value, 1.0)]
    while stack:
        one, trips = stack.pop()
        if isinstance(one.attribute, Over):
            trips *= _trips(tile, one.attribute.axis)
            total += trips * _points(tile, one.children[0]) / INSTRUCTIONS_PER_CYCLE
        if (one, trips) in known:
            continue
        known.add((one, trips))
        total += trips * _points(tile, one) * _cycles(tile, one, far)
        stack += [(child, trips) for child in one.children]
    target = Access(tile.store.buffer, tile.store.index)
    stored = 1.0
    for axis in tile.unrolled:
        stored *= _size(axis.extent)
    if tile.lanes is not None and not tile.lanes.reduced:
        stored *= tile.lanes.count
    return times * (total + stored * _access_cycles(tile, target, STORE_CYCLES, far))


def _trips(tile: Tile, axis: Var) -> float:
    lanes = tile.lanes
    whole = _size(axis.extent)
    return whole / (lanes.width * lanes.count) if lanes and lanes.axis == axis else whole


def _points(tile: Tile, one: Expr) -> float:
    """How many C variables a value is: one for each point of what is unrolled."""
    points = 1.0
    for axis in tile.unrolled:
        if axis in one.free:
            points *= _size(axis.extent)
    if tile.lanes is not None and tile.lanes.axis in one.free:
        points *= tile.lanes.count
    return points


def _cycles(tile: Tile, one: Expr, far: dict[Buffer, float]) -> float:
    if isinstance(one.attribute, Access):
        return _access_cycles(tile, one.attribute, LOAD_CYCLES, far)
    if one.op in ("number", "sum", "max"):
        return 0.0
    return CYCLES.get(one.op, 1.0) / INSTRUCTIONS_PER_CYCLE


def _access_cycles(tile: Tile, access: Access, whole: float, far: dict[Buffer, float]) -> float:
    """A load or store: one vector, a broadcast, or lane by lane."""
    lanes = tile.lanes
    if lanes is None or not any(lanes.axis in variables(one) for one in access.index):
        return whole
    stride = coefficient_of(offset(access.buffer.shape, ROW_MAJOR, access.index), lanes.axis)
    if stride == 1:
        return whole + far.get(access.buffer, 0.0)
    return LANE_CYCLES * lanes.width
