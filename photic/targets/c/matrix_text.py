"""A register tile whose sums of products an instruction does: chunks of terms, then the rest.

What lies in pairs (what is staged does) is loaded as it is; the rest is interleaved on the way, for
all rows of the tile. The sums go to memory of the tile's own, and what is left of its value is
printed as any tile is, in a loop over the rows.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from photic.codegen.tile import print_tile
from photic.codegen.words import Words, dim_text
from photic.ir import index as form
from photic.ir.dim import Atom, Dim, Var, bounds, substitute, var
from photic.ir.dtype import BFLOAT16, FLOAT32
from photic.ir.index import Access, Buffer, Store
from photic.ir.nest import Lanes, Tile
from photic.ir.program import PAIRED, ROW_MAJOR, Layout
from photic.targets.c.matrix import MOST_ROWS, Product, Steps, place, products, steps
from photic.targets.c.matrix_units import ALIGNED, PAIR_BYTES, SIDE, Chunk, Pairs, Unit, unit

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
    known = unit()
    if lanes is None or known is None or lanes.width != SIDE or lanes.reduced:
        return False
    if lanes.count not in known.vectors:
        return False
    if len(unrolled) != 1 or bounds(unrolled[0].extent)[1] < SIDE:
        return False
    sums = [
        (one, steps(one, unrolled[0], lanes.axis, layouts))
        for one in products(tile.store, lanes.axis, known)
    ]
    found = [(one, moves) for one, moves in sums if moves is not None]
    if not found or len(found) < len(sums):
        return False
    _print(_Printing(known, tile, lanes, layouts, words), found)
    return True


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

    def pair(self, column: int) -> str:
        """Where a pair of terms lies that was interleaved on the way."""
        return self.unit.place(column, self.lanes.count)

    def address(self, access: Access, axes: tuple[Var, ...]) -> str:
        """Where an operand's first element of the tile lies."""
        starts: dict[Atom, Dim] = dict.fromkeys((*axes, self.tile.unrolled[0], self.lanes.axis), 0)
        where = substitute(place(access, self.layouts), starts)
        return f"{access.buffer.name} + {dim_text(where)}*2"


def _print(printing: _Printing, found: list[tuple[Product, Steps]]) -> None:
    """The sums by loops over terms and rows, then a loop over the rows around what is left."""
    words, (row,), width = printing.words, printing.tile.unrolled, printing.width
    known, most = printing.unit, min(bounds(row.extent)[1], MOST_ROWS)
    chunk = min(known.most_terms, max(bounds(one.whole)[1] for one, _ in found))
    known.configure(words, printing.lanes.count, row.extent)
    if not all(moves.is_paired for _, moves in found):
        words.line(f"char pairs[{chunk * width * 2}] {ALIGNED};")
    index, reads = [var(one.name, one.extent) for one in (row, printing.lanes.axis)], {}
    layouts = dict(printing.layouts)
    for number, (product, moves) in enumerate(found):
        sums = Buffer(f"{NAME}{number}", (most, width), FLOAT32)
        words.line(f"char {sums.name}[{most * width * 4}] {ALIGNED};")
        _sum(printing, product, moves, sums.name)
        layouts[sums] = ROW_MAJOR
        reads[product.sum] = product.complete(form.load(sums, index))
    store, tile = printing.tile.store, printing.tile
    value = form.replaced(store.value, reads)
    rest = Tile(Store(store.buffer, store.axes, store.index, value), (), tile.lanes, tile.inner)
    with words.loop(row.name, row.extent):
        print_tile(rest, layouts, words)


def _sum(printing: _Printing, found: Product, moves: Steps, sums: str) -> None:
    """One of the sums, by chunks of its terms."""
    words, (row,), width = printing.words, printing.tile.unrolled, printing.width
    rows, lanes = (printing.address(one, found.axes) for one in (found.rows, found.lanes))
    known, whole = printing.unit, dim_text(found.whole)
    chunk = min(bounds(found.whole)[1], known.most_terms)
    if bounds(found.whole)[0] == 0:
        numbers = min(bounds(row.extent)[1], MOST_ROWS) * width
        with words.block(f"for (int one = 0; {whole} == 0 && one < {numbers}; one++)"):
            words.line(words.call("store", "f32", 1, f"{sums} + one*4", "0") + ";")
    with words.block(f"for (int64_t from = 0; from < {whole}; from += {chunk})"):
        left = f"(int)({whole} - from)"
        is_even = isinstance(found.whole, int) and found.whole % chunk == 0
        terms = chunk if is_even else f"{chunk} < {left} ? {chunk} : {left}"
        words.line(f"const int terms = {terms};")
        start = f"{lanes} + from*{2 * moves.term}ll"
        if moves.is_paired:
            pairs = Pairs(start, 2 * moves.term, PAIR_BYTES, PAIR_BYTES * moves.term)
        else:
            (_interleave if moves.lane == 1 else _gather)(printing, start, moves)
            pairs = known.pairs(printing.lanes.count)
        known.add(words, Chunk(row.extent, width, f"{rows} + from*2", moves.row * 2, pairs, sums))


def _gather(printing: _Printing, where: str, moves: Steps) -> None:
    """Pairs of terms, which lie side by side in each lane's row, for all of a chunk."""
    words, valid = printing.words, printing.lanes.valid
    with words.block("for (int term = 0; term < terms; term += 2)"):
        for number in range(printing.lanes.count):
            place = f"{where} + term*2 + {2 * number * SIDE * moves.lane}ll"
            arguments, op = [place, f"{moves.lane // 2}ll"], "load_even"
            if valid is not None:
                every, op = words.call("splat", "bool", SIDE, "-1"), "load_even_masked"
                arguments += [every, _count(valid, number * SIDE)]
            text = words.call(op, "i32", SIDE, *arguments)
            to = printing.pair(number)
            words.line(words.call("store", "i32", SIDE, to, text) + ";")


def _interleave(printing: _Printing, where: str, moves: Steps) -> None:
    """Every two rows of the lanes side by side, for all terms of a chunk."""
    words, valid = printing.words, printing.lanes.valid
    with words.block("for (int term = 0; term < terms; term += 2)"):
        for number in range(printing.lanes.count):
            rows = []
            for at in ("term", "(term + 1)"):
                arguments = [f"{where} + {at}*{2 * moves.term}ll + {2 * number * SIDE}"]
                arguments += [] if valid is None else [_count(valid, number * SIDE)]
                op = "load" if valid is None else "load_part"
                rows.append(words.call(op, "bf16", SIDE, *arguments))
            to = printing.pair(number)
            words.line(words.call("store_pairs", "bf16", SIDE, to, *rows) + ";")


def _count(valid: Dim, start: int) -> str:
    """How many lanes of a vector from one on count."""
    return f"lane_count({dim_text(valid)} - {start}, {SIDE})"
