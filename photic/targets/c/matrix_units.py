"""The instructions for sums of products of small numbers, and how their loops are printed.

- ``TILES``, Intel's AMX: 16 rows of 32 bfloat16 terms by 32 terms of 16 lanes at once, from
  registers of their own that must have been granted and be told the shapes of tiles.
- ``DOTS``, AVX-512's: two bfloat16 terms of a row by two terms of 16 lanes, in ordinary vectors.
- ``BYTES``, AVX-512's too: four terms of a row by four of 16 lanes, bytes of which one side has
  signs and the other none; the sums are int32.

Those for bfloat16 add float32 sums of exact products, and take subnormal numbers for 0. What a lane
takes at once, a ``group`` of terms of 32 bits, lies side by side. A ``Unit`` is one instruction:
what the planner must know, and what prints the sums of a ``Chunk``.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass

from photic.codegen.words import Words, dim_text
from photic.ir.dim import Dim, Var
from photic.ir.dtype import BFLOAT16, FLOAT32, INT8, INT32, UINT8, DType
from photic.targets.c.facts import facts

SIDE = 16  # lanes of a vector of float32 sums, and rows of a tile
TERMS, TILE_GROUP, TILE_BYTES = 32, 2, 2  # bfloat16 numbers in a row of a tile, and in a lane
REGISTERS = 8
ROW_BYTES = 64  # of a tile, and of a vector
SUM_BYTES = GROUP_BYTES = 4
ALIGNED = "__attribute__((aligned(64)))"
BLOCK, TOTALS = "block", "totals"  # memory for sums of a block, and for what is made of all
# Rows of dots at once, by vectors side by side: what 32 registers hold, then what is left.
HEIGHTS = {4: (6, 3, 1), 3: (8, 3, 1), 2: (12, 4, 1), 1: (16, 4, 1)}
BLOCK_HEIGHTS = {4: (3, 1), 3: (4, 1), 2: (6, 2, 1), 1: (12, 3, 1)}  # with totals beside

# Eight tiles of 16 rows of 64 bytes: palette 1, then at 16 the bytes of a row, at 48 the rows.
ROWS_AT = 48  # the numbers of rows in a configuration
CONFIGURATION = bytes([1, *[0] * 15, *[ROW_BYTES, 0] * 8, *[0] * 16, *[SIDE] * 8, *[0] * 8])


@dataclass(frozen=True, slots=True)
class Groups:
    """Where groups of terms lie, and the bytes from term to term, lane to lane, group to group."""

    where: str
    term: int
    lane: int
    group: int


@dataclass(frozen=True, slots=True)
class Blocks:
    """The loops around the sums of blocks, and what prints how those go into TOTALS.

    ``add`` does so for so many rows from ``at_row`` on, whose sums lie in BLOCK, in rows of
    ``width`` as the totals.
    """

    loops: tuple[Var, ...]
    add: Callable[[int], None]


@dataclass(frozen=True, slots=True)
class Chunk:
    """So many ``terms`` (in C) of all ``rows`` and of ``width`` lanes, which are added up at once.

    ``left`` is where the first row's terms lie, ``step`` the bytes from row to row, ``sums`` where
    the sums lie in rows of ``width``. ``from`` (in C) is 0 in the first chunk. ``unsigned_lanes``:
    of bytes, those of the lanes have no sign. With ``blocks`` the sums of each go into a total.
    """

    rows: Dim
    width: int
    left: str
    step: Dim
    groups: Groups
    sums: str
    unsigned_lanes: bool
    blocks: Blocks | None = None


@dataclass(frozen=True, slots=True)
class Unit:
    """One instruction: its name, its numbers, and what it wants of a register tile.

    ``vectors`` may stand side by side, ``at_once`` terms are taken at once, and at most
    ``most_terms`` lie interleaved before they are used. ``sharing`` is the part of a vector's time
    that each set of them takes beside. ``place`` tells where a group of a column lies that is
    interleaved on the way, and ``groups`` all of them.
    """

    instruction: str
    factors: tuple[DType, DType]
    sums: DType
    vectors: tuple[int, ...]
    at_once: int
    most_terms: int
    sharing: float
    place: Callable[[int, int], str]
    groups: Callable[[int], Groups]
    configure: Callable[[Words, int, Dim], None]
    add: Callable[[Words, Chunk], None]

    @property
    def bytes(self) -> int:
        """The size of a factor."""
        return self.factors[0].bytes

    @property
    def group(self) -> int:
        """Terms that lie side by side in a lane."""
        return GROUP_BYTES // self.bytes


def units() -> tuple[Unit, ...]:
    """The instructions that this machine has, at most one for each kind of numbers."""
    known = facts()
    halves = (TILES,) if known.amx_bf16 else (DOTS,) if known.avx512 and known.avx512_bf16 else ()
    return (*halves, BYTES) if known.avx512 and known.vnni else halves


# --- tiles ------------------------------------------------------------------------------------


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


def _block(count: int, rows: Dim) -> _Block:
    is_even = isinstance(rows, int) and rows % (SQUARE.down * SIDE) == 0
    return SQUARE if is_even else _Block(1, count)


def _place_in_tile(column: int, count: int) -> str:
    """Tiles one behind the other, those side by side first."""
    tile = f"term/{TERMS}*{count} + {column}"
    return f"groups + ({tile})*{SIDE * ROW_BYTES} + term%{TERMS}*{ROW_BYTES // TILE_GROUP}"


def _configure_tiles(words: Words, count: int, rows: Dim) -> None:
    """The shapes of tiles: whole, and of some rows where the last ones may be fewer."""
    numbers, block = ", ".join(map(str, CONFIGURATION)), _block(count, rows)
    words.line(f"static const unsigned char tiles[64] {ALIGNED} = {{{numbers}}};")
    if not isinstance(rows, int):
        words.line(f"unsigned char last[64] {ALIGNED};")
        words.line("for (int one = 0; one < 64; one++) last[one] = tiles[one];")
        used = len(block.places) + block.down  # the sums, and the left operands
        words.line(
            f"for (int one = 0; one < {used}; one++) "
            f"last[{ROWS_AT} + one] = {dim_text(rows)} % {SIDE};"
        )
    words.line("__builtin_ia32_tile_loadconfig(tiles);")


def _add_tiles(words: Words, chunk: Chunk) -> None:
    """Blocks of tiles, one after the other."""
    block, is_whole = _block(chunk.width // SIDE, chunk.rows), isinstance(chunk.rows, int)
    extent, across = dim_text(chunk.rows), block.across * SIDE
    with (
        words.block(f"for (int beside = 0; beside < {chunk.width}; beside += {across})"),
        words.block(f"for (int row = 0; row < {extent}; row += {block.down * SIDE})"),
    ):
        if not is_whole:
            words.line(f"if ({extent} - row < {SIDE}) __builtin_ia32_tile_loadconfig(last);")
        _add_block(words, chunk, block)
    if not is_whole:
        words.line("__builtin_ia32_tile_loadconfig(tiles);")


def _add_block(words: Words, chunk: Chunk, block: _Block) -> None:
    """The products of a chunk's terms added to the sums of a block, or the first of them."""
    spare, stride, groups = len(block.places), chunk.width * SUM_BYTES, chunk.groups
    step = dim_text(chunk.step)

    def each(text: str) -> None:
        for row, column in block.places:
            place = row * SIDE * stride + column * ROW_BYTES
            where = f"{chunk.sums} + row*{stride} + beside*{SUM_BYTES} + {place}"
            words.line(text.format(number=block.register(row, column), where=where, stride=stride))

    with words.block("if (from == 0)", end=""):
        each("__builtin_ia32_tilezero({number});")
    with words.block("} else"):
        each("__builtin_ia32_tileloadd64({number}, {where}, {stride});")
    with words.block(f"for (int term = 0; term < terms; term += {TERMS})"):
        for row in range(block.down):
            where = f"{chunk.left} + term*{TILE_BYTES} + (row + {row * SIDE})*{step}"
            words.line(f"__builtin_ia32_tileloadd64({spare + row}, {where}, {step});")
        for column in range(block.across):
            number = spare + block.down + column % (REGISTERS - spare - block.down)
            beside = f"(beside + {column * SIDE})*{groups.lane}"
            where = f"{groups.where} + term*{groups.term} + {beside}"
            words.line(f"__builtin_ia32_tileloadd64({number}, {where}, {groups.group}ll);")
            for row in range(block.down):
                register = block.register(row, column)
                words.line(f"__builtin_ia32_tdpbf16ps({register}, {spare + row}, {number});")
    each("__builtin_ia32_tilestored64({number}, {where}, {stride});")


TILES = Unit(
    instruction="tdpbf16ps",
    factors=(BFLOAT16, BFLOAT16),
    sums=FLOAT32,
    vectors=(4, 2),
    at_once=TERMS,
    most_terms=1024,
    sharing=0.1,
    place=_place_in_tile,
    groups=lambda count: Groups("groups", count * SIDE * TILE_BYTES, ROW_BYTES, ROW_BYTES),
    configure=_configure_tiles,
    add=_add_tiles,
)


# --- dots -------------------------------------------------------------------------------------


At = tuple[int, int]  # row and column
Texts = dict[At, str]


@dataclass(frozen=True, slots=True)
class _Dots:
    """A dot product of a group of terms in each lane: in vectors as all others."""

    name: str
    factors: tuple[DType, DType]
    sums: DType
    vector: str  # of factors, in C

    def unit(self, most_terms: int) -> Unit:
        """What it wants; any number of vectors may stand side by side."""
        size = self.factors[0].bytes

        def place(column: int, count: int) -> str:
            return f"groups + term*{count * SIDE * size} + {column * ROW_BYTES}"

        return Unit(
            instruction=self.name,
            factors=self.factors,
            sums=self.sums,
            vectors=tuple(HEIGHTS),
            at_once=GROUP_BYTES // size,
            most_terms=most_terms,
            sharing=0.1,
            place=place,
            groups=lambda count: Groups(
                "groups", count * SIDE * size, GROUP_BYTES, count * SIDE * GROUP_BYTES
            ),
            configure=lambda words, count, rows: None,
            add=self.add,
        )

    def add(self, words: Words, chunk: Chunk) -> None:
        """Blocks of as many rows as registers hold, then smaller ones."""
        words.line(f"typedef {self.vector} factors __attribute__((vector_size({ROW_BYTES})));")
        words.line("int64_t at_row = 0;")
        rows, done = chunk.rows, 0
        for height in (BLOCK_HEIGHTS if chunk.blocks else HEIGHTS)[chunk.width // SIDE]:
            if isinstance(rows, int):
                height = min(height, rows - done) or height
                last = done + (rows - done) // height * height
                head = f"for (; at_row < {last}; at_row += {height})" if last > done else ""
                done = last
            else:
                head = f"for (; at_row + {height} <= {dim_text(rows)}; at_row += {height})"
            if head:
                with words.block(head):
                    self.add_rows(words, chunk, height)

    def add_rows(self, words: Words, chunk: Chunk, height: int) -> None:
        """The products of a chunk's terms added to the sums of some rows, or the first of them."""
        stride, short, vectors = chunk.width * SUM_BYTES, self.sums.short, chunk.width // SIDE
        places = {
            (row, column): row * stride + column * ROW_BYTES
            for row in range(height)
            for column in range(vectors)
        }
        sums, zero = f"{chunk.sums} + at_row*{stride}", words.call("splat", short, SIDE, "0")
        if chunk.blocks is not None:
            self.add_blocks(words, chunk, places, sums)
            return
        old = {
            one: f"from == 0 ? {zero} : {words.call('load', short, SIDE, f'{sums} + {place}')}"
            for one, place in places.items()
        }
        _store(words, short, sums, self.added(words, chunk, old), places)

    def add_blocks(self, words: Words, chunk: Chunk, places: dict[At, int], sums: str) -> None:
        """What becomes of the sums of all blocks, added up; it waits in registers."""
        height, blocks = 1 + max(row for row, _ in places), chunk.blocks
        assert blocks is not None
        for name in (BLOCK, TOTALS):
            words.line(f"char {name}[{height * chunk.width * SUM_BYTES}] {ALIGNED};")
        none = [words.call("splat", one, SIDE, "0") for one in ("f32", self.sums.short)]
        _store(words, "f32", TOTALS, dict.fromkeys(places, none[0]), places)
        with ExitStack() as stack:
            for axis in blocks.loops:
                stack.enter_context(words.loop(axis.name, axis.extent))
            made = self.added(words, chunk, dict.fromkeys(places, none[1]))
            _store(words, self.sums.short, BLOCK, made, places)
            blocks.add(height)
        totals = {
            one: words.call("load", "f32", SIDE, f"{TOTALS} + {place}")
            for one, place in places.items()
        }
        _store(words, "f32", sums, totals, places)

    def added(self, words: Words, chunk: Chunk, start: Texts) -> Texts:
        """The sums by row and column, from these on."""
        groups, size, step = chunk.groups, self.factors[0].bytes, dim_text(chunk.step)
        words.line(f"const char *left = {chunk.left} + at_row*{step};")
        vector = words.type(self.sums.short, SIDE)
        sums = {one: words.declare(vector, text) for one, text in start.items()}
        rows, columns = (sorted({one[k] for one in start}) for k in (0, 1))
        with words.block(f"for (int term = 0; term < terms; term += {GROUP_BYTES // size})"):
            right = []
            for column in columns:
                where = f"{groups.where} + term*{groups.term}ll + {column * SIDE * groups.lane}"
                loaded = words.call("load", "i32", SIDE, where)
                right.append(words.declare("factors", f"(factors){loaded}"))
            for row in rows:
                where = f"left + {row}*{step} + term*{size}"
                group = words.call("splat", "i32", SIDE, words.call("load", "i32", 1, where))
                name = words.declare("factors", f"(factors){group}")
                for column in columns:
                    total, both = sums[row, column], [name, right[column]]
                    text = ", ".join(reversed(both) if chunk.unsigned_lanes else both)
                    words.line(f"{total} = {self.name}({total}, {text});")
        return sums


def _store(words: Words, short: str, to: str, values: Texts, places: dict[At, int]) -> None:
    for one, text in values.items():
        words.line(words.call("store", short, SIDE, f"{to} + {places[one]}", text) + ";")


DOTS = _Dots("__builtin_ia32_dpbf16ps_512", (BFLOAT16, BFLOAT16), FLOAT32, "__bf16").unit(256)
BYTES = _Dots("__builtin_ia32_vpdpbusd512", (INT8, UINT8), INT32, "int").unit(512)
