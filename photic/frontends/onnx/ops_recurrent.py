"""Recurrent networks with every attribute: LSTM, GRU, RNN as loops of the program.

Where activations, clipping, peepholes and coupled gates are as usual, photic's own functions build
them; otherwise the loop is built here, from the same parts.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from photic.frontends.onnx.call import Call, Op
from photic.frontends.onnx.dynamic import DynamicWeight, largest_sum
from photic.frontends.onnx.ops_gates import MICROSOFT
from photic.frontends.onnx.recurrent_steps import (
    ACTIVATIONS,
    Activation,
    Step,
    gru_step,
    lstm_step,
    mixed,
    rnn_step,
)
from photic.frontends.onnx.value import Value
from photic.ir.dim import Dim
from photic.tensor import creation, loops, primitive, shapes
from photic.tensor.tensor import Tensor

DIRECTIONS = {"forward": 1, "reverse": 1, "bidirectional": 2}


@dataclass(frozen=True, slots=True)
class Net:
    """A kind of network: how many gates and states, its usual activations, one step of it."""

    gates: int
    states: int
    activations: tuple[str, ...]
    step: Step


LSTM = Net(4, 2, ("Sigmoid", "Tanh", "Tanh"), lstm_step)
GRU = Net(3, 1, ("Sigmoid", "Tanh"), gru_step)
RNN = Net(1, 1, ("Tanh",), rnn_step)
FIRST_STATE = 5  # the number of its input


@dataclass(frozen=True, slots=True)
class Parts:
    """The inputs of one direction: weights (gates*hidden, ...), bias sums, peepholes."""

    weight: Tensor | DynamicWeight
    recurrent: Tensor | DynamicWeight
    width: Dim
    bias: Tensor | None
    hidden_bias: Tensor | None
    peephole: Tensor | None


PartsOf: TypeAlias = Callable[[Call, int], Parts]


def recurrent(net: Net, parts_of: PartsOf) -> Callable[[Call], list[Tensor]]:
    """The function that stands for a kind of network."""

    def run(call: Call) -> list[Tensor]:
        return _run(net, parts_of, call)

    return run


def _run(net: Net, parts_of: PartsOf, call: Call) -> list[Tensor]:
    x = call.tensor(0)
    if call.flag("layout"):
        x = shapes.swapaxes(x, 0, 1)
    direction = call.choice("direction", tuple(DIRECTIONS), "forward")
    count = DIRECTIONS[direction]
    lengths = call.optional(4)
    activations = _activations(net, call, count)
    outputs, lasts = [], []
    for number in range(count):
        parts = parts_of(call, number)
        first = _first(net, call, x, parts, number)
        backward = direction == "reverse" or number == 1
        width = len(net.activations)
        chosen = activations[number * width : (number + 1) * width]
        output, last = _one_way(net, call, x, parts, first, lengths, backward, chosen)
        outputs.append(output)
        lasts.append(last)
    y = shapes.stack(outputs, 1)
    states = [shapes.stack([one[k] for one in lasts], 0) for k in range(net.states)]
    if call.flag("layout"):
        y = shapes.permute(y, (2, 0, 1, 3))
        states = [shapes.swapaxes(one, 0, 1) for one in states]
    return [y, *states]


def _activations(net: Net, call: Call, directions: int) -> list[Activation]:
    """The functions of all directions, with their parameters."""
    names = call.texts("activations") or net.activations * directions
    alphas, betas = (
        list(call.floats("activation_alpha") or ()),
        list(call.floats("activation_beta") or ()),
    )
    if len(names) != len(net.activations) * directions:
        expected = f"{len(net.activations)} for each direction"
        raise call.attribute_error("activations", names, expected)
    found = []
    for name in names:
        known = {key.lower(): one for key, one in ACTIVATIONS.items()}.get(name.lower())
        if known is None:
            raise call.attribute_error("activations", name, ", ".join(ACTIVATIONS))
        alpha = alphas.pop(0) if known.alpha is not None and alphas else known.alpha
        beta = betas.pop(0) if known.beta is not None and betas else known.beta
        found.append(known.with_parameters(alpha, beta))
    return found


def _parts(call: Call, number: int) -> Parts:
    weight, hidden = call.tensor(1)[number], call.tensor(2)[number]
    rows = hidden.shape[0]
    both = call.optional(3)
    bias = None if both is None else both[number][:rows]
    hidden_bias = None if both is None else both[number][rows:]
    peephole = call.optional(7)
    peep = None if peephole is None else peephole[number]
    return Parts(weight, hidden, hidden.shape[1], bias, hidden_bias, peep)


def _dynamic_parts(call: Call, number: int) -> Parts:
    """com.microsoft: integer weights (inputs, rows), each with a scale and a zero point."""
    weight, hidden = (_dynamic_weight(call, number, ks) for ks in ((1, 8, 9), (2, 10, 11)))
    rows = hidden.integers.shape[1]
    both = call.optional(3)
    bias = None if both is None else both[number][:rows]
    hidden_bias = None if both is None else both[number][rows:]
    peephole = call.optional(7)
    peep = None if peephole is None else peephole[number]
    return Parts(weight, hidden, hidden.integers.shape[0], bias, hidden_bias, peep)


def _dynamic_weight(call: Call, number: int, inputs: tuple[int, int, int]) -> DynamicWeight:
    """The weight, scale and zero point of a direction, by the numbers of these inputs."""
    integers, scale, zero = (_of_direction(call.value(one), number) for one in inputs)
    most = largest_sum(integers, zero)
    return DynamicWeight(integers.tensor, scale.tensor, zero.tensor, most)


def _of_direction(value: Value, number: int) -> Value:
    part = value.held[number]
    return Value(part if isinstance(part, Tensor) else np.asarray(part), value.kind)


def _first(net: Net, call: Call, x: Tensor, parts: Parts, number: int) -> tuple[Tensor, ...]:
    """The states before the first place, 0 unless given."""
    found = []
    for k in range(net.states):
        given = call.optional(FIRST_STATE + k)
        if given is None:
            found.append(creation.zeros((x.shape[1], parts.width), x.dtype))
        else:
            laid = shapes.swapaxes(given, 0, 1) if call.flag("layout") else given
            found.append(laid[number])
    return tuple(found)


def _one_way(
    net: Net,
    call: Call,
    x: Tensor,
    parts: Parts,
    first: tuple[Tensor, ...],
    lengths: Tensor | None,
    backward: bool,
    activations: list[Activation],
) -> tuple[Tensor, tuple[Tensor, ...]]:
    """One direction: outputs (places, batch, hidden) and the last states.

    Beyond its length a sequence gives 0 and keeps its states; backwards it begins at its end.
    """
    projected = mixed(x, parts.weight, parts.bias)
    inside = None
    if lengths is not None:
        inside = primitive.less(creation.arange(x.shape[0])[:, None], lengths)
    sequences = [one for one in (projected, inside) if one is not None]
    sequences = [shapes.flip(one, 0) for one in sequences] if backward else sequences
    gate = _Settings(
        activations,
        call.number("clip", 0.0),
        call.flag("linear_before_reset"),
        call.flag("input_forget"),
    )

    def body(
        carried: tuple[Tensor, ...], slices: tuple[Tensor, ...]
    ) -> tuple[tuple[Tensor, ...], tuple[Tensor, ...]]:
        after = net.step(slices[0], carried, parts, gate)
        if len(slices) > 1:
            mask = slices[1][:, None]
            after = tuple(primitive.where(mask, new, old) for new, old in zip(after, carried))
        return after, after[:1]

    last, (outputs,) = loops.scan(body, first, sequences)
    outputs = shapes.flip(outputs, 0) if backward else outputs
    if inside is not None:
        outputs = primitive.where(inside[:, :, None], outputs, 0.0)
    return outputs, last


@dataclass(frozen=True, slots=True)
class _Settings:
    """How a step computes: its functions, the limit of what they are given, the gates' ways."""

    activations: list[Activation]
    clip: float
    linear_before_reset: bool
    input_forget: bool


RECURRENT: tuple[Op, ...] = (
    Op("LSTM", recurrent(LSTM, _parts)),
    Op("GRU", recurrent(GRU, _parts)),
    Op("RNN", recurrent(RNN, _parts)),
    Op("DynamicQuantizeLSTM", recurrent(LSTM, _dynamic_parts), domain=MICROSOFT),
)
