"""A module beside torch's: same weights by name, results and gradients by the evaluator in float64.

The loss is the sum of all float results, each element with a weight drawn once, so that nothing
cancels.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

import photic as ph
from photic import nn
from photic.forms.eval import Array, evaluate
from photic.ir.graph import Graph

# Both sides compute in float64; sums of up to a thousand terms are added in other orders.
CLOSE = 1e-10


def weights(shape: tuple[int, ...]) -> Array:
    return np.random.default_rng(1).normal(size=shape)


def tensors(result: Any) -> Iterator[Any]:
    """The tensors in a result, however nested."""
    if isinstance(result, tuple | list):
        for one in result:
            yield from tensors(one)
    elif result is not None:
        yield result


def by_torch(peer: Any, arrays: list[Array], **how: Any) -> tuple[list[Array], dict[str, Array]]:
    """Results, and gradients by name: of parameters, and of float inputs as x0, x1, ..."""
    import torch

    given = [torch.tensor(one, requires_grad=one.dtype.kind == "f") for one in arrays]
    results = list(tensors(peer(*given, **{k: torch_value(v) for k, v in how.items()})))
    loss = sum((one * torch.tensor(weights(tuple(one.shape)))).sum() for one in results)
    loss.backward()
    named = dict(peer.named_parameters())
    named |= {f"x{k}": one for k, one in enumerate(given) if one.requires_grad}
    slopes = {
        name: np.zeros(tuple(one.shape)) if one.grad is None else one.grad.numpy()
        for name, one in named.items()
        if one.requires_grad
    }
    return [one.detach().numpy() for one in results], slopes


def torch_value(value: Any) -> Any:
    import torch

    return torch.tensor(value) if isinstance(value, np.ndarray) else value


def by_photic(
    module: nn.Module, arrays: list[Array], **how: Any
) -> tuple[list[Array], dict[str, Array], dict[str, Array]]:
    """Results, gradients by name, and what the buffers have become."""
    given = {f"x{k}": one for k, one in enumerate(arrays)}
    inputs = {name: ph.input(name, one.shape, one.dtype) for name, one in given.items()}
    with nn.trainable(module) as (states, now):
        results = list(tensors(module(*inputs.values(), **how)))
        after = {name: now.current[id(states.held[name])] for name in states.buffers}
    loss = ph.sum(ph.constant(0.0, "float64"))
    for one in results:
        loss = loss + ph.sum(one * ph.constant(weights(one.shape)))
    variables = dict(states.parameters)
    variables |= {name: one for name, one in inputs.items() if one.dtype.kind == "float"}
    slopes = ph.grad(loss, variables)
    values = {name: one.value for name, one in states.held.items()} | {":step": np.zeros((), "i8")}
    found = evaluated([*results, *slopes.values(), *after.values()], given, values)
    count = len(results)
    middle = count + len(slopes)
    return (
        found[:count],
        dict(zip(slopes, found[count:middle], strict=True)),
        dict(zip(after, found[middle:], strict=True)),
    )


def evaluated(
    values: list[ph.Tensor], inputs: Mapping[str, Array], states: Mapping[str, Array]
) -> list[Array]:
    graph = Graph(tuple((f"y{k}", one.operand) for k, one in enumerate(values)))
    outputs, _ = evaluate(graph, inputs, states, {}, widen=False)
    return [outputs[f"y{k}"] for k in range(len(values))]


def assert_like_torch(
    module: nn.Module,
    peer: Any,
    arrays: list[Array],
    mode: bool = True,
    relative: float = CLOSE,
    **how: Any,
) -> None:
    """Same names and shapes, then results, gradients and buffers within rounding."""
    peer.double().train(mode)
    module.to("float64").train(mode)
    state = {name: one.numpy() for name, one in peer.state_dict().items()}
    assert list(module.state_dict()) == list(state)
    module.load_state_dict(state)
    close = {"rtol": relative, "atol": relative / 10}
    want, slopes = by_torch(peer, arrays, **how)
    got, own, after = by_photic(module, arrays, **how)
    assert len(got) == len(want)
    for left, right in zip(got, want, strict=True):
        np.testing.assert_allclose(left, right, **close)
    assert own.keys() == slopes.keys()
    for name, slope in slopes.items():
        np.testing.assert_allclose(own[name], slope, err_msg=name, **close)
    for name, one in peer.named_buffers():
        np.testing.assert_allclose(after[name], one.numpy(), err_msg=name, **close)
