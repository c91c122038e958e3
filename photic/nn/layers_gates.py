"""Activations and changes of shape as modules, for ``Sequential``; the functions are photic's."""

from __future__ import annotations

from photic.nn.module import Module
from photic.tensor.activations import relu
from photic.tensor.tensor import Tensor, Value


class ReLU(Module):
    """``max(x, 0)``."""

    def forward(self, x: Value) -> Tensor:
        return relu(x)
