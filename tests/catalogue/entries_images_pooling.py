"""The catalogue's entries for the largest values of windows and their places.

Loops of NumPy over the elements of each window tell what is true.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
from catalogue.entries_images_convolution import each
from catalogue.entry import (
    ALL,
    Array,
    Case,
    Cases,
    Dtype,
    Entry,
    Speed,
    with_indices,
)
from catalogue.inputs import million, with_specials

import photic as ph

Shape = tuple[int, ...]
Options = dict[str, Any]
OfWindow = Callable[[Array, Array], Any]

# --- windows, element by element ------------------------------------------------------------


def _axis(given: Any, axis: int) -> int:
    return int(given if isinstance(given, int) else given[axis])


def _ranges(extent: int, axis: int, rank: int, options: Options) -> list[list[int]]:
    """For each window along an axis its places inside; PyTorch's rule for how many there are."""
    size, apart = _axis(options["kernel_size"], axis), _axis(options.get("dilation", 1), axis)
    step, pad = _axis(options.get("stride") or size, axis), _axis(options.get("padding", 0), axis)
    spare = extent + 2 * pad - apart * (size - 1) - 1
    count = spare // step + 1
    if options.get("ceil_mode"):
        count = -(-spare // step) + 1
        count -= (count - 1) * step >= extent + pad
    starts = [k * step - pad for k in range(count)]
    every = [[start + apart * k for k in range(size)] for start in starts]
    return [[place for place in one if 0 <= place < extent] for one in every]


def over_windows(x: Array, lines: Sequence[list[list[int]]], function: OfWindow) -> list[Array]:
    """``function(values, places)`` of each window: its values on the last axis, and where they are.

    ``lines`` has for each of the last axes the places of each window; the function gives a tuple.
    """
    rank = len(lines)
    lead, extents = x.shape[: x.ndim - rank], x.shape[x.ndim - rank :]
    numbers = np.arange(math.prod(extents)).reshape(extents)
    results: list[list[Array]] = []
    for at in np.ndindex(*map(len, lines)):
        block = np.ix_(*(line[k] for line, k in zip(lines, at)))
        places = numbers[block].ravel()
        results.append(function(x[(..., *block)].reshape(*lead, places.size), places))
    shape = (*lead, *map(len, lines))
    return [np.stack(column, -1).reshape(shape) for column in zip(*results, strict=True)]


def windows(function: OfWindow, rank: int, **options: Any) -> Callable[[Array], Any]:
    """The oracle that gives the function of each window; of one result alone, that one."""

    def oracle(x: Array) -> Any:
        extents = x.shape[x.ndim - rank :]
        lines = [_ranges(extent, axis, rank, options) for axis, extent in enumerate(extents)]
        made = over_windows(x, lines, function)
        return made[0] if len(made) == 1 else tuple(made)

    return oracle


def largest(values: Array, _places: Array) -> tuple[Array]:
    return (np.max(values, -1),)


def first_largest(values: Array, places: Array) -> tuple[Array, Array]:
    """The largest and its place; nan is the largest of all, and of several the first."""
    return np.max(values, -1), places[np.argmax(values, -1)]


# --- the largest ----------------------------------------------------------------------------

IMAGES: tuple[tuple[Shape, ...], ...] = (
    ((2, 3, 17), (5, 9), (0, 1, 4), (1, 1001), (2, 1, 1)),
    ((2, 3, 9, 6), (3, 5, 5), (0, 2, 4, 4), (1, 41, 37), (1, 1, 1, 1)),
    ((2, 1, 5, 4, 6), (3, 4, 4, 4), (0, 2, 3, 3, 3), (1, 9, 12, 11), (1, 1, 1, 1, 1)),
)
SIZES = ("n c h+", "n c h+ w+", "n c h+ w+ d+")
MILLIONS = ((1, 64, 16384), (1, 64, 128, 128), (1, 16, 16, 64, 64))
STRIDED: Options = {"kernel_size": 3, "stride": 2, "padding": 1}


def speed(name: str, shape: Shape, call: Callable[..., Any], *args: Any, **options: Any) -> Speed:
    return Speed(
        lambda torch, x: getattr(torch.nn.functional, name)(x, *args, **options),
        million(shape),
        call,
    )


def max_pool(rank: int) -> tuple[Entry, ...]:
    name = f"max_pool{rank}d"
    call, both = getattr(ph, name), getattr(ph, f"{name}_with_indices")
    return (
        Entry(
            name,
            lambda x: call(x, **STRIDED),
            windows(largest, rank, **STRIDED),
            with_specials(*IMAGES[rank - 1]),
            ALL,
            ulps=0.0,
            zero_signs=False,
            gradient="almost everywhere",
            sizes=(SIZES[rank - 1],),
            onnx=("MaxPool",),
            aten=(name,),
            speed=speed(name, MILLIONS[rank - 1], lambda x: call(x, **STRIDED), **STRIDED),
        ),
        Entry(
            f"{name}_with_indices",
            lambda x: both(x, **STRIDED),
            windows(first_largest, rank, **STRIDED),
            with_specials(*IMAGES[rank - 1][:3]),
            ALL,
            ulps=0.0,
            zero_signs=False,
            result_dtype=with_indices,
            gradient="almost everywhere",
            sizes=(SIZES[rank - 1],),
            onnx=("MaxPool",),
            aten=(f"{name}_with_indices",),
            speed=speed(
                name,
                MILLIONS[rank - 1],
                lambda x: both(x, **STRIDED),
                return_indices=True,
                **STRIDED,
            ),
        ),
    )


CHOICES: tuple[Options, ...] = (
    {"kernel_size": (2, 3)},
    {"kernel_size": (3, 2), "stride": 1, "padding": 1, "dilation": 2},
    {"kernel_size": (3, 3), "stride": 2, "padding": 1, "ceil_mode": True},
    {"kernel_size": (2, 2), "stride": 3, "ceil_mode": True, "dilation": (1, 2)},
)


def each_of(function: OfWindow, choices: Sequence[Options]) -> Callable[[Array], Any]:
    """The oracle of every choice of options over two axes, one after another."""

    def oracle(x: Array) -> tuple[Array, ...]:
        made = [windows(function, 2, **options)(x) for options in choices]
        return tuple(part for one in made for part in (one if isinstance(one, tuple) else (one,)))

    return oracle


def _all_parts(function: Callable[..., Any], choices: Sequence[Options]) -> Callable[..., Any]:
    return lambda x: tuple(part for options in choices for part in function(x, **options))


def _indices(dtype: Dtype) -> tuple[Dtype, ...]:
    return with_indices(dtype) * len(CHOICES)


LARGEST = (
    *(one for rank in (1, 2, 3) for one in max_pool(rank)),
    Entry(
        "max_pool",
        each(ph.max_pool, CHOICES),
        each_of(largest, CHOICES),
        with_specials((2, 3, 9, 6), (5, 7)),
        ("float64", "float32", "bfloat16", "uint8"),
        ulps=0.0,
        zero_signs=False,
        gradient="almost everywhere",
        onnx=("MaxPool",),
    ),
    Entry(
        "max_pool_with_indices",
        _all_parts(ph.max_pool_with_indices, CHOICES),
        each_of(first_largest, CHOICES),
        with_specials((2, 3, 9, 6), (5, 7)),
        ("float64", "float32", "float16", "int8"),
        ulps=0.0,
        zero_signs=False,
        result_dtype=_indices,
        gradient="almost everywhere",
        onnx=("MaxPool",),
    ),
)

# --- back to their places -------------------------------------------------------------------


def _with_places(*shapes: Shape, rank: int, **options: Any) -> Cases:
    """Values of pooled images and their places; windows that overlap give some of them twice."""

    def made(dtype: Dtype, random: np.random.Generator) -> Iterator[Case]:
        oracle = windows(first_largest, rank, **options)
        for shape in shapes:
            values, places = oracle(random.integers(0, 9, shape))
            yield values.astype(dtype), places

    return made


def _unpooled(sizes: Shape) -> Callable[[Array, Array], Array]:
    """Values put one by one at their places in axes of these sizes."""

    def oracle(values: Array, places: Array) -> Array:
        lead = values.shape[: values.ndim - len(sizes)]
        result = np.zeros((*lead, math.prod(sizes)), values.dtype)
        lines = values.reshape(*lead, math.prod(values.shape[len(lead) :]))
        for number, place in enumerate(np.moveaxis(places.reshape(lines.shape), -1, 0)):
            np.put_along_axis(result, place[..., None], lines[..., number, None], -1)
        return result.reshape(*lead, *sizes)

    return oracle


def unpool(rank: int) -> Entry:
    name = f"max_unpool{rank}d"
    sizes = (9, 9, 9)[:rank]
    return Entry(
        name,
        lambda x, places: getattr(ph, name)(x, places, 3, 2, 1, output_size=sizes),
        _unpooled(sizes),
        _with_places((2, 3, *(7, 5, 4)[:rank]), (8, 6, 5)[:rank], rank=rank, **STRIDED),
        ALL,
        ulps=0.0,
        zero_signs=False,
        onnx=("MaxUnpool",),
        aten=(name,),
    )


UNPOOL = (
    *(unpool(rank) for rank in (1, 2, 3)),
    Entry(
        "max_unpool",
        lambda x, places: ph.max_unpool(x, places, (2, 2)),
        lambda x, places: _unpooled((2 * x.shape[-2], 2 * x.shape[-1]))(x, places),
        _with_places((2, 3, 8, 6), (1, 1, 4, 4), rank=2, kernel_size=2),
        ALL,
        ulps=0.0,
        zero_signs=False,
        sizes=("n c h w", "n c h w"),
        onnx=("MaxUnpool",),
    ),
)

ENTRIES: tuple[Entry, ...] = (*LARGEST, *UNPOOL)
