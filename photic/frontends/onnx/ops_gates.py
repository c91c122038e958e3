"""Activations: gates and functions of one element with parameters."""

from __future__ import annotations

from collections.abc import Callable

from photic.frontends.onnx.call import Call, Op
from photic.frontends.onnx.ops_elementwise import unary
from photic.tensor import activations, compare, creation, gates, primitive, shapes
from photic.tensor.tensor import Tensor

SELU_ALPHA, SELU_GAMMA = 1.67326319217681884765625, 1.05070102214813232421875  # of the standard
MICROSOFT = "com.microsoft"
QUICK = 1.702  # the factor of QuickGelu unless said


def with_alpha(
    function: Callable[[Tensor, float], Tensor], default: float
) -> Callable[[Call], Tensor]:
    """A function of one tensor and the attribute ``alpha``."""
    return lambda call: function(call.tensor(0), call.number("alpha", default))


def relu(x: Tensor) -> Tensor:
    """x, or 0 where that is larger: chosen, so that what computes x goes on with it in place."""
    return compare.clip(x, 0)


def hard_sigmoid(x: Tensor, alpha: float, beta: float) -> Tensor:
    """``alpha*x + beta`` between 0 and 1."""
    return compare.clip(x * alpha + beta, 0.0, 1.0)


def thresholded(x: Tensor, alpha: float) -> Tensor:
    """x above ``alpha``, 0 elsewhere."""
    return gates.threshold(x, alpha, 0.0)


def _selu(call: Call) -> Tensor:
    alpha, gamma = call.number("alpha", SELU_ALPHA), call.number("gamma", SELU_GAMMA)
    return gamma * activations.elu(call.tensor(0), alpha)


def _hard_sigmoid(call: Call) -> Tensor:
    return hard_sigmoid(call.tensor(0), call.number("alpha", 0.2), call.number("beta", 0.5))


def _shrink(call: Call) -> Tensor:
    x, bias, limit = call.tensor(0), call.number("bias", 0.0), call.number("lambd", 0.5)
    inner = primitive.where(x > limit, x - bias, creation.zeros_like(x))
    return primitive.where(x < -limit, x + bias, inner)


def _gelu(call: Call) -> Tensor:
    return activations.gelu(call.tensor(0), call.choice("approximate", ("none", "tanh"), "none"))


def _prelu(call: Call) -> Tensor:
    """The slope of each element below 0; before version 7 one for each channel."""
    x, slope = call.tensor(0), call.tensor(1)
    if call.version < 7 and slope.ndim == 1 and slope.shape != (1,):
        slope = shapes.reshape(slope, (-1, *(1,) * (x.ndim - 2)))
    return primitive.where(x < 0, x * slope, x)


def _swish(call: Call) -> Tensor:
    x = call.tensor(0)
    return x * activations.sigmoid(x * call.number("alpha", 1.0))


def _fast_gelu(call: Call) -> Tensor:
    x = call.tensor(0)
    bias = call.optional(1)
    return activations.gelu(x if bias is None else x + bias, "tanh")


def _bias_gelu(call: Call) -> Tensor:
    return activations.gelu(call.tensor(0) + call.tensor(1))


def _quick_gelu(call: Call) -> Tensor:
    x = call.tensor(0)
    return x * activations.sigmoid(x * call.number("alpha", QUICK))


GATES: tuple[Op, ...] = (
    Op("Relu", unary(relu)),
    Op("Sigmoid", unary(activations.sigmoid)),
    Op("Softplus", unary(activations.softplus)),
    Op("Softsign", unary(gates.softsign)),
    Op("HardSwish", unary(gates.hardswish)),
    Op("Mish", unary(activations.mish)),
    Op("LeakyRelu", with_alpha(gates.leaky_relu, 0.01)),
    Op("Elu", with_alpha(activations.elu, 1.0)),
    Op("Celu", with_alpha(activations.celu, 1.0)),
    Op("ThresholdedRelu", with_alpha(thresholded, 1.0)),
    Op("Selu", _selu),
    Op("HardSigmoid", _hard_sigmoid),
    Op("Shrink", _shrink),
    Op("Gelu", _gelu),
    Op("PRelu", _prelu),
    Op("Swish", _swish),
    Op("Gelu", lambda call: activations.gelu(call.tensor(0)), domain=MICROSOFT),
    Op("FastGelu", _fast_gelu, domain=MICROSOFT),
    Op("BiasGelu", _bias_gelu, domain=MICROSOFT),
    Op("QuickGelu", _quick_gelu, domain=MICROSOFT),
)
