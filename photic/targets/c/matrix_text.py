"""A register tile whose sums of products an instruction does: chunks of terms, then the rest.

What lies in pairs (what is staged does) is loaded as it is; the rest is interleaved on the way, for
all rows of the tile. The sums go to memory of the tile's own, and what is left of its value is
printed as any tile is, in a loop over the rows.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import partial

from photic.codegen.tile import print_tile
from photic.codegen.words import Words, dim_text
from photic.ir import index as form
from photic.ir.dim import Atom, Dim, Var, bounds, substitute, var
from photic.ir.dim import product as product_of
from photic.ir.dtype import BFLOAT16, UINT8
from photic.ir.index import Access, Buffer, Store
from photic.ir.nest import Lanes, Tile
from photic.ir.program import PAIRED, ROW_MAJOR, Layout
from photic.targets.c.codes_text import few_rows, print_added
from photic.targets.c.matrix import MOST_ROWS, Product, Steps, place, products, steps
from photic.targets.c.matrix_units import (
    ALIGNED,
    GROUP_BYTES,
    SIDE,
    SUM_BYTES,
    TOTALS,
    Blocks,
    Chunk,
    Groups,
    Unit,
)

NAME = "tile_sums"  # of the memory in which sums wait for the rest of the tile


def product(tile: Tile, layouts: Mapping[Buffer, Layout], words: Words) -> bool:
    """Print a tile whose value holds a sum of products; False where the instruction does not fit.

    The sums come first, then the rest, row by row.
    """
    lanes, unrolled = tile.lanes, tile.unrolled
    if layouts.get(tile.store.buffer) == PAIRED:
        same = {one: getattr(words, one) for one in ("lines", "indent", "needs", "numbers")}
        print_tile(tile, dict(layouts), _Flushing(**same))
        return True
    if lanes is None or lanes.width != SIDE or lanes.reduced or len(unrolled) != 1:
        return False
    if bounds(unrolled[0].extent)[1] < SIDE:
        return False
    sums = [
        (one, steps(one, unrolled[0], lanes.axis, layouts))
        for one in products(tile.store, lanes.axis)
    ]
    found = [(one, moves) for one, moves in sums if moves is not None]
    if not found or len(found) < len(sums) or lanes.count not in found[0][0].unit.vectors:
        return False
    _print(_Printing(found[0][0].unit, tile, lanes, layouts, words), found)
    return True


class TileWords(Words):
    """Words for any nest: tiles that an instruction fits are printed with it."""

    def special(self, tile: Tile, layouts: Mapping[Buffer, Layout]) -> bool:
        """As ``product`` and ``few_rows`` say."""
        return few_rows(tile, layouts, self) or product(tile, layouts, self)


class _Flushing(Words):
    """Words for what only tiles read: a subnormal bfloat16 number may be 0, which costs less."""

    def call(self, op: str, dtype: str, lanes: int, *arguments: str) -> str:
        """As for all words, but for rounding to bfloat16."""
        rounds = op == "cast_f32" and dtype == BFLOAT16.short
        return Words.call(self, "flush_f32" if rounds else op, dtype, lanes, *arguments)


@dataclass(frozen=True, slots=True)
class _Printing:
    """What is printed, for which instruction, and where to."""

    unit: Unit
    tile: Tile
    lanes: Lanes
    layouts: Mapping[Buffer, Layout]
    words: Words

    @property
    def width(self) -> int:
        """Columns of the register tile."""
        return self.lanes.count * SIDE

    def group(self, column: int) -> str:
        """Where a group of terms lies that was interleaved on the way."""
        return self.unit.place(column, self.lanes.count)

    def address(self, access: Access, axes: tuple[Var, ...]) -> str:
        """Where an operand's first element of the tile lies."""
        starts: dict[Atom, Dim] = dict.fromkeys((*axes, self.tile.unrolled[0], self.lanes.axis), 0)
        where = substitute(place(access, self.layouts), starts)
        return f"{access.buffer.name} + {dim_text(where)}*{self.unit.bytes}"


def _print(printing: _Printing, found: list[tuple[Product, Steps]]) -> None:
    """The sums by loops over terms and rows, then a loop over the rows around what is left."""
    words, (row,), width = printing.words, printing.tile.unrolled, printing.width
    known, most = printing.unit, min(bounds(row.extent)[1], MOST_ROWS)
    chunk = min(known.most_terms, max(bounds(one.whole)[1] for one, _ in found))
    known.configure(words, printing.lanes.count, row.extent)
    if not all(moves.is_paired or one.around for one, moves in found):
        words.line(f"char groups[{chunk * width * known.bytes}] {ALIGNED};")
    index, reads = [var(one.name, one.extent) for one in (row, printing.lanes.axis)], {}
    layouts = dict(printing.layouts)
    for number, (product, moves) in enumerate(found):
        sums = Buffer(f"{NAME}{number}", (most, width), product.sum.dtype)
        words.line(f"char {sums.name}[{most * width * SUM_BYTES}] {ALIGNED};")
        layouts[sums] = ROW_MAJOR
        with words.block(""):
            (_sum_of_blocks if product.around else _sum)(printing, product, moves, sums)
        reads[product.sum] = product.complete(form.load(sums, index))
    store, tile = printing.tile.store, printing.tile
    value = form.replaced(store.value, reads)
    rest = Tile(Store(store.buffer, store.axes, store.index, value), (), tile.lanes, tile.inner)
    with words.loop(row.name, row.extent):
        print_tile(rest, layouts, words)


def _sum(printing: _Printing, found: Product, moves: Steps, sums: Buffer) -> None:
    """One of the sums, by chunks of its terms."""
    words, known, whole = printing.words, printing.unit, dim_text(found.whole)
    chunk = min(bounds(found.whole)[1], known.most_terms)
    if bounds(found.whole)[0] == 0:
        _clear(printing, sums, f"{whole} == 0 && ")
    with words.block(f"for (int64_t from = 0; from < {whole}; from += {chunk})"):
        left = f"(int)({whole} - from)"
        is_even = isinstance(found.whole, int) and found.whole % chunk == 0
        terms = chunk if is_even else f"{chunk} < {left} ? {chunk} : {left}"
        words.line(f"const int terms = {terms};")
        known.add(words, _chunk(printing, found, moves, sums.name))


def _clear(printing: _Printing, sums: Buffer, condition: str = "") -> None:
    words, numbers = printing.words, product_of(sums.shape)
    with words.block(f"for (int one = 0; {condition}one < {numbers}; one++)"):
        words.line(words.call("store", "f32", 1, f"{sums.name} + one*{SUM_BYTES}", "0") + ";")


def _chunk(printing: _Printing, found: Product, moves: Steps, sums: str) -> Chunk:
    """The next terms, from ``from`` on (in C), interleaved now unless they lie in groups."""
    (row,), size = printing.tile.unrolled, printing.unit.bytes
    rows, lanes = (printing.address(one, found.axes) for one in (found.rows, found.lanes))
    start = f"{lanes} + from*{size * moves.term}ll"
    if moves.is_paired:
        groups = Groups(start, size * moves.term, GROUP_BYTES, GROUP_BYTES * moves.term)
    else:
        (_interleave if moves.lane == 1 else _gather)(printing, found, start, moves)
        groups = printing.unit.groups(printing.lanes.count)
    left, is_unsigned = f"{rows} + from*{size}", found.lanes.buffer.dtype == UINT8
    return Chunk(row.extent, printing.width, left, moves.row * size, groups, sums, is_unsigned)


def _sum_of_blocks(printing: _Printing, found: Product, moves: Steps, sums: Buffer) -> None:
    """A sum around the instruction's: what becomes of each block's is added up.

    All blocks are interleaved first, so that the totals of a few rows can wait in registers.
    """
    words, known = printing.words, printing.unit
    number: Dim = 0
    for axis in found.around:
        number = number * axis.extent + var(axis.name, axis.extent)
    size = found.whole * printing.width * known.bytes
    every = product_of(axis.extent for axis in found.around) * size
    words.line(f"char blocks[{bounds(every)[1]}] {ALIGNED};")
    words.line(f"const int terms = {dim_text(found.whole)};")
    words.line("const int64_t from = 0;")
    with ExitStack() as stack:
        for axis in found.around:
            stack.enter_context(words.loop(axis.name, axis.extent))
        words.line(f"char *const groups = blocks + {dim_text(number * size)};")
        chunk = _chunk(printing, found, moves, sums.name)
    groups = replace(chunk.groups, where=f"blocks + {dim_text(number * size)}")
    blocks = Blocks(found.around, partial(_add_block, printing, found))
    known.add(words, replace(chunk, groups=groups, blocks=blocks))


def _add_block(printing: _Printing, found: Product, height: int) -> None:
    """What becomes of the sums of a block, for some rows, added to their totals."""
    (row,), lanes = printing.tile.unrolled, printing.lanes
    one = Var(f"{row.name}_u", height)
    place = var("at_row", row.extent - (height - 1)) + var(one.name, height)
    totals = Buffer(TOTALS, (height, printing.width), found.sum.dtype)
    parts = (found.inner, form.reduction(found.sum)[1])
    inner, body = (form.substitute_expr(each, {row: place}) for each in parts)
    print_added(totals, (inner, body), (one,), lanes, printing.layouts, printing.words)


def _gather(printing: _Printing, found: Product, where: str, moves: Steps) -> None:
    """Groups of terms, which lie side by side in each lane's row, for all of a chunk."""
    words, valid, known = printing.words, printing.lanes.valid, printing.unit
    with words.block(f"for (int term = 0; term < terms; term += {known.group})"):
        for number in range(printing.lanes.count):
            place = f"{where} + term*{known.bytes} + {known.bytes * number * SIDE * moves.lane}ll"
            arguments, op = [place, f"{moves.lane // known.group}ll"], "load_even"
            if valid is not None:
                every, op = words.call("splat", "bool", SIDE, "-1"), "load_even_masked"
                arguments += [every, _count(valid, number * SIDE)]
            text = words.call(op, "i32", SIDE, *arguments)
            words.line(words.call("store", "i32", SIDE, printing.group(number), text) + ";")


def _interleave(printing: _Printing, found: Product, where: str, moves: Steps) -> None:
    """Every few rows of the lanes side by side, for all terms of a chunk."""
    words, valid, known = printing.words, printing.lanes.valid, printing.unit
    short = found.lanes.buffer.dtype.short
    if known.group > 2:
        words.line(f"char two[{2 * known.group * SIDE}] {ALIGNED};")
    with words.block(f"for (int term = 0; term < terms; term += {known.group})"):
        for number in range(printing.lanes.count):
            rows = []
            for at in range(known.group):
                place = (
                    f"(term + {at})*{known.bytes * moves.term}ll + {known.bytes * number * SIDE}"
                )
                arguments = [f"{where} + {place}"]
                arguments += [] if valid is None else [_count(valid, number * SIDE)]
                op = "load" if valid is None else "load_part"
                rows.append(words.call(op, short, SIDE, *arguments))
            to = printing.group(number)
            if known.group > 2:  # bytes: in pairs, then pairs of pairs
                for at in (0, 2):
                    pair = [f"two + {at * SIDE}", *rows[at : at + 2]]
                    words.line(words.call("store_pairs", short, SIDE, *pair) + ";")
                short_pair = BFLOAT16.short
                rows = [words.call("load", short_pair, SIDE, f"two + {at * SIDE}") for at in (0, 2)]
                words.line(words.call("store_pairs", short_pair, SIDE, to, *rows) + ";")
            else:
                words.line(words.call("store_pairs", short, SIDE, to, *rows) + ";")


def _count(valid: Dim, start: int) -> str:
    """How many lanes of a vector from one on count."""
    return f"lane_count({dim_text(valid)} - {start}, {SIDE})"
