"""Reductions of a tile statement: accumulators in registers, loops around the body.

Nested equal reductions share their accumulators. A reduction whose variable runs across the lanes
keeps a vector of partial results and combines them at the end.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial, reduce

from photic.codegen.frame import Frame, Point, Value
from photic.codegen.words import dim_text, number_text
from photic.ir import index as form
from photic.ir.dim import Var, bounds, product
from photic.ir.dtype import BOOL, DType
from photic.ir.index import Expr

TERMS = 128  # of a sum of floats, one after the other; twice as many where an inner loop has them
JOIN = {"sum": "add", "max": "max"}


def reduction(frame: Frame, expr: Expr) -> Value:
    """The register tile of a reduction: accumulators, and the loops that fill them."""
    axes, body = form.reduction(expr)
    lanes, dtype = frame.lanes, expr.dtype
    is_across = lanes.reduced and lanes.axis in axes and lanes.axis in body.free
    inside = replace(frame, inside_lanes=True) if is_across else frame
    result = _started(inside, inside.in_order(body.free), dtype, _identity(expr, axes))
    parts = expr.op == "sum" and dtype.kind == "float"
    _Accumulators(expr.op, result, parts=parts).loops(inside, axes, body)
    return _combined(frame, expr.op, result) if is_across else result


def _started(frame: Frame, over: tuple[Var, ...], dtype: DType, start: str) -> Value:
    """New accumulators."""
    kind = frame.words.type(dtype.short, frame.width if frame.is_vector(over) else 1)
    text = frame.call("splat", dtype.short, start) if frame.is_vector(over) else start
    return frame.value(over, dtype, lambda _: frame.words.declare(kind, text))


def _combined(frame: Frame, op: str, sums: Value) -> Value:
    """The lanes of all vectors side by side taken together."""
    *over, axis = sums.over
    join = partial(frame.call, JOIN[op], sums.dtype.short)

    def name(point: Point) -> str:
        vectors = [sums.name({**point, axis: number}) for number in range(frame.lanes.count)]
        text = frame.call(f"h{op}", sums.dtype.short, reduce(join, vectors))
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


def _most(axes: Sequence[Var]) -> int:
    """How many points there are at the largest sizes."""
    return math.prod(bounds(axis.extent)[1] for axis in axes)


@dataclass(frozen=True, slots=True)
class _Accumulators:
    """What a reduction accumulates into; only lanes of ``masks`` change, where there are some.

    Long sums of floats are sums of ``parts``, so that what rounding adds up to stays small.
    """

    op: str
    result: Value
    masks: Sequence[str] = ()  # by vector
    parts: bool = False

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
        elif self.parts and _most(rest) <= 2 * TERMS and _most(axes) > TERMS:
            self.in_parts(frame, axes, body)
        else:
            with frame.words.loop(axis.name, axis.extent):
                self.loops(frame.scope(), rest, body)

    def in_parts(self, frame: Frame, axes: Sequence[Var], body: Expr) -> None:
        """The loop over the first axis in pieces, each summed by itself."""
        words, result, axis = frame.words, self.result, axes[0]
        step = max(1, TERMS // _most(axes[1:]))
        name, extent = axis.name, dim_text(axis.extent)
        with words.block(f"for (int64_t {name}_b = 0; {name}_b < {extent}; {name}_b += {step})"):
            inside, start = frame.scope(), number_text(form.zero(result.dtype))
            part = _started(inside, result.over, result.dtype, start)
            stop = f"{name}_b + {step}"
            end = words.declare("const int64_t", f"{stop} < {extent} ? {stop} : {extent}")
            with words.block(f"for (int64_t {name} = {name}_b; {name} < {end}; {name}++)"):
                replace(self, result=part, parts=False).loops(inside.scope(), axes[1:], body)
            lanes = frame.width if frame.is_vector(result.over) else 1
            for point in frame.points(result.over):
                sums = result.name(point), part.name(point)
                words.line(f"{sums[0]} = {words.call('add', result.dtype.short, lanes, *sums)};")

    def lane_loops(self, frame: Frame, rest: Sequence[Var], body: Expr) -> None:
        """Whole tiles of vectors, then part of one: no extent moves a term to another lane."""
        words, width, axis = frame.words, frame.width, frame.lanes.axis
        name, extent, step = axis.name, dim_text(axis.extent), frame.lanes.count * width
        words.line(f"int64_t {name} = 0;")
        with words.block(f"for (; {name} + {step} <= {extent}; {name} += {step})"):
            self.loops(frame.scope(), rest, body)
        left = axis.extent % step if isinstance(axis.extent, int) else step
        if left == 0:
            return
        with words.block(f"if ({name} < {extent})"):
            last = frame.counted(-(-left // width)).partly(f"{extent} - {name}")
            counts = [frame.call("splat", "i32", valid) for valid in last.valid]
            texts = (frame.call("lt", "i32", frame.call("iota", "i32"), one) for one in counts)
            masks = [last.declare(BOOL, width, text) for text in texts]
            replace(self, masks=masks).loops(last, rest, body)

    def update(self, frame: Frame, body: Expr) -> None:
        """Accumulate the body's value; a product goes in fused."""
        result, words = self.result, frame.words
        vector, short = frame.is_vector(result.over), result.dtype.short
        lanes = frame.width if vector else 1
        fused = self.op == "sum" and body.op == "mul" and result.dtype.kind == "float"
        values = [frame.emit(child) for child in (body.children if fused else (body,))]
        values = [frame.splat(one) if vector else one for one in values]
        for point in frame.points(result.over):
            name, arguments = result.name(point), [one.name(point) for one in values]
            join = ("fma", *arguments, name) if fused else (JOIN[self.op], name, *arguments)
            text = words.call(join[0], short, lanes, *join[1:])
            if self.masks:
                mask = self.masks[point[frame.lanes.axis]]
                text = words.call("sel", short, lanes, mask, text, name)
            words.line(f"{name} = {text};")
