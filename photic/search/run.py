"""Saturation: values and rules in, a plain e-graph out. Only it and ``planning`` know egglog.

A run stops when nothing new follows or at a limit, and says which. Two constants or two dtypes in
one class (a tripwire), or a panic, mean that a rule is wrong: the e-graph is then the values as
they were given. egglog is loaded at the first run, never by a program that was compiled before.
"""

from __future__ import annotations

import time
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import count
from types import TracebackType
from typing import TYPE_CHECKING, Literal

from photic.base.trace import emit
from photic.ir.index import Expr
from photic.search.language import CONSTRUCTORS, FACTS, SORTS, ENode, Table, encode
from photic.search.rules.record import Rule

if TYPE_CHECKING:
    from egglog.bindings import EGraph as Engine
    from egglog.bindings import FrozenFunction, FrozenRow, RunScheduleOutput, Value

Stop = Literal["saturated", "rows", "seconds", "steps", "conflict", "panic"]


@dataclass(frozen=True, slots=True)
class Limits:
    """Where a run stops: rows of values and facts, seconds, steps of the rules."""

    rows: int
    seconds: float
    steps: int


LINES = 20  # of terms that egglog is given at once
LIMITS = Limits(rows=100_000, seconds=1.5, steps=40)


@dataclass(frozen=True, slots=True)
class EGraph:
    """Classes of equal values. ``free``: the axes that a class depends on.

    ``vanishing``: for the body of each reduction the index conditions (numbers of leaves) of which
    every one implies where it does not hold that the body is the identity of the reduction (0 of a
    sum, -inf of a maximum), given that other values are finite there.
    """

    classes: dict[int, tuple[ENode, ...]]
    roots: tuple[int, ...]
    free: dict[int, frozenset[str]]
    vanishing: dict[int, frozenset[int]]
    table: Table
    stopped: Stop
    matches: dict[str, int]
    problem: str = ""

    @property
    def rows(self) -> int:
        """How many operations on classes there are."""
        return sum(map(len, self.classes.values()))


class _Guard:
    """Keeps what egglog says of a run that failed. Its panics are no ``Exception``."""

    kind: Stop | None = None
    problem = ""

    def __enter__(self) -> _Guard:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None
    ) -> bool:
        known: dict[str, Stop] = {"EggSmolError": "conflict", "PanicException": "panic"}
        self.kind, self.problem = known.get(kind.__name__) if kind else None, str(error)
        return self.kind is not None


def saturate(
    values: Iterable[Expr], rules: Iterable[Rule], limits: Limits, more: Sequence[str] = ()
) -> EGraph:
    """All that the rules prove equal to the values (the roots, in order) and to their parts.

    ``more`` are lines of other terms, which may be roots too.
    """
    from egglog.bindings import EGraph as Engine

    values, rules, start = tuple(values), tuple(rules), time.thread_time()
    terms, table = encode(values)
    engine, guard = Engine(), _Guard()
    # terms before rules: after them each costs ten times as long
    execute(engine, SORTS)
    lines = [*terms.splitlines(), *more]
    for first in range(0, len(lines), LINES):  # one long text takes quadratic time and memory
        execute(engine, "\n".join(lines[first : first + LINES]))
    execute(engine, "\n".join([FACTS, *(rule.text() for rule in rules)]))
    with guard:
        stopped, counts = _steps(engine, limits, start)
        execute(engine, "(run-schedule (saturate (run normal)))")
        matches = {rule.name: counts[rule.name] for rule in rules}
        graph = _read(engine, table, stopped, matches)
    if guard.kind is not None:
        assert rules, f"the facts contradict one another: {guard.problem}"
        graph = saturate(values, (), limits, more)
        graph = replace(graph, stopped=guard.kind, problem=guard.problem)
    seconds = time.thread_time() - start
    emit("search", "saturate", stopped=graph.stopped, rows=graph.rows, seconds=seconds)
    return graph


def execute(engine: Engine, text: str) -> list[RunScheduleOutput]:
    """Run egglog text; what its commands say."""
    return engine.run_program(*engine.parse_program(text))  # type: ignore[return-value]


def _steps(engine: Engine, limits: Limits, start: float) -> tuple[Stop, Counter[str]]:
    matches: Counter[str] = Counter()
    for _ in range(limits.steps):
        (done,) = execute(engine, "(run-schedule (seq (saturate (run normal)) (run step)))")
        matches.update(done.report.num_matches_per_rule)
        (sizes,) = execute(engine, "(print-size)")
        if not done.report.updated:
            return "saturated", matches
        if sum(size for _, size in sizes.sizes) > limits.rows:  # type: ignore[attr-defined]
            return "rows", matches
        if time.thread_time() - start > limits.seconds:
            return "seconds", matches
    return "steps", matches


# --- reading --------------------------------------------------------------------------------


@dataclass(slots=True)
class _Reader:
    """Turns rows of egglog into operations; numbers classes by first appearance."""

    engine: Engine
    running: dict[Value, tuple[int, ...]] = field(default_factory=dict)
    number: defaultdict[Value, int] = field(default_factory=lambda: defaultdict(count().__next__))

    def node(self, name: str, function: FrozenFunction, row: FrozenRow) -> ENode:
        attributes: list[str | int] = []
        children: list[int] = []
        for value, sort in zip(row.inputs, function.input_sorts, strict=True):
            if sort == "E":
                children.append(self.number[value])
            elif sort == "M":
                members = self.engine.value_to_multiset(value)
                children += sorted(self.number[one] for one in members)
            elif sort == "R":
                children += self.running[value]
            elif sort == "String":
                attributes.append(self.engine.value_to_string(value))
            else:
                attributes.append(self.engine.value_to_i64(value))
        return ENode(name, tuple(attributes), tuple(children))


def _read(engine: Engine, table: Table, stopped: Stop, matches: dict[str, int]) -> EGraph:
    functions = engine.freeze().functions
    reader = _Reader(engine)
    tops = functions["root"].rows
    roots = sorted((engine.value_to_i64(one.inputs[0]), reader.number[one.output]) for one in tops)
    for row in functions["Running"].rows:
        reader.running[row.output] = reader.node("Running", functions["Running"], row).children
    classes: dict[int, list[ENode]] = {}
    for name in sorted(CONSTRUCTORS):
        for row in (one for one in functions[name].rows if not one.subsumed):
            node = reader.node(name, functions[name], row)
            classes.setdefault(reader.number[row.output], []).append(node)
    return EGraph(
        {number: tuple(nodes) for number, nodes in classes.items()},
        tuple(number for _, number in roots),
        _free(classes, table),
        _vanishing(reader, functions["neutral"].rows, classes),
        table,
        stopped,
        matches,
    )


def _free(classes: Mapping[int, Sequence[ENode]], table: Table) -> dict[int, frozenset[str]]:
    """The axes that each class depends on: what all its operations depend on."""
    every = frozenset(table.axes)
    free = dict.fromkeys(classes, every)

    def of(node: ENode) -> frozenset[str]:
        if node.op == "Leaf":
            return frozenset(axis.name for axis in table.leaves[int(node.attributes[0])].free)
        below = frozenset[str]().union(*(free[child] for child in node.children))
        return below - {str(node.attributes[1])} if node.op in ("Reduce", "Fold") else below

    while True:
        fewer = {k: every.intersection(*map(of, nodes)) for k, nodes in classes.items()}
        if fewer == free:
            return free
        free.update(fewer)


def _vanishing(
    reader: _Reader, neutral: Iterable[FrozenRow], classes: Mapping[int, Sequence[ENode]]
) -> dict[int, frozenset[int]]:
    """For each body of reductions the conditions under which it is the identity of all of them."""
    known: defaultdict[tuple[str, int], set[int]] = defaultdict(set)
    for row in neutral:
        op, value, condition = row.inputs
        leaves = (one for one in classes[reader.number[condition]] if one.op == "Leaf")
        place = reader.engine.value_to_string(op), reader.number[value]
        known[place].update(int(one.attributes[0]) for one in leaves)
    found: dict[int, frozenset[int]] = {}
    for node in (one for nodes in classes.values() for one in nodes):
        if node.op in ("Reduce", "Fold"):
            body = node.children[-1]
            here = frozenset(known[str(node.attributes[0]), body])
            found[body] = found.get(body, here) & here
    return found
