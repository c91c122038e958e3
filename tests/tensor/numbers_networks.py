"""Norms, attention's bounds, rotary position, recurrent networks, losses."""

from __future__ import annotations

import math

import numpy as np
from evaluating import of, value
from number_lines import INF, NAN, f32, line, same

import photic as ph

RANDOM = np.random.default_rng(3)


def random(*shape: int) -> np.ndarray:
    return RANDOM.standard_normal(shape).astype(np.float32)


# --- norms ----------------------------------------------------------------------------------


@line("norm.flat")
def _() -> None:
    for norm in (ph.layer_norm, ph.rms_norm, lambda x: ph.normalize(x, axis=-1)):
        same(np.abs(value(norm, np.zeros((2, 3), np.float32))), np.zeros((2, 3)))
    same(value(ph.layer_norm, np.full((1, 3), 5, np.float32)), np.zeros((1, 3)))
    same(value(ph.layer_norm, np.full((2, 1), 5, np.float32)), np.zeros((2, 1)))


@line("norm.infinite")
def _() -> None:
    x = f32(1, INF, 2)[None]
    assert np.isnan(value(ph.layer_norm, x)).all()
    same(value(ph.rms_norm, x), [[0, NAN, 0]])
    rows = np.array([[NAN, 1.0], [3.0, 4.0]], np.float32)
    for norm in (ph.layer_norm, ph.rms_norm):
        got = value(norm, rows)
        assert np.isnan(got[0]).all()
        assert np.isfinite(got[1]).all()


@line("norm.variance")
def _() -> None:
    x, zero, one = f32(1, 3)[:, None], f32(0), f32(1)
    given = [ph.constant(array) for array in (x, zero, one)]
    result, mean, var = (of(y) for y in ph.batch_norm_training(*given, momentum=1.0, eps=0.0))
    assert result.ravel().tolist() == [-1, 1]
    assert (mean[0], var[0]) == (2, 2)


# --- attention ------------------------------------------------------------------------------


def weights_seen(rows: int, keys: int, **bounds: object) -> np.ndarray:
    """Which keys have weight: attention of equal scores over values that are the unit vectors."""
    q, k = np.zeros((1, rows, 4), np.float32), np.zeros((1, keys, 4), np.float32)
    v = np.eye(keys, dtype=np.float32)[None]
    got = value(lambda a, b, c: ph.attention(a, b, c, **bounds), q, k, v)
    return got[0] > 0


@line("attention.window")
def _() -> None:
    place = np.arange(3)[:, None] + 6 - 3
    key = np.arange(6)
    same(weights_seen(3, 6, window=(1, 0)), (key >= place - 1) & (key <= place))
    same(weights_seen(3, 6, window=(2, 1)), (key >= place - 2) & (key <= place + 1))
    same(weights_seen(3, 6, window=(None, 0)), weights_seen(3, 6, causal=True))
    same(weights_seen(3, 6, window=(1, 9), causal=True), weights_seen(3, 6, window=(1, 0)))


@line("attention.softcap")
def _() -> None:
    q, k, v = (random(1, 2, 4) * 9 for _ in range(3))
    mask = np.array([[0, -INF], [0, 0]], np.float32)
    got = value(lambda *x: ph.attention(*x, softcap=2.0), q, k, v, mask)
    scores = np.tanh(q[0].astype(np.float64) @ k[0].T / 2 / 2) * 2 + mask
    weights = np.exp(scores) / np.exp(scores).sum(-1, keepdims=True)
    np.testing.assert_allclose(got[0], weights @ v[0], rtol=1e-5, atol=1e-5)


@line("attention.sinks")
def _() -> None:
    q, k, v = (np.zeros((1, 2, 1), np.float32) for _ in range(3))
    v[...] = 4
    seen = np.array([[True, True], [False, False]])
    got = value(lambda *x: ph.attention(*x), q, k, v, seen)
    assert got[0, :, 0].tolist() == [4, 0]
    for sink, share in ((0.0, 2 / 3), (-1e9, 1.0), (1e9, 0.0)):
        got = value(lambda *x, s=sink: ph.attention(*x, sinks=f32(s)), q, k, v, seen)
        np.testing.assert_allclose(got[0, :, 0], [4 * share, 0], rtol=1e-6)


# --- rotary position ------------------------------------------------------------------------


@line("rope.rest")
def _() -> None:
    x, cos, sin = random(3, 7), random(3, 2), random(3, 2)
    x[0, 5] = NAN
    for rope in (ph.rope_halves, ph.rope_pairs):
        got = value(rope, x, cos, sin)
        same(got[:, 4:], x[:, 4:])
        assert np.isfinite(got[:, :4]).all()


@line("rope.length")
def _() -> None:
    length = ph.dim("length", 1, 100)
    ways = ph.RopeLong(4, 1e4, (1.0, 1.0), (2.0, 4.0), 16, 2.0)
    long = ph.rope_rates(ways, length)
    assert of(long.rates, length=16).tolist() == [1, 1e4**-0.5]
    assert of(long.rates, length=17).tolist() == [0.5, 1e4**-0.5 / 4]
    grown = ph.rope_rates(ph.RopeDynamic(4, 1e4, 2.0, 16), length)
    same(of(grown.rates, length=3), of(ph.rope_rates(ph.RopePlain(4)).rates))
    # the slowest pair goes over 2*32/16 - 1
    np.testing.assert_allclose(of(grown.rates, length=32), [1, 1e-2 / 3], rtol=1e-14)


# --- recurrent networks ---------------------------------------------------------------------


@line("recurrent.lengths")
def _() -> None:
    x, into, across = random(5, 2, 3), random(4, 3), random(4, 4)
    way = ph.RecurrentWeights(into, across)

    def run(y: ph.Tensor, **options: object) -> tuple[ph.Tensor, ...]:
        return ph.rnn(y, [way, way], bidirectional=True, **options)

    given = ph.constant(x)
    output, last = (of(y) for y in run(given, lengths=np.array([5, 2])))
    whole, whole_last = (of(y) for y in run(given))
    short, short_last = (of(y) for y in run(given[:2]))
    same(output[:, 0], whole[:, 0])
    same(output[:2, 1], short[:, 1])
    same(output[2:, 1], np.zeros((3, 8)))
    same(last[:, 0], whole_last[:, 0])
    same(last[:, 1], short_last[:, 1])
    nothing = of(run(given, lengths=np.array([5, 0]))[1])
    same(nothing[:, 1], np.zeros((2, 4)))


# --- losses ---------------------------------------------------------------------------------


@line("loss.ignored")
def _() -> None:
    x, target = random(3, 4), np.array([1, -100, 2])
    each = value(lambda a, b: ph.cross_entropy(a, b, reduction="none"), x, target)
    assert each[1] == 0
    np.testing.assert_allclose(value(ph.cross_entropy, x, target), (each[0] + each[2]) / 2)
    assert np.isnan(value(ph.cross_entropy, x, np.full(3, -100)))
    outside = value(lambda a, b: ph.nll_loss(a, b, reduction="none"), x, np.array([0, 4, -1]))
    assert outside[1:].tolist() == [0, 0]


@line("loss.certain")
def _() -> None:
    got = value(
        lambda a, b: ph.binary_cross_entropy(a, b, None, "none"), f32(0, 1, 0), f32(1, 0, 0)
    )
    same(got, [100, 100, 0])
    logits = value(
        lambda a, b: ph.binary_cross_entropy_with_logits(a, b, None, "none"),
        f32(-1e4, 1e4, 200),
        f32(1, 0, 1),
    )
    same(logits, [1e4, 1e4, 0])


@line("loss.impossible")
def _() -> None:
    logs = np.full((2, 2, 3), math.log(1 / 3), np.float32)
    labels, times, lengths = np.array([[1, 1], [1, 2]]), np.array([2, 2]), np.array([2, 2])
    given = (logs, labels, times, lengths)
    got = value(lambda *x: ph.ctc_loss(*x, reduction="none"), *given)
    assert got[0] == INF
    np.testing.assert_allclose(got[1], 2 * math.log(3), rtol=1e-6)
    got = value(lambda *x: ph.ctc_loss(*x, reduction="none", zero_infinity=True), *given)
    assert got[0] == 0


@line("loss.nothing")
def _() -> None:
    empty = np.zeros((0, 3), np.float32)
    for loss in (ph.mse_loss, ph.l1_loss, ph.kl_div):
        assert np.isnan(value(loss, empty, empty))
        assert value(lambda a, b, f=loss: f(a, b, reduction="sum"), empty, empty) == 0


@line("bag.empty")
def _() -> None:
    table = random(3, 2)
    for mode in ("sum", "mean", "max"):
        got = value(
            lambda i, t, o, m=mode: ph.embedding_bag(i, t, o, m),
            np.array([1, 2]),
            table,
            np.array([0, 0, 2, 2]),
        )
        same(np.abs(got[[0, 2, 3]]), np.zeros((3, 2)))
    outside = value(lambda i, t: ph.embedding_bag(i, t, mode="sum"), np.array([[1, 7, -1]]), table)
    same(outside[0], table[1])
