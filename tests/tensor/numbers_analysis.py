"""Parts of floats, divisors and bits, statistics, curves, sets, functions of matrices."""

from __future__ import annotations

import math

import numpy as np
import pytest
from evaluating import of, ulps, value, values
from number_lines import FLOATS, INF, NAN, f32, line, same
from scipy import special

import photic as ph
from photic.base.errors import PhoticError

# --- parts of floats, divisors, bits --------------------------------------------------------


@line("parts.modf")
def _() -> None:
    rest, whole = values(ph.modf, f32(1.5, -1.5, -0.0, INF, -INF, NAN, -2))
    same(rest, [0.5, -0.5, -0.0, 0.0, -0.0, NAN, -0.0])
    same(whole, [1, -1, -0.0, INF, -INF, NAN, -2])


@line("parts.frexp")
def _() -> None:
    x = f32(8, -0.75, 0, -0.0, INF, -INF, NAN, 1e-45, 3e38)
    mantissa, exponent = values(ph.frexp, x)
    same(mantissa, [0.5, -0.75, 0, -0.0, INF, -INF, NAN, 0.5, np.frexp(x[-1])[0]])
    same(exponent, [4, 0, 0, 0, 0, 0, 0, -148, 128])
    assert exponent.dtype == np.int32


@line("parts.ldexp")
def _() -> None:
    x = f32(1.5, 1, 1.5, 0, -0.0, 1, 1e38, INF, NAN)
    power = np.array([1, -149, -149, 300, -300, 300, -1000, 5, 5])
    # three halves of the smallest number, a tie, is rounded to the even one, two of them
    same(value(ph.ldexp, x, power), [3, 2.0**-149, 2.0**-148, 0, -0.0, INF, 0, INF, NAN])


@line("integer.gcd")
def _() -> None:
    a, b = np.array([0, -4, 12, -128], np.int8), np.array([0, 6, 0, 0], np.int8)
    same(value(ph.gcd, a, b), [0, 2, 12, -128])
    c, d = np.array([0, -4, 12, 100], np.int8), np.array([5, 6, 0, 99], np.int8)
    wrapped = np.abs(np.int8(100 * 99 - 39 * 256))
    same(value(ph.lcm, c, d), [0, 12, 0, wrapped])


@line("integer.counted-bits")
def _() -> None:
    x = np.array([0, -1, -128, 127], np.int8)
    same(value(ph.bitwise_count, x), np.bitwise_count(x))
    bits = np.array([1, 0, 0, 0, 0, 0, 0, 0, 7, 1], np.uint8)
    same(value(ph.packbits, bits), [128, 192])
    same(value(ph.unpackbits, np.array([128, 192], np.uint8)), np.unpackbits(np.uint8([128, 192])))
    same(value(ph.invert, np.array([True, False])), [False, True])


# --- elementary functions -------------------------------------------------------------------


@line("degrees.ends")
def _() -> None:
    same(value(ph.deg2rad, f32(-0.0, INF, NAN, 180)), f32(-0.0, INF, NAN, np.pi))
    same(value(ph.rad2deg, f32(-0.0, -INF, NAN)), [-0.0, -INF, NAN])


@line("ndtr.tails")
def _() -> None:
    same(value(ph.ndtr, f32(-INF, INF, NAN, 0)), [0, 1, NAN, 0.5])
    x = np.linspace(-14.5, 6, 100_001).astype(np.float32)
    assert ulps(value(ph.ndtr, x), special.ndtr(x.astype(np.float64))).max() <= 4
    assert value(ph.ndtr, f32(-14)) > 0


@line("entropy.ends")
def _() -> None:
    same(value(ph.entr, f32(0, -0.0, -1, NAN, INF)), [0, 0, -INF, NAN, -INF])
    same(value(ph.xlog1py, f32(0, 0, 0, 2), f32(-1, NAN, -2, -1)), [0, NAN, 0, -INF])


# --- sums, statistics -----------------------------------------------------------------------


@line("diff.infinite")
def _() -> None:
    same(value(ph.diff, f32(INF, INF, 1, NAN, 2)), [NAN, -INF, NAN, NAN])
    assert value(ph.diff, f32(1)).shape == (0,)
    same(value(ph.diff, np.array([True, False, False])), [True, False])
    same(value(ph.ptp, np.array([-100, 100], np.int8)), -56)
    same(value(ph.ptp, f32(1, NAN)), NAN)


@line("count.nonzero")
def _() -> None:
    same(value(ph.count_nonzero, f32(NAN, -0.0, 0, 1, -INF)), 3)


@line("nan.products")
def _() -> None:
    same(value(ph.nanprod, f32(NAN, NAN)), 1)
    same(value(ph.nancumsum, f32(NAN, 1, NAN)), [0, 1, 1])
    same(value(ph.nancumprod, f32(NAN, 2, NAN)), [1, 2, 2])


@line("nan.places")
def _() -> None:
    same(value(ph.nanargmax, f32(NAN, 1, 3, 3)), 2)
    same(value(ph.nanargmin, f32(NAN, -INF, 1)), 1)
    same(value(ph.nanargmax, f32(NAN, NAN)), -1)


@line("average.weights")
def _() -> None:
    def weighted(*weights: float) -> ph.Tensor:
        return ph.average(ph.input("x", (2,)), weights=np.array(weights, np.float32))

    same(of(weighted(0, 0), {"x": f32(1, 2)}), NAN)
    same(of(weighted(1, -1), {"x": f32(1, 2)}), -INF)
    same(of(weighted(0, 1), {"x": f32(NAN, 2)}), NAN)


@line("covariance.one")
def _() -> None:
    same(value(ph.cov, f32(1)), NAN)
    same(value(ph.corrcoef, np.array([[1.0, 1, 1], [1, 2, 3]])), [[NAN, NAN], [NAN, 1]])
    same(values(ph.var_mean, f32(1, 3)), [1, 2])
    same(values(ph.std_mean, f32(1, NAN)), [NAN, NAN])


# --- curves ---------------------------------------------------------------------------------


@line("interp.ends")
def _() -> None:
    places, heights = f32(1, 2, 4), f32(10, 20, 0)
    x = f32(0, 1, 1.5, 2, 5, NAN, INF, -INF)
    same(value(lambda x: ph.interp(x, places, heights), x), np.interp(x, places, heights))
    outside = value(lambda x: ph.interp(x, places, heights, left=-1, right=NAN), f32(0, 1, 5))
    same(outside, [-1, 10, NAN])


@line("unwrap.half")
def _() -> None:
    turns = np.array([0, 0.5, 1.0, 0.25, -0.5])
    same(value(lambda x: ph.unwrap(x, period=1.0), turns), np.unwrap(turns, period=1.0))
    same(value(ph.unwrap, f32(0, NAN, 1)), [0, NAN, NAN])


@line("trapezoid.nothing")
def _() -> None:
    same(value(ph.trapezoid, f32(5)), 0)
    same(value(ph.trapezoid, f32()), 0)
    assert value(ph.cumulative_trapezoid, f32()).shape == (0,)
    same(value(ph.trapezoid, f32(1, INF)), INF)


@line("polynomial.horner")
def _() -> None:
    same(value(lambda x: ph.polyval(f32(), x), f32(1, NAN)), [0, 0])
    same(value(lambda x: ph.polyval(f32(3), x), f32(INF, NAN, 2)), [NAN, NAN, 3])
    same(value(lambda x: ph.vander(x, 3), f32(0, NAN, 2)), np.vander(f32(0, NAN, 2), 3))


# --- sets, agreement ------------------------------------------------------------------------


@line("set.nan")
def _() -> None:
    same(value(ph.isin, f32(NAN, 1, -0.0, 2), f32(NAN, 1, 0)), [False, True, True, False])
    same(value(ph.isin, f32(1, 2), f32()), [False, False])
    united, count = values(lambda a, b: ph.union1d(a, b, size=5), f32(NAN, 3), f32(NAN, 1))
    same(united, [1, 3, NAN, 0, 0])
    same(count, 3)


@line("compare.arrays")
def _() -> None:
    same(value(ph.allclose, f32(), f32()), True)
    same(value(ph.array_equal, f32(NAN), f32(NAN)), False)
    same(value(lambda a, b: ph.array_equal(a, b, equal_nan=True), f32(NAN), f32(NAN)), True)
    same(value(ph.array_equal, f32(0), f32(-0.0)), True)
    same(value(ph.array_equal, f32(1, 2), f32(1)), False)


# --- matrices -------------------------------------------------------------------------------


@line("product.nothing")
def _() -> None:
    same(value(ph.matmul, np.zeros((2, 0)), np.zeros((0, 3))), np.zeros((2, 3)))
    same(value(ph.dot, f32(0, 1), f32(INF, 1)), NAN)
    same(value(ph.kron, f32(INF, 1), f32(0, 1)), [NAN, INF, 0, 1])
    same(value(ph.matmul, np.array([[100]], np.int8), np.array([[2]], np.int8)), [[-56]])
    same(value(ph.trace, np.diag([100, 100]).astype(np.int8)), 200)


@line("product.beta")
def _() -> None:
    eye, nan = np.eye(2, dtype=np.float32), np.full((2, 2), NAN, np.float32)
    same(value(lambda x, a: ph.addmm(x, a, a, beta=0), nan, eye), eye)
    same(value(lambda x, a: ph.addmm(x, a, a, alpha=0), eye, nan), nan)


@line("matrix.power")
def _() -> None:
    nan = np.full((2, 2), NAN)
    same(value(lambda x: ph.matrix_power(x, 0), nan), np.eye(2))
    same(value(lambda x: ph.matrix_power(x, -2), np.diag([2.0, 4])), np.diag([0.25, 0.0625]))
    np.testing.assert_allclose(value(ph.matrix_exp, np.zeros((2, 2))), np.eye(2), rtol=1e-15)
    same(value(ph.matrix_exp, np.array([[NAN, 1], [0, 0]])), nan)


@line("matrix.logdet")
def _() -> None:
    same(values(ph.slogdet, np.zeros((2, 2))), [0, -INF])
    same(value(ph.logdet, np.zeros((2, 2))), -INF)
    same(value(ph.logdet, -np.eye(1)), NAN)
    same(value(ph.det, np.zeros((0, 0))), 1)
    same(values(ph.slogdet, np.full((2, 2), NAN)), [NAN, NAN])


@line("matrix.rank-zero")
def _() -> None:
    same(value(ph.matrix_rank, np.zeros((2, 3))), 0)
    same(value(ph.matrix_rank, np.diag([1, 1e-20])), 1)
    same(value(ph.cond, np.diag([1.0, 0])), INF)
    same(value(ph.cond, np.full((2, 2), NAN)), NAN)


@line("distance.same")
def _() -> None:
    same(value(ph.cdist, np.array([[INF]]), np.array([[INF]])), [[NAN]])
    same(value(ph.pdist, np.array([[0.0], [3], [NAN]])), [3, NAN, NAN])
    assert value(ph.pdist, np.ones((1, 2))).shape == (0,)
    rows = np.array([[3, 4], [0.1, 0.2], [0, 0], [NAN, 1]], np.float32)
    got = value(lambda x: ph.renorm(x, 2, 0, 1.0), rows)
    np.testing.assert_allclose(got[0], [0.6, 0.8], rtol=1e-6)
    same(got[1:], rows[1:])


@line("cosine.zero")
def _() -> None:
    same(value(ph.cosine_similarity, np.zeros((1, 2)), np.ones((1, 2))), [0])
    # the squares overflow, and a finite number over an infinite norm is 0
    big = np.full((1, 2), 3e30, np.float32)
    same(value(ph.cosine_similarity, big, big), [0])


# --- transforms -----------------------------------------------------------------------------


@line("fourier.shifts")
def _() -> None:
    same(value(ph.fftshift, f32(NAN, -0.0, 1)), [1, NAN, -0.0])
    same(value(lambda x: ph.ifftshift(ph.fftshift(x)), f32(NAN, -0.0, 1)), [NAN, -0.0, 1])
    same(of(ph.fftfreq(5, 0.25)), np.fft.fftfreq(5, 0.25).astype(np.float32))


@line("window.one")
def _() -> None:
    windows = (ph.hann_window, ph.hamming_window, ph.blackman_window, ph.bartlett_window)
    for window in (*windows, ph.kaiser_window):
        same(of(window(1)), [1])
        assert of(window(0)).shape == (0,)
    same(of(ph.hann_window(4)), [0, 0.5, 1, 0.5])
    np.testing.assert_allclose(of(ph.hann_window(4, periodic=False)), np.hanning(4), atol=1e-7)


@line("convolve.reach")
def _() -> None:
    same(value(ph.convolve, f32(1, INF), f32(0, 1)), [0, NAN, INF])
    for mode in ("full", "same", "valid"):
        for kernel in (f32(NAN, 2), f32(1, INF, -2, NAN), f32(-INF)):
            line = f32(1, 2, -3, 4)
            expected = np.convolve(line, kernel, mode)
            same(value(lambda x, k, mode=mode: ph.convolve(x, k, mode), line, kernel), expected)
    same(value(ph.convolve, np.array([100], np.int8), np.array([2], np.int8)), [-56])


# --- losses ---------------------------------------------------------------------------------


@line("loss.nan")
def _() -> None:
    for loss in (ph.smooth_l1_loss, ph.huber_loss, ph.mse_loss, ph.l1_loss, ph.poisson_nll_loss):
        same(value(lambda x, y, f=loss: f(x, y, reduction="none"), f32(NAN), f32(0)), [NAN])
    for loss in (ph.hinge_embedding_loss, ph.soft_margin_loss):
        same(value(lambda x, y, f=loss: f(x, y, reduction="none"), f32(NAN), f32(-1)), [NAN])


@line("loss.bends")
def _() -> None:
    x, y = f32(2, -3, INF), f32(0, 0, 0)
    same(value(lambda x, y: ph.smooth_l1_loss(x, y, beta=0.0, reduction="none"), x, y), [2, 3, INF])
    same(value(lambda x, y: ph.huber_loss(x, y, reduction="none"), x, y), [1.5, 2.5, INF])
    margin = value(lambda x, y: ph.soft_margin_loss(x, y, reduction="none"), f32(1000), f32(-1))
    same(margin, [1000])


@line("norm.groups")
def _() -> None:
    flat = np.ones((1, 2, 2), np.float32)
    same(value(lambda x: ph.group_norm(x, 1), flat), np.zeros((1, 2, 2)))
    same(value(ph.instance_norm, np.full((1, 1, 2), INF, np.float32)), np.full((1, 1, 2), NAN))
    got = value(lambda x: ph.local_response_norm(x, 3), np.full((1, 1, 1), INF, np.float32))
    same(got, [[[NAN]]])


# --- rows -----------------------------------------------------------------------------------


@line("log-softmax.ends")
def _() -> None:
    same(value(ph.log_softmax, f32(-INF, 0)), [-INF, 0])
    same(value(ph.log_softmax, f32(INF, 0)), [NAN, NAN])
    same(value(ph.log_softmax, f32(-INF, -INF)), [NAN, NAN])
    same(value(ph.softmin, f32(INF, 0)), [0, 1])
    same(value(ph.glu, f32(INF, -INF)), [NAN])
    assert value(ph.log_softmax, f32(0, 200))[0] == -200


@line("spacing.ends")
def _() -> None:
    same(of(ph.geomspace(1, 1000, 4)), [1, 10, 100, 1000])
    same(of(ph.geomspace(-1, -8, 4)), [-1, -2, -4, -8])
    same(of(ph.logspace(0, 2, 3)), [1, 10, 100])
    same(of(ph.full_like(ph.input("x", (2,)), NAN)), [NAN, NAN])
    with pytest.raises(PhoticError):
        ph.geomspace(0, 1, 3)


@line("parts.halves")
def _() -> None:
    for name in FLOATS:
        if name == "bfloat16":
            continue  # NumPy's oracle lacks it
        x = np.array([0.3, -1.5, 1e-5, 1000, INF, NAN]).astype(name)
        for got, want in zip(values(ph.frexp, x), np.frexp(x), strict=True):
            same(got[:-1], want[:-1])
        assert math.isnan(values(ph.frexp, x)[0][-1])
        for got, want in zip(values(ph.modf, x), np.modf(x), strict=True):
            same(got, want)
