"""Sums of products that the work-items of a group compute together, a tile of them at a time.

``sum k: left[rows, k] * right[k, lanes]``: both operands are brought into the memory of the group,
some terms at a time, each element once, whatever it is computed of; a barrier, and each item adds
to its part of the tile what they give. Both operands may be any values; what is made of the sums is
computed afterwards, each element by one item. How a part is computed is the ``Unit``'s: multiply-
adds (``FUSED``), or a matrix instruction that a target brings.

``GroupTiles`` tells the planner where it fits. Sums are of ``PART`` terms each, as those of other
tiles are; their order is another. Elements that lie side by side are loaded by neighbouring items,
and no more than ``WAYS`` items of a warp meet in a bank where a tile is read.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from math import prod
from typing import Protocol

from photic.codegen.reduce import TERMS as PART
from photic.codegen.tile import print_tile
from photic.codegen.words import Words, dim_text, number_text
from photic.forms.layout import aligned_bytes, offset
from photic.ir import index as form
from photic.ir.dim import Dim, Var, bounds, coefficient_of, var
from photic.ir.dim import product as product_of
from photic.ir.dtype import FLOAT32, FLOAT64, DType
from photic.ir.index import Access, Buffer, Expr, Order, Over, Store
from photic.ir.nest import Tile
from photic.ir.program import ROW_MAJOR, Layout
from photic.ir.walk import parts_first
from photic.loops.target import Rows

GROUP = 64  # work-items: one or two warps, which may have all the registers of a multiprocessor
SHARED_BYTES = 48 << 10  # of a group, which every device has
SIDES = (64, 32)  # rows and columns of a tile, the best first
WIDTH = 4  # columns that an item has side by side
DOWN = ACROSS = 8  # items of a group below and beside each other
LEAST_TERMS = 16  # of a sum that is worth it
BARRIER = "__syncthreads();"
UNROLLED = '_Pragma("unroll 4")'  # with more, loads that wait fill the registers
LEFT, RIGHT, SUMS = "group_left", "group_right", "group_sums"
MOST_PRODUCTS = 2  # of a tile, for whose sums there is memory
MANY = 4096  # tiles whose products are remembered


@dataclass(frozen=True, slots=True)
class Product:
    """A sum of products over ``axes``: of the operand of the rows and that of the lanes."""

    sum: Expr
    axes: tuple[Var, ...]
    left: Expr
    right: Expr

    @property
    def terms(self) -> Dim:
        return product_of(axis.extent for axis in self.axes)

    def loads(self) -> Iterator[Access]:
        """Every load of the operands."""
        for operand in (self.left, self.right):
            yield from form.loads(operand)


class Unit(Protocol):
    """How the items of a group add up the terms of a tile that lie in its memory.

    ``terms`` lie there at once. If it ``fills``, those beyond the last are zero.
    """

    @property
    def terms(self) -> int: ...

    @property
    def fills(self) -> bool: ...

    def operand(self, value: Expr, other: Expr) -> Expr | None:
        """What of an operand is brought; None if the unit does not serve it beside the other."""

    def memory(self, name: str, side: int, dtype: DType) -> Buffer:
        """The memory of an operand with so many rows or columns."""

    def index(self, place: Dim, term: Dim) -> tuple[Dim, Dim]:
        """Where in that memory an element lies."""

    def start(self, words: Words, shape: Shape) -> None:
        """New sums of nothing, in registers."""

    def add(self, words: Words, shape: Shape, dtype: DType, count: str) -> None:
        """So many terms of operands of this dtype, added to them."""

    def keep(self, words: Words, shape: Shape, sums: str, is_first: str) -> None:
        """The registers added to the sums in memory, or the first of these."""


@dataclass(frozen=True, slots=True)
class Shape:
    """Rows and columns of a tile of sums, and of what an item has of each in registers."""

    rows: int
    columns: int

    @property
    def down(self) -> int:
        """Rows of an item, one below the other."""
        return self.rows // DOWN

    @property
    def across(self) -> int:
        """Vectors of an item, evenly apart in the tile."""
        return self.columns // (ACROSS * WIDTH)

    @property
    def stride(self) -> int:
        """Elements from row to row of the sums."""
        return self.columns + WIDTH

    def sums(self, number: int) -> Buffer:
        """The memory of the sums of a product."""
        return Buffer(f"{SUMS}{number}", (self.rows, self.stride), FLOAT32)


# --- where it fits --------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class GroupTiles:
    """What the planner asks: the vectors and rows of a tile on a device of so many units."""

    units: int

    def __call__(self, store: Store, lanes: Var | None) -> tuple[int, Rows] | None:
        """The tile in which a group computes a store's products; None where it does not."""
        if lanes is None or lanes not in store.axes or bounds(lanes.extent)[1] < SIDES[-1]:
            return None
        if not is_apart(store) or any(one.dtype == FLOAT64 for one in form.walk(store.value)):
            return None
        others = [axis for axis in store.axes if axis != lanes]
        long = [axis for axis in others if bounds(axis.extent)[1] >= SIDES[-1]]
        for rows in sorted(long, key=lambda axis: -bounds(axis.extent)[1]):
            found = _products(store, rows, lanes)
            if found and _may_be_loaded(store, found):
                rest = prod(bounds(axis.extent)[1] for axis in others if axis != rows)
                shape = self._shape(bounds(rows.extent)[1], bounds(lanes.extent)[1], rest, found)
                return shape.columns // WIDTH, ((rows, shape.rows),)
        return None

    def _shape(self, rows: int, columns: int, rest: int, found: Sequence[Product]) -> Shape:
        """The largest tile of which there is one for each unit; the smallest if there is none."""
        shapes = [
            Shape(high, wide)
            for high in SIDES
            for wide in SIDES
            if (high <= rows or high == SIDES[-1]) and (wide <= columns or wide == SIDES[-1])
        ]
        fitting = [one for one in shapes if _shape_bytes(one, len(found)) <= SHARED_BYTES]
        for one in fitting:
            if rest * -(-rows // one.rows) * -(-columns // one.columns) >= self.units:
                return one
        return fitting[-1]


def is_apart(store: Store) -> bool:
    """True if no element of a store needs another of it: each has a place of its own."""
    own = (one.index for one in form.loads(store.value) if one.buffer == store.buffer)
    return not list(form.data_in(store.index)) and all(index == store.index for index in own)


def _shape_bytes(shape: Shape, products: int) -> int:
    operands = [FUSED.memory("", side, FLOAT32) for side in (shape.rows, shape.columns)]
    return sum(map(_bytes, operands)) + products * _bytes(shape.sums(0))


def _bytes(buffer: Buffer) -> int:
    return aligned_bytes(buffer, ROW_MAJOR)


@lru_cache(maxsize=MANY)
def products_of(tile: Tile) -> tuple[Product, ...]:
    """The products of a tile that a group computes together; none if it is no such tile."""
    lanes = tile.lanes
    if lanes is None or lanes.reduced or len(tile.unrolled) != 1 or lanes.width != WIDTH:
        return ()
    (rows,) = tile.unrolled
    if lanes.count * WIDTH not in SIDES or bounds(rows.extent)[1] < SIDES[-1] - 1:
        return ()
    return _products(tile.store, rows, lanes.axis)


def _products(store: Store, rows: Var, lanes: Var) -> tuple[Product, ...]:
    """The sums of products of a store's value; none if it has other reductions."""
    sums = [one for one in _outside(store) if isinstance(one.attribute, Over)]
    found = [_product(one, rows, lanes) for one in sums]
    products = tuple(one for one in found if one is not None)
    known = {axis for one in products for axis in one.axes}
    if len(products) < len(sums) or len(sums) > MOST_PRODUCTS or set(form.bound(store)) != known:
        return ()
    return products


def _outside(store: Store) -> list[Expr]:
    """A store's value without what its reductions are made of."""

    def parts(one: Expr) -> tuple[Expr, ...]:
        return () if isinstance(one.attribute, Over) else one.children

    return list(parts_first([store.value], parts, ()))


def _may_be_loaded(store: Store, found: Sequence[Product]) -> bool:
    """True if no condition around products says where their operands may be loaded.

    Of a store as planned: of its tiles, whose borders are another's to keep, it could not be told.
    """
    operands = form.walk(*(value for one in found for value in (one.left, one.right)))
    is_guarded = any(isinstance(one.attribute, Order) for one in _outside(store))
    return not is_guarded or all(map(form.is_in_range, operands))


def _product(expr: Expr, rows: Var, lanes: Var) -> Product | None:
    """A sum as one of products of one value for all lanes and another for all rows."""
    axes, body = form.reduction(expr)
    if expr.op != "sum" or expr.dtype != FLOAT32 or body.op != "mul":
        return None
    if any(isinstance(one.attribute, Over) for one in form.walk(body)):
        return None
    terms = bounds(product_of(axis.extent for axis in axes))
    if terms[0] < 1 or terms[1] < LEAST_TERMS:
        return None
    if not all(isinstance(axis.extent, int) for axis in axes[1:]):
        return None
    left, right = sorted(body.children, key=lambda one: lanes in one.free)
    is_one = lanes not in left.free and rows in left.free
    return Product(expr, axes, left, right) if is_one and _is_other(right, rows, lanes) else None


def _is_other(right: Expr, rows: Var, lanes: Var) -> bool:
    return lanes in right.free and rows not in right.free


# --- printing -------------------------------------------------------------------------------


def shape_of(tile: Tile) -> Shape:
    """The tile of sums; rows left over are computed as a whole one."""
    assert tile.lanes is not None
    rows = bounds(tile.unrolled[0].extent)[1]
    return Shape(SIDES[0] if rows > SIDES[1] else SIDES[1], tile.lanes.count * WIDTH)


def unit_of(found: Product, units: Sequence[Unit]) -> tuple[Unit, Expr, Expr]:
    """The first unit that serves a product, and what of both operands is brought."""
    for unit in (*units, FUSED):
        left, right = unit.operand(found.left, found.right), unit.operand(found.right, found.left)
        if left is not None and right is not None:
            return unit, left, right
    raise AssertionError("multiply-adds serve all")


def shared_buffers(tiles: Sequence[Tile], units: Sequence[Unit]) -> list[Buffer]:
    """The memory that a group needs for the products of tiles, one after the other."""
    most = dict[str, Buffer]()
    for tile in tiles:
        for number, found in enumerate(products_of(tile)):
            shape, (unit, left, right) = shape_of(tile), unit_of(found, units)
            for one in (
                unit.memory(LEFT, shape.rows, left.dtype),
                unit.memory(RIGHT, shape.columns, right.dtype),
                shape.sums(number),
            ):
                most[one.name] = max(most.get(one.name, one), one, key=_bytes)
    return list(most.values())


def print_product(
    tile: Tile, layouts: Mapping[Buffer, Layout], words: Words, units: Sequence[Unit]
) -> tuple[Tile, dict[Buffer, Layout]]:
    """The sums of a tile into the memory of the group; the tile that reads them there.

    Other items' sums may be read after the next barrier.
    """
    shape, reads, more = shape_of(tile), dict[Expr, Expr](), dict[Buffer, Layout]()
    lanes, (rows,) = tile.lanes, tile.unrolled
    assert lanes is not None
    index = [var(rows.name, rows.extent), var(lanes.axis.name, lanes.axis.extent)]
    for number, found in enumerate(products_of(tile)):
        sums = shape.sums(number)
        with words.block(""):
            _print(_Printing(tile, shape, layouts, words), found, units, number)
        reads[found.sum] = form.load(sums, index)
        more[sums] = ROW_MAJOR
    store = replace(tile.store, value=form.replaced(tile.store.value, reads))
    return replace(tile, store=store), more


@dataclass(frozen=True, slots=True)
class _Printing:
    """What is printed, and where to."""

    tile: Tile
    shape: Shape
    layouts: Mapping[Buffer, Layout]
    words: Words


def _print(printing: _Printing, found: Product, units: Sequence[Unit], number: int) -> None:
    """One sum of products: parts of the terms, and in each what fits into the memory at once."""
    words, shape, (unit, left, _) = printing.words, printing.shape, unit_of(found, units)
    words.line(f"const int64_t terms = {dim_text(found.terms)};")
    is_even = isinstance(found.terms, int) and found.terms % unit.terms == 0
    with words.block(f"for (int64_t from = 0; from < terms; from += {PART})"):
        unit.start(words, shape)
        last = words.declare("const int64_t", f"from + {PART} < terms ? from + {PART} : terms")
        with words.block(f"for (int64_t at = from; at < {last}; at += {unit.terms})"):
            words.line(("if (at > 0) " if number == 0 else "") + BARRIER)
            count = f"{last} - at < {unit.terms} ? (int)({last} - at) : {unit.terms}"
            words.line(f"const int count = {unit.terms if is_even else count};")
            _bring(printing, found, units, is_even)
            words.line(BARRIER)
            unit.add(words, shape, left.dtype, str(unit.terms) if is_even else "count")
        unit.keep(words, shape, shape.sums(number).name, "from == 0")


def _bring(printing: _Printing, found: Product, units: Sequence[Unit], is_even: bool) -> None:
    """Both operands of some terms into the memory of the group."""
    lanes, (rows,), shape = printing.tile.lanes, printing.tile.unrolled, printing.shape
    assert lanes is not None
    unit, left, right = unit_of(found, units)
    for name, value, axis, side, limit in (
        (LEFT, left, rows, shape.rows, rows.extent),
        (
            RIGHT,
            right,
            lanes.axis,
            shape.columns,
            shape.columns if lanes.valid is None else lanes.valid,
        ),
    ):
        memory = unit.memory(name, side, value.dtype)
        _operand(printing, found, unit, memory, value, (axis, side, limit), is_even)


def _operand(
    printing: _Printing,
    found: Product,
    unit: Unit,
    memory: Buffer,
    value: Expr,
    across: tuple[Var, int, Dim],
    is_even: bool,
) -> None:
    """An operand into the memory of the group: each element by one item, once."""
    words, (axis, side, limit) = printing.words, across
    place, term = Var(axis.name, side), Var("term", unit.terms)
    digits = [(place, side), (term, unit.terms)]
    if not _lies_along(value, found.axes[-1], axis, printing.layouts):
        digits.reverse()
    words.line(UNROLLED)
    with words.block(f"for (int step = 0; step < {side * unit.terms // GROUP}; step++)"):
        words.line(f"const int one = step * {GROUP} + THREAD;")
        (outer, _), (inner, count) = digits
        words.line(f"const int64_t {outer.name} = one / {count}, {inner.name} = one % {count};")
        limits = [f"{axis.name} < {dim_text(limit)}"] if limit != side else []
        limits += [] if is_even else ["term < count"]
        index = unit.index(var(place.name, side), var(term.name, unit.terms))
        with words.block(f"if ({' && '.join(limits)})" if limits else ""):
            _axes(words, found.axes)
            tile = Tile(Store(memory, (), index, value), (), None, frozenset())
            print_tile(tile, {**printing.layouts, memory: ROW_MAJOR}, words)
        if limits and unit.fills:
            zero = form.number(0.0, value.dtype)
            with words.block("else"):
                tile = Tile(Store(memory, (), index, zero), (), None, frozenset())
                print_tile(tile, {memory: ROW_MAJOR}, words)


def _axes(words: Words, axes: Sequence[Var]) -> None:
    """The variables of a sum at the term ``at + term``."""
    words.line("int64_t left_over = at + term;")
    for axis in reversed(axes[1:]):
        extent = dim_text(axis.extent)
        words.line(f"const int64_t {axis.name} = left_over % {extent}; left_over /= {extent};")
    words.line(f"const int64_t {axes[0].name} = left_over;")


def _lies_along(value: Expr, term: Var, axis: Var, layouts: Mapping[Buffer, Layout]) -> bool:
    """True if an operand's terms lie side by side in memory, rather than its rows or lanes."""

    def steps(along: Var) -> int:
        places = (
            offset(one.buffer.shape, layouts.get(one.buffer, ROW_MAJOR), one.index)
            for one in form.loads(value)
        )
        return sum(coefficient_of(place, along) == 1 for place in places)

    return steps(term) > steps(axis)


# --- multiply-adds --------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Fused:
    """Multiply-adds: an item has some rows one below the other and vectors of four columns."""

    terms: int = 16
    fills: bool = False

    def operand(self, value: Expr, other: Expr) -> Expr | None:
        return value

    def memory(self, name: str, side: int, dtype: DType) -> Buffer:
        return Buffer(name, (self.terms, side + WIDTH), dtype)

    def index(self, place: Dim, term: Dim) -> tuple[Dim, Dim]:
        return term, place

    def start(self, words: Words, shape: Shape) -> None:
        kind, nothing = words.type("f32", WIDTH), number_text(form.zero(FLOAT32))
        words.line(f"const int top = THREAD / {ACROSS} * {shape.down};")
        words.line(f"const int beside = THREAD % {ACROSS} * {WIDTH};")
        for row in range(shape.down):
            for column in range(shape.across):
                start = words.call("splat", "f32", WIDTH, nothing)
                words.line(f"{kind} part_{row}_{column} = {start};")

    def add(self, words: Words, shape: Shape, dtype: DType, count: str) -> None:
        kind, one = words.type("f32", WIDTH), words.type("f32", 1)
        words.line(UNROLLED)
        with words.block(f"for (int term = 0; term < {count}; term++)"):
            for row in range(shape.down):
                where = f"{LEFT} + (term * {shape.rows + WIDTH} + top + {row}) * 4"
                words.line(f"const {one} left_{row} = {words.call('load', 'f32', 1, where)};")
            for column in range(shape.across):
                place = f"beside + {column * ACROSS * WIDTH}"
                where = f"{RIGHT} + (term * {shape.columns + WIDTH} + {place}) * 4"
                text = words.call("load", "f32", WIDTH, where)
                words.line(f"const {kind} right_{column} = {text};")
                for row in range(shape.down):
                    part = f"part_{row}_{column}"
                    left = words.call("splat", "f32", WIDTH, f"left_{row}")
                    text = words.call("fma", "f32", WIDTH, left, f"right_{column}", part)
                    words.line(f"{part} = {text};")

    def keep(self, words: Words, shape: Shape, sums: str, is_first: str) -> None:
        for row in range(shape.down):
            for column in range(shape.across):
                part, place = f"part_{row}_{column}", f"beside + {column * ACROSS * WIDTH}"
                where = f"{sums} + ((top + {row}) * {shape.stride} + {place}) * 4"
                loaded = words.call("load", "f32", WIDTH, where)
                added = words.call("add", "f32", WIDTH, loaded, part)
                with words.block(f"if (!({is_first}))"):
                    words.line(f"{part} = {added};")
                words.line(words.call("store", "f32", WIDTH, where, part) + ";")


FUSED = Fused()
