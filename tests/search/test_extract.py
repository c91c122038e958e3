"""Extraction: every region of statements means what the stores mean, also run in one pass."""

from __future__ import annotations

import math
import random

import numpy as np
import pytest
from search.lowered import extracted, region_stores, run_region, run_stores, saturated, stores_of
from search.value_programs import KEYS, ROWS, block, inputs_of, mixed, naive, row, scores, weights

import photic as ph
from photic.forms.eval import Array
from photic.ir import index as form
from photic.ir.index import Over
from photic.loops.statements import Region
from photic.search.extract import choose, region_of, runnable, stored_by_default

SEEDS = 12
TILES = (1, 2, 3)


def late() -> ph.Tensor:
    """Attention that sees late keys only: the first tiles of a row, and a whole row, are masked."""
    seen = ph.arange(ROWS)[:, None] + 3 < ph.arange(KEYS)
    return mixed(weights(ph.where(seen, scores(causal=False), -math.inf), math.e))


def normed() -> ph.Tensor:
    return ph.rms_norm(row(), ph.input("g", (11,))) @ ph.input("w", (11, 4))


PROGRAMS = {
    "attention": naive,
    "attention that begins masked": late,
    "softmax": lambda: ph.softmax(row()),
    "log of a sum of exponentials": lambda: ph.logsumexp(row(), axis=-1),
    "a norm before a product": normed,
    "chained products": lambda: row() @ ph.input("a", (11, 3)) @ ph.input("b", (3, 4)),
    "two folds of one row": lambda: ph.softmax(row()) * ph.logsumexp(row() * 2.0, -1, True),
}


def spoiled(inputs: dict[str, Array]) -> dict[str, Array]:
    """Rows that begin with -inf, are all -inf, hold an infinity or nan."""
    if "in_x" in inputs:
        inputs["in_x"][0, :4] = -np.inf
        inputs["in_x"][1] = -np.inf
    return inputs


@pytest.mark.parametrize("name", PROGRAMS)
def test_random_regions_mean_what_the_stores_mean(name: str) -> None:
    tensor = PROGRAMS[name]()
    stores, _ = stores_of(y=tensor)
    roots = region_stores(y=tensor)
    graph = saturated(roots)
    inputs = inputs_of([tensor], np.random.default_rng(0))
    if "product" not in name:  # in other orders -inf meets weights of both signs, or does not
        inputs = spoiled(inputs)
    expected = run_stores(stores, inputs)["out_y"]
    for seed in range(SEEDS):
        region = extracted(graph, roots, seed, spread=1.0 if seed else 0.0)
        got = run_region(region, inputs, TILES[seed % len(TILES)])["out_y"]
        # float64 sums in another order
        np.testing.assert_allclose(got, expected, rtol=1e-12, err_msg=str(region))


def test_what_is_infinite_or_nan_in_a_row_stays_so_in_one_pass() -> None:
    for tensor in (ph.softmax(row()), ph.logsumexp(row(), axis=-1), weights(row(), 3.0)):
        stores, _ = stores_of(y=tensor)
        roots = region_stores(y=tensor)
        region = extracted(saturated(roots), roots, 0, 0.0)
        assert any(one.weight for one in region.statements)
        x = np.random.default_rng(0).standard_normal((3, 11)).astype(np.float32)
        x[0, 5], x[1, 5], x[2] = np.inf, np.nan, -np.inf
        expected = run_stores(stores, {"in_x": x})["out_y"]
        for tile in TILES:
            got = run_region(region, {"in_x": x}, tile)["out_y"]
            np.testing.assert_allclose(got, expected, rtol=1e-12)


# --- form -----------------------------------------------------------------------------------


def cheapest(tensor: ph.Tensor) -> Region:
    roots = region_stores(y=tensor)
    return extracted(saturated(roots), roots, 0, 0.0)


def test_attention_by_its_prior_cost_is_one_fold() -> None:
    region = cheapest(naive())
    kinds = [(one.value.op, bool(one.running), one.weight is not None) for one in region.statements]
    # scores, maximum, shares, their two sums, reciprocal and result
    assert kinds[:3] == [("sum", False, False), ("max", False, False), ("select", True, False)]
    assert sorted(kinds[3:5]) == [("sum", True, True)] * 2
    assert all(not running for _, running, _ in kinds[5:])


def test_sums_of_one_maximum_share_the_relative_value_and_stand_together() -> None:
    region = cheapest(naive())
    (share,) = (one for one in region.statements if one.running and one.weight is None)
    sums = [one for one in region.statements if one.weight is not None]
    assert all(any(a.buffer == share.target for a in form.loads(one.value)) for one in sums)
    places = [k for k, one in enumerate(region.statements) if one.running]
    assert places == list(range(places[0], places[0] + len(places)))
    assert region.statements[places[0] - 1].target.name == share.running


def test_statements_read_targets_at_plain_variables() -> None:
    for tensor in (naive(), block(2, 3, 4, 4)):
        region = cheapest(tensor)
        for one in region.statements:
            targets = {each.target: each for each in region.statements if each.target != one.target}
            for access in form.loads(one.value):
                if access.buffer in targets and access.buffer.name not in region.outputs:
                    assert access.index == targets[access.buffer].index


def test_accumulators_reduce_the_axis_of_their_maximum() -> None:
    region = cheapest(naive())
    by_name = {one.target.name: one for one in region.statements}
    for one in region.statements:
        if one.weight is not None:
            running = by_name[one.running].value
            assert running.op == "max" and isinstance(running.attribute, Over)
            assert one.value.attribute == running.attribute


def test_what_is_stored_may_be_given() -> None:
    tensor = ph.exp2(row()) * 2.0 + 1.0
    roots = region_stores(y=tensor)
    graph = saturated(roots)
    choice = runnable(graph, choose(graph, random.Random(0), 0.0, {}))
    inner = [number for number, node in choice.items() if node.op == "Un"]
    assert len(region_of(graph, choice, stored_by_default(graph, choice), roots).statements) == 1
    assert len(region_of(graph, choice, frozenset(inner), roots).statements) == 2


def test_a_choice_can_be_fixed_and_an_impossible_one_leaves_the_root_out() -> None:
    roots = region_stores(y=naive())
    graph = saturated(roots)
    (root,) = graph.roots
    for node in graph.classes[root]:
        assert choose(graph, random.Random(0), 1.0, {root: node})[root] == node
    loop = {root: graph.classes[root][0].__class__("Un", ("sqrt",), (root,))}
    assert root not in choose(graph, random.Random(0), 0.0, loop)


def test_several_outputs_come_from_one_region() -> None:
    shares = weights(scores(), math.e)
    outputs = {"y": mixed(shares), "z": ph.sum(shares * shares, axis=-1)}
    stores, _ = stores_of(**outputs)
    roots = region_stores(**outputs)
    inputs = inputs_of(list(outputs.values()), np.random.default_rng(0))
    expected = run_stores(stores, inputs)
    region = extracted(saturated(roots), roots, 0, 0.0)
    got = run_region(region, inputs, 2)
    assert region.outputs == {"out_y", "out_z"}
    for name in region.outputs:
        np.testing.assert_allclose(got[name], expected[name], rtol=1e-12)
