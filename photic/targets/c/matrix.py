"""Where an instruction does a whole sum of products of small numbers, and with which tile.

It fits a reduction ``sum k: wide(a[.., k]) * wide(b[k, lanes])`` of a register tile of 16 to 128
rows, where k moves fastest in a: of bfloat16 numbers in float32, of bytes in int32. The products
are exact; subnormal numbers count as 0, which is what tells a sum of bfloat16 numbers from
multiply-adds, beside its order. A sum of bytes may stand inside of another one, over blocks, which
is then done by loops ``around``. ``matrix_units.py`` has the instructions, ``matrix_text.py``
prints a tile of sums.

``register_tile`` tells the planner where one fits, ``products`` and ``steps`` what it then loads.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import TypeAlias

from photic.forms.layout import offset
from photic.ir import index as form
from photic.ir.dim import (
    Dim,
    Var,
    at_most,
    bounds,
    coefficient_of,
    is_within,
    mod,
    substitute,
    var,
    variables,
)
from photic.ir.dim import product as product_of
from photic.ir.dtype import BFLOAT16, FLOAT32, INT8, INT32, UINT8
from photic.ir.index import Access, Buffer, Expr, Order, Over, Store
from photic.ir.program import PAIRED, ROW_MAJOR, Layout
from photic.ir.walk import parts_first
from photic.loops.target import Rows
from photic.targets.c.facts import facts
from photic.targets.c.matrix_units import SIDE, Unit, units

MANY_TERMS = 64  # enough that some may be left over
MOST_ROWS = 128  # of a register tile
MOST_VECTORS, BLOCK_BYTES = 4, 1 << 20  # side by side; what may lie interleaved on a thread's stack


Extents: TypeAlias = Mapping[Dim, Dim]  # of indices of which one is known


@dataclass(frozen=True, slots=True)
class Product:
    """A sum of products over ``axes``, ``terms`` in all: the loads of the rows and of the lanes.

    ``sum`` is what it is the whole of: itself, or a sum ``around`` which its blocks are added up.
    """

    sum: Expr
    inner: Expr
    around: tuple[Var, ...]
    axes: tuple[Var, ...]
    terms: Dim
    rows: Access
    lanes: Access
    is_safe: bool  # both are in range wherever they stand
    unit: Unit

    @property
    def whole(self) -> Dim:
        """The terms that the instruction adds up."""
        return self.terms // self.unit.at_once * self.unit.at_once

    def complete(self, sums: Expr) -> Expr:
        """The sum of products, given that of the ``whole`` terms."""
        if self.whole == self.terms:
            return sums
        (axis,), body = form.reduction(self.sum)
        left = Var(f"{axis.name}_l", self.terms - self.whole)
        rest = form.substitute_expr(body, {axis: self.whole + var(left.name, left.extent)})
        return form.binary("add", sums, form.reduce("sum", left, rest))


def register_tile(store: Store, lanes: Var | None) -> tuple[int, Rows] | None:
    """The vectors and rows with which the instruction does all of a store's reduction."""
    found = products(store, lanes) if lanes is not None else []
    if lanes is None or not found or bounds(lanes.extent)[1] < found[0].unit.vectors[-1] * SIDE:
        return None
    long = [axis for axis in store.axes if axis != lanes and bounds(axis.extent)[1] >= SIDE]
    fitting = (one for one in reversed(long) if all(steps(each, one, lanes, {}) for each in found))
    rows = next(fitting, None)
    if rows is None:
        return None
    size = _size(rows.extent)
    others = prod(bounds(axis.extent)[1] for axis in store.axes if axis not in (lanes, rows))
    groups = others * -(-bounds(rows.extent)[1] // size)
    return _vectors(found[0].unit, bounds(lanes.extent)[1], groups), ((rows, size),)


def _vectors(known: Unit, wide: int, groups: int) -> int:
    """Vectors side by side: more take less loading, fewer may share out better among the cores."""

    def longest(count: int) -> float:
        items = -(-wide // (count * SIDE)) * groups
        return -(-items // facts().cores) * count * (1 + known.sharing / count)

    return min((one for one in known.vectors if one * SIDE <= wide), key=longest)


def _is_unguarded(store: Store) -> bool:
    """True if no index condition says where values are needed."""
    return not any(isinstance(one.attribute, Order) for one in form.walk(store.value))


def _size(extent: Dim) -> int:
    """Rows of a register tile; those left over are a smaller one."""
    return min(MOST_ROWS, bounds(extent)[1] // SIDE * SIDE)


def _product(expr: Expr, lanes: Var, known: Extents) -> Product | None:
    """A sum as one of products that an instruction does, one factor the same for all lanes."""
    axes, body = form.reduction(expr)
    if expr.op != "sum":
        return None
    inner = [one for one in outermost(body) if one.op == "sum" and one.dtype == INT32]
    if len(inner) == 1 and body != inner[0] and expr.dtype == FLOAT32:
        return _sum_of(expr, inner[0], tuple(axes), lanes, known)
    return _sum_of(expr, expr, (), lanes, known)


def _sum_of(
    expr: Expr, inner: Expr, around: tuple[Var, ...], lanes: Var, known: Extents
) -> Product | None:
    axes, body = form.reduction(inner)
    loads = [_widened(one) for one in body.children] if body.op == "mul" else []
    kinds = [one.dtype for one in loads if one is not None]
    fitting = (one for one in units() if kinds in (list(one.factors), list(one.factors)[::-1]))
    unit = next(fitting, None)
    if unit is None:
        return None
    terms = product_of(axis.extent for axis in axes)
    is_even = mod(terms, unit.at_once) == 0 and isinstance(terms, int)
    is_long = len(axes) == 1 and bounds(terms)[1] >= MANY_TERMS and not around
    across = [one is not None and lanes in one.free for one in loads]
    every = bounds(terms * product_of(axis.extent for axis in around))[1]
    is_held = not around or every * MOST_VECTORS * SIDE <= BLOCK_BYTES
    if not (is_even or is_long) or not is_held or sum(across) != 1:
        return None
    row, column = (loads[across.index(one)] for one in (False, True))
    assert row is not None and column is not None
    assert isinstance(row.attribute, Access) and isinstance(column.attribute, Access)
    is_safe = all(_is_in_range(one, known) for one in (row.attribute, column.attribute))
    return Product(expr, inner, around, axes, terms, row.attribute, column.attribute, is_safe, unit)


def _is_in_range(access: Access, known: Extents) -> bool:
    """True if every index is provably inside, also where one variable ends where another says.

    Of a ``known`` index it is told below what it is.
    """
    return all(
        (index in known and at_most(known[index], extent)) or _is_within(index, extent)
        for index, extent in zip(access.index, access.buffer.shape, strict=True)
    )


def _is_within(index: Dim, extent: Dim) -> bool:
    ends = [one for one in variables(index) if variables(one.extent)]
    steps = [coefficient_of(index, one) for one in ends]
    if not all(isinstance(one, int) and one > 0 for one in steps):
        return is_within(index, extent)
    last = substitute(index, {one: one.extent - 1 for one in ends})
    return at_most(0, index) and at_most(last + 1, extent)


def _widened(value: Expr) -> Expr | None:
    """The load of a small number that a value is in a wider type, float32 or int32."""
    if value.op != "cast" or value.dtype not in (FLOAT32, INT32):
        return None
    load = value.children[0]
    is_small = load.dtype in ((BFLOAT16,) if value.dtype == FLOAT32 else (INT8, UINT8))
    return load if isinstance(load.attribute, Access) and is_small else None


def outermost(value: Expr) -> list[Expr]:
    """The reductions of a value that stand in no other."""
    parts = parts_first(
        [value], lambda one: () if isinstance(one.attribute, Over) else one.children, ()
    )
    return [one for one in parts if isinstance(one.attribute, Over)]


def products(store: Store, lanes: Var) -> list[Product]:
    """The sums of products that a store's value holds; none if it holds other reductions.

    Nor if one may not load everywhere, or if they want several instructions.
    """
    known = dict(zip(store.index, store.buffer.shape, strict=True))  # or nothing is stored there
    sums = [_product(one, lanes, known) for one in outermost(store.value)]
    found = [one for one in sums if one is not None and (one.is_safe or _is_unguarded(store))]
    is_one = len({one.unit.instruction for one in found}) == 1
    return found if len(found) == len(sums) and is_one else []


@dataclass(frozen=True, slots=True)
class Steps:
    """How many elements a place moves: with a row and, of the right operand, a lane and a term."""

    row: Dim
    lane: int
    term: int
    is_paired: bool  # every two terms lie side by side


def steps(found: Product, rows: Var, lanes: Var, layouts: Mapping[Buffer, Layout]) -> Steps | None:
    """The steps between operands where the instruction can load them."""
    is_paired = layouts.get(found.lanes.buffer) == PAIRED
    left, right = place(found.rows, layouts), place(found.lanes, {} if is_paired else layouts)
    axes = [(coefficient_of(left, axis), axis) for axis in found.axes]
    if not all(isinstance(step, int) for step, _ in axes):
        return None
    axes.sort(key=lambda one: bounds(one[0])[0])
    row, along = coefficient_of(left, rows), _along(left, [axis for _, axis in axes])
    lane, term = coefficient_of(right, lanes), _along(right, [axis for _, axis in axes])
    if along != 1 or coefficient_of(right, rows) != 0:
        return None
    if row is None or variables(row) or not (isinstance(lane, int) and isinstance(term, int)):
        return None
    is_loaded = lane == 1 or (term == 1 and lane % found.unit.group == 0)
    return Steps(row, lane, term, is_paired) if row and lane and is_loaded else None


def _along(place: Dim, axes: Sequence[Var]) -> int | None:
    """The step of a place from term to term, where the axes, inner first, count the terms."""
    step, inner = coefficient_of(place, axes[0]), 1
    for axis in axes:
        if not isinstance(step, int) or coefficient_of(place, axis) != step * inner:
            return None
        inner *= bounds(axis.extent)[1]
    return step if isinstance(step, int) else None


def place(access: Access, layouts: Mapping[Buffer, Layout]) -> Dim:
    layout = layouts.get(access.buffer, ROW_MAJOR)
    return offset(access.buffer.shape, layout, access.index)
