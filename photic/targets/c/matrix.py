"""Intel's matrix tiles: sums of products of bfloat16 numbers, 16 rows by 16 columns at once.

One instruction adds to 16 x 16 float32 sums the products of 16 rows of 32 numbers with 32 rows of
16, of which two lie interleaved. It fits a reduction ``sum k: f32(a[.., k]) * f32(b[k, lanes])`` of
a register tile of 16 to 128 rows and two or four vectors, where k moves fastest in a.
The products are exact and the sums float32; subnormal numbers count as 0, which is what tells it
from multiply-adds beside the order of the sum.

``register_tile`` tells the planner where it fits; ``product`` prints it. The interleaving is done
on the way, for all rows of the tile. The registers must have been granted (``facts``).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from photic.codegen.access import dim
from photic.codegen.frame import Frame, Value
from photic.ir import index as form
from photic.ir.dim import Dim, Var, bounds, coefficient_of, substitute
from photic.ir.dtype import BFLOAT16, FLOAT32
from photic.ir.index import Access, Buffer, Expr, Order, Store
from photic.ir.program import ROW_MAJOR, Layout
from photic.loops.layout import offset
from photic.loops.target import Rows
from photic.targets.c.facts import facts

SIDE = 16  # rows and columns of a tile of sums
TERMS = 32  # bfloat16 numbers in a row of a tile
REGISTERS = 8
SUMS = 4  # tiles of sums in registers; others hold operands
VECTORS = (4, 2)  # tiles of sums side by side
SIZES = (128, 64, 32, 16)  # rows of a register tile
SOME_ROWS = 32  # where their number is symbolic
MOST_TERMS = 256  # that are interleaved before they are used
ROW_BYTES = 64

# Eight tiles of 16 rows of 64 bytes: palette 1, then at 16 the bytes of a row, at 48 the rows.
CONFIGURATION = bytes([1, *[0] * 15, *[ROW_BYTES, 0] * 8, *[0] * 16, *[SIDE] * 8, *[0] * 8])


@dataclass(frozen=True, slots=True)
class _Product:
    """A sum of products over ``axis``: the loads of the rows and of the lanes."""

    axis: Var
    rows: Access
    lanes: Access
    is_safe: bool  # both are in range wherever they stand


def register_tile(store: Store, lanes: Var | None) -> tuple[int, Rows] | None:
    """The vectors and rows with which the instruction does all of a store's reduction."""
    sums = [one for one in form.walk(store.value) if one.op == "sum"]
    if lanes is None or len(sums) != 1 or bounds(lanes.extent)[0] < VECTORS[-1] * SIDE:
        return None
    found = _product(sums[0], lanes)
    if found is None or not (found.is_safe or _is_unguarded(store)):
        return None
    long = [axis for axis in store.axes if axis != lanes and _is_long(axis.extent)]
    rows = next((one for one in reversed(long) if _steps(found, one, lanes, {})), None)
    if rows is None:
        return None
    wide = bounds(lanes.extent)[0]
    return next(one for one in VECTORS if one * SIDE <= wide), ((rows, _size(rows.extent)),)


def _is_unguarded(store: Store) -> bool:
    """True if no index condition says where values are needed."""
    return not any(isinstance(one.attribute, Order) for one in form.walk(store.value))


def _is_long(extent: Dim) -> bool:
    return bounds(extent)[1] >= (SIDE if isinstance(extent, int) else 2 * SOME_ROWS)


def _size(extent: Dim) -> int:
    """Rows of a register tile: few are left over, and then as many as there may be."""
    if not isinstance(extent, int):
        return SOME_ROWS
    return min((one for one in SIZES if one <= extent), key=lambda one: (extent % one, -one))


def _product(expr: Expr, lanes: Var) -> _Product | None:
    """A sum as one of products of bfloat16 numbers, one of which is the same for all lanes."""
    axes, body = form.reduction(expr)
    if expr.op != "sum" or len(axes) != 1 or body.op != "mul":
        return None
    extent = axes[0].extent
    loads = [_widened(one) for one in body.children]
    if not isinstance(extent, int) or extent % TERMS or None in loads:
        return None
    across = [one is not None and lanes in one.free for one in loads]
    if sum(across) != 1:
        return None
    row, column = (loads[across.index(one)] for one in (False, True))
    assert row is not None and column is not None
    assert isinstance(row.attribute, Access) and isinstance(column.attribute, Access)
    is_safe = all(form.is_in_range(one) for one in (row, column))
    return _Product(axes[0], row.attribute, column.attribute, is_safe)


def _widened(value: Expr) -> Expr | None:
    """The load of a bfloat16 number that a value is in float32."""
    if value.op != "cast" or value.dtype != FLOAT32:
        return None
    load = value.children[0]
    return load if isinstance(load.attribute, Access) and load.dtype == BFLOAT16 else None


def product(frame: Frame, expr: Expr) -> Value | None:
    """The register tile of a sum of products; None where the instruction does not fit."""
    lanes, unrolled = frame.lanes, frame.tile.unrolled
    if lanes.width != SIDE or lanes.count not in VECTORS or lanes.reduced or len(unrolled) != 1:
        return None
    found = _product(expr, lanes.axis)
    if found is None or unrolled[0].extent not in SIZES or not facts().amx_bf16:
        return None
    if frame.guard and not found.is_safe:
        return None
    steps = _steps(found, unrolled[0], lanes.axis, frame.layouts)
    return None if steps is None else _printed(frame, expr, found, steps)


@dataclass(frozen=True, slots=True)
class _Steps:
    """How many elements a place moves: with a row and, of the right operand, a lane and a term."""

    row: int
    lane: int
    term: int


def _steps(
    found: _Product, rows: Var, lanes: Var, layouts: Mapping[Buffer, Layout]
) -> _Steps | None:
    """The steps between operands where the instruction can load them."""
    left, right = (_place(one, layouts) for one in (found.rows, found.lanes))
    row, along = coefficient_of(left, rows), coefficient_of(left, found.axis)
    lane, term = coefficient_of(right, lanes), coefficient_of(right, found.axis)
    if along != 1 or coefficient_of(right, rows) != 0:
        return None
    if not (isinstance(row, int) and isinstance(lane, int) and isinstance(term, int)):
        return None
    is_loaded = lane == 1 or (term == 1 and lane % 2 == 0)
    return _Steps(row, lane, term) if row and lane and is_loaded else None


def _place(access: Access, layouts: Mapping[Buffer, Layout]) -> Dim:
    layout = layouts.get(access.buffer, ROW_MAJOR)
    return offset(access.buffer.shape, layout, access.index)


@dataclass(frozen=True, slots=True)
class _Block:
    """The sums of some tiles side by side and one below the other, in registers from 0 on."""

    down: int
    across: int

    @property
    def places(self) -> list[tuple[int, int]]:
        return [(row, column) for row in range(self.down) for column in range(self.across)]

    def register(self, row: int, column: int) -> int:
        return row * self.across + column


def _printed(frame: Frame, expr: Expr, found: _Product, steps: _Steps) -> Value:
    """The loops over terms and rows, and the sums as vectors."""
    words, (row,), name = frame.words, frame.tile.unrolled, found.axis.name
    assert isinstance(row.extent, int) and isinstance(found.axis.extent, int)
    extent, width = found.axis.extent, frame.lanes.count * SIDE
    block = _Block(min(row.extent // SIDE, SUMS // frame.lanes.count), frame.lanes.count)
    point = {row: 0, frame.lanes.axis: 0}
    rows, lanes = (
        f"{one.buffer.name} + "
        f"{dim(frame, substitute(_place(one, frame.layouts), {found.axis: 0}), point)}*2"
        for one in (found.rows, found.lanes)
    )
    chunk, aligned = min(extent, MOST_TERMS), "__attribute__((aligned(64)))"
    numbers = ", ".join(map(str, CONFIGURATION))
    words.line(f"static const unsigned char tiles[64] {aligned} = {{{numbers}}};")
    words.line(f"unsigned short pairs[{chunk * width}] {aligned};")
    words.line(f"float sums[{row.extent * width}] {aligned};")
    words.line("__builtin_ia32_tile_loadconfig(tiles);")
    with words.block(f"for (int64_t {name} = 0; {name} < {extent}; {name} += {chunk})"):
        left = f"(int)({extent} - {name})"
        terms = chunk if extent % chunk == 0 else f"{chunk} < {left} ? {chunk} : {left}"
        words.line(f"const int terms = {terms};")
        interleave = _interleave if steps.lane == 1 else _gather
        interleave(frame, f"{lanes} + {name}*{2 * steps.term}ll", steps)
        with words.block(f"for (int row = 0; row < {row.extent}; row += {block.down * SIDE})"):
            where = f"{rows} + ({name} + row*{steps.row}ll)*2"
            _accumulate(frame, block, where, 2 * steps.row, f"sums + row*{width}", f"{name} == 0")

    def load(at: dict[Var, int]) -> str:
        where = f"sums + {at[row] * width + at[frame.lanes.axis] * SIDE}"
        return frame.declare(expr.dtype, SIDE, frame.call("load", "f32", where))

    return frame.value(frame.in_order({row, frame.lanes.axis}), expr.dtype, load)


def _gather(frame: Frame, where: str, steps: _Steps) -> None:
    """Pairs of terms, which lie side by side in each lane's row, for all of a chunk."""
    words, width = frame.words, frame.lanes.count * SIDE
    with words.block("for (int term = 0; term < terms; term += 2)"):
        for number in range(frame.lanes.count):
            place = f"{where} + term*2 + {2 * number * SIDE * steps.lane}ll"
            step, op, some = f"{steps.lane // 2}ll", "load_even", list[str]()
            if frame.valid:
                op, some = (
                    "load_even_masked",
                    [frame.call("splat", "bool", "-1"), frame.valid[number]],
                )
            text = words.call(op, "i32", SIDE, place, step, *some)
            to = f"pairs + term*{width} + {2 * number * SIDE}"
            words.line(words.call("store", "i32", SIDE, to, text) + ";")


def _interleave(frame: Frame, where: str, steps: _Steps) -> None:
    """Every two rows of the lanes side by side, for all terms of a chunk."""
    words, count, double = frame.words, frame.lanes.count, 2 * SIDE
    with words.block("for (int term = 0; term < terms; term += 2)"):
        for part in range(count // 2):
            names = f"even{part}", f"odd{part}"
            for name, at in zip(names, ("term", "(term + 1)")):
                place = f"{where} + {at}*{2 * steps.term}ll + {part * double * 2}"
                counts = " + ".join(frame.valid[2 * part : 2 * part + 2])
                op, *some = ("load_part", counts) if counts else ("load",)
                text = words.call(op, "bf16", double, place, *some)
                words.line(f"const {words.type('bf16', double)} {name} = {text};")
            for half in range(2):
                lanes = range(half * SIDE, (half + 1) * SIDE)
                order = ", ".join(f"{one}, {one + double}" for one in lanes)
                text = f"__builtin_shufflevector({', '.join(names)}, {order})"
                to = f"pairs + term*{count * SIDE} + {(2 * part + half) * double}"
                words.line(words.call("store", "bf16", double, to, text) + ";")


def _accumulate(
    frame: Frame, block: _Block, rows: str, step: int, sums: str, is_first: str
) -> None:
    """The products of a chunk's terms added to the sums of a block."""
    words, stride = frame.words, block.across * SIDE * 4
    spare = len(block.places)

    def each(text: str) -> None:
        for row, column in block.places:
            where = f"{sums} + {(row * block.across * SIDE + column) * SIDE}"
            number = block.register(row, column)
            words.line(text.format(number=number, where=where, stride=stride))

    with words.block(f"if ({is_first})", end=""):
        each("__builtin_ia32_tilezero({number});")
    with words.block("} else"):
        each("__builtin_ia32_tileloadd64({number}, {where}, {stride});")
    with words.block(f"for (int term = 0; term < terms; term += {TERMS})"):
        for row in range(block.down):
            where = f"{rows} + term*2 + {row * SIDE * step}ll"
            words.line(f"__builtin_ia32_tileloadd64({spare + row}, {where}, {step}ll);")
        for column in range(block.across):
            number = spare + block.down + column % (REGISTERS - spare - block.down)
            where = f"pairs + term*{block.across * SIDE} + {column * 2 * SIDE}"
            words.line(
                f"__builtin_ia32_tileloadd64({number}, {where}, {block.across * ROW_BYTES});"
            )
            for row in range(block.down):
                register = block.register(row, column)
                words.line(f"__builtin_ia32_tdpbf16ps({register}, {spare + row}, {number});")
    each("__builtin_ia32_tilestored64({number}, {where}, {stride});")
