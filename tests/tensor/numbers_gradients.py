"""Gradients: kinks, ties, edges, branches, casts, and what they are added up in."""

from __future__ import annotations

import math
from collections.abc import Callable

import ml_dtypes
import numpy as np
import pytest
from evaluating import of
from number_lines import FLOATS, INF, NAN, line

import photic as ph
from photic.autograd.errors import NotDifferentiable
from photic.forms.eval import Array


def slopes(function: Callable[..., ph.Tensor], *arrays: object, dtype: str = "float64") -> Array:
    """The gradient of the sum of a function for its first array."""
    given = {f"x{k}": np.asarray(one, dtype) for k, one in enumerate(arrays)}
    handles = [ph.input(name, one.shape, dtype) for name, one in given.items()]
    return of(ph.grad(ph.sum(function(*handles)), handles[0]), given)


def equal(got: Array, *want: object) -> None:
    np.testing.assert_array_equal(got.astype(np.float64), np.array(want, np.float64))


@line("gradient.zero")
def _() -> None:
    x, y = ph.input("x", (2,)), ph.input("y", (3,))
    equal(of(ph.grad(ph.sum(x), y), {}), 0, 0, 0)
    equal(slopes(ph.relu, [-1.0, 2]), 0, 1)  # -0.0 is equal to 0


@line("gradient.steps")
def _() -> None:
    for step in (ph.floor, ph.ceil, ph.trunc, ph.round, ph.sign):
        # past what the integers hold, and where nothing is rounded, the slope is 0 too
        x = [0.3, -1.7, 2.0, INF, -INF, NAN]
        for dtype in FLOATS:
            far = [] if dtype == "float16" else [2.0**31, -(2.0**40), 2.0**63, -3e38]
            equal(slopes(step, x + far, dtype=dtype), *[0] * len(x + far))
    places = [0.374, 1e38, INF, NAN]
    equal(slopes(lambda x: ph.round(x, 2), places, dtype="float32"), 0, 0, 0, 0)
    equal(slopes(lambda x: ph.round(x, -2), places, dtype="float32"), 0, 0, 0, 0)
    equal(slopes(ph.frac, [0.3, 2.0**31, -(2.0**40)], dtype="float32"), 1, 1, 1)
    equal(slopes(lambda x: x * x.astype("int32").astype(x.dtype), [2.5]), 2)


@line("gradient.integers")
def _() -> None:
    x, k = ph.input("x", (2,)), ph.input("k", (2,), "int32")
    with pytest.raises(NotDifferentiable):
        ph.grad(ph.sum(x * k), k)
    with pytest.raises(NotDifferentiable):
        ph.grad(ph.sum(k), x)


@line("gradient.ties")
def _() -> None:
    equal(slopes(ph.max, [3.0, 1, 3, 3, 3]), 0.25, 0, 0.25, 0.25, 0.25)
    equal(slopes(lambda x: ph.max(x, (0, 1)), [[2.0, 2], [2, 2]]), [0.25, 0.25], [0.25, 0.25])
    equal(slopes(ph.maximum, [1.0, 1], [1.0, 2]), 0.5, 0)
    many = slopes(ph.max, np.ones(3000), dtype="float16")
    equal(many, *[np.float16(1 / 3000)] * 3000)


@line("gradient.constant-wins")
def _() -> None:
    equal(slopes(ph.relu, [0.0, -0.0]), 0, 0)
    equal(slopes(lambda x: ph.minimum(x, 1), [1.0]), 0)


@line("gradient.right")
def _() -> None:
    chosen = slopes(lambda x: ph.where(x < 2, x * 3, x * 5), [2.0])
    equal(chosen, 5)


@line("gradient.edge")
def _() -> None:
    equal(slopes(ph.sqrt, [0.0, -0.0]), 0, 0)
    equal(slopes(ph.log2, [0.0, -1.0]), 0, 0)
    equal(slopes(ph.reciprocal, [0.0, -0.0]), 0, 0)
    equal(slopes(ph.exp2, [2000.0]), 0)
    equal(slopes(lambda x: ph.sqrt(ph.sum(x * x)), [0.0, 0]), 0, 0)
    equal(slopes(ph.std, [1.5, 1.5]), 0, 0)


@line("gradient.branch")
def _() -> None:
    equal(slopes(lambda x: ph.where(x == 0, 0, 1 / x), [0.0, 2]), 0, -0.25)
    equal(slopes(lambda x: ph.where(x > 0, ph.log2(x), 0), [-1.0]), 0)
    equal(slopes(lambda x, t: ph.where(ph.isnan(t), 0, x * t), [1.0, 1], [NAN, 3]), 0, 3)
    equal(slopes(lambda x: (x * x)[1:], [INF, 3]), 0, 6)


@line("gradient.factor")
def _() -> None:
    """x/y at y = 0 is infinite, but rows that are not taken after a sum have the gradient 0."""

    def safe(x: ph.Tensor, y: ph.Tensor) -> ph.Tensor:
        return ph.where((y == 0)[:, None], 0, ph.broadcast_to((x / y)[:, None], (2, 3)))

    equal(slopes(safe, [1.0, 1], [0.0, 2]), 0, 1.5)


@line("gradient.casts")
def _() -> None:
    for dtype in FLOATS:
        x = ph.input("x", (2,), dtype)
        got = ph.grad(ph.sum(ph.square(x.astype("float32"))), x)
        assert got.dtype == x.dtype
        equal(of(got, {"x": np.array([1, 2]).astype(x.dtype.numpy)}), 2, 4)


@line("gradient.sums")
def _() -> None:
    x = ph.input("x", (), "bfloat16")
    got = ph.grad(ph.sum(ph.broadcast_to(x, (30, 100)).astype("float32") * 1.0), x)
    equal(of(got, {"x": np.ones((), ml_dtypes.bfloat16)}), ml_dtypes.bfloat16(3000))


@line("gradient.precision")
def _() -> None:
    x = np.linspace(-6, 6, 1001)
    for dtype, limit in (("float32", 4e-6), ("float64", 1e-14)):
        given = x.astype(dtype).astype(np.float64)
        exact = 2 / math.sqrt(math.pi) * np.exp(-given * given)
        assert np.abs(slopes(ph.erf, x, dtype=dtype) - exact).max() <= limit
        exact = 1 - np.tanh(given) ** 2
        assert np.abs(slopes(ph.tanh, x, dtype=dtype) - exact).max() <= limit


@line("gradient.stopped")
def _() -> None:
    equal(slopes(lambda x: x * ph.stop_gradient(x), [3.0]), 3)
