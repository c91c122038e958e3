"""Recurrent networks as ``scan``: LSTM, GRU and plain ones, with PyTorch's weights and gate order.

What an input alone decides is one product over all places, before the loop; the loop multiplies by
the hidden weights. Sequences of different lengths share a batch by masks: beyond its length a
sequence keeps its state and gives 0, and backwards it begins at its own end. Halves are computed in
float32 and rounded once. There is no dropout between layers.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NoReturn

from photic.base.errors import BadArgument, DtypeMismatch, ShapeMismatch
from photic.ir.dim import exact_div
from photic.tensor.activations import relu, sigmoid, tanh
from photic.tensor.creation import counted, zeros
from photic.tensor.linear import matmul
from photic.tensor.loops import Tensors, scan
from photic.tensor.norms import in_dtype_of
from photic.tensor.primitive import accumulated, as_float, less, where
from photic.tensor.shapes import concat, expand_dims, flip, reshape, stack, swapaxes, window
from photic.tensor.tensor import Tensor, Value, tensor


@dataclass(frozen=True, slots=True)
class RecurrentWeights:
    """One direction of one layer, in PyTorch's layout; the gates lie one after another.

    ``input`` is (gates*hidden, inputs), ``hidden`` (gates*hidden, hidden), the biases
    (gates*hidden,). LSTM: gates in, forget, cell, out; GRU: reset, update, new. With a
    ``projection`` (outputs, hidden), for LSTM only, ``hidden`` is (gates*hidden, outputs).
    """

    input: Value
    hidden: Value
    input_bias: Value | None = None
    hidden_bias: Value | None = None
    projection: Value | None = None


# ``keep(new, old)``: the new state, or the old one for sequences that have ended
Keep = Callable[[Tensor, Tensor], Tensor]
# ``step(projected input, states, weights, keep)``: the states that follow
Step = Callable[[Tensor, Tensors, RecurrentWeights, Keep], Tensors]


@dataclass(frozen=True, slots=True)
class _Kind:
    """A kind of network: how many gates and states it has, and one step of it.

    ``joins_biases``: the bias of the hidden product may be added before the loop.
    """

    op: str
    gates: int
    states: int
    joins_biases: bool
    step: Step


def lstm(
    x: Value,
    weights: Sequence[RecurrentWeights],
    hidden: Value | None = None,
    cell: Value | None = None,
    *,
    bidirectional: bool = False,
    batch_first: bool = False,
    lengths: Value | None = None,
) -> tuple[Tensor, Tensor, Tensor]:
    """Long short-term memory: the outputs, the last hidden and the last cell states.

    x is (places, batch, inputs), (batch, places, inputs) with ``batch_first``, or (places, inputs).
    ``weights`` go layer by layer, each layer's backward direction after its forward one if
    ``bidirectional``. States are (layers*directions, batch, hidden), 0 unless given. Outputs have
    both directions side by side. ``lengths`` (batch,): how many places of each sequence count.
    Raises BadArgument and ShapeMismatch. ``places`` and ``batch`` may be symbolic.
    """
    call = _Call(_LSTM, tuple(weights), bidirectional, batch_first, lengths)
    output, (last_hidden, last_cell) = _run(call, x, (hidden, cell))
    return output, last_hidden, last_cell


def gru(
    x: Value,
    weights: Sequence[RecurrentWeights],
    hidden: Value | None = None,
    *,
    bidirectional: bool = False,
    batch_first: bool = False,
    lengths: Value | None = None,
    reset_after: bool = True,
) -> tuple[Tensor, Tensor]:
    """Gated recurrent units: the outputs and the last hidden states; arguments as ``lstm``.

    ``reset_after``: the reset gate scales the hidden product of the new gate, as in PyTorch;
    otherwise the hidden state before it, as in the paper (Cho and others 2014).
    """
    kind = _GRU if reset_after else _GRU_RESET_FIRST
    call = _Call(kind, tuple(weights), bidirectional, batch_first, lengths)
    output, (last,) = _run(call, x, (hidden,))
    return output, last


def rnn(
    x: Value,
    weights: Sequence[RecurrentWeights],
    hidden: Value | None = None,
    *,
    nonlinearity: str = "tanh",
    bidirectional: bool = False,
    batch_first: bool = False,
    lengths: Value | None = None,
) -> tuple[Tensor, Tensor]:
    """Elman's network, "tanh" or "relu": outputs and last hidden states; arguments as ``lstm``."""
    if nonlinearity not in _RNN:
        _refuse("rnn", "nonlinearity", repr(nonlinearity), "'tanh' or 'relu'")
    call = _Call(_RNN[nonlinearity], tuple(weights), bidirectional, batch_first, lengths)
    output, (last,) = _run(call, x, (hidden,))
    return output, last


# --- one step -------------------------------------------------------------------------------


def _product(x: Tensor, weight: Value, bias: Value | None) -> Tensor:
    result = matmul(x, swapaxes(in_dtype_of(x, weight), 0, 1))
    return result if bias is None else result + in_dtype_of(x, bias)


def _gates(x: Tensor, count: int) -> list[Tensor]:
    """The last axis in equal parts."""
    part = exact_div(x.shape[-1], count)
    assert part is not None
    return [window(x, x.ndim - 1, part * k, part * (k + 1), "gates") for k in range(count)]


def _lstm_step(x: Tensor, states: Tensors, weights: RecurrentWeights, keep: Keep) -> Tensors:
    hidden, cell = states
    into, forget, new, out = _gates(x + _product(hidden, weights.hidden, None), 4)
    after = keep(sigmoid(forget) * cell + sigmoid(into) * tanh(new), cell)
    shown = sigmoid(out) * tanh(after)
    if weights.projection is not None:
        shown = _product(shown, weights.projection, None)
    return keep(shown, hidden), after


def _gru_step(x: Tensor, states: Tensors, weights: RecurrentWeights, keep: Keep) -> Tensors:
    (hidden,) = states
    mixed = _product(hidden, weights.hidden, weights.hidden_bias)
    (reset, update, new), (r, z, n) = _gates(x, 3), _gates(mixed, 3)
    candidate = tanh(new + sigmoid(reset + r) * n)
    return (keep(_between(hidden, candidate, sigmoid(update + z)), hidden),)


def _gru_reset_first_step(
    x: Tensor, states: Tensors, weights: RecurrentWeights, keep: Keep
) -> Tensors:
    (hidden,) = states
    reset, update, new = _gates(x, 3)
    rows = _parts(tensor(weights.hidden), 3)
    biases: list[Tensor] | list[None] = [None] * 3
    if weights.hidden_bias is not None:
        biases = _parts(tensor(weights.hidden_bias), 3)
    r, z = (_product(hidden, rows[k], biases[k]) for k in range(2))
    mixed = _product(hidden * sigmoid(reset + r), rows[2], biases[2])
    return (keep(_between(hidden, tanh(new + mixed), sigmoid(update + z)), hidden),)


def _parts(weight: Tensor, count: int) -> list[Tensor]:
    """The first axis of a weight in equal parts."""
    return list(reshape(weight, (count, -1, *weight.shape[1:])))


def _between(old: Tensor, new: Tensor, update: Tensor) -> Tensor:
    return new + update * (old - new)


def _rnn_step(gate: Callable[[Tensor], Tensor]) -> Step:
    def step(x: Tensor, states: Tensors, weights: RecurrentWeights, keep: Keep) -> Tensors:
        return (keep(gate(x + _product(states[0], weights.hidden, None)), states[0]),)

    return step


_LSTM = _Kind("lstm", 4, 2, True, _lstm_step)
_GRU = _Kind("gru", 3, 1, False, _gru_step)
_GRU_RESET_FIRST = _Kind("gru", 3, 1, False, _gru_reset_first_step)
_RNN = {
    "tanh": _Kind("rnn", 1, 1, True, _rnn_step(tanh)),
    "relu": _Kind("rnn", 1, 1, True, _rnn_step(relu)),
}


# --- layers and directions ------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Call:
    """What a call says beside the sequence and its first states."""

    kind: _Kind
    weights: tuple[RecurrentWeights, ...]
    bidirectional: bool
    batch_first: bool
    lengths: Value | None

    @property
    def directions(self) -> int:
        return 2 if self.bidirectional else 1


def _run(call: _Call, x: Value, first: Sequence[Value | None]) -> tuple[Tensor, Tensors]:
    """All layers over a sequence: the last layer's outputs, and each kind of last state."""
    op = call.kind.op
    given = as_float(x, op)
    if given.ndim not in (2, 3):
        _refuse(op, "rank", given.ndim, "(places, batch, inputs) or (places, inputs)")
    if not call.weights or len(call.weights) % call.directions:
        _refuse(op, "weights", f"{len(call.weights)} of them", f"{call.directions} a layer")
    is_batched = given.ndim == 3
    value = given.astype(accumulated(given.dtype))
    if not is_batched:
        value = expand_dims(value, 1)
    elif call.batch_first:
        value = swapaxes(value, 0, 1)
    states = [_first_states(call, value, one, k, is_batched) for k, one in enumerate(first)]
    output, last = _layers(call, value, states)
    if not is_batched:
        output, last = output[:, 0], tuple(one[:, 0] for one in last)
    elif call.batch_first:
        output = swapaxes(output, 0, 1)
    return output.astype(given.dtype), tuple(one.astype(given.dtype) for one in last)


def _layers(call: _Call, x: Tensor, first: Sequence[Tensor]) -> tuple[Tensor, Tensors]:
    lengths = None if call.lengths is None else _checked_lengths(call, x)
    last: list[Tensors] = []
    for number in range(0, len(call.weights), call.directions):
        outputs = []
        for way in range(call.directions):
            start = tuple(one[number + way] for one in first)
            output, end = _direction(
                call.kind, x, call.weights[number + way], start, lengths, way == 1
            )
            outputs.append(output)
            last.append(end)
        x = concat(outputs, -1)
    return x, tuple(stack([one[k] for one in last], 0) for k in range(call.kind.states))


def _direction(
    kind: _Kind,
    x: Tensor,
    weights: RecurrentWeights,
    first: Tensors,
    lengths: Tensor | None,
    is_backward: bool,
) -> tuple[Tensor, Tensors]:
    """One direction of a layer: outputs (places, batch, hidden) and the last states."""
    _check(kind, x, weights)
    projected = _product(x, weights.input, weights.input_bias)
    if kind.joins_biases and weights.hidden_bias is not None:
        projected = projected + in_dtype_of(projected, weights.hidden_bias)
    counts = [] if lengths is None else [less(counted(0, x.shape[0])[:, None], lengths)]
    sequences = [flip(one, 0) if is_backward else one for one in (projected, *counts)]

    def body(carried: Tensors, slices: Tensors) -> tuple[Tensors, Tensors]:
        def keep(new: Tensor, old: Tensor) -> Tensor:
            return new if len(slices) == 1 else where(slices[1][:, None], new, old)

        after = kind.step(slices[0], carried, weights, keep)
        return after, after[:1]

    last, (outputs,) = scan(body, first, sequences)
    outputs = flip(outputs, 0) if is_backward else outputs
    return (where(counts[0][:, :, None], outputs, 0.0) if counts else outputs), last


# --- what must fit --------------------------------------------------------------------------


def _refuse(op: str, argument: str, given: object, expected: str) -> NoReturn:
    raise BadArgument(op=op, argument=argument, given=given, expected=expected)


def _check(kind: _Kind, x: Tensor, weights: RecurrentWeights) -> None:
    given = tensor(weights.input).shape
    if len(given) != 2:
        _refuse(kind.op, "weights", given, f"({kind.gates}*hidden, inputs)")
    rows, inputs = given
    if x.shape[-1] != inputs:
        raise ShapeMismatch(op=f"{kind.op} weights", left=x.shape, right=(rows, inputs))
    if exact_div(rows, kind.gates) is None:
        _refuse(kind.op, "weights", f"{rows} rows", f"{kind.gates} gates")
    if weights.projection is not None and kind is not _LSTM:
        _refuse(kind.op, "projection", "a weight", "none: only lstm has one")


def _first_states(
    call: _Call, x: Tensor, given: Value | None, number: int, is_batched: bool
) -> Tensor:
    """The states before the first place, (layers*directions, batch, width); 0 unless given."""
    hidden = tensor(call.weights[0].hidden).shape
    if len(hidden) != 2 or exact_div(hidden[0], call.kind.gates) is None:
        _refuse(call.kind.op, "weights", hidden, f"({call.kind.gates}*hidden, hidden)")
    width = hidden[1] if number == 0 else exact_div(hidden[0], call.kind.gates)
    assert width is not None
    shape = (len(call.weights), x.shape[1], width)
    if given is None:
        return zeros(shape, x.dtype)
    value = in_dtype_of(x, given)
    laid = value if is_batched else expand_dims(value, 1)
    if laid.shape != shape:
        raise ShapeMismatch(op=f"{call.kind.op} states", left=value.shape, right=shape)
    return laid


def _checked_lengths(call: _Call, x: Tensor) -> Tensor:
    assert call.lengths is not None
    lengths = tensor(call.lengths)
    if lengths.dtype.kind != "int":
        raise DtypeMismatch(op=call.kind.op, given=lengths.dtype, expected="an integer dtype")
    laid = reshape(lengths, (1,)) if lengths.ndim == 0 else lengths
    if laid.shape != (x.shape[1],):
        raise ShapeMismatch(op=f"{call.kind.op} lengths", left=lengths.shape, right=(x.shape[1],))
    return laid
