"""Elementary functions, rows, attention and places."""

from __future__ import annotations

import math
from collections.abc import Callable

import ml_dtypes
import numpy as np
import pytest
from evaluating import of, spread, ulps, value
from number_lines import INF, NAN, f32, line, same

import photic as ph
from photic.base.errors import BadArgument
from photic.ir.dtype import DTYPES

# --- elementary functions -------------------------------------------------------------------


def worst(
    function: Callable[..., ph.Tensor], exact: Callable[..., np.ndarray], x: np.ndarray
) -> float:
    """The largest error in ulps, against float64."""
    with np.errstate(all="ignore"):
        want = exact(x.astype(np.float64))
    return float(ulps(value(function, x), want).max())


@line("ulp.primitive")
def _() -> None:
    x = spread(np.float32, 100_000)
    # the evaluator's exp2 is NumPy's, which errs by 2.4 ulp near 2**127
    assert worst(ph.exp2, np.exp2, x) <= 2.5
    assert worst(ph.log2, np.log2, np.abs(x)) <= 2
    assert worst(ph.sin, np.sin, x) <= 2


def error_function(x: np.ndarray) -> np.ndarray:
    return np.array([math.erf(one) for one in x.ravel()])


COMPOSED: tuple[tuple[str, Callable[..., np.ndarray]], ...] = (
    ("exp", np.exp),
    ("expm1", np.expm1),
    ("log", np.log),
    ("log10", np.log10),
    ("log1p", np.log1p),
    ("cos", np.cos),
    ("tan", np.tan),
    ("tanh", np.tanh),
    ("sinh", np.sinh),
    ("cosh", np.cosh),
    ("erf", error_function),
    ("sigmoid", lambda x: np.where(x < 0, np.exp(x) / (1 + np.exp(x)), 1 / (1 + np.exp(-x)))),
    ("softplus", lambda x: np.maximum(x, 0) + np.log1p(np.exp(-np.abs(x)))),
    ("rsqrt", lambda x: 1 / np.sqrt(x)),
)


RELATIVE_BELOW = {"cos": 2.0**127, "tan": 102_400.0}


@line("ulp.composed")
def _() -> None:
    x = spread(np.float32, 100_000)
    for name, exact in COMPOSED:
        kept = x[np.abs(x) < RELATIVE_BELOW.get(name, np.inf)]
        assert worst(getattr(ph, name), exact, kept) <= 4, name
    positive = np.abs(x[x != 0])
    for exponent in (2.5, float(np.float32(-0.3)), 3, 7, -2, 40.0):
        error = worst(lambda y, n=exponent: y**n, lambda y, n=exponent: y**n, positive)
        assert error <= 4, exponent


@line("ulp.huge-cos")
def _() -> None:
    x = np.linspace(1.7014e38, 3.4e38, 2001).astype(np.float32)
    x = np.concatenate([x, -x])
    x = x[np.abs(x) >= 2.0**127]
    assert np.abs(value(ph.cos, x) - np.cos(x.astype(np.float64))).max() <= 2.0**-22


@line("ulp.halves")
def _() -> None:
    for dtype in (np.dtype(np.float16), np.dtype(ml_dtypes.bfloat16)):
        x = np.linspace(-9, 9, 2001).astype(dtype)
        for name, _exact in COMPOSED:
            function = getattr(ph, name)
            same(value(function, x), value(function, x.astype(np.float32)).astype(dtype))


@line("ulp.gates")
def _() -> None:
    x = np.linspace(-20, 20, 20_001).astype(np.float32)
    wide = x.astype(np.float64)
    exact = wide * 0.5 * (1 + error_function(wide * math.sqrt(0.5)))
    assert (np.abs(value(ph.gelu, x) - exact) <= 2.0**-22 * np.abs(wide)).all()
    assert worst(ph.silu, lambda y: y / (1 + np.exp(-y)), x) <= 4


@line("exp.ends")
def _() -> None:
    for function in (ph.exp, ph.exp2):
        same(value(function, f32(-INF, INF, NAN, 0, 1e38, -1e38)), [0, INF, NAN, 1, INF, 0])
    tiny = value(ph.exp, f32(-103, -90))
    assert (tiny > 0).all() and (tiny < 1.2e-38).all()
    assert 0 < value(ph.sigmoid, f32(-100)) < 1e-43
    same(value(ph.sigmoid, f32(-INF, INF, NAN)), [0, 1, NAN])


@line("log.ends")
def _() -> None:
    for function in (ph.log, ph.log2, ph.log10):
        same(value(function, f32(0, -0.0, -1, INF)), [-INF, -INF, NAN, INF])
    same(value(ph.log1p, f32(-1, -2, INF, NAN)), [-INF, NAN, INF, NAN])


@line("zero.sign")
def _() -> None:
    for name in (
        *("sin", "tan", "tanh", "sinh", "expm1", "log1p", "erf", "sqrt"),
        *("asin", "atan", "asinh", "atanh", "erfinv", "cbrt"),
    ):
        same(value(getattr(ph, name), f32(0.0, -0.0)), [0.0, -0.0])


@line("wave.infinite")
def _() -> None:
    for function in (ph.sin, ph.cos, ph.tan, ph.sinc):
        same(value(function, f32(INF, -INF, NAN)), [NAN, NAN, NAN])
    x = np.concatenate([spread(np.float32, 100_000), np.float32(np.pi) * np.arange(999)])
    assert np.abs(value(ph.cos, x.astype(np.float32))).max() <= 1
    same(value(ph.cos, f32(0.0, -0.0, 1e-40)), [1, 1, 1])


@line("gate.infinite")
def _() -> None:
    same(value(ph.silu, f32(-INF, INF)), [NAN, INF])
    same(value(ph.gelu, f32(-INF, INF)), [NAN, INF])
    same(value(ph.mish, f32(-INF, INF)), [NAN, INF])
    same(value(ph.hardswish, f32(-INF, INF)), [NAN, INF])
    same(value(ph.softsign, f32(-INF, INF)), [NAN, NAN])
    same(value(ph.softplus, f32(-INF, INF, NAN)), [0, INF, NAN])


@line("power.special")
def _() -> None:
    special = [0.0, -0.0, 1, -1, 2, -2, 3, -3, 0.5, -0.5, 1.5, INF, -INF, NAN, 1e30, -1e30]
    a, b = np.repeat(special, 16), np.tile(special, 16)
    with np.errstate(all="ignore"):
        want = np.power(a, b)
    got = value(lambda x, y: x**y, a, b)
    # float64 powers are right to about 1e-13; special values to the bit
    np.testing.assert_allclose(got, want, rtol=1e-13, atol=0)
    same(np.copysign(1, got[~np.isnan(want)]), np.copysign(1, want[~np.isnan(want)]))


# --- rows and attention ---------------------------------------------------------------------


@line("softmax.masked-row")
def _() -> None:
    same(value(ph.softmax, f32(-INF, -INF)), [NAN, NAN])
    same(value(ph.softmax, f32(-INF, 0)), [0, 1])


@line("softmax.infinite")
def _() -> None:
    same(value(ph.softmax, f32(INF, 0)), [NAN, NAN])
    same(value(ph.softmax, f32(NAN, 0)), [NAN, NAN])


@line("softmax.large")
def _() -> None:
    x = ((np.arange(16) - 7) * np.float32(1.3e9)).astype(np.float32)
    got = value(lambda y: ph.softmax(y * (1 / 3)), x)
    assert np.isfinite(got).all() and got[-1] == 1
    assert abs(got.sum() - 1) <= 1e-6


@line("logsumexp.masked-row")
def _() -> None:
    same(value(ph.logsumexp, f32(-INF, -INF)), -INF)
    same(value(ph.logsumexp, f32(INF, 0)), INF)
    same(value(ph.logsumexp, np.zeros(0, np.float32)), -INF)


def attend(q: np.ndarray, k: np.ndarray, v: np.ndarray, seen: np.ndarray) -> np.ndarray:
    """Attention by its definition in float64; rows that see nothing are nan."""
    scores = np.einsum("hid,hjd->hij", *(x.astype(np.float64) for x in (q, k)))
    scores = np.where(seen, scores / math.sqrt(q.shape[-1]), -INF)
    with np.errstate(invalid="ignore"):
        weights = np.exp(scores - scores.max(-1, keepdims=True))
    return np.einsum("hij,hjd->hid", weights / weights.sum(-1, keepdims=True), v)


@line("attention.causal")
def _() -> None:
    random = np.random.default_rng(2)
    for rows, keys in ((1, 6), (3, 6), (5, 5), (5, 2)):
        q = random.normal(size=(2, rows, 8)).astype(np.float32)
        k, v = random.normal(size=(2, 2, keys, 8)).astype(np.float32)
        seen = np.arange(keys) <= np.arange(rows)[:, None] + keys - rows
        got = value(lambda a, b, c: ph.attention(a, b, c, causal=True), q, k, v)
        want = np.nan_to_num(attend(q, k, v, seen))  # rows that see nothing are 0
        np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-6)


@line("attention.no-key")
def _() -> None:
    random = np.random.default_rng(3)
    q, k, v = random.normal(size=(3, 1, 8, 8)).astype(np.float32)
    seen = np.zeros((8, 8), bool)
    seen[:4, :4] = True
    added = np.where(seen, 0, -INF).astype(np.float32)
    for mask in (seen, added):
        got = value(lambda a, b, c, m: ph.attention(a, b, c, m), q, k, v, mask)
        assert (got[:, 4:] == 0).all()
        alone = attend(q[:, :4], k[:, :4], v[:, :4], np.ones((4, 4), bool))
        np.testing.assert_allclose(got[:, :4], alone, rtol=1e-5, atol=1e-6)


# --- places ---------------------------------------------------------------------------------


@line("place.negative")
def _() -> None:
    x = np.arange(12.0, dtype=np.float32).reshape(3, 4)
    same(value(lambda y: y[-1, -2], x), x[-1, -2])
    same(value(lambda y, i: ph.take(y, i, 1), x, np.array([-1, 0, -4])), x[:, [-1, 0, -4]])
    index = np.array([[-1], [0], [-4]])
    got = value(lambda y, i: ph.take_along_axis(y, i, 1), x, index)
    same(got, np.take_along_axis(x, index, 1))


@line("place.outside")
def _() -> None:
    x, want = np.ones((3, 2), np.float32), [[0, 0], [0, 0], [1, 1]]
    got = value(lambda y, i: ph.take(y, i, 0), x, np.array([3, -4, 2]))
    np.testing.assert_array_equal(got, want)
    got = value(lambda i, y: ph.embedding(i, y), np.array([3, -1, 2]), x)
    np.testing.assert_array_equal(got, want)


@line("place.exact")
def _() -> None:
    x = f32(NAN, -0.0, INF, 5, -INF)
    for k in range(5):
        same(value(lambda y, i: ph.take(y, i), x, np.array([k])), x[[k]])
    for dtype in DTYPES.values():
        table = np.arange(5).astype(dtype.numpy)
        same(value(lambda y, i: ph.take(y, i), table, np.array([4, 0])), table[[4, 0]])


@line("slice.integer")
def _() -> None:
    x = np.arange(7.0)
    for part in (slice(10), slice(-3, None), slice(-100, 3), slice(5, 1), slice(None, None, -2)):
        same(value(lambda y, s=part: y[s], x), x[part])
    n = ph.dim("n", 1, 9)
    with pytest.raises(BadArgument, match="surely"):
        ph.input("x", (n,))[:5]
    same(of(ph.input("x", (n,))[-1], {"x": f32(1, 2, 3)}, n=3), np.float32(3))


@line("slice.symbolic")
def _() -> None:
    past = ph.dim("past", 0, 9)
    x = ph.constant(f32(1, 2, 3, 4))
    assert of(x[past : past + 2], past=1).tolist() == [2, 3]
    assert of(x[past : past + 2], past=3).tolist() == [4, 0]


@line("update.outside")
def _() -> None:
    start = ph.dim("start", 0, 9)
    old, new = ph.constant(np.arange(5.0)), ph.constant(np.array([-1.0, -2.0]))
    changed = ph.update(old, new, start, 0)
    assert of(changed, start=1).tolist() == [0, -1, -2, 3, 4]
    assert of(changed, start=4).tolist() == [0, 1, 2, 3, -1]
    assert of(changed, start=9).tolist() == [0, 1, 2, 3, 4]
