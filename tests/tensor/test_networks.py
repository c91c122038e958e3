"""What norms, attention, recurrent networks, bags and losses refuse; sizes known at the call."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from evaluating import of, value

import photic as ph
from photic.base.errors import BadArgument, DtypeMismatch, PhoticError, ShapeMismatch
from photic.tensor.errors import UnknownSize


def random(*shape: int) -> np.ndarray:
    return np.random.default_rng(0).standard_normal(shape).astype(np.float32)


def ones(*shape: int) -> np.ndarray:
    return np.ones(shape, np.float32)


WAY = ph.RecurrentWeights(ones(8, 3), ones(8, 2))
PROJECTED = ph.RecurrentWeights(ones(2, 3), ones(2, 2), projection=ones(1, 2))
N = ph.dim("n", 1, 9)
PLACE = np.zeros((1, 1), int)

REFUSED: dict[str, tuple[type[PhoticError], Callable[[], object]]] = {
    "groups that do not divide": (BadArgument, lambda: ph.group_norm(ones(2, 6, 3), 4)),
    "no groups": (BadArgument, lambda: ph.group_norm(ones(2, 6, 3), 0)),
    "no channels": (BadArgument, lambda: ph.batch_norm(ones(6), ones(6), ones(6))),
    "no positions": (BadArgument, lambda: ph.instance_norm(ones(2, 6))),
    "one value a channel": (
        BadArgument,
        lambda: ph.batch_norm_training(ones(1, 6), ones(6), ones(6)),
    ),
    "no window": (BadArgument, lambda: ph.local_response_norm(ones(2, 6), 0)),
    "rank 2": (BadArgument, lambda: ph.attention(ones(3, 4), ones(3, 4), ones(3, 4))),
    "depths": (ShapeMismatch, lambda: ph.attention(ones(1, 3, 4), ones(1, 3, 5), ones(1, 3, 5))),
    "keys": (ShapeMismatch, lambda: ph.attention(ones(1, 3, 4), ones(1, 3, 4), ones(1, 2, 4))),
    "heads": (BadArgument, lambda: ph.attention(ones(3, 3, 4), ones(2, 3, 4), ones(2, 3, 4))),
    "a window before 0": (
        BadArgument,
        lambda: ph.attention(*[ones(1, 3, 4)] * 3, window=(-1, 0)),
    ),
    "no cap": (BadArgument, lambda: ph.attention(*[ones(1, 3, 4)] * 3, softcap=0.0)),
    "sinks": (ShapeMismatch, lambda: ph.attention(*[ones(2, 3, 4)] * 3, sinks=ones(3))),
    "an unknown depth": (
        UnknownSize,
        lambda: ph.attention(*(ph.input(name, (1, 3, N)) for name in "qkv")),
    ),
    "no heads": (BadArgument, lambda: ph.alibi_slopes(0)),
    "tables wider than half": (
        BadArgument,
        lambda: ph.rope_pairs(ones(3, 4), *[ones(3, 3)] * 2),
    ),
    "two widths of tables": (
        BadArgument,
        lambda: ph.rope_halves(ones(1, 4), ones(2), ones(1)),
    ),
    "rank 1": (BadArgument, lambda: ph.lstm(ones(3), [WAY])),
    "no weights": (BadArgument, lambda: ph.lstm(ones(5, 1, 3), [])),
    "one way of two": (BadArgument, lambda: ph.lstm(ones(5, 1, 3), [WAY], bidirectional=True)),
    "gates": (BadArgument, lambda: ph.gru(ones(5, 1, 3), [WAY])),
    "inputs": (ShapeMismatch, lambda: ph.lstm(ones(5, 1, 4), [WAY])),
    "first states": (ShapeMismatch, lambda: ph.lstm(ones(5, 1, 3), [WAY], ones(1, 2, 2))),
    "another gate": (BadArgument, lambda: ph.rnn(ones(5, 1, 3), [WAY], nonlinearity="sine")),
    "a projection": (BadArgument, lambda: ph.rnn(ones(5, 1, 3), [PROJECTED])),
    "float lengths": (DtypeMismatch, lambda: ph.lstm(ones(5, 1, 3), [WAY], lengths=ones(1))),
    "how many lengths": (
        ShapeMismatch,
        lambda: ph.lstm(ones(5, 1, 3), [WAY], lengths=np.array([1, 2])),
    ),
    "another mode": (
        BadArgument,
        lambda: ph.embedding_bag(PLACE, ones(3, 2), mode="min"),
    ),
    "flat bags": (BadArgument, lambda: ph.embedding_bag(np.zeros(3, int), ones(3, 2))),
    "weights of a mean": (
        BadArgument,
        lambda: ph.embedding_bag(PLACE, ones(3, 2), per_sample_weights=ones(1, 1)),
    ),
    "another reduction": (BadArgument, lambda: ph.mse_loss(ones(3), ones(3), "median")),
    "a negative beta": (BadArgument, lambda: ph.smooth_l1_loss(ones(3), ones(3), beta=-1.0)),
    "no delta": (BadArgument, lambda: ph.huber_loss(ones(3), ones(3), delta=0.0)),
    "shapes": (ShapeMismatch, lambda: ph.l1_loss(ones(3), ones(4))),
    "no classes": (BadArgument, lambda: ph.cross_entropy(ones(), np.array(0))),
    "bool classes": (DtypeMismatch, lambda: ph.cross_entropy(ones(2, 3), np.array([True, False]))),
    "places of classes": (ShapeMismatch, lambda: ph.cross_entropy(ones(2, 3), np.array([1, 2, 0]))),
    "shares of classes": (ShapeMismatch, lambda: ph.cross_entropy(ones(2, 3), ones(2, 4))),
    "weights of classes": (
        ShapeMismatch,
        lambda: ph.nll_loss(ones(2, 3), np.array([0, 1]), ones(2)),
    ),
    "smoothing": (
        BadArgument,
        lambda: ph.cross_entropy(ones(2, 3), np.array([0, 1]), label_smoothing=2.0),
    ),
    "a batch of nothing": (BadArgument, lambda: ph.kl_div(ones(), ones(), "batchmean")),
    "times": (BadArgument, lambda: ph.ctc_loss(ones(2, 3), *[np.ones(1, int)] * 3)),
    "labels": (ShapeMismatch, lambda: ph.ctc_loss(ones(4, 2, 3), *[np.ones(2, int)] * 3)),
    "float labels": (
        DtypeMismatch,
        lambda: ph.ctc_loss(ones(4, 2, 3), ones(2, 1), *[np.ones(2, int)] * 2),
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_does_not_fit_is_refused_with_the_name_of_the_function(name: str) -> None:
    error, call = REFUSED[name]
    with pytest.raises(error, match=r"^\[P1"):
        call()


# --- dtypes ---------------------------------------------------------------------------------


def test_integers_become_float32() -> None:
    x = np.arange(6).reshape(2, 3)
    for function in (ph.layer_norm, ph.rms_norm, lambda y: ph.mse_loss(y, y)):
        assert value(function, x).dtype == np.float32


def test_halves_of_a_recurrent_network_are_rounded_once() -> None:
    x, w = random(40, 2, 3), [random(12, 3) / 4, random(12, 4) / 4]
    halves = [one.astype(np.float16) for one in (x, *w)]

    def run(*given: ph.Tensor) -> ph.Tensor:
        return ph.gru(given[0], [ph.RecurrentWeights(*given[1:])])[0]

    exact = value(run, *(one.astype(np.float64) for one in halves))
    np.testing.assert_array_equal(value(run, *halves), exact.astype(np.float16))


def test_attention_takes_the_dtype_to_which_its_arguments_promote() -> None:
    q, k = random(1, 2, 4).astype(np.float16), random(1, 2, 4)
    assert value(ph.attention, q, k, k).dtype == np.float32
    assert value(ph.attention, q, q, q).dtype == np.float16


# --- sizes known at the call ----------------------------------------------------------------


def test_a_batch_of_symbolic_size_trains_as_one_of_known_size() -> None:
    x = random(5, 3)
    batch = ph.dim("batch", 1, 9)
    given = {"x": x, "m": ones(3), "v": ones(3)}

    def outputs(extent: object) -> tuple[ph.Tensor, ...]:
        handles = ph.input("x", (extent, 3)), ph.input("m", (3,)), ph.input("v", (3,))
        return ph.batch_norm_training(*handles)

    for known, symbolic in zip(outputs(5), outputs(batch), strict=True):
        np.testing.assert_allclose(of(symbolic, given, batch=5), of(known, given), rtol=1e-6)
    alone = of(outputs(batch)[2], given | {"x": x[:1]}, batch=1)
    assert np.isnan(alone).all()


def test_a_window_of_symbolic_width_is_the_known_one() -> None:
    q, k, v = (random(1, 6, 4) for _ in range(3))
    width = ph.dim("width", 0, 9)
    given = {"q": q, "k": k, "v": v}
    handles = [ph.input(name, (1, 6, 4)) for name in given]
    got = of(ph.attention(*handles, window=(width, 0)), given, width=2)
    np.testing.assert_array_equal(got, of(ph.attention(*handles, window=(2, 0)), given))


def test_sequences_of_symbolic_length_and_batch_go_through_one_program() -> None:
    places, batch = ph.dim("places", 0, 9), ph.dim("batch", 1, 4)
    x = ph.input("x", (places, batch, 3))
    ways = [
        ph.RecurrentWeights(
            *(one * k for one in (random(8, 3), random(8, 2), random(8), random(8)))
        )
        for k in (1, -0.5)
    ]
    output, hidden, cell = ph.lstm(x, ways, bidirectional=True)
    program = ph.compile({"output": output, "hidden": hidden, "cell": cell})
    for extents in ((5, 2), (1, 1), (9, 4), (0, 3)):
        array = random(*extents, 3)
        got = program(x=array)
        want = ph.lstm(ph.constant(array), ways, bidirectional=True)
        for name, one in zip(("output", "hidden", "cell"), want, strict=True):
            np.testing.assert_allclose(got[name], of(one), rtol=1e-5, atol=1e-6)
