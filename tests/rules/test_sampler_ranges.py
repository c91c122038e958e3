"""The rules of ranges are sampled: where they say so, a body is the identity of its reduction."""

from __future__ import annotations

from dataclasses import replace

import pytest
from rules.draw import Draw, I, J, Make, most, total
from rules.range_instances import condition, lowered, masked, over, truth
from rules.sampler import FIRINGS, NEAR_MISSES, sample, sample_known

from photic.ir import index as form
from photic.ir.dtype import INT64
from photic.ir.index import Expr
from photic.search.rules import TOPICS
from photic.search.rules.record import Rule

RANGES = {rule.name: rule for rule in TOPICS["ranges"]}


@pytest.mark.parametrize("name", RANGES)
def test_what_vanishes_is_the_identity_and_near_misses_pass(name: str) -> None:
    found = sample_known(RANGES[name], FIRINGS, NEAR_MISSES)
    assert found.firings >= FIRINGS and found.judged > 0
    assert not found.wrong, found.wrong[0]
    assert found.misses >= NEAR_MISSES and found.fired_on_misses == 0


def unsound(name: str, **changes: str) -> Rule:
    """A rule with something left out."""
    return replace(RANGES[name], name=f"not {name}", **changes)


def first_only(d: Draw) -> Expr:
    return total(J, form.select(truth(d), masked(d, condition(d)), d.value(I, J)))


def cast_to_integers(d: Draw) -> Expr:
    # an integer is never -inf; as a float again it is large and negative
    whole = form.cast(lowered(d, condition(d)), INT64)
    return most(J, form.cast(whole, d.leaf(I).dtype))


PLANTED: dict[str, tuple[Rule, Make]] = {
    "a factor of any sign": (
        unsound("a positive factor of minus infinity", when="(= v (number b))"),
        over(most, lowered, lambda d, c: d.number(d.rng.uniform(-2, 2))),
    ),
    "a maximum with minus infinity": (
        unsound(
            "two operands alike",
            left='(= e (Pair "maximum" d m)) (two m x y) (neutral s x c)',
        ),
        over(most, lambda d, c: form.binary("maximum", lowered(d, c), d.leaf(I, J))),
    ),
    "a choice of which one vanishes": (
        unsound("a choice of two alike", left="(= e (Select b x y)) (neutral s x c)"),
        first_only,
    ),
    "a cast to any dtype": (
        unsound("a cast of minus infinity", when=""),
        cast_to_integers,
    ),
}


@pytest.mark.parametrize("name", PLANTED)
def test_the_sampler_catches(name: str) -> None:
    rule, make = PLANTED[name]
    assert sample(rule, 50, 0, make, ()).wrong
