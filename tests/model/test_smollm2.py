"""SmolLM2 from its GGUF file, in float32: logits against known ones, a peer and itself."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
from model.peer import logits_of
from model.sessions import opened
from numpy.typing import NDArray

import photic as ph
from photic.language.errors import ContextOverflow
from photic.language.session import CHUNK_TOKENS, Session
from photic.targets.c.pool import set_threads

if TYPE_CHECKING:
    import transformers

pytestmark = pytest.mark.model

CAPITAL = [504, 3575, 282, 4649, 314]  # "The capital of France is"
# Five largest logits of the float32 model, as two other implementations computed them.
TOP = {7042: 17.371, 260: 14.889, 4528: 13.245, 2250: 13.009, 1315: 12.952}
TOP_TOLERANCE = 0.05
# Against another float32 implementation (0.0001 was seen).
PEER = 5e-4

Logits = NDArray[np.float32]


# --- logits ---------------------------------------------------------------------------------


def test_the_known_tokens_lead_in_the_known_order(exact: Session) -> None:
    assert exact.tokens("The capital of France is", system=None, raw=True) == CAPITAL
    logits = exact.logits(CAPITAL)
    assert logits.shape == (exact.config.vocabulary,) and logits.dtype == np.float32
    assert [int(one) for one in np.argsort(-logits)[:5]] == list(TOP)
    for token, expected in TOP.items():
        assert abs(logits[token] - expected) < TOP_TOLERANCE


@pytest.fixture(scope="module")
def ids() -> list[int]:
    """Tokens for prompts of every length up to past the border of four chunks."""
    rng = np.random.default_rng(0)
    return CAPITAL + [int(one) for one in rng.integers(0, 49152, 3 * CHUNK_TOKENS + 16)]


@pytest.fixture(scope="module")
def one_by_one(exact: Session, ids: list[int]) -> list[Logits]:
    """The logits after each of the tokens, fed one at a time."""
    found = []
    for past, token in enumerate(ids):
        found.append(exact.program(ids=np.array([token]), past=past, answers=1)["logits"][0])
    return found


LENGTHS = (1, 5, 17, 64, *(CHUNK_TOKENS + k for k in (-1, 0, 1, 2, 70)), 3 * CHUNK_TOKENS + 9)


@pytest.mark.parametrize("length", LENGTHS)
def test_whole_chunked_and_token_by_token_agree_to_the_bit(
    exact: Session, ids: list[int], one_by_one: list[Logits], length: int
) -> None:
    whole = exact.logits(ids[:length])
    for chunk in (3, 7, 64):
        assert np.array_equal(exact.logits(ids[:length], chunk), whole)
    assert np.array_equal(one_by_one[length - 1], whole)


def test_what_a_long_prompt_left_in_the_cache_does_not_show(exact: Session, ids: list[int]) -> None:
    fresh = exact.logits(ids[:17])
    for state in exact.program.states.values():
        state[..., : 2 * CHUNK_TOKENS] = np.nan
    exact.logits((ids * 3)[:300])
    assert np.array_equal(exact.logits(ids[:17]), fresh)


def test_the_number_of_threads_changes_no_bit(exact: Session, ids: list[int]) -> None:
    found = []
    try:
        for threads in (1, 2, 3):
            set_threads(threads)
            exact.logits([1])  # so that nothing is reused
            found.append((exact.logits(ids), exact.logits(ids[:5]), exact.logits(ids[:1])))
    finally:
        set_threads(0)
    for other in found[1:]:
        assert all(np.array_equal(a, b) for a, b in zip(found[0], other, strict=True))


def test_a_loaded_program_gives_the_bits_of_the_compiled_one(
    exact: Session, ids: list[int], tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = tmp_path_factory.mktemp("program") / "smollm2"
    exact.program.save(path)
    loaded = ph.load(path)
    for part in (ids[:5], ids[:CHUNK_TOKENS]):
        again = loaded(ids=np.array(part), past=0, answers=1)["logits"][0]
        assert np.array_equal(again, exact.logits(part))


def test_a_smaller_context_changes_no_bit_of_a_short_prompt(exact: Session, ids: list[int]) -> None:
    small = opened(exact.path, 64, precision="exact")
    for length in (1, 5, 17):
        assert np.array_equal(small.logits(ids[:length]), exact.logits(ids[:length]))
    with pytest.raises(ContextOverflow, match="65 tokens do not fit the context of 64"):
        small.logits(ids[:65])


# --- against a peer -------------------------------------------------------------------------


PROMPTS = (
    "The capital of France is",
    "def fibonacci(n):\n    if n < 2:\n        return n\n",
    "Größe 12345 — ça va? 你好 👍",
    "Once upon a time " * 60,
)


@pytest.mark.peers
@pytest.mark.parametrize("text", PROMPTS)
def test_logits_are_those_of_transformers(
    exact: Session, peer: transformers.LlamaForCausalLM, text: str
) -> None:
    ids = exact.tokens(text, system=None, raw=True)
    expected = logits_of(peer, ids)
    assert np.abs(exact.logits(ids) - expected[-1]).max() < PEER


@pytest.mark.peers
def test_logits_of_every_step_are_those_of_transformers(
    exact: Session,
    peer: transformers.LlamaForCausalLM,
    ids: list[int],
    one_by_one: list[Logits],
) -> None:
    assert np.abs(np.stack(one_by_one) - logits_of(peer, ids)).max() < PEER
