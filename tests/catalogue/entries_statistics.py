"""The catalogue's entries for statistics, slopes and areas, polynomials, convolutions of lines."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from catalogue.entry import FLOATS, NUMBERS, Array, Entry, floated
from catalogue.inputs import given, joined, of_shape, of_shapes

import photic as ph

ERROR = 2.0**-18
OF_SUMS = "sums of some tens of products in any order, relative to the largest magnitudes"


def largest(*arrays: Array) -> Array:
    """A scale for all results: the square of the largest magnitude, at least 1."""
    return np.asarray(max([1.0, *(float(np.max(np.abs(x), initial=0.0)) for x in arrays)]) ** 2)


def near(
    name: str,
    call: Callable[..., Any],
    oracle: Callable[..., Any],
    inputs: Any,
    dtypes: tuple[str, ...] = FLOATS,
    **more: Any,
) -> Entry:
    """A float result, right relative to the largest magnitudes."""
    count = more.pop("count", 1)
    scale = more.pop("scale", largest)
    return Entry(
        name,
        call,
        oracle,
        inputs,
        dtypes,
        rtol=more.pop("rtol", ERROR),
        scale=(lambda *x: (scale(*x),) * count) if count > 1 else scale,
        why=more.pop("why", OF_SUMS),
        result_dtype=floated,
        **more,
    )


def wide(function: Callable[..., Any]) -> Callable[..., Any]:
    """An oracle of float64 arrays, also of integers."""
    return lambda *x: function(*(one.astype(np.float64) for one in x))


# --- statistics -----------------------------------------------------------------------------

STATISTICS = (
    near(
        "average",
        lambda x, w: (ph.average(x, weights=w), ph.average(x, 1, w, keepdims=True)),
        lambda x, w: (np.average(x, weights=w), np.average(x, 1, w, keepdims=True)),
        of_shapes([(3, 4), (3, 4)], [(1, 33), (1, 33)], low=1.0, high=3.0),
        count=2,
        sizes=("n+ k+", "n+ k+"),
    ),
    near(
        "average.along",
        lambda x, w: (*ph.average(x, 0, w, returned=True), ph.average(x, 1)),
        lambda x, w: (*np.average(x, 0, w, returned=True), np.average(x, 1)),
        of_shapes([(3, 4), (3,)], [(17, 1), (17,)], low=1.0, high=3.0),
        count=3,
        sizes=("n+ k+", "n+"),
    ),
    near(
        "cov",
        lambda x: (ph.cov(x), ph.cov(x, bias=True), ph.cov(x, rowvar=False, ddof=0)),
        wide(lambda x: (np.cov(x), np.cov(x, bias=True), np.cov(x, rowvar=False, ddof=0))),
        of_shape((3, 5), (2, 40), low=-3.0, high=3.0),
        (*FLOATS, "int32"),
        count=3,
        aten=("cov",),
    ),
    near(
        "cov.two",
        lambda x, y: (ph.cov(x, y), ph.cov(x)),
        lambda x, y: (np.cov(x, y), np.cov(x)),
        of_shapes([(5,), (5,)], [(2,), (2,)]),
        count=2,
        aten=("cov",),
    ),
    near(
        "corrcoef",
        lambda x: ph.corrcoef(x),
        lambda x: np.corrcoef(x),
        of_shape((3, 5), (2, 40)),
        ("float64", "float32"),
        rtol=2.0**-16,
        aten=("corrcoef",),
        sizes=("2 n",),
    ),
    near(
        "var_mean",
        lambda x: (*ph.var_mean(x, 1), *ph.var_mean(x, ddof=1)),
        lambda x: (x.var(1), x.mean(1), x.var(ddof=1), x.mean()),
        of_shape((3, 5), (17, 4)),
        count=4,
        aten=("var_mean",),
        sizes=("n k",),
    ),
    near(
        "std_mean",
        lambda x: (*ph.std_mean(x, 1), *ph.std_mean(x, 0, ddof=1, keepdims=True)),
        lambda x: (x.std(1), x.mean(1), x.std(0, ddof=1, keepdims=True), x.mean(0, keepdims=True)),
        of_shape((3, 5), (17, 4)),
        count=4,
        aten=("std_mean",),
        sizes=("n k",),
    ),
)

# --- slopes, areas, points ------------------------------------------------------------------

CALCULUS = (
    near(
        "gradient",
        lambda x: (*ph.gradient(x), ph.gradient(x, 0.5, axis=1, edge_order=2)),
        lambda x: (*np.gradient(x), np.gradient(x, 0.5, axis=1, edge_order=2)),
        of_shape((3, 5), (2, 3), (17, 4)),
        count=3,
        aten=("gradient",),
    ),
    near(
        "gradient.places",
        lambda x, at: (ph.gradient(x, ph.cumsum(at, 0)), ph.gradient(x, at, edge_order=2)),
        lambda x, at: (np.gradient(x, np.cumsum(at, 0)), np.gradient(x, at, edge_order=2)),
        lambda dtype, random: (
            (random.uniform(-2, 2, n).astype(dtype), np.arange(1, n + 1).astype(dtype))
            for n in (3, 7, 20)
        ),
        ("float64", "float32"),
        count=2,
        sizes=("7", "7"),
        aten=("gradient",),
    ),
    near(
        "trapezoid",
        lambda y: (ph.trapezoid(y), ph.trapezoid(y, dx=0.5, axis=0)),
        wide(lambda y: (np.trapezoid(y), np.trapezoid(y, dx=0.5, axis=0))),
        of_shape((3, 5), (1, 2), (17, 40)),
        (*FLOATS, "int16"),
        count=2,
        sizes=("n+ k+",),
        scale=lambda y: largest(y) * y.shape[1],
        aten=("trapezoid", "trapz"),
    ),
    near(
        "cumulative_trapezoid",
        lambda y: ph.cumulative_trapezoid(y),
        wide(lambda y: np.cumsum((y[:, 1:] + y[:, :-1]) / 2, 1)),
        of_shape((3, 5), (1, 2), (17, 40)),
        (*FLOATS, "int16"),
        sizes=("n+ k+",),
        scale=lambda y: largest(y) * y.shape[1],
        aten=("cumulative_trapezoid",),
    ),
    near(
        "trapezoid.places",
        lambda y, x: (ph.trapezoid(y, x), ph.cumulative_trapezoid(y, x)),
        lambda y, x: (
            np.trapezoid(y, x),
            np.cumsum((y[:, 1:] + y[:, :-1]) / 2 * np.diff(x), 1),
        ),
        of_shapes([(3, 5), (5,)], [(2, 2), (2,)]),
        count=2,
        sizes=("n+ k+", "k+"),
        aten=("trapezoid", "trapz", "cumulative_trapezoid"),
    ),
    near(
        "interp",
        lambda x, p, f: (ph.interp(x, p, f), ph.interp(x, p, f, -7.0, 9.0)),
        lambda x, p, f: (np.interp(x, p, f), np.interp(x, p, f, -7.0, 9.0)),
        given(
            ([-1, 0, 0.5, 1, 1.5, 3, 4, 99, np.nan], [0, 1, 3, 4], [2, -2, 2, 0]),
            ([[0.25, 2], [-1, 5]], [0.5], [3]),
            ([], [0, 1], [1, 2]),
        ),
        count=2,
        sizes=("n", "m+", "m+"),
    ),
    near(
        "unwrap",
        lambda x: (ph.unwrap(x), ph.unwrap(x, period=3.0), ph.unwrap(x, 4.0, axis=0)),
        lambda x: (np.unwrap(x), np.unwrap(x, period=3.0), np.unwrap(x, 4.0, axis=0)),
        of_shape((3, 6), (1, 9), (2, 33), low=-9.0, high=9.0),
        ("float64", "float32"),
        count=3,
        sizes=("n+ k+",),
        gradient="almost everywhere",
    ),
)

# --- polynomials ----------------------------------------------------------------------------

POLYNOMIALS = (
    Entry(
        "vander",
        lambda x: (ph.vander(x), ph.vander(x, 3, increasing=True), ph.vander(x, 1)),
        lambda x: tuple(
            np.asarray(one).astype(x.dtype)
            for one in (np.vander(x), np.vander(x, 3, True), np.vander(x, 1))
        ),
        of_shape((4,), (1,), (7,), low=-2.0, high=2.0),
        NUMBERS,
        ulps=6,
        half_ulps=0.6,
        why="six factors, each product rounded",
        aten=("vander", "linalg_vander"),
    ),
    near(
        "polyval",
        ph.polyval,
        lambda p, x: np.asarray(np.polyval(p, x)),
        of_shapes(
            [(4,), (3, 2)], [(1,), (7,)], [(3,), (5,)], [(3,), ()], [(2,), (0,)], low=-2.0, high=2.0
        ),
        sizes=("3", "n"),
        scale=lambda p, x: np.polyval(np.abs(p), np.abs(x)) + 1.0,
    ),
    near(
        "polyfit",
        lambda x, y: ph.polyfit(x, y, 2),
        lambda x, y: np.polyfit(x, y, 2),
        given(
            ([-1, -0.5, 0, 0.75, 1, 2], [3, 1, 0, 1, 2, 5]),
            ([0, 1, 2], [1, 0, 4]),
            ([0, 1, 2, 3], [[1, 0], [4, 1], [0, 0], [1, 2]]),
        ),
        ("float64", "float32"),
        rtol=2.0**-14,
        why="least squares by reflections, times a condition below 20",
    ),
)

# --- convolutions of lines ------------------------------------------------------------------

MODES = ("full", "same", "valid")
LINES = of_shapes(
    [(7,), (3,)], [(3,), (7,)], [(4,), (4,)], [(6,), (1,)], [(1,), (5,)], [(40,), (8,)]
)


def of_lines(name: str, function: Callable[..., Any], oracle: Callable[..., Any]) -> Entry:
    return Entry(
        name,
        lambda a, v: tuple(function(a, v, mode) for mode in MODES),
        lambda a, v: tuple(oracle(a, v, mode).astype(a.dtype) for mode in MODES),
        joined(LINES),
        NUMBERS,
        rtol=ERROR,
        scale=lambda a, v: tuple(oracle(np.abs(a), np.abs(v), mode) for mode in MODES),
        why=OF_SUMS,
        sizes=("n+", "1"),
    )


CONVOLUTIONS = (
    of_lines("convolve", ph.convolve, np.convolve),
    of_lines("correlate", ph.correlate, np.correlate),
)

ENTRIES: tuple[Entry, ...] = (*STATISTICS, *CALCULUS, *POLYNOMIALS, *CONVOLUTIONS)
