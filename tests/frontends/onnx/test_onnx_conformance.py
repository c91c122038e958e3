"""The standard's own tests: a sample runs here, and what once passed must pass in the bench."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest

from bench import onnx_conformance as bench

EVALUATED, COMPILED = 12, 150  # every so many of what passes
SMALLEST = "test_squeezenet"  # of the light networks, by the time that it takes
GOAL = 0.95  # of the node tests in scope


@cache
def passing() -> list[str]:
    return bench.PASSING.read_text(encoding="utf-8").split()


@cache
def node_cases() -> dict[str, Any]:
    with np.errstate(all="ignore"):
        return {one.name: one for one in bench.cases("node")}


@cache
def light_cases() -> dict[str, Any]:
    return {one.name: one for one in bench.cases(bench.LIGHT)}


def failures(names: list[str], backend: Any) -> list[str]:
    """What went wrong among these tests."""
    cases = node_cases()
    with np.errstate(all="ignore"):
        outcomes = [bench.run_case(cases[name], "node", backend) for name in names if name in cases]
    return [f"{one.name}: {one.reason}" for one in outcomes if one.state != "passed"]


def test_a_sample_of_what_passes_goes_on_passing() -> None:
    assert failures(passing()[::EVALUATED], bench.EvaluatedBackend) == []


def test_a_few_pass_as_compiled_programs() -> None:
    assert failures(passing()[::COMPILED], bench.PhoticBackend) == []


def test_a_light_network_passes_and_all_of_them_are_on_the_list() -> None:
    """The smallest here, all nine in the bench: they take a minute."""
    assert set(light_cases()) <= set(passing())
    with np.errstate(all="ignore"):
        found = bench.run_case(light_cases()[SMALLEST], bench.LIGHT, bench.PhoticBackend)
    assert (found.state, found.reason) == ("passed", "")


def test_a_test_that_no_longer_passes_is_named() -> None:
    outcomes = [
        bench.Outcome(name, "node", state, "", 0.0)
        for name, state in (("test_abs", "failed"), ("test_acos", "passed"), ("gone", "failed"))
    ]
    assert bench.fallen(outcomes) == ["test_abs"]


def test_the_list_of_what_passes_reaches_the_goal() -> None:
    cases, known = node_cases(), set(passing())
    inside = [name for name, one in cases.items() if not bench.out_of_scope(bench.model_of(one))]
    assert sum(name in known for name in inside) >= GOAL * len(inside)


def test_a_test_that_is_out_of_scope_has_a_reason() -> None:
    cases = node_cases()
    reasons = [
        bench.out_of_scope(bench.model_of(cases[name]))
        for name in (
            "test_equal_string",
            "test_adam",
            "test_bernoulli",
            "test_sequence_insert_at_back",
        )
    ]
    assert reasons == ["strings", "training operators", "sampled random numbers", "sequences"]


def test_the_backend_runs_one_node_and_knows_its_device() -> None:
    import onnx

    node = onnx.helper.make_node("Add", ["x", "y"], ["z"])
    x = np.arange(3, dtype=np.float32)
    (z,) = bench.EvaluatedBackend.run_node(node, [x, x])
    assert z.tolist() == [0, 2, 4]
    assert bench.PhoticBackend.supports_device("CPU")
    assert not bench.PhoticBackend.supports_device("CUDA")


pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")
