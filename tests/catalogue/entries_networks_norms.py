"""The catalogue's entries for norms: of features, groups, positions, batches and channels."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from catalogue.by_torch import by_torch, cases, floats, speed_of
from catalogue.entry import Array, Cases, Entry
from catalogue.inputs import given, joined

import photic as ph

# Sums of up to a few thousand float32, each rounded, of numbers whose size the scale tells.
ROUNDINGS = 2e-6
WHY = "roundings of sums, relative to the largest value over the spread of its row"
INF, NAN = math.inf, math.nan


def spread(axes: Callable[[Array], tuple[int, ...]], eps: float = 1e-5) -> Callable[..., Array]:
    """How much roundings of the input may show: its largest value over the root of the variance."""

    def scale(x: Array, *weights: Array) -> Array:
        along = axes(x)
        with np.errstate(all="ignore"):
            most = np.abs(x).max(along, keepdims=True, initial=0)
            over = most / np.sqrt(x.var(along, keepdims=True) + eps)
        factor = 1 + max((float(np.abs(one).max(initial=0)) for one in weights), default=0)
        return np.broadcast_to((over + 1) * factor, x.shape)

    return scale


def last(x: Array) -> tuple[int, ...]:
    return (x.ndim - 1,)


def positions(x: Array) -> tuple[int, ...]:
    return tuple(range(2, x.ndim))


def whole_batch(x: Array) -> tuple[int, ...]:
    return (0, *positions(x))


# --- over features --------------------------------------------------------------------------

ROWS: Cases = joined(
    cases(
        *(
            (floats(*shape), floats(shape[-1]), floats(shape[-1]))
            for shape in [(1,), (7,), (5, 33), (0, 4), (3, 1), (2, 3, 5), (3, 2049)]
        )
    ),
    given(
        ([[1.0, INF, 2.0], [NAN, 1.0, 2.0], [1.0, 2.0, 4.0]], [1.0, 2.0, 1.0], [0.0, 0.5, 1.0]),
        ([[0.0, 0.0], [-0.0, 0.0], [3.0, 3.0]], [1.0, -1.0], [0.0, 1.0]),
    ),
)


def features(function: str) -> Callable[..., Any]:
    def oracle(torch: Any, x: Any, *weights: Any) -> Any:
        return getattr(torch.nn.functional, function)(x, x.shape[-1:], *weights)

    return oracle


def rms(torch: Any, x: Any, weight: Any) -> Any:
    return torch.nn.functional.rms_norm(x, x.shape[-1:], weight, 1e-5)


FEATURES = (
    Entry(
        "layer_norm",
        ph.layer_norm,
        by_torch(features("layer_norm")),
        ROWS,
        rtol=ROUNDINGS,
        scale=spread(last),
        why=WHY,
        sizes=("b 33", "33", "33"),
        is_peer=True,
        onnx=("LayerNormalization",),
        aten=("layer_norm", "native_layer_norm"),
        speed=speed_of(features("layer_norm"), ph.layer_norm, (1000, 1000), (1000,), (1000,)),
    ),
    Entry(
        "layer_norm.axes",
        lambda x: ph.layer_norm(x, eps=1e-3, axis=(1, 2)),
        by_torch(lambda torch, x: torch.nn.functional.layer_norm(x, x.shape[1:], eps=1e-3)),
        cases(*([floats(*shape)] for shape in [(2, 3, 5), (1, 1, 1), (0, 2, 3), (3, 17, 9)])),
        rtol=ROUNDINGS,
        scale=spread(lambda x: (1, 2), 1e-3),
        why=WHY,
        is_peer=True,
    ),
    Entry(
        "rms_norm",
        lambda x, weight, _bias: ph.rms_norm(x, weight),
        by_torch(lambda torch, x, weight, _bias: rms(torch, x, weight)),
        ROWS,
        rtol=ROUNDINGS,
        why="the sum of the squares, its root and two products",
        sizes=("b 33", "33", "33"),
        is_peer=True,
        onnx=("RMSNormalization", "SimplifiedLayerNormalization"),
        aten=("rms_norm",),
        speed=speed_of(rms, ph.rms_norm, (1000, 1000), (1000,)),
    ),
)

# --- over channels --------------------------------------------------------------------------

IMAGES = [(2, 6, 3, 5), (1, 6, 1), (0, 6, 4), (3, 6, 33), (2, 6, 2, 3, 2)]
POSITIONS = [shape for shape in IMAGES if shape[0] and shape[2:] != (1,)]
CHANNELS = cases(*((floats(*shape), floats(6), floats(6)) for shape in IMAGES))
MILLION = (10, 100, 1000)


def instance(torch: Any, x: Any, weight: Any, bias: Any) -> Any:
    return torch.nn.functional.instance_norm(x, None, None, weight, bias)


def group(torch: Any, x: Any, weight: Any, bias: Any) -> Any:
    return torch.nn.functional.group_norm(x, 3, weight, bias)


def groups_of_two(x: Array, *weights: Array) -> Array:
    parts = x.reshape(x.shape[0], 3, 2, *x.shape[2:])
    made = spread(lambda one: tuple(range(2, one.ndim)))(parts, *weights)
    return made.reshape(x.shape)


BY_CHANNEL = (
    Entry(
        "group_norm",
        lambda x, weight, bias: ph.group_norm(x, 3, weight, bias),
        by_torch(group),
        CHANNELS,
        rtol=ROUNDINGS,
        scale=groups_of_two,
        why=WHY,
        sizes=("3 6 n+", "6", "6"),
        is_peer=True,
        onnx=("GroupNormalization",),
        aten=("group_norm", "native_group_norm"),
        speed=speed_of(
            lambda torch, x, weight, bias: torch.nn.functional.group_norm(x, 10, weight, bias),
            lambda x, weight, bias: ph.group_norm(x, 10, weight, bias),
            MILLION,
            (100,),
            (100,),
        ),
    ),
    Entry(
        "instance_norm",
        ph.instance_norm,
        by_torch(instance),
        cases(*((floats(*shape), floats(6), floats(6)) for shape in POSITIONS)),
        rtol=ROUNDINGS,
        scale=spread(positions),
        why=WHY,
        sizes=("3 6 n+", "6", "6"),
        is_peer=True,
        onnx=("InstanceNormalization",),
        aten=("instance_norm",),
        speed=speed_of(instance, ph.instance_norm, MILLION, (100,), (100,)),
    ),
)

# --- of a batch -----------------------------------------------------------------------------

STATISTICS = cases(
    *(
        (floats(*shape), floats(6), floats(6, low=0.1), floats(6), floats(6))
        for shape in [(2, 6), (1, 6, 1), (0, 6, 4), (3, 6, 33), (2, 6, 2, 3)]
    )
)


def inference(torch: Any, x: Any, mean: Any, var: Any, weight: Any, bias: Any) -> Any:
    return torch.nn.functional.batch_norm(x, mean, var, weight, bias)


def training(torch: Any, x: Any, mean: Any, var: Any, weight: Any, bias: Any) -> Any:
    function = torch.nn.functional.batch_norm
    return function(x, mean, var, weight, bias, True, 0.3), mean, var


def scale_of_inference(x: Array, mean: Array, var: Array, weight: Array, bias: Array) -> Array:
    laid = [one.reshape(-1, *(1,) * (x.ndim - 2)) for one in (mean, var, weight, bias)]
    factor = np.abs(laid[2]) / np.sqrt(laid[1] + 1e-5)
    return (np.abs(x) + np.abs(laid[0])) * factor + np.abs(laid[3])


def scales_of_training(
    x: Array, mean: Array, var: Array, weight: Array, bias: Array
) -> tuple[Array, ...]:
    over = spread(whole_batch)(x, weight, bias)
    return over, np.abs(mean) + 2, var + 4


BATCHES = (
    Entry(
        "batch_norm",
        ph.batch_norm,
        by_torch(inference),
        STATISTICS,
        rtol=ROUNDINGS,
        scale=scale_of_inference,
        why="a difference, its rounded factor and a sum",
        sizes=("3 6 n", "6", "6", "6", "6"),
        is_peer=True,
        onnx=("BatchNormalization",),
        aten=("batch_norm", "_native_batch_norm_legit_no_training"),
        speed=speed_of(
            lambda torch, x, mean, var, weight, bias: inference(
                torch, x, mean, var.abs(), weight, bias
            ),
            lambda x, mean, var, weight, bias: ph.batch_norm(x, mean, ph.abs(var), weight, bias),
            MILLION,
            *[(100,)] * 4,
        ),
    ),
    Entry(
        "batch_norm_training",
        lambda x, mean, var, weight, bias: ph.batch_norm_training(
            x, mean, var, weight, bias, momentum=0.3
        ),
        by_torch(training),
        cases(
            *(
                (floats(*shape), floats(6), floats(6, low=0.1), floats(6), floats(6))
                for shape in [(2, 6), (3, 6, 33), (2, 6, 2, 3), (257, 6)]
            )
        ),
        rtol=ROUNDINGS,
        scale=scales_of_training,
        why=WHY,
        is_peer=True,
        onnx=("BatchNormalization",),
        aten=("_native_batch_norm_legit", "native_batch_norm"),
    ),
)

# --- by neighbours, by length ---------------------------------------------------------------


def response(torch: Any, x: Any) -> Any:
    return torch.nn.functional.local_response_norm(x, 5, 0.1, 0.75, 1.5)


def of_lengths(torch: Any, x: Any) -> Any:
    sizes = (2.0, 1.0, 0.0, 3.5, INF, -INF)
    return [torch.nn.functional.normalize(x, p, -1) for p in sizes]


RESPONSES = [(2, 7, 1), (1, 1, 1), (2, 3, 4), (0, 6, 2), (2, 9, 5, 3)]
VECTORS = joined(
    cases(*([floats(*shape)] for shape in [(1, 1), (3, 7), (0, 4), (2, 3, 5), (3, 1001)])),
    given(([[0.0, 0.0], [-0.0, 3.0], [3.0, 4.0], [INF, 1.0], [NAN, 1.0]],)),
)

OTHERS = (
    Entry(
        "local_response_norm",
        lambda x: ph.local_response_norm(x, 5, 0.1, 0.75, 1.5),
        by_torch(response),
        cases(*([floats(*shape)] for shape in RESPONSES)),
        rtol=ROUNDINGS,
        why="a sum of five squares, a power and a reciprocal",
        sizes=("2 c+ 4",),
        is_peer=True,
        onnx=("LRN",),
        aten=(),
        speed=speed_of(response, None, MILLION),
    ),
    Entry(
        "local_response_norm.even",
        lambda x: ph.local_response_norm(x, 4),
        by_torch(lambda torch, x: torch.nn.functional.local_response_norm(x, 4)),
        cases([floats(2, 7, 3)]),
        rtol=ROUNDINGS,
        why="a sum of four squares, a power and a reciprocal",
        is_peer=True,
    ),
    Entry(
        "normalize",
        lambda x: [ph.normalize(x, p, -1) for p in (2.0, 1.0, 0.0, 3.5, INF, -INF)],
        by_torch(of_lengths),
        VECTORS,
        rtol=ROUNDINGS,
        why="a sum, its power and a reciprocal",
        sizes=("3 n+",),
        is_peer=True,
        gradient="almost everywhere",
        onnx=("LpNormalization",),
        speed=speed_of(
            lambda torch, x: torch.nn.functional.normalize(x),
            lambda x: ph.normalize(x),
            (1000, 1000),
        ),
    ),
)

ENTRIES: tuple[Entry, ...] = (*FEATURES, *BY_CHANNEL, *BATCHES, *OTHERS)
