"""Gradients by the evaluator, by central differences in float64, and by torch.

A function of several results is made a number by weights that are drawn once, so that no two
results cancel.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

import photic as ph
from photic.forms.eval import Array, evaluate
from photic.forms.graph_check import check_graph
from photic.ir.graph import Graph, topological

Function = Callable[..., ph.Tensor]
STEP = 1e-6  # of central differences; its square is their relative error, and eps/STEP their noise


def evaluated(
    values: Sequence[ph.Tensor], inputs: Mapping[str, Array], *, widen: bool = True, **sizes: int
) -> list[Array]:
    """The elements of tensors; the graph is checked first."""
    graph = Graph(tuple((f"y{k}", one.operand) for k, one in enumerate(values)))
    check_graph(graph)
    outputs, _ = evaluate(graph, inputs, {}, sizes, widen=widen)
    return [outputs[f"y{k}"] for k in range(len(values))]


def inputs_of(arrays: Sequence[Array], dtype: str | None = None) -> list[ph.Tensor]:
    """An input for each array, in its dtype or another."""
    return [ph.input(f"x{k}", one.shape, dtype or one.dtype) for k, one in enumerate(arrays)]


def named(arrays: Sequence[Array]) -> dict[str, Array]:
    return {f"x{k}": one for k, one in enumerate(arrays)}


def weights(shape: tuple[int, ...]) -> Array:
    return np.random.default_rng(1).normal(size=shape)


def weighted(result: ph.Tensor) -> ph.Tensor:
    """The sum of a result's elements, each with a weight of its own."""
    return ph.sum(result * ph.constant(weights(result.shape)).astype(result.dtype))


def gradients(function: Function, *arrays: Array, dtype: str | None = None) -> list[Array]:
    """The gradient of the sum of a function's elements for each array, in its own dtype."""
    given = [np.asarray(one, dtype) for one in arrays]
    handles = inputs_of(given)
    return evaluated(ph.grad(ph.sum(function(*handles)), handles), named(given), widen=False)


def disagreement(function: Function, *arrays: Any) -> float:
    """The largest distance from central differences, in units of the largest slope (or 1)."""
    given = [np.asarray(one, np.float64) for one in arrays]
    handles = inputs_of(given)
    loss = weighted(function(*handles))
    found = evaluated(ph.grad(loss, handles), named(given))
    worst = 0.0
    for number, (array, got) in enumerate(zip(given, found, strict=True)):
        slopes = np.zeros(array.shape)
        for place in np.ndindex(*array.shape):
            ends = []
            for step in (STEP, -STEP):
                moved = array.copy()
                moved[place] += step
                ends.append(evaluated([loss], named(given) | {f"x{number}": moved})[0])
            slopes[place] = (ends[0] - ends[1]) / (2 * STEP)
        if array.size:
            worst = max(worst, np.abs(slopes - got).max() / max(1, np.abs(slopes).max()))
    return worst


def by_torch(function: Callable[..., Any], *arrays: Array) -> list[Array]:
    """torch's gradients of the weighted sum of a function's elements."""
    import torch

    given = [torch.tensor(one, requires_grad=True) for one in arrays]
    result = function(*given)
    weight = torch.tensor(weights(tuple(result.shape))).to(result.dtype)
    (result * weight).sum().backward()
    return [
        np.zeros(one.shape) if one.grad is None else one.grad.to(torch.float64).numpy()
        for one in given
    ]


def of_weighted(function: Function, *arrays: Array) -> list[Array]:
    """The evaluator's gradients of what ``by_torch`` differentiates, in the arrays' dtypes."""
    handles = inputs_of(arrays)
    return evaluated(ph.grad(weighted(function(*handles)), handles), named(arrays), widen=False)


def count_of(op: str, *values: ph.Tensor) -> int:
    """How many nodes of an operation values are made of."""
    return sum(node.op == op for node in topological([one.operand.node for one in values]))
