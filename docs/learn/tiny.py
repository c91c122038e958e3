"""The idea of photic in one file: graph, evaluator, e-graph, plans, C, check, measured choice.

Read it beside README.md in this folder, which walks through the chapters. It promises what photic
promises, for a small world: float32, sizes that tiles divide, one thread, finite values. Every
candidate means what the graph means, and no time counts before that is checked. It does not do
what makes photic useful: any shape, masks, borders, good loops, a search with a sense of direction.
"""

from __future__ import annotations

import ctypes
import math
import random
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from statistics import median
from timeit import timeit
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
from egglog.bindings import EGraph as Engine
from egglog.bindings import RunScheduleOutput, Value

from photic.targets.c.toolchain import load_together

Array: TypeAlias = npt.NDArray[np.floating]
Arrays: TypeAlias = Mapping[str, Array]
Sizes: TypeAlias = Mapping[str, int]  # every array has its axes in this order, outermost first

# --- 1. the graph ---------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Op:
    """The record of an operation: its meaning in NumPy, its spelling in C.

    A reduction repeats an operation on two operands, starting from ``identity``.
    """

    meaning: np.ufunc
    spelling: str
    identity: str = ""


ELEMENTWISE = {
    "exp2": Op(np.exp2, "exp2_of({})"),
    "recip": Op(np.reciprocal, "(1.0f / {})"),
    "add": Op(np.add, "({} + {})"),
    "mul": Op(np.multiply, "({} * {})"),
}
REDUCTIONS = {
    "sum": Op(np.add, "{} + {}", "(lanes)(0.0f)"),
    "max": Op(np.maximum, "__builtin_elementwise_max({}, {})", "(lanes)(-__builtin_inff())"),
}


@dataclass(frozen=True, slots=True)
class Node:
    """A value. The attribute: the name of an array, the axis of a reduction, a number as text."""

    op: str
    attribute: str
    children: tuple[Node, ...]
    axes: frozenset[str]


def make(op: str, *children: Node, over: str = "") -> Node:
    """An operation on values; it depends on their axes, without the one that it reduces."""
    axes = {axis for child in children for axis in child.axes if axis != over}
    return Node(op, over, children, frozenset(axes))


def load(name: str, *axes: str) -> Node:
    """The elements of an array."""
    return Node("load", name, (), frozenset(axes))


def const(number: float) -> Node:
    """A number."""
    return Node("const", repr(number), (), frozenset())


def distance_power(value: Node, axis: str) -> Node:
    """2**(a - r), where r is the maximum of a over the axis."""
    highest = make("max", value, over=axis)
    return make("exp2", make("add", value, make("mul", const(-1.0), highest)))


def attention(scale: float) -> Node:
    """Values V weighted by a softmax over the keys k, for every query q, as a textbook has it."""
    products = make("mul", load("Q", "d", "q"), load("K", "k", "d"))
    scores = make("mul", make("sum", products, over="d"), const(scale))
    powers = distance_power(scores, "k")
    weights = make("mul", powers, make("recip", make("sum", powers, over="k")))
    return make("sum", make("mul", weights, load("V", "k", "v")), over="k")


def nodes(root: Node) -> list[Node]:
    """The values that one is made of, operands first, each once."""
    return list(dict.fromkeys([*(one for child in root.children for one in nodes(child)), root]))


# --- 2. the evaluator -----------------------------------------------------------------------


def evaluate(node: Node, arrays: Arrays, sizes: Sizes, dtype: type[np.floating]) -> Array:
    """The meaning of a value, along every axis: with extent 1 where it does not depend on one."""
    if node.op == "load":
        shape = [sizes[axis] if axis in node.axes else 1 for axis in sizes]
        return arrays[node.attribute].astype(dtype).reshape(shape)
    if node.op == "const":
        return np.full([1] * len(sizes), float(node.attribute), dtype)
    node = unfolded(node) if node.op == "fold" else node
    children = [evaluate(child, arrays, sizes, dtype) for child in node.children]
    if node.op in ELEMENTWISE:
        return np.asarray(ELEMENTWISE[node.op].meaning(*children))
    place = list(sizes).index(node.attribute)
    return np.asarray(REDUCTIONS[node.op].meaning.reduce(children[0], axis=place, keepdims=True))


def unfolded(fold: Node) -> Node:
    """What a fold of a and v means: the sum of 2**(a - r) * v, where r is the maximum of a."""
    powers = distance_power(fold.children[0], fold.attribute)
    return make("sum", make("mul", powers, fold.children[1]), over=fold.attribute)


# --- 3. the e-graph -------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Rule:
    """One rewrite as data: ``right`` is equal to ``left`` where ``when`` holds."""

    left: str
    right: str
    when: str
    why: str


POWER = "(Exp2 (Add a (Mul (Const -1.0) (Max j a))))"
ALGEBRA = (
    Rule("(Mul a b)", "(Mul b a)", "", "multiplication commutes"),
    Rule("(Mul (Mul a b) c)", "(Mul a (Mul b c))", "", "multiplication associates"),
    Rule("(Sum j (Mul a b))", "(Mul a (Sum j b))", "(indep j a)", "factor out of a sum"),
    Rule("(Max j (Mul (Const c) a))", "(Mul (Const c) (Max j a))", "(< 0.0 c)", "keeps the order"),
)
FOLDS = (
    Rule(f"(Sum j (Mul {POWER} v))", "(Fold j a v)", "", "a new r rescales what was summed"),
    Rule(f"(Sum j {POWER})", "(Fold j a (Const 1.0))", "", "the same where v = 1"),
)

SORTS = """(ruleset facts) (ruleset step)
(datatype E (Load String) (Const f64) (Exp2 E) (Recip E) (Add E E) (Mul E E)
  (Sum String E) (Max String E) (Fold String E E))
(relation axis (String)) (relation indep (String E)) (function root () E :no-merge)"""
# What does not depend on an axis j, by what must be known of its operands.
INDEPENDENT = {
    "(axis j)": ("(Const c)", "(Sum j a)", "(Max j a)"),
    "(indep j a)": ("(Exp2 a)", "(Recip a)", "(Sum k a)", "(Max k a)"),
    "(indep j a) (indep j b)": ("(Add a b)", "(Mul a b)"),
}
FACT = "(rule ((= e {}) {}) ((indep j e)) :ruleset facts)"
STEP = "(rule ((= e {}) {}) ((union e {})) :ruleset step)"
ROUND = "(seq (saturate (run facts)) (run step))"
MOST_ROUNDS = 30
ENode: TypeAlias = tuple[str, str, tuple[int, ...]]  # op, attribute, classes of the operands


@dataclass(frozen=True, slots=True)
class EGraph:
    """Classes of equal values. ``is_saturated``: the rules have nothing to add."""

    classes: dict[int, list[ENode]]
    root: int
    loads: dict[str, Node]
    is_saturated: bool


def term(node: Node) -> str:
    """A value in egglog."""
    attribute = node.attribute if node.op in ("const", *ELEMENTWISE) else f'"{node.attribute}"'
    return f"({node.op.capitalize()} {attribute} {' '.join(map(term, node.children))})"


def saturate(node: Node, rules: tuple[Rule, ...], sizes: Sizes) -> EGraph:
    """All that the rules prove equal to a value and to its parts."""
    loads = {one.attribute: one for one in nodes(node) if one.op == "load"}
    lines = [SORTS, f"(set (root) {term(node)})", *(f'(axis "{axis}")' for axis in sizes)]
    for one in loads.values():
        lines += [f'(indep "{axis}" {term(one)})' for axis in sizes if axis not in one.axes]
    lines += [FACT.format(one, when) for when, some in INDEPENDENT.items() for one in some]
    lines += [STEP.format(rule.left, rule.when, rule.right) for rule in rules]
    lines += [f"(run-schedule (repeat {MOST_ROUNDS} {ROUND}))", f"(run-schedule {ROUND})"]
    engine = Engine()
    last = engine.run_program(*engine.parse_program("\n".join(lines)))[-1]
    is_saturated = isinstance(last, RunScheduleOutput) and not last.report.updated
    classes, root = _read(engine)
    return EGraph(classes, root, loads, is_saturated)


def _read(engine: Engine) -> tuple[dict[int, list[ENode]], int]:
    """The classes and the root's number; classes are numbered as they are met."""
    functions, numbers = engine.freeze().functions, dict[Value, int]()
    decode = {"String": engine.value_to_string, "f64": engine.value_to_f64}
    classes: dict[int, list[ENode]] = {}
    for op in (*ELEMENTWISE, *REDUCTIONS, "fold", "load", "const"):
        first, *_ = functions[op.capitalize()].input_sorts
        for row in functions[op.capitalize()].rows:
            attribute = str(decode[first](row.inputs[0])) if first in decode else ""
            below = row.inputs[first in decode :]
            children = tuple(numbers.setdefault(one, len(numbers)) for one in below)
            home = numbers.setdefault(row.output, len(numbers))
            classes.setdefault(home, []).append((op, attribute, children))
    return classes, numbers[functions["root"].rows[0].output]


# --- 4. candidates: forms and plans ---------------------------------------------------------

STREAM, ROWS = "k", "q"  # the first axis, walked through in passes; the last, vectors of rows
PRICES = {"exp2": 12.0, "recip": 8.0}  # of one point; a prior, which measuring corrects
DRAWS, SPREAD = 8, 3.0  # the standard deviation of the logarithm of a price's random factor


@dataclass(frozen=True, slots=True)
class Plan:
    """Tile sizes: rows at a time, the lanes of a vector, and steps of the stream at a time."""

    lanes: int
    tile: int


PLANS = tuple(Plan(lanes, tile) for lanes in (16, 32, 64) for tile in (16, 64))


def forms(node: Node, rules: tuple[Rule, ...], sizes: Sizes, seed: int) -> list[Node]:
    """The value as written, then the different ones that some draws find and a plan can run."""
    graph, rng = saturate(node, rules, sizes), random.Random(seed)
    drawn = [extract(graph, sizes, rng, SPREAD if draw else 0.0) for draw in range(DRAWS)]
    return [one for one in dict.fromkeys([node, *drawn]) if can_run(one)]


def extract(graph: EGraph, sizes: Sizes, rng: random.Random, spread: float) -> Node:
    """The cheapest value of the root's class, where every price has a random factor."""
    offers = [(number, *one) for number, some in graph.classes.items() for one in some]
    prices = [math.exp(rng.gauss(0.0, spread)) * PRICES.get(op, 1.0) for _, op, *_ in offers]
    costs, best = dict[int, float](), dict[int, Node]()
    for _ in graph.classes:  # no chain of operands is longer
        for (number, op, attribute, below), price in zip(offers, prices, strict=True):
            if costs.keys() >= set(below):
                node = make(op, *(best[child] for child in below), over=attribute)
                node = graph.loads.get(attribute, node)
                points = math.prod(sizes.get(axis, 1) for axis in {*node.axes, attribute})
                cost = price * points + sum(costs[child] for child in below)
                if cost < costs.get(number, math.inf):
                    costs[number], best[number] = cost, node
    return best[graph.root]


# To run a fold, its maximum so far, the powers relative to it and its sum become values of their
# own, which only the printer sees. What is relative to a maximum so far is read by that sum alone.
SPELLED = ELEMENTWISE | {"relative": Op(np.subtract, "exp2_of({} - {})")}
REDUCED = REDUCTIONS | {"running": REDUCTIONS["max"], "rescaled": REDUCTIONS["sum"]}
MADE = SPELLED | REDUCED


def lowered(node: Node) -> Node:
    """The value with each fold taken apart; folds of the same value share its maximum so far."""
    children = tuple(map(lowered, node.children))
    if node.op != "fold":
        return replace(node, children=children)
    running = make("running", children[0], over=node.attribute)
    terms = make("mul", make("relative", children[0], running), children[1])
    return make("rescaled", terms, running, over=node.attribute)


def phase(node: Node) -> int:
    """The pass in which a value can be made: after the passes that end with what it reads."""
    ends = ("sum", "max", "rescaled")
    after = (phase(one) + (one.op in ends and one.attribute == STREAM) for one in node.children)
    return max(after, default=0)


def is_streamed(node: Node) -> bool:
    """Whether a value is made inside a pass, tile by tile."""
    return STREAM in node.axes or (node.op in REDUCED and node.attribute == STREAM)


def passes(form: Node) -> int:
    """How many loops over the whole stream a form needs."""
    made = [one for one in nodes(lowered(form)) if one.op in MADE]
    return len({phase(one) for one in made if is_streamed(one)})


def can_run(form: Node) -> bool:
    """Whether every fold is over the stream, its sum in the pass of its maximum."""
    sums = [one for one in nodes(lowered(form)) if one.op == "rescaled"]
    return all(one.attribute == STREAM and phase(one) == phase(one.children[1]) for one in sums)


# --- 5. printing C --------------------------------------------------------------------------

PRELUDE = """typedef float lanes __attribute__((ext_vector_type({lanes})));
typedef int whole __attribute__((ext_vector_type({lanes})));
typedef lanes unaligned __attribute__((aligned(4)));
static inline lanes exp2_of(lanes x) {{
  x = __builtin_elementwise_min(__builtin_elementwise_max(x, (lanes)(-127.0f)), (lanes)(128.0f));
  lanes n = __builtin_elementwise_floor(x + 0.5f), t = (x - n) * 0.693147181f;
  lanes p = 1 + t * (1 + t * (0.5f + t * (1 / 6.f + t * (1 / 24.f + t * (1 / 120.f + t / 720)))));
  return p * (lanes)((__builtin_convertvector(n, whole) + 127) << 23);
}}
"""


@dataclass(frozen=True, slots=True)
class Printer:
    """One form under one plan; ``order`` holds the values of the form, operands first."""

    plan: Plan
    sizes: Sizes
    order: list[Node]

    def kernel(self, name: str) -> str:
        """The source of a kernel: for each tile of rows, pass after pass over the stream."""
        made = [one for one in self.order if one.op in MADE and not self.is_inside(one)]
        arrays = [*(one for one in self.order if one.op == "load"), made[-1]]
        arguments = ", ".join(f"float {one}" for one in sorted(map(self.declared, arrays)))
        lines = [f"void {name}({arguments}) {{"]
        lines += [f"static lanes {self.declared(one)};" for one in made[:-1]]
        lines += [f"static lanes w_{self.declared(one)};" for one in made if one.op == "running"]
        rows, lanes = self.sizes[ROWS], self.plan.lanes
        lines += [f"for (long {ROWS} = 0; {ROWS} < {rows}; {ROWS} += {lanes}) {{"]
        for number in range(phase(made[-1]) + 1):
            lines += self.one_pass([one for one in made if phase(one) == number])
        return PRELUDE.format(lanes=lanes) + "\n".join([*lines, "}", "}"]) + "\n"

    def one_pass(self, made: list[Node]) -> Iterator[str]:
        """What a pass needs first, and its loop over the tiles of the stream."""
        streamed = [one for one in made if is_streamed(one)]
        for one in made:
            if one not in streamed:
                yield from self.statement(one)
            elif one.attribute == STREAM:
                yield from self.loops(one, [f"{self.at(one)} = {REDUCED[one.op].identity};"])
        if streamed:
            yield f"for (long tile = 0; tile < {self.sizes[STREAM]}; tile += {self.plan.tile}) {{"
            yield from (line for one in streamed for line in self.statement(one))
            yield "}"

    def statement(self, node: Node) -> list[str]:
        """One value for one tile."""
        place = self.at(node)
        if node.op in SPELLED:
            return self.loops(node, [f"{place} = {self.spelled(node)};"])
        start = place if node.attribute == STREAM else REDUCED[node.op].identity
        if node.op == "rescaled":
            start += f" * w_{self.at(node.children[1])}"
        step = REDUCED[node.op].spelling.format("total", self.value(node.children[0]))
        lines = [f"lanes total = {start};", f"{self.loop(node.attribute)} total = {step};"]
        if node.op == "running":
            lines.append(f"w_{place} = exp2_of({place} - total);")
        return self.loops(node, [*lines, f"{place} = total;"])

    def loops(self, node: Node, lines: list[str]) -> list[str]:
        """Loops over the axes of a value; rows need none, they are the lanes of a vector."""
        axes = [axis for axis in self.sizes if axis in node.axes and axis != ROWS]
        return [" ".join([*map(self.loop, axes), "{"]), *lines, "}"]

    def loop(self, axis: str) -> str:
        """The head of a loop over an axis, or over one tile of the stream."""
        if axis == STREAM:
            return f"for (long {axis} = tile; {axis} < tile + {self.plan.tile}; {axis}++)"
        return f"for (long {axis} = 0; {axis} < {self.sizes[axis]}; {axis}++)"

    def value(self, node: Node) -> str:
        """A value where it is read."""
        return self.spelled(node) if self.is_inside(node) else self.at(node)

    def spelled(self, node: Node) -> str:
        """A value computed from its operands."""
        return SPELLED[node.op].spelling.format(*map(self.value, node.children))

    def at(self, node: Node) -> str:
        """The place of a value at the present point of the loops."""
        if node.op == "const":
            return f"(lanes)({node.attribute}f)"
        stream = STREAM if self.is_whole(node) else f"{STREAM} - tile"
        place = self.indexed(node, {**{axis: axis for axis in self.sizes}, STREAM: stream})
        if not self.is_array(node):
            return place
        return f"*(unaligned *)&{place}" if ROWS in node.axes else f"(lanes)({place})"

    def declared(self, node: Node) -> str:
        """The array in which a value lives: of one tile of the stream, or of all of it."""
        stream = self.sizes[STREAM] if self.is_whole(node) else self.plan.tile
        return self.indexed(node, {**self.sizes, STREAM: stream})

    def indexed(self, node: Node, index: Mapping[str, int | str]) -> str:
        """The name of a value's array, with something in brackets for each of its axes."""
        name = "out" if node == self.order[-1] else f"t{self.order.index(node)}"
        name = node.attribute if node.op == "load" else name
        axes = node.axes if self.is_array(node) else node.axes - {ROWS}
        return name + "".join(f"[{index[axis]}]" for axis in self.sizes if axis in axes)

    def is_array(self, node: Node) -> bool:
        """Whether a value is given or returned; others live in vectors, one for a tile of rows."""
        return node.op == "load" or node == self.order[-1]

    def is_whole(self, node: Node) -> bool:
        """Whether a value is kept for all of the stream: a later pass reads it."""
        later = (phase(one) > phase(node) for one in self.readers(node))
        return self.is_array(node) or any(later)

    def is_inside(self, node: Node) -> bool:
        """Whether a value is computed in the loop of the one reduction that reads it."""
        readers = {one.op for one in self.readers(node)} or {""}
        return node.op == "mul" and readers <= REDUCED.keys()

    def readers(self, node: Node) -> list[Node]:
        return [one for one in self.order for child in one.children if child == node]


# --- 6. measuring, 7. checking, 8. keeping the fastest --------------------------------------

REPEATS = 9
FACTOR = 4.0  # orders of a sum differ by up to about two in their error
GROWTHS = (1.0, 4.0)  # alike along the stream; growing, so that tile after tile has a new maximum
Kernel: TypeAlias = Callable[[Arrays], Array]
Case: TypeAlias = tuple[Arrays, Array, float]  # inputs, what is right, the limit of an error


@dataclass(frozen=True, slots=True)
class Candidate:
    """A form under a plan that was right; ``error`` is the largest part of its limit, 0 to 1."""

    form: Node
    plan: Plan
    source: str
    error: float
    seconds: float


def build(sources: list[str], shape: tuple[int, ...]) -> list[Kernel]:
    """The kernels as functions of arrays, from one call of the C compiler."""
    library = load_together(sources)

    def call(name: str, arrays: Arrays) -> Array:
        out = np.empty(shape, np.float32)
        pointers = (one.ctypes.data for one in [*(arrays[name] for name in sorted(arrays)), out])
        library[name](*map(ctypes.c_void_p, pointers))
        return out

    return [partial(call, f"kernel_{number}") for number in range(len(sources))]


def measure(calls: list[Kernel], arrays: Arrays) -> list[float]:
    """Seconds of each kernel: the median of rounds in which each runs once."""
    rounds = [[timeit(partial(one, arrays), number=1) for one in calls] for _ in range(REPEATS)]
    return list(map(median, zip(*rounds, strict=True)))


def cases(node: Node, sizes: Sizes, seed: int) -> Iterator[Case]:
    """Random inputs, what the evaluator makes of them in float64, and how far off a kernel may be.

    The limit is a multiple of the error of the graph as written, evaluated in float32.
    """
    rng = np.random.default_rng(seed)
    for growth in GROWTHS:
        arrays = {}
        for one in (one for one in nodes(node) if one.op == "load"):
            shape = [sizes[axis] for axis in sizes if axis in one.axes]
            steps = np.geomspace(1.0, growth if STREAM in one.axes else 1.0, shape[0])
            drawn = (rng.standard_normal(shape).T * steps).T
            arrays[one.attribute] = np.ascontiguousarray(drawn, np.float32)
        right = evaluate(node, arrays, sizes, np.float64)
        off = np.abs(evaluate(node, arrays, sizes, np.float32) - right).max()
        yield arrays, right, FACTOR * float(off)


def check(call: Kernel, tried: list[Case]) -> float:
    """The largest error of a kernel, as a part of its limit: right up to 1."""
    return max(float(np.abs(call(arrays) - right).max() / limit) for arrays, right, limit in tried)


def search(node: Node, rules: tuple[Rule, ...], sizes: Sizes, seed: int) -> list[Candidate]:
    """All right candidates, the fastest first."""
    made = [(form, plan) for form in forms(node, rules, sizes, seed) for plan in PLANS]
    printers = [Printer(plan, sizes, nodes(lowered(form))) for form, plan in made]
    sources = [one.kernel(f"kernel_{number}") for number, one in enumerate(printers)]
    tried = list(cases(node, sizes, seed))
    calls = build(sources, tried[0][1].shape)
    errors = [check(call, tried) for call in calls]
    right = [number for number, error in enumerate(errors) if error <= 1]
    seconds = measure([calls[number] for number in right], tried[0][0])
    timed = zip(right, seconds, strict=True)
    found = [Candidate(*made[one], sources[one], errors[one], taken) for one, taken in timed]
    return sorted(found, key=lambda one: one.seconds)


def main() -> None:
    """Search with the fold rules and without; show the fastest for each number of passes."""
    sizes = {"k": 2048, "d": 64, "v": 64, "q": 128}
    for title, rules in (("all rules", ALGEBRA + FOLDS), ("without folds", ALGEBRA)):
        found = search(attention(0.1875), rules, sizes, seed=0)
        for one in {passes(one.form): one for one in reversed(found)}.values():
            print(f"{title}: {passes(one.form)} passes, {one.plan}, {one.seconds * 1e3:.2f} ms")


if __name__ == "__main__":
    main()
