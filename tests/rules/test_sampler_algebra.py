"""The rules of algebra are sampled against the evaluator; unsound rules planted here are caught."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from rules.draw import Draw, I, J, most, total
from rules.instances import HITS
from rules.sampler import FIRINGS, NEAR_MISSES, judge, sample, sample_known
from search.lowered import PATIENT

from photic.ir import index as form
from photic.ir.dtype import FLOAT64
from photic.ir.index import Expr
from photic.search.rules import TOPICS
from photic.search.rules.record import Rule
from photic.search.run import saturate

ALGEBRA = TOPICS["algebra"]


@pytest.mark.parametrize("rule", ALGEBRA, ids=lambda rule: rule.name)
def test_a_rule_equates_equal_values_and_lets_near_misses_pass(rule: Rule) -> None:
    found = sample_known(rule, FIRINGS, NEAR_MISSES)
    assert found.firings >= FIRINGS and found.judged > 0
    assert not found.wrong, found.wrong[0]
    assert found.misses >= NEAR_MISSES and found.fired_on_misses == 0


def test_every_rule_has_instances_a_reason_and_a_name_of_its_own() -> None:
    rules = [rule for topic in TOPICS.values() for rule in topic]
    assert {rule.name for rule in rules} <= set(HITS)
    assert len({rule.name for rule in rules}) == len(rules)
    assert all(rule.why for rule in rules)


def named(name: str) -> Rule:
    (rule,) = (rule for rule in ALGEBRA if rule.name == name)
    return rule


def scaled_maximum(d: Draw) -> Expr:
    return most(J, d.mul(d.number(d.rng.uniform(-2, 2)), d.value(I, J)))


def test_the_sampler_catches_a_factor_of_any_sign_out_of_a_maximum() -> None:
    sound = named("positive factor out of a maximum")
    unsound = replace(sound, name="any factor", when="(two s c x) (= v (number c))")
    assert sample(unsound, 50, 0, scaled_maximum, ()).wrong


def test_the_sampler_catches_a_maximum_that_splits_like_a_sum() -> None:
    sound = named("sum of two addends")
    text = {field: getattr(sound, field).replace('"sum"', '"max"') for field in ("left", "right")}
    unsound = replace(sound, name="maximum of two addends", **text)
    assert sample(unsound, 50, 0, lambda d: most(J, d.add(d.value(I, J), d.value(J))), ()).wrong


def test_the_sampler_catches_a_sum_of_products_as_a_product_of_sums() -> None:
    sound = named("product in a sum")
    right = '(Prod "" d (multiset-of (Reduce "sum" j a) (Reduce "sum" j b)))'
    unsound = replace(sound, name="product of sums", right=right, when="(two s a b)")
    assert sample(unsound, 50, 0, lambda d: total(J, d.mul(d.value(I, J), d.value(J))), ()).wrong


def test_a_rule_that_equates_two_constants_stops_the_run_and_changes_nothing() -> None:
    unsound = Rule("one", '(Prod "" d s)', "c", "(two s c x) (= v (number c))", "wrong", "exact")
    d = Draw(np.random.default_rng(0))
    x, c = d.leaf(J), d.number(3.0)
    value = d.mul(c, d.mul(d.number(2.0), x))
    graph = saturate([value], (unsound,), PATIENT)
    assert graph.stopped == "conflict" and "literal" in graph.problem
    assert all(len(nodes) == 1 for nodes in graph.classes.values())


def test_a_rule_that_equates_two_dtypes_stops_the_run() -> None:
    unsound = Rule("no cast", "(Cast d x)", "x", "", "wrong", "exact")
    d = Draw(np.random.default_rng(0))
    graph = saturate([form.cast(d.leaf(J), FLOAT64)], (unsound,), PATIENT)
    assert graph.stopped == "conflict" and "dtype" in graph.problem


def test_all_rules_together_equate_equal_values() -> None:
    rules = tuple(rule for topic in TOPICS.values() for rule in topic)
    d = Draw(np.random.default_rng(1))
    values = [make(d) for make in HITS.values() for _ in range(3)]
    graph = saturate(values, rules, PATIENT)
    judged, wrong = judge(graph, d.arrays())
    assert graph.stopped == "saturated" and judged > len(values)
    assert not wrong, wrong[0]
