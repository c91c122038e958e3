"""Random graphs whose every output can be judged: to the bit where rounding is decided, else within
a bound.

While a graph grows, each value carries its elements and, beside them, how far two right answers may
lie apart. Only float sums of several terms and ``exp2 log2 sin`` leave any room; everything else is
correctly rounded, so its room is 0 and it must agree to the bit (the sign of a nan aside). What is
not decided to the bit is never compared, truncated, divided by or multiplied by infinity, so a
bound stays a bound. Same seed, same case.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from random import Random

import numpy as np
from fuzz.movements import (
    SIZES,
    Array,
    Movement,
    is_small,
    numbers,
    random_movement,
    random_shape,
    random_sizes,
)
from fuzz.values import LARGEST, STEP, TINY, RandomCase, Value, finite, rounding, settled

from photic.forms import movement
from photic.forms.eval import MEANING, convert, evaluate
from photic.forms.graph_names import named_sources, sizes_of
from photic.ir import graph as graphs
from photic.ir import view as views
from photic.ir.dim import Dim, add, bounds, mul, symbol
from photic.ir.dtype import BOOL, DTYPES, FLOAT16, FLOAT32, FLOAT64, INT64, DType, accumulator
from photic.ir.graph import Graph, Node, Operand
from photic.ir.view import Shape

OFFSET = symbol("p", 0, 4)
FLOATS = tuple(one for one in DTYPES.values() if one.kind == "float")
ULPS = 4  # two elementary functions, each within 2 ulp of the truth


def _trailing(count: int) -> Movement:
    """Axes of extent 1 after the last."""
    ones = (1,) * count
    return Movement(
        "reshape",
        lambda v: movement.reshape(v, (*v.shape, *ones)),
        lambda a, sizes: a.reshape(*a.shape, *ones),
    )


def _padded(before: Dim, after: Dim) -> Movement:
    def run(array: Array, sizes: Mapping[str, int]) -> Array:
        ends = [numbers((before, after), sizes)] + [(0, 0)] * (array.ndim - 1)
        return np.pad(array, ends, constant_values=array.dtype.type(-0.0))

    return Movement("pad", lambda v: movement.pad(v, 0, before, after), run)


@dataclass(slots=True)
class Grower:
    """A graph that grows: its values, what they were made of, and the source of chance."""

    random: Random
    sizes: dict[str, int]
    values: list[Value] = field(default_factory=list)
    inputs: dict[str, Array] = field(default_factory=dict)
    states: dict[str, Array] = field(default_factory=dict)
    state_nodes: list[Node] = field(default_factory=list)
    made: dict[Node, set[str]] = field(default_factory=dict)  # features of each node

    # --- sources

    def elements(self, shape: tuple[int, ...], dtype: DType) -> Array:
        """Adversarial elements: whole numbers, spread magnitudes, now and then the extremes."""
        draw = np.random.default_rng(self.random.randrange(2**32))
        if dtype == BOOL:
            return draw.integers(0, 2, shape).astype(bool)
        if dtype.kind == "int":
            low, high = self.random.choice([(0, 3), (-9, 9), (-100, 100), (dtype.low, dtype.high)])
            return draw.integers(max(low, dtype.low), high, shape, np.int64, True).astype(
                dtype.numpy
            )
        scale = self.random.choice([1.0, 1.0, 1e-3, 100.0])
        found = draw.standard_normal(shape) * scale
        if self.random.random() < 0.3:
            found = np.round(found)
        if self.random.random() < 0.2:
            some = [np.nan, np.inf, -np.inf, -0.0, 0.0, TINY[dtype.name] * 3, -1.0, 65519.0]
            found = np.where(draw.random(shape) < 0.3, draw.choice(some, shape), found)
        return convert(np.asarray(found), dtype.numpy)

    def source(self, shape: Shape, dtype: DType) -> Value:
        """A new input, state or constant."""
        array = self.elements(numbers(shape, self.sizes), dtype)
        is_fixed = all(isinstance(extent, int) for extent in shape)
        kind = self.random.choice(["input", "input", "state", "constant" if is_fixed else "input"])
        if kind == "constant":
            node = graphs.constant_node(array)
        elif kind == "input":
            name = f"x{len(self.inputs)}"
            node, self.inputs[name] = graphs.input_node(name, shape, dtype), array
        else:
            name = f"s{len(self.states)}"
            node, self.states[name] = graphs.state_node(name, shape, dtype), array
            self.state_nodes.append(node)
        return self.keep(graphs.operand(node), array, np.zeros(array.shape), kind)

    def iota(self, length: Dim) -> Value:
        array = np.arange(*numbers((length,), self.sizes))
        return self.keep(
            graphs.operand(graphs.iota_node(length)), array, np.zeros(array.shape), "iota"
        )

    def full(self, number: float, dtype: DType, shape: Shape) -> Value:
        """One number, seen everywhere."""
        array = np.array(number, dtype.numpy)
        scalar = Value(graphs.operand(graphs.constant_node(array)), array, np.zeros(()))
        return self.expanded(scalar, shape)

    # --- steps; each returns its value, or the one it was given where it does not apply

    def keep(self, operand: Operand, array: Array, room: Array, *features: str) -> Value:
        value = Value(operand, np.asarray(array), np.asarray(room))
        self.values.append(value)
        noted = self.made.setdefault(operand.node, set())
        noted.update([*features, operand.dtype.name])
        noted.update(name for name, is_so in [("empty", not value.array.size)] if is_so)
        noted.update(name for name, is_so in [("not finite", not value.is_finite)] if is_so)
        return value

    def moved(self, value: Value, change: Movement) -> Value:
        operand = Operand(value.operand.node, change.view(value.operand.view))
        array, room = (change.array(one, self.sizes) for one in (value.array, value.room))
        return self.keep(operand, array, room, f"view {change.name}")

    def expanded(self, value: Value, shape: Shape) -> Value:
        goal = numbers(shape, self.sizes)
        change = Movement(
            "expand", lambda v: movement.expand(v, shape), lambda a, sizes: np.broadcast_to(a, goal)
        )
        return self.moved(value, change)

    def primitive(self, op: str, node: Node, values: tuple[Value, ...], *along: int) -> Array:
        """The elements of a node, computed as its meaning says."""
        halves = [
            one.array.astype(np.float32) if one.dtype.is_half else one.array for one in values
        ]
        with np.errstate(all="ignore"):
            return convert(np.asarray(MEANING[op](*halves, *along)), node.dtype.numpy)

    def unary(self, value: Value) -> Value:
        if value.dtype.kind != "float" or not value.is_exact:
            return value
        op = self.random.choice(["exp2", "log2", "sin", "sqrt", "recip"])
        node = graphs.unary(op, value.operand)
        array = self.primitive(op, node, (value,))
        room = np.zeros(array.shape)
        if op in ("exp2", "log2", "sin"):
            room = settled(ULPS * rounding(array, value.dtype), array)
            if np.any(np.abs(finite(array)) > LARGEST[value.dtype.name]):
                return value
        return self.keep(graphs.operand(node), array, room, op)

    def binary(self, left: Value) -> Value:
        op = self.random.choice(["add", "add", "mul", "mul", "mod", "less_than", "mask", "where"])
        right = self.partner(left)
        if op in ("mask", "where"):
            condition = self.condition(left)
            return self.where(condition, left, right if op == "where" else None)
        if op == "mod" and left.dtype == BOOL:
            return left
        return self.combined(op, left, right)

    def combined(self, op: str, left: Value, right: Value) -> Value:
        """``op`` on two values of one shape and dtype."""
        is_exact = left.is_exact and right.is_exact
        is_bounded = op == "add" or (op == "mul" and left.is_finite and right.is_finite)
        if not is_exact and not is_bounded:
            return left
        node = graphs.binary(op, left.operand, right.operand)
        array = self.primitive(op, node, (left, right))
        room = np.zeros(array.shape)
        if not is_exact:
            room = left.room + right.room
            if op == "mul":
                room = np.abs(finite(left.array)) * right.room + left.room * right.room
                room = room + np.abs(finite(right.array)) * left.room
            room = settled(room + rounding(array, node.dtype), array)
            if np.any(np.abs(finite(array)) > LARGEST[node.dtype.name]):
                return left
        return self.keep(graphs.operand(node), array, room, op)

    def where(self, condition: Value, yes: Value, no: Value | None) -> Value:
        """``condition*yes + (not condition)*no``; without ``no`` just the mask."""
        kept = self.masked(condition, yes)
        if no is None:
            return kept
        truth = self.full(True, BOOL, condition.shape)
        other = self.masked(self.combined("less_than", condition, truth), no)
        node = graphs.binary("add", kept.operand, other.operand)
        array = self.primitive("add", node, (kept, other))
        return self.keep(graphs.operand(node), array, kept.room + other.room, "where")

    def masked(self, condition: Value, value: Value) -> Value:
        node = graphs.binary("mul", condition.operand, value.operand)
        array = self.primitive("mul", node, (condition, value))
        return self.keep(graphs.operand(node), array, condition.array * value.room, "mask")

    def condition(self, value: Value) -> Value:
        """A bool of the value's shape."""
        other = self.partner(value)
        if value.is_exact and other.is_exact and self.random.random() < 0.5:
            return self.combined("less_than", value, other)
        return self.partner(self.cast_to(value, BOOL) if value.is_exact else self.zeros(value))

    def zeros(self, value: Value) -> Value:
        return self.full(False, BOOL, value.shape)

    def partner(self, value: Value) -> Value:
        """Another value of the same shape and dtype."""
        alike = [one for one in self.values if one.shape == value.shape]
        same = [one for one in alike if one.dtype == value.dtype]
        choice = self.random.random()
        if same and choice < 0.5:
            return self.random.choice(same)
        castable = [one for one in alike if one.is_exact]
        if castable and choice < 0.65:
            return self.cast_to(self.random.choice(castable), value.dtype)
        rank = len(value.shape)
        start = self.random.randint(0, rank) if choice < 0.85 else 0
        shape = value.shape[start:]
        if choice > 0.75:
            shape = tuple(self.random.choice([extent, extent, 1]) for extent in shape)
        return self.expanded(self.source(shape, value.dtype), value.shape)

    def cast_to(self, value: Value, dtype: DType) -> Value:
        if value.dtype == dtype:
            return value
        largest = np.max(np.abs(finite(value.array)), initial=0) if dtype.kind == "float" else 0
        if not value.is_exact and (dtype.kind != "float" or largest > LARGEST[dtype.name]):
            return value
        array = convert(value.array, dtype.numpy)
        room = np.zeros(array.shape)
        if not value.is_exact:
            room = settled(value.room + rounding(array, dtype), array)
        return self.keep(
            graphs.operand(graphs.cast(value.operand, dtype)), array, room, "contiguous"
        )

    def reduced(self, value: Value) -> Value:
        if not value.shape:
            return value
        axis = self.random.randrange(len(value.shape))
        return self.maximum(value, axis) if self.random.random() < 0.4 else self.sum(value, axis)

    def sum(self, value: Value, axis: int, *features: str) -> Value:
        node = graphs.reduce("sum", value.operand, axis)
        array = self.primitive("sum", node, (value,), axis)
        terms = value.array.shape[axis]
        room = np.zeros(array.shape)
        if value.dtype.kind == "float" and (terms > 1 or not value.is_exact):
            size = np.sum(np.abs(finite(value.array)), axis)
            if np.any(size > LARGEST[value.dtype.name]):
                return value
            each = (terms + 2) * STEP[accumulator(value.dtype).name] * size
            room = np.sum(value.room, axis) + each
            if value.dtype.is_half:
                room = room + rounding(array, value.dtype)
            room = settled(room, array)
        return self.keep(graphs.operand(node), array, room, "sum", *features)

    def maximum(self, value: Value, axis: int) -> Value:
        """The maximum plus 0, because max(-0, 0) may be either."""
        node = graphs.reduce("max", value.operand, axis)
        array = self.primitive("max", node, (value,), axis)
        room = settled(np.max(value.room, axis, initial=0), array)
        found = Value(graphs.operand(node), array, room)
        self.keep(found.operand, array, room, "max")
        if value.dtype.kind != "float":
            return self.values[-1]
        self.values.pop()
        zero = self.full(0.0, value.dtype, node.shape)
        total = graphs.binary("add", found.operand, zero.operand)
        return self.keep(
            graphs.operand(total), self.primitive("add", total, (found, zero)), room, "add"
        )

    def product_summed(self, left: Value) -> Value:
        """A broadcast product summed over the shared axis."""
        if len(left.shape) != 2 or left.dtype == BOOL:
            return left
        columns = self.random.choice([1, 3, 16, 17, SIZES[1]])
        shape = (*left.shape, columns)
        if not is_small(views.identity(shape)):
            return left
        right = self.source((left.shape[1], columns), left.dtype)
        product = self.combined(
            "mul", self.expanded(self.moved(left, _trailing(1)), shape), self.expanded(right, shape)
        )
        return self.sum(product, 1, "product summed") if product.shape == shape else left

    def gathered(self, table: Value) -> Value:
        """Rows of a table by one-hot times table summed: exact, one term only is not nothing."""
        if not table.shape or len(table.shape) > 2:
            return table
        count = self.random.choice([1, 2, 5, SIZES[0]])
        rows, rest = table.shape[0], table.shape[1:]
        if not is_small(views.identity((count, *table.shape))):
            return table
        places = self.cast_to(
            self.source((count,), self.random.choice([INT64, DTYPES["int32"]])), INT64
        )
        at = self.expanded(self.moved(places, _trailing(1)), (count, rows))
        row = self.expanded(self.iota(rows), (count, rows))
        either = self.combined(
            "add", self.combined("less_than", at, row), self.combined("less_than", row, at)
        )
        same = self.combined("less_than", either, self.full(True, BOOL, (count, rows)))
        whole = (count, *table.shape)
        mask = self.expanded(self.moved(same, _trailing(len(rest))), whole) if rest else same
        picked = self.masked(mask, self.expanded(table, whole))
        node = graphs.reduce("sum", picked.operand, 1)
        array = self.primitive("sum", node, (picked,), 1)
        return self.keep(graphs.operand(node), array, np.sum(picked.room, 1), "gather")

    # --- regions and states

    def scanned(self, value: Value) -> Value:
        """A scan over the leading axis; its body has no sums, so it is exact."""
        if not 1 <= len(value.shape) <= 2 or not value.is_exact:
            return value
        trips, shape = value.shape[0], value.shape[1:]
        dtype = self.random.choice([value.dtype, FLOAT32, INT64, FLOAT16, BOOL])
        start = self.partner(self.full(0, dtype, shape))
        outer = self.partner(self.full(1, dtype, shape))
        if not start.is_exact or not outer.is_exact:
            return value
        carried = graphs.input_node("carried", shape, dtype)
        sliced = graphs.input_node("sliced", shape, value.dtype)
        part = graphs.operand(sliced)
        if value.dtype != dtype:
            part = graphs.operand(graphs.cast(part, dtype))
        op = self.random.choice(["add", "mul"])
        following = graphs.operand(graphs.binary(op, graphs.operand(carried), part))
        following = graphs.operand(graphs.binary("add", following, outer.operand))
        features = ["scan"]
        if self.random.random() < 0.3:
            following = self.nested(following, part)
            features.append("nested scan")
        less = graphs.binary("less_than", graphs.operand(carried), part)
        stacked = [following, graphs.operand(less)]
        if shape:
            stacked.append(Operand(following.node, movement.flip(following.view, 0)))
        items = graphs.scan(
            trips, [start.operand], [value.operand], [carried], [sliced], [following, *stacked]
        )
        item = graphs.operand(self.random.choice(items))
        graph = Graph((("item", item),))
        array = evaluate(graph, self.inputs, self.states, self.sizes, widen=False)[0]["item"]
        return self.keep(item, array, np.zeros(array.shape), *features)

    def nested(self, start: Operand, outer: Operand) -> Operand:
        """A scan inside a scan's body, reading one of the outer body's values."""
        carried = graphs.input_node("inner", start.shape, start.dtype)
        following = graphs.binary("add", graphs.operand(carried), outer)
        trips = self.random.choice([0, 2])
        items = graphs.scan(trips, [start], [], [carried], [], [graphs.operand(following)])
        return graphs.operand(items[0])

    def updated(self, node: Node) -> Value:
        """The next value of a state: all of it, some rows at a symbolic offset, or by data."""
        name = getattr(node.attribute, "name", "")
        old = Value(graphs.operand(node), self.states[name], np.zeros(self.states[name].shape))
        rows = node.shape[0] if node.shape else 0
        if not isinstance(rows, int) or rows < bounds(OFFSET)[1] + 1 or self.random.random() < 0.2:
            return self.noted(self.partner(old), "whole update")
        few = self.random.randint(1, rows - bounds(OFFSET)[1])
        if self.random.random() < 0.3:
            low = self.expanded(self.source((), INT64), (rows,))
            row = self.iota(rows)
            high = self.combined("add", low, self.full(few, INT64, (rows,)))
            is_before = self.combined("less_than", row, low)
            is_after = self.combined("less_than", is_before, self.full(True, BOOL, (rows,)))
            inside = self.combined("mul", is_after, self.combined("less_than", row, high))
            mask = self.expanded(self.moved(inside, _trailing(len(node.shape) - 1)), node.shape)
            return self.noted(self.where(mask, self.partner(old), old), "update by data")
        part = (few, *node.shape[1:])
        ends = _padded(OFFSET, add(rows - few, mul(OFFSET, -1)))
        new = self.moved(self.partner(self.full(0, node.dtype, part)), ends)
        mask = self.moved(self.full(True, BOOL, part), ends)
        return self.noted(self.where(mask, new, old), "update at an offset")

    def noted(self, value: Value, feature: str) -> Value:
        self.made.setdefault(value.operand.node, set()).add(feature)
        return value


def _step(grower: Grower) -> None:
    random = grower.random
    value = random.choice(grower.values[-4:] if random.random() < 0.8 else grower.values)
    steps: list[tuple[float, Callable[[Value], Value]]] = [
        (4, lambda v: grower.moved(v, random_movement(random, v.operand.view))),
        (4, grower.unary),
        (6, grower.binary),
        (4, grower.reduced),
        (2, lambda v: grower.cast_to(v, random.choice(list(DTYPES.values())))),
        (2, grower.product_summed),
        (1, grower.gathered),
        (0.7, grower.scanned),
        (0.4, lambda v: grower.iota(random.choice([*SIZES, 3, 0, 17]))),
        (0.7, lambda v: grower.source(random_shape(random), random.choice(list(DTYPES.values())))),
    ]
    weights, makers = zip(*steps, strict=True)
    random.choices(makers, weights)[0](value)


def random_graph(seed: int) -> RandomCase:
    """The case of one seed. Sizes are small: at most 2,000 elements a value at the largest."""
    random = Random(seed)
    grower = Grower(random, {**random_sizes(random), "p": random.randint(0, 4)})
    favourites = random.choice([list(DTYPES.values()), list(FLOATS), [FLOAT32], [INT64, FLOAT64]])
    for _ in range(2):
        shape = random_shape(random)
        while not is_small(views.identity(shape)):
            shape = random_shape(random)
        grower.source(shape, random.choice(favourites))
    if random.random() < 0.2:
        shape = random.choice([(6, 3), (9,), (5, 17)])
        node = graphs.state_node("cache", shape, random.choice(favourites))
        grower.states["cache"] = grower.elements(shape, node.dtype)
        grower.state_nodes.append(node)
        grower.keep(graphs.operand(node), grower.states["cache"], np.zeros(shape), "state")
    for _ in range(random.randint(1, 20)):
        _step(grower)
    count = random.choice([1, 1, 2, 3])
    results = [grower.values[-1]] + [random.choice(grower.values) for _ in range(count - 1)]
    states = [node for node in grower.state_nodes if random.random() < 0.8]
    return _case(seed, grower, results, [(node, grower.updated(node)) for node in states])


def _case(
    seed: int, grower: Grower, results: list[Value], updates: list[tuple[Node, Value]]
) -> RandomCase:
    outputs = {f"y{place}": value for place, value in enumerate(results)}
    graph = Graph(
        tuple((name, value.operand) for name, value in outputs.items()),
        tuple((node, value.operand) for node, value in updates),
    )
    inputs, states = (named_sources(graph, op) for op in ("input", "state"))
    names = sizes_of(graph)
    nodes = list(graphs.all_nodes(graph.roots))
    features = Counter(name for node in nodes for name in grower.made.get(node, ()))
    features["several outputs"] = int(len(outputs) > 1)
    features["symbolic"] = len(names)
    return RandomCase(
        seed,
        graph,
        {name: grower.inputs[name] for name in inputs},
        {name: grower.states[name] for name in states},
        {name: grower.sizes[name] for name in names},
        outputs,
        {getattr(node.attribute, "name", ""): value for node, value in updates},
        features,
    )


def coverage(seeds: Iterable[int]) -> Counter[str]:
    """In how many cases each feature occurs."""
    return Counter(
        name for seed in seeds for name, count in random_graph(seed).features.items() if count
    )
