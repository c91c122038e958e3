"""ATT-01 to ATT-03 beyond what ``test_att.py`` has: windows, sinks, gradients, scalings by length.

The bounds of attention by place count from the end of the keys, so that chunks of a prompt give
what one pass does; rows that see nothing leave other rows' gradients alone; a scaling by length
goes by the length of now. Oracle: NumPy in float64.
"""

from __future__ import annotations

import math

import numpy as np
import pytest
from cases.test_att import ATTENTION, SEEN, attended, compiled, random

import photic as ph
from photic.ir.dim import Dim

# --- ATT-01 ---------------------------------------------------------------------------------

CONTEXT = 10


@pytest.mark.parametrize("parts", [[4, 3, 3], [1] * CONTEXT, [9, 1]])
@pytest.mark.parametrize("window", [(2, 0), (0, 0), (100, 0)])
def test_att_01_windows_and_sinks_in_chunks_are_those_of_one_pass(
    parts: list[int], window: tuple[int, int]
) -> None:
    rows, keys = ph.dim("rows", 1, CONTEXT), ph.dim("keys", 1, CONTEXT)

    def taken(name: str, count: Dim, heads: int) -> ph.Tensor:
        return ph.input(name, (1, heads, count, 8))

    y = ph.attention(
        taken("q", rows, 4),
        taken("k", keys, 2),
        taken("v", keys, 2),
        window=window,
        sinks=ph.input("sinks", (4,)),
    )
    program = ph.compile({"y": y})
    q, sinks = random(1, 4, CONTEXT, 8), random(4, seed=5)
    k, v = random(1, 2, CONTEXT, 8, seed=1), random(1, 2, CONTEXT, 8, seed=2)
    whole = program(q=q, k=k, v=v, sinks=sinks)["y"]
    ends = np.cumsum(parts)
    for start, end in zip([0, *ends[:-1]], ends, strict=True):
        part = program(q=q[:, :, start:end], k=k[:, :, :end], v=v[:, :, :end], sinks=sinks)["y"]
        np.testing.assert_allclose(part, whole[:, :, start:end], atol=ATTENTION)
    wide_k, wide_v = (np.repeat(one, 2, 1) for one in (k, v))
    place = np.arange(CONTEXT)
    seen = (place <= place[:, None]) & (place >= place[:, None] - window[0])
    scores = np.where(seen, q.astype(np.float64) @ wide_k.swapaxes(-1, -2) / math.sqrt(8), -np.inf)
    weights = np.exp(scores)
    share = weights / (
        weights.sum(-1, keepdims=True) + np.exp(sinks.astype(np.float64))[:, None, None]
    )
    np.testing.assert_allclose(whole, share @ wide_v, atol=ATTENTION)


# --- ATT-02 ---------------------------------------------------------------------------------


@pytest.mark.parametrize("as_floats", [False, True], ids=["bool", "floats"])
def test_att_02_gradients_of_rows_that_see_a_key_are_those_of_the_small_problem(
    as_floats: bool,
) -> None:
    def slopes(q: ph.Tensor, k: ph.Tensor, v: ph.Tensor, mask: ph.Tensor | None) -> ph.Tensor:
        mixed = ph.attention(q, k, v, mask)
        kept = ph.where(ph.arange(mixed.shape[2])[:, None] < 4, mixed, 0.0)
        found = ph.grad(ph.sum(kept * kept), (q, k, v))
        return ph.stack([one[:, :, :4] for one in found])

    q, k, v = (random(1, 1, 8, 8, seed=seed) for seed in range(3))
    mask = np.where(SEEN, np.float32(0), np.float32(-np.inf)) if as_floats else SEEN
    got = compiled(slopes, q=q, k=k, v=v, mask=mask)
    small = (one[:, :, :4] for one in (q, k, v))
    want = compiled(lambda q, k, v: slopes(q, k, v, None), **dict(zip("qkv", small, strict=True)))
    assert np.isfinite(want).all()
    np.testing.assert_allclose(got, want, atol=ATTENTION)


def test_att_02_with_a_sink_rows_that_see_nothing_are_0() -> None:
    q, k, v = (random(1, 1, 8, 8, seed=seed) for seed in range(3))
    got = compiled(
        lambda q, k, v, mask, sinks: ph.attention(q, k, v, mask, sinks=sinks),
        q=q,
        k=k,
        v=v,
        mask=SEEN,
        sinks=np.array([-np.inf], np.float32),
    )
    small = attended(q[..., :4, :], k[..., :4, :], v[..., :4, :], np.ones((4, 4), bool))
    np.testing.assert_allclose(got[..., :4, :], small, atol=ATTENTION)
    assert (got[..., 4:, :] == 0).all()


# --- ATT-03 ---------------------------------------------------------------------------------


def test_att_03_llama_3_divides_by_the_published_factors() -> None:
    plain = ph.rope_rates(ph.RopePlain(128, 5e5)).rates
    scaled = ph.rope_rates(ph.RopeLlama3(128, 5e5, 8.0, 1.0, 4.0, 8192)).rates
    factors = ph.compile({"y": plain / scaled})()["y"][[0, 28, 29, 32, 34, 35, 63]]
    np.testing.assert_allclose(factors, [1, 1, 1.20748, 2.69453, 5.25733, 8, 8], atol=1e-5)


@pytest.mark.parametrize("most", [16, 64, 4096])
def test_att_03_factors_go_by_the_length_of_now_in_any_context(most: int) -> None:
    trained, past = 12, ph.dim("past", 0, most)
    scaling = ph.RopeLong(4, 1e4, (1.0, 1.5), (3.0, 40.0), trained, 4.0, long_gain=2.0)
    rope = ph.rope_rates(scaling, past + 1)
    cos, sin = ph.rope_tables(ph.arange(past, past + 1), rope)
    program = ph.compile({"y": ph.rope_halves(ph.ones((1, 4)), cos, sin)})
    short_gain = math.sqrt(1 + math.log(4) / math.log(trained))
    for place in (3, 11, 12, 16):
        factors = scaling.short if place + 1 <= trained else scaling.long
        gain = short_gain if place + 1 <= trained else 2.0
        turned = (1 + 1j) * np.exp(1j * place * 1e4 ** -np.array([0, 0.5]) / factors) * gain
        want = np.concatenate([turned.real, turned.imag])
        np.testing.assert_allclose(program(past=place)["y"][0], want, atol=ATTENTION)
