"""Reductions of a tile statement: accumulators in registers, loops around the body.

Nested equal reductions share their accumulators. A reduction whose variable runs across the lanes
keeps a vector of partial results and combines them at the end.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial, reduce

from photic.codegen.frame import Frame, Point, Value
from photic.codegen.words import dim_text, number_text
from photic.ir import index as form
from photic.ir.dim import Var, bounds, product
from photic.ir.dtype import BOOL
from photic.ir.index import Expr

JOIN = {"sum": "add", "max": "max"}
ACROSS = {"sum": "hsum", "max": "hmax"}


def reduction(frame: Frame, expr: Expr) -> Value:
    """The register tile of a reduction: accumulators, and the loops that fill them."""
    axes, body = form.reduction(expr)
    lanes, words, dtype = frame.lanes, frame.words, expr.dtype
    is_across = lanes.reduced and lanes.axis in axes and lanes.axis in body.free
    inside = replace(frame, inside_lanes=True) if is_across else frame
    over = inside.in_order(body.free)
    vector = inside.is_vector(over)
    kind, start = words.type(dtype.short, frame.width if vector else 1), _identity(expr, axes)
    if vector:
        start = frame.call("splat", dtype.short, start)
    result = inside.value(over, dtype, lambda _: words.declare(kind, start))
    _Accumulators(expr.op, result).loops(inside, axes, body)
    return _combined(frame, expr.op, result) if is_across else result


def _combined(frame: Frame, op: str, sums: Value) -> Value:
    """The lanes of all vectors side by side taken together."""
    *over, axis = sums.over
    join = partial(frame.call, JOIN[op], sums.dtype.short)

    def name(point: Point) -> str:
        vectors = [sums.name({**point, axis: number}) for number in range(frame.lanes.count)]
        text = frame.call(ACROSS[op], sums.dtype.short, reduce(join, vectors))
        return frame.declare(sums.dtype, 1, text)

    return frame.value(tuple(over), sums.dtype, name)


def _identity(expr: Expr, axes: Sequence[Var]) -> str:
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

    def loops(self, frame: Frame, axes: Sequence[Var], body: Expr) -> None:
        """The loops over the axes from the outside, and the update inside."""
        if not axes:
            self.update(frame, body)
            return
        axis, rest = axes[0], axes[1:]
        if axis in frame.tile.inner:
            assert isinstance(axis.extent, int)
            for at in range(axis.extent):
                self.loops(frame, rest, form.substitute_expr(body, {axis: at}))
        elif frame.inside_lanes and axis == frame.lanes.axis:
            with frame.words.block(""):
                self.lane_loops(frame, rest, body)
        else:
            with frame.words.loop(axis.name, axis.extent):
                self.loops(frame.scope(), rest, body)

    def lane_loops(self, frame: Frame, rest: Sequence[Var], body: Expr) -> None:
        """Whole tiles of vectors, then single vectors, then what is left in a part of one."""
        words, width, axis = frame.words, frame.width, frame.lanes.axis
        name, extent = axis.name, dim_text(axis.extent)
        words.line(f"int64_t {name} = 0;")
        for count in dict.fromkeys((frame.lanes.count, 1)):
            step = count * width
            with words.block(f"for (; {name} + {step} <= {extent}; {name} += {step})"):
                self.loops(frame.counted(count), rest, body)
        if isinstance(axis.extent, int) and axis.extent % width == 0:
            return
        with words.block(f"if ({name} < {extent})"):
            left = frame.counted(1).partly(f"{extent} - {name}")
            lane, last = frame.call("iota", "i32"), frame.call("splat", "i32", left.valid[0])
            mask = left.declare(BOOL, width, frame.call("lt", "i32", lane, last))
            replace(self, mask=mask).loops(left, rest, body)

    def update(self, frame: Frame, body: Expr) -> None:
        """Accumulate the body's value; a product goes in fused."""
        result, words = self.result, frame.words
        vector, short = frame.is_vector(result.over), result.dtype.short
        lanes = frame.width if vector else 1
        fused = self.op == "sum" and body.op == "mul" and result.dtype.kind == "float"
        values = [frame.emit(child) for child in (body.children if fused else (body,))]
        if vector:
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
