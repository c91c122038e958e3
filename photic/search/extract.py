"""From an e-graph to a region of statements: one operation a class, and which classes are stored.

One operation for each class of a whole candidate makes sharing right by construction. Bottom-up
extraction (Knuth) under prior costs with random factors is always acyclic. A ``Fold`` becomes its
extremum r, the values relative to the running r, and accumulators with a weight; whatever reads an
accumulator multiplies it by h(r, r), see ``rules/folds.py``.
"""

from __future__ import annotations

import heapq
import math
import random
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count

from photic.ir import index as form
from photic.ir.dim import Dim, bounds, var
from photic.ir.index import Access, Buffer, Expr, Order, Over, Store
from photic.ir.walk import parts_first
from photic.loops.statements import Region, Statement, Weight
from photic.search.language import ENode, decode
from photic.search.run import EGraph

Choice = Mapping[int, ENode]

COSTS = {"exp2": 12.0, "log2": 16.0, "sin": 24.0, "recip": 8.0, "sqrt": 8.0}
COSTS |= {"Leaf": 0.5, "Fold": 0.5}
MOST_POINTS = 1e9  # of one class; a prior tells no larger ones apart
INLINE = 8.0  # the most that a value may cost that several readers recompute
R, A, P, GUARDED, WEIGHT, ONCE, BODY = range(7)  # the children of a Fold


def choose(graph: EGraph, rng: random.Random, spread: float, fixed: Choice) -> dict[int, ENode]:
    """One operation for each class; a class of ``fixed`` has no other choice.

    ``spread`` is the standard deviation of the logarithm of the random factor on each prior cost.
    A root is missing where the fixed operations leave it none without cycles.
    """
    users: dict[int, list[tuple[int, ENode]]] = {}
    heap: list[tuple[float, int, int, ENode]] = []
    costs: dict[int, float] = {}
    chosen: dict[int, ENode] = {}
    serial = count()

    def offer(number: int, node: ENode) -> None:
        read = set(_read(node))
        if number not in chosen and read <= costs.keys():
            points = _points(graph, _axes(graph, number, node))
            own = _weight(node) * points * math.exp(rng.gauss(0.0, spread))
            cost = own + sum(costs[one] for one in read)
            heapq.heappush(heap, (cost, next(serial), number, node))

    for number, nodes in graph.classes.items():
        for node in (fixed[number],) if number in fixed else nodes:
            for child in set(_read(node)):
                users.setdefault(child, []).append((number, node))
            offer(number, node)
    while heap:
        cost, _, number, node = heapq.heappop(heap)
        if number not in chosen:
            chosen[number], costs[number] = node, cost
            for user in users.get(number, ()):
                offer(*user)
    return chosen


def _read(node: ENode) -> tuple[int, ...]:
    """The classes that stand in the way of an operation: the others of a fold are made of them."""
    return node.children[BODY:] if node.op == "Fold" else node.children


def _weight(node: ENode) -> float:
    name = str(node.attributes[0]) if node.op == "Un" else node.op
    return len(node.children) - 1.0 if name == "Prod" else COSTS.get(name, 1.0)


def _points(graph: EGraph, axes: Iterable[str]) -> float:
    """How many points some axes have at their largest sizes."""
    points = math.prod(max(1, bounds(graph.table.axes[axis].extent)[1]) for axis in axes)
    return min(float(points), MOST_POINTS)


def _axes(graph: EGraph, number: int, node: ENode) -> frozenset[str]:
    """The axes at whose points an operation is done."""
    if node.op in ("Reduce", "Fold"):
        return graph.free[node.children[-1]] | {str(node.attributes[1])}
    return graph.free[number]


# --- what is stored -------------------------------------------------------------------------


def order(choice: Choice, roots: Sequence[int]) -> list[int]:
    """The classes that some are made of under a choice, operands first."""
    return list(parts_first(reversed(roots), lambda one: choice[one].children[::-1], ()))


def runnable(graph: EGraph, choice: Choice) -> dict[int, ENode]:
    """The choice with each fold's extremum as the fold has it; a fold that cannot run is undone.

    It cannot if its body needs r in another way than by the relative value, if a needs r, or if
    another fold has r as the maximum of another value.
    """
    made = dict(choice)
    extrema: dict[int, ENode] = {}
    for number in order(choice, graph.roots):
        node = choice[number]
        if node.op == "Fold":
            r, a, p, body = (node.children[k] for k in (R, A, P, BODY))
            extremum = ENode("Reduce", ("max", node.attributes[1]), (a,))
            is_apart = r not in _cone(made, a, ()) | _cone(made, body, (p,))
            if is_apart and extrema.get(r, extremum) == extremum:
                made[r] = extrema[r] = extremum
            else:
                made[number] = ENode("Reduce", node.attributes, (body,))
    return made


def _cone(choice: Choice, start: int, cut: Collection[int]) -> set[int]:
    """The classes that a value is made of, itself included, without those of ``cut``."""
    return set(parts_first([start], lambda one: choice[one].children, cut))


def _relative(choice: Choice, fold: ENode) -> set[int]:
    """The classes in the body of a fold that hold its relative value, that one included."""
    p, body = fold.children[P], fold.children[BODY]
    return {one for one in _cone(choice, body, ()) if p in _cone(choice, one, ())}


def stored_by_default(graph: EGraph, choice: Choice) -> frozenset[int]:
    """Reductions, and what would cost much where it is recomputed.

    A value is recomputed if it has several readers, or one at more points than its own.
    """
    numbers = order(choice, graph.roots)
    folds = [choice[one] for one in numbers if choice[one].op == "Fold"]
    running = set[int]().union(*(_relative(choice, one) for one in folds))
    inside = running | {one.children[GUARDED] for one in folds}
    costs: dict[int, float] = {}
    readers: dict[int, list[frozenset[str]]] = {}
    for number in reversed(numbers):
        node = choice[number]
        operands = node.children
        if node.op == "Fold":
            operands = (node.children[R], node.children[GUARDED])
        elif number in inside:
            operands = tuple(one for one in operands if one not in running)
        is_wide = node.op == "Cast" and node.attributes[0] == "float32"  # its operand takes less
        seen = readers.get(number, []) if is_wide else [_axes(graph, number, node)]
        for child in set(operands):
            readers.setdefault(child, []).extend(seen)
    stored: set[int] = set()
    for number in numbers:
        node = choice[number]
        inner = (COSTS["Leaf"] if one in stored else costs[one] for one in set(node.children))
        costs[number] = _weight(node) + sum(inner)
        seen = readers.get(number, [])
        is_repeated = len(seen) > 1 or any(one > graph.free[number] for one in seen)
        if node.op in ("Reduce", "Fold") or (costs[number] > INLINE and is_repeated):
            stored.add(number)
    return frozenset(stored)


def staged_loads(graph: EGraph, choice: Choice) -> list[int]:
    """Loads inside reductions of what has several axes: a copy of a tile may lie better."""
    numbers, leaves = order(choice, graph.roots), graph.table.leaves
    bodies = [choice[one].children[-1] for one in numbers if choice[one].op in ("Reduce", "Fold")]
    inside = set(order(choice, bodies))
    wide = [one for one in numbers if one in inside and len(graph.free[one]) > 1]
    places = [(one, int(choice[one].attributes[0])) for one in wide if choice[one].op == "Leaf"]
    return [one for one, place in places if isinstance(leaves[place].attribute, Access)]


# --- statements -----------------------------------------------------------------------------


def region_of(
    graph: EGraph, choice: Choice, stored: Collection[int], stores: Sequence[Store]
) -> Region:
    """The statements of a candidate. ``stores`` are the roots of the e-graph with their targets.

    ``choice`` is one that ``runnable`` made. Each class of ``stored`` that is read gets a
    statement; a fold always does, its relative value where its guarded form is stored.
    """
    first = dict(zip(graph.roots[::-1], stores[::-1], strict=True))
    build = _Builder(graph, choice, stored, first)
    for root, store in zip(graph.roots, stores, strict=True):
        build.output(root, store)
    return Region(tuple(build.statements), frozenset(one.buffer.name for one in stores))


@dataclass(slots=True)
class _Builder:
    """Statements so far, and how the classes met so far are read."""

    graph: EGraph
    choice: Choice
    stored: Collection[int]
    outputs: Mapping[int, Store]
    statements: list[Statement] = field(default_factory=list)
    known: dict[int, Expr] = field(default_factory=dict)

    def output(self, number: int, store: Store) -> None:
        """The statement that writes a root, unless it was written when it was first read."""
        if number not in self.known and self.choice[number].op != "Fold":
            self.store(number)
        if all(one.target != store.buffer for one in self.statements):
            value = self.value(number)
            self.statements.append(Statement(store.buffer, store.axes, store.index, value))

    def value(self, number: int) -> Expr:
        """A class where it is read: a load of its target, or its operation."""
        if number not in self.known:
            node = self.choice[number]
            if node.op == "Fold":
                self.fold(number)
            elif number in self.stored:
                self.store(number)
            else:
                self.known[number] = self.operation(number, {})
        return self.known[number]

    def operation(self, number: int, given: dict[int, Expr]) -> Expr:
        """A class as its operation; what holds none of the given ones is read as it is."""
        if number not in given:
            node = self.choice[number]
            children = tuple(
                self.operation(child, given)
                if given and not given.keys().isdisjoint(_cone(self.choice, child, ()))
                else self.value(child)
                for child in node.children
            )
            made = decode(node, children, self.graph.table)
            if not given:
                return made
            given[number] = made
        return given[number]

    def store(self, number: int) -> None:
        """A statement for a class."""
        self.known[number] = self.state(number, self.operation(number, {}), "", None)

    def gaps(self, number: int) -> tuple[Dim, ...]:
        """What must be positive for the body of a reduction to count."""
        node, graph = self.choice[number], self.graph
        if node.op not in ("Reduce", "Fold"):
            return ()
        leaves = (graph.table.leaves[one] for one in sorted(graph.vanishing[node.children[-1]]))
        return tuple(one.attribute.gap for one in leaves if isinstance(one.attribute, Order))

    def state(self, number: int, value: Expr, running: str, weight: Weight | None) -> Expr:
        """A statement into the output that a class is, or a target of its own; a load of it."""
        store = self.outputs.get(number)
        if running or store is None or set(store.axes) != value.free:
            axes = tuple(sorted(value.free, key=lambda axis: (len(axis.name), axis.name)))
            shape = tuple(one.extent for one in axes)
            target = Buffer(f"v{len(self.statements)}", shape, value.dtype)
            store = Store(target, axes, tuple(var(one.name, one.extent) for one in axes), value)
        gaps = self.gaps(number) if isinstance(value.attribute, Over) else ()
        made = Statement(store.buffer, store.axes, store.index, value, running, weight, gaps)
        self.statements.append(made)
        return form.load(store.buffer, store.index)

    def fold(self, number: int) -> None:
        """The extremum, and every fold that runs with it, with nothing else between them."""
        nodes, r = self.choice, self.choice[number].children[R]
        folds = [one for one in order(nodes, self.graph.roots) if nodes[one].op == "Fold"]
        same = [one for one in folds if nodes[one].children[R] == r]
        for one in same:
            held = _relative(nodes, nodes[one])
            for member in sorted(held - {nodes[one].children[P]}):
                for child in nodes[member].children:
                    if child not in held:
                        self.value(child)
        if r not in self.known:
            self.store(r)
        for one in same:
            self.accumulate(one, nodes[one], self.known[r])

    def accumulate(self, number: int, node: ENode, extremum: Expr) -> None:
        """The relative value and the accumulator of one fold."""
        r, _, p, guarded, weight, once, body = node.children
        assert isinstance(extremum.attribute, Access)
        running = extremum.attribute.buffer
        if guarded not in self.known:
            value = self.operation(guarded, {r: extremum})
            stays = guarded in self.stored
            self.known[guarded] = self.state(guarded, value, running.name, None) if stays else value
        axis = self.graph.table.axes[str(node.attributes[1])]
        inner = self.operation(body, {p: self.known[guarded]})
        total = form.reduce(str(node.attributes[0]), axis, inner)
        old, new = (Buffer(name, (), running.dtype) for name in ("old", "new"))
        factor = Weight(self.operation(weight, {}), old, new)
        sum_of = self.state(number, total, running.name, factor)
        once_held = form.cast(self.operation(once, {r: extremum}), sum_of.dtype)
        self.known[number] = form.binary("mul", sum_of, once_held)
