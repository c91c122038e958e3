"""The random graphs themselves: sound, complete, and able to tell right from wrong."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import numpy as np
import pytest
from fuzz.graphs import STEP, RandomCase, coverage, random_graph
from fuzz.movements import KINDS, Array

from photic.forms import eval as evaluator
from photic.forms.eval import MEANING, evaluate
from photic.forms.graph_check import check_graph
from photic.forms.graph_text import constants_of, parse_graph, print_graph
from photic.ir.dtype import DTYPES, dtype_of
from photic.ir.ops import PRIMITIVES

SEEDS = range(400)


@cache
def cases() -> tuple[RandomCase, ...]:
    return tuple(random_graph(seed) for seed in SEEDS)


def faults(case: RandomCase) -> list[str]:
    return case.faults(*evaluate(case.graph, case.inputs, case.states, case.sizes, widen=False))


def test_random_graphs_pass_the_checker_and_mean_what_they_were_grown_with() -> None:
    for case in cases():
        check_graph(case.graph)
        assert faults(case) == []


def test_random_graphs_round_trip_through_text() -> None:
    for graph in (case.graph for case in cases()):
        text = print_graph(graph)
        assert parse_graph(text, constants_of(graph)) == graph, text


def test_the_same_seed_gives_the_same_case() -> None:
    one, two = random_graph(17), random_graph(17)
    assert one.graph == two.graph
    assert one.sizes == two.sizes
    assert all(np.array_equal(one.inputs[k], two.inputs[k], True) for k in one.inputs)


def test_every_primitive_dtype_and_movement_is_covered() -> None:
    found = coverage(SEEDS)
    wanted = [*(one.name for one in PRIMITIVES), *DTYPES, *(f"view {kind}" for kind in KINDS)]
    wanted += ["input", "state", "constant", "iota", "scan", "nested scan", "gather", "mask"]
    wanted += ["where", "product summed", "several outputs", "symbolic", "empty", "not finite"]
    wanted += ["whole update", "update at an offset", "update by data"]
    assert [name for name in wanted if found[name] < 2] == []


def backwards_sum(x: Array, k: int) -> Array:
    """Another right order: from the last term to the first."""
    total = np.full(np.delete(x.shape, k), evaluator._start(x.shape[k], x.dtype), x.dtype)
    for place in reversed(range(x.shape[k])):
        total = total + np.take(x, place, k)
    return total


def nudged(op: str, steps: float) -> Callable[[Array], Array]:
    def run(x: Array) -> Array:
        exact = MEANING_BEFORE[op](x)
        return (exact * (1 + steps * STEP[dtype_of(x.dtype).name])).astype(x.dtype)

    return run


MEANING_BEFORE = dict(MEANING)
RIGHT: dict[str, Callable[..., Array]] = {"sum": backwards_sum}
RIGHT |= {op: nudged(op, 2) for op in ("exp2", "log2", "sin")}
WRONG: dict[str, Callable[..., Array]] = {
    "sum": lambda x, k: MEANING_BEFORE["sum"](x[..., :-1] if k == x.ndim - 1 else x, k),
    "max": lambda x, k: np.fmax.reduce(x, k, initial=evaluator.lowest(x.dtype)),
    "mul": lambda x, y: x * y,
    "mod": lambda x, y: np.fmod(x, y),
    "less_than": lambda x, y: np.less_equal(x, y),
    "exp2": nudged("exp2", 40),
    "log2": nudged("log2", 40),
    "sin": nudged("sin", 40),
    "recip": nudged("recip", 1.1),
    "sqrt": nudged("sqrt", 1.1),
}


@pytest.mark.parametrize("op", RIGHT)
def test_another_right_answer_is_within_the_bounds(
    op: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    grown = cases()
    monkeypatch.setattr(evaluator, "MEANING", {**MEANING, op: RIGHT[op]})
    assert [fault for case in grown for fault in faults(case)] == []


@pytest.mark.parametrize("op", WRONG)
def test_a_wrong_meaning_is_found(op: str, monkeypatch: pytest.MonkeyPatch) -> None:
    grown = cases()
    monkeypatch.setattr(evaluator, "MEANING", {**MEANING, op: WRONG[op]})
    assert sum(bool(faults(case)) for case in grown) > 1
