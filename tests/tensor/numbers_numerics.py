"""Norms, decompositions, Fourier transforms, random numbers."""

from __future__ import annotations

import numpy as np
from evaluating import of, value
from number_lines import INF, NAN, f32, line, same

import photic as ph

RANDOM = np.random.default_rng(4)


@line("magnitude.nothing")
def _() -> None:
    nothing = np.zeros((2, 0), np.float32)
    for order in (None, 0, 1, 2, 3, INF):
        same(value(lambda x, n=order: ph.norm(x, n, 1), nothing), [0, 0])
    same(value(lambda x: ph.norm(x, -INF, 1), nothing), [INF, INF])
    same(value(lambda x: ph.norm(x, "nuc"), nothing), 0)
    same(value(lambda x: ph.cdist(x, x), nothing), np.zeros((2, 2)))


@line("magnitude.range")
def _() -> None:
    same(value(ph.norm, f32(1e30, 0)), INF)
    same(value(lambda x: ph.norm(x, INF), f32(1e30, -2e30)), np.float32(2e30))
    same(value(ph.norm, f32(1, NAN)), NAN)
    same(value(ph.norm, f32(-INF, 1)), INF)


@line("matrix.singular")
def _() -> None:
    a = np.array([[1, 2], [2, 4]], np.float32)
    assert value(ph.det, a) == 0
    assert not np.isfinite(value(ph.inv, a)).any()
    assert not np.isfinite(value(ph.solve, a, f32(1, 0))).any()
    triangle = np.array([[2, 1], [0, 0]], np.float32)
    got = value(lambda x, b: ph.solve_triangular(x, b, upper=True), triangle, f32(1, 1))
    assert not np.isfinite(got).any()


@line("matrix.indefinite")
def _() -> None:
    a = np.array([[4, 2, 0], [2, 0, 1], [0, 1, 9]], np.float32)
    same(value(ph.cholesky, a), [[2, 0, 0], [1, NAN, 0], [0, NAN, NAN]])


@line("matrix.triangle")
def _() -> None:
    a = np.array([[4, NAN], [2, 5]], np.float32)
    same(value(ph.cholesky, a), [[2, 0], [1, 2]])
    same(value(lambda x: ph.cholesky(x, upper=True), a.T), [[2, 1], [0, 2]])
    assert np.isfinite(value(ph.eigvalsh, a)).all()
    same(value(lambda x, b: ph.solve_triangular(x, b, upper=False), a, f32(4, 12)), [1, 2])


@line("matrix.halves")
def _() -> None:
    for dtype in ("float16", "bfloat16"):
        a = (RANDOM.normal(size=(5, 5)) + 4 * np.eye(5)).astype(
            np.dtype(ph.ones(1, dtype).dtype.numpy)
        )
        for function in (ph.inv, ph.det, ph.svdvals):
            once = value(function, a.astype(np.float32)).astype(a.dtype)
            same(value(function, a), once)


@line("matrix.rank")
def _() -> None:
    a = np.ones((3, 2), np.float32)
    for results in (ph.qr(ph.constant(a))[:1], ph.svd(ph.constant(a))[::2]):
        for one in map(of, results):
            np.testing.assert_allclose(one.T @ one, np.eye(one.shape[1]), atol=1e-6)
    a[:, 1] = 0
    assert not np.isfinite(value(ph.lstsq, a, f32(1, 2, 3))).all()
    assert np.isfinite(value(lambda x, b: ph.pinv(x) @ b, a, f32(1, 2, 3))).all()


@line("fourier.pair")
def _() -> None:
    x = f32(1, 2, 3, 4)
    for k in range(2):
        alone = value(lambda y, part=k: ph.fft(y)[part], x)
        same(alone, value(lambda y, z, part=k: ph.fft((y, z))[part], x, np.zeros_like(x)))
    same(value(lambda y: ph.fft(y)[0], x), [10, -2, -2, -2])


@line("fourier.mirror")
def _() -> None:
    real, imag = f32(1, 2, 3), f32(0, 1, 0)
    plain = value(lambda x, y: ph.irfft((x, y)), real, imag)
    same(value(lambda x, y: ph.irfft((x, y)), real, f32(5, 1, 7)), plain)


@line("fourier.nan")
def _() -> None:
    x = np.ones(12, np.float32)
    x[5] = NAN
    for part in ph.rfft(ph.constant(x)):
        assert np.isnan(of(part)).all()


@line("random.key")
def _() -> None:
    key = ph.random.key(3)
    long = of(ph.random.normal(key, 100))
    same(of(ph.random.normal(ph.random.key(3), (10, 5))).ravel(), long[:50])
    assert (of(ph.random.normal(ph.random.key(4), 100)) != long).all()


@line("random.bits")
def _() -> None:
    key = ph.random.key(0)
    for dtype, bits in (("float64", 53), ("float32", 24), ("float16", 11), ("bfloat16", 8)):
        got = of(ph.random.uniform(key, 10_000, dtype=dtype)).astype(np.float64)
        assert (got * 2**bits % 1 == 0).all()
        assert (got * 2 ** (bits - 1) % 1 != 0).any()
        assert got.min() >= 0
        assert got.max() < 1


@line("random.ends")
def _() -> None:
    key = ph.random.key(0)
    for dtype, end in (("float32", 6.3), ("float64", 9.2)):
        assert np.abs(of(ph.random.normal(key, 10_000, dtype))).max() < end
        assert of(ph.random.exponential(key, 10_000, dtype)).min() > 0
        assert np.isfinite(of(ph.random.gumbel(key, 10_000, dtype))).all()


@line("random.certain")
def _() -> None:
    key, x = ph.random.key(0), np.ones(1000, np.float32)
    assert not of(ph.random.bernoulli(key, 0.0, 1000)).any()
    assert of(ph.random.bernoulli(key, 1.0, 1000)).all()
    same(value(lambda y: ph.random.dropout(y, 0.0, key), x), x)
    same(value(lambda y: ph.random.dropout(y, 1.0, key), x), 0 * x)


@line("random.span")
def _() -> None:
    low, high = np.array([0, 5, -3]), np.array([1, 5, -9])
    same(of(ph.random.randint(ph.random.key(0), low, high)), [0, 5, -3])
