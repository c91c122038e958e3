"""Hyperbolic functions and the smooth gates of neural networks.

Composed as in ``elementary.py``: within 4 ulp in float32, halves through float32. ``gelu`` and
``silu`` multiply by x last, so where their gate is small their error is that of the gate.
"""

from __future__ import annotations

import math

from photic.base.errors import BadArgument
from photic.ir.dtype import FLOAT32, FLOAT64, DType
from photic.tensor.compare import limited, maximum
from photic.tensor.elementary import (
    exp_of_at_most_0,
    exp_times_power,
    expm1_in_range,
    log1p,
    polynomial,
)
from photic.tensor.error_functions import erf
from photic.tensor.primitive import in_float32, less, masked, reciprocal, where
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


@in_float32
def silu(x: Tensor) -> Tensor:
    """x*sigmoid(x). silu(-inf) = nan, as -inf*0."""
    return x * sigmoid(x)


def relu(x: Value) -> Tensor:
    """The larger of x and 0; nan stays."""
    return maximum(x, 0)


@in_float32
def softplus(x: Tensor) -> Tensor:
    """log(1 + exp(x)), for large x without overflow. softplus(-inf) = 0, softplus(inf) = inf."""
    return masked(less(0.0, x), x) + log1p(exp_of_at_most_0(_minus_magnitude(x)))


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
