"""SPA-05: reflect pads wider than the axis, pads of both signs; by the evaluator and compiled C."""

from __future__ import annotations

import numpy as np
import pytest
from cases.test_num_tensor import Run, by_evaluator, by_program, inputs

import photic as ph

BOTH = pytest.mark.parametrize("run", [by_evaluator, by_program], ids=["evaluator", "c"])


@BOTH
def test_spa_05_a_reflection_wider_than_the_axis_goes_on_reflecting(run: Run) -> None:
    x = np.array([[1, 1.2], [2.3, 3.4], [4.5, 5.7]], np.float32)
    (handle,) = inputs({"x": x})
    got = run({"y": ph.pad(handle, ((0, 0), (2, 0)), "reflect")}, {"x": x})["y"]
    want = [[1, 1.2, 1, 1.2], [2.3, 3.4, 2.3, 3.4], [4.5, 5.7, 4.5, 5.7]]
    np.testing.assert_array_equal(got, np.array(want, np.float32))


@BOTH
@pytest.mark.parametrize("size", [2, 5, 100])
@pytest.mark.parametrize("mode", ["reflect", "symmetric", "edge", "wrap"])
def test_spa_05_a_negative_pad_cuts_and_what_is_left_is_padded(
    run: Run, size: int, mode: str
) -> None:
    x = np.arange(size, dtype=np.float32)
    (handle,) = inputs({"x": x})
    got = run({"y": ph.pad(handle, (1 - size, size - 1), mode)}, {"x": x})["y"]
    np.testing.assert_array_equal(got, np.pad(x[size - 1 :], (0, size - 1), mode=mode))


@BOTH
def test_spa_05_a_constant_pad_may_push_everything_out(run: Run) -> None:
    x = np.arange(1, 17, dtype=np.float32).reshape(1, 1, 4, 4)
    (handle,) = inputs({"x": x})
    got = run({"y": ph.pad(handle, ((0, 0), (0, 0), (4, -4), (1, -1)))}, {"x": x})["y"]
    np.testing.assert_array_equal(got, np.zeros((1, 1, 4, 4), np.float32))
    assert not np.signbit(got).any()


@BOTH
@pytest.mark.parametrize("mode", ["reflect", "symmetric", "edge", "wrap"])
def test_spa_05_pads_wider_than_a_symbolic_size_never_leave_it(run: Run, mode: str) -> None:
    n = ph.dim("n", 1, 40)
    outputs = {"y": ph.pad(ph.input("x", (n,)), (7, 9), mode)}
    program = ph.compile(outputs, target="c") if run is by_program else None
    for size in (1, 2, 3, 7, 8, 9, 40):
        x = np.arange(1, 1 + size, dtype=np.float32)
        got = program(x=x) if program else run(outputs, {"x": x}, n=size)
        np.testing.assert_array_equal(got["y"], np.pad(x, (7, 9), mode=mode))
