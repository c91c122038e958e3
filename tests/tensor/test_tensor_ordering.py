"""Orders and counts of long axes compiled, of random ones against NumPy, and what they refuse."""

from __future__ import annotations

from collections.abc import Callable

import hypothesis
import hypothesis.extra.numpy as arrays
import hypothesis.strategies as draw
import numpy as np
import pytest
from evaluating import value

import photic as ph
from photic.base.errors import BadArgument, PhoticError, ShapeMismatch
from photic.tensor.keys import order_key
from photic.tensor.ordering import ordered

LONG = 5000
REFUSED: dict[str, tuple[type[PhoticError], Callable[[ph.Tensor], object]]] = {
    "topk of more than there are": (BadArgument, lambda x: ph.topk(x, 5)),
    "topk of fewer than none": (BadArgument, lambda x: ph.topk(x, -1)),
    "the 0th smallest": (BadArgument, lambda x: ph.kthvalue(x, 0)),
    "a quantile above 1": (BadArgument, lambda x: ph.quantile(x, 1.5)),
    "a percentile below 0": (BadArgument, lambda x: ph.percentile(x, -5)),
    "a quantile between the others": (BadArgument, lambda x: ph.quantile(x, 0.5, method="weibull")),
    "differences of negative order": (BadArgument, lambda x: ph.diff(x, -1)),
    "a search on some side": (BadArgument, lambda x: ph.searchsorted(x, x, "middle")),
    "a search in a number": (ShapeMismatch, lambda x: ph.searchsorted(x[0], x)),
    "bins of two axes": (ShapeMismatch, lambda x: ph.digitize(x, x.reshape(2, 2))),
    "no intervals": (BadArgument, lambda x: ph.histogram(x, 0)),
    "a range from high to low": (BadArgument, lambda x: ph.histogram(x, 2, (1, 0))),
    "weights of another shape": (ShapeMismatch, lambda x: ph.histogram(x, 2, weights=x[:2])),
    "the mode of nothing": (BadArgument, lambda x: ph.mode(x[:0])),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_makes_no_sense_is_refused_when_the_graph_is_built(name: str) -> None:
    error, call = REFUSED[name]
    with pytest.raises(error):
        call(ph.input("x", (4,)))


def test_topk_of_a_symbolic_axis_needs_a_size_that_is_surely_there() -> None:
    with pytest.raises(BadArgument, match=r"0\.\.2"):
        ph.topk(ph.input("x", (ph.dim("n", 2, 9),)), 3)


@hypothesis.given(arrays.arrays(np.float64, draw.integers(0, 70), elements=draw.floats(width=64)))
def test_keys_of_float64_stand_in_the_order_of_numpy(x: np.ndarray) -> None:
    keys = value(order_key, x)
    np.testing.assert_array_equal(np.argsort(keys, kind="stable"), np.argsort(x, kind="stable"))
    equal = (x[:, None] == x) | (np.isnan(x)[:, None] & np.isnan(x))
    np.testing.assert_array_equal(keys[:, None] == keys, equal)


@hypothesis.given(arrays.arrays(np.float16, draw.integers(1, 40)), draw.data())
def test_the_first_few_are_those_of_a_whole_order(x: np.ndarray, data: draw.DataObject) -> None:
    count = data.draw(draw.integers(0, len(x)))
    found = value(lambda h: ordered(order_key(h[None]), h.dtype, count)[0], x)
    np.testing.assert_array_equal(found, np.argsort(x, kind="stable")[:count])


def test_long_axes_compiled_are_those_of_numpy() -> None:
    random = np.random.default_rng(0)
    x = random.integers(-300, 300, (2, LONG)).astype(np.float32)
    x[0, ::97] = np.nan
    h = ph.input("x", x.shape)
    top, places = ph.topk(h, 20)
    median = ph.nanmedian(h, 1)
    values, which, counts, count = ph.unique(h, 700)
    program = ph.compile(
        {
            "order": ph.argsort(h),
            "top": top,
            "places": places,
            "median": median,
            "values": values,
            "which": which,
            "counts": counts,
            "count": count,
        },
        search=0,
    )
    got = program(x=x)
    falling = np.flip(LONG - 1 - np.argsort(np.flip(x, 1), 1, kind="stable"), 1)
    distinct, inverse, many = np.unique(x, return_inverse=True, return_counts=True)
    np.testing.assert_array_equal(got["order"], np.argsort(x, 1, kind="stable"))
    np.testing.assert_array_equal(got["places"], falling[:, :20])
    np.testing.assert_array_equal(got["top"], np.take_along_axis(x, falling[:, :20], 1))
    np.testing.assert_array_equal(got["median"], np.nanmedian(x, 1))
    np.testing.assert_array_equal(got["values"][: len(distinct)], distinct)
    np.testing.assert_array_equal(got["counts"][: len(distinct)], many)
    np.testing.assert_array_equal(got["which"], inverse)
    assert got["count"] == len(distinct)


def test_one_program_sorts_axes_of_every_size() -> None:
    n = ph.dim("n", 0, LONG)
    h = ph.input("x", (n,))
    program = ph.compile({"y": ph.sort(h), "m": ph.median(h)}, search=0)
    random = np.random.default_rng(0)
    for size in (0, 1, 31, 32, 33, 600, LONG):
        x = random.normal(size=size).astype(np.float32)
        got = program(x=x)
        np.testing.assert_array_equal(got["y"], np.sort(x))
        expected = np.float32(np.median(x.astype(np.float64))) if size else np.float32(np.nan)
        np.testing.assert_array_equal(got["m"], expected)
