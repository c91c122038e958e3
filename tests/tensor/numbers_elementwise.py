"""Functions of single elements beyond the first ones: signs, waves, inverses, gates."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
import scipy.special as special
from evaluating import spread, ulps, value
from number_lines import INF, INTEGERS, NAN, f32, line, same

import photic as ph
from photic.base.errors import BadArgument

# --- signs and fractions --------------------------------------------------------------------


@line("sign.bit")
def _() -> None:
    x = f32(0.0, -0.0, INF, -INF, 1e-45, -1e-45, 2, -3)
    same(value(ph.signbit, x), np.signbit(x))
    same(value(ph.copysign, x[:, None], x), np.copysign(x[:, None], x))
    same(value(ph.signbit, f32(NAN, -NAN)), [False, False])
    same(value(ph.copysign, f32(-2, 2), f32(NAN, -NAN)), [2, 2])


@line("frac.whole")
def _() -> None:
    same(value(ph.frac, f32(2, -2, 0.0, -0.0, 2.5, -2.5, 1e30)), [0, 0, 0, 0, 0.5, -0.5, 0])
    same(value(ph.frac, f32(INF, -INF, NAN)), [NAN, NAN, NAN])


@line("heaviside.middle")
def _() -> None:
    x = f32(0.0, -0.0, 3, -3, INF, -INF, NAN)
    for middle in (0.5, -0.0, NAN, INF):
        same(value(lambda y, m=middle: ph.heaviside(y, m), x), np.heaviside(x, np.float32(middle)))


# --- waves ----------------------------------------------------------------------------------


@line("ulp.far-tan")
def _() -> None:
    random = np.random.default_rng(0)
    x = (random.uniform(1, 2, 100_000) * 2.0 ** random.uniform(17, 126, 100_000)).astype(np.float32)
    assert ulps(value(ph.tan, x), np.tan(x.astype(np.float64))).max() <= 8
    x = np.linspace(2.0**127, 3.4e38, 2001).astype(np.float32)
    sine, cosine = np.sin(x.astype(np.float64)), np.cos(x.astype(np.float64))
    below = sine / value(ph.tan, x)
    # four units for the tangent's own roundings
    assert (np.abs(below - cosine) <= 2.0**-22 + 4 * 2.0**-23 * np.abs(cosine)).all()


@line("sinc.whole")
def _() -> None:
    same(np.abs(value(ph.sinc, np.arange(-9.0, 10).astype(np.float32))), [0] * 9 + [1] + [0] * 9)
    x = spread(np.float32, 100_000)
    x = x[np.abs(x) < 2.0**22]
    wide = x.astype(np.float64)
    turned = np.sin(np.pi * (wide - np.rint(wide))) * np.where(np.rint(wide) % 2 == 0, 1, -1)
    with np.errstate(invalid="ignore"):
        exact = np.where(wide == 0, 1, turned / (np.pi * wide))
    assert ulps(value(ph.sinc, x), exact).max() <= 4


# --- accuracy -------------------------------------------------------------------------------


def erfc(x: np.ndarray) -> np.ndarray:
    return np.array([math.erfc(one) for one in x.ravel()])


def logit(x: np.ndarray) -> np.ndarray:
    far = np.log(x) - np.log1p(-x)
    return np.where(np.abs(x - 0.5) < 0.25, 2 * np.arctanh(2 * x - 1), far)


def mish(x: np.ndarray) -> np.ndarray:
    grown = np.exp(np.minimum(x, 50))
    share = grown * (grown + 2)
    return x * np.where(x > 50, 1.0, share / (share + 2))


def unit(x: np.ndarray) -> np.ndarray:
    return np.where(x > 0, x, np.expm1(np.minimum(x, 0)))


SELU = np.array([1.0507009873554805, 1.7580993408473768])

INVERSE: tuple[tuple[str, Callable[[np.ndarray], np.ndarray]], ...] = (
    ("asin", np.arcsin),
    ("acos", np.arccos),
    ("atan", np.arctan),
    ("asinh", np.arcsinh),
    ("acosh", np.arccosh),
    ("atanh", np.arctanh),
    ("logit", logit),
    ("erfc", erfc),
    ("erfinv", special.erfinv),
    ("cbrt", np.cbrt),
    ("mish", mish),
    ("silu", lambda x: x / (1 + np.exp(-x))),
    ("log_sigmoid", special.log_expit),
    ("elu", unit),
    ("celu", unit),
    ("selu", lambda x: np.where(x > 0, x * SELU[0], unit(x) * SELU[1])),
)


def hard(dtype: type) -> np.ndarray:
    """Floats of every size, and closely around the places where functions change their form."""
    random = np.random.default_rng(1)
    places = random.choice([1.0, -1.0, 0.5, -0.5, 0.25, 0.75, 1.5, 2.0, 0.4142, 2.4142], 20_000)
    near = places + random.uniform(-1, 1, 20_000) * 2.0 ** random.uniform(-50, -2, 20_000)
    return np.concatenate([spread(dtype, 40_000), near, random.uniform(-1, 1, 20_000)]).astype(
        dtype
    )


@line("ulp.inverse")
def _() -> None:
    x = hard(np.float32)
    y = np.random.default_rng(2).permutation(x)
    wide, other = x.astype(np.float64), y.astype(np.float64)
    with np.errstate(all="ignore"):
        for name, exact in INVERSE:
            assert ulps(value(getattr(ph, name), x), exact(wide)).max() <= 4, name
        for name, both in (("atan2", np.arctan2), ("hypot", np.hypot)):
            assert ulps(value(getattr(ph, name), x, y), both(wide, other)).max() <= 4, name


# In extended precision; NumPy has it for these.
DOUBLE = (
    *("exp", "expm1", "log", "log10", "log1p", "cos", "tan", "tanh", "sinh", "cosh"),
    *("arcsin", "arccos", "arctan", "arcsinh", "arccosh", "arctanh", "cbrt"),
)


def ulps_double(got: np.ndarray, exact: np.ndarray) -> np.ndarray:
    """As ``ulps``, of a long double that may be beyond float64's range."""
    with np.errstate(all="ignore"):
        rounded = exact.astype(np.float64)
        distance = np.abs(got - exact) / np.spacing(np.abs(rounded))
    right = (got == rounded) | (np.isnan(got) & np.isnan(rounded))
    return np.where(right, 0.5, np.nan_to_num(distance.astype(np.float64), nan=np.inf))


@line("ulp.double")
def _() -> None:
    x = hard(np.float64)
    wide = x.astype(np.longdouble)
    if wide.dtype.itemsize == x.dtype.itemsize:
        pytest.skip("needs a long double wider than float64")
    with np.errstate(all="ignore"):
        for name in DOUBLE:
            kept = np.abs(x) < (2.0**1023 if name in ("cos", "tan") else np.inf)
            error = ulps_double(value(getattr(ph, name), x), getattr(np, name)(wide))
            assert error[kept].max() <= 4, name
        # these are not there in extended precision: the C library's and SciPy's err themselves
        x = x[np.abs(x) < 26]
        for name, exact in (("erfc", erfc), ("erf", special.erf), ("erfinv", special.erfinv)):
            assert ulps(value(getattr(ph, name), x), exact(x)).max() <= 6, name


# --- corners --------------------------------------------------------------------------------


@line("inverse.ends")
def _() -> None:
    for name in ("asin", "acos", "atanh", "erfinv"):
        same(value(getattr(ph, name), f32(1.5, -1.5, INF, NAN)), [NAN] * 4)
    same(value(ph.acosh, f32(0.5, -INF, 1, INF)), [NAN, NAN, 0, INF])
    same(value(ph.logit, f32(-0.5, 1.5, 0, 1)), [NAN, NAN, -INF, INF])
    same(value(ph.logit, f32(0.5, NAN)), [0, NAN])
    same(value(ph.acos, f32(1)), [0])
    for name in ("atanh", "erfinv"):
        same(value(getattr(ph, name), f32(1, -1)), [INF, -INF])
    for name in ("asinh", "cbrt"):
        same(value(getattr(ph, name), f32(INF, -INF)), [INF, -INF])
    same(value(ph.atan, f32(INF, -INF)), f32(np.pi / 2, -np.pi / 2))


@line("atan2.corners")
def _() -> None:
    x = f32(0.0, -0.0, INF, -INF, 1, -1, 1e-45, -1e38, NAN)
    wide = x.astype(np.float64)
    same(value(ph.atan2, x[:, None], x), np.arctan2(wide[:, None], wide).astype(np.float32))


@line("erfc.tail")
def _() -> None:
    same(value(ph.erfc, f32(INF, -INF, NAN, 11)), [0, 2, NAN, 0])
    x = np.linspace(9, 10.1, 1001).astype(np.float32)
    assert ulps(value(ph.erfc, x), erfc(x.astype(np.float64))).max() <= 4
    assert (value(ph.erfc, x) > 0).mean() > 0.9


@line("gamma.ends")
def _() -> None:
    x = f32(0, -0.0, -1, -2, INF, -INF, NAN, 1, 2, -1e30, 1e30)
    lowest = np.float32(1e30 * (math.log(1e30) - 1))
    same(value(ph.lgamma, x), [*[INF] * 6, NAN, 0, 0, INF, lowest])
    same(value(ph.digamma, x[:7]), [-INF, INF, NAN, NAN, INF, NAN, NAN])
    x = hard(np.float32)
    x = x[(np.abs(x) < 1e4) | (x > 0)]
    for name, exact in (("lgamma", special.gammaln), ("digamma", special.digamma)):
        with np.errstate(all="ignore"):
            assert ulps(value(getattr(ph, name), x), exact(x.astype(np.float64))).max() <= 4, name


@line("hypot.infinite")
def _() -> None:
    same(value(ph.hypot, f32(3e38, 3e-45, INF, -INF, NAN), f32(0, 4e-45, NAN, 1, 1)),
         np.hypot(f32(3e38, 3e-45, INF, -INF, NAN), f32(0, 4e-45, NAN, 1, 1)))  # fmt: skip
    assert np.isfinite(value(ph.hypot, f32(2e38), f32(2e38)))


@line("gate.nan")
def _() -> None:
    for name in (
        *("relu", "relu6", "elu", "celu", "selu", "leaky_relu", "hardtanh", "hardsigmoid", "mish"),
        *("hardswish", "softsign", "softshrink", "hardshrink", "tanhshrink", "log_sigmoid"),
    ):
        same(value(getattr(ph, name), f32(NAN)), [NAN])
    same(value(lambda x: ph.threshold(x, 0.1, 20.0), f32(NAN, 0, 1)), [NAN, 20, 1])
    same(value(ph.prelu, f32(NAN), f32(0.5)), [NAN])


@line("logaddexp.infinite")
def _() -> None:
    for function in (ph.logaddexp, ph.logaddexp2):
        same(
            value(function, f32(-INF, INF, INF, NAN, 1000), f32(-INF, -INF, INF, 1, -INF)),
            [-INF, INF, INF, NAN, 1000],
        )


@line("logaddexp.error")
def _() -> None:
    random = np.random.default_rng(3)
    x = np.concatenate([random.normal(0, 3, 40_000), -(10.0 ** random.uniform(-7, 0, 40_000))])
    near = random.permutation(10.0 ** random.uniform(-7, 0, 40_000))
    # the second half is paired with what nearly cancels it
    y = np.concatenate([random.normal(0, 3, 40_000), np.log(-np.expm1(x[40_000:])) * (1 + near)])
    x, y = x.astype(np.float32), y.astype(np.float32)
    larger = np.maximum(x, y).astype(np.float64)
    for function, exact in ((ph.logaddexp, np.logaddexp), (ph.logaddexp2, np.logaddexp2)):
        got, true = value(function, x, y), exact(x.astype(np.float64), y.astype(np.float64))
        assert ulps(got, true)[larger >= 0].max() <= 4
        size = np.maximum(np.abs(true), np.abs(larger))
        assert (np.abs(got - true) / size).max() <= 2.0**-21


@line("xlogy.zero")
def _() -> None:
    same(value(ph.xlogy, f32(0, 0, 0, 0, 2), f32(0, INF, -1, NAN, 0)), [0, 0, 0, NAN, -INF])


# --- remainders, bounds, questions ----------------------------------------------------------


@line("float.fmod")
def _() -> None:
    x = np.concatenate([f32(0.0, -0.0, INF, -INF, NAN, 7.5, -7.5), spread(np.float32, 2000)])
    y = np.random.default_rng(0).permutation(x)
    with np.errstate(invalid="ignore"):
        same(value(ph.fmod, x, y), np.fmod(x, y))
    assert ph.remainder is ph.mod


@line("float.lerp")
def _() -> None:
    same(value(ph.lerp, f32(3, 3), f32(0.1, 1e30), f32(0, 1)), f32(3, 1e30))


@line("integer.fmod")
def _() -> None:
    for name in INTEGERS:
        info = np.iinfo(name)
        x = np.array([info.min, info.min + 1, info.max, 0, 1, 7, *([-1, -7] if info.min else [])])
        x = x.astype(name)
        with np.errstate(divide="ignore"):
            same(value(ph.fmod, x[:, None], x), np.fmod(x[:, None], x))


@line("integer.shifts")
def _() -> None:
    for name in INTEGERS:
        info = np.iinfo(name)
        x = np.array([info.min, info.max, 0, 1, 5, *([-1, -7] if info.min else [])]).astype(name)
        places = np.array([0, 1, info.bits - 1, info.bits, info.bits + 1]).astype(name)
        if info.min:
            places = np.append(places, np.array([-1], name))
        for function in (np.left_shift, np.right_shift):
            ours = getattr(ph, function.__name__)
            same(value(ours, x[:, None], places), function(x[:, None], places))
    same(value(lambda y: (y << 2) >> 1, np.array([3, -3])), [6, -6])
    with pytest.raises(BadArgument):
        ph.input("x", (2,), "int32") << -1


@line("max.fmax")
def _() -> None:
    x = f32(NAN, 1, NAN, INF)
    y = f32(2, NAN, NAN, -3)
    same(value(ph.fmax, x, y), [2, 1, NAN, INF])
    same(value(ph.fmin, x, y), [2, 1, NAN, -3])


@line("max.clip")
def _() -> None:
    x = f32(-1, 0, 5, NAN)
    same(value(lambda y: ph.clip(y, NAN, 3), x), [NAN] * 4)
    same(value(lambda y: ph.clip(y, 3, 1), x), np.clip(x, 3, 1))
    bound = f32(NAN, 1, 2, 0)
    same(value(lambda y, b: ph.clip(y, b), x, bound), np.maximum(x, bound))
    with pytest.raises(BadArgument):
        ph.clip(ph.input("x", (2,), "int8"), -1000, 5)


@line("compare.close")
def _() -> None:
    x, y = f32(1, 1, INF, INF, NAN, 0, 1e-9), f32(1.00001, 1.0001, INF, 1e38, NAN, 1e-7, 0)
    same(value(ph.isclose, x, y), np.isclose(x, y))
    same(
        value(lambda a, b: ph.isclose(a, b, equal_nan=True), x, y), np.isclose(x, y, equal_nan=True)
    )
    same(value(ph.isclose, np.array([2**62, 5]), np.array([-(2**62), 5])), [False, True])


@line("compare.replaced")
def _() -> None:
    for name in ("float64", "float32", "float16"):
        x = np.array([NAN, INF, -INF, -0.0, 3]).astype(name)
        same(value(ph.nan_to_num, x), np.nan_to_num(x))
    same(value(ph.nan_to_num, np.array([1, -2])), [1, -2])
