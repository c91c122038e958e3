"""Windows and images: what padding holds, where ties fall, what lies outside."""

from __future__ import annotations

import numpy as np
import pytest
from evaluating import of, value
from number_lines import FLOATS, INF, NAN, f32, line, same

import photic as ph
from photic.base.errors import BadArgument
from photic.tensor.errors import UnknownSize
from photic.tensor.resize_places import simplest_fraction

# --- windows --------------------------------------------------------------------------------


@line("window.fits")
def _() -> None:
    with pytest.raises(BadArgument):
        ph.conv1d(ph.input("x", (1, 1, 2)), ph.input("w", (1, 1, 3)))
    with pytest.raises(BadArgument):
        ph.max_pool1d(ph.input("x", (ph.dim("n", 1, 9),)), 2)
    assert ph.max_pool1d(ph.input("x", (0,)), 3, 1, 1).shape == (0,)


@line("window.count")
def _() -> None:
    def count(stride: int, ceil_mode: bool) -> int:
        return int(ph.max_pool1d(ph.input("x", (5,)), 2, stride, 0, ceil_mode=ceil_mode).shape[0])

    assert [count(2, False), count(2, True)] == [2, 3]
    assert count(5, True) == 1  # a second window would begin past the end


@line("conv.reach")
def _() -> None:
    x = f32(1, NAN, 2, INF, 3).reshape(1, 1, 5)
    w = f32(1, 1).reshape(1, 1, 2)
    same(value(lambda x, w: ph.conv1d(x, w, padding=1), x, w)[0, 0], [1, NAN, NAN, INF, INF, 3])
    kernel = f32(1, 2, 3).reshape(1, 1, 3)
    got = value(lambda x, w: ph.conv_transpose1d(x, w, stride=2), x[..., :3], kernel)
    same(got[0, 0], [1, 2, NAN, NAN, NAN, 4, 6])


@line("conv.halves")
def _() -> None:
    x = np.full((1, 4096), 0.25, np.float16)
    w = np.ones((1, 1, 4096), np.float16)
    got = value(lambda x, w: ph.conv1d(x, w, ph.constant([1.0]).astype("float16")), x, w)
    same(got, np.array([[1025]], np.float16))  # in float16 itself the sum stops at 512


@line("conv.wrap")
def _() -> None:
    x, w = np.full((1, 2), 100, np.int8), np.full((1, 1, 2), 2, np.int8)
    same(value(ph.conv1d, x, w), np.array([[400 - 512]], np.int8))


@line("pool.padding")
def _() -> None:
    got = value(lambda x: ph.max_pool1d(x, 3, 3, 1), f32(-5, -INF, -7))
    same(got, [-5])
    same(value(lambda x: ph.max_pool1d(x, 1, 1, 1), f32(-5)), [-INF, -5, -INF])
    lowest = np.array([-128, -3, -128], np.int8)
    same(value(lambda x: ph.max_pool1d(x, 1, 1, 1), lowest[1:2]), lowest)


@line("pool.places")
def _() -> None:
    x = f32(2, 7, 7, NAN, 1, NAN)
    got = value(lambda x: ph.max_pool1d_with_indices(x, 3)[1], x)
    same(got, [1, 3])


@line("pool.counts")
def _() -> None:
    x = f32(3, 6, 9)

    def mean(**options: bool) -> object:
        return value(lambda x: ph.avg_pool1d(x, 3, 2, 1, **options), x)

    np.testing.assert_allclose(np.asarray(mean()), [3, 5], rtol=1e-6)
    np.testing.assert_allclose(np.asarray(mean(count_include_pad=False)), [4.5, 7.5], rtol=1e-6)
    # the last of three windows holds one element and the zero after it, and nothing past that
    got = value(lambda x: ph.avg_pool1d(x, 4, 3, 1, ceil_mode=True), f32(3, 6, 9, 12))
    np.testing.assert_allclose(got, [4.5, 7.0], rtol=1e-6)
    same(value(lambda x: ph.avg_pool1d(x, 1, 1, 1, count_include_pad=False), f32(4)), [NAN, 4, NAN])


@line("pool.norm")
def _() -> None:
    got = value(lambda x: ph.lp_pool1d(x, 3, 2), f32(-1, 1, -3))
    np.testing.assert_allclose(got, [2 ** (1 / 3)], rtol=1e-6)


@line("unpool.last")
def _() -> None:
    x, places = f32(-1, 5, -2), np.array([2, 2, 9])
    got = value(lambda x, i: ph.max_unpool1d(x, i, 1, output_size=(4,)), x, places)
    np.testing.assert_array_equal(got, [0, 0, 5, 0])
    with pytest.raises(BadArgument):
        ph.max_unpool(ph.input("x", (3,)), ph.input("i", (3,), "int64"), 1)


# --- resizing -------------------------------------------------------------------------------


@line("resize.exact")
def _() -> None:
    x = np.arange(20.0, dtype=np.float32)
    ties = {"round_prefer_ceil": [1, 5, 8, 11, 15, 18], "round_prefer_floor": [1, 4, 8, 11, 14, 18]}
    for rounding, places in ties.items():
        same(value(lambda x, r=rounding: ph.resize(x, (6,), rounding=r), x), places)
    # 7 places out of 21: float32 says that 7/21 is a little more than 1/3
    thirds = value(lambda x: ph.interpolate(x, 7), np.arange(21.0).reshape(1, 1, 21))
    same(thirds[0, 0], np.arange(0, 21, 3))


@line("resize.scale")
def _() -> None:
    for scale in (0.3, 1 / 3, 5 / 6, 2.0, 1.7, 0.57):
        fraction = simplest_fraction(scale)
        assert np.float32(float(fraction)) == np.float32(scale)
        assert fraction.denominator <= 100
        assert simplest_fraction(float(np.float32(scale))) == fraction
    x = ph.input("x", (1, 1, ph.dim("n", 1, 9)))
    assert str(ph.interpolate(x, scale_factor=1.5).shape[2]) == "((3*n) // 2)"
    with pytest.raises(UnknownSize):
        ph.interpolate(x, scale_factor=0.6)


@line("resize.outside")
def _() -> None:
    x = f32(5, 6, 7)
    same(value(lambda x: ph.resize(x, (6,), rounding="floor"), x), [5, 5, 5, 6, 6, 7])
    cubic = value(lambda x: ph.resize(x, (1,), mode="cubic"), f32(4))
    same(cubic, [4])


@line("resize.symbolic")
def _() -> None:
    x = np.random.default_rng(0).normal(size=(1, 2, 5))
    n, m = ph.dim("n", 1, 9), ph.dim("m", 1, 9)
    for mode in ("nearest", "nearest-exact", "linear", "cubic", "area"):
        static = value(lambda x, mode=mode: ph.interpolate(x, 7, mode=mode), x)
        symbolic = ph.interpolate(ph.input("x", (1, 2, n), "float64"), m, mode=mode)
        np.testing.assert_allclose(of(symbolic, {"x": x}, n=5, m=7), static, rtol=1e-14, atol=1e-14)


@line("resize.unread")
def _() -> None:
    x = np.ones((1, 1, 8), np.float32)
    x[..., 3] = NAN
    for mode, radius in (("linear", 1), ("cubic", 2)):
        got = value(lambda y, m=mode: ph.interpolate(y, 4, mode=m, antialias=True), x)
        middles = np.arange(4) * 2 + 0.5  # of the new places, which are twice as wide
        same(np.isnan(got[0, 0]), np.abs(middles - 3) < radius * 2)
    grown = value(lambda y: ph.interpolate(y, 15, mode="linear", align_corners=True), x)
    same(np.nonzero(np.isnan(grown[0, 0]))[0], [4, 5, 6, 7])
    inside = value(lambda y: ph.resize(y, (1, 1, 16), mode="cubic", exclude_outside=True), x)
    same(np.nonzero(np.isnan(inside[0, 0]))[0], np.arange(3, 11))


@line("resize.halves")
def _() -> None:
    for dtype in FLOATS[2:]:
        x = np.array([[[1, 2]]], dtype)
        wide = value(lambda x: ph.interpolate(x, 5, mode="linear"), x.astype(np.float32))
        same(value(lambda x: ph.interpolate(x, 5, mode="linear"), x), wide.astype(dtype))


# --- grids ----------------------------------------------------------------------------------


def _sampled(coordinate: float, **options: object) -> object:
    x, grid = f32(1, 2, 3).reshape(1, 1, 3), f32(coordinate).reshape(1, 1, 1)
    return float(value(lambda x, g: ph.grid_sample(x, g, **options), x, grid)[0, 0, 0])


@line("grid.outside")
def _() -> None:
    for mode in ("nearest", "bilinear", "bicubic"):
        assert _sampled(INF, mode=mode) == _sampled(-1e30, mode=mode) == 0
        assert _sampled(INF, mode=mode, padding_mode="border") == 3
        assert _sampled(-1e30, mode=mode, padding_mode="border") == 1


@line("grid.nan")
def _() -> None:
    for padding in ("zeros", "border", "reflection"):
        assert _sampled(NAN, mode="nearest", padding_mode=padding) == 0
        for mode in ("bilinear", "bicubic"):
            assert np.isnan(_sampled(NAN, mode=mode, padding_mode=padding))


@line("grid.ties")
def _() -> None:
    # -1, -1/3, 1/3, 1 are edges of places: halves go to the even place
    got = [_sampled(edge, mode="nearest", align_corners=True) for edge in (-0.5, 0.5)]
    assert got == [1, 3]
