"""Recurrent networks as modules: LSTM, GRU and RNN with PyTorch's weights, over ``ph.lstm``.

Weights are named ``weight_ih_l0``, ``weight_hh_l0``, ``bias_ih_l0``, ``bias_hh_l0``, of the
backward direction with ``_reverse``; an LSTM's projection is ``weight_hr_l0``. There are no packed
sequences: ``lengths`` says how many places of each sequence count.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import ClassVar

from photic.base.errors import BadArgument
from photic.nn.building import computed
from photic.nn.initial import Rng, generator, uniform
from photic.nn.layers import Dropout
from photic.nn.module import Module
from photic.nn.parameter import Parameter
from photic.tensor.recurrent import RecurrentWeights, gru, lstm, rnn
from photic.tensor.shapes import concat
from photic.tensor.tensor import DTypeLike, Tensor, Value, tensor

FLOAT = "float32"
Layer = Sequence[RecurrentWeights]
States = Sequence[Tensor | None]


class Recurrent(Module):
    """What the three kinds share: their weights, layers, directions and dropout between layers."""

    gates: ClassVar[int]

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        bias: bool = True,
        batch_first: bool = False,
        dropout: float = 0.0,
        bidirectional: bool = False,
        proj_size: int = 0,
        *,
        rng: Rng,
        dtype: DTypeLike = FLOAT,
    ) -> None:
        if num_layers < 1:
            given = {"given": num_layers, "expected": "1 or more"}
            raise BadArgument(op=type(self).__name__, argument="num_layers", **given)
        self.hidden_size, self.num_layers, self.bias = hidden_size, num_layers, bias
        self.batch_first, self.bidirectional = batch_first, bidirectional
        self.proj_size, self.dropout = proj_size, Dropout(dropout)
        rng, bound = generator(rng), 1 / math.sqrt(hidden_size)
        shown = proj_size or hidden_size
        for layer in range(num_layers):
            inputs = shown * self.directions if layer else input_size
            rows = self.gates * hidden_size
            shapes = {"weight_ih": (rows, inputs), "weight_hh": (rows, shown)}
            biases = {"bias_ih": (rows,), "bias_hh": (rows,)} if bias else {}
            projection = {"weight_hr": (proj_size, hidden_size)} if proj_size else {}
            for ending in self._endings(layer):
                for name, shape in {**shapes, **biases, **projection}.items():
                    setattr(self, name + ending, uniform(rng, shape, bound, dtype))

    @property
    def directions(self) -> int:
        """2 if the sequence is read backwards too."""
        return 2 if self.bidirectional else 1

    def _endings(self, layer: int) -> list[str]:
        return [f"_l{layer}{way}" for way in ("", "_reverse")[: self.directions]]

    def _weights(self, layer: int) -> Layer:
        return [
            RecurrentWeights(
                self._value(f"weight_ih{ending}"),
                self._value(f"weight_hh{ending}"),
                self._value(f"bias_ih{ending}") if self.bias else None,
                self._value(f"bias_hh{ending}") if self.bias else None,
                self._value(f"weight_hr{ending}") if self.proj_size else None,
            )
            for ending in self._endings(layer)
        ]

    def _value(self, name: str) -> Tensor:
        found: Parameter = getattr(self, name)
        return computed(found.tensor)

    def _run(
        self, call: Callable[..., tuple[Tensor, ...]], x: Value, states: States, **how: object
    ) -> tuple[Tensor, list[Tensor]]:
        """The outputs of the last layer, and the last states of all layers."""
        value = computed(tensor(x))
        how |= {"bidirectional": self.bidirectional, "batch_first": self.batch_first}
        if not (self.training and self.dropout.p > 0) or self.num_layers == 1:
            weights = [one for layer in range(self.num_layers) for one in self._weights(layer)]
            output, *last = call(value, weights, *states, **how)
            return output, last
        found: list[list[Tensor]] = []
        for layer in range(self.num_layers):
            span = slice(layer * self.directions, (layer + 1) * self.directions)
            first = [None if one is None else one[span] for one in states]
            value, *last = call(value, self._weights(layer), *first, **how)
            found.append(last)
            if layer < self.num_layers - 1:
                value = self.dropout(value)
        return value, [concat(list(one), 0) for one in zip(*found, strict=True)]


class LSTM(Recurrent):
    """Long short-term memory."""

    gates = 4

    def forward(
        self,
        x: Value,
        states: tuple[Value, Value] | None = None,
        lengths: Value | None = None,
    ) -> tuple[Tensor, tuple[Tensor, Tensor]]:
        """The outputs, and the last hidden and cell states. Shapes as for ``ph.lstm``."""
        first = [None, None] if states is None else [tensor(one) for one in states]
        output, (hidden, cell) = self._run(lstm, x, first, lengths=lengths)
        return output, (hidden, cell)


class GRU(Recurrent):
    """Gated recurrent units."""

    gates = 3

    def forward(
        self, x: Value, hidden: Value | None = None, lengths: Value | None = None
    ) -> tuple[Tensor, Tensor]:
        """The outputs and the last hidden states. Shapes as for ``ph.gru``."""
        first = [None if hidden is None else tensor(hidden)]
        output, (last,) = self._run(gru, x, first, lengths=lengths)
        return output, last


class RNN(Recurrent):
    """Elman's network; ``nonlinearity``: "tanh" or "relu"."""

    gates = 1

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        nonlinearity: str = "tanh",
        bias: bool = True,
        batch_first: bool = False,
        dropout: float = 0.0,
        bidirectional: bool = False,
        *,
        rng: Rng,
        dtype: DTypeLike = FLOAT,
    ) -> None:
        ways = (num_layers, bias, batch_first, dropout, bidirectional)
        super().__init__(input_size, hidden_size, *ways, rng=rng, dtype=dtype)
        self.nonlinearity = nonlinearity

    def forward(
        self, x: Value, hidden: Value | None = None, lengths: Value | None = None
    ) -> tuple[Tensor, Tensor]:
        """The outputs and the last hidden states. Shapes as for ``ph.rnn``."""
        first = [None if hidden is None else tensor(hidden)]
        how = {"nonlinearity": self.nonlinearity, "lengths": lengths}
        output, (last,) = self._run(rnn, x, first, **how)
        return output, last
