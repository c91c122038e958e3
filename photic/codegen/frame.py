"""The register tiles of one tile statement: which values exist, where, and under which conditions.

A ``Value`` holds a C name for each point of the unrolled variables that it varies over. A ``Frame``
is where printing stands in one statement: the scopes of values already computed, the conditions
that hold, the lanes. Equal values are computed once a scope. How a value is computed is said
elsewhere (``tile``, ``access``, ``reduce``).
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

from photic.codegen.words import Words
from photic.ir.dim import Atom, Dim, Var, coefficient_of, var
from photic.ir.dtype import BOOL, DType
from photic.ir.index import Buffer, Expr, Over, data_in, dims_of, is_in_range, walk
from photic.ir.nest import Lanes, Tile
from photic.ir.program import Layout
from photic.ir.walk import parts_first

Point = dict[Var, int]
Key = tuple[object, ...]


NO_LANES = Lanes(Var("", 1), 1, 1, None, False)


@dataclass(frozen=True, slots=True)
class Value:
    """C names by point; ``over`` are the variables it varies over, in tile order.

    These are unrolled ones, and that of the vectors side by side if it is a vector.
    """

    names: dict[tuple[int, ...], str]
    over: tuple[Var, ...]
    dtype: DType

    def name(self, point: Point) -> str:
        """The name at a point of these variables, or of more."""
        return self.names[tuple(point[one] for one in self.over)]


@dataclass(frozen=True, slots=True)
class Frame:
    """Where printing stands; ``compute`` prints a value whose ``operands`` are known."""

    tile: Tile
    layouts: dict[Buffer, Layout]
    words: Words
    compute: Callable[[Frame, Expr], Value]
    lanes: Lanes
    inside_lanes: bool
    valid: Sequence[str] = ()  # how many lanes of each vector count; all, if there is nothing
    guard: tuple[Expr, ...] = ()
    scopes: tuple[dict[Key, Value], ...] = field(default_factory=lambda: ({},))
    safe: dict[Expr, bool] = field(default_factory=dict)

    # --- the same frame, but ------------------------------------------------------------------

    def scope(self) -> Frame:
        """Values computed there are not known outside."""
        return replace(self, scopes=(*self.scopes, {}))

    def under(self, terms: tuple[Expr, ...]) -> Frame:
        """These conditions, and no others, hold."""
        return replace(self, guard=terms)

    def counted(self, count: int) -> Frame:
        """A scope with another number of vectors side by side."""
        return replace(self.scope(), lanes=replace(self.lanes, count=count))

    def partly(self, valid: str) -> Frame:
        """Only so many lanes of the vectors side by side count."""
        starts = range(0, self.lanes.count * self.width, self.width)
        texts = [f"lane_count({valid} - {start}, {self.width})" for start in starts]
        return replace(self, valid=[self.words.declare("const int", text) for text in texts])

    # --- points -----------------------------------------------------------------------------

    @property
    def width(self) -> int:
        """Lanes of a vector; 1 if no variable runs across them."""
        return self.lanes.width

    def is_vector(self, over: Collection[Var]) -> bool:
        """True if a value over these variables differs from lane to lane."""
        return self.lanes.axis in over

    def in_order(self, axes: Collection[Var]) -> tuple[Var, ...]:
        """The unrolled variables among these, in tile order; that of the vectors comes last."""
        return tuple(one for one in (*self.tile.unrolled, self.lanes.axis) if one in axes)

    def points(self, over: tuple[Var, ...]) -> Iterator[Point]:
        """Every point of the unrolled variables."""
        for numbers in itertools.product(*(range(self.count(one)) for one in over)):
            yield dict(zip(over, numbers, strict=True))

    def count(self, one: Var) -> int:
        """How many values of an unrolled variable stand side by side."""
        if one == self.lanes.axis:
            return self.lanes.count
        assert isinstance(one.extent, int)
        return one.extent

    def table(self, point: Point, lane: Dim) -> dict[Atom, Dim]:
        """Index values at a point and at one lane of its vector."""
        table: dict[Atom, Dim] = dict(point.items())
        if self.inside_lanes:
            axis = self.lanes.axis
            base = var(axis.name, axis.extent) if self.lanes.reduced else 0
            table[axis] = base + lane + point.get(axis, 0) * self.width
        return table

    def step(self, index: Dim) -> Dim | None:
        """How far an index moves from lane to lane, if it moves evenly."""
        return coefficient_of(index, self.lanes.axis)

    def valid_at(self, point: Point) -> str:
        """How many lanes of the vector at a point count; empty if all do."""
        return self.valid[point[self.lanes.axis]] if self.valid else ""

    # --- values -----------------------------------------------------------------------------

    def emit(self, expr: Expr) -> Value:
        """The register tile of a value, computed now unless it already is."""
        for one in parts_first((expr,), self.waiting, ()):
            value = self.once(self.key(one), partial(self.compute, self, one))
        return value

    def waiting(self, expr: Expr) -> list[Expr]:
        """The operands that are not known yet, the last first."""
        return [one for one in reversed(operands(expr)) if self.known(self.key(one)) is None]

    def key(self, expr: Expr) -> Key:
        """What a value's register tile depends on."""
        return (expr, () if self.is_safe(expr) else self.guard, self.lanes)

    def known(self, key: Key) -> Value | None:
        """A value computed in this scope or one around it."""
        return next((one[key] for one in reversed(self.scopes) if key in one), None)

    def once(self, key: Key, make: Callable[[], Value]) -> Value:
        """The value known under a key, made now if there is none."""
        found = self.known(key)
        if found is None:
            found = self.scopes[-1][key] = make()
        return found

    def is_safe(self, expr: Expr) -> bool:
        """True if no load inside needs a guard: every index is provably in range."""
        if expr not in self.safe:
            for one in walk(expr):
                inner = (value for _, value in data_in(dims_of(one.attribute)))
                parts = (*one.children, *inner)
                self.safe[one] = is_in_range(one) and all(self.safe[part] for part in parts)
        return self.safe[expr]

    def value(self, over: tuple[Var, ...], dtype: DType, name: Callable[[Point], str]) -> Value:
        """The value with this name at each point."""
        names = {tuple(point.values()): name(point) for point in self.points(over)}
        return Value(names, over, dtype)

    def call(self, op: str, short: str, *arguments: str) -> str:
        """The call of a prelude function for whole vectors."""
        return self.words.call(op, short, self.width, *arguments)

    def declare(self, dtype: DType, lanes: int, text: str) -> str:
        """A new constant C variable."""
        return self.words.declare(f"const {self.words.type(dtype.short, lanes)}", text)

    def splat(self, value: Value) -> Value:
        """A scalar value repeated over the lanes; a vector as it is."""
        if self.is_vector(value.over):
            return value

        def name(point: Point) -> str:
            return self.repeated(value.name(point), value.dtype)

        return self.value(value.over, value.dtype, name)

    def repeated(self, name: str, dtype: DType) -> str:
        """A vector with the same number in every lane."""

        def make() -> Value:
            made = self.declare(dtype, self.width, self.call("splat", dtype.short, name))
            return Value({(): made}, (), dtype)

        return self.once(("splat", name, dtype, self.width), make).name({})

    def joined(self, op: str, short: str, values: list[Value], dtype: DType) -> Value:
        """The prelude's ``op`` for ``short``, of values of any points; the result has ``dtype``."""
        over = self.in_order({axis for one in values for axis in one.over})
        lanes = self.width if self.is_vector(over) else 1
        values = [self.splat(one) for one in values] if self.is_vector(over) else values

        def name(point: Point) -> str:
            text = self.words.call(op, short, lanes, *(one.name(point) for one in values))
            return self.declare(dtype, lanes, text)

        return self.value(over, dtype, name)

    def both(self, left: Value, right: Value) -> Value:
        """The conjunction of two conditions."""
        return self.joined("and", "bool", [left, right], BOOL)


def operands(expr: Expr) -> tuple[Expr, ...]:
    """What is computed before a value, in the same scope and under the same conditions."""
    is_plain = expr.op != "select" and not isinstance(expr.attribute, Over)
    return expr.children if is_plain and not is_conjunction(expr) else ()


def is_conjunction(expr: Expr) -> bool:
    """True for conditions of which the first guard the others."""
    return expr.op == "mul" and expr.dtype == BOOL
