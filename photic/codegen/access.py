"""Indices, conditions between them, loads and stores of a tile statement.

An index that is affine in the lanes with step 1 moves whole vectors; any other is taken lane by
lane, so that no index is beyond what can be printed. A load that is not provably in range happens
only where the conditions around it hold.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from photic.codegen.frame import Frame, Point, Value
from photic.codegen.words import dim_text
from photic.ir import dim as dims
from photic.ir import index as form
from photic.ir.dim import Atom, Computed, Data, Dim, Var, atoms, data, substitute, variables
from photic.ir.dtype import BOOL
from photic.ir.index import Access, Buffer, Expr, Order
from photic.loops.layout import offset

SMALL_STEP = 2**20  # lane numbers times this stay inside int32
LANE = "lane"  # the C variable that counts the lanes of one vector


@dataclass(frozen=True, slots=True)
class _Spelled:
    """A value inside an index, already computed: its C text."""

    text: str

    def substitute(self, table: Mapping[Atom, Dim]) -> Computed:
        return self

    def variables(self) -> set[Var]:
        return set()

    def shown(self) -> str:
        return self.text


def dim(frame: Frame, value: Dim, over: tuple[Var, ...], point: Point, lane: Dim = 0) -> str:
    """The C text of an index at a point, at one lane (the first unless said)."""
    table = _with_data(frame, value, over, point, lane != 0)
    table |= frame.table(over, point, lane)
    return dim_text(substitute(value, table), _text_of)


def _text_of(atom: Data) -> str:
    assert isinstance(atom.value, _Spelled)
    return atom.value.text


def _with_data(
    frame: Frame, value: Dim, over: tuple[Var, ...], point: Point, by_lane: bool
) -> dict[Atom, Dim]:
    """The texts of what is read from data in an index, as int64."""
    table: dict[Atom, Dim] = {}
    for atom in atoms(value):
        if isinstance(atom, Data):
            assert isinstance(atom.value, Expr)
            found = frame.emit(atom.value)
            assert by_lane or not found.vector, "a vector has an index for each lane"
            name = found.name(over, point) + (f"[{LANE}]" if found.vector else "")
            table[atom] = data(_Spelled(f"(int64_t){name}"), atom.low, atom.high)
    return table


def _each_lane(frame: Frame) -> Dim:
    return dims.var(LANE, frame.width)


def _step(frame: Frame, value: Dim) -> Dim | None:
    """How far an index moves from lane to lane, if it moves evenly."""
    assert frame.lanes is not None
    return dims.coefficient_of(value, frame.lanes.axis)


def _lane_by_lane(
    frame: Frame, kind: str, start: str, text: str, limit: str, condition: str = ""
) -> str:
    """A vector filled in a loop: each lane ``text``, or ``start`` where the condition fails."""
    words, name = frame.words, frame.words.fresh()
    words.line(f"{kind} {name} = {start};")
    test = f"if ({condition}) " if condition else ""
    head = f"for (int {LANE} = 0; {LANE} < {limit}; {LANE}++)"
    words.line(f"{head} {test}{name}[{LANE}] = {text};")
    return name


def position(frame: Frame, expr: Expr, index: Dim) -> Value:
    """The value of an index as int64."""
    over, vector = frame.over(expr.free), frame.is_vector(expr.free)
    names = {}
    for point in frame.points(over):
        if not vector:
            names[point] = frame.declare(expr.dtype, 1, dim(frame, index, over, point))
            continue
        step, short, width = _step(frame, index), expr.dtype.short, frame.width
        if step is None:
            text = dim(frame, index, over, point, _each_lane(frame))
            kind = frame.words.type(short, width)
            zeros = frame.words.call("splat", short, width, "0")
            names[point] = _lane_by_lane(frame, kind, zeros, text, str(width))
            continue
        base = frame.words.call("splat", short, width, dim(frame, index, over, point))
        lane = frame.words.call("iota", short, width)
        names[point] = frame.declare(expr.dtype, width, f"{base} + {lane}*({dim_text(step)})")
    return Value(names, over, vector, expr.dtype)


def order(frame: Frame, expr: Expr, attribute: Order) -> Value:
    """An index condition: ``0 < gap``."""
    over, vector = frame.over(expr.free), frame.is_vector(expr.free)
    gap = dims.mul(attribute.gap, -1)
    names = {}
    for point in frame.points(over):
        if vector:
            names[point] = _vector_order(frame, gap, over, point)
        else:
            text = f"-({dim(frame, gap, over, point)} < 0)"
            names[point] = frame.declare(BOOL, 1, text)
    return Value(names, over, vector, BOOL)


def _vector_order(frame: Frame, gap: Dim, over: tuple[Var, ...], point: Point) -> str:
    """``gap < 0`` for each lane, in int32 where the lanes' part is small: the rest is clamped."""
    words, width, step = frame.words, frame.width, _step(frame, gap)
    if not isinstance(step, int):
        text = f"-({dim(frame, gap, over, point, _each_lane(frame))} < 0)"
        kind, zeros = words.type("bool", width), words.call("splat", "bool", width, "0")
        return _lane_by_lane(frame, kind, zeros, text, str(width))
    short = "i32" if abs(step) <= SMALL_STEP else "i64"
    text = dim(frame, gap, over, point)
    base = words.call("splat", short, width, f"clamp({text})" if short == "i32" else text)
    lane = words.call("iota", short, width)
    return frame.declare(BOOL, width, words.call("lt", short, width, base, f"{lane}*({-step})"))


# --- memory ---------------------------------------------------------------------------------


def address(buffer: Buffer, place: str) -> str:
    """The address of an element."""
    return f"{buffer.name} + {place}*{buffer.dtype.bytes}"


def is_safe(frame: Frame, expr: Expr) -> bool:
    """True if no load inside needs a guard: every index is provably in range."""
    if expr not in frame.safe:
        for one in form.walk(expr):
            inner = (value for _, value in form.data_in(form.dims_of(one.attribute)))
            parts = (*one.children, *inner)
            frame.safe[one] = _is_in_range(one) and all(frame.safe[part] for part in parts)
    return frame.safe[expr]


def _is_in_range(expr: Expr) -> bool:
    """True if this is no load, or one whose index is provably inside its buffer."""
    one = expr.attribute
    return not isinstance(one, Access) or all(map(dims.is_within, one.index, one.buffer.shape))


def _allowed(frame: Frame) -> Value | None:
    """The conjunction of the conditions that hold here; each is computed where those before do."""
    key = ("allowed", frame.guard, frame.lanes)
    found = frame.known(key)
    if found is None and frame.guard:
        for place, term in enumerate(frame.guard):
            with frame.under(frame.guard[:place]):
                value = frame.emit(term)
            found = value if found is None else frame.joined("and", "bool", [found, value], BOOL)
        assert found is not None
        frame.scopes[-1][key] = found
    return found


def load(frame: Frame, expr: Expr, access: Access) -> Value:
    """A load at every point; under a guard it happens only where the guard holds."""
    allowed = None if is_safe(frame, expr) else _allowed(frame)
    over, vector = frame.over(expr.free), frame.is_vector(expr.free)
    if allowed is not None:
        over, vector = frame.in_order({*over, *allowed.over}), vector or allowed.vector
    place = offset(access.buffer.shape, frame.layouts[access.buffer], access.index)
    names = {}
    for point in frame.points(over):
        mask = "" if allowed is None else allowed.name(over, point)
        masked = allowed is not None and allowed.vector
        if frame.is_vector(expr.free):
            names[point] = _vector_load(frame, access.buffer, place, (over, point), (mask, masked))
            continue
        text = _element(frame, access.buffer, dim(frame, place, over, point))
        if masked:
            mask = frame.words.call("any", "bool", frame.width, mask)
        names[point] = frame.declare(expr.dtype, 1, f"{mask} ? {text} : 0" if mask else text)
        if vector:
            splat = frame.words.call("splat", expr.dtype.short, frame.width, names[point])
            names[point] = frame.declare(expr.dtype, frame.width, splat)
    return Value(names, over, vector, expr.dtype)


def _element(frame: Frame, buffer: Buffer, place: str) -> str:
    """The load of one element."""
    return frame.words.call("load", buffer.dtype.short, 1, address(buffer, place))


def _vector_load(
    frame: Frame,
    buffer: Buffer,
    place: Dim,
    at: tuple[tuple[Var, ...], Point],
    guard: tuple[str, bool],
) -> str:
    """The load of one vector: whole, in part, or lane by lane."""
    words, short, width = frame.words, buffer.dtype.short, frame.width
    valid = frame.valid.get(frame.vector_number(*at))
    zeros = words.call("splat", short, width, "0")
    mask, is_masked = guard
    if _step(frame, place) == 1 and not is_masked:
        where = address(buffer, dim(frame, place, *at))
        text = words.call("load", short, width, where)
        if valid is not None:
            text = words.call("load_part", short, width, where, valid)
        return frame.declare(buffer.dtype, width, f"{mask} ? {text} : {zeros}" if mask else text)
    text = _element(frame, buffer, dim(frame, place, *at, _each_lane(frame)))
    condition = f"{mask}[{LANE}]" if is_masked else mask
    kind = words.type(short, width)
    return _lane_by_lane(frame, kind, zeros, text, valid or str(width), condition)


def store(frame: Frame, buffer: Buffer, index: tuple[Dim, ...], value: Value) -> None:
    """The store of a value at every point."""
    free = frozenset().union(*(variables(one) for one in index))
    over, vector = frame.over(free), frame.is_vector(free)
    value = frame.splat(value) if vector else value
    place = offset(buffer.shape, frame.layouts[buffer], index)
    for point in frame.points(over):
        name = value.name(over, point)
        if vector:
            _vector_store(frame, buffer, place, name, (over, point))
        else:
            where = address(buffer, dim(frame, place, over, point))
            frame.words.line(frame.words.call("store", buffer.dtype.short, 1, where, name) + ";")


def _vector_store(
    frame: Frame, buffer: Buffer, place: Dim, name: str, at: tuple[tuple[Var, ...], Point]
) -> None:
    """The store of one vector: whole, in part, or lane by lane."""
    words, short, width = frame.words, buffer.dtype.short, frame.width
    valid = frame.valid.get(frame.vector_number(*at))
    if _step(frame, place) == 1:
        where = address(buffer, dim(frame, place, *at))
        if valid is not None:
            words.line(words.call("store_part", short, width, where, name, valid) + ";")
        else:
            words.line(words.call("store", short, width, where, name) + ";")
        return
    where = address(buffer, dim(frame, place, *at, _each_lane(frame)))
    text = words.call("store", short, 1, where, f"{name}[{LANE}]")
    words.line(f"for (int {LANE} = 0; {LANE} < {valid or width}; {LANE}++) {text};")
