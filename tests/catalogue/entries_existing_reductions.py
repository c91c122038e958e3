"""The catalogue's entries for reductions, rows, running values and loops."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import scipy.special as special
from catalogue.entries_existing_arithmetic import WHOLE
from catalogue.entry import (
    ALL,
    BOOL,
    FLOATS,
    INTS,
    Array,
    Cases,
    Entry,
    Speed,
    floated,
    gives,
    summed,
)
from catalogue.inputs import given, joined, million, of_shape, with_specials

import photic as ph

INF, NAN = float("inf"), float("nan")
SQUARE = million((1000, 1000))
# A sum of n float32 errs by at most n*2**-24 of the sum of magnitudes, by its root as a rule; the
# largest here has 10,001 terms.
SUM_ERROR = 2.0**-18
SUM_WHY = "sums are added in any order; relative to the sum of magnitudes"

LINES = of_shape((0,), (1,), (7,), (10_001,), (100, 33))
SPECIAL_SUMS = given([[NAN, 1.0]], [[INF, 1.0]], [[INF, -INF]], [[-INF, 2.0]], [[-0.0, -0.0]])
CUBES = of_shape((3, 4, 5), (1, 1, 1), (2, 0, 3), (5, 33, 2))


def reduction(
    name: str,
    call: Callable[..., Any],
    oracle: Callable[..., Any],
    inputs: Cases,
    dtypes: Sequence[str] = FLOATS,
    *,
    sizes: tuple[str, ...] = ("n",),
    onnx: tuple[str, ...] = (),
    aten: tuple[str, ...] = (),
    **more: Any,
) -> Entry:
    return Entry(
        name,
        call,
        oracle,
        inputs,
        tuple(dtypes),
        sizes=sizes,
        onnx=onnx,
        aten=aten or (name,),
        **more,
    )


def axes_of(name: str, oracle: Callable[..., Array], **more: Any) -> Entry:
    """The function over one axis, a negative one, several; kept and not."""
    function = getattr(ph, name)
    return reduction(
        f"{name}.axes",
        lambda x: (
            function(x, axis=0),
            function(x, axis=-1),
            function(x, axis=(0, 2)),
            function(x, axis=(-2,), keepdims=True),
            function(x, keepdims=True),
            function(x, axis=()),
        ),
        lambda x: (
            oracle(x, axis=0),
            oracle(x, axis=-1),
            oracle(x, axis=(0, 2)),
            oracle(x, axis=(-2,), keepdims=True),
            oracle(x, keepdims=True),
            oracle(x, axis=()),
        ),
        **{"inputs": CUBES, "sizes": ("n m k",), **more},
    )


def of_magnitudes(oracle: Callable[..., Array]) -> Callable[..., Any]:
    """The scale of an entry of ``axes_of``: the same reduction of magnitudes."""
    return lambda x: (
        oracle(np.abs(x), axis=0),
        oracle(np.abs(x), axis=-1),
        oracle(np.abs(x), axis=(0, 2)),
        oracle(np.abs(x), axis=(-2,), keepdims=True),
        oracle(np.abs(x), keepdims=True),
        oracle(np.abs(x), axis=()),
    )


def _sum(x: Array, **options: Any) -> Array:
    return np.sum(x, dtype=np.int64 if x.dtype.kind in "iub" else None, **options)


def _prod(x: Array, **options: Any) -> Array:
    return np.prod(x, dtype=np.int64 if x.dtype.kind in "iub" else None, **options)


def along(name: str) -> Speed:
    """Over the rows of a square, with torch's function of that name."""
    return Speed(
        lambda torch, x: getattr(torch, name)(x, 1), SQUARE, lambda x: getattr(ph, name)(x, 1)
    )


# --- sums, products, means ------------------------------------------------------------------

SUM = {"rtol": SUM_ERROR, "why": SUM_WHY}

SUMS = (
    reduction(
        "sum",
        ph.sum,
        _sum,
        joined(LINES, SPECIAL_SUMS, of_shape(())),
        scale=lambda x: np.sum(np.abs(x)),
        onnx=("ReduceSum",),
        speed=along("sum"),
        **SUM,
    ),
    reduction(
        "sum.integers",
        ph.sum,
        _sum,
        LINES,
        (*INTS, *BOOL),
        result_dtype=summed,
        gradient=WHOLE,
        onnx=("ReduceSum",),
        aten=("sum",),
    ),
    axes_of("sum", _sum, dtypes=FLOATS, scale=of_magnitudes(_sum), aten=("sum",), **SUM),
    reduction(
        "mean",
        ph.mean,
        lambda x: np.mean(x, dtype=np.float64),
        joined(LINES, SPECIAL_SUMS, of_shape(())),
        ALL,
        scale=lambda x: np.mean(np.abs(x), dtype=np.float64),
        result_dtype=floated,
        onnx=("ReduceMean",),
        speed=along("mean"),
        **SUM,
    ),
    axes_of("mean", np.mean, dtypes=FLOATS, scale=of_magnitudes(np.mean), aten=("mean",), **SUM),
    reduction(
        "prod",
        ph.prod,
        _prod,
        joined(of_shape((0,), (1,), (7,), (100,), low=0.7, high=1.4), SPECIAL_SUMS),
        rtol=2.0**-16,
        why="100 factors, each rounded",
        half_ulps=200.0,
        onnx=("ReduceProd",),
        speed=Speed(
            lambda torch, x: torch.prod(x, 1),
            million((1000, 1000), low=0.99, high=1.01),
            lambda x: ph.prod(x, 1),
        ),
    ),
    reduction(
        "prod.integers",
        ph.prod,
        _prod,
        LINES,
        (*INTS, *BOOL),
        result_dtype=summed,
        gradient=WHOLE,
        onnx=("ReduceProd",),
        aten=("prod",),
    ),
    axes_of(
        "prod",
        _prod,
        dtypes=FLOATS,
        inputs=of_shape((3, 4, 5), (1, 1, 1), (2, 0, 3), low=0.7, high=1.4),
        rtol=2.0**-16,
        half_ulps=200.0,
        why="60 factors, each rounded",
        aten=("prod",),
    ),
    reduction(
        "var",
        lambda x: (ph.var(x, 1), ph.var(x, -1, ddof=1), ph.var(x), ph.var(x, 0, keepdims=True)),
        lambda x: (np.var(x, 1), np.var(x, -1, ddof=1), np.var(x), np.var(x, 0, keepdims=True)),
        of_shape((5, 7), (3, 1), (2, 1001), (0, 3)),
        sizes=("n m",),
        rtol=2.0**-16,
        atol=2.0**-30,
        why="a sum of squares of rounded distances; a distance of 0 may be an ulp of the mean",
        aten=("var",),
        speed=Speed(lambda torch, x: torch.var(x, 1), SQUARE, lambda x: ph.var(x, 1, 1)),
    ),
    reduction(
        "std",
        lambda x: (ph.std(x, 1), ph.std(x, -1, ddof=1), ph.std(x), ph.std(x, 0, keepdims=True)),
        lambda x: (np.std(x, 1), np.std(x, -1, ddof=1), np.std(x), np.std(x, 0, keepdims=True)),
        of_shape((5, 7), (3, 1), (2, 1001), (0, 3)),
        sizes=("n m",),
        rtol=2.0**-16,
        atol=2.0**-15,
        why="as var, whose root it is: a distance of 0 may be an ulp of the mean",
        aten=("std",),
        speed=Speed(lambda torch, x: torch.std(x, 1), SQUARE, lambda x: ph.std(x, 1, 1)),
    ),
)


# --- extremes -------------------------------------------------------------------------------

ROWS = with_specials((7,), (1,), (10_001,))
BLOCKS = with_specials((3, 4, 5), (1, 1, 1), (5, 33, 2))


def extremes(name: str, onnx: str) -> tuple[Entry, Entry]:
    options: dict[str, Any] = {
        "ulps": 0,
        "zero_signs": False,
        "gradient": "almost everywhere",
        "onnx": (onnx,),
        "aten": (name, f"a{name}"),
    }
    whole = reduction(
        name,
        getattr(ph, name),
        getattr(np, name),
        joined(ROWS, of_shape(())),
        ALL,
        speed=Speed(
            lambda torch, x: getattr(torch, f"a{name}")(x, 1),
            SQUARE,
            lambda x: getattr(ph, name)(x, 1),
        ),
        **options,
    )
    axes = axes_of(name, getattr(np, name), dtypes=ALL, inputs=BLOCKS, **options)
    return whole, axes


def _lowest(x: Array) -> tuple[Array, Array]:
    if x.dtype.kind == "b":
        return np.array(False), np.array(True)
    if x.dtype.kind == "f":
        return np.array(-INF), np.array(INF)
    return np.array(np.iinfo(x.dtype).min), np.array(np.iinfo(x.dtype).max)


def places(name: str, onnx: str) -> Entry:
    function, oracle = getattr(ph, name), getattr(np, name)
    return reduction(
        name,
        lambda x: (
            function(x),
            function(x, 0),
            function(x, -1),
            function(x, 1, keepdims=True),
            function(x, keepdims=True),
        ),
        lambda x: (
            oracle(x),
            oracle(x, 0),
            oracle(x, -1),
            oracle(x, 1, keepdims=True),
            oracle(x, keepdims=True),
        ),
        with_specials((3, 5), (1, 1), (7, 1001)),
        ALL,
        sizes=("n+ m+",),
        result_dtype=gives("int64"),
        gradient="none: places",
        onnx=(onnx,),
        speed=along(name),
    )


def truths(name: str) -> tuple[Entry, Entry]:
    options: dict[str, Any] = {
        "result_dtype": gives("bool"),
        "gradient": "none: bools",
        "aten": (name,),
    }
    whole = reduction(
        name,
        getattr(ph, name),
        getattr(np, name),
        joined(ROWS, of_shape((0,), ()), given([[0, 0]], [[1, 1]])),
        ALL,
        **options,
    )
    cubes = joined(BLOCKS, of_shape((2, 0, 3)))
    return whole, axes_of(name, getattr(np, name), dtypes=ALL, inputs=cubes, **options)


EXTREMES = (
    *extremes("max", "ReduceMax"),
    *extremes("min", "ReduceMin"),
    reduction(
        "max.nothing",
        lambda x: (ph.max(x), ph.min(x)),
        _lowest,
        of_shape((0,)),
        ALL,
        ulps=0,
        gradient="none: of nothing",
        onnx=("ReduceMax", "ReduceMin"),
        aten=("amax", "amin"),
    ),
    places("argmax", "ArgMax"),
    places("argmin", "ArgMin"),
    *truths("any"),
    *truths("all"),
)


# --- rows -----------------------------------------------------------------------------------

SCORES = joined(
    of_shape((3, 5), (1, 1), (7, 1001), (4, 33), low=-20.0, high=20.0),
    given([[[-INF, 0.0], [-INF, -INF]]], [[[NAN, 0.0], [INF, 0.0]]], [[[1e4, 1e4], [-1e4, 0.0]]]),
)
ROW_WHY = "the argument is scaled by log2(e) before exp2: within 3e-7 of the row's largest weight"


ROW_FUNCTIONS = (
    reduction(
        "softmax",
        lambda x: (ph.softmax(x), ph.softmax(x, 0), ph.softmax(x, (0, 1))),
        lambda x: (special.softmax(x, -1), special.softmax(x, 0), special.softmax(x, (0, 1))),
        SCORES,
        sizes=("n+ m+",),
        atol=3e-7 * 2,
        rtol=2.0**-20,
        why=ROW_WHY,
        onnx=("Softmax",),
        aten=("softmax", "_softmax"),
        speed=along("softmax"),
    ),
    reduction(
        "log_softmax",
        lambda x: (ph.log_softmax(x), ph.log_softmax(x, 0)),
        lambda x: (special.log_softmax(x, -1), special.log_softmax(x, 0)),
        joined(
            of_shape((3, 5), (1, 1), (7, 1001), (4, 33), low=-20.0, high=20.0),
            given([[[NAN, 0.0], [1.0, 0.0]]], [[[1e4, 1e4], [-1e4, 0.0]]]),
        ),
        sizes=("n+ m+",),
        rtol=2.0**-20,
        atol=2.0**-20,
        why=ROW_WHY,
        onnx=("LogSoftmax",),
        aten=("log_softmax", "_log_softmax"),
        speed=along("log_softmax"),
    ),
    reduction(
        "logsumexp",
        lambda x: (
            ph.logsumexp(x),
            ph.logsumexp(x, 0),
            ph.logsumexp(x, -1),
            ph.logsumexp(x, (0, 1), keepdims=True),
        ),
        lambda x: (
            special.logsumexp(x),
            special.logsumexp(x, 0),
            special.logsumexp(x, -1),
            special.logsumexp(x, (0, 1), keepdims=True),
        ),
        SCORES,
        sizes=("n+ m+",),
        rtol=2.0**-20,
        atol=2.0**-20,
        why=ROW_WHY,
        onnx=("ReduceLogSumExp",),
        aten=("logsumexp",),
        speed=along("logsumexp"),
    ),
)


# --- running values -------------------------------------------------------------------------


def running(
    name: str, oracle: Callable[..., Array], onnx: tuple[str, ...], low: float
) -> tuple[Entry, Entry]:
    function = getattr(ph, name)

    def call(x: ph.Tensor) -> tuple[ph.Tensor, ...]:
        return function(x, 0), function(x, -1), function(x)

    def exact(x: Array) -> tuple[Array, ...]:
        dtype = np.int64 if x.dtype.kind in "iub" else None
        return oracle(x, 0, dtype), oracle(x, -1, dtype), oracle(x, None, dtype)

    shapes = of_shape((3, 5), (1, 1), (4, 1), (2, 0), (3, 1001), low=low, high=2.0 - low)
    special_rows = given([[[NAN, 1.0], [1.0, 1.0]]], [[[1.0, INF], [2.0, 3.0]]])
    floats = reduction(
        name,
        call,
        exact,
        joined(shapes, special_rows),
        sizes=("n 5",),
        rtol=2.0**-12 if name == "cumprod" else SUM_ERROR,
        half_ulps=0.6,
        scale=(lambda x: exact(np.abs(x))),
        why="each is a sum or product of all before it, in any order",
        onnx=onnx,
        speed=along(name),
    )
    whole = reduction(
        f"{name}.integers",
        call,
        exact,
        of_shape((3, 5), (1, 1), (4, 1), (2, 0), (3, 101)),
        (*INTS, *BOOL),
        sizes=("n 5",),
        result_dtype=summed,
        gradient=WHOLE,
        onnx=onnx,
        aten=(name,),
    )
    return floats, whole


def _last_and_sums(x: ph.Tensor) -> tuple[ph.Tensor, ...]:
    """A running sum as a loop: the last value, and all of them."""
    first = ph.zeros(x.shape[1:], x.dtype)
    (last,), (every,) = ph.scan(lambda c, s: ((c[0] + s[0],), (c[0] + s[0],)), (first,), (x,))
    return last, every


def _running(x: Array) -> tuple[Array, Array]:
    """In the array's own dtype: integers wrap."""
    return np.sum(x, 0, dtype=x.dtype), np.cumsum(x, 0, dtype=x.dtype)


LOOPS = (
    *running("cumsum", np.cumsum, ("CumSum",), -4.0),
    *running("cumprod", np.cumprod, ("CumProd",), 0.98),
    reduction(
        "scan",
        _last_and_sums,
        _running,
        of_shape((3, 5), (1, 1), (0, 2), (101, 3)),
        ("float64", "float32", *INTS),
        sizes=("n m",),
        scale=lambda x: _running(np.abs(x)),
        onnx=("Scan", "Loop"),
        **SUM,
    ),
)

ENTRIES = (*SUMS, *EXTREMES, *ROW_FUNCTIONS, *LOOPS)
