"""IDX-04, SIZ-01: orders of equal values, of nan, of nothing; by the evaluator and compiled C."""

from __future__ import annotations

import numpy as np
import pytest
from cases.test_num_tensor import Run, by_evaluator, by_program, inputs

import photic as ph

INF, NAN = float("inf"), float("nan")
BOTH = pytest.mark.parametrize("run", [by_evaluator, by_program], ids=["evaluator", "c"])
TIES = {
    "few": np.array([0, 1, 2, 2], np.float32),
    "equal": np.ones(61, np.float32),
    "tiled": np.tile(np.array([1, 3, 2, 3, 3], np.float32), (3, 4, 1)),
    "long": np.tile(np.array([1, 3, 2, 3, 3], np.float32), 200),
    "nan": np.array([1, NAN, 3], np.float32),
    "nans": np.array([NAN, INF, NAN, NAN], np.float32),
}
COUNT = 2


@BOTH
def test_idx_04_equal_elements_are_taken_in_the_order_of_their_places(run: Run) -> None:
    handles = dict(zip(TIES, inputs(TIES), strict=True))
    outputs = {f"{name}_top": ph.topk(x, COUNT)[1] for name, x in handles.items()}
    outputs |= {f"{name}_low": ph.topk(x, COUNT, largest=False)[1] for name, x in handles.items()}
    outputs |= {f"{name}_all": ph.argsort(x) for name, x in handles.items()}
    got = run(outputs, TIES)
    for name, x in TIES.items():
        rising = np.argsort(x, -1, kind="stable")
        falling = np.flip(x.shape[-1] - 1 - np.argsort(np.flip(x, -1), -1, kind="stable"), -1)
        np.testing.assert_array_equal(got[f"{name}_top"], falling[..., :COUNT], name)
        np.testing.assert_array_equal(got[f"{name}_low"], rising[..., :COUNT], name)
        np.testing.assert_array_equal(got[f"{name}_all"], rising, name)


@BOTH
def test_siz_01_orders_and_running_values_of_nothing_are_empty(run: Run) -> None:
    given = {"x": np.zeros((0, 4), np.float32), "y": np.zeros((3, 0, 4), np.float32)}
    x, y = inputs(given)
    every = (ph.sort, ph.argsort, ph.cumsum, ph.cumprod, ph.logcumsumexp)
    outputs = {f"x{k}": function(x, 0) for k, function in enumerate(every)}
    outputs |= {f"y{k}": function(y, 1) for k, function in enumerate(every)}
    outputs |= {"places": ph.nonzero(y, 2, -1)[0], "count": ph.nonzero(y, 2)[1]}
    got = run(outputs, given)
    assert all(got[f"x{k}"].shape == (0, 4) for k in range(len(every)))
    assert all(got[f"y{k}"].shape == (3, 0, 4) for k in range(len(every)))
    assert got["places"].tolist() == [[-1, -1]] * 3
    assert got["count"] == 0


@BOTH
@pytest.mark.parametrize("keepdims", [False, True])
def test_siz_01_order_statistics_of_nothing_are_nan(run: Run, keepdims: bool) -> None:
    given = {"x": np.zeros((3, 0, 4), np.float32)}
    (x,) = inputs(given)
    names = ("median", "nanmedian", "nanmean", "nanvar")
    outputs = {name: getattr(ph, name)(x, 1, keepdims=keepdims) for name in names}
    outputs["nansum"] = ph.nansum(x, 1, keepdims)
    got = run(outputs, given)
    shape = (3, 1, 4) if keepdims else (3, 4)
    for name in names:
        np.testing.assert_array_equal(got[name], np.full(shape, NAN, np.float32), name)
    np.testing.assert_array_equal(got["nansum"], np.zeros(shape, np.float32))


@BOTH
def test_idx_04_the_last_of_equal_values_and_a_single_one_of_them(run: Run) -> None:
    handles = dict(zip(TIES, inputs(TIES), strict=True))

    def last(x: ph.Tensor) -> ph.Tensor:
        return x.shape[-1] - 1 - ph.argmax(ph.flip(x, -1), -1)

    outputs = {f"{name}_last": last(x) for name, x in handles.items()}
    outputs |= {
        f"{name}_hard": ph.one_hot(ph.argmax(x, -1), x.shape[-1]) for name, x in handles.items()
    }
    got = run(outputs, TIES)
    for name, x in TIES.items():
        end = x.shape[-1] - 1 - np.flip(x, -1).argmax(-1)
        np.testing.assert_array_equal(got[f"{name}_last"], end, name)
        hard = np.arange(x.shape[-1]) == x.argmax(-1)[..., None]
        np.testing.assert_array_equal(got[f"{name}_hard"], hard, name)


@BOTH
def test_siz_01_the_place_of_the_largest_of_nothing_found_out_at_the_call_is_none(run: Run) -> None:
    x = ph.input("x", (ph.dim("n", 0, 4), 3))
    outputs = {"max": ph.argmax(x, 0), "min": ph.argmin(x, 0, keepdims=True)}
    got = run(outputs, {"x": np.zeros((0, 3), np.float32)}, n=0)
    assert got["max"].tolist() == [-1, -1, -1]
    assert got["min"].tolist() == [[-1, -1, -1]]
