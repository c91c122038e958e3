"""The catalogue's entries for joins of nested lists, insertions, choices, and diagonals filled."""

from __future__ import annotations

import itertools

import numpy as np
from catalogue.by_torch import cases, exactly, floats, whole
from catalogue.entry import Array, Entry
from catalogue.inputs import of_shapes, with_specials
from catalogue.to_the_bit import GRIDS, exact

import photic as ph

ROWS = cases(
    [floats(3, 4), whole(3, low=0, high=2)],
    [floats(1, 2), exactly([1])],
    [floats(5, 1), exactly([0, 0, 1, 1, 0])],
)


def _first(found: Array, size: int) -> Array:
    made = np.zeros((size, *found.shape[1:]), found.dtype)
    made[: len(found)] = found[:size]
    return made


ENTRIES: tuple[Entry, ...] = (
    exact(
        "block",
        lambda x, y: (ph.block([[x, y], [y, x]]), ph.block([x, y]), ph.block(x)),
        lambda x, y: (np.block([[x, y], [y, x]]), np.block([x, y]), np.block(x)),
        of_shapes([(3, 4), (3, 4)], [(1, 1), (1, 1)], [(2, 0), (2, 0)]),
        onnx=("Concat",),
        sizes=("n m", "n m"),
    ),
    exact(
        "block.ranks",
        lambda x, y: ph.block([[x, x], [y]]),
        lambda x, y: np.block([[x, x], [y]]),
        of_shapes([(3,), (2, 6)], [(1,), (2,)]),
        onnx=("Concat",),
        sizes=("3", "n 6"),
    ),
    exact(
        "insert",
        lambda x, v: (
            ph.insert(x, 1, v, 1),
            ph.insert(x, [0, 2, -1], 7, 1),
            ph.insert(x, slice(0, 2), x[:, :2], 1),
            ph.insert(x, 2, 1),
            ph.insert(x, [1], x, 1),
        ),
        lambda x, v: (
            np.insert(x, 1, v, 1),
            np.insert(x, [0, 2, -1], 7, 1),
            np.insert(x, slice(0, 2), x[:, :2], 1),
            np.insert(x, 2, 1),
            np.insert(x, [1], x, 1),
        ),
        of_shapes([(3, 4), (3,)], [(1, 2), (1,)]),
        onnx=("Concat",),
    ),
    exact(
        "extract",
        lambda x, mask: (ph.extract(mask, x[:, 0], 2), ph.extract(x, x, 4, 1)),
        lambda x, mask: (
            _first(x[:, 0][mask != 0], 2),
            np.concatenate([x[x != 0], np.ones(4, x.dtype)])[:4],
        ),
        ROWS,
        zero_signs=False,
        onnx=("Compress",),
        sizes=("n m+", "n"),
    ),
    exact(
        "compress",
        lambda x, mask: (
            ph.compress(mask != 0, x, 0, size=2),
            ph.compress(mask != 0, x.T, 1, size=3),
            ph.compress(mask != 0, x, size=2),
        ),
        lambda x, mask: (
            _first(x[mask != 0], 2),
            _first(x[mask != 0], 3).T,
            _first(x.ravel()[: len(mask)][mask[: x.size] != 0], 2),
        ),
        ROWS,
        zero_signs=False,
        onnx=("Compress",),
        sizes=("n m+", "n"),
    ),
    exact(
        "ix_",
        lambda x: x[ph.ix_([0, -1, 0], np.array([1, 0]))],
        lambda x: x[np.ix_([0, -1, 0], [1, 0])],
        with_specials((3, 4), (2, 2)),
        aten=("index",),
        sizes=("n+ 4",),
    ),
    exact(
        "cartesian_prod",
        lambda x, y: (ph.cartesian_prod(x, y), ph.cartesian_prod(y, x, y), ph.cartesian_prod(x)),
        lambda x, y: (
            np.array(list(itertools.product(x, y)), x.dtype).reshape(-1, 2),
            np.array(list(itertools.product(y, x, y)), x.dtype).reshape(-1, 3),
            x,
        ),
        of_shapes([(3,), (2,)], [(1,), (4,)], [(0,), (2,)]),
        aten=("cartesian_prod",),
        sizes=("n", "m"),
    ),
    exact(
        "combinations",
        lambda x: (ph.combinations(x), ph.combinations(x, 3), ph.combinations(x, 2, True)),
        lambda x: tuple(
            np.array(list(rows), x.dtype).reshape(-1, count)
            for rows, count in (
                (itertools.combinations(x, 2), 2),
                (itertools.combinations(x, 3), 3),
                (itertools.combinations_with_replacement(x, 2), 2),
            )
        ),
        of_shapes([(4,)], [(1,)], [(0,)]),
        aten=("combinations",),
    ),
    exact(
        "fill_diagonal",
        lambda x: (ph.fill_diagonal(x, 1), ph.fill_diagonal(x[None], 0)),
        lambda x: (_filled(x, 1), _filled(x[None], 0)),
        with_specials((3, 3), (4, 2), (1, 5), (0, 2)),
        aten=("fill_diagonal_",),
        sizes=("n m",),
    ),
    exact(
        "matrix_transpose",
        lambda x: (ph.matrix_transpose(x), ph.matrix_transpose(x[None])),
        lambda x: (x.T, x.T[None]),
        GRIDS,
        onnx=("Transpose",),
        aten=("transpose",),
        sizes=("n m",),
    ),
)


def _filled(x: Array, value: int) -> Array:
    made = x.copy()
    for k in range(min(x.shape)):
        made[(k,) * x.ndim] = value
    return made
