"""The catalogue's entries for functions of whole matrices, divisors, parts of floats, and bits."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.special
from catalogue.entries_existing_arithmetic import single
from catalogue.entry import ALL, FLOATS, INTS, Array, Entry, floated, gives
from catalogue.inputs import given, joined, of_shape, of_shapes, one_array, within

import photic as ph

ERROR = 2.0**-14
BY_CONDITION = "roundings of the algorithm, times a condition below 100"
WHOLE = "none: integers"


def squares(dtype: Any, random: np.random.Generator) -> Any:
    """Matrices that are far from singular; the last two are a batch."""
    for lead, n in (((), 1), ((), 3), ((), 6), ((2,), 4)):
        drawn = random.uniform(-1, 1, (*lead, n, n)) + 2.0 * np.eye(n)
        yield (drawn.astype(dtype),)


def of_matrix(
    name: str, call: Callable[..., Any], oracle: Callable[..., Any], **more: Any
) -> Entry:
    count = more.pop("count", 1)

    def scale(*x: Array) -> Any:
        made = oracle(*x)
        many = made if isinstance(made, tuple) else (made,)
        found = tuple(np.asarray(np.max(np.abs(one), initial=1.0)) for one in many)
        return found if count > 1 else found[0]

    return Entry(
        name,
        call,
        oracle,
        more.pop("inputs", squares),
        ("float64", "float32"),
        rtol=ERROR,
        scale=scale,
        why=BY_CONDITION,
        **more,
    )


HALVINGS, TERMS = 10, 24


def _exponential(x: Array) -> Array:
    """By Taylor's series in long doubles: SciPy's errs by up to 1e-13."""
    small = x.astype(np.longdouble) / 2**HALVINGS
    one = np.broadcast_to(np.eye(x.shape[-1], dtype=np.longdouble), x.shape)
    result = one
    for k in range(TERMS, 0, -1):
        result = one + small @ result / k
    for _ in range(HALVINGS):
        result = result @ result
    return result.astype(np.float64)


MATRICES = (
    of_matrix(
        "vector_norm",
        lambda x: (ph.vector_norm(x), ph.vector_norm(x, (0, 1), True, ord=3), ph.vector_norm(x, 0)),
        lambda x: (
            np.linalg.vector_norm(x),
            np.linalg.vector_norm(x, axis=(0, 1), keepdims=True, ord=3),
            np.linalg.vector_norm(x, axis=0),
        ),
        inputs=of_shape((3, 4), (1, 1), (2, 5)),
        count=3,
        aten=("linalg_vector_norm",),
        sizes=("n m",),
    ),
    of_matrix(
        "matrix_norm",
        lambda x: (ph.matrix_norm(x), ph.matrix_norm(x, True, 1), ph.matrix_norm(x, ord="nuc")),
        lambda x: (
            np.linalg.matrix_norm(x),
            np.linalg.matrix_norm(x, keepdims=True, ord=1),
            np.linalg.matrix_norm(x, ord="nuc"),
        ),
        count=3,
        aten=("linalg_matrix_norm", "nuclear_norm"),
    ),
    of_matrix(
        "cond",
        lambda x: (ph.cond(x), ph.cond(x, -2), ph.cond(x, 1), ph.cond(x, "fro")),
        lambda x: tuple(np.asarray(np.linalg.cond(x, p)) for p in (None, -2, 1, "fro")),
        count=4,
        aten=("linalg_cond",),
    ),
    of_matrix(
        "logdet",
        ph.logdet,
        lambda x: np.log(np.linalg.det(x)),
        aten=("logdet",),
    ),
    of_matrix(
        "cholesky_inverse",
        lambda x: ph.cholesky_inverse(ph.tril(x)),
        lambda x: np.linalg.inv(np.tril(x) @ np.swapaxes(np.tril(x), -1, -2)),
        aten=("cholesky_inverse",),
    ),
    of_matrix(
        "matrix_exp",
        lambda x: (ph.matrix_exp(x), ph.matrix_exp(x * 0.01), ph.matrix_exp(x * -8.0)),
        lambda x: (_exponential(x), _exponential(x * 0.01), _exponential(x * -8.0)),
        count=3,
        aten=("matrix_exp", "linalg_matrix_exp"),
    ),
    of_matrix(
        "tensorinv",
        lambda x: ph.tensorinv(x.reshape(2, 3, 6)),
        lambda x: np.linalg.tensorinv(x.reshape(2, 3, 6)),
        inputs=lambda dtype, random: [
            (random.uniform(-1, 1, (6, 6)) + 2 * np.eye(6)).astype(dtype)[None]
        ],
        aten=("linalg_tensorinv",),
    ),
    of_matrix(
        "tensorsolve",
        lambda x, b: ph.tensorsolve(x.reshape(2, 3, 6), b),
        lambda x, b: np.linalg.tensorsolve(x.reshape(2, 3, 6), b),
        inputs=lambda dtype, random: [
            (
                (random.uniform(-1, 1, (6, 6)) + 2 * np.eye(6)).astype(dtype),
                random.uniform(-1, 1, (2, 3)).astype(dtype),
            )
        ],
        aten=("linalg_tensorsolve",),
    ),
)

# --- elementwise ----------------------------------------------------------------------------


def _entropy(x: Array) -> Array:
    return np.asarray(scipy.special.entr(single(x)))


def _normal_share(x: Array) -> Array:
    """By the C library's complement, made good for the rounding of its argument."""
    exact = np.asarray(x).astype(np.longdouble) * -np.sqrt(np.longdouble(0.5))
    given = exact.astype(np.float64)
    slope = (exact - given).astype(np.float64) * (2 / math.sqrt(math.pi))
    share = np.vectorize(math.erfc, otypes=[np.float64])(given) / 2
    return np.where(np.isfinite(given), share * (1 - slope / scipy.special.erfcx(given)), share)


FUNCTIONS = (
    Entry(
        "ndtr",
        ph.ndtr,
        lambda x: _normal_share(single(x)),
        within(-9, 9, also=(math.inf, -math.inf, math.nan, 0.0)),
        ALL,
        ulps=4,
        result_dtype=floated,
        aten=("special_ndtr",),
    ),
    Entry(
        "entr",
        ph.entr,
        _entropy,
        within(-2, 50, also=(math.inf, -math.inf, math.nan, 0.0, -0.0)),
        ALL,
        ulps=4,
        zero_signs=False,
        result_dtype=floated,
        gradient="almost everywhere",
        aten=("special_entr",),
        sizes=("n",),
    ),
    Entry(
        "xlog1py",
        ph.xlog1py,
        lambda x, y: scipy.special.xlog1py(single(x), single(y)),
        within(0, 50, 2, also=(math.inf, math.nan, -1.0)),
        ALL,
        ulps=4,
        result_dtype=floated,
        gradient="almost everywhere",
        aten=("special_xlog1py",),
    ),
    Entry(
        "modf",
        ph.modf,
        lambda x: tuple(np.modf(single(x))),
        one_array,
        ALL,
        ulps=0,
        result_dtype=lambda dtype: (floated(dtype),) * 2,
        gradient="almost everywhere",
        sizes=("n",),
    ),
    Entry(
        "frexp",
        ph.frexp,
        lambda x: tuple(_frexp(single(x))),
        one_array,
        ALL,
        ulps=0,
        result_dtype=lambda dtype: (floated(dtype), np.dtype(np.int32)),
        gradient="almost everywhere",
        aten=("frexp",),
        sizes=("n",),
    ),
    Entry(
        "ldexp",
        lambda x, n: ph.ldexp(x, n),
        lambda x, n: np.ldexp(single(x), n),
        lambda dtype, random: (
            (random.uniform(-2, 2, 7).astype(dtype), random.integers(-30, 30, 7)),
            (np.array([1, 0, -1.5]).astype(dtype), np.array([[1500], [-1100], [0], [-149]])),
        ),
        FLOATS,
        aten=("ldexp",),
        sizes=("n", "n"),
    ),
)


def _frexp(x: Array) -> tuple[Array, Array]:
    mantissa, exponent = np.frexp(x)
    return mantissa, np.where(np.isfinite(x), exponent, 0).astype(np.int32)


# --- integers -------------------------------------------------------------------------------


def _signed(function: Callable[[int, int], int]) -> Callable[[Array, Array], Array]:
    """Of pairs, in Python's integers; the result wraps."""

    def oracle(x: Array, y: Array) -> Array:
        a, b = np.broadcast_arrays(x, y)
        made = [function(int(m), int(n)) % 2**64 for m, n in zip(a.ravel(), b.ravel())]
        wrapped = np.array(made, np.uint64).astype(np.int64).astype(x.dtype)
        return wrapped.reshape(a.shape)

    return oracle


PAIRS = joined(
    of_shapes([(7,), (7,)], [(5, 1), (4,)], [(), (0,)], low=-100, high=100),
    given(([0, 0, 12, 127, 96, 60], [0, 5, 18, 126, 36, 84])),
)
INTEGERS = (
    Entry(
        "gcd",
        ph.gcd,
        _signed(math.gcd),
        PAIRS,
        INTS,
        gradient=WHOLE,
        aten=("gcd",),
        sizes=("n", "n"),
    ),
    Entry(
        "lcm",
        lambda x, y: ph.lcm(x % 11, y % 11),
        lambda x, y: _signed(math.lcm)(x % 11, y % 11),
        PAIRS,
        INTS,
        gradient=WHOLE,
        aten=("lcm",),
    ),
    Entry(
        "bitwise_count",
        ph.bitwise_count,
        np.bitwise_count,
        one_array,
        INTS,
        result_dtype=gives("uint8"),
        gradient=WHOLE,
        sizes=("n",),
    ),
    Entry(
        "packbits",
        lambda x: (ph.packbits(x), ph.packbits(x, 1, "little"), ph.packbits(x, -2)),
        lambda x: (
            np.packbits(x != 0),
            np.packbits(x != 0, 1, "little"),
            np.packbits(x != 0, -2),
        ),
        of_shape((3, 17), (1, 8), (2, 0), (9, 1), low=0, high=1),
        ("bool", "uint8", "int64"),
        result_dtype=gives("uint8"),
        gradient=WHOLE,
        sizes=("n m",),
    ),
    Entry(
        "unpackbits",
        lambda x: (
            ph.unpackbits(x),
            ph.unpackbits(x, 1, bitorder="little"),
            ph.unpackbits(x, 0, 5),
            ph.unpackbits(x, 1, -3),
        ),
        lambda x: (
            np.unpackbits(x),
            np.unpackbits(x, 1, bitorder="little"),
            np.unpackbits(x, 0, 5),
            np.unpackbits(x, 1, -3),
        ),
        of_shape((3, 2), (1, 5), low=0, high=255),
        ("uint8",),
        gradient=WHOLE,
        sizes=("n+ m+",),
    ),
)

ENTRIES: tuple[Entry, ...] = (*MATRICES, *FUNCTIONS, *INTEGERS)
