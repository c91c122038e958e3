"""Indices, conditions between them, loads and stores of a tile statement.

An index that is affine in the lanes with step 1 moves whole vectors; any other is taken lane by
lane, so that no index is beyond what can be printed. A load that is not provably in range happens
only where the conditions around it hold.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce

from photic.codegen.frame import Frame, Point, Value
from photic.codegen.words import Spelled, dim_text
from photic.ir import index as form
from photic.ir.dim import Dim, data, substitute, var, variables
from photic.ir.dtype import BOOL, DType
from photic.ir.index import Access, Buffer, Expr
from photic.loops.layout import offset

SMALL_STEP = 2**20  # lane numbers times this stay inside int32
LANE = "lane"  # the C variable that counts the lanes of one vector


def dim(frame: Frame, value: Dim, point: Point, lane: Dim = 0) -> str:
    """The C text of an index at a point, at one lane (the first unless said)."""
    table = frame.table(point, lane)
    for atom, computed in form.data_in((value,)):
        found = frame.emit(computed)
        assert lane != 0 or not found.vector, "a vector has an index for each lane"
        name = found.name(point) + (f"[{LANE}]" if found.vector else "")
        table[atom] = data(Spelled(f"(int64_t){name}"), atom.low, atom.high)
    return dim_text(substitute(value, table))


def _at_each_lane(frame: Frame, value: Dim, point: Point) -> str:
    """The C text of an index inside a loop over the lanes."""
    return dim(frame, value, point, var(LANE, frame.width))


def _each_lane(limit: object) -> str:
    """The head of a loop over the lanes."""
    return f"for (int {LANE} = 0; {LANE} < {limit}; {LANE}++)"


def _lane_by_lane(frame: Frame, dtype: DType, text: str, limit: object, condition: str = "") -> str:
    """A vector filled in a loop: each lane ``text``, or zero where the condition fails."""
    zeros = frame.words.call("splat", dtype.short, frame.width, "0")
    name = frame.words.declare(frame.words.type(dtype.short, frame.width), zeros)
    test = f"if ({condition}) " if condition else ""
    frame.words.line(f"{_each_lane(limit)} {test}{name}[{LANE}] = {text};")
    return name


def position(frame: Frame, expr: Expr, index: Dim) -> Value:
    """The value of an index as int64."""
    step = frame.step(index)

    def even(text: str) -> str:
        base, lane = _first_and_lanes(frame, "i64", text)
        assert step is not None
        return f"{base} + {lane}*({dim_text(step)})"

    return _of_index(frame, expr, index, "{}", even if step is not None else None)


def order(frame: Frame, expr: Expr, gap: Dim) -> Value:
    """An index condition: ``-gap < 0``, in int32 where the lanes' part is small."""
    gap = -gap
    step = frame.step(gap)
    if not isinstance(step, int):
        return _of_index(frame, expr, gap, "-({} < 0)", None)
    short = "i32" if abs(step) <= SMALL_STEP else "i64"

    def even(text: str) -> str:
        clamped = f"clamp({text})" if short == "i32" else text
        base, lane = _first_and_lanes(frame, short, clamped)
        return frame.words.call("lt", short, frame.width, base, f"{lane}*({-step})")

    return _of_index(frame, expr, gap, "-({} < 0)", even)


def _first_and_lanes(frame: Frame, short: str, text: str) -> tuple[str, str]:
    """A number in every lane, and the lanes' own numbers."""
    words, width = frame.words, frame.width
    return words.call("splat", short, width, text), words.call("iota", short, width)


def _of_index(
    frame: Frame, expr: Expr, index: Dim, scalar: str, even: Callable[[str], str] | None
) -> Value:
    """What is made of an index: ``scalar``, or for a vector ``even`` of where the first lane is.

    A vector whose index does not move evenly is ``scalar`` lane by lane.
    """
    over, vector = frame.spread(expr.free)

    def name(point: Point) -> str:
        if not vector:
            return frame.declare(expr.dtype, 1, scalar.format(dim(frame, index, point)))
        if even is not None:
            return frame.declare(expr.dtype, frame.width, even(dim(frame, index, point)))
        text = scalar.format(_at_each_lane(frame, index, point))
        return _lane_by_lane(frame, expr.dtype, text, frame.width)

    return frame.value(over, vector, expr.dtype, name)


# --- memory ---------------------------------------------------------------------------------


def _allowed(frame: Frame, expr: Expr) -> Value:
    """The conjunction of the conditions that a load needs; its name is empty if it needs none.

    Each condition is computed where those before it hold.
    """
    if frame.is_safe(expr) or not frame.guard:
        return Value({(): ""}, (), False, BOOL)
    terms = (frame.under(frame.guard[:k]).emit(term) for k, term in enumerate(frame.guard))
    key = ("allowed", frame.guard, frame.lanes)
    return frame.once(key, lambda: reduce(frame.both, terms))


def load(frame: Frame, expr: Expr, access: Access) -> Value:
    """A load at every point; under a guard it happens only where the guard holds."""
    allowed, dtype = _allowed(frame, expr), expr.dtype
    over, vector = frame.spread(expr.free)
    place = offset(access.buffer.shape, frame.layouts[access.buffer], access.index)

    def name(point: Point) -> str:
        mask = allowed.name(point)
        if vector:
            return _vector_load(frame, access.buffer, place, point, mask, allowed.vector)
        text = _element(frame, access.buffer, dim(frame, place, point))
        if allowed.vector:
            mask = frame.words.call("any", "bool", frame.width, mask)
        made = frame.declare(dtype, 1, f"{mask} ? {text} : 0" if mask else text)
        return frame.repeated(made, dtype) if allowed.vector else made

    over = frame.in_order({*over, *allowed.over})
    return frame.value(over, vector or allowed.vector, dtype, name)


def _address(buffer: Buffer, place: str) -> str:
    return f"{buffer.name} + {place}*{buffer.dtype.bytes}"


def _element(frame: Frame, buffer: Buffer, place: str) -> str:
    """The load of one element."""
    return frame.words.call("load", buffer.dtype.short, 1, _address(buffer, place))


def _vector_load(
    frame: Frame, buffer: Buffer, place: Dim, point: Point, mask: str, is_masked: bool
) -> str:
    """The load of one vector: whole, in part, or lane by lane."""
    words, short, width = frame.words, buffer.dtype.short, frame.width
    valid = frame.valid_at(point)
    zeros = words.call("splat", short, width, "0")
    if frame.step(place) == 1 and not is_masked:
        where = _address(buffer, dim(frame, place, point))
        text = words.call("load", short, width, where)
        if valid:
            text = words.call("load_part", short, width, where, valid)
        return frame.declare(buffer.dtype, width, f"{mask} ? {text} : {zeros}" if mask else text)
    text = _element(frame, buffer, _at_each_lane(frame, place, point))
    condition = f"{mask}[{LANE}]" if is_masked else mask
    return _lane_by_lane(frame, buffer.dtype, text, valid or width, condition)


def store(frame: Frame, buffer: Buffer, index: tuple[Dim, ...], value: Value) -> None:
    """The store of a value at every point: vectors whole, in part, or lane by lane."""
    words, short = frame.words, buffer.dtype.short
    over, vector = frame.spread(frozenset().union(*map(variables, index)))
    value = frame.splat(value) if vector else value
    place = offset(buffer.shape, frame.layouts[buffer], index)
    for point in frame.points(over):
        name, valid = value.name(point), frame.valid_at(point) if vector else ""
        if vector and frame.step(place) != 1:
            where = _address(buffer, _at_each_lane(frame, place, point))
            text = words.call("store", short, 1, where, f"{name}[{LANE}]")
            words.line(f"{_each_lane(valid or frame.width)} {text};")
            continue
        where = _address(buffer, dim(frame, place, point))
        lanes, op = frame.width if vector else 1, "store_part" if valid else "store"
        words.line(words.call(op, short, lanes, where, name, *filter(None, [valid])) + ";")
