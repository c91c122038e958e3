"""Reductions of a tile statement: accumulators in registers, loops around the body.

Nested equal reductions share their accumulators. A reduction whose variable runs across the lanes
keeps a vector of partial results and combines them at the end.
"""

from __future__ import annotations

from photic.codegen.frame import Frame, Point, Value
from photic.codegen.words import dim_text, number_text
from photic.ir import index as form
from photic.ir.dim import Var, bounds, product
from photic.ir.index import Expr, Over
from photic.loops.nest import Lanes

JOIN = {"sum": "add", "max": "max"}
ACROSS = {"sum": "hsum", "max": "hmax"}


def reduction(frame: Frame, expr: Expr) -> Value:
    """The register tile of a reduction."""
    axes: list[Var] = []
    body = expr
    while isinstance(body.attribute, Over) and body.op == expr.op:
        axes.append(body.attribute.axis)
        body = body.children[0]
    lanes = frame.lanes
    if lanes is not None and lanes.reduced and lanes.axis in axes and lanes.axis in body.free:
        return _across(frame, expr, axes, body, lanes)
    return _accumulated(frame, expr, axes, body)


def _across(frame: Frame, expr: Expr, axes: list[Var], body: Expr, lanes: Lanes) -> Value:
    """A reduction over the lanes: vectors of partial results, combined at the end."""
    frame.inside_lanes = True
    partial = _accumulated(frame, expr, axes, body)
    frame.inside_lanes = False
    short, names = expr.dtype.short, dict[Point, str]()
    over = tuple(one for one in partial.over if one is not lanes.axis)
    for point in frame.points(over):
        parts = [partial.names[(*point, *one)] for one in frame.points(partial.over[len(over) :])]
        total = parts[0]
        for part in parts[1:]:
            total = frame.words.call(JOIN[expr.op], short, lanes.width, total, part)
        text = frame.words.call(ACROSS[expr.op], short, lanes.width, total)
        names[point] = frame.declare(expr.dtype, 1, text)
    return Value(names, over, False, expr.dtype)


def _accumulated(frame: Frame, expr: Expr, axes: list[Var], body: Expr) -> Value:
    """Declare accumulators, print the loops, give back the accumulators."""
    over, vector = frame.over(body.free), frame.is_vector(body.free)
    lanes = frame.width if vector else 1
    kind = frame.words.type(expr.dtype.short, lanes)
    start = _identity(expr, axes)
    if vector:
        start = frame.words.call("splat", expr.dtype.short, lanes, start)
    names = {}
    for point in frame.points(over):
        names[point] = frame.words.fresh()
        frame.words.line(f"{kind} {names[point]} = {start};")
    result = Value(names, over, vector, expr.dtype)
    _loops(frame, expr, axes, body, result, "")
    return result


def _identity(expr: Expr, axes: list[Var]) -> str:
    """The start of the accumulators; the sum of nothing is +0."""
    if expr.op == "max":
        return number_text(form.lowest(expr.dtype))
    empty = number_text(form.zero(expr.dtype))
    count = product(axis.extent for axis in axes)
    if expr.dtype.kind == "float" and bounds(count)[0] <= 0:
        zero = number_text(form.number(0.0, expr.dtype))
        return f"({dim_text(count)} == 0 ? {zero} : {empty})"
    return empty


def _loops(frame: Frame, expr: Expr, axes: list[Var], body: Expr, result: Value, mask: str) -> None:
    """The loops over the axes from the outside, and the update inside."""
    if not axes:
        _update(frame, expr, body, result, mask)
        return
    axis, rest = axes[0], axes[1:]
    if axis in frame.tile.inner:
        assert isinstance(axis.extent, int)
        for at in range(axis.extent):
            _loops(frame, expr, rest, form.substitute_expr(body, {axis: at}), result, mask)
        return
    if frame.lanes is not None and frame.inside_lanes and axis == frame.lanes.axis:
        _lane_loops(frame, expr, rest, body, result, frame.lanes)
        return
    name, extent = axis.name, dim_text(axis.extent)
    frame.words.line(f"for (int64_t {name} = 0; {name} < {extent}; {name}++) {{")
    frame.words.indent += 1
    with frame.scope():
        _loops(frame, expr, rest, body, result, mask)
    frame.words.close()


def _lane_loops(
    frame: Frame, expr: Expr, rest: list[Var], body: Expr, result: Value, lanes: Lanes
) -> None:
    """Whole tiles of vectors, then single vectors, then the lanes that are left."""
    name, extent, words = lanes.axis.name, dim_text(lanes.axis.extent), frame.words
    words.line("{")
    words.indent += 1
    words.line(f"int64_t {name} = 0;")
    for count in dict.fromkeys((lanes.count, 1)):
        step = count * lanes.width
        words.line(f"for (; {name} + {step} <= {extent}; {name} += {step}) {{")
        words.indent += 1
        with frame.scope(), frame.counted(lanes, count):
            _loops(frame, expr, rest, body, _first(frame, result, lanes, count), "")
        words.close()
    if not (isinstance(lanes.axis.extent, int) and lanes.axis.extent % lanes.width == 0):
        _lanes_left(frame, expr, rest, body, _first(frame, result, lanes, 1), lanes)
    words.close()


def _lanes_left(
    frame: Frame, expr: Expr, rest: list[Var], body: Expr, result: Value, lanes: Lanes
) -> None:
    """The last lanes of a reduction: the others keep what they had."""
    name, extent, words = lanes.axis.name, dim_text(lanes.axis.extent), frame.words
    words.line(f"if ({name} < {extent}) {{")
    words.indent += 1
    with frame.scope(), frame.counted(lanes, 1):
        count_lanes(frame, 1, f"{extent} - {name}")
        lane = words.call("iota", "i32", lanes.width)
        last = words.call("splat", "i32", lanes.width, frame.valid[0])
        mask = frame.declare(
            form.TRUE.dtype, lanes.width, words.call("lt", "i32", lanes.width, lane, last)
        )
        _loops(frame, expr, rest, body, result, mask)
        frame.valid = {}
    words.close()


def count_lanes(frame: Frame, vectors: int, valid: str) -> None:
    """Note how many lanes of each vector are valid."""
    for number in range(vectors):
        name = frame.words.fresh()
        count = f"lane_count({valid} - {number * frame.width}, {frame.width})"
        frame.words.line(f"const int {name} = {count};")
        frame.valid[number] = name


def _first(frame: Frame, result: Value, lanes: Lanes, count: int) -> Value:
    """The accumulators of the first ``count`` vectors."""
    if count == lanes.count or lanes.count == 1:
        return result
    over = tuple(one for one in result.over if one is not lanes.axis)
    names = {point: result.names[(*point, 0)] for point in frame.points(over)}
    return Value(names, over, True, result.dtype)


def _update(frame: Frame, expr: Expr, body: Expr, result: Value, mask: str) -> None:
    """Accumulate the body's value; a product goes in fused."""
    lanes, short = frame.width if result.vector else 1, expr.dtype.short
    fused = expr.op == "sum" and body.op == "mul" and expr.dtype.kind == "float"
    values = [frame.emit(child) for child in body.children] if fused else [frame.emit(body)]
    if result.vector:
        values = [frame.splat(one) for one in values]
    for point, name in result.names.items():
        arguments = [one.name(result.over, point) for one in values]
        if fused:
            text = frame.words.call("fma", short, lanes, *arguments, name)
        else:
            text = frame.words.call(JOIN[expr.op], short, lanes, name, arguments[0])
        if mask:
            text = frame.words.call("sel", short, lanes, mask, text, name)
        frame.words.line(f"{name} = {text};")
