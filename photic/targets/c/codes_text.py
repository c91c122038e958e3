"""A register tile of few rows whose products of bytes are with codes that are unpacked on the way.

Where an instruction takes whole tiles of many rows, weights are unpacked once for all of them and
wait in memory. For one row, or a few, a block's codes are computed in registers instead: 64 lanes
of four terms at a time, interleaved as soon as they are loaded, so that masks and shifts work on
64 codes each (``codes.py``). Interleaving keeps to 128 bits, as the machine does, and the sums of
a block are put into the order of the lanes at its end.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from photic.codegen.tile import print_tile
from photic.codegen.words import Words, dim_text
from photic.ir import index as form
from photic.ir.dim import Atom, Dim, Var, bounds, substitute, var
from photic.ir.dtype import FLOAT32, INT32
from photic.ir.index import Access, Buffer, Expr, Store
from photic.ir.nest import Lanes, Tile
from photic.ir.program import ROW_MAJOR, Layout
from photic.targets.c.codes import Bytes
from photic.targets.c.codes_sums import CodedSum, Layouts, coded_sum, is_guarded
from photic.targets.c.matrix import outermost, place
from photic.targets.c.matrix_units import ALIGNED, BLOCK, BYTES, SIDE, SUM_BYTES, units

NAME = "tile_sums"  # of the memory in which sums wait for the rest of the tile
VECTORS = 4  # of sums, which hold the lanes of one vector of bytes
LANES = VECTORS * SIDE
SYMBOLS = {"and": "&", "add": "+", "mul": "*", "less": "<"}


def few_rows(tile: Tile, layouts: Layouts, words: Words) -> bool:
    """Print a tile of few rows whose sums are of products with codes; False for any other."""
    lanes, rows = tile.lanes, tile.unrolled
    if BYTES not in units() or lanes is None or lanes.reduced or lanes.width * lanes.count != LANES:
        return False
    extents = [one.extent for one in rows]
    is_small = len(rows) < 2 and all(isinstance(n, int) and n < SIDE for n in extents)
    if lanes.width != SIDE or not is_small:
        return False
    sums = [coded_sum(one, lanes, layouts) for one in outermost(tile.store.value)]
    found = [one for one in sums if one is not None]
    if not found or len(found) < len(sums):
        return False
    nothing = {one.sum: form.number(0, FLOAT32) for one in found}
    if is_guarded(form.replaced(tile.store.value, nothing)):
        return False
    _print(tile, lanes, found, layouts, words)
    return True


def _print(tile: Tile, lanes: Lanes, found: list[CodedSum], layouts: Layouts, words: Words) -> None:
    """The sums, those with the same codes at once, then what is left of the tile."""
    rows, known, sums = tile.unrolled, dict(layouts), dict[CodedSum, Buffer]()
    index = (var(rows[0].name, rows[0].extent) if rows else 0, var(lanes.axis.name, LANES))
    height = bounds(rows[0].extent)[1] if rows else 1
    for number, one in enumerate(found):
        sums[one] = Buffer(f"{NAME}{number}", (height, LANES), FLOAT32)
        words.line(f"char {sums[one].name}[{height * LANES * SUM_BYTES}] {ALIGNED};")
        known[sums[one]] = ROW_MAJOR
    left = found
    while left:
        alike = {one: sums[one] for one in left if one.is_like(left[0])}
        left = [one for one in left if one not in alike]
        with words.block(""):
            _Blocks(tile, lanes, alike, known, words, height).print()
    reads = {one.sum: form.load(sums[one], index) for one in found}
    value = form.replaced(tile.store.value, reads)
    store = Store(tile.store.buffer, tile.store.axes, tile.store.index, value)
    print_tile(Tile(store, rows, lanes, tile.inner), known, words)


@dataclass(frozen=True, slots=True)
class _Blocks:
    """Sums with the same codes and their totals: loops over blocks, and what each block adds."""

    tile: Tile
    lanes: Lanes
    sums: Mapping[CodedSum, Buffer]
    layouts: dict[Buffer, Layout]
    words: Words
    height: int

    @property
    def places(self) -> list[tuple[int, int]]:
        """Rows and vectors of each of the sums."""
        return [(row, column) for row in range(self.height) for column in range(VECTORS)]

    @property
    def like(self) -> CodedSum:
        """One of the sums."""
        return next(iter(self.sums))

    def print(self) -> None:
        """All blocks."""
        words, zero = self.words, self.words.call("splat", "f32", SIDE, "0")
        words.line(f"typedef int factors __attribute__((vector_size({LANES})));")
        words.line(f"char {BLOCK}[{self.height * LANES * SUM_BYTES}] {ALIGNED};")
        for totals in self.sums.values():
            for one in self.places:
                words.line(words.call("store", "f32", SIDE, _at(totals.name, one), zero) + ";")
        self._blocks(self.like.around, {})

    def _blocks(self, axes: tuple[Var, ...], at: dict[Atom, Dim]) -> None:
        """Loops over some axes; of ``written`` ones each value stands for itself."""
        if not axes:
            self._block(at)
        elif axes[0] in self.like.written:
            for value in range(bounds(axes[0].extent)[1]):
                with self.words.block(""):
                    self._blocks(axes[1:], {**at, axes[0]: value})
        else:
            with self.words.loop(axes[0].name, axes[0].extent):
                self._blocks(axes[1:], at)

    def _block(self, at: dict[Atom, Dim]) -> None:
        """The integer sums of a block, in the order of the lanes, and what becomes of them."""
        words, kind = self.words, self.words.type(INT32.short, SIDE)
        values = tuple(bounds(at[axis])[0] for axis in self.like.written)
        zero = words.call("splat", INT32.short, SIDE, "0")
        sums = {
            (one, *place): words.declare(kind, zero) for one in self.sums for place in self.places
        }
        codes = _Codes(self.lanes, self.layouts, at, words)
        for number, group in enumerate(self.like.groups[values]):
            right = codes.emit(group.codes)
            for one, row in itertools.product(self.sums, range(self.height)):
                left = self._row(one.groups[values][number].row, row, at)
                for column in range(VECTORS):
                    total = sums[one, row, column]
                    text = f"{total}, (factors){right[column]}, (factors){left}"
                    words.line(f"{total} = {BYTES.instruction}({text});")
        for one in self.sums:
            for row in range(self.height):
                made = _in_order([sums[one, row, column] for column in range(VECTORS)], words)
                for column, text in enumerate(made):
                    to = _at(BLOCK, (row, column))
                    words.line(words.call("store", INT32.short, SIDE, to, text) + ";")
            self._add(one, at)

    def _row(self, access: Access, row: int, at: dict[Atom, Dim]) -> str:
        """Four terms of a row, for all lanes."""
        table: dict[Atom, Dim] = {**at, **dict.fromkeys(self.tile.unrolled, row)}
        where = f"{access.buffer.name} + {dim_text(substitute(place(access, self.layouts), table))}"
        four = self.words.call("load", INT32.short, 1, where)
        return self.words.declare(
            self.words.type(INT32.short, SIDE), self.words.call("splat", INT32.short, SIDE, four)
        )

    def _add(self, one: CodedSum, at: dict[Atom, Dim]) -> None:
        """What becomes of a block's sums, added to the totals."""
        lanes = Lanes(self.lanes.axis, SIDE, VECTORS, self.lanes.valid, False)
        inner, body = (form.substitute_expr(each, at) for each in (one.inner, one.body))
        rows, layouts = self.tile.unrolled, self.layouts
        print_added(self.sums[one], (inner, body), rows, lanes, layouts, self.words)


def print_added(
    totals: Buffer,
    values: tuple[Expr, Expr],
    rows: tuple[Var, ...],
    lanes: Lanes,
    layouts: Layouts,
    words: Words,
) -> None:
    """What becomes of the sums of a block, added to the totals, for some rows or for one.

    ``values``: the sum that lies in the block, and what it is a part of.
    """
    inner, body = values
    lane = var(lanes.axis.name, lanes.axis.extent)
    index = (var(rows[0].name, rows[0].extent) if rows else 0, lane)
    block = Buffer(BLOCK, totals.shape, inner.dtype)
    value = form.replaced(body, {inner: form.load(block, index)})
    total = form.binary("add", form.load(totals, index), value)
    known = {**layouts, block: ROW_MAJOR, totals: ROW_MAJOR}
    print_tile(Tile(Store(totals, (), index, total), rows, lanes, frozenset()), known, words)


def _at(name: str, one: tuple[int, int]) -> str:
    row, column = one
    return f"{name} + {(row * LANES + column * SIDE) * SUM_BYTES}"


def _in_order(sums: list[str], words: Words) -> list[str]:
    """The sums of lanes in order; the fours of vector v stand in it for lanes 16 j + 4 v."""
    kind, half = words.type(INT32.short, SIDE), SIDE // 2

    def mixed(op: str, one: int) -> str:
        text = words.call(op, INT32.short, SIDE, sums[one], sums[one + 1])
        return words.declare(kind, text)

    made = []
    for op in ("fours_lower", "fours_upper"):
        pair = [mixed(op, one) for one in (0, 2)]
        for part in ("lo", "hi"):
            halves = [words.call(part, INT32.short, SIDE, one) for one in pair]
            made.append(words.call("cat", INT32.short, SIDE, *halves))
            words.type(INT32.short, half)
    return made


@dataclass(frozen=True, slots=True)
class _Codes:
    """What was computed of a block's codes: four vectors of 64 bytes each."""

    lanes: Lanes
    layouts: Layouts
    at: Mapping[Atom, Dim]
    words: Words
    known: dict[Bytes, list[str]] = field(default_factory=dict)
    loaded: dict[Access, str] = field(default_factory=dict)

    def emit(self, value: Bytes) -> list[str]:
        """The names of a value's vectors."""
        if value not in self.known:
            self.known[value] = self._made(value)
        return self.known[value]

    def _made(self, value: Bytes) -> list[str]:
        words, kind = self.words, self.words.type("u8", LANES)
        if value.op == "load":
            return self._interleaved([self._load(one) for one in value.places])
        if value.op == "numbers":
            return [self._pattern(value.numbers)] * VECTORS
        parts = [self.emit(one) for one in value.parts]
        if value.op == "and":
            parts.append([self._pattern(value.numbers)] * VECTORS)
        if value.op == "shift":
            return [words.declare(kind, f"{one} >> {value.numbers[0]}") for one in parts[0]]
        if value.op == "choose":
            texts = [f"{mask} ? {a} : {b}" for mask, a, b in zip(*parts, strict=True)]
        else:
            texts = [f"{a} {SYMBOLS[value.op]} {b}" for a, b in zip(*parts, strict=True)]
        if value.op == "less":
            kind = words.type("i8", LANES)
            texts = [f"({kind})({text})" for text in texts]
        return [words.declare(kind, text) for text in texts]

    def _pattern(self, numbers: Sequence[int]) -> str:
        """A number for each term, in every lane."""
        four = sum(one % 256 << 8 * k for k, one in enumerate(numbers))
        splat = self.words.call("splat", INT32.short, SIDE, f"(int){four:#x}u")
        return f"(({self.words.type('u8', LANES)}){splat})"

    def _load(self, access: Access) -> str:
        """The bytes of all lanes; panels are fetched ahead."""
        if access not in self.loaded:
            table = {**self.at, self.lanes.axis: 0}
            where = dim_text(substitute(place(access, self.layouts), table))
            is_panel = self.layouts.get(access.buffer, ROW_MAJOR).tile > 1
            op = "load_ahead" if is_panel else "load"
            text = self.words.call(op, "u8", LANES, f"{access.buffer.name} + {where}")
            self.loaded[access] = self.words.declare(self.words.type("u8", LANES), text)
        return self.loaded[access]

    def _interleaved(self, four: list[str]) -> list[str]:
        """The bytes of four terms side by side in each lane, lanes by fours."""
        words = self.words

        def zipped(op: str, short: str, left: str, right: str) -> str:
            lanes = LANES if short == "u8" else LANES // 2
            kind = words.type(short, lanes)
            text = words.call(op, short, lanes, f"({kind}){left}", f"({kind}){right}")
            return words.declare(words.type("u8", LANES), f"({words.type('u8', LANES)}){text}")

        made = []
        for half in ("zip_lower", "zip_upper"):
            pairs = [zipped(half, "u8", *four[k : k + 2]) for k in (0, 2)]
            made += [zipped(op, "i16", *pairs) for op in ("zip_lower", "zip_upper")]
        return made
