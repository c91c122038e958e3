"""Gradients compiled, beside torch in float32: a perceptron, a convolutional net, attention.

A gradient may be off by a few roundings of sums as long as its longest one: the limit is relative
to the largest element of each gradient.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

import photic as ph

Tensors = Sequence[ph.Tensor]
CLOSE = 5e-6  # sums of up to a thousand terms, whose order differs


def drawn(*shapes: tuple[int, ...]) -> list[np.ndarray]:
    random = np.random.default_rng(0)
    return [(random.normal(size=one) / max(1, one[0]) ** 0.5).astype(np.float32) for one in shapes]


def assert_like_torch(
    function: Callable[..., ph.Tensor],
    peer: Callable[..., Any],
    arrays: Sequence[np.ndarray],
    shapes: Sequence[tuple[object, ...]] | None = None,
) -> ph.Program:
    import torch

    sizes = shapes or [one.shape for one in arrays]
    handles = [ph.input(f"x{k}", shape) for k, shape in enumerate(sizes)]  # type: ignore[arg-type]
    loss, found = ph.value_and_grad(function(*handles), handles)
    program = ph.compile({"loss": loss} | {f"g{k}": one for k, one in enumerate(found)}, search=0)
    got = program(**{f"x{k}": one for k, one in enumerate(arrays)})
    given = [torch.tensor(one, requires_grad=True) for one in arrays]
    value = peer(*given)
    value.backward()
    np.testing.assert_allclose(got["loss"], value.detach().numpy(), rtol=CLOSE)
    for k, one in enumerate(given):
        assert one.grad is not None
        want = one.grad.numpy()
        np.testing.assert_allclose(got[f"g{k}"], want, rtol=0, atol=CLOSE * np.abs(want).max())
    return program


@pytest.mark.peers
def test_a_perceptron_has_torchs_gradients() -> None:
    arrays = drawn((33, 20), (20, 31), (31,), (31, 7), (7,))
    assert_like_torch(
        lambda x, w, b, v, c: ph.mean(ph.square(ph.relu(x @ w + b) @ v + c)),
        lambda x, w, b, v, c: ((x @ w + b).relu() @ v + c).square().mean(),
        arrays,
    )


@pytest.mark.peers
def test_one_program_has_torchs_gradients_for_every_batch_size() -> None:
    n = ph.dim("n", 1, 64)
    for rows in (1, 33):
        arrays = drawn((rows, 20), (20, 7))
        assert_like_torch(
            lambda x, w: ph.mean(ph.square(ph.sigmoid(x @ w))),
            lambda x, w: (x @ w).sigmoid().square().mean(),
            arrays,
            [(n, 20), (20, 7)],
        )


@pytest.mark.peers
def test_a_convolutional_net_by_views_has_torchs_gradients() -> None:
    from torch.nn import functional

    arrays = drawn((2, 3, 9, 11), (5, 3, 3, 3), (4, 5, 3, 3), (4, 6))

    def peer(x: Any, w: Any, v: Any, u: Any) -> Any:
        y = functional.conv2d(functional.conv2d(x, w, padding=1).relu(), v, stride=2)
        return (functional.max_pool2d(y, 2).mean((2, 3)) @ u).square().mean()

    assert_like_torch(
        lambda x, w, v, u: ph.mean(
            ph.square(
                ph.mean(
                    ph.max_pool2d(ph.conv2d(ph.relu(ph.conv2d(x, w, padding=1)), v, stride=2), 2),
                    (2, 3),
                )
                @ u
            )
        ),
        peer,
        arrays,
    )


@pytest.mark.peers
def test_an_attention_block_has_torchs_gradients() -> None:
    from torch.nn import functional

    batch, rows, width, heads = 2, 9, 16, 4
    shapes = [(batch, rows, width), *[(width, width)] * 4, (width,), (width,)]

    def block(x: ph.Tensor, *weights: ph.Tensor) -> ph.Tensor:
        *projections, out, scale, shift = weights
        h = ph.layer_norm(x, scale, shift)
        q, k, v = (ph.swapaxes((h @ w).reshape(batch, rows, heads, -1), 1, 2) for w in projections)
        mixed = ph.swapaxes(ph.attention(q, k, v, causal=True), 1, 2)
        return ph.mean(ph.square(x + mixed.reshape(batch, rows, width) @ out))

    def peer(x: Any, *weights: Any) -> Any:
        *projections, out, scale, shift = weights
        h = functional.layer_norm(x, (width,), scale, shift)
        q, k, v = ((h @ w).reshape(batch, rows, heads, -1).transpose(1, 2) for w in projections)
        mixed = functional.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2)
        return (x + mixed.reshape(batch, rows, width) @ out).square().mean()

    assert_like_torch(block, peer, drawn(*shapes))


@pytest.mark.peers
def test_an_embedding_has_torchs_gradients() -> None:
    import torch
    from torch.nn import functional

    places = np.random.default_rng(1).integers(0, 30, (4, 7))
    assert_like_torch(
        lambda table: ph.mean(ph.square(ph.tanh(ph.embedding(ph.constant(places), table)))),
        lambda table: functional.embedding(torch.tensor(places), table).tanh().square().mean(),
        drawn((50, 6)),
    )


@pytest.mark.peers
def test_a_recurrent_net_in_a_loop_has_torchs_gradients() -> None:
    import torch

    steps, batch, width = 6, 5, 8

    def net(x: ph.Tensor, h: ph.Tensor, c: ph.Tensor, w: ph.Tensor, v: ph.Tensor) -> ph.Tensor:
        def cell(carried: Tensors, sliced: Tensors) -> tuple[Tensors, Tensors]:
            h, c = carried
            i, f, g, o = ph.split(sliced[0] @ w + h @ v, 4, 1)
            c = ph.sigmoid(f) * c + ph.sigmoid(i) * ph.tanh(g)
            h = ph.sigmoid(o) * ph.tanh(c)
            return (h, c), (h,)

        _, (rows,) = ph.scan(cell, (h, c), (x,))
        return ph.mean(ph.square(rows))

    def peer(x: Any, h: Any, c: Any, w: Any, v: Any) -> Any:
        rows = []
        for step in x:
            i, f, g, o = (step @ w + h @ v).chunk(4, 1)
            c = f.sigmoid() * c + i.sigmoid() * g.tanh()
            h = o.sigmoid() * c.tanh()
            rows.append(h)
        return torch.stack(rows).square().mean()

    shapes = (steps, batch, width), (batch, width), (batch, width)
    assert_like_torch(net, peer, drawn(*shapes, (width, 4 * width), (width, 4 * width)))


# --- memory ---------------------------------------------------------------------------------


def layers(layer: Callable[..., ph.Tensor]) -> dict[str, ph.Tensor]:
    x = ph.input("x", (512, 32))
    pairs = [(ph.input(f"w{k}", (32, 128)), ph.input(f"v{k}", (128, 32))) for k in range(6)]
    h = x
    for w, v in pairs:
        h = layer(h, w, v)
    loss, found = ph.value_and_grad(ph.mean(h * h), [one for pair in pairs for one in pair])
    return {"loss": loss} | {f"g{k}": one for k, one in enumerate(found)}


def test_checkpointed_layers_need_less_memory_and_give_the_same_numbers() -> None:
    def layer(h: ph.Tensor, w: ph.Tensor, v: ph.Tensor) -> ph.Tensor:
        return h + ph.sigmoid(ph.sigmoid(h @ w) * 1.5) @ v

    plain = ph.compile(layers(layer), search=0)
    again = ph.compile(layers(ph.checkpoint(layer)), search=0)
    assert again.peak_bytes < 0.6 * plain.peak_bytes
    arrays = drawn((512, 32), *[(32, 128), (128, 32)] * 6)
    names = ["x", *(f"{letter}{k}" for k in range(6) for letter in "wv")]
    first, second = (one(**dict(zip(names, arrays, strict=True))) for one in (plain, again))
    for name, value in first.items():
        np.testing.assert_array_equal(second[name], value)
