"""Checks of docs/numbers.md: places, scatters, masks, paddings, diagonals."""

from __future__ import annotations

import numpy as np
import pytest
from evaluating import value
from number_lines import FLOATS, INTEGERS, NAN, f32, line, same

import photic as ph
from photic.tensor.errors import SizeOfMask

TABLE = f32(1, NAN, -0.0, 4)


@line("place.dropped")
def _() -> None:
    same(value(lambda x: ph.scatter(x, 0, [4, -5, 1], 9.0), TABLE), [1, 9, -0.0, 4])
    same(value(lambda x: ph.index_put(x, ([7, 0],), 9.0), TABLE), [9, NAN, -0.0, 4])
    pairs = np.array([[0, 2], [1, 1], [2, 0]])
    same(
        value(lambda x: ph.scatter_nd(x, pairs, 9.0), f32(1, 2, 3, 4).reshape(2, 2)),
        [[1, 2], [3, 9]],
    )


@line("place.last")
def _() -> None:
    values = f32(5, 6, 7)
    same(value(lambda x, v: ph.scatter(x, 0, [2, 0, 2], v), TABLE, values), [6, NAN, 7, 4])
    same(value(lambda x, v: ph.index_put(x, ([2, 0, -2],), v), TABLE, values), [6, NAN, 7, 4])
    same(value(lambda x, v: ph.index_put(x, ([2, 0, 2],), v, True), TABLE, values), [7, NAN, 12, 4])


@line("place.untouched")
def _() -> None:
    for call in (
        lambda x: ph.scatter(x, 0, [0], 1.0),
        lambda x: ph.scatter_add(x, 0, [0], 0.0),
        lambda x: ph.scatter(x, 0, [0], 1.0, "multiply"),
        lambda x: ph.masked_fill(x, np.array([True, False, False, False]), 1.0),
        lambda x: ph.slice_scatter(x, 1.0, 0, 0, 1),
    ):
        same(value(call, TABLE), TABLE)


@line("scatter.halves")
def _() -> None:
    for name in ("float16", "bfloat16"):
        dtype = ph.zeros(1, name).dtype.numpy
        tiny = np.full(4096, 2.0**-9).astype(dtype)  # each of them is lost when added to 1 alone
        zeros = np.zeros(4096, np.int64)
        got = value(lambda x, i, v: ph.scatter_add(x, 0, i, v), np.ones(1, dtype), zeros, tiny)
        assert got.astype(np.float64).tolist() == [9.0]


@line("scatter.integers")
def _() -> None:
    for name in INTEGERS:
        most = np.iinfo(name).max
        x = np.array([most], name)
        got = value(lambda x: ph.scatter_add(x, 0, [0], 1), x)
        assert got.dtype == name
        assert got == np.iinfo(name).min


@line("scatter.product")
def _() -> None:
    huge = f32(1e30, 1e30, 1e-30, 1e-30)  # in another order the product stays finite
    same(value(lambda v: ph.scatter(ph.ones(1), 0, [0] * 4, v, "multiply"), huge), [np.inf])


@line("scatter.nan")
def _() -> None:
    for name in ("amax", "amin", "sum", "prod", "mean"):
        got = value(lambda v, n=name: ph.scatter_reduce(ph.ones(2), 0, [0, 0], v, n), f32(NAN, 2))
        assert np.isnan(got[0])
        assert got[1] == 1


@line("brackets.apart")
def _() -> None:
    x = np.zeros((2, 3, 4, 5), np.float32)
    for index, shape in (
        (np.s_[:, [0], [1]], (2, 1, 5)),
        (np.s_[:, [0], :, [1]], (1, 2, 4)),
        (np.s_[0, :, [1, 2]], (2, 3, 5)),
        (np.s_[:, [0, 1, 2], None, [1]], (3, 2, 1, 5)),
    ):
        assert value(lambda y, i=index: y[i], x).shape == x[index].shape == shape


@line("brackets.mask")
def _() -> None:
    x, mask = np.arange(4, dtype=np.float32), np.array([True, False, True, True])
    same(value(lambda y: y[mask], x), [0, 2, 3])
    with pytest.raises(SizeOfMask, match=r"masked_select\(x, mask, size"):
        value(lambda y, m: y[m], x, mask)


@line("mask.select")
def _() -> None:
    mask = np.array([True, False, True, True])
    for size, want in ((2, [1, -0.0]), (3, [1, -0.0, 4]), (5, [1, -0.0, 4, NAN, NAN])):
        got = value(lambda x, m, n=size: ph.masked_select(x, m, n, NAN), TABLE, mask)
        same(got, want)


@line("pad.widths")
def _() -> None:
    x = np.arange(4)
    assert value(lambda y: ph.pad(y, (-3, 3), "reflect"), x).tolist() == [3, 3, 3, 3]
    assert value(lambda y: ph.pad(y, (-1, 4), "reflect"), x).tolist() == [1, 2, 3, 2, 1, 2, 3]
    for mode in ("edge", "reflect", "symmetric", "wrap"):
        got = value(lambda y, m=mode: ph.pad(y, (9, 20), m), x)
        assert got.tolist() == np.pad(x, (9, 20), mode=mode).tolist()


@line("zero.beside")
def _() -> None:
    nans = np.full((2, 2), NAN, np.float32)
    for name in FLOATS:
        x = nans.astype(ph.zeros(1, name).dtype.numpy)
        same(value(ph.tril, x)[0, 1], 0.0)
        same(value(ph.triu, x)[1, 0], 0.0)
        same(value(lambda y: ph.diag(y[0]), x)[[0, 1], [1, 0]], [0.0, 0.0])
    same(
        value(lambda y: ph.fold(y, (1, 3), (1, 1), stride=(1, 2)), nans.reshape(1, 2, 2))[
            0, :, 0, 1
        ],
        [0.0, 0.0],
    )
