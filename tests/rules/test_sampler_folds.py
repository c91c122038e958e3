"""The rules of folds are sampled, each pair (h, w) by itself; a pair that a test adds folds too."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from functools import cache

import numpy as np
import pytest
from rules.draw import Draw, I, J, N, most, total
from rules.instances import RELATIVE, operand, other_extremum
from rules.sampler import FIRINGS, NEAR_MISSES, Sampled, judge, sample_known
from search.lowered import PATIENT

from photic.ir import index as form
from photic.ir.index import Expr
from photic.search.rules import rules_without
from photic.search.rules.folds import FOLDS, Entry, fold_rules
from photic.search.rules.record import Rule
from photic.search.run import saturate


@cache
def sampled(name: str) -> Sampled:
    return sample_known(next(rule for rule in FOLDS if rule.name == name), FIRINGS, 0)


SAMPLED = (
    *RELATIVE,
    "relative: the place of a whole maximum",
    "fold of places",
)


@pytest.mark.parametrize("name", SAMPLED)
def test_a_fold_equals_its_sum(name: str) -> None:
    found = sampled(name)
    assert found.firings >= FIRINGS and found.judged > 0
    assert not found.wrong, found.wrong[0]


def test_the_other_rules_of_folds_fired_often_enough_in_these_runs() -> None:
    total = sum((Counter(sampled(name).counts) for name in SAMPLED), Counter[str]())
    assert all(total[rule.name] >= FIRINGS for rule in FOLDS)


@pytest.mark.parametrize("rule", FOLDS, ids=lambda rule: rule.name)
def test_near_misses_pass(rule: Rule) -> None:
    found = sample_known(rule, 0, NEAR_MISSES)
    assert found.misses >= NEAR_MISSES and found.fired_on_misses == 0


def folded(entry: Entry, values: list[Expr]):  # type: ignore[no-untyped-def]
    rules = (*rules_without("folds"), *fold_rules((entry,)))
    return saturate(values, rules, PATIENT)


ROOT = Entry(
    "a root of a power of the distance",
    "(sqrt (exp2 (add a (mul n r))))",
    "(sqrt (exp2 (add old (mul n new))))",
    True,
    "(= (number n) -1.0)",
    "sqrt(2**(a - r)) = sqrt(2**(a - r')) * sqrt(2**(r' - r))",
)
TIES = Entry(
    "where the maximum is",
    "(select (less_than a r) zero one)",
    "(select (less_than old new) zero one)",
    False,
    '(= one (known "one" d)) (= zero (known "zero" d))',
    "1 where a is r: what was counted before a greater r is forgotten",
)


def root(d: Draw, a: Expr, r: Expr) -> Expr:
    return form.unary("sqrt", form.unary("exp2", d.minus(a, r)))


def tie(d: Draw, a: Expr, r: Expr) -> Expr:
    return form.select(form.binary("less_than", a, r), form.zero(a.dtype), d.number(1.0))


def quotient(d: Draw, a: Expr, r: Expr) -> Expr:
    return d.mul(a, form.unary("recip", r))


@pytest.mark.parametrize(("entry", "relative"), [(ROOT, root), (TIES, tie)])
def test_a_pair_added_by_a_test_folds(
    entry: Entry, relative: Callable[[Draw, Expr, Expr], Expr]
) -> None:
    d = Draw(np.random.default_rng(0))
    rows = [operand(d) for _ in range(20)]
    values = [total(J, d.mul(relative(d, a, most(J, a)), d.value(J, N))) for a in rows]
    graph = folded(entry, values)
    judged, wrong = judge(graph, d.arrays())
    assert graph.matches["fold"] >= len(values) and judged >= len(values)
    assert not wrong, wrong[0]


@pytest.mark.parametrize(("entry", "relative"), [(ROOT, root), (TIES, tie)])
def test_near_misses_of_a_pair_added_by_a_test_do_not_fold(
    entry: Entry, relative: Callable[[Draw, Expr, Expr], Expr]
) -> None:
    d = Draw(np.random.default_rng(0))
    make = other_extremum(relative)
    assert folded(entry, [make(d) for _ in range(NEAR_MISSES)]).matches["fold"] == 0


def test_the_sampler_catches_a_quotient_by_the_maximum_as_a_fold() -> None:
    # the partial sums pass through r = 0 and -inf
    entry = Entry("a quotient", "(mul a (recip r))", "(mul old (recip new))", True, "", "wrong")
    d = Draw(np.random.default_rng(0))
    rows = [d.leaf(I, J) for _ in range(20)]
    graph = folded(entry, [total(J, quotient(d, a, most(J, a))) for a in rows])
    assert graph.matches["fold"] >= len(rows)
    assert judge(graph, d.arrays())[1]


def test_the_sampler_catches_a_wrong_weight() -> None:
    entry = Entry(
        "a power, its weight squared",
        ROOT.h,
        "(exp2 (add old (mul n new)))",
        True,
        ROOT.when,
        "wrong",
    )
    d = Draw(np.random.default_rng(0))
    rows = [d.leaf(I, J) for _ in range(20)]
    graph = folded(entry, [total(J, root(d, a, most(J, a))) for a in rows])
    assert judge(graph, d.arrays())[1]
