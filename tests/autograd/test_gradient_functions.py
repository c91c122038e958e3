"""Gradients of composed functions beside torch's, in float64 and float32, over odd shapes.

What the catalogue lists is checked against central differences in test_gradient_catalogue.py. Here
the rounding counts: a composed gradient must be as near as the function itself.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from autograd.checking import Function, by_torch, evaluated, inputs_of, named, of_weighted, weighted

import photic as ph

pytestmark = pytest.mark.peers

# Units of the largest slope of a row of values (or of 1). float64: a few roundings, and torch's own
# softplus, which is linear from 20 on. float32: fitted polynomials have slopes less near than they
# are themselves, 2e-6 for the tangent.
CLOSE = {"float64": 3e-9, "float32": 4e-6}

SHAPES = [(), (1,), (7,), (3, 5), (0, 3)]


def torch_function(name: str) -> Callable[..., Any]:
    import torch

    return getattr(torch, name, None) or getattr(torch.nn.functional, name)


def spread(shape: tuple[int, ...], low: float, high: float) -> np.ndarray:
    return np.random.default_rng(len(shape)).uniform(low, high, shape)


def assert_near(got: list[np.ndarray], want: list[np.ndarray], dtype: str) -> None:
    for one, other in zip(got, want, strict=True):
        assert one.shape == other.shape
        unit = max(1, np.abs(other).max(initial=0))
        np.testing.assert_allclose(one, other, rtol=0, atol=CLOSE[dtype] * unit)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize(
    ("name", "low", "high"),
    [
        ("exp", -30, 30), ("exp2", -30, 30), ("expm1", -30, 5), ("log", 0.01, 99),
        ("log2", 0.01, 99), ("log10", 0.01, 99), ("log1p", -0.9, 9), ("sqrt", 0.01, 99),
        ("rsqrt", 0.01, 99), ("reciprocal", 0.1, 9), ("sin", -99, 99), ("cos", -99, 99),
        ("tan", -1.4, 1.4), ("tanh", -9, 9), ("sinh", -9, 9), ("cosh", -9, 9), ("erf", -6, 6),
        ("sigmoid", -30, 30), ("silu", -30, 30), ("softplus", -18, 18), ("gelu", -9, 9),
        ("relu", -9, 9), ("abs", -9, 9), ("square", -9, 9),
    ],
)  # fmt: skip
def test_elementary_functions_have_torchs_slopes(
    name: str, low: float, high: float, shape: tuple[int, ...], dtype: str
) -> None:
    x = spread(shape, low, high).astype(dtype)
    want = by_torch(torch_function(name), x.astype(np.float64))
    assert_near(of_weighted(getattr(ph, name), x), want, dtype)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_slopes_are_relatively_right_where_functions_are_small(dtype: str) -> None:
    x = np.array([1e-30, -1e-12, 1e-6, -1e-3]).astype(dtype)
    for name in ("sin", "tan", "tanh", "sinh", "expm1", "log1p", "erf"):
        (want,) = by_torch(torch_function(name), x.astype(np.float64))
        (got,) = of_weighted(getattr(ph, name), x)
        np.testing.assert_allclose(got, want, rtol=CLOSE[dtype] / 4)


# --- rows and products ----------------------------------------------------------------------


def _softmax(x: Any) -> Any:
    return x.softmax(-1)


def _rows() -> list[tuple[Function, Callable[..., Any]]]:
    import torch
    from torch.nn import functional

    return [
        (ph.softmax, _softmax),
        (ph.log_softmax, lambda x: x.log_softmax(-1)),
        (lambda x: ph.logsumexp(x, -1), lambda x: x.logsumexp(-1)),
        (ph.layer_norm, lambda x: functional.layer_norm(x, x.shape[-1:])),
        (ph.rms_norm, lambda x: functional.rms_norm(x, x.shape[-1:], eps=1e-5)),
        (lambda x: ph.std(x, -1), lambda x: x.std(-1, correction=0)),
        (lambda x: ph.prod(x, -1), lambda x: x.prod(-1)),
        (lambda x: ph.cumsum(x, -1), lambda x: x.cumsum(-1)),
        (lambda x: ph.cumprod(x, -1), lambda x: x.cumprod(-1)),
        (lambda x: ph.max(x, -1), lambda x: x.amax(-1)),
        (lambda x: ph.min(x, 0), lambda x: x.amin(0)),
        (lambda x: x @ ph.swapaxes(x, -1, -2), lambda x: x @ x.mT),
        (lambda x: ph.einsum("ij,kj,k->i", x, x, x[:, 0]),
         lambda x: torch.einsum("ij,kj,k->i", x, x, x[:, 0])),
    ]  # fmt: skip


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("shape", [(1, 1), (3, 5), (5, 17)], ids=str)
def test_rows_and_products_have_torchs_slopes(shape: tuple[int, int], dtype: str) -> None:
    x = spread(shape, -2, 2).astype(dtype)
    for function, peer in _rows():
        want = by_torch(peer, x.astype(np.float64))
        assert_near(of_weighted(function, x), want, dtype)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_attention_has_torchs_slopes(dtype: str) -> None:
    from torch.nn import functional

    q, k, v = (spread((2, 4, 9, 8), -2, 2).astype(dtype) + one for one in (0, 0.5, 1))
    k, v = k[:, :2].astype(dtype), v[:, :2].astype(dtype)
    q = q.astype(dtype)

    def peer(q: Any, k: Any, v: Any) -> Any:
        return functional.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=True)

    want = by_torch(peer, *(one.astype(np.float64) for one in (q, k, v)))
    got = of_weighted(lambda q, k, v: ph.attention(q, k, v, causal=True), q, k, v)
    assert_near(got, want, dtype)


@pytest.mark.parametrize(("padding", "stride", "dilation"), [(0, 1, 1), (1, 2, 1), (2, 3, 2)])
def test_convolutions_by_views_have_torchs_slopes(padding: int, stride: int, dilation: int) -> None:
    from torch.nn import functional

    x, w = spread((2, 3, 9, 11), -1, 1), spread((4, 3, 3, 2), -1, 1)
    options = {"padding": padding, "stride": stride, "dilation": dilation}
    got = of_weighted(lambda x, w: ph.conv2d(x, w, **options), x, w)
    want = by_torch(lambda x, w: functional.conv2d(x, w, **options), x, w)
    assert_near(got, want, "float64")


# --- higher order ---------------------------------------------------------------------------


def second(function: Function, x: np.ndarray) -> np.ndarray:
    """The gradient of a weighted sum of the gradient: a product with the Hessian."""
    (variable,) = inputs_of([x])
    first = ph.grad(weighted(function(variable)), variable)
    return evaluated([ph.grad(weighted(first), variable)], named([x]))[0]


def second_by_torch(function: Callable[..., Any], x: np.ndarray) -> np.ndarray:
    import torch
    from autograd.checking import weights

    variable = torch.tensor(x, requires_grad=True)
    result = function(variable)
    loss = (result * torch.tensor(weights(tuple(result.shape)))).sum()
    (first,) = torch.autograd.grad(loss, variable, create_graph=True)
    if not first.requires_grad:
        return np.zeros(x.shape)
    weight = torch.tensor(weights(x.shape))
    return torch.autograd.grad((first * weight).sum(), variable)[0].numpy()


SMOOTH = """
    exp expm1 log log1p sqrt rsqrt reciprocal sin cos tan tanh sinh cosh erf sigmoid softplus gelu
    silu square
"""


def test_second_derivatives_are_torchs() -> None:
    x = spread((3, 5), 0.1, 1.4)
    for name in SMOOTH.split():
        got, want = second(getattr(ph, name), x), second_by_torch(torch_function(name), x)
        # a fitted polynomial loses about two digits with each derivative
        unit = max(1, np.abs(want).max())
        np.testing.assert_allclose(got, want, rtol=0, atol=1e-10 * unit, err_msg=name)


def test_second_derivatives_of_rows_are_torchs() -> None:
    x = spread((3, 5), -1, 1)
    for function, peer in _rows():
        want = second_by_torch(peer, x)
        np.testing.assert_allclose(second(function, x), want, rtol=0, atol=1e-10)


def test_a_hessian_is_torchs() -> None:
    import torch

    x = np.array([0.3, -1.0, 2.0])
    variable = ph.input("x0", (3,), "float64")
    loss = ph.sum(ph.exp(variable)) * ph.sum(ph.sin(variable)) + ph.prod(variable)
    first = ph.grad(loss, variable)
    rows = evaluated([ph.grad(first[k], variable) for k in range(3)], named([x]))
    want = torch.autograd.functional.hessian(
        lambda x: x.exp().sum() * x.sin().sum() + x.prod(), torch.tensor(x)
    )
    np.testing.assert_allclose(np.stack(rows), want.numpy(), rtol=1e-12)


def test_a_jvp_is_the_jacobian_times_the_tangents() -> None:
    import torch

    x, y = spread((4,), -1, 1), spread((2, 4), -1, 1)
    a, b = inputs_of([x, y])
    tangents = [np.arange(4.0), np.ones((2, 4))]
    result = ph.softmax(a * b) @ ph.sin(a)
    got = ph.jvp(result, [a, b], [ph.constant(one) for one in tangents])
    _, want = torch.autograd.functional.jvp(
        lambda a, b: (a * b).softmax(-1) @ a.sin(),
        (torch.tensor(x), torch.tensor(y)),
        tuple(map(torch.tensor, tangents)),
    )
    np.testing.assert_allclose(evaluated([got], named([x, y]))[0], want.numpy(), rtol=1e-12)
