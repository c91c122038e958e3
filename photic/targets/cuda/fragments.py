"""NVIDIA's matrix instructions as units of groups: products of short numbers, a warp at a time.

``mma.sync`` adds to 16 x 8 sums in float32 the products of 16 rows with 8 columns, each spread over
the 32 items of a warp in a documented way (fragments.h). ``HALVES`` takes 16 terms of bfloat16 or
of float16; ``SINGLES`` 8 of tf32, float32 of 11 bits: halves or bytes of two kinds, which fit
it. Float32 itself is never rounded to it. The products are exact; how sums are rounded on the way
is the device's. Two warps share the rows of a tile. Operands lie with their terms side by side, so
that an item loads 32 bits at once, in rows so far apart that no two of a warp's loads meet in a
bank.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from photic.codegen.words import Words
from photic.ir.dim import Dim
from photic.ir.dtype import BOOL, FLOAT32, INT8, UINT8, DType
from photic.ir.index import Buffer, Expr
from photic.targets.group_products import GROUP, LEFT, RIGHT, Shape

HEAD = Path(__file__).with_name("fragments.h").read_text(encoding="utf-8")

WARP = 32
ROWS, COLUMNS = 16, 8  # of an instruction
HALF = ROWS // 2  # rows further down lies the second half of what an item holds
REGISTER_BYTES, REGISTERS = 4, 8  # of terms of a row that lie in the registers of four items
LINE_BYTES, APART_BYTES = 64, 16  # a row, and up to the next: eight rows lie in 32 banks
BYTES = (INT8, UINT8, BOOL)

Served = Callable[[Expr, Expr], Expr | None]


@dataclass(frozen=True, slots=True)
class Matrix:
    """An instruction for numbers of so many bytes, twice for the terms that lie there at once."""

    bytes: int
    served: Served  # what of an operand is brought, beside another
    fills: bool = True

    @property
    def terms(self) -> int:
        return LINE_BYTES // self.bytes

    @property
    def at_once(self) -> int:
        """Terms of an instruction."""
        return REGISTERS * REGISTER_BYTES // self.bytes

    def operand(self, value: Expr, other: Expr) -> Expr | None:
        return self.served(value, other)

    def memory(self, name: str, side: int, dtype: DType) -> Buffer:
        return Buffer(name, (side, self.stride), dtype)

    @property
    def stride(self) -> int:
        """Numbers from row to row of an operand."""
        return self.terms + APART_BYTES // self.bytes

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
        item = "pair" if self.bytes < REGISTER_BYTES else "pair / 2"
        with words.block(f"for (int term = 0; term < {count}; term += {self.at_once})"):
            for name, at in _operands(parts):
                line = f"({at}) * {self.stride} + term + {item}"
                memory, step = (LEFT, "a") if name[0] == "a" else (RIGHT, "b")
                for number, more in enumerate(self._places(step)):
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

    def _places(self, operand: str) -> list[int]:
        """How far apart an item's terms lie: rows of the left operand lie in two halves."""
        rows = [0, HALF * self.stride] if operand == "a" else [0]
        return [row + term for term in (0, self.at_once // 2) for row in rows]


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


def _half(value: Expr, other: Expr) -> Expr | None:
    """The half number that a value is in float32, if the other is one of the same dtype."""
    inside = [_narrow(one) for one in (value, other)]
    is_same = inside[0] is not None and inside[0].dtype.is_half and len(_dtypes(inside)) == 1
    return inside[0] if is_same else None


def _single(value: Expr, other: Expr) -> Expr | None:
    """A value in float32 of which 11 bits are used, if the other is one too."""
    return None if None in (_narrow(value), _narrow(other)) else value


def _narrow(value: Expr) -> Expr | None:
    """The number of 11 bits or less that a value is in float32."""
    if value.op != "cast" or value.dtype != FLOAT32:
        return None
    (inside,) = value.children
    return inside if inside.dtype.is_half or inside.dtype in BYTES else None


def _dtypes(values: list[Expr | None]) -> set[DType | None]:
    return {one.dtype if one else None for one in values}


HALVES, SINGLES = Matrix(2, _half), Matrix(4, _single)
