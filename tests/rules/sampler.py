"""The sampler: every rule on random small values, judged by the evaluator in float64.

A firing counts if the rule matched. Then each class that it made larger is judged: all operations
of the class are evaluated, folds in one pass over tiles, and must agree. Where the body of a
reduction is known to vanish, it must be the reduction's identity. For a near miss the rule must not
match at all.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

import numpy as np
from rules.draw import Draw, Make
from rules.instances import HITS, MISSES, PLACES, RELATIVE
from search.lowered import run_region, run_stores

from photic.forms.eval import Array
from photic.ir.dim import var
from photic.ir.dtype import BOOL, FLOAT32
from photic.ir.index import Buffer, Expr, Store
from photic.search.extract import Choice, choose, order, region_of, runnable, stored_by_default
from photic.search.rules import rules_without
from photic.search.rules.record import Rule
from photic.search.run import LIMITS, EGraph, saturate

FIRINGS, NEAR_MISSES = 200, 20  # of every rule, in every run of the tests
BATCH = 25  # values in one e-graph: a run costs more than a value
# Where the values are made of conditions, egglog takes time with the cube of their number.
SMALL_BATCH = 12
OF_CONDITIONS = frozenset(
    (
        "relative: a tie with the maximum",
        "relative: a tie of the maximum",
        "relative: the place of a maximum",
        *PLACES,
    )
)
STEPS = replace(LIMITS, seconds=60.0, steps=4)
RTOL = 1e-9  # float64 sums of a dozen terms of magnitude 1 to 1000 in another order

# Rules that fire on the same values: one run is for all of them.
TOGETHER = {"fold of places": PLACES}
# What must have fired before a rule can.
BEFORE = {"product of one in a sum": ("factors out of a sum",)}


@dataclass(frozen=True, slots=True)
class Sampled:
    """What sampling a rule found: firings, classes that disagree, near misses that fired."""

    firings: int
    judged: int
    wrong: tuple[str, ...]
    misses: int
    fired_on_misses: int
    counts: Mapping[str, int]  # firings of every rule of the runs


def rule_set(rule: Rule) -> tuple[Rule, ...]:
    """A rule and those without which it has nothing to match, or nobody would see its result."""
    names = {"fold", *BEFORE.get(rule.name, ())}
    rules = rules_without()
    needed = [one for one in rules if one.first or one.kind == "fact" or one.name in names]
    return (*(one for one in needed if one.name != rule.name), rule)


def sample(rule: Rule, firings: int, misses: int, hits: Make, near: Iterable[Make]) -> Sampled:
    """At least so many firings and near misses."""
    rng = np.random.default_rng(0)
    judged, wrong, counts = 0, list[str](), Counter[str]()
    names = TOGETHER.get(rule.name, (rule.name,))
    batch = SMALL_BATCH if rule.name in OF_CONDITIONS else BATCH
    while any(counts[name] < firings for name in names):
        draw = Draw(rng)
        graph = saturate([hits(draw) for _ in range(batch)], rule_set(rule), STEPS)
        assert graph.stopped in ("saturated", "steps"), graph.problem
        assert graph.matches[rule.name], f"{rule.name} does not fire on its own instances"
        counts.update(graph.matches)
        arrays = draw.arrays()
        for count, found in (judge(graph, arrays), judge_vanishing(graph, arrays)):
            judged, wrong = judged + count, wrong + found
    on_misses = _fired_on(rule, tuple(near), misses, rng) if misses else 0
    fired = counts[rule.name]
    return Sampled(fired, judged, tuple(wrong), misses, on_misses, counts)


def _fired_on(rule: Rule, near: tuple[Make, ...], misses: int, rng: np.random.Generator) -> int:
    """How often a rule matched on near misses; a pair (h, w), how often it made a fold."""
    draw = Draw(rng)
    graph = saturate([near[k % len(near)](draw) for k in range(misses)], rule_set(rule), STEPS)
    return graph.matches["fold" if rule.name in RELATIVE else rule.name]


def sample_known(rule: Rule, firings: int, misses: int) -> Sampled:
    """``sample`` with the instances written for a rule."""
    return sample(rule, firings, misses, HITS[rule.name], MISSES[rule.name])


def judge(graph: EGraph, arrays: Mapping[str, Array]) -> tuple[int, list[str]]:
    """How many classes with several operations there are, and the operations that disagree."""
    base = choose(graph, random.Random(0), 0.0, {})
    count, wrong = 0, []
    for number, nodes in graph.classes.items():
        others = [{**base, number: node} for node in nodes]
        acyclic = [one for one in others if number not in order(one, one[number].children)]
        if len(acyclic) > 1:
            count += 1
            first, *rest = (_evaluated(graph, number, one, arrays) for one in acyclic)
            scale = np.abs(first[np.isfinite(first)]).max(initial=0.0)
            for choice, result in zip(acyclic[1:], rest, strict=True):
                if not np.allclose(result, first, rtol=RTOL, atol=RTOL * scale, equal_nan=True):
                    wrong.append(f"{acyclic[0][number]}: {first}; {choice[number]}: {result}")
    return count, wrong


IDENTITIES = {"sum": 0.0, "max": -np.inf}


def judge_vanishing(graph: EGraph, arrays: Mapping[str, Array]) -> tuple[int, list[str]]:
    """How many bodies are known to vanish somewhere, and those that do not."""
    base = choose(graph, random.Random(0), 0.0, {})
    count, wrong = 0, []
    for node in (one for nodes in graph.classes.values() for one in nodes):
        if node.op not in ("Reduce", "Fold") or not graph.vanishing[node.children[-1]]:
            continue
        body, identity = node.children[-1], IDENTITIES[str(node.attributes[0])]
        count += 1
        for leaf in graph.vanishing[body]:
            condition = graph.table.leaves[leaf]
            free = graph.free[body] | {axis.name for axis in condition.free}
            values = _over(graph, free, body, base, arrays)
            where = _where(graph, free, condition)
            if not (values[~where] == identity).all():
                wrong.append(f"{node} where not {condition}: {values[~where]}")
    return count, wrong


def _over(
    graph: EGraph, free: frozenset[str], number: int, choice: Choice, arrays: Mapping[str, Array]
) -> Array:
    """The elements of a class at all points of some axes, those that it depends on among them."""
    values = _evaluated(graph, number, choice, arrays)
    shape = [graph.table.axes[name].extent for name in sorted(free)]
    own = [n if name in graph.free[number] else 1 for name, n in zip(sorted(free), shape)]
    return np.broadcast_to(values.reshape(own), shape)


def _where(graph: EGraph, free: frozenset[str], condition: Expr) -> Array:
    """Whether an index condition holds, at all points of some axes."""
    axes = tuple(graph.table.axes[name] for name in sorted(free))
    index = tuple(var(axis.name, axis.extent) for axis in axes)
    target = Buffer("where", tuple(axis.extent for axis in axes), BOOL)
    return run_stores([Store(target, axes, index, condition)], {})["where"]


def _evaluated(graph: EGraph, number: int, choice: Choice, arrays: Mapping[str, Array]) -> Array:
    """The elements of a class under a choice."""
    axes = tuple(graph.table.axes[name] for name in sorted(graph.free[number]))
    index = tuple(var(axis.name, axis.extent) for axis in axes)
    target = Buffer("out", tuple(axis.extent for axis in axes), FLOAT32)
    alone = replace(graph, roots=(number,))
    choice = runnable(alone, choice)
    store = Store(target, axes, index, graph.table.leaves[0])
    region = region_of(alone, choice, stored_by_default(alone, choice), (store,))
    return run_region(region, arrays, tile=1 + number % 3)["out"]
