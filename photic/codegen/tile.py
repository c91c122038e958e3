"""One tile statement: its values as register tiles, its reductions as loops, its stores.

A ``Value`` holds a C name for each point of the unrolled variables that it varies over. Reductions
open loops and scopes of their own; what a scope computes is not seen outside it.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from photic.codegen.words import Words, dim_text, number_text
from photic.ir import index as form
from photic.ir.dim import (
    Atom,
    Data,
    Dim,
    Var,
    add,
    bounds,
    coefficient_of,
    is_within,
    mul,
    product,
    substitute,
    var,
    variables,
)
from photic.ir.dtype import DType
from photic.ir.index import Access, Buffer, Expr, Order, Over, Position
from photic.ir.program import Layout
from photic.loops.layout import offset
from photic.loops.nest import Lanes, Tile

SMALL_STEP = 2**20  # lane numbers times this stay inside int32

Point = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Value:
    """C names by point; ``over`` are the unrolled variables it varies over, in tile order."""

    names: dict[Point, str]
    over: tuple[Var, ...]
    vector: bool
    dtype: DType


@dataclass(frozen=True, slots=True)
class Guard:
    """The index conditions that hold where a value is computed."""

    terms: tuple[Expr, ...] = ()


class TilePrinter:
    """Prints one tile statement into ``words``."""

    def __init__(self, tile: Tile, layouts: dict[Buffer, Layout], words: Words) -> None:
        self.tile = tile
        self.layouts = layouts
        self.words = words
        self.lanes: Lanes | None = tile.lanes
        self.guard = Guard()
        self.scopes: list[dict[tuple[object, ...], Value]] = [{}]
        self.unguarded: dict[Expr, bool] = {}
        self.valid: dict[int, str] = {}
        self.inside_lanes = tile.lanes is not None and not tile.lanes.reduced

    # --- points -----------------------------------------------------------------------------

    @property
    def width(self) -> int:
        """Lanes of a vector where the tile's variable runs across them, else 1."""
        return self.lanes.width if self.lanes is not None else 1

    def over(self, free: frozenset[Var]) -> tuple[Var, ...]:
        """The unrolled variables (and the vectors side by side) among the free ones."""
        axes = [one for one in self.tile.unrolled if one in free]
        if self.lanes is not None and self.lanes.count > 1 and self.is_vector(free):
            axes.append(self.lanes.axis)
        return tuple(axes)

    def is_vector(self, free: frozenset[Var]) -> bool:
        """True if a value with these free variables differs from lane to lane."""
        return self.lanes is not None and self.inside_lanes and self.lanes.axis in free

    def points(self, over: tuple[Var, ...]) -> Iterator[Point]:
        """Every point of the unrolled variables."""
        return itertools.product(*(range(self.count(one)) for one in over))

    def count(self, one: Var) -> int:
        """How many values of an unrolled variable stand side by side."""
        if self.lanes is not None and one == self.lanes.axis:
            return self.lanes.count
        assert isinstance(one.extent, int)
        return one.extent

    def table(self, over: tuple[Var, ...], point: Point) -> dict[Atom, Dim]:
        """Index values at a point; the lanes' variable stands at its first lane."""
        table: dict[Atom, Dim] = dict(zip(over, point, strict=True))
        if self.lanes is not None and self.inside_lanes:
            axis = self.lanes.axis
            base = var(axis.name, axis.extent) if self.lanes.reduced else 0
            at = table.get(axis, 0)
            table[axis] = add(base, mul(at, self.lanes.width))
        return table

    def name(self, value: Value, over: tuple[Var, ...], point: Point) -> str:
        """The name of a value at a point of more variables than it varies over."""
        at = dict(zip(over, point, strict=True))
        return value.names[tuple(at[one] for one in value.over)]

    # --- scopes -----------------------------------------------------------------------------

    @contextmanager
    def scope(self) -> Iterator[None]:
        """Values computed inside are forgotten at the end."""
        self.scopes.append({})
        yield
        self.scopes.pop()

    @contextmanager
    def guarded(self, terms: tuple[Expr, ...]) -> Iterator[None]:
        """Conditions that hold inside."""
        before = self.guard
        self.guard = Guard((*before.terms, *terms))
        yield
        self.guard = before

    def known(self, key: tuple[object, ...]) -> Value | None:
        """A value computed in this scope or one around it."""
        return next((one[key] for one in reversed(self.scopes) if key in one), None)

    # --- values -----------------------------------------------------------------------------

    def emit(self, expr: Expr) -> Value:
        """The register tile of a value, computed now unless it already is."""
        guard = Guard() if self.is_safe(expr) else self.guard
        key = (expr, guard, self.lanes)
        found = self.known(key)
        if found is None:
            found = self.compute(expr)
            self.scopes[-1][key] = found
        return found

    def is_safe(self, expr: Expr) -> bool:
        """True if no load inside needs a guard: every index is provably in range."""
        if expr not in self.unguarded:
            self.unguarded[expr] = all(
                is_within(at, extent)
                for access in form.loads(expr)
                for at, extent in zip(access.index, access.buffer.shape, strict=True)
            )
        return self.unguarded[expr]

    def compute(self, expr: Expr) -> Value:
        """Print the computation of a value."""
        if expr.op == "number":
            return Value({(): number_text(expr)}, (), False, expr.dtype)
        if isinstance(expr.attribute, Access):
            return self.load(expr, expr.attribute)
        if isinstance(expr.attribute, Position):
            return self.position(expr, expr.attribute.index)
        if isinstance(expr.attribute, Order):
            return self.order(expr, expr.attribute)
        if isinstance(expr.attribute, Over):
            return self.reduction(expr)
        if expr.op == "select":
            return self.select(expr)
        return self.operation(expr, [self.emit(child) for child in expr.children])

    def declare(self, dtype: DType, lanes: int, text: str) -> str:
        """A new constant C variable."""
        name = self.words.fresh()
        self.words.line(f"const {self.words.type(dtype.short, lanes)} {name} = {text};")
        return name

    def operation(self, expr: Expr, values: list[Value]) -> Value:
        """An element-by-element operation over the union of its operands' points."""
        vector = any(one.vector for one in values)
        lanes = self.width if vector else 1
        over = self.union(values)
        values = [self.splat(one) for one in values] if vector else values
        names: dict[Point, str] = {}
        for point in self.points(over):
            arguments = [self.name(one, over, point) for one in values]
            names[point] = self.declare(expr.dtype, lanes, self.spelled(expr, lanes, arguments))
        return Value(names, over, vector, expr.dtype)

    def union(self, values: list[Value]) -> tuple[Var, ...]:
        """The variables that any of the values varies over, in tile order."""
        return self.over_of({axis for one in values for axis in one.over})

    def over_of(self, axes: set[Var]) -> tuple[Var, ...]:
        """Variables in tile order."""
        order = [*self.tile.unrolled, *([self.lanes.axis] if self.lanes is not None else [])]
        return tuple(one for one in order if one in axes)

    def spelled(self, expr: Expr, lanes: int, arguments: list[str]) -> str:
        """The call of an operation."""
        call = self.words.call
        source = expr.children[0].dtype.short
        if expr.op == "cast":
            return call(f"cast_{source}", expr.dtype.short, lanes, *arguments)
        if expr.op == "less_than":
            if source == "bool":
                return call("not", "bool", lanes, arguments[0])
            return call("lt", source, lanes, *arguments)
        word = {"maximum": "max"}.get(expr.op, expr.op)
        if source == "bool":
            word = {"mul": "and", "add": "or", "max": "or"}[word]
        return call(word, expr.dtype.short, lanes, *arguments)

    def splat(self, value: Value) -> Value:
        """A scalar value repeated over the lanes; a vector as it is."""
        if value.vector:
            return value
        names = {}
        for point, name in value.names.items():
            key = ("splat", name, value.dtype, self.width)
            found = self.known(key)
            if found is None:
                text = self.words.call("splat", value.dtype.short, self.width, name)
                made = self.declare(value.dtype, self.width, text)
                found = Value({(): made}, (), True, value.dtype)
                self.scopes[-1][key] = found
            names[point] = found.names[()]
        return Value(names, value.over, True, value.dtype)

    def select(self, expr: Expr) -> Value:
        """A choice; index conditions guard the loads of either side."""
        condition = self.emit(expr.children[0])
        terms = tuple(form.conjuncts(expr.children[0]))
        guards = tuple(one for one in terms if isinstance(one.attribute, Order))
        opposite = form.negation(terms[0]) if len(terms) == 1 and guards else form.TRUE
        with self.guarded(guards):
            yes = self.emit(expr.children[1])
        with self.guarded((opposite,) if isinstance(opposite.attribute, Order) else ()):
            no = self.emit(expr.children[2])
        values = [condition, yes, no]
        over, vector = self.union(values), any(one.vector for one in values)
        lanes = self.width if vector else 1
        if vector:
            values = [self.splat(one) for one in values]
        names = {}
        for point in self.points(over):
            arguments = [self.name(one, over, point) for one in values]
            text = self.words.call("sel", expr.dtype.short, lanes, *arguments)
            names[point] = self.declare(expr.dtype, lanes, text)
        return Value(names, over, vector, expr.dtype)

    # --- indices ----------------------------------------------------------------------------

    def dim(self, value: Dim, over: tuple[Var, ...], point: Point) -> str:
        """The C text of an index at a point."""
        return dim_text(substitute(value, self.table(over, point)), self.data)

    def data(self, atom: Data) -> str:
        """An index read from data: a scalar, as int64."""
        assert isinstance(atom.value, Expr)
        value = self.emit(atom.value)
        assert not value.vector and not value.over, "a data index does not vary inside a tile"
        return f"(int64_t){value.names[()]}"

    def stride(self, value: Dim) -> int:
        """How far an index moves from lane to lane."""
        assert self.lanes is not None
        step = coefficient_of(value, self.lanes.axis)
        assert isinstance(step, int), f"lanes need an affine index, got {value}"
        return step

    def position(self, expr: Expr, index: Dim) -> Value:
        """The value of an index as int64."""
        over, vector = self.over(expr.free), self.is_vector(expr.free)
        names = {}
        for point in self.points(over):
            text = self.dim(index, over, point)
            if vector:
                lane = self.words.call("iota", "i64", self.width)
                base = self.words.call("splat", "i64", self.width, text)
                text = f"{base} + {lane}*({self.stride(index)}ll)"
            names[point] = self.declare(expr.dtype, self.width if vector else 1, text)
        return Value(names, over, vector, expr.dtype)

    def order(self, expr: Expr, order: Order) -> Value:
        """An index condition: ``0 < gap``."""
        over, vector = self.over(expr.free), self.is_vector(expr.free)
        gap = mul(order.gap, -1)
        names = {}
        for point in self.points(over):
            text = self.dim(gap, over, point)
            if vector:
                step = -self.stride(gap)
                short = "i32" if abs(step) <= SMALL_STEP else "i64"
                text = f"clamp({text})" if short == "i32" else text
                base = self.words.call("splat", short, self.width, text)
                lane = self.words.call("iota", short, self.width)
                text = self.words.call("lt", short, self.width, base, f"{lane}*({step})")
            else:
                text = f"-({text} < 0)"
            names[point] = self.declare(expr.dtype, self.width if vector else 1, text)
        return Value(names, over, vector, expr.dtype)

    # --- memory -----------------------------------------------------------------------------

    def load(self, expr: Expr, access: Access) -> Value:
        """A load at every point; under a guard it happens only where the guard holds."""
        guard = form.TRUE
        if not self.is_safe(expr):
            for term in self.guard.terms:
                guard = form.both(guard, term)
        allowed = None if guard is form.TRUE else self.emit(guard)
        free = expr.free | (guard.free if allowed else frozenset())
        over, vector = self.over(free), self.is_vector(free)
        place = offset(access.buffer.shape, self.layouts[access.buffer], access.index)
        names = {}
        for point in self.points(over):
            mask = None if allowed is None else self.name(allowed, over, point)
            if self.is_vector(expr.free):
                masked = allowed is not None and allowed.vector
                names[point] = self.vector_load(access.buffer, place, over, point, mask, masked)
                continue
            text = self.element(access.buffer, self.dim(place, over, point))
            if mask is not None and vector:
                mask = self.words.call("any", "bool", self.width, mask)
            names[point] = self.declare(
                expr.dtype, 1, text if mask is None else f"{mask} ? {text} : 0"
            )
            if vector:
                splat = self.words.call("splat", expr.dtype.short, self.width, names[point])
                names[point] = self.declare(expr.dtype, self.width, splat)
        return Value(names, over, vector, expr.dtype)

    def element(self, buffer: Buffer, place: str) -> str:
        """The load of one element."""
        return self.words.call("load", buffer.dtype.short, 1, address(buffer, place))

    def vector_load(
        self,
        buffer: Buffer,
        place: Dim,
        over: tuple[Var, ...],
        point: Point,
        mask: str | None,
        masked: bool,
    ) -> str:
        """The load of one vector: whole, in part, or lane by lane."""
        short, width = buffer.dtype.short, self.width
        base, step = self.dim(place, over, point), self.stride(place)
        number = self.vector_number(over, point)
        if step == 1 and not masked:
            text = self.words.call("load", short, width, address(buffer, base))
            if self.valid:
                part = (address(buffer, base), self.valid[number])
                text = self.words.call("load_part", short, width, *part)
            if mask is not None:
                text = f"{mask} ? {text} : {self.words.call('splat', short, width, '0')}"
            return self.declare(buffer.dtype, width, text)
        name = self.words.fresh()
        lane = self.element(buffer, f"({base} + {step}ll*lane)")
        condition = mask if mask is None or not masked else f"{mask}[lane]"
        limit = self.valid.get(number, str(width))
        kind = self.words.type(short, width)
        self.words.line(f"{kind} {name} = {self.words.call('splat', short, width, '0')};")
        test = "" if condition is None else f"if ({condition}) "
        self.words.line(f"for (int lane = 0; lane < {limit}; lane++) {test}{name}[lane] = {lane};")
        return name

    def vector_number(self, over: tuple[Var, ...], point: Point) -> int:
        """Which of the vectors side by side a point names."""
        assert self.lanes is not None
        return dict(zip(over, point, strict=True)).get(self.lanes.axis, 0)

    def print_store(self) -> None:
        """The whole statement."""
        store, lanes = self.tile.store, self.lanes
        if lanes is not None and lanes.valid is not None:
            self.partial(lanes, dim_text(lanes.valid))
        value = self.emit(store.value)
        free = frozenset().union(*(variables(one) for one in store.index))
        over, vector = self.over(free), self.is_vector(free)
        value = self.splat(value) if vector else value
        place = offset(store.buffer.shape, self.layouts[store.buffer], store.index)
        for point in self.points(over):
            name = self.name(value, over, point)
            base = self.dim(place, over, point)
            if vector:
                self.vector_store(store.buffer, base, self.stride(place), name, over, point)
            else:
                where = address(store.buffer, base)
                call = self.words.call("store", store.buffer.dtype.short, 1, where, name)
                self.words.line(call + ";")

    def partial(self, lanes: Lanes, valid: str) -> None:
        """Note how many lanes of each vector are valid."""
        for number in range(lanes.count):
            name = self.words.fresh()
            count = f"lane_count({valid} - {number * lanes.width}, {lanes.width})"
            self.words.line(f"const int {name} = {count};")
            self.valid[number] = name

    def vector_store(
        self,
        buffer: Buffer,
        base: str,
        step: int,
        name: str,
        over: tuple[Var, ...],
        point: Point,
    ) -> None:
        """The store of one vector: whole, in part, or lane by lane."""
        short, number = buffer.dtype.short, self.vector_number(over, point)
        if step == 1:
            where = address(buffer, base)
            if self.valid:
                text = self.words.call(
                    "store_part", short, self.width, where, name, self.valid[number]
                )
            else:
                text = self.words.call("store", short, self.width, where, name)
            self.words.line(text + ";")
            return
        where = address(buffer, f"({base} + {step}ll*lane)")
        text = self.words.call("store", short, 1, where, f"{name}[lane]")
        limit = self.valid.get(number, str(self.width))
        self.words.line(f"for (int lane = 0; lane < {limit}; lane++) {text};")

    # --- reductions -------------------------------------------------------------------------

    def reduction(self, expr: Expr) -> Value:
        """Accumulators in registers, loops around the body, nested equal reductions as one."""
        axes: list[Var] = []
        body = expr
        while isinstance(body.attribute, Over) and body.op == expr.op:
            axes.append(body.attribute.axis)
            body = body.children[0]
        lanes = self.lanes
        if lanes is not None and lanes.reduced and lanes.axis in axes and lanes.axis in body.free:
            return self.across(expr, axes, body, lanes)
        return self.accumulated(expr, axes, body)

    def across(self, expr: Expr, axes: list[Var], body: Expr, lanes: Lanes) -> Value:
        """A reduction over the lanes: vectors of partial results, combined at the end."""
        self.inside_lanes = True
        partial = self.accumulated(expr, axes, body)
        self.inside_lanes = False
        word = {"sum": "hsum", "max": "hmax"}[expr.op]
        join = {"sum": "add", "max": "max"}[expr.op]
        short, names = expr.dtype.short, dict[Point, str]()
        over = tuple(one for one in partial.over if one is not lanes.axis)
        for point in self.points(over):
            parts = [
                partial.names[(*point, *one)] for one in self.points(partial.over[len(over) :])
            ]
            total = parts[0]
            for part in parts[1:]:
                total = self.words.call(join, short, lanes.width, total, part)
            text = self.words.call(word, short, lanes.width, total)
            names[point] = self.declare(expr.dtype, 1, text)
        return Value(names, over, False, expr.dtype)

    def accumulated(self, expr: Expr, axes: list[Var], body: Expr) -> Value:
        """Declare accumulators, print the loops, give back the accumulators."""
        free = body.free
        over, vector = self.over(free), self.is_vector(free)
        lanes = self.width if vector else 1
        kind = self.words.type(expr.dtype.short, lanes)
        start = self.identity(expr, axes)
        if vector:
            start = self.words.call("splat", expr.dtype.short, lanes, start)
        names = {}
        for point in self.points(over):
            names[point] = self.words.fresh()
            self.words.line(f"{kind} {names[point]} = {start};")
        result = Value(names, over, vector, expr.dtype)
        self.loops(expr, axes, body, result, None)
        return result

    def identity(self, expr: Expr, axes: list[Var]) -> str:
        """The start of the accumulators; the sum of nothing is +0."""
        if expr.op == "max":
            return number_text(form.lowest(expr.dtype))
        empty = number_text(form.zero(expr.dtype))
        count = product(axis.extent for axis in axes)
        if expr.dtype.kind == "float" and bounds(count)[0] <= 0:
            zero = number_text(form.number(0.0, expr.dtype))
            return f"({dim_text(count)} == 0 ? {zero} : {empty})"
        return empty

    def loops(
        self, expr: Expr, axes: list[Var], body: Expr, result: Value, mask: str | None
    ) -> None:
        """The loops over the axes from the outside, and the update inside."""
        if not axes:
            self.update(expr, body, result, mask)
            return
        axis, rest = axes[0], axes[1:]
        if axis in self.tile.inner:
            assert isinstance(axis.extent, int)
            for at in range(axis.extent):
                self.loops(expr, rest, form.substitute_expr(body, {axis: at}), result, mask)
            return
        if self.lanes is not None and self.inside_lanes and axis == self.lanes.axis:
            self.lane_loops(expr, rest, body, result, self.lanes)
            return
        extent = dim_text(axis.extent)
        self.words.line(f"for (int64_t {axis.name} = 0; {axis.name} < {extent}; {axis.name}++) {{")
        self.words.indent += 1
        with self.scope():
            self.loops(expr, rest, body, result, mask)
        self.words.close()

    def lane_loops(
        self, expr: Expr, rest: list[Var], body: Expr, result: Value, lanes: Lanes
    ) -> None:
        """Whole tiles of vectors, then single vectors, then the lanes that are left."""
        name, extent = lanes.axis.name, dim_text(lanes.axis.extent)
        self.words.line("{")
        self.words.indent += 1
        self.words.line(f"int64_t {name} = 0;")
        for count in dict.fromkeys((lanes.count, 1)):
            step = count * lanes.width
            self.words.line(f"for (; {name} + {step} <= {extent}; {name} += {step}) {{")
            self.words.indent += 1
            with self.scope(), self.counted(lanes, count):
                self.loops(expr, rest, body, self.first(result, lanes, count), None)
            self.words.close()
        if not (isinstance(lanes.axis.extent, int) and lanes.axis.extent % lanes.width == 0):
            self.lanes_left(expr, rest, body, self.first(result, lanes, 1), lanes)
        self.words.close()

    def lanes_left(
        self, expr: Expr, rest: list[Var], body: Expr, result: Value, lanes: Lanes
    ) -> None:
        """The last lanes of a reduction: the others keep what they had."""
        name, extent = lanes.axis.name, dim_text(lanes.axis.extent)
        self.words.line(f"if ({name} < {extent}) {{")
        self.words.indent += 1
        with self.scope(), self.counted(lanes, 1):
            self.partial(Lanes(lanes.axis, lanes.width, 1, None, True), f"{extent} - {name}")
            lane = self.words.call("iota", "i32", lanes.width)
            last = self.words.call("splat", "i32", lanes.width, self.valid[0])
            test = self.words.call("lt", "i32", lanes.width, lane, last)
            self.words.type("bool", lanes.width)
            mask = self.words.fresh()
            self.words.line(f"const boolx{lanes.width} {mask} = {test};")
            self.loops(expr, rest, body, result, mask)
            self.valid = {}
        self.words.close()

    @contextmanager
    def counted(self, lanes: Lanes, count: int) -> Iterator[None]:
        """Another number of vectors side by side."""
        before = self.lanes
        self.lanes = Lanes(lanes.axis, lanes.width, count, None, True)
        yield
        self.lanes = before

    def first(self, result: Value, lanes: Lanes, count: int) -> Value:
        """The accumulators of the first ``count`` vectors."""
        if count == lanes.count or lanes.count == 1:
            return result
        over = tuple(one for one in result.over if one is not lanes.axis)
        return Value(
            {p: result.names[(*p, 0)] for p in self.points(over)}, over, True, result.dtype
        )

    def update(self, expr: Expr, body: Expr, result: Value, mask: str | None) -> None:
        """Accumulate the body's value; a product goes in fused."""
        lanes = self.width if result.vector else 1
        fused = expr.op == "sum" and body.op == "mul" and expr.dtype.kind == "float"
        values = [self.emit(child) for child in body.children] if fused else [self.emit(body)]
        if result.vector:
            values = [self.splat(one) for one in values]
        short = expr.dtype.short
        for point, name in result.names.items():
            arguments = [self.name(one, result.over, point) for one in values]
            if fused:
                text = self.words.call("fma", short, lanes, *arguments, name)
            else:
                text = self.joined(expr, short, lanes, name, arguments[0])
            if mask is not None:
                text = self.words.call("sel", short, lanes, mask, text, name)
            self.words.line(f"{name} = {text};")

    def joined(self, expr: Expr, short: str, lanes: int, name: str, value: str) -> str:
        """The accumulator with one more value."""
        if short == "bool":
            return self.words.call("or", short, lanes, name, value)
        return self.words.call({"sum": "add", "max": "max"}[expr.op], short, lanes, name, value)


def address(buffer: Buffer, place: str) -> str:
    """The address of an element."""
    return f"{buffer.name} + {place}*{buffer.dtype.bytes}"
