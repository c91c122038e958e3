"""AUT cases: gradients that other systems got wrong; the evaluator and compiled C."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import photic as ph
from photic.forms.eval import evaluate
from photic.ir.graph import Graph

Function = Callable[..., ph.Tensor]
Run = Callable[[Function, list[np.ndarray]], list[np.ndarray]]
NAN, INF = np.nan, np.inf


def gradients(function: Function, arrays: list[np.ndarray]) -> dict[str, ph.Tensor]:
    handles = [ph.input(f"x{k}", one.shape, one.dtype) for k, one in enumerate(arrays)]
    found = ph.grad(ph.sum(function(*handles)), handles)
    return {f"g{k}": one for k, one in enumerate(found)}


def by_evaluator(function: Function, arrays: list[np.ndarray]) -> list[np.ndarray]:
    graph = Graph(tuple((k, one.operand) for k, one in gradients(function, arrays).items()))
    given = {f"x{k}": one for k, one in enumerate(arrays)}
    return list(evaluate(graph, given, {}, {}, widen=False)[0].values())


def by_program(function: Function, arrays: list[np.ndarray]) -> list[np.ndarray]:
    program = ph.compile(gradients(function, arrays), search=0)
    given = {f"x{k}": one for k, one in enumerate(arrays)}
    wanted = [one.name for one in program.artifact.inputs]
    return list(program(**{name: given[name] for name in wanted}).values())


@pytest.fixture(params=[by_evaluator, by_program], ids=["evaluator", "c"])
def run(request: pytest.FixtureRequest) -> Run:
    answer: Run = request.param
    return answer


def f32(*values: float) -> np.ndarray:
    return np.array(values, np.float32)


# --- AUT-01: a branch that is not taken poisons the gradient --------------------------------

# A function, its inputs, and its gradients.
UNTAKEN: dict[str, tuple[Function, list[np.ndarray], list[np.ndarray]]] = {
    "x*sqrt(x) at 0": (
        lambda x: ph.where(x == 0, 0, x * ph.sqrt(x)),
        [f32(0, 4)],
        [f32(0, 3)],
    ),
    "a norm kept from 0": (
        lambda x, y: ph.maximum(ph.sqrt(x * x + y * y), 1e-10),
        [f32(0, 3), f32(0, 4)],
        [f32(0, 0.6), f32(0, 0.8)],
    ),
    "a logarithm of what is negative": (
        lambda x: ph.where(x > 0, ph.log(x), 0),
        [f32(-1, 0, 4)],
        [f32(0, 0, 0.25)],
    ),
    "a norm at 0": (
        lambda x: ph.sqrt(ph.sum(x * x, -1)),
        [np.array([[0, 0], [3, 4]], np.float32)],
        [np.array([[0, 0], [0.6, 0.8]], np.float32)],
    ),
    "a kink against a constant": (
        lambda x: ph.maximum(x, 1) + ph.minimum(x, -1),
        [f32(-2, -1, 0, 1, 2)],
        [f32(1, 0, 0, 0, 1)],
    ),
    "a quotient by 0": (
        lambda x, y: ph.where(y == 0, 0, x / y),
        [f32(1, 2), f32(0, 4)],
        [f32(0, 0.25), f32(0, -0.125)],
    ),
    "rows whose sum is 0": (
        lambda x: ph.where(ph.sum(x, 1, keepdims=True) == 0, 0, x / ph.sum(x, 1, keepdims=True))[
            :, 0
        ],
        [np.array([[0, 0], [1, 3]], np.float32)],
        [np.array([[0, 0], [0.1875, -0.0625]], np.float32)],
    ),
    "targets that are missing": (
        lambda p, t: ph.where(ph.isnan(t), 0, ph.square(p - t)),
        [f32(1, 2), f32(NAN, 1)],
        [f32(0, 2), f32(0, -2)],
    ),
    "elements that are cut away": (
        lambda x: (ph.log(x) * x)[1:],
        [f32(0, 1)],
        [f32(0, 1)],
    ),
    "an exponential that overflows beside 1": (
        lambda x: 1 / (1 + ph.exp2(-x)),
        [f32(-1000, 0, 1000)],
        [f32(0, np.log(2) / 4, 0)],
    ),
    "a power at 0": (
        lambda x, y: x**y,
        [f32(0, 2), f32(2, 3)],
        [f32(0, 12), f32(0, 8 * np.log(2))],
    ),
    "scores that are masked": (
        lambda x: ph.softmax(ph.where(x > 5, -INF, x))[:, 0],
        [np.array([[1, 9, 1]], np.float32)],
        [np.array([[0.25, 0, -0.25]], np.float32)],
    ),
}


@pytest.mark.parametrize("case", list(UNTAKEN))
def test_aut_01_what_is_not_taken_has_no_part_in_the_gradient(run: Run, case: str) -> None:
    function, arrays, want = UNTAKEN[case]
    for one, other in zip(run(function, arrays), want, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-6, atol=1e-7)


# --- AUT-02: the gradient of a maximum with many ties in half precision ---------------------


@pytest.mark.parametrize(
    ("dtype", "count", "unit"),
    [
        # the share 1/70000 is a subnormal float16, whose step is 2**-24
        ("float16", 70_000, 2.0**-25 * 70_000),
        ("bfloat16", 300, 2.0**-8),
        ("float32", 2, 0),
        ("float32", 3, 2.0**-24),
    ],
)
def test_aut_02_ties_share_the_gradient_evenly(
    run: Run, dtype: str, count: int, unit: float
) -> None:
    (got,) = run(ph.max, [np.ones(count).astype(ph.zeros((), dtype).dtype.numpy)])
    shares = got.astype(np.float64)
    assert (shares == shares[0]).all() and shares[0] > 0
    assert abs(shares.sum() - 1) <= unit


def test_aut_02_equal_values_in_a_pool_share_the_gradient(run: Run) -> None:
    x = np.array([[1, 1, 5, 2], [1, 1, 5, 5]], np.float32)
    (got,) = run(lambda x: ph.max(x.reshape(1, 2, 2, 2), (1, 3)), [x])
    want = [[0.25, 0.25, 1 / 3, 0], [0.25, 0.25, 1 / 3, 1 / 3]]
    np.testing.assert_allclose(got, want, rtol=1e-6)
