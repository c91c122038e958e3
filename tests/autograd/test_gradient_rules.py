"""Every operation has a gradient or a reason, and each gradient is the slope."""

from __future__ import annotations

import math
from collections.abc import Callable

import ml_dtypes
import numpy as np
import pytest
from autograd.checking import disagreement, evaluated, gradients

import photic as ph
from photic.autograd.rules import RULES
from photic.ir import graph
from photic.ir.ops import PRIMITIVES, REGIONS, SOURCES

# Central differences with steps of 1e-6 in float64: 1e-12 by the step, 1e-10 by rounding.
CLOSE = 2e-9

Function = Callable[..., ph.Tensor]


def test_every_operation_has_a_gradient_or_a_reason() -> None:
    operations = {record.name for record in PRIMITIVES} | {*SOURCES, *REGIONS}
    assert set(RULES) == operations
    assert all(rule.why for rule in RULES.values())


def positive(shape: tuple[int, ...]) -> np.ndarray:
    return np.random.default_rng(2).uniform(0.3, 3, shape)


def plain(shape: tuple[int, ...]) -> np.ndarray:
    return np.random.default_rng(3).normal(size=shape)


@pytest.mark.parametrize(
    ("function", "arrays"),
    [
        (ph.exp2, (plain((3, 5)),)),
        (ph.log2, (positive((3, 5)),)),
        (ph.sin, (plain((7,)) * 40,)),
        (ph.sqrt, (positive((1, 1)),)),
        (ph.reciprocal, (plain((5, 1)) + 9,)),
        (ph.reciprocal, (plain((5,)) - 9,)),
        (ph.add, (plain((3, 1)), plain((1, 5)))),
        (ph.multiply, (plain((3, 1)), plain((5,)))),
        (lambda x: x * x * x, (plain((4,)),)),
        (ph.mod, (plain((9,)) * 5, positive((9,)))),
        (ph.mod, (plain((9,)) * 5, -positive((9,)))),
        (lambda x: ph.sum(x, 1), (plain((2, 3, 4)),)),
        (lambda x: ph.max(x, (0, 2)), (plain((2, 3, 4)),)),
        (lambda x: ph.max(x), (plain(()),)),
        (lambda x: x.astype("float32").astype("float64") * x, (plain((3,)),)),
        (lambda x: ph.where(x < 0.5, ph.exp2(x), x * x), (plain((20,)),)),
        (lambda x: ph.take(x, [[2, 0], [-1, 2]], 1), (plain((2, 3)),)),
        (lambda x: ph.sum(x, 0), (plain((0, 3)),)),
        (lambda x: ph.max(x, 1), (plain((0, 3)),)),
    ],
)
def test_the_gradient_is_the_slope(function: Function, arrays: tuple[np.ndarray, ...]) -> None:
    assert disagreement(function, *arrays) < CLOSE


def test_integers_and_bools_are_constants_on_the_way() -> None:
    x = np.array([0.4, 1.7, -2.3])
    (got,) = gradients(lambda x: x * x.astype("int32").astype("float64") + (x < 0), x)
    np.testing.assert_array_equal(got, [0, 1, -2])


def test_a_copy_passes_the_gradient_and_a_copy_of_a_copy_does_not() -> None:
    x = ph.input("x", (3,), "float64")
    once = ph.Tensor(graph.operand(graph.cast(x.operand, x.dtype)))
    twice = ph.Tensor(graph.operand(graph.cast(once.operand, x.dtype)))
    given = {"x": np.array([1.0, 2, 3])}
    for value, slope in ((once, 1), (twice, 0)):
        (got,) = evaluated([ph.grad(ph.sum(value), x)], given)
        np.testing.assert_array_equal(got, [slope] * 3)


# --- ties -----------------------------------------------------------------------------------


def test_a_maximum_is_shared_evenly_by_equal_values() -> None:
    x = np.array([[3.0, 1, 3, 3], [2, 2, 0, 1]])
    (got,) = gradients(lambda x: ph.max(x, 1), x)
    np.testing.assert_array_equal(got, [[1 / 3, 0, 1 / 3, 1 / 3], [0.5, 0.5, 0, 0]])
    x[1, 0] = 3
    for axes in ((0, 1), (1, 0), None):
        (got,) = gradients(lambda x: ph.max(x, axes), x)  # noqa: B023
        np.testing.assert_array_equal(got, (x == 3) / 4)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32"])
def test_ties_are_counted_exactly_in_every_dtype(dtype: str) -> None:
    (got,) = gradients(ph.max, np.ones(3000), dtype=dtype)
    share = np.float32(1 / 3000).astype(got.dtype)  # what the dtype can say of it
    np.testing.assert_array_equal(got.astype(np.float32), np.full(3000, share, np.float32))


def test_the_larger_of_two_equal_values_shares_and_a_constant_does_not() -> None:
    x, y = np.array([0.0, 1, 2]), np.array([0.0, 2, 1])
    for function, first, second in (
        (ph.maximum, [0.5, 0, 1], [0.5, 1, 0]),
        (ph.minimum, [0.5, 1, 0], [0.5, 0, 1]),
    ):
        a, b = gradients(function, x, y)
        np.testing.assert_array_equal(a, first)
        np.testing.assert_array_equal(b, second)
    for constant in (lambda x: ph.maximum(x, 0), lambda x: ph.maximum(ph.zeros((3,), x.dtype), x)):
        (got,) = gradients(constant, x)
        np.testing.assert_array_equal(got, [0, 1, 1])


def test_the_gradient_of_relu_at_0_is_0() -> None:
    (got,) = gradients(ph.relu, np.array([-1.0, -0.0, 0.0, 1.0]))
    np.testing.assert_array_equal(got, [0, 0, 0, 1])


# --- edges ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("function", "at"),
    [
        (ph.sqrt, [0.0, -0.0, -1.0]),
        (ph.log2, [0.0, -0.0, -1.0]),
        (ph.reciprocal, [0.0, -0.0]),
        (ph.exp2, [2000.0, math.inf]),
    ],
)
def test_at_an_edge_of_its_domain_a_primitive_passes_nothing(
    function: Function, at: list[float]
) -> None:
    (got,) = gradients(function, np.array(at))
    np.testing.assert_array_equal(got, np.zeros(len(at)))


@pytest.mark.parametrize("dtype", ["float64", "float32", "float16", "bfloat16"])
@pytest.mark.parametrize("function", [ph.sqrt, ph.log2, ph.reciprocal, ph.exp2, ph.sin])
def test_nan_passes_nan(function: Function, dtype: str) -> None:
    (got,) = gradients(function, np.array([math.nan, 2.0]), dtype=dtype)
    np.testing.assert_array_equal(np.isnan(got.astype(np.float64)), [True, False])


def test_infinite_slopes_are_0_also_behind_others() -> None:
    for function in (
        lambda x: ph.sqrt(ph.sum(x * x, 1)),
        lambda x: ph.std(x, 1),
        lambda x: ph.sqrt(x[:, 0]) * x[:, 0],
    ):
        (got,) = gradients(function, np.zeros((2, 3)))
        np.testing.assert_array_equal(got, np.zeros((2, 3)))


@pytest.mark.parametrize(("dtype", "rounder"), [("float32", 1.5 * 2**23), ("float64", 1.5 * 2**52)])
def test_rounding_by_adding_a_large_number_is_a_step(dtype: str, rounder: float) -> None:
    x = np.array([0.3, 1.8])
    (got,) = gradients(lambda x: (x + rounder) - rounder + x, x, dtype=dtype)
    np.testing.assert_array_equal(got, [1, 1])


# --- dtypes ---------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", ["float64", "float32", "float16", "bfloat16"])
def test_a_gradient_has_the_dtype_and_shape_of_its_variable(dtype: str) -> None:
    x, w = ph.input("x", (3, 4), dtype), ph.input("w", (4, 2), dtype)
    loss = ph.sum(ph.relu(x @ w)).astype("float32")
    for got, variable in zip(ph.grad(loss, [x, w]), [x, w]):
        assert (got.dtype, got.shape) == (variable.dtype, variable.shape)


def test_halves_are_summed_in_float32() -> None:
    x = ph.input("x", (), "bfloat16")
    y = ph.input("y", (60, 50), "bfloat16")
    got = ph.grad(ph.sum((x * y).astype("float32")), x)
    ones = np.ones((60, 50), ml_dtypes.bfloat16)
    (value,) = evaluated([got], {"x": ones[0, 0], "y": ones}, widen=False)
    assert float(value) == float(ml_dtypes.bfloat16(3000))  # in bfloat16 it would stay at 256


def test_a_row_less_its_maximum_needs_no_guard_where_the_maximum_is_held_constant() -> None:
    x = ph.input("x", (3, 5))
    loss = ph.sum(ph.exp2(x - ph.stop_gradient(ph.max(x, 1, keepdims=True))))
    above = graph.topological([ph.grad(loss, x).operand.node], {loss.operand.node})
    assert all(node.op != "less_than" for node in above)
