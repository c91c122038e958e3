"""Activations and changes of shape as modules, for ``Sequential``; the functions are photic's.

Names, arguments and defaults are PyTorch's, but that ``inplace`` does not exist. A gradient
computes an activation's inner values again instead of keeping them: they are many (polynomials of
exponentials) and cheap.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import ClassVar

from photic.autograd.handles import checkpoint
from photic.ir.dim import Dim
from photic.nn.initial import filled
from photic.nn.module import Module
from photic.tensor import activations, gates
from photic.tensor.reductions import log_softmax, softmax, softmin
from photic.tensor.shapes import flatten, unflatten
from photic.tensor.tensor import DTypeLike, Tensor, Value, tensor


class Gate(Module):
    """A function of one tensor without arguments."""

    function: ClassVar[Callable[..., Tensor]]

    def forward(self, x: Value) -> Tensor:
        return checkpoint(type(self).function)(tensor(x))


class Identity(Gate):
    """x."""

    function = staticmethod(tensor)


class ReLU(Module):
    """``max(x, 0)``; a gradient reads the result and does not keep x."""

    def forward(self, x: Value) -> Tensor:
        return activations.relu(x)


class ReLU6(Gate):
    """x limited to 0 .. 6."""

    function = staticmethod(gates.relu6)


class Sigmoid(Gate):
    """``1/(1 + exp(-x))``."""

    function = staticmethod(activations.sigmoid)


class LogSigmoid(Gate):
    """The logarithm of ``Sigmoid``."""

    function = staticmethod(activations.log_sigmoid)


class Tanh(Gate):
    """The hyperbolic tangent."""

    function = staticmethod(activations.tanh)


class Tanhshrink(Gate):
    """``x - tanh(x)``."""

    function = staticmethod(activations.tanhshrink)


class SiLU(Gate):
    """``x*sigmoid(x)``."""

    function = staticmethod(activations.silu)


class Mish(Gate):
    """``x*tanh(softplus(x))``."""

    function = staticmethod(activations.mish)


class SELU(Gate):
    """The scaled exponential unit."""

    function = staticmethod(activations.selu)


class Hardsigmoid(Gate):
    """``x/6 + 1/2`` limited to 0 .. 1."""

    function = staticmethod(gates.hardsigmoid)


class Hardswish(Gate):
    """``x*hardsigmoid(x)``."""

    function = staticmethod(gates.hardswish)


class Softsign(Gate):
    """``x/(1 + |x|)``."""

    function = staticmethod(gates.softsign)


# --- with arguments -------------------------------------------------------------------------


class GELU(Module):
    """``x`` times the normal distribution's share below x; ``approximate``: "none" or "tanh"."""

    def __init__(self, approximate: str = "none") -> None:
        self.approximate = approximate

    def forward(self, x: Value) -> Tensor:
        return checkpoint(activations.gelu)(x, self.approximate)


class ELU(Module):
    """x above 0, ``alpha*(exp(x) - 1)`` below."""

    def __init__(self, alpha: float = 1.0) -> None:
        self.alpha = alpha

    def forward(self, x: Value) -> Tensor:
        return checkpoint(activations.elu)(x, self.alpha)


class CELU(Module):
    """x above 0, ``alpha*(exp(x/alpha) - 1)`` below."""

    def __init__(self, alpha: float = 1.0) -> None:
        self.alpha = alpha

    def forward(self, x: Value) -> Tensor:
        return checkpoint(activations.celu)(x, self.alpha)


class Softplus(Module):
    """``log(1 + exp(beta*x))/beta``."""

    def __init__(self, beta: float = 1.0) -> None:
        self.beta = beta

    def forward(self, x: Value) -> Tensor:
        return checkpoint(activations.softplus)(x, self.beta)


class LeakyReLU(Module):
    """x above 0, ``negative_slope*x`` below."""

    def __init__(self, negative_slope: float = 0.01) -> None:
        self.negative_slope = negative_slope

    def forward(self, x: Value) -> Tensor:
        return gates.leaky_relu(x, self.negative_slope)


class PReLU(Module):
    """x above 0, ``weight*x`` below; one weight, or one a channel."""

    def __init__(
        self, num_parameters: int = 1, init: float = 0.25, *, dtype: DTypeLike = "float32"
    ) -> None:
        self.weight = filled((num_parameters,), init, dtype)

    def forward(self, x: Value) -> Tensor:
        return gates.prelu(x, self.weight.tensor)


class Hardtanh(Module):
    """x limited to ``min_val .. max_val``."""

    def __init__(self, min_val: float = -1.0, max_val: float = 1.0) -> None:
        self.min_val, self.max_val = min_val, max_val

    def forward(self, x: Value) -> Tensor:
        return gates.hardtanh(x, self.min_val, self.max_val)


class Softshrink(Module):
    """x moved towards 0 by ``lambd``."""

    def __init__(self, lambd: float = 0.5) -> None:
        self.lambd = lambd

    def forward(self, x: Value) -> Tensor:
        return gates.softshrink(x, self.lambd)


class Hardshrink(Module):
    """x, but 0 where ``|x| <= lambd``."""

    def __init__(self, lambd: float = 0.5) -> None:
        self.lambd = lambd

    def forward(self, x: Value) -> Tensor:
        return gates.hardshrink(x, self.lambd)


class Threshold(Module):
    """x above ``threshold``, elsewhere ``value``."""

    def __init__(self, threshold: float, value: float) -> None:
        self.threshold, self.value = threshold, value

    def forward(self, x: Value) -> Tensor:
        return gates.threshold(x, self.threshold, self.value)


class GLU(Module):
    """The first half of an axis times the sigmoid of the second."""

    def __init__(self, dim: int = -1) -> None:
        self.dim = dim

    def forward(self, x: Value) -> Tensor:
        return gates.glu(x, self.dim)


class Softmax(Module):
    """Shares of an axis, by exponentials."""

    def __init__(self, dim: int = -1) -> None:
        self.dim = dim

    def forward(self, x: Value) -> Tensor:
        return softmax(x, self.dim)


class Softmin(Module):
    """``Softmax`` of -x."""

    def __init__(self, dim: int = -1) -> None:
        self.dim = dim

    def forward(self, x: Value) -> Tensor:
        return softmin(x, self.dim)


class Softmax2d(Module):
    """Shares of the channels of (batch, channels, rows, columns), the batch optional."""

    def forward(self, x: Value) -> Tensor:
        return softmax(x, -3)


class LogSoftmax(Module):
    """The logarithm of ``Softmax``."""

    def __init__(self, dim: int = -1) -> None:
        self.dim = dim

    def forward(self, x: Value) -> Tensor:
        return log_softmax(x, self.dim)


# --- shapes ---------------------------------------------------------------------------------


class Flatten(Module):
    """Axes ``start_dim .. end_dim`` as one."""

    def __init__(self, start_dim: int = 1, end_dim: int = -1) -> None:
        self.start_dim, self.end_dim = start_dim, end_dim

    def forward(self, x: Value) -> Tensor:
        return flatten(x, self.start_dim, self.end_dim)


class Unflatten(Module):
    """The axis ``dim`` as several of these sizes."""

    def __init__(self, dim: int, unflattened_size: Sequence[Dim]) -> None:
        self.dim, self.unflattened_size = dim, tuple(unflattened_size)

    def forward(self, x: Value) -> Tensor:
        return unflatten(x, self.dim, self.unflattened_size)
