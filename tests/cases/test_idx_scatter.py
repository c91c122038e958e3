"""IDX-03: several values for one place, added or written; by the evaluator and compiled C."""

from __future__ import annotations

import numpy as np
import pytest
from cases.test_num_tensor import Run, by_evaluator, by_program, inputs

import photic as ph
from photic.base.settings import int_setting
from photic.targets.c.pool import set_threads

BOTH = pytest.mark.parametrize("run", [by_evaluator, by_program], ids=["evaluator", "c"])
IDS, ROWS, COLUMNS, CALLS = 1000, 10, 4, 20
THREADS = 8  # of the report


@BOTH
def test_idx_03_a_scatter_adds_every_value_of_a_place(run: Run) -> None:
    given = {
        "x": np.full((4, 3), 2, np.float32),
        "i": np.array([[0, 2, 3], [0, 2, 3]]),
        "v": np.array([[3, 5, 7], [11, 13, 17]], np.float32),
    }
    x, i, v = inputs(given)
    outputs = {"add": ph.scatter(x, 0, i, v, "add"), "set": ph.scatter(x, 0, i, v)}
    got = run(outputs, given)
    assert got["add"].tolist() == [[16, 2, 2], [2, 2, 2], [2, 20, 2], [2, 2, 26]]
    assert got["set"].tolist() == [[11, 2, 2], [2, 2, 2], [2, 13, 2], [2, 2, 17]]


@BOTH
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_idx_03_rows_added_at_repeated_ids_are_the_same_in_every_call(
    run: Run, dtype: type
) -> None:
    random = np.random.default_rng(0)
    given = {
        "i": random.integers(0, ROWS, IDS),
        "v": random.normal(size=(IDS, COLUMNS)).astype(dtype),
    }
    i, v = inputs(given)
    outputs = {"y": ph.index_add(ph.zeros((ROWS, COLUMNS), np.dtype(dtype).name), 0, i, v)}
    want = np.zeros((ROWS, COLUMNS))
    np.add.at(want, given["i"], given["v"].astype(np.float64))
    if run is by_evaluator:
        results = [run(outputs, given)["y"]]
    else:
        program = ph.compile(outputs, target="c")
        results = [program(**given)["y"] for _ in range(CALLS)]
    for got in results:
        np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-5)  # what the report allows
        np.testing.assert_array_equal(got, results[0])


@BOTH
def test_idx_03_the_last_of_many_values_stays_at_every_length(run: Run) -> None:
    n = ph.dim("n", 1, 70)
    x, i, v = ph.input("x", (3,)), ph.input("i", (n,), "int64"), ph.input("v", (n,))
    outputs = {"y": ph.index_copy(x, 0, i, v)}
    program = ph.compile(outputs, target="c") if run is by_program else None
    for size in (1, 2, 15, 16, 17, 31, 33, 64, 70):
        given = {
            "x": np.full(3, -1, np.float32),
            "i": np.full(size, 1),
            "v": np.arange(size, dtype=np.float32),
        }
        got = program(**given) if program else run(outputs, given, n=size)
        assert got["y"].tolist() == [-1, size - 1, -1]


@BOTH
def test_idx_03_the_gradient_of_repeated_lookups_is_the_same_in_every_call(run: Run) -> None:
    random = np.random.default_rng(1)
    given = {
        "table": random.normal(size=(ROWS, COLUMNS)).astype(np.float32),
        "i": random.integers(0, ROWS, IDS),
    }
    table, i = inputs(given)
    outputs = {"y": ph.grad(ph.square(ph.embedding(i, table)).sum(), table)}
    want = 2.0 * given["table"] * np.bincount(given["i"], minlength=ROWS)[:, None]
    if run is by_evaluator:
        results = [run(outputs, given)["y"]]
    else:
        program = ph.compile(outputs, target="c")
        results = [program(**given)["y"] for _ in range(CALLS)]
    for got in results:
        np.testing.assert_allclose(got, want, rtol=1e-5)
        np.testing.assert_array_equal(got, results[0])


def test_idx_03_eight_threads_give_what_one_does() -> None:
    random = np.random.default_rng(2)
    given = {
        "table": random.normal(size=(ROWS, COLUMNS)).astype(np.float32),
        "i": random.integers(0, ROWS, IDS),
    }
    table, i = inputs(given)
    outputs = {"y": ph.grad(ph.square(ph.embedding(i, table)).sum(), table)}
    program = ph.compile(outputs, target="c")
    try:
        set_threads(1)
        want = program(**given)["y"]
        set_threads(THREADS)
        for _ in range(CALLS):
            np.testing.assert_array_equal(program(**given)["y"], want)
    finally:
        set_threads(int_setting("threads"))
