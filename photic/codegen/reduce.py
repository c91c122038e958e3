"""Reductions of a tile statement: accumulators in registers, loops around the body.

Nested equal reductions share their accumulators. A reduction whose variable runs across the lanes
keeps a vector of partial results and combines them at the end.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import reduce

from photic.codegen.frame import Frame, Point, Value
from photic.codegen.words import dim_text, number_text
from photic.ir import index as form
from photic.ir.dim import Var, bounds, product
from photic.ir.dtype import BOOL
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
    partial = _accumulated(replace(frame, inside_lanes=True), expr, axes, body)
    over = tuple(one for one in partial.over if one is not lanes.axis)

    def join(left: str, right: str) -> str:
        return frame.words.call(JOIN[expr.op], expr.dtype.short, lanes.width, left, right)

    def name(point: Point) -> str:
        vectors = frame.points(partial.over[len(over) :])
        total = reduce(join, [partial.name(point | vector) for vector in vectors])
        text = frame.words.call(ACROSS[expr.op], expr.dtype.short, lanes.width, total)
        return frame.declare(expr.dtype, 1, text)

    return frame.value(over, False, expr.dtype, name)


def _accumulated(frame: Frame, expr: Expr, axes: list[Var], body: Expr) -> Value:
    """Declare accumulators, print the loops, give back the accumulators."""
    over, vector = frame.spread(body.free)
    lanes = frame.width if vector else 1
    kind, start = frame.words.type(expr.dtype.short, lanes), _identity(expr, axes)
    if vector:
        start = frame.words.call("splat", expr.dtype.short, lanes, start)
    result = frame.value(over, vector, expr.dtype, lambda _: frame.words.declare(kind, start))
    _Accumulators(expr.op, result).loops(frame, axes, body)
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


@dataclass(frozen=True, slots=True)
class _Accumulators:
    """What a reduction accumulates into; only lanes of ``mask`` change, if there is one."""

    op: str
    result: Value
    mask: str = ""

    def loops(self, frame: Frame, axes: list[Var], body: Expr) -> None:
        """The loops over the axes from the outside, and the update inside."""
        if not axes:
            self.update(frame, body)
            return
        axis, rest = axes[0], axes[1:]
        if axis in frame.tile.inner:
            assert isinstance(axis.extent, int)
            for at in range(axis.extent):
                self.loops(frame, rest, form.substitute_expr(body, {axis: at}))
        elif frame.lanes is not None and frame.inside_lanes and axis == frame.lanes.axis:
            with frame.words.block(""):
                self.lane_loops(frame, frame.lanes, rest, body)
        else:
            with frame.words.loop(axis.name, axis.extent):
                self.loops(frame.scope(), rest, body)

    def lane_loops(self, frame: Frame, lanes: Lanes, rest: list[Var], body: Expr) -> None:
        """Whole tiles of vectors, then single vectors, then what is left in a part of one."""
        name, extent, words = lanes.axis.name, dim_text(lanes.axis.extent), frame.words
        words.line(f"int64_t {name} = 0;")
        for count in dict.fromkeys((lanes.count, 1)):
            step = count * lanes.width
            with words.block(f"for (; {name} + {step} <= {extent}; {name} += {step})"):
                self.loops(frame.counted(lanes, count), rest, body)
        if isinstance(lanes.axis.extent, int) and lanes.axis.extent % lanes.width == 0:
            return
        with words.block(f"if ({name} < {extent})"):
            left = frame.counted(lanes, 1).partly(1, f"{extent} - {name}")
            lane = words.call("iota", "i32", lanes.width)
            last = words.call("splat", "i32", lanes.width, left.valid[0])
            mask = left.declare(BOOL, lanes.width, words.call("lt", "i32", lanes.width, lane, last))
            replace(self, mask=mask).loops(left, rest, body)

    def update(self, frame: Frame, body: Expr) -> None:
        """Accumulate the body's value; a product goes in fused."""
        result, words = self.result, frame.words
        lanes, short = frame.width if result.vector else 1, result.dtype.short
        fused = self.op == "sum" and body.op == "mul" and result.dtype.kind == "float"
        values = [frame.emit(child) for child in (body.children if fused else (body,))]
        if result.vector:
            values = [frame.splat(one) for one in values]
        for point in frame.points(result.over):
            name, arguments = result.name(point), [one.name(point) for one in values]
            if fused:
                text = words.call("fma", short, lanes, *arguments, name)
            else:
                text = words.call(JOIN[self.op], short, lanes, name, *arguments)
            if self.mask:
                text = words.call("sel", short, lanes, self.mask, text, name)
            words.line(f"{name} = {text};")
