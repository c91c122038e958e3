"""The transpose of a view: what a gradient becomes on its way from a view's result to its source.

Before: ``y[i] = x[e(i)]`` within bounds. After: ``dx[j]`` is the sum of ``dy[i]`` over all ``i``
within bounds for which ``e(i) = j``. That is again a view, and a sum over what ``solve`` left free;
where it solves nothing, a sum over all ``i`` of ``dy[i]`` where ``e(i) == j``. Factors of a product
are viewed one by one, so that the product is formed and summed in one piece.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from photic.autograd import build
from photic.autograd.lanes import laid_for_lanes
from photic.autograd.padding import padded
from photic.autograd.solve import Solution, solve
from photic.ir import dim as dims
from photic.ir.dim import Atom, Dim, Var
from photic.ir.dtype import BOOL
from photic.ir.graph import Node, Operand, iota_node
from photic.ir.view import Bound, Shape, View, axis_variables
from photic.ir.walk import parts_first


@dataclass(frozen=True, slots=True)
class Transposed:
    """``factor`` times a value of the source's shape.

    ``within``: where anything reads the source; None if that is everywhere or summed over.
    """

    value: Operand
    factor: int
    within: Operand | None


def moves_only(view: View, source: Shape) -> bool:
    """True if at most one place of the result reads each of the source: nothing is summed."""
    found = solve(view, source)
    return found is not None and len(found.shape) == len(source)


def laid(x: Operand, view: View, source: Shape) -> Operand:
    """A value at the places of the source, where the view ``moves_only``."""
    found = solve(view, source)
    assert found is not None
    return _seen(x, found)


def transposed(
    view: View, source: Shape, factors: Sequence[Operand], masks: Sequence[Operand]
) -> Transposed:
    """The sum, over all that reads an element of the source, of the masked product of some values.

    Where nothing is summed the masks are left to the caller.
    """
    rank, found = len(source), solve(view, source)
    if found is None:
        value = build.masked(build.product(masks), build.product(factors))
        return Transposed(_by_places(view, source, value), 1, None)
    if len(found.shape) == rank:
        everywhere = build.number(True, BOOL, ())
        mask = build.seen(everywhere, source, (), found.bounds)
        within = mask if mask.view.bounds else None
        return Transposed(build.product(_seen(one, found) for one in factors), 1, within)
    count, found = _without_copies(found, rank, (*masks, *factors))
    first, *others = factors
    values = padded([_seen(first, found), *(_freely_seen(one, found) for one in others)], rank)
    given = [_seen(one, found) for one in masks]
    seen = [given, laid_for_lanes(values, given, rank)]
    if any(_asks_for_place(one.node) for one in masks):  # a scatter has one axis of terms
        seen = [[build.joined(one, rank) for one in each] for each in seen]
    value = build.masked(build.product(seen[0]), build.product(seen[1]))
    return Transposed(build.summed(value, rank), count, None)


def _freely_seen(x: Operand, found: Solution) -> Operand:
    """A factor without the solution's bounds, if it is read inside its node all the same.

    Outside of them the first factor is nothing, so that another may be anything finite.
    """
    free = build.seen(x, found.shape, found.index)
    pairs = zip(free.view.index, x.node.shape, strict=True)
    is_inside = all(dims.is_within(at, extent) for at, extent in pairs)
    return free if is_inside else _seen(x, found)


def _seen(x: Operand, found: Solution) -> Operand:
    return build.seen(x, found.shape, found.index, found.bounds)


def _asks_for_place(mask: Node) -> bool:
    """True if a mask compares with the places of an axis, as a lookup does."""
    below = parts_first([mask], _bool_parts, ())
    return any(one.node.op == "iota" for node in below for one in node.operands)


def _bool_parts(node: Node) -> list[Node]:
    return [one.node for one in node.operands if one.dtype == BOOL]


# --- sums of equal terms --------------------------------------------------------------------


def _without_copies(found: Solution, rank: int, factors: Sequence[Operand]) -> tuple[int, Solution]:
    """How often free axes of known extent only repeat the factors; the solution without these."""
    views = [_seen(one, found).view for one in factors]
    needed = [value for view in views for value in view.index]
    needed += [bound.value for view in views for bound in view.bounds]
    read = {one.name for value in needed for one in dims.variables(value)}
    gone, count = [], 1
    for axis, extent in enumerate(found.shape[rank:], start=rank):
        if isinstance(extent, int) and f"i{axis}" not in read:
            gone.append(axis)
            count *= extent
    return count, _dropped(found, gone) if gone else found


def _dropped(found: Solution, gone: Sequence[int]) -> Solution:
    """The solution at place 0 of some free axes."""
    shape = tuple(extent for axis, extent in enumerate(found.shape) if axis not in gone)
    kept = iter(axis_variables(shape))
    places = [0 if axis in gone else next(kept) for axis in range(len(found.shape))]
    table = _places(found.shape, places)
    index = tuple(dims.substitute(one, table) for one in found.index)
    return Solution(shape, index, _moved(found.bounds, table))


def _places(shape: Shape, places: Sequence[Dim]) -> dict[Atom, Dim]:
    """The variables of a view's axes, and where they are read."""
    pairs = zip(shape, places, strict=True)
    return {Var(f"i{axis}", extent): at for axis, (extent, at) in enumerate(pairs) if extent != 1}


def _moved(bounds: Sequence[Bound], table: dict[Atom, Dim]) -> tuple[Bound, ...]:
    return tuple(Bound(dims.substitute(one.value, table), one.extent) for one in bounds)


# --- where nothing better is known ----------------------------------------------------------


def _by_places(view: View, source: Shape, x: Operand) -> Operand:
    """Each element of the result laid where its index says: one-hot along each source axis."""
    shape, rank = (*source, *view.shape), len(source)
    moved = axis_variables(shape)[rank:]
    table = _places(view.shape, moved)
    bounds = _moved(view.bounds, table)
    mask = build.number(True, BOOL, shape)
    for axis, (index, extent) in enumerate(zip(view.index, source, strict=True)):
        read = Operand(iota_node(extent), View(shape, (dims.substitute(index, table),), bounds))
        mask = build.times(mask, _equal(build.places(extent, shape, axis), read))
    spread = build.seen(x, shape, moved, bounds)
    return build.summed(build.masked(mask, spread), rank)


def _equal(left: Operand, right: Operand) -> Operand:
    """Equality of integers: neither is less."""
    below, above = build.less(left, right), build.less(right, left)
    return build.times(build.negated(below), build.negated(above))
