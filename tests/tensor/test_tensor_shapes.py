"""Movement and creation against NumPy: every function, sizes 0, 1 and odd, symbolic sizes."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from evaluating import of, value

import photic as ph
from photic.base.errors import BadArgument

X = np.arange(60.0, dtype=np.float32).reshape(3, 4, 5)

SAME: list[tuple[str, Callable[..., object], Callable[..., object]]] = [
    ("reshape", lambda x: ph.reshape(x, (5, -1)), lambda x: x.reshape(5, -1)),
    ("ravel", ph.ravel, np.ravel),
    ("transpose", ph.transpose, np.transpose),
    ("transpose axes", lambda x: ph.transpose(x, (2, 0, -2)), lambda x: x.transpose(2, 0, 1)),
    ("transpose one axis", lambda x: ph.transpose(x[0, 0], 0), lambda x: x[0, 0].transpose(0)),
    ("permute one axis", lambda x: ph.permute(x[0, 0], -1), lambda x: x[0, 0].transpose(-1)),
    ("swapaxes", lambda x: ph.swapaxes(x, 0, -1), lambda x: x.swapaxes(0, -1)),
    ("moveaxis", lambda x: ph.moveaxis(x, 0, -1), lambda x: np.moveaxis(x, 0, -1)),
    (
        "moveaxis two",
        lambda x: ph.moveaxis(x, (0, 2), (1, 0)),
        lambda x: np.moveaxis(x, (0, 2), (1, 0)),
    ),
    ("expand_dims", lambda x: ph.expand_dims(x, (0, -1)), lambda x: np.expand_dims(x, (0, -1))),
    ("squeeze", lambda x: x[:1, :, 2:3].squeeze((0, 2)), lambda x: x[0, :, 2]),
    (
        "broadcast_to",
        lambda x: ph.broadcast_to(x, (2, 3, 4, 5)),
        lambda x: np.broadcast_to(x, (2, 3, 4, 5)),
    ),
    ("flip", ph.flip, np.flip),
    ("flip axes", lambda x: ph.flip(x, (0, -1)), lambda x: np.flip(x, (0, -1))),
    ("roll", lambda x: ph.roll(x, 7, 1), lambda x: np.roll(x, 7, 1)),
    ("roll back", lambda x: ph.roll(x, -3, -1), lambda x: np.roll(x, -3, -1)),
    ("roll all", lambda x: ph.roll(x, 13), lambda x: np.roll(x, 13)),
    ("roll two", lambda x: ph.roll(x, (1, -2), (0, 2)), lambda x: np.roll(x, (1, -2), (0, 2))),
    ("tile", lambda x: ph.tile(x, (2, 1, 3)), lambda x: np.tile(x, (2, 1, 3))),
    ("tile more", lambda x: ph.tile(x, (2, 1, 1, 2)), lambda x: np.tile(x, (2, 1, 1, 2))),
    ("tile less", lambda x: ph.tile(x, 2), lambda x: np.tile(x, 2)),
    ("tile none", lambda x: ph.tile(x, 0), lambda x: np.tile(x, 0)),
    ("repeat", lambda x: ph.repeat(x, 3, 1), lambda x: np.repeat(x, 3, 1)),
    ("repeat all", lambda x: ph.repeat(x, 2), lambda x: np.repeat(x, 2)),
    ("pad", lambda x: ph.pad(x, 2), lambda x: np.pad(x, 2)),
    ("pad pair", lambda x: ph.pad(x, (1, 2)), lambda x: np.pad(x, (1, 2))),
    (
        "pad pairs",
        lambda x: ph.pad(x, ((0, 1), (2, 0), (0, 0)), constant_values=9.0),
        lambda x: np.pad(x, ((0, 1), (2, 0), (0, 0)), constant_values=9.0),
    ),
    (
        "pad below 0",
        lambda x: ph.pad(x, ((-1, 1), (2, -3), (0, 0))),
        lambda x: np.pad(x, ((0, 1), (2, 0), (0, 0)))[1:, :-3],
    ),
    (
        "concat",
        lambda x: ph.concat([x, x[:, :1], x], 1),
        lambda x: np.concatenate([x, x[:, :1], x], 1),
    ),
    ("concat none", lambda x: ph.concat([x, x[:0]], 0), lambda x: x),
    (
        "concatenate all",
        lambda x: ph.concatenate([x, x[0]], None),
        lambda x: np.concatenate([x, x[0]], None),
    ),
    ("stack", lambda x: ph.stack([x, x * 2.0], -1), lambda x: np.stack([x, x * 2], -1)),
    ("split", lambda x: ph.split(x, 2, 1)[1], lambda x: np.split(x, 2, 1)[1]),
    ("split at", lambda x: ph.split(x, [1, 3], 1)[1], lambda x: np.split(x, [1, 3], 1)[1]),
    ("split rest", lambda x: ph.split(x, [1, 3], -1)[2], lambda x: np.split(x, [1, 3], -1)[2]),
    ("tril", ph.tril, np.tril),
    ("tril above", lambda x: ph.tril(x, 2), lambda x: np.tril(x, 2)),
    ("tril below", lambda x: ph.tril(x, -2), lambda x: np.tril(x, -2)),
    ("triu", ph.triu, np.triu),
    ("triu above", lambda x: ph.triu(x, 2), lambda x: np.triu(x, 2)),
    ("triu below", lambda x: ph.triu(x, -1), lambda x: np.triu(x, -1)),
]


@pytest.mark.parametrize(
    ("ours", "theirs"), [one[1:] for one in SAME], ids=[one[0] for one in SAME]
)
def test_a_movement_is_numpys(
    ours: Callable[..., ph.Tensor], theirs: Callable[..., np.ndarray]
) -> None:
    for dtype in (np.float32, np.int8, np.bool_):
        x = X.astype(dtype)
        got, want = value(ours, x), theirs(x)
        assert got.shape == want.shape
        np.testing.assert_array_equal(got, want.astype(got.dtype))


@pytest.mark.parametrize("n", [1, 2, 7])
def test_movements_hold_for_symbolic_sizes(n: int) -> None:
    size = ph.dim("n", 1, 9)
    a = np.arange(2.0 * n * 3, dtype=np.float32).reshape(2, n, 3)
    x = ph.input("x", (2, size, 3))
    pairs = [
        (x[:, ::-1], a[:, ::-1]),
        (x[:, ::2], a[:, ::2]),
        (x[:, -1], a[:, -1]),
        (x[:, 1:], a[:, 1:]),
        (x[:, :-1], a[:, :-1]),
        (x[:, : size - 1], a[:, : n - 1]),
        (x.reshape(2, size * 3), a.reshape(2, -1)),
        (x.reshape(2, 3, -1), a.reshape(2, 3, -1)),
        (x.permute(1, 0, 2).reshape(size, 6), a.transpose(1, 0, 2).reshape(n, 6)),
        (ph.roll(x, 2, 1), np.roll(a, 2, 1)),
        (ph.roll(x, -1, 1), np.roll(a, -1, 1)),
        (ph.pad(x, ((0, 0), (size, 1), (0, 0))), np.pad(a, ((0, 0), (n, 1), (0, 0)))),
        (ph.concat([x, x * 2.0, x], 1), np.concatenate([a, a * 2, a], 1)),
        (ph.tile(x, (1, 2, 1)), np.tile(a, (1, 2, 1))),
        (ph.repeat(x, 2, 1), np.repeat(a, 2, 1)),
        (ph.split(x, [1], 1)[1], a[:, 1:]),
        (ph.tril(x.swapaxes(1, 2), 1), np.tril(a.swapaxes(1, 2), 1)),
        (ph.broadcast_to(x[:1, :, :1], (4, size, 2)), np.broadcast_to(a[:1, :, :1], (4, n, 2))),
    ]
    for got, want in pairs:
        np.testing.assert_array_equal(of(got, {"x": a}, n=n), want)


def test_a_size_of_zero_passes_through_movements() -> None:
    a = np.zeros((2, 0, 3), np.float32)
    assert (
        value(lambda x: ph.pad(x, ((0, 0), (1, 0), (0, 0)), constant_values=4.0), a).tolist()
        == [[[4.0] * 3]] * 2
    )
    assert value(lambda x: ph.concat([x, ph.ones((2, 1, 3))], 1), a).shape == (2, 1, 3)
    assert value(lambda x: ph.flip(x, 1).reshape(0, 5), a).shape == (0, 5)
    assert value(lambda x: ph.roll(x, 1, 1), a).shape == (2, 0, 3)
    assert value(lambda x: ph.stack([x, x]), a).shape == (2, 2, 0, 3)


def test_counted_and_filled_tensors_are_numpys() -> None:
    assert of(ph.arange(5)).tolist() == [0, 1, 2, 3, 4]
    assert of(ph.arange(2, 5)).tolist() == [2, 3, 4]
    assert of(ph.arange(-2, 3)).tolist() == [-2, -1, 0, 1, 2]
    assert of(ph.arange(5, -4, -3)).tolist() == [5, 2, -1]
    assert of(ph.arange(5, 2)).tolist() == []
    assert of(ph.arange(0, 10, 4, "float32")).tolist() == [0.0, 4.0, 8.0]
    assert of(ph.linspace(0, 1, 5)).tolist() == [0, 0.25, 0.5, 0.75, 1]
    assert of(ph.full((2, 1), 3)).tolist() == [[3], [3]]
    assert of(ph.full(2, 2.5, "float16")).dtype == np.float16
    assert of(ph.zeros_like(ph.ones((2,), "int8"))).dtype == np.int8
    assert of(ph.ones_like(ph.zeros((2,)), "bool")).tolist() == [True, True]
    for k in (-2, -1, 0, 1, 4):
        np.testing.assert_array_equal(of(ph.eye(3, 4, k)), np.eye(3, 4, k))
        np.testing.assert_array_equal(of(ph.tri(3, 4, k)), np.tri(3, 4, k, bool))


def test_counting_with_symbolic_ends() -> None:
    past, n = ph.dim("past", 0, 20), ph.dim("n", 0, 9)
    for p, k in ((0, 0), (0, 4), (7, 3)):
        assert of(ph.arange(past, past + n), past=p, n=k).tolist() == list(range(p, p + k))
        assert of(ph.arange(0, 2 * n, 2), n=k).tolist() == list(range(0, 2 * k, 2))
    assert of(ph.arange(n, -1, -1), n=3).tolist() == [3, 2, 1, 0]


def test_counting_to_an_end_that_may_lie_before_the_start_is_refused() -> None:
    with pytest.raises(BadArgument, match="for every size"):
        ph.arange(3, ph.dim("n", 0, 9))


@pytest.mark.parametrize("axes", [1, (0,), (0, 1, 2, 0), (), None, "ab", (0, 0)])
def test_rot90_refuses_all_but_two_axes(axes: object) -> None:
    with pytest.raises(BadArgument):
        ph.rot90(X, 1, axes)


@pytest.mark.parametrize("axes", [1, (), (0, 1), (0, 1, 1), 1.5])
def test_an_order_that_does_not_name_each_axis_once_is_refused(axes: object) -> None:
    for function in (ph.permute, ph.transpose, ph.permute_dims):
        with pytest.raises(BadArgument):
            function(X, axes)


def test_constants_are_not_copied_and_keep_their_dtype() -> None:
    array = np.ones((64, 64), np.float32)
    x = ph.constant(array)
    assert np.shares_memory(x.operand.node.attribute.array, array)
    assert of(ph.constant([[1, 2], [3, 4]], "float16")).dtype == np.float16
    assert of(ph.constant(0.1, "float64")) == 0.1  # not by way of float32
