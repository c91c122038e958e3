"""The catalogue's entries for means and norms of windows, and for pooling to a stated size.

Means of floats are told by PyTorch in float64, all else by loops of NumPy over each window.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from catalogue.entries_images_convolution import each, functional, of_magnitudes, peer
from catalogue.entries_images_pooling import (
    IMAGES,
    MILLIONS,
    SIZES,
    STRIDED,
    OfWindow,
    Options,
    Shape,
    first_largest,
    largest,
    over_windows,
    speed,
    windows,
)
from catalogue.entry import ALL, INTS, Array, Cases, Entry, Speed, floated, with_indices
from catalogue.inputs import million, of_shape, with_specials

import photic as ph

MEANS = 2.0**-20
WHY = "a mean of some tens of values in any order, of the mean of their magnitudes"
NORMS = 2.0**-19


def norm(p: float) -> OfWindow:
    def of(values: Array, _places: Array) -> tuple[Array]:
        return ((np.abs(values) ** p).sum(-1) ** (1 / p),)

    return lambda values, _: (np.abs(values).max(-1),) if p == math.inf else of(values, _)


def whole_mean(values: Array, _places: Array) -> tuple[Array]:
    return (values.astype(np.float64).mean(-1),)


# --- means ----------------------------------------------------------------------------------


def mean(name: str, call: Any, oracle: Any, inputs: Cases, **more: Any) -> Entry:
    scale = of_magnitudes(oracle)
    return Entry(name, call, oracle, inputs, rtol=MEANS, why=WHY, scale=scale, **more)


def avg_pool(rank: int) -> Entry:
    name = f"avg_pool{rank}d"
    call = getattr(ph, name)
    return mean(
        name,
        lambda x: call(x, **STRIDED),
        peer(name, **STRIDED),
        of_shape(*(shape for shape in IMAGES[rank - 1][:4] if 0 not in shape)),
        sizes=(SIZES[rank - 1],),
        onnx=("AveragePool",),
        aten=(name,),
        is_peer=True,
        speed=speed(name, MILLIONS[rank - 1], lambda x: call(x, **STRIDED), **STRIDED),
    )


AVERAGED: tuple[Options, ...] = (
    {"kernel_size": (2, 3)},
    {"kernel_size": (3, 2), "stride": 2, "padding": 1, "count_include_pad": False},
    {"kernel_size": (3, 3), "stride": 2, "padding": 1, "ceil_mode": True},
    {
        "kernel_size": (3, 3),
        "stride": (1, 2),
        "padding": 1,
        "ceil_mode": True,
        "count_include_pad": False,
    },
    {"kernel_size": (2, 2), "stride": 2, "ceil_mode": True, "divisor_override": 3},
)
# Of the issue trackers of peers: counted and uncounted edges, a last window mostly in padding.
EDGES: tuple[tuple[Options, Shape], ...] = (
    ({"kernel_size": 2, "stride": 2, "ceil_mode": True, "count_include_pad": False}, (1, 3, 3)),
    ({"kernel_size": (1, 2), "stride": (5, 1), "padding": (0, 1)}, (1, 1, 10, 8)),
    ({"kernel_size": 3, "stride": 3, "padding": 1, "ceil_mode": True}, (1, 2, 3, 6, 5)),
)


def _edge(number: int) -> Entry:
    options, shape = EDGES[number]
    rank = 3 if len(shape) == 5 else 2
    return mean(
        f"avg_pool{rank}d.edge{number}",
        lambda x: getattr(ph, f"avg_pool{rank}d")(x, **options),
        peer(f"avg_pool{rank}d", **options),
        of_shape(shape),
        is_peer=True,
    )


def _lopsided_counts(x: Array) -> Array:
    """ "same_lower" with a kernel of (4, 1): two zeros above, one below, all counted."""
    tall = np.pad(x, ((2, 1), (0, 0)))
    return np.lib.stride_tricks.sliding_window_view(tall, 4, 0).mean(-1)


MEANS_OF = (
    *(avg_pool(rank) for rank in (1, 2, 3)),
    *(_edge(number) for number in range(len(EDGES))),
    mean(
        "avg_pool2d.options",
        each(ph.avg_pool2d, AVERAGED),
        lambda x: tuple(functional("avg_pool2d", x, **options) for options in AVERAGED),
        of_shape((2, 3, 9, 6), (3, 5, 7)),
        is_peer=True,
    ),
    mean(
        "avg_pool1d.counted",
        lambda x: ph.avg_pool1d(x, 7, 3, 3, ceil_mode=True),
        peer("avg_pool1d", kernel_size=7, stride=3, padding=3, ceil_mode=True),
        of_shape((1, 9)),
        is_peer=True,
    ),
    mean(
        "avg_pool",
        lambda x: ph.avg_pool(x, (4, 1), 1, "same_lower"),
        _lopsided_counts,
        of_shape((6, 2), (1, 3)),
        onnx=("AveragePool",),
    ),
    mean(
        "avg_pool.integers",
        lambda x: ph.avg_pool(x, (3, 2), 1),
        windows(whole_mean, 2, kernel_size=(3, 2), stride=1),
        of_shape((2, 5, 4), low=0, high=100),
        dtypes=(*INTS, "bool"),
        result_dtype=floated,
        gradient="none: of integers",
    ),
)

# --- norms ----------------------------------------------------------------------------------


def lp_pool(rank: int) -> Entry:
    name = f"lp_pool{rank}d"
    call = getattr(ph, name)
    return Entry(
        name,
        lambda x: call(x, 2, 3, 2),
        windows(norm(2.0), rank, kernel_size=3, stride=2),
        of_shape(*IMAGES[rank - 1][:1], (1, *(11, 8, 7)[:rank])),
        rtol=NORMS,
        why=WHY,
        gradient="almost everywhere",
        onnx=("LpPool",),
        aten=(name,),
        speed=speed(name, MILLIONS[rank - 1], lambda x: call(x, 2, 3, 2), 2, 3, 2),
    )


POWERS = (1.0, 3.0, math.inf)
NORMS_OF = (
    *(lp_pool(rank) for rank in (1, 2, 3)),
    Entry(
        "lp_pool",
        lambda x: tuple(ph.lp_pool(x, p, (3, 2), padding=1, ceil_mode=True) for p in POWERS),
        lambda x: tuple(
            windows(norm(p), 2, kernel_size=(3, 2), padding=1, ceil_mode=True)(x) for p in POWERS
        ),
        of_shape((2, 3, 7, 5), (4, 4)),
        rtol=NORMS,
        why=WHY,
        gradient="almost everywhere",
        onnx=("LpPool",),
    ),
)

# --- to a stated size -----------------------------------------------------------------------


def _shared(extent: int, count: int) -> list[list[int]]:
    """The places of each of ``count`` windows that share out an axis."""
    ends = [(k * extent // count, -(-(k + 1) * extent // count)) for k in range(count)]
    return [list(range(first, last)) for first, last in ends]


def shared_out(function: OfWindow, sizes: Sequence[int]) -> Callable[[Array], Any]:
    def oracle(x: Array) -> Any:
        extents = x.shape[x.ndim - len(sizes) :]
        lines = [_shared(extent, count) for extent, count in zip(extents, sizes)]
        made = over_windows(x, lines, function)
        return made[0] if len(made) == 1 else tuple(made)

    return oracle


ADAPTED: tuple[Shape, ...] = ((5,), (4, 3), (3, 4, 2))


def adaptive(rank: int) -> tuple[Entry, ...]:
    average, greatest = f"adaptive_avg_pool{rank}d", f"adaptive_max_pool{rank}d"
    sizes = ADAPTED[rank - 1]
    shape = MILLIONS[rank - 1]
    images = [one for one in IMAGES[rank - 1] if 0 not in one]
    return (
        mean(
            average,
            lambda x: getattr(ph, average)(x, sizes),
            peer(average, output_size=sizes),
            of_shape(*(one for one in images if len(one) > rank)),
            sizes=(SIZES[rank - 1],),
            aten=(average,),
            is_peer=True,
            speed=speed(average, shape, lambda x: getattr(ph, average)(x, sizes), sizes),
        ),
        Entry(
            greatest,
            lambda x: getattr(ph, greatest)(x, sizes),
            shared_out(largest, sizes),
            with_specials(*images),
            ALL,
            ulps=0.0,
            zero_signs=False,
            gradient="almost everywhere",
            sizes=(SIZES[rank - 1],),
            aten=(greatest,),
            speed=speed(greatest, shape, lambda x: getattr(ph, greatest)(x, sizes), sizes),
        ),
    )


ADAPTIVE = (
    *(one for rank in (1, 2, 3) for one in adaptive(rank)),
    mean(
        "adaptive_avg_pool",
        lambda x: (ph.adaptive_avg_pool(x, (None, 9)), ph.adaptive_avg_pool(x, (1, 1))),
        lambda x: (
            functional("adaptive_avg_pool2d", x, output_size=(None, 9)),
            functional("adaptive_avg_pool2d", x, output_size=1),
        ),
        of_shape((2, 3, 4, 6), (1, 5, 7)),
        is_peer=True,
    ),
    Entry(
        "adaptive_max_pool",
        lambda x: ph.adaptive_max_pool(x, (4, 7)),
        shared_out(largest, (4, 7)),
        with_specials((2, 9, 3), (5, 5)),
        ulps=0.0,
        zero_signs=False,
        gradient="almost everywhere",
    ),
    Entry(
        "adaptive_max_pool_with_indices",
        lambda x: ph.adaptive_max_pool_with_indices(x, (4, 3)),
        shared_out(first_largest, (4, 3)),
        with_specials((2, 9, 5), (6, 6)),
        ALL,
        ulps=0.0,
        zero_signs=False,
        result_dtype=with_indices,
        gradient="almost everywhere",
        sizes=("c h+ w+",),
        aten=("adaptive_max_pool2d",),
    ),
)


def _over_sizes(function: Callable[..., Array]) -> Callable[[Array], Array]:
    return lambda x: function(x, tuple(range(2, x.ndim)))


GLOBAL_IMAGES = ((2, 3, 7, 5), (1, 4, 9), (0, 2, 3), (1, 2, 31, 33), (2, 3))
GLOBAL = (
    mean(
        "global_avg_pool",
        ph.global_avg_pool,
        _over_sizes(lambda x, axes: x.mean(axes, keepdims=True)),
        of_shape(*GLOBAL_IMAGES),
        sizes=("n c h+ w+",),
        onnx=("GlobalAveragePool",),
        speed=Speed(
            lambda torch, x: torch.nn.functional.adaptive_avg_pool2d(x, 1),
            million(MILLIONS[1]),
        ),
    ),
    Entry(
        "global_max_pool",
        ph.global_max_pool,
        _over_sizes(lambda x, axes: x.max(axes, keepdims=True)),
        with_specials(*GLOBAL_IMAGES),
        ALL,
        ulps=0.0,
        zero_signs=False,
        gradient="almost everywhere",
        sizes=("n c h+ w+",),
        onnx=("GlobalMaxPool",),
    ),
    Entry(
        "global_lp_pool",
        lambda x: (ph.global_lp_pool(x), ph.global_lp_pool(x, 3)),
        lambda x: tuple(
            _over_sizes(lambda x, axes, p=p: (np.abs(x) ** p).sum(axes, keepdims=True) ** (1 / p))(
                x
            )
            for p in (2, 3)
        ),
        of_shape(*GLOBAL_IMAGES[:4]),
        rtol=NORMS,
        why=WHY,
        gradient="almost everywhere",
        sizes=("n c h+ w+",),
        onnx=("GlobalLpPool",),
    ),
)

ENTRIES: tuple[Entry, ...] = (*MEANS_OF, *NORMS_OF, *ADAPTIVE, *GLOBAL)
