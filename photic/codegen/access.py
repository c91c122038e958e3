"""Indices, conditions between them, loads and stores of a tile statement.

An index that is affine in the lanes with step 1 moves whole vectors. Loads have operations for
lanes evenly apart, and for an index computed for each lane; stores are then done lane by lane. A
load that is not provably in range happens only where the conditions around it hold.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce

from photic.codegen.frame import Frame, Point, Value
from photic.codegen.words import Spelled, dim_text
from photic.forms.layout import offset
from photic.ir.dim import Dim, Var, data, substitute, terms_of, var, variables
from photic.ir.dtype import BOOL, INT64, DType
from photic.ir.index import Access, Buffer, Expr, data_in

SMALL_STEP = 2**20  # lane numbers times this stay inside int32
STORES = {1: "store", 2: "store_pairs", 4: "store_fours"}  # of so many points side by side
LANE = "lane"  # the C variable that counts the lanes of one vector


def dim(frame: Frame, value: Dim, point: Point, lane: Dim = 0) -> str:
    """The C text of an index at a point, at one lane (the first unless said)."""
    table = frame.table(point, lane)
    for atom, computed in data_in((value,)):
        found = frame.emit(computed)
        assert lane != 0 or not frame.is_vector(found.over), "a vector has an index for each lane"
        name = found.name(point) + (f"[{LANE}]" if frame.is_vector(found.over) else "")
        table[atom] = data(Spelled(f"(int64_t){name}"), atom.low, atom.high)
    return dim_text(substitute(value, table))


def _at_each_lane(frame: Frame, value: Dim, point: Point) -> str:
    """The C text of an index inside a loop over the lanes."""
    return dim(frame, value, point, var(LANE, frame.width))


def _each_lane(limit: object) -> str:
    """The head of a loop over the lanes."""
    return f"for (int {LANE} = 0; {LANE} < {limit}; {LANE}++)"


def _lane_by_lane(frame: Frame, dtype: DType, text: str) -> str:
    """A vector filled in a loop, each lane with ``text``."""
    name = frame.words.declare(frame.words.type(dtype.short, frame.width), "0")
    frame.words.line(f"{_each_lane(frame.width)} {name}[{LANE}] = {text};")
    return name


def position(frame: Frame, expr: Expr, index: Dim) -> Value:
    """The value of an index as int64."""
    step = frame.step(index)

    def even(text: str) -> str:
        base, lane = frame.call("splat", "i64", text), frame.call("iota", "i64")
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
        base = frame.call("splat", short, f"clamp({text})" if short == "i32" else text)
        return frame.call("lt", short, base, f"{frame.call('iota', short)}*({-step})")

    return _of_index(frame, expr, gap, "-({} < 0)", even)


def _of_index(
    frame: Frame, expr: Expr, index: Dim, scalar: str, even: Callable[[str], str] | None
) -> Value:
    """What is made of an index: ``scalar``, or for a vector ``even`` of where the first lane is.

    A vector whose index does not move evenly is ``scalar`` lane by lane.
    """

    def name(point: Point) -> str:
        if not frame.is_vector(expr.free):
            return frame.declare(expr.dtype, 1, scalar.format(dim(frame, index, point)))
        if even is not None:
            return frame.declare(expr.dtype, frame.width, even(dim(frame, index, point)))
        text = scalar.format(_at_each_lane(frame, index, point))
        return _lane_by_lane(frame, expr.dtype, text)

    return frame.value(frame.in_order(expr.free), expr.dtype, name)


# --- memory ---------------------------------------------------------------------------------


def _allowed(frame: Frame, expr: Expr) -> Value:
    """The conjunction of the conditions that a load needs; its name is empty if it needs none.

    Each condition is computed where those before it hold.
    """
    if frame.is_safe(expr) or not frame.guard:
        return Value({(): ""}, (), BOOL)
    terms = (frame.under(frame.guard[:k]).emit(term) for k, term in enumerate(frame.guard))
    key = ("allowed", frame.guard, frame.lanes)
    return frame.once(key, lambda: reduce(frame.both, terms))


def load(frame: Frame, expr: Expr, access: Access) -> Value:
    """A load at every point; under a guard it happens only where the guard holds."""
    allowed, dtype = _allowed(frame, expr), expr.dtype
    is_masked = frame.is_vector(allowed.over)
    place = offset(access.buffer.shape, frame.layouts[access.buffer], access.index)

    def name(point: Point) -> str:
        if frame.is_vector(expr.free):
            return _vector_load(frame, access.buffer, place, point, allowed)
        where, mask = _address(frame, access.buffer, place, point), allowed.name(point)
        text = frame.words.call("load", dtype.short, 1, where)
        if is_masked:
            mask = frame.call("any", "bool", mask)
        made = frame.declare(dtype, 1, f"{mask} ? {text} : 0" if mask else text)
        return frame.repeated(made, dtype) if is_masked else made

    return frame.value(frame.in_order({*expr.free, *allowed.over}), dtype, name)


def _address(frame: Frame, buffer: Buffer, place: Dim, point: Point, lane: Dim = 0) -> str:
    """Where a place lies; the number in it comes last: neighbours have the rest in common."""
    known = terms_of(substitute(place, frame.table(point, lane)))
    fixed = sum(number for atoms, number in known if not atoms)
    rest = dim(frame, place - fixed, point, lane)
    text = f"({rest} + {fixed}ll)" if fixed else rest
    return f"{buffer.name} + {text}*{buffer.dtype.bytes}"


def _vector_load(frame: Frame, buffer: Buffer, place: Dim, point: Point, allowed: Value) -> str:
    """The load of one vector: of elements side by side, evenly apart, or anywhere.

    Panels are read from end to end, so what comes next is fetched ahead.
    """
    short, valid, mask = buffer.dtype.short, frame.valid_at(point), allowed.name(point)
    step, is_masked = frame.step(place), frame.is_vector(allowed.over)
    some = (mask if is_masked else frame.call("splat", "bool", "-1"), valid or str(frame.width))
    if step is None:
        index = _lane_by_lane(frame, INT64, _at_each_lane(frame, place, point))
        text = frame.call("gather", short, buffer.name, index, *some)
    else:
        op, apart = ("load", ()) if step == 1 else ("load_even", (dim_text(step),))
        where = _address(frame, buffer, place, point)
        if is_masked or (valid and apart):
            text = frame.call(f"{op}_masked", short, where, *apart, *some)
        elif valid:
            text = frame.call("load_part", short, where, valid)
        else:
            ahead = "_ahead" if step == 1 and frame.layouts[buffer].tile > 1 else ""
            text = frame.call(op + ahead, short, where, *apart)
    if mask and not is_masked:
        text = f"{mask} ? {text} : {frame.call('splat', short, '0')}"
    return frame.declare(buffer.dtype, frame.width, text)


def store(frame: Frame, buffer: Buffer, index: tuple[Dim, ...], value: Value) -> None:
    """The store of a value at every point: vectors whole, in part, or lane by lane."""
    words, short = frame.words, buffer.dtype.short
    over = frame.in_order(frozenset().union(*map(variables, index)))
    vector = frame.is_vector(over)
    value = frame.splat(value) if vector else value
    place = offset(buffer.shape, frame.layouts[buffer], index)
    for run in _side_by_side(frame, place, over):
        names, valid = [value.name(one) for one in run], frame.valid_at(run[0]) if vector else ""
        if vector and not run[1:] and frame.step(place) != 1:
            where = _address(frame, buffer, place, run[0], var(LANE, frame.width))
            text = words.call("store", short, 1, where, f"{names[0]}[{LANE}]")
            words.line(f"{_each_lane(valid or frame.width)} {text};")
            continue
        where = _address(frame, buffer, place, run[0])
        names += filter(None, [dim_text(frame.step(place) or 0) if run[2:] else valid])
        op = STORES[len(run)] + ("_part" if valid else "")
        words.line(words.call(op, short, frame.width if vector else 1, where, *names) + ";")


def _side_by_side(frame: Frame, place: Dim, over: tuple[Var, ...]) -> list[list[Point]]:
    """The points of a store: as many of ``STORES`` together as lie right behind each other."""
    runs, step = dict[Dim, list[Point]](), frame.step(place)
    is_apart = frame.is_vector(over) and step not in (None, 1)
    most = 2 if is_apart and step == 2 else 4 if is_apart and not frame.valid else 1
    for one in frame.points(over):
        where = substitute(place, frame.table(one, 0))
        is_next = 0 < len(runs.get(where - 1, ())) < most
        runs[where] = [*(runs.pop(where - 1) if is_next else ()), one]
    whole = [[run] if len(run) == most else [[one] for one in run] for run in runs.values()]
    return [run for part in whole for run in part]
