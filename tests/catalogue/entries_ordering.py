"""The catalogue's entries for running extremes, logarithms of sums, and differences."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from catalogue.entry import (
    ALL,
    FLOATS,
    INTS,
    NUMBERS,
    Array,
    Entry,
    Speed,
    floated,
    with_indices,
)
from catalogue.inputs import given, joined, million, of_shape, with_specials

import photic as ph

INF, NAN = float("inf"), float("nan")
# Axes shorter and longer than a run, of lengths that runs divide and do not.
LENGTHS = with_specials((0,), (1,), (7,), (16,), (17,), (257,), (10_001,))
PLANES = with_specials((3, 5), (1, 1), (0, 4), (40, 3), (5, 2, 6))
SQUARE = million((1000, 1000))
TWICE = "two running maxima, of values and then of places; torch keeps both in one loop"

# --- running values -------------------------------------------------------------------------


def running_extremes(name: str, extreme: Any) -> tuple[Entry, ...]:
    def values(x: Array) -> Array:
        with np.errstate(invalid="ignore"):
            return np.asarray(extreme.accumulate(x, 0))

    def both(x: Array) -> tuple[Array, Array]:
        top = values(x)
        new = (x == top) | np.isnan(x) if x.dtype.kind == "f" else x == top
        line = np.arange(len(x)).reshape(-1, *(1,) * (x.ndim - 1))
        return top, np.maximum.accumulate(np.where(new, line, 0), 0)

    call = getattr(ph, name)
    peer = (lambda torch, x: getattr(torch, name)(x, 0),)[0]
    first = Entry(
        name,
        lambda x: call(x, 0),
        both,
        joined(LENGTHS, PLANES),
        ALL,
        zero_signs=False,
        result_dtype=with_indices,
        sizes=("n",),
        gradient="almost everywhere",
        aten=(name,),
        speed=Speed(peer, million(), why=TWICE),
    )
    rows = Entry(
        f"{name}.rows",
        lambda x: call(x, -1),
        lambda x: tuple(np.moveaxis(one, 0, -1) for one in both(np.moveaxis(x, -1, 0))),
        PLANES,
        NUMBERS,
        zero_signs=False,
        result_dtype=with_indices,
        sizes=("n 5",),
        gradient="almost everywhere",
        aten=(name,),
        speed=Speed(lambda torch, x: getattr(torch, name)(x, -1), SQUARE, why=TWICE),
    )
    return first, rows


def _log_sums(x: Array, axis: int) -> Array:
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        return np.asarray(np.logaddexp.accumulate(x.astype(np.float64), axis))


def log_sums(name: str, axis: int, sizes: str, cases: Any, speed: Speed) -> Entry:
    return Entry(
        name,
        lambda x: ph.logcumsumexp(x, axis),
        lambda x: _log_sums(x, axis),
        cases,
        (*FLOATS, *INTS),
        rtol=2.0**-20,
        atol=2.0**-18,
        half_ulps=0.6,
        why="a sum of exponentials of differences, each within 2**-22 of the largest",
        zero_signs=False,
        result_dtype=floated,
        sizes=(sizes,),
        aten=("logcumsumexp",),
        speed=speed,
    )


LOG_LINES = given(
    [[-INF, -INF, 0.0, 1.0, INF, 2.0, -INF, INF]],
    [[NAN, 1.0]],
    [[1.0, 100.0, NAN, 2.0]],
    [[-INF, -100.0, 50.0, -INF]],
)
LOG_SHAPES = of_shape((0,), (1,), (7,), (16,), (17,), (257,), (10_001,), (3, 5), (0, 4), (40, 3))


def along(name: str) -> Callable[..., Any]:
    return lambda torch, x: getattr(torch, name)(x, 0)


RUNNING = (
    *running_extremes("cummax", np.maximum),
    *running_extremes("cummin", np.minimum),
    log_sums(
        "logcumsumexp",
        0,
        "n",
        joined(LOG_SHAPES, LOG_LINES),
        Speed(along("logcumsumexp"), million()),
    ),
    log_sums(
        "logcumsumexp.rows",
        -1,
        "n 5",
        of_shape((3, 5), (1, 1), (0, 4), (4, 0), (3, 40), (2, 3, 300)),
        Speed(lambda torch, x: torch.logcumsumexp(x, -1), SQUARE),
    ),
)

# --- differences ----------------------------------------------------------------------------


def _differences(x: Array, n: int, axis: int) -> Array:
    with np.errstate(invalid="ignore", over="ignore"):
        return np.asarray(np.diff(x, n, axis))


def differences(name: str, n: int, axis: int, sizes: tuple[str, ...]) -> Entry:
    def largest(x: Array) -> Array:
        return np.full_like(_differences(x, n, axis), 2.0**n * np.max(np.abs(x), initial=0))

    return Entry(
        name,
        lambda x: ph.diff(x, n, axis),
        lambda x: _differences(x, n, axis),
        of_shape((0,), (1,), (7,), (10_001,), (3, 5), (40, 3), (5, 2, 6)),
        ALL,
        ulps=0.5 if n == 1 else 3.0,
        rtol=0 if n == 1 else 2.0**-22,
        scale=lambda x: (
            2.0**n * np.max(np.abs(x), initial=0) * np.ones_like(_differences(x, n, axis))
        ),
        why="differences of differences that were rounded",
        zero_signs=False,
        sizes=sizes,
        aten=("diff",),
        speed=Speed(lambda torch, x: torch.diff(x, n, axis), million()),
    )


DIFFERENCES = (
    differences("diff", 1, 0, ("n+",)),
    differences("diff.rows", 1, -1, ("n 5",)),
    differences("diff.twice", 2, 0, ()),
)

ENTRIES = (*RUNNING, *DIFFERENCES)
