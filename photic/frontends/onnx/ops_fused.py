"""com.microsoft's operators that are two in one: a product or convolution, then an activation."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from photic.frontends.onnx.call import Call, Op
from photic.frontends.onnx.ops_gates import MICROSOFT, hard_sigmoid, relu
from photic.frontends.onnx.ops_linear import gemm
from photic.frontends.onnx.ops_windows import convolved
from photic.tensor import activations, compare, gates
from photic.tensor.tensor import Tensor

Activation = Callable[..., Tensor]

# each with how many parameters it takes
ACTIVATIONS: Mapping[str, tuple[Activation, int]] = {
    "Relu": (relu, 0),
    "Tanh": (activations.tanh, 0),
    "Sigmoid": (activations.sigmoid, 0),
    "LeakyRelu": (gates.leaky_relu, 1),
    "Clip": (compare.clip, 2),
    "HardSigmoid": (hard_sigmoid, 2),
}


def _activated(call: Call, x: Tensor, parameters: tuple[float, ...]) -> Tensor:
    name = call.text("activation", "")
    if not name:
        return x
    if name not in ACTIVATIONS:
        raise call.attribute_error("activation", repr(name), ", ".join(ACTIVATIONS))
    function, count = ACTIVATIONS[name]
    if len(parameters) < count:
        raise call.attribute_error("activation_params", parameters, f"{count} for {name}")
    return function(x, *parameters[:count])


def _fused_conv(call: Call) -> Tensor:
    """The convolution, plus another tensor if there is one, activated."""
    result = convolved(call, call.tensor(0), call.tensor(1), call.optional(2))
    result = result + call.tensor(3) if call.has(3) else result
    return _activated(call, result, call.floats("activation_params") or ())


def _fused_gemm(call: Call) -> Tensor:
    parameters = (call.number("activation_alpha", 0.0), call.number("activation_beta", 0.0))
    return _activated(call, gemm(call), parameters)


FUSED: tuple[Op, ...] = (
    Op("FusedConv", _fused_conv, domain=MICROSOFT),
    Op("FusedGemm", _fused_gemm, domain=MICROSOFT),
)
