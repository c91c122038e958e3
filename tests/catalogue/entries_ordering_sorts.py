"""The catalogue's entries for orders of elements and order statistics."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
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
    gives,
    with_indices,
)
from catalogue.inputs import given, joined, million, of_shape, with_specials

import photic as ph

INF, NAN = float("inf"), float("nan")
SQUARE = million((1000, 1000))
NO_SLOPE = "none: places are integers"
# Axes that are ordered by comparing all with all, and longer ones, by digits; not of whole runs.
LINES = with_specials((0,), (1,), (7,), (33,), (600,))
ROWS = with_specials((3, 5), (1, 1), (0, 4), (4, 0), (5, 2, 6), (2, 530))
COLUMNS = with_specials((3, 5), (40, 3), (0, 4), (4, 0), (5, 2, 6))
# Of axes of five and more.
FIRSTS = with_specials((5,), (7,), (33,), (600,), (2100,))
PLANES = with_specials((3, 5), (1, 6), (0, 5), (2, 3, 7), (2, 700))

DIGITS = "each digit of the keys is a pass with counts and a scatter, lane by lane"


# --- orders ---------------------------------------------------------------------------------


def rising(x: Array, axis: int = -1) -> Array:
    return np.argsort(x, axis, kind="stable")


def falling(x: Array, axis: int = -1) -> Array:
    """nan first; equal elements keep their order."""
    return np.flip(x.shape[axis] - 1 - rising(np.flip(x, axis), axis), axis)


def in_order(places: Callable[..., Array], x: Array, axis: int) -> Array:
    return np.take_along_axis(x, places(x, axis), axis)


def orders(name: str, axis: int, falls: bool, cases: Any, arrays: Any) -> tuple[Entry, Entry]:
    """``sort`` and ``argsort`` along one axis, in one direction."""
    places = falling if falls else rising
    suffix = f".{name}" if name else ""

    every = {"inputs": cases, "dtypes": ALL, "sizes": ("n",) if axis == 0 and not name else ()}
    return (
        Entry(
            f"sort{suffix}",
            lambda x: ph.sort(x, axis, falls),
            lambda x: in_order(places, x, axis),
            gradient="almost everywhere",
            aten=("sort", "msort"),
            speed=Speed(lambda torch, x: torch.sort(x, axis, falls)[0], arrays, why=DIGITS),
            **every,
        ),
        Entry(
            f"argsort{suffix}",
            lambda x: ph.argsort(x, axis, falls),
            lambda x: places(x, axis),
            result_dtype=gives("int64"),
            gradient=NO_SLOPE,
            aten=("argsort", "sort"),
            speed=Speed(lambda torch, x: torch.argsort(x, axis, falls), arrays, why=DIGITS),
            **every,
        ),
    )


def firsts(name: str, k: int, axis: int, largest: bool, cases: Any, arrays: Any = None) -> Entry:
    places = falling if largest else rising

    def exact(x: Array) -> tuple[Array, Array]:
        found = np.take(places(x, axis), range(k), axis)
        return np.take_along_axis(x, found, axis), found

    return Entry(
        f"topk{name}",
        lambda x: ph.topk(x, k, axis, largest),
        exact,
        cases,
        ALL,
        result_dtype=with_indices,
        gradient="almost everywhere",
        onnx=("TopK",),
        aten=("topk",),
        speed=arrays and Speed(lambda torch, x: torch.topk(x, k, axis, largest), arrays),
    )


ORDERS = (
    *orders("", 0, False, LINES, million()),
    *orders("rows", -1, False, ROWS, SQUARE),
    *orders("columns", 0, False, COLUMNS, SQUARE),
    *orders("falling", -1, True, joined(LINES, COLUMNS), million()),
    Entry(
        "sort.all",
        lambda x: (ph.sort(x, None), ph.argsort(x, None)),
        lambda x: (in_order(rising, x.ravel(), 0), rising(x.ravel())),
        with_specials((), (3, 5), (0, 4), (2, 3, 4)),
        NUMBERS,
        result_dtype=with_indices,
        gradient="almost everywhere",
        aten=("sort",),
    ),
    firsts("", 5, 0, True, FIRSTS, million()),
    firsts(".smallest", 5, 0, False, FIRSTS, million()),
    firsts(".rows", 3, -1, True, PLANES, SQUARE),
    firsts(".hundred", 100, -1, True, with_specials((100,), (2, 150), (2, 2100)), SQUARE),
    firsts(".none", 0, -1, True, with_specials((0,), (3, 4))),
)

# --- order statistics -----------------------------------------------------------------------


def kth(name: str, k: int, axis: int, cases: Any, arrays: Any, at_million: int) -> Entry:
    def exact(x: Array) -> tuple[Array, Array]:
        value = np.take(in_order(rising, x, axis), [k - 1], axis)
        same = (x == value) | ((x != x) & (value != value))
        return value.squeeze(axis), np.argmax(same, axis)

    return Entry(
        f"kthvalue{name}",
        lambda x: ph.kthvalue(x, k, axis),
        exact,
        cases,
        ALL,
        zero_signs=False,
        result_dtype=with_indices,
        gradient="almost everywhere",
        aten=("kthvalue",),
        speed=Speed(
            lambda torch, x: torch.kthvalue(x, at_million, axis),
            arrays,
            lambda x: ph.kthvalue(x, at_million, axis),
        ),
    )


def quiet(function: Callable[..., Any]) -> Callable[[Array], Array]:
    """NumPy's answer without its warnings."""

    def exact(x: Array) -> Array:
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)
            return np.asarray(function(x))

    return exact


MIDDLES = of_shape((1,), (2,), (7,), (600,), (2, 3, 4), (5, 40))
# Of infinities NumPy's interpolation makes nan where they meet; here equal ones stay.
SOME_NAN = given([[NAN, 1.0, 2.0]], [[1.0, 2.0, 3.0, NAN]], [[NAN]], [[[NAN, 1.0], [3.0, 2.0]]])


def statistic(
    name: str,
    call: Callable[..., Any],
    exact: Callable[..., Any],
    *,
    cases: Any = MIDDLES,
    dtypes: Sequence[str] = (*FLOATS, *INTS),
    sizes: str = "",
    aten: tuple[str, ...] = (),
    speed: Speed | None = None,
) -> Entry:
    return Entry(
        name,
        call,
        quiet(exact),
        cases,
        tuple(dtypes),
        ulps=2.0,
        half_ulps=0.5,
        zero_signs=False,
        result_dtype=floated,
        gradient="almost everywhere",
        sizes=(sizes,) if sizes else (),
        aten=aten,
        speed=speed,
    )


QUARTILES = (0.1, 0.5, 0.9)
METHODS = ("lower", "higher", "nearest", "midpoint")


def by_method(method: str) -> Entry:
    parts = [0.0, 0.25, 0.3, 0.5, 0.75, 1.0]
    return statistic(
        f"quantile.{method}",
        lambda x: ph.quantile(x, parts, method=method),
        lambda x: np.quantile(x, parts, method=method),
        cases=of_shape((7,), (5, 8)),
        dtypes=FLOATS,
        aten=("quantile",),
    )


STATISTICS = (
    kth("", 1, 0, with_specials((1,), (7,), (600,), (3, 4)), million(), 500_000),
    kth(".third", 3, -1, with_specials((3,), (7,), (2, 40), (3, 2, 600)), SQUARE, 500),
    statistic(
        "median",
        ph.median,
        np.median,
        cases=joined(MIDDLES, SOME_NAN),
        sizes="n+",
        aten=("median",),
        speed=Speed(lambda torch, x: torch.median(x), million()),
    ),
    statistic(
        "median.rows",
        lambda x: ph.median(x, -1, keepdims=True),
        lambda x: np.median(x, -1, keepdims=True),
        sizes="n 40",
        aten=("median",),
        speed=Speed(lambda torch, x: torch.median(x, -1, keepdim=True)[0], SQUARE),
    ),
    statistic(
        "median.axes",
        lambda x: ph.median(x, (0, 2)),
        lambda x: np.median(x, (0, 2)),
        cases=of_shape((2, 3, 4), (1, 1, 1), (5, 2, 7)),
        aten=("median",),
    ),
    statistic(
        "nanmedian",
        ph.nanmedian,
        np.nanmedian,
        cases=joined(MIDDLES, SOME_NAN),
        aten=("nanmedian",),
        speed=Speed(lambda torch, x: torch.nanmedian(x), million()),
    ),
    statistic(
        "quantile",
        lambda x: ph.quantile(x, QUARTILES),
        lambda x: np.quantile(x, QUARTILES),
        cases=joined(MIDDLES, SOME_NAN),
        sizes="n+",
        aten=("quantile",),
        speed=Speed(lambda torch, x: torch.quantile(x, torch.tensor(QUARTILES)), million()),
    ),
    statistic(
        "quantile.rows",
        lambda x: ph.quantile(x, [[0.2, 0.4]], -1, keepdims=True),
        lambda x: np.quantile(x, [[0.2, 0.4]], -1, keepdims=True),
        aten=("quantile",),
        speed=Speed(
            lambda torch, x: torch.quantile(x, torch.tensor([0.2, 0.4]), -1),
            SQUARE,
            lambda x: ph.quantile(x, [0.2, 0.4], -1),
        ),
    ),
    statistic(
        "quantile.many",
        lambda x: ph.quantile(x, np.linspace(0, 1, 101)),
        lambda x: np.quantile(x, np.linspace(0, 1, 101)),
        dtypes=("float64", "float32", "int32"),
        aten=("quantile",),
        speed=Speed(lambda torch, x: torch.quantile(x, torch.linspace(0, 1, 101)), million()),
    ),
    *map(by_method, METHODS),
    statistic(
        "nanquantile",
        lambda x: ph.nanquantile(x, 0.3, 0),
        lambda x: np.nanquantile(x, 0.3, 0),
        cases=joined(MIDDLES, SOME_NAN),
        aten=("nanquantile",),
        speed=Speed(lambda torch, x: torch.nanquantile(x, 0.3, 0), million()),
    ),
    statistic(
        "percentile", lambda x: ph.percentile(x, [5, 50]), lambda x: np.percentile(x, [5, 50])
    ),
    statistic(
        "nanpercentile",
        lambda x: ph.nanpercentile(x, 30, -1),
        lambda x: np.nanpercentile(x, 30, -1),
        cases=joined(MIDDLES, SOME_NAN),
    ),
)

ENTRIES = (*ORDERS, *STATISTICS)
