"""The catalogue's entries for sets, other orders, agreement, and more reductions without nan."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from catalogue.by_torch import cases, chosen
from catalogue.entry import NUMBERS, Array, Entry, Speed, gives, summed
from catalogue.inputs import given, is_float, million, of_shape, of_shapes, with_specials

import photic as ph

NAN = float("nan")
NO_SLOPE = "none: bools and numbers of places are integers"
RUNNING = "each is a sum or product of all before it, in any order"

# --- sets -----------------------------------------------------------------------------------

SETS_GIVEN = given(
    ([1, 3, 3, 0, 2], [3, 5, 0, 3]),
    ([5, 5], [5]),
    ([1], [0, 7]),
    ([4, 0, 2, 2, 9, 4], [4, 9, 1, 1, 0, 3, 8]),
)
SOME = ("float32", "bfloat16", "int64", "uint8")


def _padded(found: Array, size: int) -> tuple[Array, Array]:
    made = np.zeros(size, found.dtype)
    made[: len(found)] = found[:size]
    return made, np.asarray(len(found))


def of_sets(name: str) -> Entry:
    """The first four, and how many there are."""
    call: Any = getattr(ph, name)
    oracle = getattr(np, name)
    return Entry(
        name,
        lambda a, b: call(a, b, size=4),
        lambda a, b: _padded(oracle(a, b), 4),
        SETS_GIVEN,
        SOME,
        ulps=0,
        zero_signs=False,
        result_dtype=lambda dtype: (dtype, np.dtype(np.int64)),
        gradient="none: elements are picked by places",
    )


SETS = (
    Entry(
        "isin",
        lambda x, a: (ph.isin(x, a), ph.isin(x, a, invert=True), ph.isin(x, [2, 0])),
        lambda x, a: (np.isin(x, a), np.isin(x, a, invert=True), np.isin(x, [2, 0])),
        cases(
            [chosen(0, 1, 2, 3, shape=(3, 4)), chosen(1, 3, shape=(2,))],
            [chosen(0, 1, shape=()), chosen(0, 1, 2, shape=(0,))],
            [chosen(0, 5, 9, shape=(17,)), chosen(5, 9, 7, shape=(4, 5))],
        ),
        NUMBERS,
        result_dtype=gives("bool"),
        gradient=NO_SLOPE,
        aten=("isin",),
        speed=Speed(
            lambda torch, x, a: torch.isin(x, a),
            million((1_000_000,), (1000,)),
            lambda x, a: ph.isin(x, a),
        ),
    ),
    Entry(
        "isin.nan",
        lambda x, a: ph.isin(x, a),
        np.isin,
        given(([NAN, 1, -0.0, np.inf], [0.0, NAN, np.inf, NAN])),
        ("float64", "float16"),
        result_dtype=gives("bool"),
        gradient=NO_SLOPE,
        aten=("isin",),
        sizes=("n", "m"),
    ),
    of_sets("union1d"),
    of_sets("intersect1d"),
    of_sets("setdiff1d"),
)

# --- agreement ------------------------------------------------------------------------------

AGREEMENT = (
    Entry(
        "allclose",
        lambda x, y: (ph.allclose(x, y), ph.allclose(x, y, 1.0, 1.0), ph.allclose(x, x)),
        lambda x, y: tuple(
            np.asarray(one)
            for one in (np.allclose(x, y), np.allclose(x, y, 1, 1), np.allclose(x, x))
        ),
        given(([1, 2, 3], [1, 2, 3]), ([1, 2], [[1], [2]]), ([], [])),
        NUMBERS,
        result_dtype=gives("bool"),
        gradient=NO_SLOPE,
        aten=("allclose",),
        sizes=("n", "n"),
    ),
    Entry(
        "array_equal",
        lambda x, y: (ph.array_equal(x, y), ph.array_equal(x, x, True), ph.array_equal(x, x[None])),
        lambda x, y: tuple(
            np.asarray(one)
            for one in (
                np.array_equal(x, y),
                np.array_equal(x, x, is_float(x.dtype)),
                np.array_equal(x, x[None]),
            )
        ),
        given(([1, NAN], [1, NAN]), ([1, 2, 3], [1, 2, 3]), ([0], [1]), ([1, 2], [1])),
        (*NUMBERS, "bool"),
        result_dtype=gives("bool"),
        gradient=NO_SLOPE,
        aten=("equal",),
    ),
)

# --- orders ---------------------------------------------------------------------------------

ORDERS = (
    Entry(
        "partition",
        lambda x: (ph.partition(x, 1), ph.partition(x, (0, 2), 0)),
        lambda x: (np.sort(x), np.sort(x, 0)),
        with_specials((3, 4)),
        SOME,
        ulps=0,
        zero_signs=False,
        gradient="almost everywhere",
    ),
    Entry(
        "argpartition",
        lambda x: ph.take_along_axis(x, ph.argpartition(x, 2), -1),
        lambda x: np.sort(x),
        with_specials((3, 4)),
        SOME,
        ulps=0,
        zero_signs=False,
        gradient="almost everywhere",
    ),
    Entry(
        "lexsort",
        lambda x, y: (ph.lexsort((x, y)), ph.lexsort((y, x, y), 0)),
        lambda x, y: (np.lexsort((x, y)), np.lexsort((y, x, y), 0)),
        of_shapes([(3, 7), (3, 7)], [(1, 1), (1, 1)], low=0, high=2),
        ("float32", "int64"),
        result_dtype=gives("int64"),
        gradient=NO_SLOPE,
    ),
)

# --- without nan ----------------------------------------------------------------------------

GAPS = given(
    ([[1, NAN, 3, -2], [NAN, NAN, NAN, NAN], [0.5, 2, -1, 4]],),
    ([[NAN], [3]],),
    ([[2, 1, 0, 4], [3, 3, 1, 0]],),
)


def _place(function: Callable[..., Any], x: Array, axis: int | None) -> Array:
    """NumPy's, but -1 where all are nan."""
    known = ~np.isnan(x) if is_float(x.dtype) else np.ones(x.shape, bool)
    some = known.any(axis, keepdims=True)
    found = function(np.where(some, x, 0), axis)
    return np.where(known.any(axis), found, -1).astype(np.int64)


def of_places(name: str) -> Entry:
    call: Any = getattr(ph, name)
    oracle = getattr(np, name)
    return Entry(
        name,
        lambda x: (call(x), call(x, 0), call(x, 1, keepdims=True)),
        lambda x: (_place(oracle, x, None), _place(oracle, x, 0), _place(oracle, x, 1)[:, None]),
        GAPS,
        NUMBERS,
        result_dtype=gives("int64"),
        gradient=NO_SLOPE,
        sizes=("n+ m+",),
    )


def running(name: str) -> Entry:
    call: Any = getattr(ph, name)
    oracle = getattr(np, name)
    return Entry(
        name,
        lambda x: (call(x), call(x, 0), call(x, -1)),
        lambda x: (oracle(x), oracle(x, 0), oracle(x, -1)),
        GAPS,
        NUMBERS,
        rtol=2.0**-19,
        why=RUNNING,
        result_dtype=summed,
    )


NANS = (
    Entry(
        "nanprod",
        lambda x: (ph.nanprod(x), ph.nanprod(x, 1), ph.nanprod(x, 0, keepdims=True)),
        lambda x: (np.nanprod(x), np.nanprod(x, 1), np.nanprod(x, 0, keepdims=True)),
        GAPS,
        NUMBERS,
        rtol=2.0**-19,
        why=RUNNING,
        result_dtype=summed,
        sizes=("n m",),
    ),
    running("nancumsum"),
    running("nancumprod"),
    of_places("nanargmax"),
    of_places("nanargmin"),
)


def _with_first(function: Callable[..., Any], x: Array, axis: int, first: int) -> Array:
    made = function(x, axis)
    head = np.full_like(np.take(made, [0] * min(1, x.shape[axis]), axis), first)
    shape = list(made.shape)
    shape[axis] = 1
    return np.concatenate(
        [np.full(shape, first, made.dtype) if not head.size else head, made], axis
    )


def standard(name: str, oracle: Callable[..., Any], first: int) -> Entry:
    call: Any = getattr(ph, name)
    return Entry(
        name,
        lambda x: (call(x, 1), call(x, 0, include_initial=True), call(x[0])),
        lambda x: (oracle(x, 1), _with_first(oracle, x, 0, first), oracle(x[0])),
        of_shape((3, 4), (1, 20), low=-2.0, high=2.0),
        (*NUMBERS, "bool"),
        rtol=2.0**-17,
        scale=lambda x: (np.abs(oracle(np.abs(x), 1)).max(initial=0) + 1.0,) * 3,
        why=RUNNING,
        result_dtype=summed,
        onnx=("CumSum",) if "sum" in name else ("CumProd",),
        aten=("cumsum",) if "sum" in name else ("cumprod",),
    )


RUNNING_VALUES = (
    standard("cumulative_sum", np.cumsum, 0),
    standard("cumulative_prod", np.cumprod, 1),
)

HISTOGRAMS = (
    Entry(
        "histc",
        lambda x: (ph.histc(x, 4, -2, 2), ph.histogram_bin_edges(x, 2, (0.0, 1.0))),
        lambda x: (
            np.histogram(x, 4, (-2, 2))[0].astype(x.dtype),
            np.array([0.0, 0.5, 1.0]).astype(x.dtype),
        ),
        of_shape((7,), (3, 5), low=-3.0, high=3.0),
        ("float64", "float32"),
        gradient=NO_SLOPE,
        aten=("histc",),
        sizes=("n",),
    ),
    Entry(
        "histogram_bin_edges",
        lambda x: ph.histogram_bin_edges(x, 5),
        lambda x: np.histogram_bin_edges(x, 5),
        of_shape((7,), (3, 5)),
        ("float64", "float32"),
        gradient="almost everywhere",
    ),
)

ENTRIES: tuple[Entry, ...] = (
    *SETS,
    *AGREEMENT,
    *ORDERS,
    *NANS,
    *RUNNING_VALUES,
    *HISTOGRAMS,
)
