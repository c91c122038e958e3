"""NVIDIA's matrix instruction as a unit of groups: products of half numbers, a warp at a time.

``mma.sync`` adds to 16 x 8 sums in float32 the products of 16 x 16 numbers with 16 x 8 numbers of
bfloat16 or float16, each spread over the 32 items of a warp in a documented way (fragments.h). The
products are exact; how sums are rounded on the way is the device's. Two warps share the rows of a
tile. Operands lie with their terms side by side, so that an item loads two at once, in rows so far
apart that no two of a warp's loads meet in a bank.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from photic.codegen.words import Words
from photic.ir.dim import Dim
from photic.ir.dtype import FLOAT32, DType
from photic.ir.index import Buffer, Expr
from photic.targets.group_products import GROUP, LEFT, RIGHT, Shape

HEAD = Path(__file__).with_name("fragments.h").read_text(encoding="utf-8")

WARP = 32
ROWS, COLUMNS, TERMS = 16, 8, 16  # of the instruction
HALF = ROWS // 2  # rows further down lies the second half of what an item holds
APART = 8  # numbers between rows: 80 bytes from one to the next, eight rows in 32 banks


@dataclass(frozen=True, slots=True)
class Matrix:
    """The instruction, twice for the terms that lie there at once."""

    terms: int = 2 * TERMS
    fills: bool = True

    def operand(self, value: Expr, other: Expr) -> Expr | None:
        halves = [_half(one) for one in (value, other)]
        is_same = None not in halves and len({one.dtype for one in halves if one}) == 1
        return halves[0] if is_same else None

    def memory(self, name: str, side: int, dtype: DType) -> Buffer:
        return Buffer(name, (side, self.stride), dtype)

    @property
    def stride(self) -> int:
        """Numbers from row to row of an operand."""
        return self.terms + APART

    def index(self, place: Dim, term: Dim) -> tuple[Dim, Dim]:
        return place, term

    def start(self, words: Words, shape: Shape) -> None:
        top = shape.rows * WARP // GROUP
        words.line(f"const int row = THREAD / {WARP} * {top} + THREAD % {WARP} / 4;")
        words.line(f"const int column = THREAD % {WARP} / 4, pair = THREAD % 4 * 2;")
        kind = words.type("f32", 1)
        for part in _parts(shape):
            names = ", ".join(f"{one} = 0" for one in part.sums)
            words.line(f"{kind} {names};")

    def add(self, words: Words, shape: Shape, dtype: DType, count: str) -> None:
        parts = list(_parts(shape))
        kind = words.type("i32", 1)
        with words.block(f"for (int term = 0; term < {count}; term += {TERMS})"):
            for name, at in _operands(parts):
                line = f"({at}) * {self.stride} + term + pair"
                memory, step = (LEFT, "a") if name[0] == "a" else (RIGHT, "b")
                for number, more in enumerate(_places(step, self.stride)):
                    where = f"{memory} + ({line} + {more}) * {dtype.bytes}"
                    text = words.call("load", "i32", 1, where)
                    words.line(f"const {kind} {name}_{number} = {text};")
            for part in parts:
                left = [f"a{part.down}_{number}" for number in range(4)]
                right = [f"b{part.across}_{number}" for number in range(2)]
                given = ", ".join([*part.sums, *left, *right])
                words.line(f"multiply_{dtype.short}({given});")

    def keep(self, words: Words, shape: Shape, sums: str, is_first: str) -> None:
        for part in _parts(shape):
            for number, one in enumerate(part.sums):
                down = part.down * ROWS + number // 2 * HALF
                place = f"{part.across * COLUMNS} + pair + {number % 2}"
                where = f"{sums} + ((row + {down}) * {shape.stride} + {place}) * 4"
                added = words.call("add", "f32", 1, words.call("load", "f32", 1, where), one)
                with words.block(f"if (!({is_first}))"):
                    words.line(f"{one} = {added};")
                words.line(words.call("store", "f32", 1, where, one) + ";")


@dataclass(frozen=True, slots=True)
class _Part:
    """What one instruction adds to, by its place in a warp's part of the tile."""

    down: int
    across: int

    @property
    def sums(self) -> list[str]:
        """The four sums that an item holds."""
        return [f"part_{self.down}_{self.across}_{number}" for number in range(4)]


def _parts(shape: Shape) -> Iterator[_Part]:
    for down in range(shape.rows * WARP // GROUP // ROWS):
        for across in range(shape.columns // COLUMNS):
            yield _Part(down, across)


def _operands(parts: list[_Part]) -> Iterator[tuple[str, str]]:
    """The operands of a warp, and in which row of their memory an item's begin."""
    for down in sorted({one.down for one in parts}):
        yield f"a{down}", f"row + {down * ROWS}"
    for across in sorted({one.across for one in parts}):
        yield f"b{across}", f"column + {across * COLUMNS}"


def _places(operand: str, stride: int) -> list[int]:
    """How far apart an item's pairs of terms lie: rows of the left operand lie in two halves."""
    rows = [0, HALF * stride] if operand == "a" else [0]
    return [row + term for term in (0, TERMS // 2) for row in rows]


def _half(value: Expr) -> Expr | None:
    """The half number that a value is in float32."""
    is_wide = value.op == "cast" and value.dtype == FLOAT32 and value.children[0].dtype.is_half
    return value.children[0] if is_wide else None


MATRIX = Matrix()
