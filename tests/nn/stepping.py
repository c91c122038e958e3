"""Steps of training by the evaluator, in float64, and the same by torch."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from photic import nn
from photic.forms.eval import Array, evaluate
from photic.forms.graph_check import check_graph
from photic.ir.graph import Graph

Batch = Mapping[str, Array]


def specified(batch: Batch, *, parts: bool = False) -> dict[str, tuple[tuple[int, ...], Any]]:
    """Shapes and dtypes of a batch, without its leading axis where it is of parts."""
    return {name: (one.shape[1:] if parts else one.shape, one.dtype) for name, one in batch.items()}


class Evaluated:
    """A step's graph with its states, run by the evaluator."""

    def __init__(self, graph: nn.TrainGraph) -> None:
        results = tuple((name, one.operand) for name, one in graph.results.items())
        updates = tuple((old.operand.node, new.operand) for old, new in graph.updates.items())
        self.graph = Graph(results, updates)
        check_graph(self.graph)
        self.states = {name: one.value for name, one in graph.states.held.items()}

    def step(self, batch: Batch) -> dict[str, Array]:
        results, self.states = evaluate(self.graph, batch, self.states, {}, widen=False)
        return results


def torch_steps(
    peer: Any, optimiser: Any, loss_of: Callable[..., Any], batches: Sequence[Batch]
) -> list[float]:
    """The losses of a torch model trained on batches."""
    import torch

    losses = []
    for batch in batches:
        optimiser.zero_grad()
        loss = loss_of(peer, **{name: torch.tensor(one) for name, one in batch.items()})
        loss.backward()
        optimiser.step()
        losses.append(loss.item())
    return losses


def perceptrons(dtype: str = "float64") -> tuple[nn.Module, Any]:
    """Two layers in both worlds, with the same weights."""
    import torch

    torch.manual_seed(0)
    peer = torch.nn.Sequential(torch.nn.Linear(5, 7), torch.nn.Tanh(), torch.nn.Linear(7, 3))
    peer.to(getattr(torch, dtype))
    module = nn.Sequential(nn.Linear(5, 7, rng=0), nn.Tanh(), nn.Linear(7, 3, rng=0)).to(dtype)
    module.load_state_dict({name: one.numpy() for name, one in peer.state_dict().items()})
    return module, peer


def batches(count: int, rows: int = 6, dtype: str = "float64") -> list[Batch]:
    random = np.random.default_rng(5)
    return [
        {
            "x": random.normal(size=(rows, 5)).astype(dtype),
            "y": random.normal(size=(rows, 3)).astype(dtype),
        }
        for _ in range(count)
    ]
