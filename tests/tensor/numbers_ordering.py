"""Orders of elements, running extremes, order statistics, counts."""

from __future__ import annotations

import numpy as np
import pytest
from evaluating import value
from number_lines import INF, NAN, f32, line, same

import photic as ph
from photic.base.errors import BadArgument
from photic.tensor.errors import SizeOfMask

MIXED = f32(2.0, NAN, -0.0, INF, 0.0, -INF, 2.0)

# --- orders ---------------------------------------------------------------------------------


@line("sort.nan")
def _() -> None:
    same(value(ph.sort, MIXED), f32(-INF, -0.0, 0.0, 2.0, 2.0, INF, NAN))
    falling = value(lambda x: ph.sort(x, descending=True), MIXED)
    same(falling, f32(NAN, INF, 2.0, 2.0, -0.0, 0.0, -INF))


@line("sort.stable")
def _() -> None:
    same(value(ph.argsort, MIXED), np.array([5, 2, 4, 0, 6, 3, 1]))
    falling = value(lambda x: ph.argsort(x, descending=True), MIXED)
    same(falling, np.array([1, 3, 0, 6, 2, 4, 5]))


@line("topk.order")
def _() -> None:
    same(value(lambda x: ph.topk(x, 3)[1], MIXED), np.array([1, 3, 0]))
    same(value(lambda x: ph.topk(x, 3, largest=False)[1], MIXED), np.array([5, 2, 4]))
    with pytest.raises(BadArgument, match=r"0\.\.2"):
        ph.topk(f32(1.0, 2.0), 3)


@line("cummax.last")
def _() -> None:
    same(
        value(lambda x: ph.cummax(x, 0)[1], f32(1, 3, 3, NAN, 4, NAN)), np.array([0, 1, 2, 3, 3, 5])
    )
    same(value(lambda x: ph.cummin(x, 0)[1], f32(3, 1, 1, 2)), np.array([0, 1, 2, 2]))


@line("cummax.nan")
def _() -> None:
    same(value(lambda x: ph.cummax(x, 0)[0], f32(1, NAN, 2)), f32(1, NAN, NAN))


@line("logcumsumexp.infinite")
def _() -> None:
    found = value(lambda x: ph.logcumsumexp(x, 0), f32(-INF, -INF, 0.0, INF, 1.0))
    same(found, f32(-INF, -INF, 0.0, INF, INF))


# --- order statistics -----------------------------------------------------------------------


@line("median.nan")
def _() -> None:
    same(value(ph.median, f32(1, NAN, 3)), np.float32(NAN))
    same(value(ph.nanmedian, f32(1, NAN, 3)), np.float32(2))
    same(value(ph.nanmedian, f32(NAN, NAN)), np.float32(NAN))
    same(value(ph.median, f32()), np.float32(NAN))


@line("median.integer")
def _() -> None:
    same(value(ph.median, np.array([1, 2], np.int64)), np.float32(1.5))
    assert value(ph.median, np.array([1, 2], np.int64)).dtype == np.float32


@line("quantile.infinite")
def _() -> None:
    same(value(lambda x: ph.quantile(x, 0.3), f32(INF, INF)), np.float32(INF))
    same(value(lambda x: ph.quantile(x, 0.3), f32(-INF, 1.0)), np.float32(-INF))
    same(value(lambda x: ph.quantile(x, 0.3), f32(-INF, INF)), np.float32(NAN))


@line("kthvalue.first")
def _() -> None:
    same(value(lambda x: ph.kthvalue(x, 2)[1], f32(5, 1, 1, 7)), np.array(1))


# --- searches, counts -----------------------------------------------------------------------


@line("searchsorted.nan")
def _() -> None:
    a, v = f32(1, 2, NAN), f32(NAN, INF)
    same(value(ph.searchsorted, a, v), np.array([2, 2]))
    same(value(lambda a, v: ph.searchsorted(a, v, "right"), a, v), np.array([3, 2]))


@line("unique.equal")
def _() -> None:
    values, which, counts, count = (
        value(lambda x, k=k: ph.unique(x, 4, 9.0)[k], f32(NAN, 0.0, NAN, -0.0)) for k in range(4)
    )
    same(values, f32(0.0, NAN, 9.0, 9.0))
    same(which, np.array([1, 0, 1, 0]))
    same(counts, np.array([2, 2, 0, 0]))
    same(count, np.array(2))


@line("mode.smallest")
def _() -> None:
    found = [value(lambda x, k=k: ph.mode(x)[k], f32(3, 1, 1, 3, 2)) for k in range(2)]
    same(found[0], np.float32(1))
    same(found[1], np.array(2))


@line("size.stated")
def _() -> None:
    places, count = (
        value(lambda x, k=k: ph.nonzero(x, 3, -1)[k], f32(0, 5, NAN)) for k in range(2)
    )
    same(places, np.array([[1, 2, -1]]))
    same(count, np.array(2))
    same(value(lambda x: ph.nonzero(x, 1)[0], f32(0, 5, NAN)), np.array([[1]]))
    for function in (ph.nonzero, ph.argwhere, ph.flatnonzero, ph.unique):
        with pytest.raises(SizeOfMask):
            function(f32(0, 5))


@line("count.outside")
def _() -> None:
    same(value(lambda x: ph.bincount(x, length=3), np.array([0, 2, 2, 5, -1])), np.array([1, 0, 2]))
    counts = value(lambda x: ph.histogram(x, 2, (0, 2))[0], f32(NAN, -1, 0, 1, 2, 3))
    same(counts, np.array([1, 2]))


@line("histogram.nan")
def _() -> None:
    counts, edges = (value(lambda x, k=k: ph.histogram(x, 2)[k], f32(NAN, 1)) for k in range(2))
    same(counts, np.array([0, 0]))
    same(edges, f32(NAN, NAN, NAN))


@line("nan.left-out")
def _() -> None:
    names = ("nansum", "nanmean", "nanmax", "nanmin", "nanvar", "nanstd")
    found = [float(value(getattr(ph, name), f32(NAN, NAN))) for name in names]
    same(np.array(found), np.array([0.0, *(NAN,) * 5]))
    same(value(ph.nanmean, f32(1, NAN, 4)), np.float32(2.5))
