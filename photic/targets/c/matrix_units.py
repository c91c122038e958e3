"""The instructions for sums of products of bfloat16 numbers, and how their loops are printed.

Both add float32 sums of exact products of terms in pairs, and take subnormal numbers for 0:

- ``TILES``, Intel's AMX: 16 rows of 32 terms by 32 terms of 16 lanes at once, from registers of
  their own that must have been granted and be told the shapes of tiles.
- ``DOTS``, AVX-512's: two terms of one row by two terms of 16 lanes, in ordinary vectors.

A ``Unit`` is one of them: what the planner must know, and what prints the sums of a ``Chunk``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from photic.codegen.words import Words, dim_text
from photic.ir.dim import Dim
from photic.targets.c.facts import facts

SIDE = 16  # lanes of a vector of float32 sums, and rows of a tile
TERMS = 32  # bfloat16 numbers in a row of a tile
PAIR = 2
REGISTERS = 8
ROW_BYTES = 64  # of a tile, and of a vector
NUMBER_BYTES, SUM_BYTES, PAIR_BYTES = 2, 4, 4
ALIGNED = "__attribute__((aligned(64)))"
HEIGHTS = {
    4: (6, 3, 1),
    3: (8, 3, 1),
    2: (12, 4, 1),
    1: (16, 4, 1),
}  # rows, by vectors side by side

# Eight tiles of 16 rows of 64 bytes: palette 1, then at 16 the bytes of a row, at 48 the rows.
ROWS_AT = 48  # the numbers of rows in a configuration
CONFIGURATION = bytes([1, *[0] * 15, *[ROW_BYTES, 0] * 8, *[0] * 16, *[SIDE] * 8, *[0] * 8])


@dataclass(frozen=True, slots=True)
class Pairs:
    """Where pairs of terms lie, and the bytes from term to term, lane to lane, pair to pair."""

    where: str
    term: int
    lane: int
    pair: int


@dataclass(frozen=True, slots=True)
class Chunk:
    """So many ``terms`` (in C) of all ``rows`` and of ``width`` lanes, which are added up at once.

    ``left`` is where the first row's terms lie, ``step`` the bytes from row to row, ``sums`` where
    the sums lie in rows of ``width``. ``from`` (in C) is 0 in the first chunk.
    """

    rows: Dim
    width: int
    left: str
    step: Dim
    pairs: Pairs
    sums: str


@dataclass(frozen=True, slots=True)
class Unit:
    """One instruction: its name, and what it wants of a register tile.

    ``vectors`` may stand side by side, ``at_once`` terms are taken at once, and at most
    ``most_terms`` lie interleaved before they are used. ``sharing`` is the part of a vector's time
    that each set of them takes beside. ``place`` tells where a pair of a column lies that is
    interleaved on the way, and ``pairs`` all of them.
    """

    instruction: str
    vectors: tuple[int, ...]
    at_once: int
    most_terms: int
    sharing: float
    place: Callable[[int, int], str]
    pairs: Callable[[int], Pairs]
    configure: Callable[[Words, int, Dim], None]
    add: Callable[[Words, Chunk], None]


def unit() -> Unit | None:
    """The best instruction that this machine has."""
    known = facts()
    return TILES if known.amx_bf16 else DOTS if known.avx512_bf16 and known.avx512 else None


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
    return f"pairs + ({tile})*{SIDE * ROW_BYTES} + term%{TERMS}*{ROW_BYTES // PAIR}"


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
        words.block(
            f"for (int beside = 0; beside < {chunk.width}; beside += {block.across * SIDE})"
        ),
        words.block(f"for (int row = 0; row < {extent}; row += {block.down * SIDE})"),
    ):
        if not is_whole:
            words.line(f"if ({extent} - row < {SIDE}) __builtin_ia32_tile_loadconfig(last);")
        _add_block(words, chunk, block)
    if not is_whole:
        words.line("__builtin_ia32_tile_loadconfig(tiles);")


def _add_block(words: Words, chunk: Chunk, block: _Block) -> None:
    """The products of a chunk's terms added to the sums of a block, or the first of them."""
    spare, stride, pairs = len(block.places), chunk.width * SUM_BYTES, chunk.pairs
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
            where = f"{chunk.left} + term*{NUMBER_BYTES} + (row + {row * SIDE})*{step}"
            words.line(f"__builtin_ia32_tileloadd64({spare + row}, {where}, {step});")
        for column in range(block.across):
            number = spare + block.down + column % (REGISTERS - spare - block.down)
            where = f"{pairs.where} + term*{pairs.term} + (beside + {column * SIDE})*{pairs.lane}"
            words.line(f"__builtin_ia32_tileloadd64({number}, {where}, {pairs.pair}ll);")
            for row in range(block.down):
                register = block.register(row, column)
                words.line(f"__builtin_ia32_tdpbf16ps({register}, {spare + row}, {number});")
    each("__builtin_ia32_tilestored64({number}, {where}, {stride});")


TILES = Unit(
    instruction="tdpbf16ps",
    vectors=(4, 2),
    at_once=TERMS,
    most_terms=1024,
    sharing=0.1,
    place=_place_in_tile,
    pairs=lambda count: Pairs("pairs", count * SIDE * NUMBER_BYTES, ROW_BYTES, ROW_BYTES),
    configure=_configure_tiles,
    add=_add_tiles,
)


# --- dots -------------------------------------------------------------------------------------


def _place_in_rows(column: int, count: int) -> str:
    """The pairs of all lanes one behind the other."""
    return f"pairs + term*{count * SIDE * NUMBER_BYTES} + {column * ROW_BYTES}"


def _add_dots(words: Words, chunk: Chunk) -> None:
    """Blocks of as many rows as registers hold, then smaller ones."""
    words.line("typedef __bf16 halves __attribute__((ext_vector_type(32)));")
    words.line("int row = 0;")
    rows, done = chunk.rows, 0
    for height in HEIGHTS[chunk.width // SIDE]:
        if isinstance(rows, int):
            height = min(height, rows - done) or height
            last = done + (rows - done) // height * height
            head = f"for (; row < {last}; row += {height})" if last > done else ""
            done = last
        else:
            head = f"for (; row + {height} <= {dim_text(rows)}; row += {height})"
        if head:
            with words.block(head):
                _add_rows(words, chunk, height)


def _add_rows(words: Words, chunk: Chunk, height: int) -> None:
    """The products of a chunk's terms added to the sums of some rows, or the first of them."""
    stride, step, pairs = chunk.width * SUM_BYTES, dim_text(chunk.step), chunk.pairs
    columns, vector = range(chunk.width // SIDE), words.type("f32", SIDE)
    zero = f"({vector})(0.0f)"
    sums = {}
    for row in range(height):
        for column in columns:
            where = f"{chunk.sums} + (row + {row})*{stride} + {column * ROW_BYTES}"
            first = f"from == 0 ? {zero} : {words.call('load', 'f32', SIDE, where)}"
            sums[row, column] = words.declare(vector, first), where
    words.line(f"const char *left = {chunk.left} + row*{step};")
    with words.block(f"for (int term = 0; term < terms; term += {PAIR})"):
        right = []
        for column in columns:
            where = f"{pairs.where} + term*{pairs.term}ll + {column * SIDE * pairs.lane}"
            right.append(
                words.declare("halves", f"(halves){words.call('load', 'i32', SIDE, where)}")
            )
        for row in range(height):
            where = f"left + {row}*{step} + term*{NUMBER_BYTES}"
            pair = words.call("splat", "i32", SIDE, words.call("load", "i32", 1, where))
            name = words.declare("halves", f"(halves){pair}")
            for column in columns:
                total = sums[row, column][0]
                dot = f"__builtin_ia32_dpbf16ps_512({total}, {name}, {right[column]})"
                words.line(f"{total} = {dot};")
    for name, where in sums.values():
        words.line(words.call("store", "f32", SIDE, where, name) + ";")


DOTS = Unit(
    instruction="dpbf16ps",
    vectors=(4, 3, 2, 1),
    at_once=PAIR,
    most_terms=256,
    sharing=0.1,
    place=_place_in_rows,
    pairs=lambda count: Pairs(
        "pairs", count * SIDE * NUMBER_BYTES, PAIR_BYTES, count * SIDE * PAIR_BYTES
    ),
    configure=lambda words, count, rows: None,
    add=_add_dots,
)
