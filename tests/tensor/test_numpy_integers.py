"""NumPy's integers as axes, sizes and counts: Python's integers reach the graph, whatever is given.

Sizes are compared and remembered by value, so one of NumPy's in the graph would come back in shapes
of later graphs, and fail there.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import photic as ph
from photic.base.errors import BadArgument, PhoticError
from photic.tensor.errors import UnknownSize

Make = Callable[[Any], Any]  # of a kind of integer: what is built with it

SQUARE = ph.input("x", (4, 4))
CUBE = ph.input("x", (2, 4, 6))
IMAGE = ph.input("x", (1, 8, 4, 6))
LINE = ph.input("x", (12,))

# Each is called with int and with np.int64; what is built must be the same.
CASES: dict[str, Make] = {
    "sum": lambda n: ph.sum(CUBE, n(1)),
    "sum of axes": lambda n: ph.sum(CUBE, (n(0), n(-1))),
    "softmax": lambda n: ph.softmax(CUBE, n(1)),
    "flip": lambda n: ph.flip(CUBE, n(1)),
    "reshape": lambda n: ph.reshape(CUBE, (n(4), n(-1))),
    "reshape to a line": lambda n: ph.reshape(CUBE, n(48)),
    "method reshape": lambda n: CUBE.reshape(n(6), n(8)),
    "view": lambda n: CUBE.view(n(6), n(8)),
    "expand": lambda n: ph.expand(LINE, (n(3), n(-1))),
    "broadcast_to": lambda n: ph.broadcast_to(LINE, (n(3), n(12))),
    "unflatten": lambda n: ph.unflatten(LINE, n(0), (n(3), n(4))),
    "expand_dims": lambda n: ph.expand_dims(CUBE, n(1)),
    "unsqueeze": lambda n: ph.unsqueeze(CUBE, n(1)),
    "moveaxis": lambda n: ph.moveaxis(CUBE, n(0), n(2)),
    "roll": lambda n: ph.roll(CUBE, n(2), n(1)),
    "rot90": lambda n: ph.rot90(SQUARE, n(1)),
    "concat": lambda n: ph.concat([CUBE, CUBE], n(1)),
    "brackets": lambda n: CUBE[n(0), n(1) : n(3), :: n(2)],
    "select": lambda n: CUBE.select(n(1), n(-1)),
    "split": lambda n: ph.split(CUBE, n(2), n(1))[1],
    "split at places": lambda n: ph.split(CUBE, [n(1), n(3)], n(1))[1],
    "array_split": lambda n: ph.array_split(CUBE, n(3), n(1))[0],
    "method split": lambda n: CUBE.split(n(3), n(1))[0],
    "method split by sizes": lambda n: CUBE.split([n(1), n(3)], n(1))[1],
    "chunk": lambda n: ph.chunk(CUBE, n(3), n(1))[0],
    "narrow": lambda n: ph.narrow(CUBE, n(1), n(1), n(2)),
    "update": lambda n: ph.update(CUBE, CUBE[:, :1], n(1), n(1)),
    "slice_scatter": lambda n: ph.slice_scatter(CUBE, 0.0, n(1), n(1), n(3), n(1)),
    "select_scatter": lambda n: ph.select_scatter(CUBE, 0.0, n(1), n(1)),
    "pad": lambda n: ph.pad(LINE, n(2)),
    "tile": lambda n: ph.tile(LINE, n(2)),
    "repeat": lambda n: ph.repeat(LINE, n(2), n(0)),
    "diagonal": lambda n: ph.diagonal(SQUARE, n(1)),
    "diag": lambda n: ph.diag(LINE, n(1)),
    "tril": lambda n: ph.tril(SQUARE, n(1)),
    "eye": lambda n: ph.eye(n(3), n(4), n(1)),
    "arange": lambda n: ph.arange(n(1), n(9), n(2)),
    "linspace": lambda n: ph.linspace(0.0, 1.0, n(5)),
    "full": lambda n: ph.full((n(2), n(3)), 1.0),
    "one_hot": lambda n: ph.one_hot(np.array([1, 2]), n(3)),
    "size": lambda n: ph.size(n(3)),
    "input": lambda n: ph.input("y", (n(3),)),
    "dim": lambda n: ph.input("y", (ph.dim("n", n(1), n(8)),)) + 1,
    "take": lambda n: ph.take(CUBE, n(1), n(1)),
    "topk": lambda n: ph.topk(CUBE, n(2), n(1))[0],
    "kthvalue": lambda n: ph.kthvalue(CUBE, n(2), n(1))[0],
    "diff": lambda n: ph.diff(CUBE, n(2), n(1)),
    "cumsum": lambda n: ph.cumsum(CUBE, n(1)),
    "bincount": lambda n: ph.bincount(np.array([1, 2]), length=n(3)),
    "histogram": lambda n: ph.histogram(LINE, n(3), (0.0, 1.0))[0],
    "nonzero": lambda n: ph.nonzero(LINE, size=n(3))[0],
    "unique": lambda n: ph.unique(LINE, size=n(3))[0],
    "matrix_power": lambda n: ph.matrix_power(SQUARE, n(3)),
    "tensordot": lambda n: ph.tensordot(SQUARE, SQUARE, n(1)),
    "power": lambda n: ph.power(LINE.astype("int32"), n(3)).shape,
    "round": lambda n: ph.round(LINE, n(1)),
    "conv1d": lambda n: ph.conv1d(
        CUBE, np.ones((2, 2, 3), np.float32), None, n(2), n(1), n(1), n(2)
    ),
    "conv_transpose1d": lambda n: ph.conv_transpose1d(
        CUBE, np.ones((4, 2, 3), np.float32), None, n(2), n(1), n(1)
    ),
    "max_pool1d": lambda n: ph.max_pool1d(CUBE, n(2), n(2), n(1)),
    "avg_pool": lambda n: ph.avg_pool(IMAGE, (n(2), n(3)), n(2)),
    "max_unpool1d": lambda n: ph.max_unpool1d(
        CUBE, CUBE.astype("int64"), n(2), output_size=(n(2), n(4), n(12))
    ),
    "adaptive_avg_pool2d": lambda n: ph.adaptive_avg_pool2d(IMAGE, n(2)),
    "adaptive_max_pool": lambda n: ph.adaptive_max_pool(IMAGE, (n(2), None)),
    "interpolate": lambda n: ph.interpolate(IMAGE, n(8)),
    "interpolate by a factor": lambda n: ph.interpolate(IMAGE, scale_factor=n(2)),
    "resize": lambda n: ph.resize(IMAGE, (n(8), n(3)), axes=(n(2), n(3))),
    "unfold": lambda n: ph.unfold(IMAGE, n(2), n(1), n(1), n(2)),
    "fold": lambda n: ph.fold(ph.input("y", (1, 4, 15)), (n(4), n(6)), n(2)),
    "method unfold": lambda n: LINE.unfold(n(0), n(3), n(2)),
    "sliding_window_view": lambda n: ph.sliding_window_view(LINE, n(3)),
    "pixel_shuffle": lambda n: ph.pixel_shuffle(IMAGE, n(2)),
    "pixel_unshuffle": lambda n: ph.pixel_unshuffle(IMAGE, n(2)),
    "channel_shuffle": lambda n: ph.channel_shuffle(IMAGE, n(2)),
    "group_norm": lambda n: ph.group_norm(IMAGE, n(2)),
    "local_response_norm": lambda n: ph.local_response_norm(IMAGE, n(3)),
    "attention": lambda n: ph.attention(CUBE, CUBE, CUBE, window=(n(2), None)),
    "alibi_bias": lambda n: ph.alibi_bias(n(4), n(2), n(3)),
    "rfft": lambda n: ph.rfft(LINE, n(8), n(0))[0],
    "irfft": lambda n: ph.irfft(LINE, n(8)),
    "stft": lambda n: ph.stft(LINE, n(4), n(2), n(4))[0],
    "istft": lambda n: ph.istft((CUBE[:, :3], CUBE[:, :3]), n(4), n(2), length=n(9)),
    "random.uniform": lambda n: ph.random.uniform(ph.random.key(0), (n(2), n(3))),
    "random.permutation": lambda n: ph.random.permutation(ph.random.key(0), n(5)),
    "random.split": lambda n: ph.random.split(ph.random.key(0), n(2)),
    "scan": lambda n: ph.scan(lambda c, s: (c, ()), (LINE,), trips=n(3))[0][0],
}


@pytest.mark.parametrize("name", CASES)
def test_an_integer_of_numpys_builds_what_pythons_does(name: str) -> None:
    ours, theirs = CASES[name](int), CASES[name](np.int64)
    if isinstance(ours, ph.Tensor):
        assert theirs.operand is ours.operand or theirs.operand == ours.operand
        assert all(not isinstance(extent, np.integer) for extent in theirs.shape)
    else:
        assert theirs == ours


# Where other numbers than integers mean something.
ANY_NUMBER = {"arange", "power", "interpolate by a factor", "histogram"}


@pytest.mark.parametrize("name", sorted(set(CASES) - ANY_NUMBER))
def test_a_number_that_is_no_integer_is_refused(name: str) -> None:
    with pytest.raises(PhoticError):
        CASES[name](lambda value: value + 0.5)


def test_a_symbolic_count_is_refused_where_one_must_be_known() -> None:
    with pytest.raises(UnknownSize):
        ph.topk(LINE, ph.dim("k", 1, 4))  # type: ignore[arg-type]


def test_a_scalar_array_is_an_integer() -> None:
    assert ph.reshape(LINE, np.array(12)).shape == (12,)  # type: ignore[arg-type]
    assert ph.sum(CUBE, np.array(1)).shape == (2, 6)  # type: ignore[arg-type]


def test_a_text_is_no_size() -> None:
    with pytest.raises(BadArgument):
        ph.zeros("3")  # type: ignore[arg-type]
