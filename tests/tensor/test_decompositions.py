"""Decompositions where the catalogue does not look: bad conditions, singular matrices, errors."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from evaluating import of, value

import photic as ph
from photic.base.errors import BadArgument, ShapeMismatch

Array = np.ndarray
EPSILON = 2.0**-52


def hilbert(size: int) -> Array:
    """1/(i + j + 1): its condition grows as 34**size."""
    place = np.arange(size)
    return 1.0 / (place[:, None] + place + 1)


def graded(size: int, decades: float, random: np.random.Generator) -> Array:
    """A symmetric matrix with eigenvalues from 1 down over so many decades."""
    rotation = np.linalg.qr(random.normal(size=(size, size)))[0]
    return rotation * 10.0 ** -np.linspace(0, decades, size) @ rotation.T


def parts(function: Callable[[ph.Tensor], tuple[ph.Tensor, ...]], a: Array) -> list[Array]:
    """All results of a function of one matrix."""
    x = ph.input("x", a.shape, a.dtype)
    return [of(one, {"x": a}) for one in function(x)]


# --- errors relative to the condition -------------------------------------------------------


@pytest.mark.parametrize("size", [3, 6, 9])
def test_solutions_have_small_residuals_and_errors_as_their_condition_says(size: int) -> None:
    a, x = hilbert(size), np.ones((size, 1))
    b = a @ x
    for solve in (ph.solve, lambda a, b: ph.cholesky_solve(b, ph.cholesky(a)), ph.lstsq):
        got = value(solve, a, b)
        assert np.abs(a @ got - b).max() <= 8 * size * EPSILON
        assert np.abs(got - x).max() <= 8 * size * EPSILON * np.linalg.cond(a)


@pytest.mark.parametrize("size", [5, 20])
def test_factors_multiply_to_the_matrix_whatever_its_condition(size: int) -> None:
    random = np.random.default_rng(1)
    for a in (hilbert(size), graded(size, 14, random), random.normal(size=(size, size))):
        p, lower, upper = parts(ph.lu, a)
        assert np.abs(p @ lower @ upper - a).max() <= size * EPSILON * np.abs(a).max()
        assert np.abs(lower).max() <= 1
        q, r = parts(ph.qr, a)
        assert np.abs(q @ r - a).max() <= 4 * size * EPSILON * np.abs(a).max()
        assert np.abs(q.T @ q - np.eye(size)).max() <= 4 * size * EPSILON


@pytest.mark.parametrize("size", [5, 16])
@pytest.mark.parametrize("decades", [0, 6, 14, 40])
def test_eigenvalues_and_singular_values_are_right_to_rounding_of_the_largest(
    size: int, decades: float
) -> None:
    a = graded(size, decades, np.random.default_rng(2))
    w, v = parts(ph.eigh, a)
    bound = 8 * size * EPSILON
    assert np.abs(w - np.linalg.eigvalsh(a)).max() <= bound
    assert np.abs(v * w @ v.T - a).max() <= bound
    assert np.abs(v.T @ v - np.eye(size)).max() <= bound
    u, s, vh = parts(ph.svd, a)
    assert np.abs(s - np.linalg.svd(a, compute_uv=False)).max() <= bound
    assert np.abs(u * s @ vh - a).max() <= bound
    for one in (u, vh):
        assert np.abs(one @ one.T - np.eye(size)).max() <= bound


def test_matrices_near_the_ends_of_the_range_are_scaled() -> None:
    a = graded(4, 2, np.random.default_rng(3)).astype(np.float32)
    for scale in (np.float32(2.0**-60), np.float32(2.0**60)):
        for function in (ph.eigvalsh, ph.svdvals):
            got = value(function, a * scale)
            np.testing.assert_allclose(got, value(function, a) * scale, rtol=1e-6)
        q, r = parts(ph.qr, a * scale)
        np.testing.assert_allclose(q @ r, a * scale, rtol=1e-4, atol=1e-6 * scale)


def test_equal_eigenvalues_have_orthonormal_vectors() -> None:
    for a in (np.eye(5), np.zeros((4, 4)), np.ones((6, 6)), np.diag([2.0, 1.0, 2.0])):
        w, v = parts(ph.eigh, a)
        np.testing.assert_allclose(w, np.linalg.eigvalsh(a), atol=1e-14)
        np.testing.assert_allclose(v.T @ v, np.eye(len(a)), atol=1e-14)


# --- singular matrices and special values ---------------------------------------------------


def test_of_a_singular_matrix_the_determinant_is_0_and_solutions_are_not_finite() -> None:
    a = np.array([[1.0, 2.0], [2.0, 4.0]])
    assert value(ph.det, a) == 0
    assert [float(one) for one in parts(ph.slogdet, a)] == [0, -np.inf]
    assert not np.isfinite(value(ph.inv, a)).any()
    assert not np.isfinite(value(ph.solve, a, np.array([1.0, 0.0]))).any()
    zero = np.zeros((3, 3))
    assert value(ph.det, zero) == 0
    assert not np.isfinite(value(ph.inv, zero)).any()
    q, r = parts(ph.qr, zero)
    np.testing.assert_array_equal(q, np.eye(3))
    np.testing.assert_array_equal(r, zero)


def test_cholesky_is_nan_from_the_first_column_that_is_not_positive() -> None:
    a = np.array([[4.0, 2.0, 0.0], [2.0, 0.5, 1.0], [0.0, 1.0, 9.0]])
    got = value(ph.cholesky, a)
    np.testing.assert_array_equal(got[:, 0], [2, 1, 0])
    assert np.isnan(got[1:, 1:][np.tril_indices(2)]).all()
    assert (got[0, 1:] == 0).all()


def test_only_the_triangle_that_is_meant_counts() -> None:
    random = np.random.default_rng(4)
    a = random.normal(size=(4, 4))
    definite = a @ a.T + np.eye(4)
    spoilt = np.tril(definite) + np.triu(np.full((4, 4), np.nan), 1)
    np.testing.assert_allclose(value(ph.cholesky, spoilt), np.linalg.cholesky(definite))
    got = value(lambda x: ph.cholesky(x, upper=True), spoilt.T)
    np.testing.assert_allclose(got, np.linalg.cholesky(definite).T)
    np.testing.assert_allclose(value(ph.eigvalsh, spoilt), np.linalg.eigvalsh(definite))
    b = random.normal(size=(4, 2))
    got = value(lambda x, y: ph.solve_triangular(x, y, upper=False), spoilt, b)
    np.testing.assert_allclose(got, np.linalg.solve(np.tril(definite), b))


def test_nan_does_not_pass_for_a_number() -> None:
    a = np.eye(3)
    a[1, 1] = np.nan
    for function in (ph.det, ph.eigvalsh, ph.svdvals, ph.inv):
        assert np.isnan(value(function, a)).any(), function


def test_matrices_without_full_rank_have_a_pseudo_inverse() -> None:
    random = np.random.default_rng(5)
    a = random.normal(size=(6, 2)) @ random.normal(size=(2, 4))
    np.testing.assert_allclose(value(ph.pinv, a), np.linalg.pinv(a, rtol=1e-12), atol=1e-12)
    assert value(ph.matrix_rank, a) == 2
    inverse = value(lambda x: ph.pinv(x, rtol=0.5), np.diag([1.0, 0.4]))
    np.testing.assert_allclose(inverse, np.diag([1.0, 0.0]), atol=1e-15)


def test_powers_of_integers_stay_integers_and_wrap() -> None:
    a = np.array([[1, 1], [1, 0]], np.int8)
    got = value(lambda x: ph.matrix_power(x, 13), a)
    np.testing.assert_array_equal(
        got, np.linalg.matrix_power(a.astype(np.int64), 13).astype(np.int8)
    )
    assert value(lambda x: ph.matrix_power(x, -1), a).dtype == np.float32


# --- sizes ----------------------------------------------------------------------------------


def test_symbolic_sizes_give_what_plain_ones_give() -> None:
    n = ph.dim("n", 0, 12)
    random = np.random.default_rng(6)
    x, b = ph.input("x", (n, n), "float64"), ph.input("b", (n, 2), "float64")
    results = [ph.cholesky(x), ph.solve(x, b), ph.inv(x), ph.det(x), ph.eigvalsh(x), *ph.qr(x)]
    for size in (0, 1, 2, 7):
        a = random.normal(size=(size, size))
        given = {"x": a @ a.T + np.eye(size), "b": random.normal(size=(size, 2))}
        plain = {"x": ph.constant(given["x"]), "b": ph.constant(given["b"])}
        wanted = [
            ph.cholesky(plain["x"]),
            ph.solve(plain["x"], plain["b"]),
            ph.inv(plain["x"]),
            ph.det(plain["x"]),
            ph.eigvalsh(plain["x"]),
            *ph.qr(plain["x"]),
        ]
        for got, want in zip(results, wanted, strict=True):
            # the number of rounds depends on the largest size
            np.testing.assert_allclose(of(got, given, n=size), of(want), rtol=1e-11, atol=1e-13)


def test_where_sizes_leave_open_which_is_smaller_it_is_an_error() -> None:
    x = ph.input("x", (ph.dim("n", 1, 9), 4))
    for function in (ph.qr, ph.svd, ph.lu, ph.lstsq):
        with pytest.raises(BadArgument):
            function(x, x) if function is ph.lstsq else function(x)  # type: ignore[operator]


@pytest.mark.parametrize(
    ("call", "error"),
    [
        (lambda: ph.cholesky(ph.ones((2, 3))), BadArgument),
        (lambda: ph.cholesky(ph.ones(3)), BadArgument),
        (lambda: ph.det(ph.ones((3, 2))), BadArgument),
        (lambda: ph.solve(ph.ones((3, 3)), ph.ones((2, 1))), ShapeMismatch),
        (lambda: ph.solve(ph.ones((2, 3, 3)), ph.ones((4, 3, 1))), ShapeMismatch),
        (lambda: ph.solve_triangular(ph.ones((3, 3)), ph.ones(2), upper=True), ShapeMismatch),
        (lambda: ph.lstsq(ph.ones((3, 2)), ph.ones(2)), ShapeMismatch),
        (lambda: ph.qr(ph.ones((3, 2)), "full"), BadArgument),
        (lambda: ph.qr(ph.ones(3)), BadArgument),
        (lambda: ph.svd(ph.ones(3)), BadArgument),
        (lambda: ph.matrix_power(ph.ones((2, 2)), 0.5), BadArgument),  # type: ignore[arg-type]
        (lambda: ph.multi_dot([ph.ones((2, 2))]), BadArgument),
        (lambda: ph.multi_dot([]), BadArgument),
        (lambda: ph.multi_dot([ph.ones(2), ph.ones(2), ph.ones(2)]), BadArgument),
        (lambda: ph.cross(ph.ones(2), ph.ones(2)), BadArgument),
        (lambda: ph.tensordot(ph.ones((2, 3)), ph.ones((3, 2)), ((1,), (0, 1))), BadArgument),
        (lambda: ph.norm(ph.ones((2, 2, 2)), 2, (0, 1, 2)), BadArgument),
        (lambda: ph.norm(ph.ones((2, 2)), "fro", 0), BadArgument),
        (lambda: ph.norm(ph.ones((2, 2)), 3), BadArgument),
        (lambda: ph.cdist(ph.ones((2, 3)), ph.ones((2, 4))), ShapeMismatch),
        (lambda: ph.cdist(ph.ones(3), ph.ones((2, 3))), BadArgument),
    ],
)
def test_what_does_not_fit_is_refused(call: Callable[[], object], error: type[Exception]) -> None:
    with pytest.raises(error):
        call()


# --- gradients ------------------------------------------------------------------------------

WEIGHTS = np.random.default_rng(8).normal(size=(4, 4))
STEP = 1e-6


def symmetric(x: ph.Tensor) -> ph.Tensor:
    return (x + ph.swapaxes(x, 0, 1)) * 0.5


SCALARS: dict[str, Callable[[ph.Tensor], ph.Tensor]] = {
    "cholesky": lambda x: ph.sum(ph.cholesky(symmetric(x)) * WEIGHTS),
    "solve": lambda x: ph.sum(ph.solve(x, WEIGHTS) * WEIGHTS),
    "det": ph.det,
    "slogdet": lambda x: ph.slogdet(x)[1],
    "qr": lambda x: ph.sum(ph.qr(x)[0] * WEIGHTS) + ph.sum(ph.qr(x)[1] * WEIGHTS),
    "lstsq": lambda x: ph.sum(ph.lstsq(x, WEIGHTS) * WEIGHTS),
    "eigh": lambda x: ph.sum(ph.eigh(symmetric(x))[1] * WEIGHTS),
    "eigvalsh": lambda x: ph.sum(ph.eigvalsh(symmetric(x)) * WEIGHTS[0]),
    "svd": lambda x: ph.sum(ph.svd(x)[0] @ ph.svd(x)[2] * WEIGHTS),
    "nuclear": lambda x: ph.norm(x, "nuc"),
}


@pytest.mark.parametrize("name", SCALARS)
def test_gradients_pass_through_the_steps(name: str) -> None:
    random = np.random.default_rng(9)
    # a matrix whose steps have nothing to do, and one far from that
    for a in (np.diag([4.0, 3.0, 2.0, 6.0]), 4 * np.eye(4) + random.normal(size=(4, 4))):
        x = ph.input("x", a.shape, "float64")
        scalar = SCALARS[name](x)
        slope = random.normal(size=a.shape)
        ends = [of(scalar, {"x": a + sign * STEP * slope}) for sign in (1, -1)]
        along = float(ends[0] - ends[1]) / (2 * STEP)
        got = float((of(ph.grad(scalar, x), {"x": a}) * slope).sum())
        assert abs(got - along) <= 1e-7 * max(1.0, abs(along))
