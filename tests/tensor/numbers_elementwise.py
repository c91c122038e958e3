"""Functions of single elements beyond the first ones: signs, waves, inverses, gates."""

from __future__ import annotations

import numpy as np
from evaluating import spread, ulps, value
from number_lines import INF, NAN, f32, line, same

import photic as ph

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
