"""The catalogue's entries for the gates of neural networks, against formulas in float64.

Names, defaults and special values are PyTorch's.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import scipy.special as special
from catalogue.by_torch import by_torch
from catalogue.entries_existing_arithmetic import single
from catalogue.entries_existing_elementary import functional
from catalogue.entry import ALL, FLOATS, NUMBERS, Array, Entry, Speed, floated
from catalogue.inputs import LARGE, joined, million, of_shape, of_shapes, one_array

import photic as ph

ULPS = 4.0
WIDE = joined(one_array, of_shape((LARGE,), low=-30, high=30), of_shape((LARGE,), low=-110, high=5))


def gate(
    name: str,
    exact: Callable[[Array], Array],
    *,
    ulps: float = ULPS,
    onnx: tuple[str, ...] = (),
    aten: tuple[str, ...] = (),
    smooth: bool = False,
    zero_signs: bool = True,
) -> Entry:
    """A gate of one value with PyTorch's defaults."""
    return Entry(
        name,
        getattr(ph, name),
        lambda x: exact(single(x)),
        WIDE,
        ALL,
        ulps=ulps,
        zero_signs=zero_signs,
        result_dtype=floated,
        gradient="smooth" if smooth else "almost everywhere",
        onnx=onnx,
        aten=aten or (name,),
        sizes=("n",),
        speed=functional(name),
    )


# --- straight lines -------------------------------------------------------------------------


def _limited(x: Array, low: float, high: float) -> Array:
    return np.minimum(np.maximum(x, low), high)


def _softshrink(x: Array) -> Array:
    return np.where(np.abs(x) <= 0.5, 0.0, x - np.copysign(0.5, x))


LINES = (
    gate(
        "leaky_relu",
        lambda x: np.where(x > 0, x, x * 0.01),
        ulps=1,
        onnx=("LeakyRelu",),
    ),
    gate("hardsigmoid", lambda x: _limited(x + 3, 0, 6) / 6, onnx=("HardSigmoid",)),
    gate("hardswish", lambda x: x * (_limited(x + 3, 0, 6) / 6), onnx=("HardSwish",)),
    gate("softsign", lambda x: x / (1 + np.abs(x)), onnx=("Softsign",)),
    gate("softshrink", _softshrink, onnx=("Shrink",), zero_signs=False),
    Entry(
        "hardshrink",
        ph.hardshrink,
        lambda x: np.where(np.abs(x) <= 0.5, 0, x),
        WIDE,
        FLOATS,
        ulps=0,
        gradient="almost everywhere",
        onnx=("Shrink",),
        aten=("hardshrink",),
        sizes=("n",),
        speed=functional("hardshrink"),
    ),
    Entry(
        "relu6",
        ph.relu6,
        lambda x: np.clip(x, 0, 6),
        WIDE,
        NUMBERS,
        ulps=0,
        zero_signs=False,
        gradient="almost everywhere",
        onnx=("Clip",),
        aten=("relu6",),
        sizes=("n",),
        speed=functional("relu6"),
    ),
    Entry(
        "hardtanh",
        lambda x: (ph.hardtanh(x), ph.hardtanh(x, -2.5, 4.0)),
        lambda x: (np.clip(x, -1, 1), np.clip(x, -2.5, 4.0)),
        WIDE,
        FLOATS,
        ulps=0,
        zero_signs=False,
        gradient="almost everywhere",
        onnx=("Clip",),
        aten=("hardtanh",),
        sizes=("n",),
        speed=Speed(
            lambda torch, x: torch.nn.functional.hardtanh(x), million(), lambda x: ph.hardtanh(x)
        ),
    ),
    Entry(
        "threshold",
        lambda x: ph.threshold(x, 0.5, -20.0),
        lambda x: np.where(x <= 0.5, -20.0, x),
        WIDE,
        FLOATS,
        ulps=0,
        gradient="almost everywhere",
        onnx=("ThresholdedRelu",),
        aten=("threshold",),
        sizes=("n",),
        speed=Speed(lambda torch, x: torch.nn.functional.threshold(x, 0.5, -20.0), million()),
    ),
)


# --- exponentials ---------------------------------------------------------------------------


def _unit(x: Array, alpha: float, scale: float) -> Array:
    return scale * np.where(x > 0, x, alpha * np.expm1(_below(x)))


def _below(x: Array) -> Array:
    return np.where(x > 0, 0.0, x)


def _mish(x: Array) -> Array:
    """In extended precision, which keeps the digits of subnormal exponentials."""
    grown = np.exp(np.minimum(x, 50).astype(np.longdouble))
    share = grown * (grown + 2)
    return (x * np.where(x > 50, 1.0, share / (share + 2))).astype(np.float64)


SELU = (1.6732632423543772, 1.0507009873554805)

EXPONENTIALS = (
    gate("elu", lambda x: _unit(x, 1, 1), onnx=("Elu",)),
    gate("celu", lambda x: _unit(x, 1, 1), onnx=("Celu",)),
    gate("selu", lambda x: _unit(x, *SELU), onnx=("Selu",), aten=("selu", "elu")),
    gate("mish", _mish, onnx=("Mish",), smooth=True),
    Entry(
        "log_sigmoid",
        ph.log_sigmoid,
        lambda x: special.log_expit(single(x)),
        WIDE,
        ALL,
        ulps=ULPS,
        zero_signs=False,
        result_dtype=floated,
        aten=("log_sigmoid", "log_sigmoid_forward"),
        sizes=("n",),
        speed=functional("logsigmoid"),
    ),
    Entry(
        "tanhshrink",
        ph.tanhshrink,
        lambda x: x - np.tanh(x),
        WIDE,
        FLOATS,
        rtol=2.0**-22,
        scale=lambda x: np.minimum(np.abs(x), 1.0) + np.abs(x) * (np.abs(x) > 1),
        why="a difference of x and nearly x: the error is that of the tangent",
        aten=("tanhshrink",),
        sizes=("n",),
        speed=functional("tanhshrink"),
    ),
    Entry(
        "elu.alpha",
        lambda x: (ph.elu(x, 0.5), ph.celu(x, 2.0), ph.leaky_relu(x, 0.25)),
        lambda x: (
            _unit(x, 0.5, 1),
            np.where(x > 0, x, 2 * np.expm1(_below(x) / 2)),
            np.where(x > 0, x, x / 4),
        ),
        WIDE,
        FLOATS,
        ulps=ULPS,
        gradient="almost everywhere",
        onnx=("Elu", "Celu", "LeakyRelu"),
        aten=("elu", "celu", "leaky_relu"),
        sizes=("n",),
    ),
    Entry(
        "softplus.beta",
        lambda x: (ph.softplus(x, 2.0), ph.softplus(x, 0.5)),
        lambda x: (_softplus(x, 2.0), _softplus(x, 0.5)),
        WIDE,
        FLOATS,
        ulps=ULPS,
        aten=("softplus",),
        sizes=("n",),
    ),
)


def _softplus(x: Array, beta: float) -> Array:
    return np.where(
        x == -np.inf, 0.0, np.maximum(x, 0) + np.log1p(np.exp(-np.abs(beta * x))) / beta
    )


# --- gates of several values ----------------------------------------------------------------

CHANNELS = of_shapes(
    [(2, 3, 4, 5), (3,)],
    [(2, 3, 4), (1,)],
    [(7, 3), (3,)],
    [(5,), (1,)],
    [(5,), ()],
    [(), ()],
    [(0, 3, 2), (3,)],
    [(2, 1, 33), (1,)],
    [(2, 3, 4), (2, 3, 4)],
)

SEVERAL = (
    Entry(
        "prelu",
        ph.prelu,
        lambda x, weight: np.where(x > 0, x, x * _on_channels(weight, x.ndim)),
        CHANNELS,
        FLOATS,
        gradient="almost everywhere",
        onnx=("PRelu",),
        aten=("prelu", "_prelu_kernel"),
        sizes=("n m k l", "m"),
        speed=Speed(
            lambda torch, x, w: torch.nn.functional.prelu(x, w), million((10, 100, 1000), (100,))
        ),
    ),
    Entry(
        "glu",
        lambda x: (ph.glu(x, 0), ph.glu(x, -1)),
        by_torch(lambda torch, x: (torch.nn.functional.glu(x, 0), torch.nn.functional.glu(x, -1))),
        of_shapes([(6, 4)], [(2, 8)], [(4, 3, 6)], [(0, 4)], [(2, 2)], [(14, 66)]),
        FLOATS,
        ulps=ULPS,
        aten=("glu",),
        is_peer=True,
        speed=Speed(
            lambda torch, x: torch.nn.functional.glu(x),
            million((1000, 2000)),
            lambda x: ph.glu(x),
        ),
    ),
)


def _on_channels(weight: Array, rank: int) -> Array:
    return weight.reshape(*weight.shape, *(1,) * (rank - 2)) if weight.ndim == 1 < rank else weight


ENTRIES = (*LINES, *EXPONENTIALS, *SEVERAL)
