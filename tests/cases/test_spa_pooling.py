"""SPA-03: windows past the end, divisors, shapes; by the evaluator and compiled C."""

from __future__ import annotations

import numpy as np
import pytest
from cases.test_num_tensor import Run, by_evaluator, by_program, f32, inputs

import photic as ph

BOTH = pytest.mark.parametrize("run", [by_evaluator, by_program], ids=["evaluator", "c"])
NINE = f32(2.0903, 4.6493, 1.632, -3.2051, 4.6975, 4.7296, 3.3653, -1.5815, -2.3832)


@BOTH
def test_spa_03_windows_past_the_end_divide_by_what_they_hold(run: Run) -> None:
    x = np.arange(9, dtype=np.float32).reshape(1, 1, 3, 3)
    given = {"x": x, "line": NINE.reshape(1, 1, 9)}
    a, line = inputs(given)
    outputs = {
        "square": ph.avg_pool2d(a, 2, 2, ceil_mode=True, count_include_pad=False),
        "line": ph.avg_pool1d(line, 7, 3, 3, ceil_mode=True, count_include_pad=True),
    }
    got = run(outputs, given)
    assert got["square"][0, 0].tolist() == [[2, 3.5], [6.5, 8]]
    # the last window holds six of its seven places, padding included, and divides by six
    want = [0.73807, 2.56556, 0.80323, -0.09990]
    np.testing.assert_allclose(got["line"][0, 0], want, atol=6e-6)  # as many digits as reported


@BOTH
def test_spa_03_padding_that_keeps_the_size_begins_at_the_start(run: Run) -> None:
    x = np.arange(12, dtype=np.float32).reshape(1, 1, 6, 2)
    (a,) = inputs({"x": x})
    pooled = ph.avg_pool2d(a, (5, 1), (1, 1), "same_lower", count_include_pad=True)
    got = run({"y": pooled}, {"x": x})["y"][0, 0]
    want = [[1.2, 1.8], [2.4, 3.2], [4, 5], [6, 7], [5.6, 6.4], [4.8, 5.4]]
    np.testing.assert_allclose(got, want, rtol=3e-7)  # one rounding of a sum and one of a product


@BOTH
def test_spa_03_no_window_lies_wholly_in_the_padding(run: Run) -> None:
    random = np.random.default_rng(0)
    given = {
        "x": random.normal(size=(1, 2, 3, 6, 5)).astype(np.float32),
        "y": random.normal(size=(1, 1, 10, 8)).astype(np.float32),
    }
    x, y = inputs(given)
    outputs = {
        "max": ph.max_pool3d(x, 3, 3, 1, ceil_mode=True),
        "avg": ph.avg_pool2d(y, (1, 2), (5, 1), (0, 1)),
    }
    got = run(outputs, given)
    assert got["max"].shape == (1, 2, 2, 3, 2)
    wide = np.pad(given["x"], ((0, 0), (0, 0), (1, 3), (1, 3), (1, 3)), constant_values=-np.inf)
    windows = np.lib.stride_tricks.sliding_window_view(wide, (3, 3, 3), (2, 3, 4))
    want = windows[:, :, ::3, ::3, ::3].max((-3, -2, -1))
    np.testing.assert_array_equal(got["max"], want[:, :, :2, :3, :2])
    assert np.isfinite(got["max"]).all()
    wide = np.pad(given["y"][:, :, ::5], ((0, 0), (0, 0), (0, 0), (1, 1)))
    np.testing.assert_allclose(got["avg"], (wide[..., 1:] + wide[..., :-1]) / 2, rtol=1e-6)
    assert got["avg"].shape == (1, 1, 2, 9)
