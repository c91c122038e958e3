"""TIM-01 inside the search: rules on short sums, long chains and wide graphs stop in bounded time.

Commuting, associating and cancelling are what blew up in the reports; here they are no rules, and
what is left must end by itself on sums, and by a limit that it names on whatever is too large.
"""

from __future__ import annotations

import resource
import time
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
from search.lowered import PATIENT, RULES, extracted, region_stores, run_region, run_stores

import photic as ph
from photic.forms.eval import Array
from photic.ir import index as form
from photic.ir.index import Store
from photic.search.run import EGraph, saturate

SECONDS = 30.0  # a stated cap; each takes a tenth of it on the slowest machine seen
GROWTH_BYTES = 1 << 30
COUNT = 5
NEAR_LINEAR = 2.5  # rows of twice the terms over rows of the terms: 2 but for what all share
ROUNDING = 1e-9  # float64


def terms(count: int) -> list[ph.Tensor]:
    return [ph.input(f"x{number}", (COUNT,)) for number in range(count)]


def total(count: int) -> ph.Tensor:
    found = terms(count)
    value = found[0]
    for one in found[1:]:
        value = value + one
    return value


def bounded(stores: Sequence[Store]) -> EGraph:
    """The e-graph, within the cap; a busy machine must not change how it ends."""
    start, before = time.perf_counter(), peak_bytes()
    graph = saturate([one.value for one in stores], RULES, PATIENT)
    assert time.perf_counter() - start < SECONDS
    assert peak_bytes() - before < GROWTH_BYTES
    return graph


def peak_bytes() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def same_values(graph: EGraph, stores: Sequence[Store]) -> None:
    """What is extracted means what was written."""
    names = {one.buffer.name for store in stores for one in form.loads(store.value)}
    rng = np.random.default_rng(0)
    inputs = {name: rng.standard_normal(COUNT).astype(np.float32) for name in names}
    wanted: dict[str, Array] = run_stores(stores, inputs)
    for seed in range(3):
        found = run_region(extracted(graph, stores, seed, 1.0), inputs, 2)
        for store in stores:
            name = store.buffer.name
            np.testing.assert_allclose(found[name], wanted[name], ROUNDING, ROUNDING)


def test_tim_01_what_cancels_is_left_alone_at_once() -> None:
    a, b = terms(2)
    stores = region_stores(y=a + (b + -a))
    graph = bounded(stores)
    assert graph.stopped == "saturated"
    same_values(graph, stores)


@pytest.mark.parametrize("count", [6, 10, 16, 24])
def test_tim_01_sums_of_many_terms_saturate(count: int) -> None:
    stores = region_stores(y=total(count))
    graph = bounded(stores)
    assert graph.stopped == "saturated"
    assert graph.rows < NEAR_LINEAR * bounded(region_stores(y=total(count // 2))).rows
    same_values(graph, stores)


def test_tim_01_a_residual_chain_of_forty_saturates() -> None:
    (value,) = terms(1)
    for _ in range(40):
        value = value + ph.relu(value * 0.125)
    stores = region_stores(y=value)
    graph = bounded(stores)
    assert graph.stopped == "saturated"
    same_values(graph, stores)


def test_tim_01_lookups_that_no_rule_matches_saturate() -> None:
    table, place = ph.input("table", (50, 8)), ph.input("place", (9,), "int64")
    value = ph.input("x", (9, 8))
    for number in range(12):
        row = ph.take(table, ph.mod(place + number, 50), 0)
        value = (value * 0.5 + row).astype("float64").astype("float32")
    assert bounded(region_stores(y=value)).stopped == "saturated"


def test_tim_01_a_run_that_met_its_limit_is_still_the_program() -> None:
    (value,) = terms(1)
    for number in range(12):
        value = ph.exp(value * 0.5) * ph.sqrt(ph.square(value) + float(number))
    stores = region_stores(y=value)
    graph = saturate([one.value for one in stores], RULES, replace(PATIENT, rows=50, steps=3))
    assert graph.stopped in ("rows", "steps")
    same_values(graph, stores)
