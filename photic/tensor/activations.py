"""Hyperbolic functions and the smooth gates of neural networks.

Composed as in ``elementary.py``: within 4 ulp in float32, halves through float32. ``gelu`` and
``silu`` multiply by x last, so where their gate is small their error is that of the gate.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from photic.base.errors import BadArgument
from photic.ir.dtype import FLOAT32, FLOAT64, DType
from photic.tensor.compare import limited, maximum
from photic.tensor.elementary import (
    LIFT,
    LN_2,
    SPLITS,
    decayed,
    exp_of_at_most_0,
    exp_times_power,
    expm1_in_range,
    expm1_of_at_most_0,
    growth,
    log1p,
    polynomial,
)
from photic.tensor.error_functions import erf
from photic.tensor.primitive import (
    accumulated,
    as_float,
    constant_like,
    exp2,
    in_float32,
    less,
    masked,
    negated,
    reciprocal,
    where,
)
from photic.tensor.rounding import abs
from photic.tensor.tensor import Tensor, Value

# --- hyperbolic -----------------------------------------------------------------------------

# Beyond this tanh is 1; below that magnitude it is x to half an ulp.
TANH_ONE = 22.0
TANH_X: dict[DType, float] = {FLOAT32: 2.0**-13, FLOAT64: 2.0**-27}


def _with_sign(x: Tensor, magnitude: Tensor) -> Tensor:
    return where(less(x, 0.0), -magnitude, magnitude)


def _minus_magnitude(x: Tensor) -> Tensor:
    return where(less(x, 0.0), x, -x)


@in_float32
def tanh(x: Tensor) -> Tensor:
    """The hyperbolic tangent. tanh(-0) = -0, tanh(inf) = 1."""
    magnitude = abs(x)
    grown = expm1_in_range(where(less(TANH_ONE, magnitude), TANH_ONE, magnitude) * 2.0)
    result = _with_sign(x, grown * reciprocal(grown + 2.0))
    return where(less(magnitude, TANH_X[x.dtype]), x, result)


SINH_TERMS: dict[DType, int] = {FLOAT32: 6, FLOAT64: 10}


@in_float32
def sinh(x: Tensor) -> Tensor:
    """The hyperbolic sine: e**|x|/2 less its quarter inverse, a series where |x| < 1."""
    terms = [1 / math.factorial(2 * n + 1) for n in range(1, SINH_TERMS[x.dtype])]
    near = limited(x, -1.0, 1.0)
    squared = near * near
    series = near + near * squared * polynomial(squared, terms)
    grown = exp_times_power(abs(x), -1)
    far = _with_sign(x, grown - reciprocal(grown) * 0.25)
    return where(less(abs(x), 1.0), series, far)


@in_float32
def cosh(x: Tensor) -> Tensor:
    """The hyperbolic cosine: e**|x|/2 and its quarter inverse. cosh(inf) = inf."""
    grown = exp_times_power(abs(x), -1)
    return grown + reciprocal(grown) * 0.25


# --- gates ----------------------------------------------------------------------------------


@in_float32
def sigmoid(x: Tensor) -> Tensor:
    """1/(1 + exp(-x)); subnormal results are kept. sigmoid(-inf) = 0, sigmoid(inf) = 1."""
    decay = exp_of_at_most_0(_minus_magnitude(x))
    upper = reciprocal(decay + 1.0)
    return where(less(x, 0.0), decay * upper, upper)


@dataclass(frozen=True, slots=True)
class Lifted:
    """What gates of x at least 0 and below are made of; ``lifted`` keeps subnormal numbers' bits.

    ``decay`` is e**-|x|, ``lifted`` that times 2**LIFT.
    """

    is_negative: Tensor
    decay: Tensor
    lifted: Tensor

    def lowered(self, x: Tensor, above: Tensor) -> Tensor:
        """``above``, or where the gated x is negative ``x`` without its power of two."""
        return where(self.is_negative, x * 2.0 ** -LIFT[x.dtype], above)


def _lifted(x: Tensor) -> Lifted:
    power = LIFT[x.dtype]
    lifted = exp_of_at_most_0(_minus_magnitude(x), power)
    return Lifted(less(x, 0.0), lifted * 2.0**-power, lifted)


@in_float32
def silu(x: Tensor) -> Tensor:
    """x*sigmoid(x). silu(-inf) = nan, as -inf*0."""
    g = _lifted(x)
    upper = reciprocal(g.decay + 1.0)
    return g.lowered(x * g.lifted * upper, x * upper)


# From 0 down to here ``mish`` is taken from x, further down from x*e**x: fewer roundings count.
MISH_NEAR = -0.5


@in_float32
def mish(x: Tensor) -> Tensor:
    """x*tanh(softplus(x)). mish(-inf) = nan, as -inf*0.

    With n = e**x*(e**x + 2) it is x*n/(n + 2), which is x*(1 - 2/(n + 2)) and, further down,
    x*e**x*(1 - (e**x + e**2x)/(n + 2)); where x is positive top and bottom are divided by e**2x.
    """
    least = constant_like(x, SPLITS[x.dtype].least - LIFT[x.dtype] * LN_2)
    distance = _minus_magnitude(x)
    g = growth(where(less(distance, least), least, distance))
    decay = (g.part + 1.0) * exp2(g.power)
    twice, squared = decay * 2.0, decay * decay
    is_negative, is_far = less(x, 0.0), less(x, MISH_NEAR)
    top = where(is_far, decay + squared, where(is_negative, 2.0, squared * 2.0))
    bottom = where(is_negative, (twice + squared) + 2.0, (squared * 2.0 + twice) + 1.0)
    part = x * (1.0 - top * reciprocal(bottom))
    return where(is_far, decayed(part, g), part)


def relu(x: Value) -> Tensor:
    """The larger of x and 0; nan stays."""
    return maximum(x, 0)


def softplus(x: Value, beta: float = 1.0) -> Tensor:
    """log(1 + exp(beta*x))/beta without overflow: softplus(-inf) = 0, softplus(inf) = inf.

    Raises BadArgument for a beta that is not above 0.
    """
    if not beta > 0:
        raise BadArgument(op="softplus", argument="beta", given=beta, expected="above 0")
    return _wide("softplus", x, lambda value: _softplus(value, beta))


def _softplus(x: Tensor, beta: float) -> Tensor:
    rest = log1p(exp_of_at_most_0(_minus_magnitude(x * beta)))
    # at 0 the mask holds, so that both slopes add up to a half there
    return masked(negated(less(x, 0.0)), x) + rest * (1 / beta)


def _wide(op: str, x: Value, function: Callable[[Tensor], Tensor]) -> Tensor:
    """The function of x as float, of halves in float32."""
    value = as_float(x, op)
    return function(value.astype(accumulated(value.dtype))).astype(value.dtype)


@in_float32
def log_sigmoid(x: Tensor) -> Tensor:
    """log(sigmoid(x)), which is -softplus(-x). log_sigmoid(inf) = -0, log_sigmoid(-inf) = -inf."""
    return -_softplus(-x, 1.0)


# --- units of e**x - 1 below 0 ----------------------------------------------------------------


def _unit(x: Tensor, alpha: float, scale: float) -> Tensor:
    """``scale*x`` above 0, below it ``scale*alpha*(e**x - 1)``."""
    return where(less(0.0, x), x * scale, expm1_of_at_most_0(x) * (scale * alpha))


def elu(x: Value, alpha: float = 1.0) -> Tensor:
    """x where it is positive, elsewhere ``alpha*(exp(x) - 1)``."""
    return _wide("elu", x, lambda value: _unit(value, alpha, 1.0))


def celu(x: Value, alpha: float = 1.0) -> Tensor:
    """x where it is positive, elsewhere ``alpha*(exp(x/alpha) - 1)``."""
    if alpha == 0:
        raise BadArgument(op="celu", argument="alpha", given=alpha, expected="not 0")
    inverse = 1 / alpha

    def unit(value: Tensor) -> Tensor:
        return where(less(0.0, value), value, expm1_of_at_most_0(value * inverse) * alpha)

    return _wide("celu", x, unit)


# Klambauer and others, "Self-normalizing neural networks" (2017), equation 14.
SELU_ALPHA, SELU_SCALE = 1.6732632423543772, 1.0507009873554805


@in_float32
def selu(x: Tensor) -> Tensor:
    """``elu`` with the alpha and the scale that keep mean 0 and variance 1."""
    return _unit(x, SELU_ALPHA, SELU_SCALE)


@in_float32
def tanhshrink(x: Tensor) -> Tensor:
    """x - tanh(x): near 0 right to an ulp of x, not relatively."""
    return x - tanh(x)


# --- the normal distribution's share ----------------------------------------------------------


def gelu(x: Value, approximate: str = "none") -> Tensor:
    """x times the normal distribution's share below x, or (``"tanh"``) the usual approximation.

    gelu(-inf) = nan, as -inf*0.
    """
    if approximate not in ("none", "tanh"):
        raise BadArgument(
            op="gelu", argument="approximate", given=repr(approximate), expected="'none' or 'tanh'"
        )
    return _gelu_exact(x) if approximate == "none" else _gelu_tanh(x)


@in_float32
def _gelu_exact(x: Tensor) -> Tensor:
    return x * ((erf(x * math.sqrt(0.5)) + 1.0) * 0.5)


GELU_CUBE = 0.044715  # Hendrycks and Gimpel, "Gaussian Error Linear Units" (2016), section 2


@in_float32
def _gelu_tanh(x: Tensor) -> Tensor:
    inner = (x + x * x * x * GELU_CUBE) * math.sqrt(2 / math.pi)
    return x * ((tanh(inner) + 1.0) * 0.5)
