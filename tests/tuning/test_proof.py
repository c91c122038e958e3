"""The rules behind an alternative prove it, and none of them can be left out."""

from __future__ import annotations

import random

import pytest
from search.lowered import RULES, region_stores, saturated
from search.value_programs import naive, row

import photic as ph
from photic.search.extract import choose, runnable
from photic.search.run import EGraph
from photic.tuning.proof import Rules, rules_behind

SEEDS = range(20)
STREAMING = {
    "product in a sum",
    "flatten a product in a sum",
    "factors out of a sum",
    "relative: a power of the distance",
    "relative: a product",
    "fold",
}
MASKED = {
    "a condition where it does not hold",
    "minus infinity anywhere",
    "a choice that is not made",
    "a sum with minus infinity",
    "a positive factor of minus infinity",
    "a power with the exponent minus infinity",
    "a product of floats with zero",
}


class Alternative:
    """The operations of a program that one seed chooses."""

    def __init__(self, tensor: ph.Tensor, seed: int) -> None:
        stores = region_stores(y=tensor)
        self.values = [one.value for one in stores]
        self.graph: EGraph = saturated(stores)
        spread = 1.5 if seed else 0.0
        self.choice = runnable(self.graph, choose(self.graph, random.Random(seed), spread, {}))

    def rules(self, given: Rules, late: bool = False) -> Rules:
        return rules_behind(self.graph, self.values, self.choice, given, lambda: late)


@pytest.fixture(scope="module")
def attention() -> Alternative:
    return Alternative(naive(), 0)


def test_streaming_attention_needs_folds_products_and_what_is_known_of_masks(
    attention: Alternative,
) -> None:
    assert {rule.name for rule in attention.rules(RULES)} == STREAMING | MASKED


def test_without_any_rule_behind_it_an_alternative_is_not_proved(attention: Alternative) -> None:
    needed = attention.rules(RULES)
    for rule in needed:
        assert not attention.rules(tuple(one for one in needed if one != rule)), rule.name
    assert attention.rules(needed) == needed


def test_operations_as_written_need_no_rules() -> None:
    assert Alternative(row() * 2.0 + 1.0, 0).rules(RULES) == ()


def test_no_rules_are_named_once_it_is_late(attention: Alternative) -> None:
    assert attention.rules(RULES, late=True) == ()


def test_every_alternative_of_a_softmax_is_proved() -> None:
    for seed in SEEDS:
        found = Alternative(ph.softmax(row()), seed)
        names = {rule.name for rule in found.rules(RULES)}
        folds = any(node.op == "Fold" for node in found.choice.values())
        assert names == ({"relative: a power of the distance", "fold"} if folds else set()), seed
