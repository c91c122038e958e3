"""One step of a recurrent network as a module, for loops of one's own: LSTM, GRU, RNN cells.

Weights are PyTorch's (``weight_ih``, ``weight_hh``, ``bias_ih``, ``bias_hh``). A loop over many
steps is ``ph.scan``, or the networks of ``recurrent.py``: a Python loop makes as many copies.
"""

from __future__ import annotations

import math
from typing import ClassVar

from photic.base.errors import BadArgument
from photic.nn.initial import Rng, generator, uniform
from photic.nn.layers import linear
from photic.nn.module import Module
from photic.nn.parameter import Parameter
from photic.tensor.activations import relu, sigmoid, tanh
from photic.tensor.creation import zeros
from photic.tensor.tensor import DTypeLike, Tensor, Value, tensor

FLOAT = "float32"


class _Cell(Module):
    """What the three kinds share: their weights, and the products of input and state."""

    gates: ClassVar[int]

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        bias: bool = True,
        *,
        rng: Rng,
        dtype: DTypeLike = FLOAT,
    ) -> None:
        self.hidden_size, rng = hidden_size, generator(rng)
        rows, bound = self.gates * hidden_size, 1 / math.sqrt(hidden_size)
        self.weight_ih = uniform(rng, (rows, input_size), bound, dtype)
        self.weight_hh = uniform(rng, (rows, hidden_size), bound, dtype)
        self.bias_ih: Parameter | None = None
        self.bias_hh: Parameter | None = None
        if bias:
            self.bias_ih = uniform(rng, (rows,), bound, dtype)
            self.bias_hh = uniform(rng, (rows,), bound, dtype)

    def _state(self, x: Tensor, given: Value | None) -> Tensor:
        """The state that was given, or zeros."""
        return zeros((*x.shape[:-1], self.hidden_size), x.dtype) if given is None else tensor(given)

    def _products(self, x: Tensor, hidden: Tensor) -> list[tuple[Tensor, Tensor]]:
        """For each gate what input and state say."""
        biases = [None if one is None else one.tensor for one in (self.bias_ih, self.bias_hh)]
        both = (
            linear(x, self.weight_ih.tensor, biases[0]),
            linear(hidden, self.weight_hh.tensor, biases[1]),
        )
        size = self.hidden_size
        spans = [slice(gate * size, (gate + 1) * size) for gate in range(self.gates)]
        return [(both[0][..., span], both[1][..., span]) for span in spans]


class LSTMCell(_Cell):
    """A step of an LSTM."""

    gates = 4

    def forward(self, x: Value, states: tuple[Value, Value] | None = None) -> tuple[Tensor, Tensor]:
        """The hidden and cell states that follow; zeros come before where none are given."""
        value = tensor(x)
        first = (None, None) if states is None else states
        hidden, cell = (self._state(value, one) for one in first)
        opened, kept, new, shown = (a + b for a, b in self._products(value, hidden))
        after = sigmoid(kept) * cell + sigmoid(opened) * tanh(new)
        return sigmoid(shown) * tanh(after), after


class GRUCell(_Cell):
    """A step of gated recurrent units."""

    gates = 3

    def forward(self, x: Value, hidden: Value | None = None) -> Tensor:
        """The hidden state that follows."""
        value = tensor(x)
        before = self._state(value, hidden)
        reset, update, new = self._products(value, before)
        fresh = tanh(new[0] + sigmoid(reset[0] + reset[1]) * new[1])
        share = sigmoid(update[0] + update[1])
        return fresh + share * (before - fresh)


class RNNCell(_Cell):
    """A step of Elman's network; ``nonlinearity``: "tanh" or "relu"."""

    gates = 1

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        bias: bool = True,
        nonlinearity: str = "tanh",
        *,
        rng: Rng,
        dtype: DTypeLike = FLOAT,
    ) -> None:
        super().__init__(input_size, hidden_size, bias, rng=rng, dtype=dtype)
        if nonlinearity not in ("tanh", "relu"):
            given = {"given": repr(nonlinearity), "expected": "'tanh' or 'relu'"}
            raise BadArgument(op="RNNCell", argument="nonlinearity", **given)
        self.nonlinearity = nonlinearity

    def forward(self, x: Value, hidden: Value | None = None) -> Tensor:
        """The hidden state that follows."""
        value = tensor(x)
        ((left, right),) = self._products(value, self._state(value, hidden))
        return relu(left + right) if self.nonlinearity == "relu" else tanh(left + right)
