"""Gemma 3 270M from its GGUF file: known ids and logits, chunks, and the window's border."""

from __future__ import annotations

import numpy as np
import pytest
from model.sessions import opened

from photic.language.session import CHUNK_TOKENS, Session

pytestmark = pytest.mark.model

CONTEXT = 700  # past the window of 512 tokens
CAPITAL = [2, 818, 5279, 529, 7001, 563]  # "The capital of France is"
# Five largest logits of the float32 model, as another implementation computed them.
TOP = {506: 19.091, 496: 18.548, 9079: 18.269, 886: 18.113, 3224: 17.784}
TOP_TOLERANCE = 0.005
# The same values summed in another order, in float32: 18 layers, logits up to 40.
SAME = 2e-4
# bfloat16 has eight bits; logits up to 40.
ROUNDED = 0.5


@pytest.fixture(scope="module")
def gemma() -> Session:
    return opened("gemma3-270m", CONTEXT, precision="exact")


def test_the_known_tokens_lead_in_the_known_order(gemma: Session) -> None:
    assert gemma.tokens("The capital of France is", system=None, raw=True) == CAPITAL
    logits = gemma.logits(CAPITAL)
    assert logits.shape == (262144,) and logits.dtype == np.float32
    assert [int(one) for one in np.argsort(-logits)[:5]] == list(TOP)
    for token, expected in TOP.items():
        assert abs(logits[token] - expected) < TOP_TOLERANCE


@pytest.mark.parametrize("length", [5, CHUNK_TOKENS + 1, 530])
def test_whole_and_chunked_agree_on_both_sides_of_the_window(gemma: Session, length: int) -> None:
    rng = np.random.default_rng(0)
    ids = [2, *(int(one) for one in rng.integers(0, 262144, length - 1))]
    whole = gemma.logits(ids)
    assert np.abs(gemma.logits(ids, 100) - whole).max() < SAME
    assert np.abs(gemma.logits(ids, 37) - whole).max() < SAME


def test_logits_of_the_usual_mode_are_near_the_exact_ones(gemma: Session) -> None:
    usual = opened("gemma3-270m", CONTEXT)
    ids = gemma.tokens("The whale had done her no bodily hurt. " * 70, system=None, raw=True)
    for length in (6, 16, CHUNK_TOKENS + 1, 530):
        apart = np.abs(usual.logits(ids[:length]) - gemma.logits(ids[:length])).max()
        assert 0 < apart < ROUNDED


def test_text_comes_back(gemma: Session) -> None:
    text = "Größe 12345 — ça va? 你好 👍\n\n  def f(x):\n\treturn x"
    assert gemma.tokenizer.decode(gemma.tokenizer.encode(text, special=False)) == text
