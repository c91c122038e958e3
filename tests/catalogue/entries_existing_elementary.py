"""The catalogue's entries for exponentials, logarithms, waves, the error function and gates.

The limits are those that docs/numbers.md states. Integers become float32 first.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import scipy.special as special
from catalogue.entries_existing_arithmetic import single, speed
from catalogue.entry import ALL, FLOATS, NUMBERS, Array, Entry, Speed, floated
from catalogue.inputs import million, one_array

import photic as ph

ULPS = 4.0
PRIMITIVE_ULPS = 2.5  # NumPy's exp2, which the evaluator asks, errs by 2.4 ulp near 2**127
HUGE_COSINE = 2.0**-22


def function(
    name: str,
    exact: Callable[[Array], Array],
    onnx: tuple[str, ...] = (),
    *,
    ulps: float = ULPS,
    low: float = -4.0,
    aten: tuple[str, ...] = (),
) -> Entry:
    """A function of one float, over the whole range."""
    return Entry(
        name,
        getattr(ph, name),
        lambda x: exact(single(x)),
        one_array,
        ALL,
        ulps=ulps,
        result_dtype=floated,
        onnx=onnx,
        aten=aten or (name,),
        sizes=("n",),
        speed=speed((aten or (name,))[0], 1, low),
    )


def _softplus(x: Array) -> Array:
    return np.where(x == -np.inf, 0.0, np.logaddexp(0, x))


def functional(name: str) -> Speed:
    """torch's function of neural networks of that name."""
    return Speed(lambda torch, x: getattr(torch.nn.functional, name)(x), million())


ELEMENTARY = (
    function("exp2", np.exp2, ulps=PRIMITIVE_ULPS),
    function("log2", np.log2, ulps=PRIMITIVE_ULPS, low=0.01),
    function("sin", np.sin, ("Sin",), ulps=PRIMITIVE_ULPS),
    function("exp", np.exp, ("Exp",)),
    function("expm1", np.expm1),
    function("log", np.log, ("Log",), low=0.01),
    function("log10", np.log10, low=0.01),
    function("log1p", np.log1p, low=-0.9),
    function("rsqrt", lambda x: 1 / np.sqrt(x), low=0.01),
    function("tan", np.tan, ("Tan",)),
    function("tanh", np.tanh, ("Tanh",)),
    function("sinh", np.sinh, ("Sinh",)),
    function("cosh", np.cosh, ("Cosh",)),
    function("erf", special.erf, ("Erf",)),
    function("sigmoid", special.expit, ("Sigmoid",)),
    Entry(
        "cos",
        ph.cos,
        lambda x: np.cos(single(x)),
        one_array,
        ALL,
        ulps=ULPS,
        atol=HUGE_COSINE,
        why="from 2**127 on a cosine is 1 - 2*sin(x/2)**2",
        result_dtype=floated,
        onnx=("Cos",),
        aten=("cos",),
        sizes=("n",),
        speed=speed("cos"),
    ),
)

GATES = (
    Entry(
        "relu",
        ph.relu,
        lambda x: np.maximum(x, 0),
        one_array,
        NUMBERS,
        ulps=0,
        zero_signs=False,
        gradient="almost everywhere",
        onnx=("Relu",),
        aten=("relu",),
        sizes=("n",),
        speed=speed("relu"),
    ),
    Entry(
        "softplus",
        ph.softplus,
        lambda x: _softplus(single(x)),
        one_array,
        ALL,
        ulps=ULPS,
        result_dtype=floated,
        onnx=("Softplus",),
        aten=("softplus",),
        sizes=("n",),
        speed=functional("softplus"),
    ),
    Entry(
        "silu",
        ph.silu,
        lambda x: single(x) * special.expit(single(x)),
        one_array,
        ALL,
        ulps=ULPS,
        rtol=2.0**-149,
        scale=lambda x: np.abs(single(x)),
        why="a gate below 2**-126 has fewer digits, and x multiplies it last",
        result_dtype=floated,
        onnx=("Swish",),
        aten=("silu",),
        sizes=("n",),
        speed=functional("silu"),
    ),
    Entry(
        "gelu",
        ph.gelu,
        lambda x: x * (0.5 * special.erfc(-x * math.sqrt(0.5))),
        one_array,
        FLOATS,
        rtol=2.0**-22,
        scale=np.abs,
        why="multiplies by x last, where its gate is small the error is that of the gate",
        onnx=("Gelu",),
        aten=("gelu",),
        sizes=("n",),
        speed=functional("gelu"),
    ),
    Entry(
        "gelu.tanh",
        lambda x: ph.gelu(x, "tanh"),
        lambda x: x * 0.5 * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3))),
        one_array,
        FLOATS,
        rtol=2.0**-22,
        scale=np.abs,
        why="multiplies by x last, where its gate is small the error is that of the gate",
        onnx=("Gelu",),
        aten=("gelu",),
        sizes=("n",),
        speed=Speed(
            lambda torch, x: torch.nn.functional.gelu(x, approximate="tanh"),
            million(),
        ),
    ),
)

ENTRIES = (*ELEMENTARY, *GATES)
