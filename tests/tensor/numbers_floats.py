"""Float arithmetic, comparisons, extremes, sums and whole numbers."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest
from evaluating import of, spread, ulps, value
from number_lines import FLOATS, INF, NAN, f32, line, same

import photic as ph
from photic.base.errors import BadArgument, DtypeMismatch
from photic.ir.dtype import DTYPES, dtype_of

# --- float arithmetic -----------------------------------------------------------------------


@line("float.not-simplified")
def _() -> None:
    same(value(lambda x: x * 0.0, f32(INF, NAN, 1)), [NAN, NAN, 0])
    same(value(lambda x: x - x, f32(INF, NAN, 1)), [NAN, NAN, 0])
    same(value(lambda x, y: x + y * 0.0, f32(1, 1), f32(NAN, 2)), [NAN, 1])
    same(value(lambda x: x / x, f32(0, INF, 2)), [NAN, NAN, 1])


@line("float.minus-zero")
def _() -> None:
    same(value(lambda x: x + -0.0, f32(0.0, -0.0)), [0.0, -0.0])
    same(value(lambda x: x + 0.0, f32(0.0, -0.0)), [0.0, 0.0])
    same(value(lambda x: -x, f32(0.0, -0.0)), [-0.0, 0.0])


@line("float.halves")
def _() -> None:
    for dtype in (np.dtype(np.float16), np.dtype(ml_dtypes.bfloat16)):
        x = np.linspace(-3, 3, 101).astype(dtype)
        wide = x.astype(np.float32)
        same(value(lambda y: y * y, x), (wide * wide).astype(dtype))
        same(value(lambda y: y / 3, x), (wide * (np.float32(1) / np.float32(3))).astype(dtype))
        same(value(ph.tanh, x), value(ph.tanh, wide).astype(dtype))
        same(value(ph.softmax, x), value(ph.softmax, wide).astype(dtype))


@line("float.division")
def _() -> None:
    a, b = spread(np.float32, 4000), spread(np.float32, 4000)[::-1]
    normal = (np.abs(b) >= 2.0**-126) & (np.abs(b) <= 2.0**126)
    a, b = a[normal], b[normal]
    exact = a.astype(np.float64) / b.astype(np.float64)
    # a subnormal quotient has fewer digits, and the product is rounded to them too
    assert ulps(value(lambda x, y: x / y, a, b), exact).max() <= 2
    same(value(lambda x, y: x / y, f32(1, -1, 0, INF), f32(0, 0, 0, INF)), [INF, -INF, NAN, NAN])
    same(value(lambda x: x / 0, f32(1, -1, 0)), [INF, -INF, NAN])


@line("float.tiny-divisor")
def _() -> None:
    same(value(lambda x, y: x / y, f32(1e-40), f32(1e-40)), [INF])


@line("float.floor-division")
def _() -> None:
    same(value(lambda x, y: x // y, f32(1, 0.5, 6), f32(0.1, 0.1, 0.2)), [9, 4, 29])
    special = [0.0, -0.0, 1, -1, 0.5, -0.5, 6, 0.1, 1e-30, 1e30, INF, -INF, NAN]
    for dtype in (np.float32, np.float64):
        a, b = np.repeat(special, 13).astype(dtype), np.tile(special, 13).astype(dtype)
        with np.errstate(all="ignore"):
            want = np.floor_divide(a, b)
        got = value(lambda x, y: x // y, a, b)
        exact = ~(np.isfinite(want) & (np.abs(want) >= 2**23))  # NumPy itself rounds beyond
        same(got[exact], want[exact])


@line("float.modulo")
def _() -> None:
    a, b = f32(5.5, -5.5, 5.5, -5.5, 1, INF), f32(3, 3, -3, -3, 0, 2)
    same(value(lambda x, y: x % y, a, b), [2.5, 0.5, -0.5, -2.5, NAN, NAN])


@line("float.square-root")
def _() -> None:
    x = spread(np.float32, 4000)
    with np.errstate(invalid="ignore"):
        same(value(ph.sqrt, x), np.sqrt(x))
    same(value(ph.sqrt, f32(-0.0, -1, INF)), [-0.0, NAN, INF])


@line("float.reciprocal")
def _() -> None:
    x = spread(np.float32, 4000)
    with np.errstate(divide="ignore", over="ignore"):
        same(value(ph.reciprocal, x), np.float32(1) / x)
    same(value(ph.reciprocal, f32(0.0, -0.0, INF, -INF)), [INF, -INF, 0.0, -0.0])


# --- comparisons ----------------------------------------------------------------------------


@line("compare.nan")
def _() -> None:
    for dtype in FLOATS:
        special = np.array([NAN, INF, -INF, 0, -0.0, 1]).astype(dtype_of(dtype).numpy)
        a, b = np.repeat(special, 6), np.tile(special, 6)
        p, q = a.astype(np.float64), b.astype(np.float64)
        same(value(lambda x, y: x == y, a, b), p == q)
        same(value(lambda x, y: x != y, a, b), p != q)
        same(value(lambda x, y: x < y, a, b), p < q)
        same(value(lambda x, y: x <= y, a, b), p <= q)
        same(value(lambda x, y: x > y, a, b), p > q)
        same(value(lambda x, y: x >= y, a, b), p >= q)
        same(value(lambda x: x == 1, a), p == 1)
        same(value(lambda x: x <= NAN, a), np.zeros(36, bool))


@line("compare.zeros")
def _() -> None:
    same(value(lambda x, y: x == y, f32(-0.0), f32(0.0)), [True])
    same(value(lambda x, y: x < y, f32(-0.0), f32(0.0)), [False])


@line("compare.bool")
def _() -> None:
    a, b = np.array([False, False, True, True]), np.array([False, True, False, True])
    same(value(lambda x, y: x < y, a, b), [False, True, False, False])


@line("compare.special")
def _() -> None:
    x = f32(NAN, INF, -INF, 1, 0, 3.4e38)
    same(value(ph.isnan, x), np.isnan(x))
    same(value(ph.isinf, x), np.isinf(x))
    same(value(ph.isfinite, x), np.isfinite(x))
    whole = np.array([1, 2])
    same(value(ph.isnan, whole), [False, False])
    same(value(ph.isinf, whole), [False, False])
    same(value(ph.isfinite, whole), [True, True])


# --- largest and smallest -------------------------------------------------------------------


@line("max.nan")
def _() -> None:
    for n in range(1, 41):
        rows = np.ones((n, n), np.float32)
        np.fill_diagonal(rows, NAN)
        assert np.isnan(value(lambda x: x.max(1), rows)).all()
        assert np.isnan(value(lambda x: x.min(1), rows)).all()
    a, b = f32(NAN, 1, 2), f32(1, NAN, 1)
    same(value(ph.maximum, a, b), [NAN, NAN, 2])
    same(value(ph.minimum, a, b), [NAN, NAN, 1])
    same(value(ph.relu, f32(NAN, -1, 1, INF)), [NAN, 0, 1, INF])
    same(value(lambda x: ph.clip(x, 0, 1), f32(NAN, -1, 3)), [NAN, 0, 1])
    same(value(lambda x: ph.clip(x, NAN, 1), f32(0, 3)), [NAN, NAN])


@line("max.zeros")
def _() -> None:
    assert value(ph.maximum, f32(0.0), f32(-0.0)) == 0
    assert value(ph.minimum, f32(0.0), f32(-0.0)) == 0
    assert value(lambda x: x.max(), np.full(8193, -0.0, np.float32)) == 0


@line("max.infinite")
def _() -> None:
    same(value(lambda x: x.max(), f32(-INF, -INF)), -INF)
    same(value(lambda x: x.min(), f32(INF, INF)), INF)


@line("max.nothing")
def _() -> None:
    for dtype in DTYPES.values():
        empty = np.zeros((2, 0), dtype.numpy)
        low, high = (-INF, INF) if dtype.kind == "float" else (dtype.low, dtype.high)
        assert value(lambda x: x.max(1), empty).tolist() == [low, low]
        assert value(lambda x: x.min(1), empty).tolist() == [high, high]


@line("argmax.first")
def _() -> None:
    for row in (f32(0, 1, 2, 2), np.ones(61, np.float32), np.array([3, -3, 3, -3], np.int8)):
        assert value(lambda x: x.argmax(), row) == np.argmax(row)
        assert value(lambda x: x.argmin(), row) == np.argmin(row)


@line("argmax.nan")
def _() -> None:
    for row in (f32(1, NAN, 3), f32(NAN, NAN), f32(INF, NAN), f32(-INF, NAN, NAN)):
        assert value(lambda x: x.argmax(), row) == np.argmax(row)
        assert value(lambda x: x.argmin(), row) == np.argmin(row)


@line("argmax.nothing")
def _() -> None:
    with pytest.raises(BadArgument):
        ph.zeros((2, 0)).argmax(1)
    n = ph.dim("n", 0, 4)
    assert of(ph.zeros((2, n)).argmax(1), n=0).tolist() == [-1, -1]


# --- sums, products, means ------------------------------------------------------------------


@line("sum.nothing")
def _() -> None:
    empty = np.zeros((2, 0), np.float32)
    same(value(lambda x: x.sum(1), empty), [0.0, 0.0])
    same(value(lambda x: x.prod(1), empty), [1, 1])
    same(value(lambda x: x.mean(1), empty), [NAN, NAN])
    same(value(lambda x: x.any(1), empty), [False, False])
    same(value(lambda x: x.all(1), empty), [True, True])
    n = ph.dim("n", 0, 4)
    for name, want in (("sum", 0.0), ("prod", 1.0), ("mean", NAN), ("max", -INF), ("min", INF)):
        same(of(getattr(ph.zeros((n, 2)), name)(0), n=0), [want, want])


@line("sum.halves")
def _() -> None:
    for dtype in (np.dtype(np.float16), np.dtype(ml_dtypes.bfloat16)):
        ones = np.ones((64, 64), dtype)  # beyond 2048 a float16 sum would stand still
        same(value(lambda x: x.sum(), ones), np.array(4096, dtype))
        same(value(lambda x: x.mean(), ones), np.array(1, dtype))
        same(value(lambda x: ph.cumsum(x, 1)[0, -1], ones), np.array(64, dtype))


@line("sum.order")
def _() -> None:
    x = spread(np.float32, 1000)
    x = x[np.abs(x) < 1e30]
    total, size = x.astype(np.float64).sum(), np.abs(x).astype(np.float64).sum()
    # any order of n additions errs by less than n/2 ulp of the sum of magnitudes
    assert abs(value(lambda y: y.sum(), x) - total) <= len(x) * 2.0**-24 * size


@line("sum.dtype")
def _() -> None:
    x = np.array([100, 100, 100, -7], np.int32)
    for ours, numpys in (
        (ph.sum, np.sum),
        (ph.prod, np.prod),
        (ph.cumsum, np.cumsum),
        (ph.cumprod, np.cumprod),
        (ph.cumulative_sum, np.cumulative_sum),
        (ph.cumulative_prod, np.cumulative_prod),
    ):
        for dtype in ("int8", "int32", "float32", "float64", "bool"):
            got = value(lambda y, one=ours, own=dtype: one(y, dtype=own), x)
            assert got.dtype == np.dtype(dtype)
            same(got, numpys(x, dtype=dtype))
    same(value(lambda y: y.sum(0, dtype="int32"), f32(1.7, -0.9)), np.int32(1))
    same(value(lambda y: y.sum(dtype="float16"), f32(2049, 1)), np.float16(2048))
    assert value(lambda y: y.sum(dtype="float32"), np.full(3, 60000, np.float16)) == 180000
    big = np.array([2**24 + 1, -(2**24)])
    assert value(lambda y: y.mean(dtype="float64"), big) == 0.5
    assert value(lambda y: y.mean(dtype="float16"), big).dtype == np.float16
    with pytest.raises(DtypeMismatch):
        ph.mean(ph.ones(3), dtype="int32")


@line("mean.integer")
def _() -> None:
    same(value(lambda x: x.mean(), np.full(300, 127, np.int8)), np.float32(127))


@line("var.passes")
def _() -> None:
    x = (1e6 + np.arange(64) % 4).astype(np.float32)
    assert abs(value(ph.var, x) - 1.25) < 1e-3
    assert abs(value(lambda y: ph.std(y, ddof=1), x) - np.sqrt(1.25 * 64 / 63)) < 1e-3


@line("cumsum.order")
def _() -> None:
    x = np.ones(40, np.float32)
    x[17] = NAN
    same(np.isnan(value(ph.cumsum, x)), np.arange(40) >= 17)
    y = np.arange(1, 50)
    same(value(ph.cumsum, y), np.cumsum(y))


# --- whole numbers and signs ----------------------------------------------------------------


@line("round.half-even")
def _() -> None:
    x = np.arange(-9, 9, 0.5).astype(np.float32)
    same(value(ph.round, x), np.round(x))
    same(value(ph.round, f32(0.49999997, 8388607.5)), [0, 8388608])


@line("round.sign")
def _() -> None:
    for dtype in (np.float32, np.float64, np.float16):
        x = np.array([0.0, -0.0, 0.3, -0.3, 0.5, -0.5, 0.7, -0.7, 1e-8, -1e-8], dtype)
        for name in ("floor", "ceil", "trunc", "round"):
            same(value(getattr(ph, name), x), getattr(np, name)(x))


@line("round.large")
def _() -> None:
    x = np.concatenate([spread(np.float32, 4000), f32(INF, -INF, NAN)])
    for name in ("floor", "ceil", "trunc", "round"):
        same(value(getattr(ph, name), x), getattr(np, name)(x))


@line("sign.values")
def _() -> None:
    same(value(ph.sign, f32(-0.0, 0.0, -2, 3, NAN, -INF)), [0.0, 0.0, -1, 1, NAN, -1])
    same(value(ph.abs, f32(-0.0, 0.0, -2, NAN, -INF)), [0.0, 0.0, 2, NAN, INF])
    same(value(ph.sign, np.array([-5, 0, 5], np.int8)), [-1, 0, 1])
