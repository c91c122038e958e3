"""Movements keep every bit; orders, places and joins at their ends."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from evaluating import of, value, values
from number_lines import INF, NAN, f32, line, same
from numpy.lib.stride_tricks import sliding_window_view

import photic as ph

SPECIAL = f32(NAN, -0.0, INF, -INF, 1e-45, 2, -3, 0).reshape(2, 4)


def pixels(x: Any) -> Any:
    """Four channels of two pixels."""
    return x.reshape(4, 1, 2)


# photic's function of one tensor, and NumPy's
MOVEMENTS: tuple[tuple[Callable[..., ph.Tensor], Callable[..., np.ndarray]], ...] = (
    (ph.flip, np.flip),
    (ph.fliplr, np.fliplr),
    (ph.flipud, np.flipud),
    (ph.rot90, np.rot90),
    (lambda x: ph.roll(x, 3), lambda x: np.roll(x, 3)),
    (lambda x: ph.roll(x, (1, -1), (0, 1)), lambda x: np.roll(x, (1, -1), (0, 1))),
    (ph.transpose, np.transpose),
    (ph.matrix_transpose, np.matrix_transpose),
    (lambda x: ph.moveaxis(x, 0, -1), lambda x: np.moveaxis(x, 0, -1)),
    (ph.flatten, np.ravel),
    (lambda x: ph.expand_dims(x, (0, 2)), lambda x: np.expand_dims(x, (0, 2))),
    (lambda x: ph.stack(ph.unstack(x, axis=1)), lambda x: x.T),
    (lambda x: ph.vstack([x, x]), lambda x: np.vstack([x, x])),
    (lambda x: ph.hstack([x, x]), lambda x: np.hstack([x, x])),
    (lambda x: ph.dstack([x, x]), lambda x: np.dstack([x, x])),
    (lambda x: ph.column_stack([x, x]), lambda x: np.column_stack([x, x])),
    (lambda x: ph.concat(ph.array_split(x, 3, 1)[::-1], 1), lambda x: x[:, [3, 2, 0, 1]]),
    (lambda x: ph.repeat_interleave(x, 2, 1), lambda x: np.repeat(x, 2, 1)),
    (lambda x: ph.diagonal(x, 1), lambda x: np.diagonal(x, 1)),
    (lambda x: ph.sliding_window_view(x, 3, 1), lambda x: sliding_window_view(x, 3, 1)),
    (lambda x: ph.delete(x, [0, -1], 1), lambda x: np.delete(x, [0, -1], 1)),
    (lambda x: ph.pixel_unshuffle(ph.pixel_shuffle(pixels(x), 2), 2), lambda x: pixels(x)),
)


@line("move.bits")
def _() -> None:
    for moved, numpys in MOVEMENTS:
        same(value(moved, SPECIAL), numpys(SPECIAL))


@line("move.blocks")
def _() -> None:
    a, b = f32(NAN, INF).reshape(1, 2), f32(-0.0).reshape(1, 1)
    same(value(ph.block_diag, a, b), [[NAN, INF, 0], [0, 0, -0.0]])
    same(value(lambda a, b: ph.block([[a, b]]), a, b), [[NAN, INF, -0.0]])
    same(value(ph.diagflat, f32(NAN, -0.0)), [[NAN, 0], [0, -0.0]])
    same(value(ph.diag_embed, f32(NAN, -0.0)), [[NAN, 0], [0, -0.0]])


@line("move.inserted")
def _() -> None:
    same(value(lambda x: ph.insert(x, 1, 3.7), np.array([1, 2])), [1, 3, 2])
    same(value(lambda x: ph.append(x, np.array([2.5])), np.array([1, 2], np.int32)), [1, 2, 2.5])


@line("size.repeats")
def _() -> None:
    counts = np.array([2, 0, 1])
    for total, want in ((3, [1, 1, 3]), (2, [1, 1]), (5, [1, 1, 3, 0, 0])):
        got = value(
            lambda x, n, t=total: ph.repeat(x, n, total_repeat_length=t), f32(1, 2, 3), counts
        )
        np.testing.assert_array_equal(got, want)


@line("partition.whole")
def _() -> None:
    same(value(lambda x: ph.partition(x, 1), f32(3, NAN, 1, 2)), [1, 2, 3, NAN])
    same(value(lambda x: ph.argpartition(x, 1), f32(3, NAN, 1, 2)), [2, 3, 0, 1])


@line("lexsort.nan")
def _() -> None:
    keys = np.array([[1.0, NAN, 1], [2, 1, NAN]])
    same(value(ph.lexsort, keys), np.lexsort(keys))


@line("percentile.quantile")
def _() -> None:
    x = f32(NAN, 1, 3)
    same(value(lambda x: ph.nanquantile(x, 0.5), x), 2)
    same(value(lambda x: ph.nanpercentile(x, 50), x), 2)
    same(value(lambda x: ph.percentile(x, 50), x), NAN)
    same(value(lambda x: ph.percentile(x, [0, 100]), x[1:]), [1, 3])


@line("digitize.nan")
def _() -> None:
    x = f32(0, 1, 2, NAN, INF)
    for bins in (f32(1, 2), f32(2, 1)):
        for right in (False, True):
            got = value(lambda x, b=bins, r=right: ph.digitize(x, b, right=r), x)
            same(got, np.digitize(x, bins, right))
    same(value(lambda x: ph.bucketize(x, f32(1, 2)), x), np.digitize(x, f32(1, 2), right=True))


@line("histc.ends")
def _() -> None:
    got = value(lambda x: ph.histc(x, bins=2, min=0, max=1), f32(0, 0.5, 1, 2, NAN, -1))
    same(got, [1, 2])


@line("place.unravelled")
def _() -> None:
    rows, columns = values(lambda i: ph.unravel_index(i, (2, 3)), np.array([5, 0, 3]))
    same(rows, [1, 0, 1])
    same(columns, [2, 0, 0])
    got = value(lambda a, b: ph.ravel_multi_index((a, b), (2, 3)), [1, 2, -1, 0], [2, 0, 0, 3])
    same(got, [5, -1, 3, -1])


@line("place.none")
def _() -> None:
    same(value(lambda k: ph.one_hot(k, 3), np.array([3, -1, 0])), [[0, 0, 0], [0, 0, 0], [1, 0, 0]])
    got = value(lambda x: ph.gather_nd(x, np.array([[5], [-1]])), f32(1, 2))
    np.testing.assert_array_equal(got, [0, 2])  # of zeros either one


@line("place.put")
def _() -> None:
    got = value(lambda x: ph.put(x, np.array([5, -1, 0, 0]), f32(1, 2, 3, 4)), f32(9, 9))
    same(got, [4, 2])
    source = value(lambda x: ph.masked_scatter(x, np.full(3, True), f32(1, 2)), f32(9, 9, 9))
    np.testing.assert_array_equal(source, [1, 2, 0])
    picked = value(lambda x: ph.compress(np.array([True, False]), x, size=2), f32(1, 2))
    np.testing.assert_array_equal(picked, [1, 0])


@line("cumulative.initial")
def _() -> None:
    same(value(lambda x: ph.cumulative_sum(x, include_initial=True), f32(1, NAN)), [0, 1, NAN])
    same(value(lambda x: ph.cumulative_prod(x, include_initial=True), f32(2, INF)), [1, 2, INF])
    same(value(ph.cumprod, f32(2, INF, 0, 1)), [2, INF, NAN, NAN])


@line("grid.numbers")
def _() -> None:
    first, second = (of(one) for one in ph.tril_indices(3, -1, 2))
    for got, want in zip((first, second), np.tril_indices(3, -1, 2), strict=True):
        same(got, want)
        assert got.dtype == np.int64
    same(of(ph.tri(2, 3, 1)), np.tri(2, 3, 1))
    assert of(ph.cartesian_prod(ph.zeros(0), ph.zeros(2))).shape == (0, 2)
