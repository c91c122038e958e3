"""The catalogue's entries for decompositions of matrices, eigenvalues and singular values.

Where an answer is not unique (the signs of singular vectors, the order of rows that are no pivots)
the entry gives what is: the product of the factors, and their products with themselves.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
from catalogue.entry import FLOATS, HALVES, Array, Case, Cases, Dtype, Entry, Speed, Workload
from catalogue.inputs import laid

import photic as ph

Shape = tuple[int, ...]

# Where factors are multiplied again they are not rounded to a half first.
WIDE = ("float64", "float32")

# Errors of the algorithms are a few roundings times the size, here at most 33; the matrices are
# made so that their condition is below 100, which solutions and factors magnify errors by.
CONDITIONED = 2.0**-14
WHY = "roundings of the algorithm, relative to the largest element, times a condition below 100"
SIZES = ((4, 4), (1, 1), (0, 0), (2, 3, 5, 5), (33, 33))
SHAPES = ((5, 3), (3, 5), (1, 1), (2, 1, 4, 4), (33, 17))


# --- matrices -------------------------------------------------------------------------------


def turned(size: int, random: np.random.Generator) -> Array:
    """A random rotation."""
    return np.linalg.qr(random.normal(size=(size, size)))[0]


def conditioned(shape: Shape, random: np.random.Generator) -> Array:
    """Matrices whose singular values lie evenly in 1..9."""
    rows, columns = shape[-2:]
    made = np.zeros(shape)
    for place in np.ndindex(*shape[:-2]):
        values = np.zeros((rows, columns))
        np.fill_diagonal(values, random.permutation(np.linspace(1, 9, min(rows, columns))))
        made[place] = turned(rows, random) @ values @ turned(columns, random)
    return made


def definite(shape: Shape, random: np.random.Generator) -> Array:
    """Symmetric matrices whose eigenvalues lie evenly in 1..9."""
    made = np.zeros(shape)
    for place in np.ndindex(*shape[:-2]):
        rotation = turned(shape[-1], random)
        made[place] = rotation * np.linspace(1, 9, shape[-1]) @ rotation.T
    return made


def triangular(shape: Shape, random: np.random.Generator) -> Array:
    """Matrices whose triangles are both far from singular."""
    return 0.5 * random.uniform(-1, 1, shape) / shape[-1] + np.eye(shape[-1])


Maker = Callable[[Shape, np.random.Generator], Array]


def ordinary(shape: Shape, random: np.random.Generator) -> Array:
    return random.uniform(-4, 4, shape)


def matrices(*parts: tuple[Maker, Sequence[Shape]]) -> Cases:
    """Cases of one array for each part, which says how it is made, and its shapes in turn."""

    def cases(dtype: Dtype, random: np.random.Generator) -> Iterator[Case]:
        for number, shapes in enumerate(zip(*(shapes for _, shapes in parts), strict=True)):
            arrays = [maker(shape, random) for (maker, _), shape in zip(parts, shapes)]
            yield tuple(laid(one.astype(dtype), number + k) for k, one in enumerate(arrays))

    return cases


def sized(*parts: tuple[Maker, Shape]) -> Workload:
    """float32 arrays for a ``Speed``."""
    return lambda random: tuple(maker(shape, random).astype(np.float32) for maker, shape in parts)


def _many(maker: Maker) -> Maker:
    """One matrix, as often as the leading axes say: to make a workload fast."""
    return lambda shape, random: np.broadcast_to(maker(shape[-2:], random), shape).copy()


def largest(*results: Array) -> tuple[Array, ...]:
    """The scale of errors: the largest magnitude in a result."""
    return tuple(np.full(one.shape, np.abs(one).max(initial=0)) for one in results)


def entry(
    name: str,
    call: Callable[..., Any],
    oracle: Callable[..., Any],
    inputs: Cases,
    dtypes: tuple[str, ...] = FLOATS,
    **more: Any,
) -> Entry:
    def scale(*arrays: Array) -> tuple[Array, ...]:
        made = oracle(*arrays)
        return largest(*(made if isinstance(made, tuple) else (made,)))

    return Entry(name, call, oracle, inputs, dtypes, rtol=CONDITIONED, scale=scale, why=WHY, **more)


# --- symmetric and triangular ---------------------------------------------------------------

BATCH = (10_000, 10, 10)
STEPS = "a step of the scan passes over all matrices, where LAPACK keeps one in registers"
SMALL = "a step of a scan passes over all matrices, where LAPACK keeps one in registers"


def _columns(*widths: int | None) -> list[Shape]:
    """Right sides for SIZES; None is a vector."""
    return [
        (*size[:-1], width) if width is not None else size[-1:]
        for size, width in zip(SIZES, widths, strict=True)
    ]


SIDES = _columns(2, None, 3, 1, 4)


def _upper(lower: Array) -> Array:
    return np.swapaxes(lower, -1, -2)


CHOLESKY = (
    entry(
        "cholesky",
        ph.cholesky,
        np.linalg.cholesky,
        matrices((definite, SIZES)),
        aten=("linalg_cholesky", "linalg_cholesky_ex", "cholesky"),
        sizes=("n n",),
        speed=Speed(
            lambda torch, x: torch.linalg.cholesky(x), sized((_many(definite), BATCH)), why=STEPS
        ),
    ),
    entry(
        "cholesky.upper",
        lambda x: ph.cholesky(x, upper=True),
        lambda x: _upper(np.linalg.cholesky(_upper(x))),
        matrices((definite, SIZES)),
        aten=("linalg_cholesky",),
    ),
    entry(
        "cholesky_solve",
        lambda x, b: (ph.cholesky_solve(b, x), ph.cholesky_solve(b, x, upper=True)),
        lambda x, b: (
            np.linalg.solve(np.tril(x) @ _upper(np.tril(x)), b),
            np.linalg.solve(_upper(np.triu(x)) @ np.triu(x), b),
        ),
        matrices((triangular, SIZES), (ordinary, SIDES)),
        aten=("cholesky_solve",),
    ),
)


def _from_lower(x: Array) -> Array:
    """The symmetric matrix of which only the lower triangle counts."""
    return np.tril(x) + _upper(np.tril(x, -1))


def triangle(
    name: str, upper: bool, left: bool = True, unit: bool = False, transposed: bool = False
) -> Entry:
    def oracle(a: Array, b: Array) -> Array:
        kept = np.triu(a) if upper else np.tril(a)
        kept = kept - (kept - 1) * np.eye(a.shape[-1]) if unit else kept
        matrix = _upper(kept) if transposed else kept
        if left:
            return np.linalg.solve(matrix, b)
        return _upper(np.linalg.solve(_upper(matrix), _upper(b)))

    sides = SIDES if left else [(*shape[:-2], 3, shape[-1]) for shape in SIZES]
    return entry(
        name,
        lambda a, b: ph.solve_triangular(a, b, upper, left, unit, transposed),
        oracle,
        matrices((triangular, SIZES), (ordinary, sides)),
        aten=("linalg_solve_triangular", "triangular_solve"),
        sizes=("n n", "n k") if left else (),
    )


TRIANGLES = (
    triangle("solve_triangular", upper=False),
    triangle("solve_triangular.upper", upper=True),
    triangle("solve_triangular.unit", upper=False, unit=True),
    triangle("solve_triangular.transposed", upper=False, transposed=True),
    triangle("solve_triangular.right", upper=True, left=False),
    triangle("solve_triangular.right_transposed", upper=True, left=False, transposed=True),
    entry(
        "solve_triangular.batch",
        lambda a, b: ph.solve_triangular(a, b, upper=False),
        lambda a, b: np.linalg.solve(np.tril(a), b),
        matrices((triangular, [(2, 1, 4, 4), (4, 4)]), (ordinary, [(3, 4, 2), (2, 4, 1)])),
        aten=("linalg_solve_triangular",),
        speed=Speed(
            lambda torch, a, b: torch.linalg.solve_triangular(a, b, upper=False),
            sized((_many(triangular), BATCH), (ordinary, (10_000, 10, 4))),
            why=STEPS,
        ),
    ),
)


# --- LU -------------------------------------------------------------------------------------


def _lu(x: ph.Tensor) -> tuple[ph.Tensor, ph.Tensor, ph.Tensor]:
    """The product of the factors, the permutation's product with itself, and U."""
    p, lower, upper = ph.lu(x)
    return p @ lower @ upper, p @ ph.swapaxes(p, -1, -2), upper


def _lu_answers(x: Array) -> tuple[Array, Array, Array]:
    rows, columns = x.shape[-2:]
    upper = np.zeros((*x.shape[:-2], min(rows, columns), columns))
    for place in np.ndindex(*x.shape[:-2]):
        upper[place] = _eliminated(x[place])
    return x, np.broadcast_to(np.eye(rows), (*x.shape[:-2], rows, rows)), upper


def _eliminated(x: Array) -> Array:
    """U of Gauss's elimination with partial pivoting."""
    rest = x.copy()
    for k in range(min(x.shape)):
        pivot = k + np.argmax(np.abs(rest[k:, k]))
        rest[[k, pivot]] = rest[[pivot, k]]
        rest[k + 1 :] -= np.outer(rest[k + 1 :, k] / rest[k, k], rest[k])
    return np.triu(rest[: min(x.shape)])


ELIMINATION = (
    entry(
        "lu",
        _lu,
        _lu_answers,
        matrices((conditioned, SHAPES)),
        WIDE,
        aten=("linalg_lu", "linalg_lu_factor"),
        sizes=("3 5",),
    ),
    entry(
        "lu.halves",
        lambda x: ph.lu(x)[2],
        lambda x: _lu_answers(x)[2],
        matrices((conditioned, SHAPES)),
        HALVES,
        aten=("linalg_lu",),
    ),
    entry(
        "solve",
        ph.solve,
        np.linalg.solve,
        matrices((conditioned, SIZES), (ordinary, SIDES)),
        aten=("linalg_solve", "_linalg_solve_ex", "linalg_solve_ex"),
        sizes=("n+ n+", "n+ k"),
        speed=Speed(
            lambda torch, a, b: torch.linalg.solve(a, b),
            sized((_many(conditioned), BATCH), (ordinary, (10_000, 10, 4))),
            why=STEPS,
        ),
    ),
    entry(
        "solve.batch",
        ph.solve,
        np.linalg.solve,
        matrices((conditioned, [(2, 1, 4, 4), (4, 4)]), (ordinary, [(3, 4, 2), (2, 4, 1)])),
        aten=("linalg_solve",),
    ),
    entry(
        "inv",
        ph.inv,
        np.linalg.inv,
        matrices((conditioned, SIZES)),
        aten=("linalg_inv", "linalg_inv_ex", "inverse"),
        sizes=("n+ n+",),
        speed=Speed(
            lambda torch, x: torch.linalg.inv(x),
            sized((_many(conditioned), BATCH)),
            why=STEPS,
        ),
    ),
    entry(
        "det",
        ph.det,
        np.linalg.det,
        matrices((conditioned, [(4, 4), (1, 1), (0, 0), (2, 3, 5, 5), (9, 9)])),
        onnx=("Det",),
        aten=("linalg_det", "det"),
        sizes=("n+ n+",),
        speed=Speed(
            lambda torch, x: torch.linalg.det(x), sized((_many(conditioned), BATCH)), why=STEPS
        ),
    ),
    entry(
        "slogdet",
        ph.slogdet,
        lambda x: tuple(np.linalg.slogdet(x)),
        matrices((conditioned, SIZES)),
        aten=("linalg_slogdet", "slogdet"),
        sizes=("n+ n+",),
    ),
    entry(
        "matrix_power",
        lambda x: (ph.matrix_power(x, 3), ph.matrix_power(x, 0), ph.matrix_power(x, -2)),
        lambda x: tuple(np.linalg.matrix_power(x, n) for n in (3, 0, -2)),
        matrices((conditioned, ((4, 4), (1, 1), (2, 3, 3)))),
        aten=("linalg_matrix_power", "matrix_power"),
    ),
)


# --- QR -------------------------------------------------------------------------------------


def _batch_of_qr(x: Array, mode: str) -> tuple[Array, ...]:
    made = np.linalg.qr(x, mode)
    return (made,) if mode == "r" else tuple(made)


ORTHOGONAL = (
    entry(
        "qr",
        ph.qr,
        lambda x: _batch_of_qr(x, "reduced"),
        matrices((conditioned, SHAPES)),
        aten=("linalg_qr", "qr"),
        sizes=("3 5",),
        speed=Speed(lambda torch, x: torch.linalg.qr(x), sized((_many(conditioned), BATCH))),
    ),
    entry(
        "qr.complete",
        lambda x: (*ph.qr(x, "complete"), ph.qr(x, "r")),
        lambda x: (*_batch_of_qr(x, "complete"), *_batch_of_qr(x, "r")),
        matrices((conditioned, SHAPES)),
        aten=("linalg_qr",),
    ),
    entry(
        "lstsq",
        ph.lstsq,
        lambda a, b: np.linalg.pinv(a) @ b,
        matrices(
            (conditioned, SHAPES),
            (ordinary, [(5, 2), (3, 1), (1,), (3, 4, 2), (33,)]),
        ),
        aten=("linalg_lstsq",),
        sizes=("3 5", "3 k"),
        speed=Speed(
            lambda torch, a, b: torch.linalg.lstsq(a, b, driver="gels").solution,
            sized((_many(conditioned), BATCH), (ordinary, (10_000, 10, 4))),
        ),
    ),
)


# --- eigenvalues and singular values --------------------------------------------------------


def _eigh(x: ph.Tensor) -> tuple[ph.Tensor, ph.Tensor, ph.Tensor]:
    """Values, the matrix put together again, and the vectors' products with each other."""
    w, v = ph.eigh(x)
    back = ph.swapaxes(v, -1, -2)
    return w, (v * w[..., None, :]) @ back, back @ v


def _identity(like: Array, size: int) -> Array:
    return np.broadcast_to(np.eye(size), (*like.shape[:-2], size, size))


def _svd(full: bool) -> Callable[[ph.Tensor], tuple[ph.Tensor, ...]]:
    def call(x: ph.Tensor) -> tuple[ph.Tensor, ...]:
        u, s, vh = ph.svd(x, full)
        count = s.shape[-1]
        again = (u[..., :count] * s[..., None, :]) @ vh[..., :count, :]
        return s, again, ph.swapaxes(u, -1, -2) @ u, vh @ ph.swapaxes(vh, -1, -2)

    return call


def _svd_answers(full: bool) -> Callable[[Array], tuple[Array, ...]]:
    def oracle(x: Array) -> tuple[Array, ...]:
        rows, columns = x.shape[-2:]
        least = min(rows, columns)
        s = np.linalg.svd(x, compute_uv=False)
        sizes = (rows, columns) if full else (least, least)
        return s, x, *(_identity(x, size) for size in sizes)

    return oracle


def low_rank(shape: Shape, random: np.random.Generator) -> Array:
    """Of rank 1, with a few small whole numbers: exact in every dtype."""
    column = random.integers(-2, 3, (*shape[:-1], 1))
    row = random.integers(1, 3, (*shape[:-2], 1, shape[-1]))
    return np.asarray(column * row, np.float64)


def _symmetric_of_rank_1(shape: Shape, random: np.random.Generator) -> Array:
    column = random.integers(-2, 3, (*shape[:-1], 1))
    return np.asarray(column * np.swapaxes(column, -1, -2), np.float64)


FEW = ((5, 3), (3, 5), (2, 4, 4), (17, 9), (0, 3))
SPECTRAL = (
    entry(
        "eigh",
        _eigh,
        lambda x: (
            np.linalg.eigvalsh(x),
            _from_lower(x),
            _identity(x, x.shape[-1]),
        ),
        matrices((definite, SIZES[:4])),
        WIDE,
        aten=("linalg_eigh", "_linalg_eigh"),
        sizes=("n n",),
        speed=Speed(
            lambda torch, x: tuple(torch.linalg.eigh(x)),
            sized((_many(definite), BATCH)),
            ph.eigh,
            why=f"seven rounds of rotations, ten steps each; {SMALL}",
        ),
    ),
    entry(
        "eigh.rank_1",
        _eigh,
        lambda x: (np.linalg.eigvalsh(x), x, _identity(x, x.shape[-1])),
        matrices((_symmetric_of_rank_1, ((4, 4), (2, 7, 7)))),
        WIDE,
        aten=("linalg_eigh",),
    ),
    entry(
        "eigvalsh",
        ph.eigvalsh,
        np.linalg.eigvalsh,
        matrices((definite, ((4, 4), (1, 1), (0, 0), (2, 3, 5, 5), (9, 9)))),
        aten=("linalg_eigvalsh",),
        sizes=("n n",),
    ),
    entry(
        "svd",
        _svd(True),
        _svd_answers(True),
        matrices((conditioned, FEW)),
        WIDE,
        aten=("linalg_svd", "_linalg_svd", "svd"),
        sizes=("3 5",),
        speed=Speed(
            lambda torch, x: tuple(torch.linalg.svd(x)),
            sized((_many(conditioned), BATCH)),
            ph.svd,
            why=f"seven rounds of rotations, ten steps each; {SMALL}",
        ),
    ),
    entry(
        "svd.reduced",
        _svd(False),
        _svd_answers(False),
        matrices((conditioned, FEW)),
        WIDE,
        aten=("linalg_svd",),
    ),
    entry(
        "svd.rank_1",
        _svd(True),
        _svd_answers(True),
        matrices((low_rank, ((4, 4), (5, 3), (2, 3, 4)))),
        WIDE,
        aten=("linalg_svd",),
    ),
    entry(
        "svdvals",
        ph.svdvals,
        lambda x: np.linalg.svd(x, compute_uv=False),
        matrices((conditioned, FEW)),
        aten=("linalg_svdvals",),
        sizes=("3 5",),
    ),
    entry(
        "pinv",
        ph.pinv,
        np.linalg.pinv,
        matrices((conditioned, FEW)),
        aten=("linalg_pinv", "pinverse"),
    ),
    Entry(
        "matrix_rank",
        lambda x: (ph.matrix_rank(x), ph.matrix_rank(x, 0.3)),
        lambda x: (
            np.asarray(np.linalg.matrix_rank(x, rtol=1e-5)),
            np.asarray(np.linalg.matrix_rank(x, rtol=0.3)),
        ),
        matrices((low_rank, ((4, 4), (5, 3), (2, 3, 4), (3, 0)))),
        FLOATS,
        result_dtype=lambda _: np.dtype(np.int64),
        gradient="none: a number of singular values",
        aten=("linalg_matrix_rank",),
    ),
)

ENTRIES = (*CHOLESKY, *TRIANGLES, *ELIMINATION, *ORTHOGONAL, *SPECTRAL)
