"""The catalogue's entries for searches, counts, distinct elements, and reductions without nan."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from catalogue.by_torch import cases, floats, whole
from catalogue.entry import (
    ALL,
    FLOATS,
    INTS,
    NUMBERS,
    Array,
    Case,
    Dtype,
    Entry,
    Speed,
    floated,
    gives,
    summed,
)
from catalogue.inputs import given, is_float, joined, million, of_shape, of_shapes, with_specials

import photic as ph

INF, NAN = float("inf"), float("nan")
SQUARE = million((1000, 1000))
NO_SLOPE = "none: numbers of places and counts are integers"

# --- searches -------------------------------------------------------------------------------


def sorted_first(*lengths: tuple[int, int]) -> Any:
    """A sorted line and what is looked for in it; many equal elements, then special values."""
    both = joined(*(with_specials((n + m,)) for n, m in lengths))

    def made(dtype: Dtype, random: np.random.Generator) -> Any:
        for number, (values,) in enumerate(both(dtype, random)):
            cut = lengths[number // 2][0]
            exact = np.sort(values[:cut].astype(np.float64 if is_float(dtype) else dtype))
            yield exact.astype(dtype), values[cut:]

    return made


SEARCHES = sorted_first((0, 3), (1, 7), (7, 0), (8, 33), (600, 40))
RISING = ([-1.0, 0.0, 0.5, 2.0], [0.0], [3.0, 2.0, 0.0, -1.0])


def _sorted_and_any(random: np.random.Generator) -> tuple[Array, ...]:
    drawn = random.uniform(-4, 4, 1_001_000).astype(np.float32)
    return np.sort(drawn[:1000]), drawn[1000:]


def search(side: str) -> Entry:
    return Entry(
        "searchsorted" if side == "left" else f"searchsorted.{side}",
        lambda a, v: ph.searchsorted(a, v, side),
        lambda a, v: np.searchsorted(a, v, side),
        SEARCHES,
        NUMBERS,
        result_dtype=gives("int64"),
        gradient=NO_SLOPE,
        sizes=("n", "m"),
        aten=("searchsorted",),
        speed=Speed(lambda torch, a, v: torch.searchsorted(a, v, side=side), _sorted_and_any),
    )


def unsorted_first(dtype: Dtype, random: np.random.Generator) -> Any:
    """A line in no order, what is looked for in it, and the places of its elements in order."""
    for line, wanted in of_shapes([(7,), (3,)], [(1,), (4,)], [(0,), (2,)])(dtype, random):
        yield line, wanted, np.argsort(line, stable=True)


def by_rows(a: Array, v: Array) -> Array:
    found = [np.searchsorted(np.sort(line), wanted) for line, wanted in zip(a, v, strict=True)]
    return np.array(found).reshape(v.shape)


def digits(name: str, bins: Sequence[float], right: bool) -> Entry:
    return Entry(
        f"digitize{name}",
        lambda x: ph.digitize(x, bins, right),
        lambda x: np.digitize(x, bins, right),
        with_specials((), (0,), (7,), (3, 5)),
        ("float64", "float32", "float16", "int32"),
        result_dtype=gives("int64"),
        gradient=NO_SLOPE,
        speed=Speed(
            lambda torch, x: torch.bucketize(x, torch.tensor(sorted(bins)), right=right), million()
        ),
    )


SEARCHING = (
    search("left"),
    search("right"),
    Entry(
        "searchsorted.rows",
        lambda a, v: ph.searchsorted(ph.sort(a), v),
        by_rows,
        of_shapes([(2, 7), (2, 3)], [(3, 1), (3, 4)], [(1, 40), (1, 9)]),
        NUMBERS,
        result_dtype=gives("int64"),
        gradient=NO_SLOPE,
        aten=("searchsorted",),
    ),
    Entry(
        "searchsorted.sorter",
        lambda a, v, order: (
            ph.searchsorted(a, v, sorter=order),
            ph.searchsorted(a, v, "right", order),
        ),
        lambda a, v, order: tuple(
            np.searchsorted(a, v, side, sorter=order) for side in ("left", "right")
        ),
        unsorted_first,
        ("float32", "int64"),
        result_dtype=gives("int64"),
        gradient=NO_SLOPE,
        sizes=("n", "m", "n"),
        aten=("searchsorted",),
    ),
    digits("", RISING[0], False),
    digits(".right", RISING[0], True),
    digits(".falling", RISING[2], False),
    digits(".one", RISING[1], True),
    Entry(
        "bucketize",
        lambda x: (ph.bucketize(x, RISING[0]), ph.bucketize(x, RISING[0], right=True)),
        lambda x: (np.digitize(x, RISING[0], True), np.digitize(x, RISING[0])),
        with_specials((7,), (3, 5)),
        ("float64", "float32", "float16", "int32"),
        result_dtype=gives("int64"),
        gradient=NO_SLOPE,
        aten=("bucketize",),
        speed=Speed(
            lambda torch, x: torch.bucketize(x, torch.tensor(RISING[0])),
            million(),
            lambda x: ph.bucketize(x, RISING[0]),
        ),
    ),
)

# --- what is not 0 --------------------------------------------------------------------------

SPARSE = with_specials((0,), (7,), (3, 5), (2, 0), (2, 3, 4), (600,))
MOST = 12  # places asked for: some cases have fewer, some more


def places(x: Array) -> tuple[Array, Array]:
    found = np.array(np.nonzero(x)).reshape(x.ndim, -1)
    filled = np.full((x.ndim, MOST), -1)
    filled[:, : min(MOST, found.shape[1])] = found[:, :MOST]
    return filled, np.array(found.shape[1])


def half_below(random: np.random.Generator) -> Case:
    """Numbers of which half are below 0."""
    return (random.permutation(np.repeat(np.float32([-1, 1]), 500_000)),)


def nonzeros(name: str, call: Callable[..., Any], exact: Callable[..., Any], peer: Any) -> Entry:
    return Entry(
        name,
        lambda x: call(x, MOST),
        exact,
        SPARSE,
        ALL,
        result_dtype=gives("int64"),
        gradient=NO_SLOPE,
        onnx=("NonZero",) if name == "nonzero" else (),
        aten=("nonzero", "argwhere"),
        speed=Speed(peer, half_below, lambda x: call(ph.less(x, 0.0), 500_000)[0]),
    )


COUNTED = (
    Entry(
        "count_nonzero",
        lambda x: (ph.count_nonzero(x), ph.count_nonzero(x, 0), ph.count_nonzero(x, -1, True)),
        lambda x: (
            np.array(np.count_nonzero(x)),
            np.count_nonzero(x, 0),
            np.count_nonzero(x, -1, keepdims=True),
        ),
        SPARSE,
        ALL,
        result_dtype=gives("int64"),
        gradient=NO_SLOPE,
        sizes=("n",),
        aten=("count_nonzero",),
        speed=Speed(
            lambda torch, x: torch.count_nonzero(x, -1), SQUARE, lambda x: ph.count_nonzero(x, -1)
        ),
    ),
    nonzeros(
        "nonzero",
        lambda x, size: ph.nonzero(x, size, -1),
        places,
        lambda torch, x: torch.nonzero(x < 0).T,
    ),
    nonzeros(
        "argwhere",
        lambda x, size: ph.argwhere(x, size, -1),
        lambda x: (places(x)[0].T, places(x)[1]),
        lambda torch, x: torch.argwhere(x < 0),
    ),
    nonzeros(
        "flatnonzero",
        lambda x, size: ph.flatnonzero(x, size, -1),
        lambda x: (places(x.ravel())[0][0], places(x.ravel())[1]),
        lambda torch, x: torch.nonzero(x < 0)[:, 0],
    ),
)

# --- counts by number -----------------------------------------------------------------------

LENGTH = 7


def occurrences(x: Array) -> Array:
    flat = x.ravel()
    return np.bincount(flat[(flat >= 0) & (flat < LENGTH)].astype(np.int64), minlength=LENGTH)


def weighted(x: Array, weights: Array) -> Array:
    inside = (x >= 0) & (x < LENGTH)
    found = np.bincount(x[inside].astype(np.int64), weights[inside], LENGTH)
    return found.astype(np.int64) if weights.dtype.kind in "iub" else found


SUM_WHY = "a sum in any order, relative to the sum of magnitudes"
SUMMED = 300  # values for which the tolerance is; of more it grows with their number


def sums_of_magnitudes(x: Array, weights: Array) -> Array:
    return weighted(x, np.abs(weights)) * max(1.0, x.size / SUMMED)


LABELS = of_shape((0,), (1,), (7,), (1000,), (3, 5), low=-2, high=9)
WEIGHTS = cases(
    *([whole(n, low=-2, high=9), floats(n)] for n in (1, 7, 300)),
    [whole(3, 5, low=0, high=7), floats(3, 5)],
)


def labels(random: np.random.Generator) -> tuple[Array, ...]:
    return (random.integers(0, 1000, 1_000_000),)


BINCOUNTS = (
    Entry(
        "bincount",
        lambda x: ph.bincount(x, length=LENGTH),
        occurrences,
        LABELS,
        INTS,
        result_dtype=gives("int64"),
        gradient=NO_SLOPE,
        sizes=("n",),
        aten=("bincount",),
        speed=Speed(
            lambda torch, x: torch.bincount(x, minlength=1000),
            labels,
            lambda x: ph.bincount(x, length=1000),
        ),
    ),
    Entry(
        "bincount.weights",
        lambda x, w: ph.bincount(x, w, length=LENGTH),
        weighted,
        WEIGHTS,
        (*FLOATS, "int32"),
        rtol=2.0**-20,
        half_ulps=0.6,
        scale=sums_of_magnitudes,
        why=SUM_WHY,
        zero_signs=False,
        result_dtype=summed,
        gradient="smooth",
        aten=("bincount",),
    ),
)

# --- histograms -----------------------------------------------------------------------------

SAMPLES = joined(of_shape((1,), (7,), (2000,), (3, 5)), given([[1.0, 1.0]], [[0.0, 10.0, 3.0]]))
UNEVEN = [-3.0, -1.0, 0.0, 0.5, 4.0]


def histograms(name: str, exact: Callable[..., Any], cases: Any = SAMPLES, **how: Any) -> Entry:
    """Edges are within 2 ulp of the range; the counts are exact."""
    density = bool(how.get("density"))

    def result(dtype: Dtype) -> tuple[Dtype, Dtype]:
        return (floated(dtype) if density else np.dtype(np.int64)), floated(dtype)

    return Entry(
        f"histogram{name}",
        lambda x: ph.histogram(x, **how),
        exact,
        cases,
        ("float64", "float32", "float16", "int32", "uint8"),
        ulps=4.0,
        atol=2.0**-20,
        half_ulps=0.6,
        why="edges are sums of steps, relative to the range",
        zero_signs=False,
        result_dtype=result,
        gradient="none: counts are integers",
        aten=("histogram", "histc"),
        speed=Speed(
            lambda torch, x: torch.histogram(x, 100),
            million(),
            lambda x: ph.histogram(x, **{**how, "bins": 100}),
        )
        if isinstance(how.get("bins", 0), int)
        else None,
    )


HISTOGRAMS = (
    histograms("", lambda x: np.histogram(x, 10)),
    histograms(".range", lambda x: np.histogram(x, 8, (-2, 2)), bins=8, range=(-2, 2)),
    histograms(
        ".nan",
        lambda x: np.histogram(x, 5, (-1, 1)),
        with_specials((33,)),
        bins=5,
        range=(-1, 1),
    ),
    histograms(".edges", lambda x: np.histogram(x, UNEVEN), bins=UNEVEN),
    histograms(
        ".density",
        lambda x: np.histogram(x, 8, (-5, 11), density=True),
        bins=8,
        range=(-5, 11),
        density=True,
    ),
    Entry(
        "histogram.weights",
        lambda x, w: ph.histogram(x, 4, (-2, 2), w)[0],
        lambda x, w: np.histogram(x, 4, (-2, 2), weights=w)[0],
        of_shapes([(1,), (1,)], [(33,), (33,)], [(3, 5), (3, 5)]),
        FLOATS,
        rtol=2.0**-20,
        half_ulps=0.6,
        scale=lambda x, w: np.histogram(x, 4, (-2, 2), weights=np.abs(w))[0],
        why=SUM_WHY,
        zero_signs=False,
        gradient="almost everywhere",
    ),
)

# --- what occurs ----------------------------------------------------------------------------

DISTINCT = joined(with_specials((0,), (1,), (7,), (3, 5), (33,)), of_shape((520,)))
SIZE = 6


def distinct(x: Array) -> tuple[Array, ...]:
    places = np.argsort(x.ravel(), kind="stable")
    _, first, which, counts = np.unique(
        x.ravel(), return_index=True, return_inverse=True, return_counts=True
    )
    del places
    values, many = np.full(SIZE, 9, x.dtype), np.zeros(SIZE, np.int64)
    shown = min(SIZE, len(first))
    values[:shown], many[:shown] = x.ravel()[first[:shown]], counts[:shown]
    return values, which.reshape(x.shape), many, np.array(len(first))


def thousand_values(random: np.random.Generator) -> Case:
    return (random.integers(0, 1000, 1_000_000).astype(np.float32),)


def distinct_dtypes(dtype: Dtype) -> tuple[Dtype, ...]:
    return dtype, *(np.dtype(np.int64),) * 3


def most_frequent(x: Array) -> tuple[Array, Array]:
    """The smallest of the most frequent, and the last place of it; nan is one value."""

    def of_line(line: Array) -> tuple[Any, int]:
        values, counts = np.unique(line, return_counts=True)
        best = values[np.argmax(counts)]
        same = (line == best) | ((line != line) & (best != best))
        return best, int(np.flatnonzero(same)[-1])

    found = [of_line(line) for line in x.reshape(-1, x.shape[-1])]
    values = np.array([one for one, _ in found], x.dtype).reshape(x.shape[:-1])
    return values, np.array([place for _, place in found], np.int64).reshape(x.shape[:-1])


OCCURRING = (
    Entry(
        "unique",
        lambda x: ph.unique(x, SIZE, 1 if x.dtype.kind == "bool" else 9),
        distinct,
        DISTINCT,
        ALL,
        zero_signs=False,
        result_dtype=distinct_dtypes,
        gradient="almost everywhere",
        sizes=("n",),
        onnx=("Unique",),
        aten=("unique_dim", "_unique2"),
        speed=Speed(
            lambda torch, x: torch.unique(x, return_inverse=True, return_counts=True),
            thousand_values,
            lambda x: ph.unique(x, 1000)[:3],
        ),
    ),
    Entry(
        "mode",
        lambda x: ph.mode(x),
        most_frequent,
        joined(with_specials((1,), (7,), (3, 5), (2, 3, 40)), of_shape((520,))),
        ALL,
        zero_signs=False,
        result_dtype=lambda dtype: (dtype, np.dtype(np.int64)),
        gradient="almost everywhere",
        aten=("mode",),
        speed=Speed(lambda torch, x: torch.mode(x), million()),
    ),
)

ENTRIES = (
    *SEARCHING,
    *COUNTED,
    *BINCOUNTS,
    *HISTOGRAMS,
    *OCCURRING,
)
