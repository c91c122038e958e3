"""Factors of a summed product laid in memory such that vectors fit.

Before: the last axis of a sum of products is short (the width of a convolution's kernel, a narrow
image), and vectors along it stay empty for the most part; along a longer axis the factor that moves
with it is read in steps. After: that factor is a copy with this axis last. Only the order in memory
changes, no number and no order of a sum; what takes vectors along which axis is not decided here.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from photic.autograd import build
from photic.ir import dim as dims
from photic.ir import graph
from photic.ir.dim import Dim, FloorDiv, Mod
from photic.ir.graph import Operand, operand
from photic.ir.view import View, axis_variable, axis_variables

LANES = 16  # of float32 in the widest vectors of common processors
GAIN = 2  # times the lanes in use, from which a copy pays
READS = 16  # of each element, from which it is soon paid for


@dataclass(frozen=True, slots=True)
class _Mover:
    """One axis of the result, and the one axis of one factor's node that moves with it."""

    share: float
    factor: int
    place: int


def laid_for_lanes(
    factors: Sequence[Operand], masks: Sequence[Operand], rank: int
) -> list[Operand]:
    """The factors of a product that is summed over its axes from ``rank`` on."""
    values, last = list(factors), _last_share(factors, rank - 1)
    movers = [one for one in (_mover(values, masks, axis) for axis in range(rank)) if one]
    best = max(movers, key=lambda one: one.share, default=None)
    if best is None or best.share < GAIN * last or _is_read_seldom(values[best.factor]):
        return values
    if any(_is_last(values, one) and one.share == best.share for one in movers):
        return values
    values[best.factor] = _with_last(values[best.factor], best.place)
    return values


def _share(extent: Dim) -> float:
    """The part of vectors that an axis fills; 1 where its size is not known."""
    return extent / (-(-extent // LANES) * LANES) if isinstance(extent, int) and extent else 1.0


def _last_share(values: Sequence[Operand], axis: int) -> float:
    """The part of vectors that the result's last axis fills; one that is divided falls apart."""
    if axis < 0:
        return 1.0
    extent = values[0].shape[axis]
    one = dims.variables(axis_variable(axis, extent))
    atoms = [atom for x in values for index in x.view.index for atom in dims.atoms(index)]
    cut = [x for x in atoms if isinstance(x, FloorDiv | Mod) and one & dims.variables(x.top)]
    known = [x.bottom for x in cut if isinstance(x.bottom, int)]
    return _share(dims.floordiv(extent, max(known, default=1)))


def _mover(values: Sequence[Operand], masks: Sequence[Operand], axis: int) -> _Mover | None:
    """What moves with an axis of the result, one for one; None unless that is one axis alone."""
    extent = values[0].shape[axis]
    one = axis_variable(axis, extent)
    if not isinstance(extent, int) or extent == 1:
        return None
    moving = dims.variables(one)
    asked = [bound.value for x in (*values, *masks) for bound in x.view.bounds]
    asked += [index for mask in masks for index in mask.view.index]
    if any(dims.variables(value) & moving for value in asked):
        return None
    found = [
        (factor, place)
        for factor, x in enumerate(values)
        for place, index in enumerate(x.view.index)
        if dims.variables(index) & moving
    ]
    if len(found) != 1:
        return None
    ((factor, place),) = found
    is_plain = values[factor].view.index[place] == one
    return _Mover(_share(extent), factor, place) if is_plain else None


def _is_last(values: Sequence[Operand], one: _Mover) -> bool:
    return one.place == len(values[one.factor].node.shape) - 1


def _is_read_seldom(x: Operand) -> bool:
    """True for a factor whose copy would not pay, and for a constant, which is laid as read."""
    counts = dims.product(x.shape), dims.product(x.node.shape)
    reads, size = (dims.bounds(one)[1] for one in counts)
    return x.node.op == "constant" or reads < READS * size


def _with_last(x: Operand, place: int) -> Operand:
    """A factor read from a copy whose last axis is one of its node's."""
    order = [k for k in range(len(x.node.shape)) if k != place] + [place]
    shape = tuple(x.node.shape[k] for k in order)
    variables = dict(zip(order, axis_variables(shape), strict=True))
    moved = build.seen(operand(x.node), shape, [variables[k] for k in range(len(order))])
    copy = operand(graph.cast(moved, x.dtype))
    # adding nothing makes it a value of its own: a mere copy is read where it came from
    kept = graph.binary("add", copy, build.nothing(x.dtype, shape))
    return Operand(kept, View(x.shape, tuple(x.view.index[k] for k in order), x.view.bounds))
