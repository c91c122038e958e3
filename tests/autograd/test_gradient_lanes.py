"""Factors of summed products laid for vectors: which are copied, that nothing else changes."""

from __future__ import annotations

import numpy as np
import pytest
from autograd.checking import STEP, by_torch, evaluated, of_weighted

import photic as ph
from photic.ir.graph import topological

CLOSE = 1e-12  # float64; the order of sums is the same
NEAR = 1e-7  # of a central difference in float64


def copied(gradient: ph.Tensor, *known: ph.Tensor) -> list[tuple[object, ...]]:
    """The shapes of copies that a gradient makes."""
    below = set(topological([one.operand.node for one in known]))
    nodes = topological([gradient.operand.node], below)
    return [node.shape for node in nodes if node.op == "contiguous"]


def convolved(
    channels: int, outputs: int, side: int, stride: int = 1
) -> tuple[ph.Tensor, ph.Tensor, ph.Tensor]:
    x, w = ph.input("x", (2, channels, side, side)), ph.input("w", (outputs, channels, 3, 3))
    return ph.sum(ph.conv2d(ph.sin(x), w, stride=stride, padding=1) ** 2), x, w


def test_a_kernels_gradient_reads_the_padded_image_with_channels_last() -> None:
    loss, _, w = convolved(32, 8, 12)
    assert copied(ph.grad(loss, w), loss) == [(2, 14, 14, 32)]


def test_with_few_channels_the_gradient_of_the_result_is_laid_instead() -> None:
    loss, _, w = convolved(3, 16, 12)
    assert copied(ph.grad(loss, w), loss) == [(2, 12, 12, 16)]


def test_a_narrow_images_gradient_reads_the_kernel_with_channels_last() -> None:
    loss, x, _ = convolved(32, 8, 4)
    assert copied(ph.grad(loss, x), loss) == [(8, 3, 3, 32)]


def test_steps_make_a_wide_image_narrow() -> None:
    loss, x, _ = convolved(32, 8, 16, stride=2)
    assert copied(ph.grad(loss, x), loss) == [(8, 4, 4, 32)]  # of a kernel between zeros
    loss, x, _ = convolved(32, 8, 16)
    assert copied(ph.grad(loss, x), loss) == []


@pytest.mark.parametrize("shape", [(33, 20), (3, 33, 20)], ids=str)
def test_a_matrix_products_factors_stay_as_they_are(shape: tuple[int, ...]) -> None:
    x, w = ph.input("x", shape), ph.input("w", (20, 31))
    loss = ph.sum((x @ w) ** 2)
    assert [copied(one, loss) for one in ph.grad(loss, [x, w])] == [[], []]


def test_kernels_of_single_channels_stay_as_they_are() -> None:
    x, w = ph.input("x", (2, 32, 9, 9)), ph.input("w", (32, 1, 3, 3))
    loss = ph.sum(ph.conv2d(ph.sin(x), w, padding=1, groups=32) ** 2)
    assert copied(ph.grad(loss, w), loss) == []


# channels of image and result, side, stride; each has a copy in one gradient at least
NETS = [(17, 5, 7, 1), (3, 19, 5, 2), (32, 32, 4, 1), (16, 33, 9, 2)]


@pytest.mark.peers
@pytest.mark.parametrize(("channels", "outputs", "side", "stride"), NETS)
def test_gradients_from_copies_are_torchs(
    channels: int, outputs: int, side: int, stride: int
) -> None:
    from torch.nn import functional

    rng = np.random.default_rng(0)
    x, w = rng.normal(size=(2, channels, side, side)), rng.normal(size=(outputs, channels, 3, 3))
    got = of_weighted(lambda x, w: ph.conv2d(ph.relu(x), w, None, stride, 1), x, w)
    want = by_torch(lambda x, w: functional.conv2d(x.relu(), w, None, stride, 1), x, w)
    for one, other in zip(got, want, strict=True):
        np.testing.assert_allclose(one, other, rtol=0, atol=CLOSE * np.abs(other).max())


def test_a_gradient_of_a_gradient_goes_through_copies() -> None:
    loss, _, w = convolved(16, 2, 5)
    size = ph.sum(ph.grad(loss, w) ** 2)
    rng = np.random.default_rng(1)
    given, move = {"x": rng.normal(size=(2, 16, 5, 5))}, rng.normal(size=(2, 16, 3, 3))
    ends = [evaluated([size], given | {"w": step * move})[0] for step in (1 + STEP, 1 - STEP)]
    (slope,) = evaluated([ph.sum(ph.grad(size, w) * ph.constant(move))], given | {"w": move})
    np.testing.assert_allclose(slope, (ends[0] - ends[1]) / (2 * STEP), rtol=NEAR)
