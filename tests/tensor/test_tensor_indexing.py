"""Brackets, lookups, scatters and masks: what is refused and how, symbolic sizes, edges.

That results are NumPy's is the matter of the catalogue and of ``test_properties.py``.
"""

from __future__ import annotations

import operator
from collections.abc import Callable

import numpy as np
import pytest
from evaluating import of, value

import photic as ph
from photic.base.errors import BadArgument, DtypeMismatch, PhoticError, ShapeMismatch
from photic.tensor.errors import AxisOutOfRange, SizeOfMask, UnknownSize

X = ph.input("x", (3, 4))
FLAG = ph.input("flag", (3, 4), "bool")
PLACES = ph.input("places", (2,), "int64")
N = ph.dim("n", 0, 9)
LINE = ph.input("line", (N,))

REFUSED: list[tuple[str, Callable[[], object], type[PhoticError], str]] = [
    ("too many", lambda: X[0, 0, 0], AxisOutOfRange, "axis 2"),
    ("two dots", lambda: X[..., ..., 0], BadArgument, "two ..."),
    ("outside", lambda: X[3], BadArgument, "surely inside 3"),
    ("maybe outside", lambda: LINE[0], BadArgument, "surely inside n"),
    ("step 0", lambda: X[::0], BadArgument, "not 0"),
    ("float bound", lambda: X[1.0:], BadArgument, "an integer"),
    ("float places", lambda: X[np.zeros(2)], DtypeMismatch, "integer dtype"),
    ("open mask", lambda: X[FLAG], SizeOfMask, "masked_select"),
    ("mask of another shape", lambda: X[np.ones(2, bool)], ShapeMismatch, "2"),
    ("places that do not fit", lambda: X[[0, 1], [0, 1, 2]], ShapeMismatch, "3"),
    ("no size", lambda: ph.masked_select(X, FLAG), SizeOfMask, "known only at the call"),
    ("fill with floats", lambda: ph.masked_fill(X, X, 1), DtypeMismatch, "bool"),
    ("wide mask", lambda: ph.masked_fill(X[0], FLAG, 1), ShapeMismatch, "3, 4"),
    ("gather rank", lambda: ph.gather(X, 0, PLACES), ShapeMismatch, "gather"),
    ("gather too long", lambda: ph.gather(X, 0, np.zeros((1, 5), int)), BadArgument, "inside 0:4"),
    ("scatter rank", lambda: ph.scatter(X, 0, PLACES, 1), ShapeMismatch, "scatter"),
    ("short source", lambda: ph.scatter(X, 0, [[0, 0]], X[:1, :1]), BadArgument, "0:1"),
    ("reduction", lambda: ph.scatter(X, 0, [[0]], 1, "median"), BadArgument, "amax"),
    ("index_select", lambda: ph.index_select(X, 0, [[0]]), BadArgument, "rank 1"),
    ("index_put slice", lambda: ph.index_put(X, (slice(1), PLACES), 1), BadArgument, "whole"),
    ("index_put mask", lambda: ph.index_put(X, (FLAG,), X), SizeOfMask, "masked_select"),
    ("gather_nd", lambda: ph.gather_nd(X, np.zeros((2, 3), int)), BadArgument, "1 to 2"),
    ("narrow", lambda: ph.narrow(X, 1, 3, 2), BadArgument, "inside 0:4"),
    ("slice_scatter", lambda: ph.slice_scatter(X, X, 0, 1), ShapeMismatch, "2, 4"),
    ("select_scatter", lambda: ph.select_scatter(X, 1, 0, 3), BadArgument, "inside 3"),
    ("split", lambda: ph.split(X, 3, 1), BadArgument, "divisor of 4"),
    ("split sizes", lambda: X.split([1, 1], 1), BadArgument, "sum of 4"),
    ("chunk", lambda: ph.chunk(LINE, 2), UnknownSize, "n"),
    ("unbind", lambda: ph.unbind(LINE), UnknownSize, "n"),
    ("repeat each", lambda: ph.repeat(X, [1, 2], 0), BadArgument, "3 numbers"),
    ("pad mode", lambda: ph.pad(X, 1, "mirror"), BadArgument, "symmetric"),
    ("pad pairs", lambda: ph.pad(X, ((1, 1),) * 3), BadArgument, "2 pairs"),
    ("pad nothing", lambda: ph.pad(X[:0], 1, "edge"), BadArgument, "an element"),
    ("pad away", lambda: ph.pad(X, -2), BadArgument, "a size left"),
    ("diagonal", lambda: ph.diagonal(ph.input("r", (N, 4))), BadArgument, "known shape"),
    ("diag", lambda: ph.diag(ph.ones((2, 2, 2))), BadArgument, "1 or 2"),
    ("meshgrid", lambda: ph.meshgrid(X, indexing="yx"), BadArgument, "'ij'"),
    ("fold", lambda: ph.fold(ph.ones((1, 4, 9)), (3, 3), 2), PhoticError, ""),
    ("unfold", lambda: ph.unfold(ph.ones((1, 1, 2, 2)), 3), BadArgument, "3 or more"),
    ("windows", lambda: ph.sliding_window_view(X, 5, 1), BadArgument, "in 4"),
    ("arange", lambda: ph.arange(0.0, np.inf), BadArgument, "finite"),
    ("reshape", lambda: ph.reshape(X, (5, -1)), PhoticError, ""),
]


@pytest.mark.parametrize(
    "build, error, text", [one[1:] for one in REFUSED], ids=[one[0] for one in REFUSED]
)
def test_what_cannot_be_is_refused_when_it_is_written(
    build: Callable[[], object], error: type[PhoticError], text: str
) -> None:
    with pytest.raises(error) as raised:
        build()
    assert text in str(raised.value)


def test_an_unknown_method_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'fliip'"):
        X.fliip(0)
    assert not hasattr(X, "__array_interface__")


# --- symbolic sizes -------------------------------------------------------------------------

OPERATORS = [
    operator.add,
    operator.sub,
    operator.mul,
    operator.truediv,
    operator.floordiv,
    operator.mod,
    operator.lt,
    operator.le,
    operator.gt,
    operator.ge,
    operator.eq,
    operator.ne,
]


@pytest.mark.parametrize("apply", OPERATORS, ids=lambda one: one.__name__)
def test_a_symbolic_size_stands_on_either_side_of_a_tensor(apply: Callable[..., ph.Tensor]) -> None:
    a = np.array([1, 2, 3, 4, 6, 8], np.float32)
    x = ph.input("x", a.shape)
    np.testing.assert_array_equal(of(apply(N, x), {"x": a}, n=6), apply(np.float32(6), a))
    np.testing.assert_array_equal(of(apply(x, N), {"x": a}, n=6), apply(a, np.float32(6)))


def test_a_symbolic_size_is_no_other_thing() -> None:
    assert N != "n"
    assert N is not None
    assert ph.dim("n", 0, 9) == N
    assert N != 3
    with pytest.raises(TypeError):
        N + "n"


def test_scatters_of_symbolic_sizes_hold_for_none_too() -> None:
    k = ph.dim("k", 0, 9)
    x, i, v = ph.input("x", (N,)), ph.input("i", (k,), "int64"), ph.input("v", (k,))
    a = np.array([1, np.nan, -0.0], np.float32)
    for places in ([], [0, 0, -1, 3, -4]):
        index, values = np.array(places, np.int64), np.arange(len(places), dtype=np.float32)
        want = a.copy()
        want[index[:3]] = values[:3]
        got = of(ph.index_copy(x, 0, i, v), {"x": a, "i": index, "v": values}, n=3, k=len(places))
        np.testing.assert_array_equal(got, want)
        assert np.signbit(got[2]) == np.signbit(want[2])


def test_a_tensor_says_where_a_narrow_part_starts() -> None:
    a = np.arange(12, dtype=np.float32).reshape(3, 4)
    got = value(lambda x, s: ph.narrow(x, 1, s, 2), a, np.array(1))
    np.testing.assert_array_equal(got, a[:, 1:3])
    np.testing.assert_array_equal(value(lambda x, s: x.select(0, s), a, np.array(-1)), a[-1])


def test_known_masks_may_be_constants() -> None:
    a = np.arange(12, dtype=np.float32).reshape(3, 4)
    mask = ph.constant(a > 4)
    np.testing.assert_array_equal(value(lambda x: x[mask], a), a[a > 4])
    want = np.where(a > 4, -1, a)
    np.testing.assert_array_equal(value(lambda x: ph.index_put(x, (mask,), -1.0), a), want)


def test_a_scatter_with_few_columns_leaves_the_others(rng: np.random.Generator) -> None:
    a = rng.normal(size=(3, 4)).astype(np.float32)
    got = value(lambda x: ph.scatter(x, 0, [[2, 2]], 7.0), a)
    want = a.copy()
    want[2, :2] = 7
    np.testing.assert_array_equal(got, want)
