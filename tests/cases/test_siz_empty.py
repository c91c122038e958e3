"""SIZ-01: axes of size 0 and 1, static and found out at the call; by the evaluator and compiled C.

Sums, products, extremes and means of nothing are in ``test_num_tensor.py``.
"""

from __future__ import annotations

import numpy as np
import pytest
from cases.test_num_tensor import Run, by_evaluator, by_program

import photic as ph
from photic.base.errors import BadArgument

BOTH = pytest.mark.parametrize("run", [by_evaluator, by_program], ids=["evaluator", "c"])


@pytest.mark.parametrize("keepdims", [False, True])
def test_siz_01_the_place_of_the_largest_of_nothing_is_an_error(keepdims: bool) -> None:
    for shape, axis in (((0, 4), 0), ((3, 0, 4), 1)):
        with pytest.raises(BadArgument):
            ph.input("x", shape).argmax(axis, keepdims)


@BOTH
@pytest.mark.parametrize("keepdims", [False, True])
def test_siz_01_reductions_of_one_element_are_that_element(run: Run, keepdims: bool) -> None:
    x = np.array([[2, -3, 0.5, np.inf]], np.float32)
    handle = ph.input("x", x.shape)
    names = ("sum", "prod", "max", "min", "mean")
    got = run({name: getattr(handle, name)(0, keepdims) for name in names}, {"x": x})
    for name in names:
        np.testing.assert_array_equal(got[name], x if keepdims else x[0])


@BOTH
@pytest.mark.parametrize("symbolic", [False, True])
def test_siz_01_movements_lookups_and_scatters_of_nothing(run: Run, symbolic: bool) -> None:
    n = ph.dim("n", 0, 4) if symbolic else 0
    x, i = ph.input("x", (n, 4)), ph.input("i", (n,), "int64")
    table = ph.input("table", (3, 4))
    outputs = {
        "flip": ph.flip(x),
        "roll": ph.roll(x, 3, 0),
        "pad": ph.pad(x, ((1, 1), (0, 0)), constant_values=7.0),
        "joined": ph.concat([x, table, x]),
        "repeat": ph.repeat(x, 2, 0),
        "taken": ph.take(table, i, 0),
        "added": ph.index_add(table, 0, i, x),
        "written": ph.index_copy(table, 0, i, x),
        "diagonal": ph.diag(x[:, 0]),
        "product": x.T @ x,
    }
    a = np.arange(12, dtype=np.float32).reshape(3, 4)
    given = {"x": np.zeros((0, 4), np.float32), "i": np.zeros(0, np.int64), "table": a}
    got = run(outputs, given, **({"n": 0} if symbolic else {}))
    wants = {
        "flip": given["x"],
        "roll": given["x"],
        "pad": np.full((2, 4), 7),
        "joined": a,
        "repeat": given["x"],
        "taken": given["x"],
        "added": a,
        "written": a,
        "diagonal": np.zeros((0, 0)),
        "product": np.zeros((4, 4)),
    }
    for name, want in wants.items():
        assert got[name].shape == want.shape, name
        np.testing.assert_array_equal(got[name], want, err_msg=name)
