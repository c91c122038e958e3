"""One step of each recurrent network, and the functions that its gates may have."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Protocol

from photic.frontends.onnx.dynamic import DynamicWeight, dynamic_product
from photic.frontends.onnx.ops_gates import hard_sigmoid
from photic.tensor import activations as activations_functions
from photic.tensor import compare, gates, linear, primitive, shapes, slicing
from photic.tensor.tensor import Tensor

States = tuple[Tensor, ...]


class Settings(Protocol):
    """How a step computes."""

    @property
    def activations(self) -> Sequence[Activation]: ...
    @property
    def clip(self) -> float: ...
    @property
    def linear_before_reset(self) -> bool: ...
    @property
    def input_forget(self) -> bool: ...


class Parts(Protocol):
    """The weights of one direction."""

    @property
    def recurrent(self) -> Tensor | DynamicWeight: ...
    @property
    def hidden_bias(self) -> Tensor | None: ...
    @property
    def peephole(self) -> Tensor | None: ...


# ``step(projected input, states, weights, settings)``: the states that follow
Step = Callable[[Tensor, States, "Parts", "Settings"], States]


@dataclass(frozen=True, slots=True)
class Activation:
    """A function of one tensor with at most two parameters; None for those that it has not."""

    function: Callable[..., Tensor]
    alpha: float | None = None
    beta: float | None = None

    def with_parameters(self, alpha: float | None, beta: float | None) -> Activation:
        """The same function with these parameters."""
        return Activation(self.function, alpha, beta)

    def __call__(self, x: Tensor) -> Tensor:
        given = [one for one in (self.alpha, self.beta) if one is not None]
        return partial(self.function, x)(*given)


def _affine(x: Tensor, alpha: float, beta: float) -> Tensor:
    return x * alpha + beta


def _scaled_tanh(x: Tensor, alpha: float, beta: float) -> Tensor:
    return activations_functions.tanh(x * beta) * alpha


def _thresholded(x: Tensor, alpha: float) -> Tensor:
    return primitive.where(x >= alpha, x, 0.0)


ACTIVATIONS: Mapping[str, Activation] = {
    "Relu": Activation(activations_functions.relu),
    "Tanh": Activation(activations_functions.tanh),
    "Sigmoid": Activation(activations_functions.sigmoid),
    "Softsign": Activation(gates.softsign),
    "Softplus": Activation(activations_functions.softplus),
    "Affine": Activation(_affine, 1.0, 0.0),
    "LeakyRelu": Activation(gates.leaky_relu, 0.01),
    "ThresholdedRelu": Activation(_thresholded, 1.0),
    "ScaledTanh": Activation(_scaled_tanh, 1.0, 1.0),
    "HardSigmoid": Activation(hard_sigmoid, 0.2, 0.5),
    "Elu": Activation(activations_functions.elu, 1.0),
}


def _limited(x: Tensor, clip: float) -> Tensor:
    return compare.clip(x, -clip, clip) if clip else x


def mixed(x: Tensor, weight: Tensor | DynamicWeight, bias: Tensor | None) -> Tensor:
    """x times a weight (rows, inputs) turned over, or an integer one as it is; and a bias."""
    if isinstance(weight, DynamicWeight):
        result = dynamic_product(x, weight)
    else:
        result = linear.matmul(x, shapes.swapaxes(weight, 0, 1))
    return result if bias is None else result + bias


def _gates(x: Tensor, count: int) -> list[Tensor]:
    return slicing.split(x, count, -1)


def lstm_step(x: Tensor, states: States, parts: Parts, settings: Settings) -> States:
    """Gates in, out, forget, cell; peepholes in, out, forget look at the cell."""
    hidden, cell = states
    f, g, h = settings.activations
    into, out, forget, new = _gates(x + mixed(hidden, parts.recurrent, parts.hidden_bias), 4)
    peeps = None if parts.peephole is None else _gates(parts.peephole, 3)
    if peeps is not None:
        into, forget = into + peeps[0] * cell, forget + peeps[2] * cell
    gate = f(_limited(into, settings.clip))
    keep = 1.0 - gate if settings.input_forget else f(_limited(forget, settings.clip))
    after = keep * cell + gate * g(_limited(new, settings.clip))
    if peeps is not None:
        out = out + peeps[1] * after
    return f(_limited(out, settings.clip)) * h(after), after


def gru_step(x: Tensor, states: States, parts: Parts, settings: Settings) -> States:
    """Gates update, reset, new; the reset scales the product, or the hidden state before it."""
    (hidden,) = states
    f, g = settings.activations
    assert isinstance(parts.recurrent, Tensor)
    rows = _gates(shapes.transpose(parts.recurrent), 3)
    biases: Sequence[Tensor | None] = (None, None, None)
    if parts.hidden_bias is not None:
        biases = _gates(parts.hidden_bias, 3)
    weights = [shapes.transpose(one) for one in rows]
    update, reset, new = _gates(x, 3)
    z = f(_limited(update + mixed(hidden, weights[0], biases[0]), settings.clip))
    r = f(_limited(reset + mixed(hidden, weights[1], biases[1]), settings.clip))
    if settings.linear_before_reset:
        product = r * mixed(hidden, weights[2], biases[2])
    else:
        product = mixed(r * hidden, weights[2], biases[2])
    candidate = g(_limited(new + product, settings.clip))
    return (candidate + z * (hidden - candidate),)


def rnn_step(x: Tensor, states: States, parts: Parts, settings: Settings) -> States:
    """The function of the sum of both products."""
    (hidden,) = states
    total = x + mixed(hidden, parts.recurrent, parts.hidden_bias)
    return (settings.activations[0](_limited(total, settings.clip)),)
