"""The register tiles of one tile statement: which values exist, where, and under which conditions.

A ``Value`` holds a C name for each point of the unrolled variables that it varies over. A ``Frame``
is what the printing of one statement shares: the scopes of values already computed, the conditions
that hold, the lanes. Values are made elsewhere (``tile``, ``access``, ``reduce``).
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from photic.codegen.words import Words
from photic.ir.dim import Atom, Dim, Var, add, mul, var
from photic.ir.dtype import DType
from photic.ir.index import Buffer, Expr
from photic.ir.program import Layout
from photic.loops.nest import Lanes, Tile

Point = tuple[int, ...]
Key = tuple[object, ...]


@dataclass(frozen=True, slots=True)
class Value:
    """C names by point; ``over`` are the unrolled variables it varies over, in tile order."""

    names: dict[Point, str]
    over: tuple[Var, ...]
    vector: bool
    dtype: DType

    def name(self, over: tuple[Var, ...], point: Point) -> str:
        """The name at a point of these variables, or of more."""
        at = dict(zip(over, point, strict=True))
        return self.names[tuple(at[one] for one in self.over)]


@dataclass(slots=True)
class Frame:
    """The state of printing one statement; ``emit`` gives the register tile of a value."""

    tile: Tile
    layouts: dict[Buffer, Layout]
    words: Words
    emit: Callable[[Expr], Value]
    lanes: Lanes | None
    inside_lanes: bool
    guard: tuple[Expr, ...] = ()
    scopes: list[dict[Key, Value]] = field(default_factory=lambda: [{}])
    valid: dict[int, str] = field(default_factory=dict)  # how many lanes of each vector count
    safe: dict[Expr, bool] = field(default_factory=dict)

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

    def table(self, over: tuple[Var, ...], point: Point, lane: Dim) -> dict[Atom, Dim]:
        """Index values at a point and at one lane of its vector."""
        table: dict[Atom, Dim] = dict(zip(over, point, strict=True))
        if self.lanes is not None and self.inside_lanes:
            axis = self.lanes.axis
            base = var(axis.name, axis.extent) if self.lanes.reduced else 0
            table[axis] = add(add(base, lane), mul(table.get(axis, 0), self.lanes.width))
        return table

    def vector_number(self, over: tuple[Var, ...], point: Point) -> int:
        """Which of the vectors side by side a point names."""
        assert self.lanes is not None
        return dict(zip(over, point, strict=True)).get(self.lanes.axis, 0)

    def in_order(self, axes: set[Var]) -> tuple[Var, ...]:
        """Variables in tile order."""
        order = [*self.tile.unrolled, *([self.lanes.axis] if self.lanes is not None else [])]
        return tuple(one for one in order if one in axes)

    # --- scopes -----------------------------------------------------------------------------

    @contextmanager
    def scope(self) -> Iterator[None]:
        """Values computed inside are forgotten at the end."""
        self.scopes.append({})
        yield
        self.scopes.pop()

    @contextmanager
    def under(self, terms: tuple[Expr, ...]) -> Iterator[None]:
        """These conditions, and no others, hold inside."""
        before = self.guard
        self.guard = terms
        yield
        self.guard = before

    @contextmanager
    def counted(self, lanes: Lanes, count: int) -> Iterator[None]:
        """Another number of vectors side by side."""
        before = self.lanes
        self.lanes = Lanes(lanes.axis, lanes.width, count, None, True)
        yield
        self.lanes = before

    def known(self, key: Key) -> Value | None:
        """A value computed in this scope or one around it."""
        return next((one[key] for one in reversed(self.scopes) if key in one), None)

    # --- lines ------------------------------------------------------------------------------

    def declare(self, dtype: DType, lanes: int, text: str) -> str:
        """A new constant C variable."""
        name = self.words.fresh()
        self.words.line(f"const {self.words.type(dtype.short, lanes)} {name} = {text};")
        return name

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

    def joined(self, op: str, short: str, values: list[Value], dtype: DType) -> Value:
        """The prelude's ``op`` for ``short``, of values of any points; the result has ``dtype``."""
        vector = any(one.vector for one in values)
        lanes = self.width if vector else 1
        over = self.in_order({axis for one in values for axis in one.over})
        values = [self.splat(one) for one in values] if vector else values
        names: dict[Point, str] = {}
        for point in self.points(over):
            arguments = [one.name(over, point) for one in values]
            names[point] = self.declare(dtype, lanes, self.words.call(op, short, lanes, *arguments))
        return Value(names, over, vector, dtype)
