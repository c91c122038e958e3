"""Hyperbolic functions, the error function and the gates of neural networks.

Composed as in ``elementary.py``: within 4 ulp in float32, halves through float32. ``gelu`` and
``silu`` multiply by x last, so where their gate is small their error is that of the gate.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from photic.base.errors import BadArgument
from photic.ir.dtype import FLOAT32, FLOAT64, DType
from photic.tensor.compare import limited, maximum
from photic.tensor.elementary import exp_of_at_most_0, exp_times_power, expm1, log1p, polynomial
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
    grown = expm1(limited(abs(x), 0.0, TANH_ONE) * 2.0)
    result = _with_sign(x, grown * reciprocal(grown + 2.0))
    return where(less(abs(x), TANH_X[x.dtype]), x, result)


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


# --- error function -------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class ErrorFit:
    """erf in one dtype: ``x + x*near(x*x)`` for |x| < 1, else ``1 - exp(-far(u))``.

    ``u = (|x| - middle)/half``; from ``last`` on erf is 1. Fitted by weighted least squares on
    Chebyshev nodes in 60 digits, reweighted towards the smallest largest error; relative errors
    of erf by the fits alone: 1.2e-9 and 3e-17.
    """

    near: tuple[float, ...]
    far: tuple[float, ...]
    middle: float
    half: float
    last: float


ERROR_FITS: dict[DType, ErrorFit] = {
    FLOAT32: ErrorFit(
        near=(
            0.12837916572499129,
            -0.37612625812334933,
            0.1128358501357285,
            -0.0268538062895648,
            0.0051883169668399158,
            -0.00080100995255345124,
            7.8535508531779196e-5,
        ),
        far=(
            0.00034066020363745435,
            1.1270927883521481,
            0.63813869103497881,
            0.10311224149206432,
            -0.021840767488167903,
            0.0029483543121984198,
            -0.00018645229038780412,
        ),
        middle=0.0,
        half=1.0,
        last=4.0,
    ),
    FLOAT64: ErrorFit(
        near=(
            0.12837916709551257,
            -0.37612638903183519,
            0.11283791670944178,
            -0.026866170643110511,
            0.0052239776061109304,
            -0.00085483259289667864,
            0.00012055293566893536,
            -1.4924712116821591e-5,
            1.6447129367564973e-6,
            -1.6206297461134702e-7,
            1.3710912237797575e-8,
            -7.7793453126988801e-10,
        ),
        far=(
            14.112437402178974,
            18.165248970858212,
            6.0422065789636759,
            0.081650763339157254,
            -0.034128892375249549,
            0.014386136486012076,
            -0.0059350681802468031,
            0.0024390626621539743,
            -0.00080777675831087798,
            0.00017779409224428413,
            -0.00089321119153433979,
            -0.001718299985374222,
            -0.002250357328561536,
            -0.0018944621835975056,
            -0.0010080604955010021,
            -0.00031604974594769202,
            -4.1189357137439605e-5,
        ),
        middle=3.5,
        half=2.5,
        last=6.0,
    ),
}


@in_float32
def erf(x: Tensor) -> Tensor:
    """The error function. erf(-0) = -0, erf(inf) = 1."""
    fit = ERROR_FITS[x.dtype]
    near = limited(x, -1.0, 1.0)
    inner = near + near * polynomial(near * near, fit.near)
    far = limited(abs(x), 1.0, fit.last)
    scaled = far if fit.half == 1 else (far - fit.middle) * (1 / fit.half)
    outer = 1.0 - exp_of_at_most_0(-polynomial(scaled, fit.far))
    return where(less(abs(x), 1.0), inner, _with_sign(x, outer))


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
