"""The order of the loops around a tile: what brings the fewest new cache lines moves fastest.

For each loop: how many lines of loads and store a tile sees for the first time when that loop alone
moves on. Lines that follow the last ones count half, for they are fetched ahead.
"""

from __future__ import annotations

from collections.abc import Mapping

from photic.forms.layout import ALIGNMENT, offset
from photic.ir import index as form
from photic.ir.dim import Var, bounds, coefficient_of
from photic.ir.index import Access, Store
from photic.ir.program import ROW_MAJOR, Layout

AHEAD = 0.5  # of the cost of a line that follows the last one
WRITTEN = 2  # a line that is written is read before
FAR = 1 << 30  # bytes; a step that is not known


def orders(
    store: Store, tile: Mapping[Var, int], layouts: Mapping[str, Layout]
) -> list[tuple[Var, ...]]:
    """Orders of the output variables, outermost first: the best by cost, and as they stand.

    ``tile`` says how many values of a variable one tile takes; it takes all of a reduction.
    """
    tile = {**{one: bounds(one.extent)[1] for one in form.bound(store)}, **tile}
    target = Access(store.buffer, store.index)
    weights = {**dict.fromkeys(form.loads(store.value), 1), target: WRITTEN}
    costs = dict.fromkeys(store.axes, 0.0)
    for access, weight in weights.items():
        layout = layouts.get(access.buffer.name, ROW_MAJOR)
        for axis in store.axes:
            costs[axis] += weight * _new_lines(access, layout, axis, tile)
    return list(dict.fromkeys([tuple(sorted(store.axes, key=lambda x: -costs[x])), store.axes]))


def _new_lines(access: Access, layout: Layout, axis: Var, tile: Mapping[Var, int]) -> float:
    """Lines of an access that are new when ``axis`` moves by as much as a tile takes of it."""
    place, size = offset(access.buffer.shape, layout, access.index), access.buffer.dtype.bytes

    def step(one: Var) -> int:
        found = coefficient_of(place, one)
        return abs(found) * size if isinstance(found, int) else FAR

    lines, run = 1, size  # so many runs of so many bytes
    for one in sorted(tile, key=step):
        if step(one) <= max(run, ALIGNMENT):
            run = max(run, step(one) * tile[one])
        else:
            lines *= tile[one]
    moved = step(axis) * tile.get(axis, 1)
    if moved <= max(run, ALIGNMENT):
        return lines * moved / ALIGNMENT * AHEAD
    return lines * max(1.0, run / ALIGNMENT)
