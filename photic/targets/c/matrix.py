"""Intel's matrix tiles: sums of products of bfloat16 numbers, 16 rows by 16 columns at once.

One instruction adds to 16 x 16 float32 sums the products of 16 rows of 32 numbers with 32 rows of
16, of which two lie interleaved. It fits a reduction ``sum k: f32(a[.., k]) * f32(b[k, lanes])`` of
a register tile of 16 to 128 rows and two or four vectors, where k moves fastest in a.
The products are exact and the sums float32; subnormal numbers count as 0, which is what tells it
from multiply-adds beside the order of the sum.

``register_tile`` tells the planner where it fits; ``product`` prints it. What lies in pairs (what
is staged does) is loaded as it is; the rest is interleaved on the way, for all rows of the tile.
The registers must have been granted (``facts``).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod

from photic.codegen.tile import print_tile
from photic.codegen.words import Words, dim_text
from photic.forms.layout import offset
from photic.ir import index as form
from photic.ir.dim import (
    Atom,
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
from photic.ir.dtype import BFLOAT16, FLOAT32
from photic.ir.index import Access, Buffer, Expr, Order, Over, Store
from photic.ir.nest import Lanes, Tile
from photic.ir.program import PAIRED, ROW_MAJOR, Layout
from photic.ir.walk import parts_first
from photic.loops.target import Rows
from photic.targets.c.facts import facts

SIDE = 16  # rows and columns of a tile of sums
TERMS = 32  # bfloat16 numbers in a row of a tile
MANY_TERMS = 64  # enough that some may be left over
REGISTERS = 8
VECTORS = (4, 2)  # tiles of sums side by side
SHARING = 0.1  # of a tile's time: what each set of them takes to load and store beside
MOST_ROWS = 128  # of a register tile
MOST_TERMS = 1024  # that are interleaved before they are used
ROW_BYTES = 64
PAIR_BYTES = 4
ALIGNED = "__attribute__((aligned(64)))"
NAME = "tile_sums"  # of the memory in which sums wait for the rest of the tile

# Eight tiles of 16 rows of 64 bytes: palette 1, then at 16 the bytes of a row, at 48 the rows.
ROWS_AT = 48  # the numbers of rows in a configuration
CONFIGURATION = bytes([1, *[0] * 15, *[ROW_BYTES, 0] * 8, *[0] * 16, *[SIDE] * 8, *[0] * 8])


@dataclass(frozen=True, slots=True)
class _Product:
    """A sum of products over ``axes``, ``terms`` in all: the loads of the rows and of the lanes."""

    sum: Expr
    axes: tuple[Var, ...]
    terms: Dim
    rows: Access
    lanes: Access
    is_safe: bool  # both are in range wherever they stand

    @property
    def whole(self) -> Dim:
        """The terms that the instruction adds up."""
        return self.terms // TERMS * TERMS

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
    if lanes is None or bounds(lanes.extent)[1] < VECTORS[-1] * SIDE:
        return None
    found = _products(store, lanes)
    long = [axis for axis in store.axes if axis != lanes and bounds(axis.extent)[1] >= SIDE]
    fitting = (one for one in reversed(long) if all(_steps(each, one, lanes, {}) for each in found))
    rows = next(fitting, None) if found else None
    if rows is None:
        return None
    size = _size(rows.extent)
    others = prod(bounds(axis.extent)[1] for axis in store.axes if axis not in (lanes, rows))
    groups = others * -(-bounds(rows.extent)[1] // size)
    return _vectors(bounds(lanes.extent)[1], groups), ((rows, size),)


def _vectors(wide: int, groups: int) -> int:
    """Tiles side by side: more take less loading, fewer may share out better among the cores."""

    def longest(count: int) -> float:
        items = -(-wide // (count * SIDE)) * groups
        return -(-items // facts().cores) * count * (1 + SHARING / count)

    return min((one for one in VECTORS if one * SIDE <= wide), key=longest)


def _is_unguarded(store: Store) -> bool:
    """True if no index condition says where values are needed."""
    return not any(isinstance(one.attribute, Order) for one in form.walk(store.value))


def _size(extent: Dim) -> int:
    """Rows of a register tile; those left over are a smaller one."""
    return min(MOST_ROWS, bounds(extent)[1] // SIDE * SIDE)


def _product(expr: Expr, lanes: Var) -> _Product | None:
    """A sum as one of products of bfloat16 numbers, one of which is the same for all lanes."""
    axes, body = form.reduction(expr)
    if expr.op != "sum" or body.op != "mul":
        return None
    terms = product_of(axis.extent for axis in axes)
    loads = [_widened(one) for one in body.children]
    is_even = mod(terms, TERMS) == 0 and isinstance(terms, int)
    if None in loads or not (is_even or (len(axes) == 1 and bounds(terms)[1] >= MANY_TERMS)):
        return None
    across = [one is not None and lanes in one.free for one in loads]
    if sum(across) != 1:
        return None
    row, column = (loads[across.index(one)] for one in (False, True))
    assert row is not None and column is not None
    assert isinstance(row.attribute, Access) and isinstance(column.attribute, Access)
    is_safe = all(map(_is_in_range, (row.attribute, column.attribute)))
    return _Product(expr, axes, terms, row.attribute, column.attribute, is_safe)


def _is_in_range(access: Access) -> bool:
    """True if every index is provably inside, also where one variable ends where another says."""
    return all(map(_is_within, access.index, access.buffer.shape))


def _is_within(index: Dim, extent: Dim) -> bool:
    ends = [one for one in variables(index) if variables(one.extent)]
    steps = [coefficient_of(index, one) for one in ends]
    if not all(isinstance(one, int) and one > 0 for one in steps):
        return is_within(index, extent)
    last = substitute(index, {one: one.extent - 1 for one in ends})
    return at_most(0, index) and at_most(last + 1, extent)


def _widened(value: Expr) -> Expr | None:
    """The load of a bfloat16 number that a value is in float32."""
    if value.op != "cast" or value.dtype != FLOAT32:
        return None
    load = value.children[0]
    return load if isinstance(load.attribute, Access) and load.dtype == BFLOAT16 else None


def product(tile: Tile, layouts: Mapping[Buffer, Layout], words: Words) -> bool:
    """Print a tile whose value holds a sum of products; False where the instruction does not fit.

    The sums come first, then the rest, row by row.
    """
    lanes, unrolled = tile.lanes, tile.unrolled
    if layouts.get(tile.store.buffer) == PAIRED:
        same = {one: getattr(words, one) for one in ("lines", "indent", "needs", "numbers")}
        print_tile(tile, dict(layouts), _Flushing(**same))
        return True
    if lanes is None or lanes.width != SIDE or lanes.count not in VECTORS or lanes.reduced:
        return False
    if len(unrolled) != 1 or bounds(unrolled[0].extent)[1] < SIDE or not facts().amx_bf16:
        return False
    sums = [
        (one, _steps(one, unrolled[0], lanes.axis, layouts))
        for one in _products(tile.store, lanes.axis)
    ]
    found = [(one, steps) for one, steps in sums if steps is not None]
    if not found or len(found) < len(sums):
        return False
    _print(_Printing(tile, lanes, layouts, words), found)
    return True


def _products(store: Store, lanes: Var) -> list[_Product]:
    """The sums of products that a store's value holds; none if it holds other reductions.

    Nor if one may not load everywhere.
    """
    outside = parts_first(
        [store.value], lambda one: () if isinstance(one.attribute, Over) else one.children, ()
    )
    sums = [_product(one, lanes) for one in outside if isinstance(one.attribute, Over)]
    found = [one for one in sums if one is not None and (one.is_safe or _is_unguarded(store))]
    return found if len(found) == len(sums) else []


@dataclass(frozen=True, slots=True)
class _Steps:
    """How many elements a place moves: with a row and, of the right operand, a lane and a term."""

    row: Dim
    lane: int
    term: int
    is_paired: bool  # every two terms lie side by side


def _steps(
    found: _Product, rows: Var, lanes: Var, layouts: Mapping[Buffer, Layout]
) -> _Steps | None:
    """The steps between operands where the instruction can load them."""
    is_paired = layouts.get(found.lanes.buffer) == PAIRED
    left, right = _place(found.rows, layouts), _place(found.lanes, {} if is_paired else layouts)
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
    is_loaded = lane == 1 or (term == 1 and lane % 2 == 0)
    return _Steps(row, lane, term, is_paired) if row and lane and is_loaded else None


def _along(place: Dim, axes: Sequence[Var]) -> int | None:
    """The step of a place from term to term, where the axes, inner first, count the terms."""
    step, inner = coefficient_of(place, axes[0]), 1
    for axis in axes:
        if not isinstance(step, int) or coefficient_of(place, axis) != step * inner:
            return None
        inner *= bounds(axis.extent)[1]
    return step if isinstance(step, int) else None


def _place(access: Access, layouts: Mapping[Buffer, Layout]) -> Dim:
    layout = layouts.get(access.buffer, ROW_MAJOR)
    return offset(access.buffer.shape, layout, access.index)


@dataclass(frozen=True, slots=True)
class _Block:
    """The sums of some tiles side by side and one below the other, in registers from 0 on.

    As many below as beside each other where there are rows enough: fewer operands are loaded.
    """

    down: int
    across: int

    @property
    def places(self) -> list[tuple[int, int]]:
        return [(row, column) for row in range(self.down) for column in range(self.across)]

    def register(self, row: int, column: int) -> int:
        return row * self.across + column


SQUARE = _Block(2, 2)


@dataclass(frozen=True, slots=True)
class _Pairs:
    """Where pairs of terms lie, and the bytes from term to term, lane to lane, row to row."""

    where: str
    term: int
    lane: int
    row: int


class TileWords(Words):
    """Words for any nest: tiles that the instruction fits are printed with it."""

    def special(self, tile: Tile, layouts: Mapping[Buffer, Layout]) -> bool:
        """As ``product`` says."""
        return product(tile, layouts, self)


class _Flushing(Words):
    """Words for what only tiles read: a subnormal bfloat16 number may be 0, which costs less."""

    def call(self, op: str, dtype: str, lanes: int, *arguments: str) -> str:
        """As for all words, but for rounding to bfloat16."""
        rounds = op == "cast_f32" and dtype == BFLOAT16.short
        return Words.call(self, "flush_f32" if rounds else op, dtype, lanes, *arguments)


@dataclass(frozen=True, slots=True)
class _Printing:
    """What is printed, and where to."""

    tile: Tile
    lanes: Lanes
    layouts: Mapping[Buffer, Layout]
    words: Words

    @property
    def width(self) -> int:
        """Columns of the register tile."""
        return self.lanes.count * SIDE

    def pair(self, column: int) -> str:
        """Where a pair of terms lies: tiles one behind the other, those side by side first."""
        tile = f"term/{TERMS}*{self.lanes.count} + {column}"
        return f"pairs + ({tile})*{SIDE * ROW_BYTES} + term%{TERMS}*{ROW_BYTES // 2}"

    def address(self, access: Access, axes: tuple[Var, ...]) -> str:
        """Where an operand's first element of the tile lies."""
        starts: dict[Atom, Dim] = dict.fromkeys((*axes, self.tile.unrolled[0], self.lanes.axis), 0)
        place = substitute(_place(access, self.layouts), starts)
        return f"{access.buffer.name} + {dim_text(place)}*2"


def _print(printing: _Printing, products: list[tuple[_Product, _Steps]]) -> None:
    """The sums by loops over terms and rows, then a loop over the rows around what is left."""
    words, (row,), width = printing.words, printing.tile.unrolled, printing.width
    is_whole = isinstance(row.extent, int)
    is_even = is_whole and bounds(row.extent)[0] % (SQUARE.down * SIDE) == 0
    block = SQUARE if is_even else _Block(1, printing.lanes.count)
    most = min(bounds(row.extent)[1], MOST_ROWS)
    chunk = min(MOST_TERMS, max(bounds(one.whole)[1] for one, _ in products))
    _configure(words, block, None if is_whole else dim_text(row.extent))
    if not all(steps.is_paired for _, steps in products):
        words.line(f"char pairs[{chunk * width * 2}] {ALIGNED};")
    index, reads = [var(one.name, one.extent) for one in (row, printing.lanes.axis)], {}
    layouts = dict(printing.layouts)
    for number, (found, steps) in enumerate(products):
        sums = Buffer(f"{NAME}{number}", (most, width), FLOAT32)
        words.line(f"char {sums.name}[{most * width * 4}] {ALIGNED};")
        _sum(printing, block, found, steps, sums.name)
        layouts[sums] = ROW_MAJOR
        reads[found.sum] = found.complete(form.load(sums, index))
    store, tile = printing.tile.store, printing.tile
    value = form.replaced(store.value, reads)
    rest = Tile(Store(store.buffer, store.axes, store.index, value), (), tile.lanes, tile.inner)
    with words.loop(row.name, row.extent):
        print_tile(rest, layouts, words)


def _sum(printing: _Printing, block: _Block, found: _Product, steps: _Steps, sums: str) -> None:
    """One of the sums, by chunks of its terms."""
    words, (row,), width = printing.words, printing.tile.unrolled, printing.width
    is_whole, extent = isinstance(row.extent, int), dim_text(row.extent)
    rows, lanes = (printing.address(one, found.axes) for one in (found.rows, found.lanes))
    chunk, whole = min(bounds(found.whole)[1], MOST_TERMS), dim_text(found.whole)
    if bounds(found.whole)[0] == 0:
        numbers = min(bounds(row.extent)[1], MOST_ROWS) * width
        with words.block(f"for (int one = 0; {whole} == 0 && one < {numbers}; one++)"):
            words.line(words.call("store", "f32", 1, f"{sums} + one*4", "0") + ";")
    with words.block(f"for (int64_t from = 0; from < {whole}; from += {chunk})"):
        left = f"(int)({whole} - from)"
        is_even = isinstance(found.whole, int) and found.whole % chunk == 0
        terms = chunk if is_even else f"{chunk} < {left} ? {chunk} : {left}"
        words.line(f"const int terms = {terms};")
        start = f"{lanes} + from*{2 * steps.term}ll"
        if steps.is_paired:
            pairs = _Pairs(start, 2 * steps.term, PAIR_BYTES, PAIR_BYTES * steps.term)
        else:
            (_interleave if steps.lane == 1 else _gather)(printing, start, steps)
            pairs = _Pairs("pairs", printing.width * 2, ROW_BYTES, ROW_BYTES)
        with (
            words.block(f"for (int beside = 0; beside < {width}; beside += {block.across * SIDE})"),
            words.block(f"for (int row = 0; row < {extent}; row += {block.down * SIDE})"),
        ):
            if not is_whole:
                words.line(f"if ({extent} - row < {SIDE}) __builtin_ia32_tile_loadconfig(last);")
            where = f"{rows} + (from + row*{dim_text(steps.row)})*2"
            _accumulate(printing, block, (where, dim_text(steps.row * 2)), pairs, sums)
        if not is_whole:
            words.line("__builtin_ia32_tile_loadconfig(tiles);")


def _configure(words: Words, block: _Block, rows: str | None) -> None:
    """The shapes of tiles: whole, and of some rows where the last ones may be fewer."""
    numbers = ", ".join(map(str, CONFIGURATION))
    words.line(f"static const unsigned char tiles[64] {ALIGNED} = {{{numbers}}};")
    if rows is not None:
        words.line(f"unsigned char last[64] {ALIGNED};")
        words.line("for (int one = 0; one < 64; one++) last[one] = tiles[one];")
        used = len(block.places) + block.down  # the sums, and the left operands
        words.line(
            f"for (int one = 0; one < {used}; one++) last[{ROWS_AT} + one] = {rows} % {SIDE};"
        )
    words.line("__builtin_ia32_tile_loadconfig(tiles);")


def _gather(printing: _Printing, where: str, steps: _Steps) -> None:
    """Pairs of terms, which lie side by side in each lane's row, for all of a chunk."""
    words, valid = printing.words, printing.lanes.valid
    with words.block("for (int term = 0; term < terms; term += 2)"):
        for number in range(printing.lanes.count):
            place = f"{where} + term*2 + {2 * number * SIDE * steps.lane}ll"
            arguments, op = [place, f"{steps.lane // 2}ll"], "load_even"
            if valid is not None:
                every, op = words.call("splat", "bool", SIDE, "-1"), "load_even_masked"
                arguments += [every, _count(valid, number * SIDE)]
            text = words.call(op, "i32", SIDE, *arguments)
            to = printing.pair(number)
            words.line(words.call("store", "i32", SIDE, to, text) + ";")


def _interleave(printing: _Printing, where: str, steps: _Steps) -> None:
    """Every two rows of the lanes side by side, for all terms of a chunk."""
    words, valid = printing.words, printing.lanes.valid
    with words.block("for (int term = 0; term < terms; term += 2)"):
        for number in range(printing.lanes.count):
            rows = []
            for at in ("term", "(term + 1)"):
                arguments = [f"{where} + {at}*{2 * steps.term}ll + {2 * number * SIDE}"]
                arguments += [] if valid is None else [_count(valid, number * SIDE)]
                op = "load" if valid is None else "load_part"
                rows.append(words.call(op, "bf16", SIDE, *arguments))
            to = printing.pair(number)
            words.line(words.call("store_pairs", "bf16", SIDE, to, *rows) + ";")


def _count(valid: Dim, start: int) -> str:
    """How many lanes of a vector from one on count."""
    return f"lane_count({dim_text(valid)} - {start}, {SIDE})"


def _accumulate(
    printing: _Printing, block: _Block, left: tuple[str, str], pairs: _Pairs, sums: str
) -> None:
    """The products of a chunk's terms added to the sums of a block, or the first of them.

    ``left``: where the left operand lies, and the bytes from row to row.
    """
    words, spare, (rows, step) = printing.words, len(block.places), left
    stride = printing.width * 4

    def each(text: str) -> None:
        for row, column in block.places:
            place = row * SIDE * stride + column * ROW_BYTES
            where = f"{sums} + row*{stride} + beside*4 + {place}"
            words.line(text.format(number=block.register(row, column), where=where, stride=stride))

    with words.block("if (from == 0)", end=""):
        each("__builtin_ia32_tilezero({number});")
    with words.block("} else"):
        each("__builtin_ia32_tileloadd64({number}, {where}, {stride});")
    with words.block(f"for (int term = 0; term < terms; term += {TERMS})"):
        for row in range(block.down):
            where = f"{rows} + term*2 + {row * SIDE}*{step}"
            words.line(f"__builtin_ia32_tileloadd64({spare + row}, {where}, {step});")
        for column in range(block.across):
            number = spare + block.down + column % (REGISTERS - spare - block.down)
            where = f"{pairs.where} + term*{pairs.term} + (beside + {column * SIDE})*{pairs.lane}"
            words.line(f"__builtin_ia32_tileloadd64({number}, {where}, {pairs.row}ll);")
            for row in range(block.down):
                register = block.register(row, column)
                words.line(f"__builtin_ia32_tdpbf16ps({register}, {spare + row}, {number});")
    each("__builtin_ia32_tilestored64({number}, {where}, {stride});")
