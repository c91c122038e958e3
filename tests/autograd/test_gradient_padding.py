"""Gradients past padded copies: what they read, how large they are, that they are right."""

from __future__ import annotations

import numpy as np
import pytest
from autograd.checking import by_torch, disagreement, evaluated, gradients, of_weighted

import photic as ph
from photic.ir.graph import Node, topological

RIGHT = 1e-6  # of the largest slope: the noise of differences

rng = np.random.default_rng(0)
IMAGE, KERNEL = rng.normal(size=(2, 2, 5, 4)), rng.normal(size=(3, 2, 3, 3))


def read_above(gradient: list[ph.Tensor], forward: ph.Tensor) -> set[Node]:
    """What a gradient reads of the forward pass, past its own nodes."""
    below = set(topological([forward.operand.node]))
    above = topological([one.operand.node for one in gradient], below)
    return {one.node for node in above for one in node.operands} & below


def test_beside_a_padded_copy_the_value_itself_is_not_read() -> None:
    x, w = ph.input("x", (2, 2, 5, 4)), ph.input("w", (3, 2, 3, 3))
    inner = ph.sin(x)
    gate = ph.relu(inner)
    loss = ph.sum(ph.conv(gate, w, padding=1) ** 2)
    read = read_above(ph.grad(loss, [x, w]), loss)
    assert gate.operand.node not in read
    assert inner.operand.node not in read


def test_the_gradient_of_a_padded_value_is_not_computed_around_it() -> None:
    x, w = ph.input("x", (2, 2, 7, 6)), ph.input("w", (3, 2, 3, 3))
    loss = ph.sum(ph.conv(ph.sin(x), w, padding=1) ** 2)
    nodes = topological([ph.grad(loss, x).operand.node], set(topological([loss.operand.node])))
    sums = [node.shape for node in nodes if node.op == "sum" and len(node.shape) == 4]
    assert sums == [(2, 2, 7, 6)]


def test_the_copy_of_an_input_is_made_again() -> None:
    x, w = ph.input("x", (2, 2, 5, 4)), ph.input("w", (3, 2, 3, 3))
    loss = ph.sum(ph.conv(x, w, padding=1))
    assert all(one.op != "add" for one in read_above([ph.grad(loss, w)], loss))


@pytest.mark.parametrize("stride", [1, 2])
@pytest.mark.parametrize("padding", [1, 2, ((0, 2), (3, 1))])
def test_gates_shortcuts_and_two_convolutions_of_one_value_have_the_right_slope(
    stride: int, padding: object
) -> None:
    def function(x: ph.Tensor, w: ph.Tensor) -> ph.Tensor:
        gate = ph.relu(ph.sin(x))
        one = ph.conv(gate, w, stride=stride, padding=padding)
        two = ph.conv(gate * gate, w, padding=1)
        return ph.sum(one * one) + ph.sum(gate * gate) + ph.sum(two * ph.max(gate))

    assert disagreement(function, IMAGE, KERNEL) < RIGHT


def test_a_convolution_in_a_loop_has_the_right_slope() -> None:
    def function(x: ph.Tensor, w: ph.Tensor) -> ph.Tensor:
        outside = ph.relu(ph.sin(x))

        def body(carried: tuple[ph.Tensor], row: tuple[()]) -> tuple[object, object]:
            (value,) = carried
            return (ph.sin(ph.conv(value, w[:2], padding=1)) + outside,), ()

        (last,), _ = ph.scan(body, (outside,), trips=3)
        return ph.sum(last * ph.conv(outside, w[:2], padding=1))

    assert disagreement(function, IMAGE, KERNEL) < RIGHT


def test_gradients_for_a_value_and_its_padded_copy_are_both_whole() -> None:
    x = ph.input("x", (5,), "float64")
    value = ph.sin(x)
    copy = ph.pad(value, 2)
    loss = ph.sum(copy * copy * copy)
    found = evaluated(ph.grad(loss, [value, copy]), {"x": np.arange(5.0)})
    wanted = 3 * np.sin(np.arange(5.0)) ** 2
    np.testing.assert_allclose(found[0], wanted, rtol=1e-14)
    np.testing.assert_allclose(found[1], np.pad(wanted, 2), rtol=1e-14)


@pytest.mark.parametrize("size", [1, 3])
def test_symbolic_sizes_are_padded_too(size: int) -> None:
    n = ph.dim("n", 1, 8)
    x, w = ph.input("x", (1, 1, n), "float64"), ph.constant(KERNEL[:1, :1, 0])
    loss = ph.sum(ph.conv(ph.relu(ph.sin(x)), w, padding=1) ** 2)
    array = np.linspace(0.5, 2.0, size)[None, None]
    (found,) = evaluated([ph.grad(loss, x)], {"x": array}, n=size)
    (wanted,) = gradients(
        lambda given: ph.conv(ph.relu(ph.sin(given)), w, padding=1) ** 2, array, dtype="float64"
    )
    np.testing.assert_allclose(found, wanted, rtol=1e-13)


def test_a_gate_keeps_its_result_alone_and_passes_nothing_at_its_edge_or_for_nan() -> None:
    values = np.array([-1.0, -0.0, 0.0, 2.0, np.nan, np.inf])
    (found,) = gradients(ph.relu, values, dtype="float32")
    np.testing.assert_array_equal(found, [0, 0, 0, 1, 0, 1])


def test_a_padded_convolution_has_torchs_gradients() -> None:
    torch = pytest.importorskip("torch", reason="torch not installed: pip install '.[peers]'")

    def peer(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
        return torch.nn.functional.conv2d(torch.relu(x), w, stride=2, padding=1)

    own = of_weighted(lambda x, w: ph.conv(ph.relu(x), w, stride=2, padding=1), IMAGE, KERNEL)
    for found, wanted in zip(own, by_torch(peer, IMAGE, KERNEL), strict=True):
        np.testing.assert_allclose(found, wanted, rtol=1e-12, atol=1e-12)
