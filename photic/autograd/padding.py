"""Values read past their ends inside a sum: padded first, so that the sum asks nothing.

Before: a sum over ``k`` of ``x[j - k]`` where that lies inside ``x``. After: ``p`` is ``x`` between
zeros, and the sum is over ``p[j - k + before]``. It is the padding of a convolution, which a
convolution's gradient needs as well. No axis grows to more than a few times its size.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from photic.autograd import build
from photic.ir import dim as dims
from photic.ir import graph
from photic.ir.dim import Dim, FloorDiv, Mod, Monomial, Symbol, Var
from photic.ir.dtype import BOOL
from photic.ir.graph import Node, Operand, operand
from photic.ir.view import Bound, Shape, View, axis_variables

MOST_TIMES = 4  # an axis may grow so many times


@dataclass(frozen=True, slots=True)
class _Grown:
    """An axis that is read from ``low`` on: its new extent, and the bound that goes."""

    low: Dim
    extent: Dim
    bound: Bound


def padded(factors: Sequence[Operand], rank: int) -> list[Operand]:
    """The factors of a product, their nodes padded where they are read past an end.

    Axes from ``rank`` on are free. A bound that one factor's padding makes needless goes from all.
    """
    grown = [_growths(one, rank) for one in factors]
    gone = {one.bound for each in grown for one in each if one is not None}
    return [_padded(one, each, gone) for one, each in zip(factors, grown, strict=True)]


def _padded(x: Operand, grown: Sequence[_Grown | None], gone: set[Bound]) -> Operand:
    shape = tuple(n if one is None else one.extent for one, n in zip(grown, x.node.shape))
    lows = [0 if one is None else one.low for one in grown]
    read = [Bound(at, extent) for at, extent in zip(x.view.index, x.node.shape, strict=True)]
    needed = {
        bound
        for bound, one in zip(read, grown, strict=True)
        if one is None and not dims.is_within(bound.value, bound.extent)
    }
    freed = gone - needed if needed <= {*x.view.bounds} else {one.bound for one in grown if one}
    bounds = tuple(one for one in x.view.bounds if one not in freed)
    index = tuple(at - low for at, low in zip(x.view.index, lows))
    if not any(grown):
        return Operand(x.node, View(x.shape, x.view.index, bounds))
    return build.seen(_between_zeros(x.node, shape, lows), x.shape, index, bounds)


def _growths(x: Operand, rank: int) -> list[_Grown | None]:
    """How each axis of a factor's node must grow to need no bound; None if it needs none."""
    free = {Var(f"i{k}", extent) for k, extent in enumerate(x.shape) if k >= rank}
    pairs = zip(x.view.index, x.node.shape, strict=True)
    return [_grown(x, index, extent, free) for index, extent in pairs]


def _grown(x: Operand, index: Dim, extent: Dim, free: set[Var]) -> _Grown | None:
    bound = Bound(index, extent)
    if bound not in x.view.bounds or not dims.variables(index) & free:
        return None
    ends = _ends(index)
    if ends is None:
        return None
    size = ends[1] - ends[0] + 1
    if dims.bounds(size)[1] > MOST_TIMES * dims.bounds(extent)[1]:
        return None
    return _Grown(ends[0], size, bound)


def _between_zeros(node: Node, shape: Shape, lows: Sequence[Dim]) -> Operand:
    """A node with 0.0 around it: each axis of the new shape starts ``low`` places into its own."""
    index = [at + low for at, low in zip(axis_variables(shape), lows, strict=True)]
    bounds = [Bound(at, extent) for at, extent in zip(index, node.shape, strict=True)]
    inside = build.seen(build.number(True, BOOL, ()), shape, (), bounds)
    zero = build.number(0.0, node.dtype, shape)
    around = graph.binary("mul", build.negated(inside), zero)
    return operand(
        graph.binary("add", build.seen(operand(node), shape, index, bounds), operand(around))
    )


def _ends(value: Dim) -> tuple[Dim, Dim] | None:
    """The lowest and the highest value, each part for itself; None where signs are not known."""
    low: Dim = 0
    high: Dim = 0
    for atoms, factor in dims.terms_of(value):
        part = _ends_of(atoms)
        if part is None:
            return None
        pair = [dims.mul(one, factor) for one in part]
        low, high = low + pair[factor < 0], high + pair[factor > 0]
    return low, high


def _ends_of(atoms: Monomial) -> tuple[Dim, Dim] | None:
    match atoms:
        case (Var(extent=extent),):
            return 0, extent - 1
        case (Mod(bottom=bottom),):
            return 0, bottom - 1
        case (FloorDiv(top=top, bottom=bottom),):
            if (ends := _ends(top)) is None:
                return None
            return dims.floordiv(ends[0], bottom), dims.floordiv(ends[1], bottom)
    sizes = [one for one in atoms if isinstance(one, Symbol)]
    size = dims.product(dims.symbol(one.name, one.low, one.high) for one in sizes)
    return (size, size) if len(sizes) == len(atoms) else None
