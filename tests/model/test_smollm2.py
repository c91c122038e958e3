"""SmolLM2 from its GGUF file: logits against known ones, a peer and itself, and its answers."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np
import pytest
from model.peer import llama_of
from numpy.typing import NDArray

import photic as ph
from photic.language.errors import ContextOverflow
from photic.language.sampling import SamplingOptions
from photic.language.session import CHUNK_TOKENS, Session, open_session
from photic.targets.c.pool import set_threads

if TYPE_CHECKING:
    import transformers

pytestmark = pytest.mark.model

CAPITAL = [504, 3575, 282, 4649, 314]  # "The capital of France is"
# Five largest logits of the float32 model, as two other implementations computed them.
TOP = {7042: 17.371, 260: 14.889, 4528: 13.245, 2250: 13.009, 1315: 12.952}
TOP_TOLERANCE = 0.05
# The same values summed in another order, in float32: 30 layers, logits up to 40.
SAME = 1e-4
# Against another float32 implementation (0.0001 was seen).
PEER = 5e-4

Logits = NDArray[np.float32]


# --- logits ---------------------------------------------------------------------------------


def test_the_known_tokens_lead_in_the_known_order(session: Session) -> None:
    assert session.tokens("The capital of France is", system=None, raw=True) == CAPITAL
    logits = session.logits(CAPITAL)
    assert logits.shape == (session.config.vocabulary,) and logits.dtype == np.float32
    assert [int(one) for one in np.argsort(-logits)[:5]] == list(TOP)
    for token, expected in TOP.items():
        assert abs(logits[token] - expected) < TOP_TOLERANCE


@pytest.fixture(scope="module")
def ids() -> list[int]:
    """Tokens for prompts of every length up to past the border of two chunks."""
    rng = np.random.default_rng(0)
    return CAPITAL + [int(one) for one in rng.integers(0, 49152, CHUNK_TOKENS)]


@pytest.fixture(scope="module")
def one_by_one(session: Session, ids: list[int]) -> list[Logits]:
    """The logits after each of the tokens, fed one at a time."""
    found = []
    for past, token in enumerate(ids):
        found.append(session.program(ids=np.array([token]), past=past)["logits"])
    return found


LENGTHS = (1, 5, 17, 64, CHUNK_TOKENS - 1, CHUNK_TOKENS, CHUNK_TOKENS + 1, CHUNK_TOKENS + 2)


@pytest.mark.parametrize("length", LENGTHS)
def test_whole_chunked_and_token_by_token_agree(
    session: Session, ids: list[int], one_by_one: list[Logits], length: int
) -> None:
    whole = session.logits(ids[:length])
    for chunk in (3, 7, 64):
        assert np.abs(session.logits(ids[:length], chunk) - whole).max() < SAME
    assert np.abs(one_by_one[length - 1] - whole).max() < SAME


def test_what_a_long_prompt_left_in_the_cache_does_not_show(
    session: Session, ids: list[int]
) -> None:
    fresh = session.logits(ids[:17])
    for state in session.program.states.values():
        state[..., : 2 * CHUNK_TOKENS] = np.nan
    session.logits((ids * 3)[:300])
    assert np.array_equal(session.logits(ids[:17]), fresh)


def test_the_number_of_threads_changes_no_bit(session: Session, ids: list[int]) -> None:
    found = []
    try:
        for threads in (1, 2, 3):
            set_threads(threads)
            session.logits([1])  # so that nothing is reused
            found.append((session.logits(ids), session.logits(ids[:5]), session.logits(ids[:1])))
    finally:
        set_threads(0)
    for other in found[1:]:
        assert all(np.array_equal(a, b) for a, b in zip(found[0], other, strict=True))


def test_a_loaded_program_gives_the_bits_of_the_compiled_one(
    session: Session, ids: list[int], tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = tmp_path_factory.mktemp("program") / "smollm2"
    session.program.save(path)
    loaded = ph.load(path)
    for part in (ids[:5], ids[:CHUNK_TOKENS]):
        again = loaded(ids=np.array(part), past=0)["logits"]
        assert np.array_equal(again, session.logits(part))


def test_a_smaller_context_changes_no_bit_of_a_short_prompt(
    session: Session, ids: list[int]
) -> None:
    small = open_session(session.path, context=64, progress=lambda stage, done, total: None)
    for length in (1, 5, 17):
        assert np.array_equal(small.logits(ids[:length]), session.logits(ids[:length]))
    with pytest.raises(ContextOverflow, match="65 tokens do not fit the context of 64"):
        small.logits(ids[:65])


# --- against a peer -------------------------------------------------------------------------


PROMPTS = (
    "The capital of France is",
    "def fibonacci(n):\n    if n < 2:\n        return n\n",
    "Größe 12345 — ça va? 你好 👍",
    "Once upon a time " * 60,
)


@pytest.fixture(scope="module")
def peer(session: Session) -> Iterator[transformers.LlamaForCausalLM]:
    import torch

    with torch.no_grad():
        yield llama_of(session.path)


@pytest.mark.peers
@pytest.mark.parametrize("text", PROMPTS)
def test_logits_are_those_of_transformers(
    session: Session, peer: transformers.LlamaForCausalLM, text: str
) -> None:
    ids = session.tokens(text, system=None, raw=True)
    expected = peer_logits(peer, ids)
    assert np.abs(session.logits(ids) - expected[-1]).max() < PEER


@pytest.mark.peers
def test_logits_of_every_step_are_those_of_transformers(
    session: Session,
    peer: transformers.LlamaForCausalLM,
    ids: list[int],
    one_by_one: list[Logits],
) -> None:
    assert np.abs(np.stack(one_by_one) - peer_logits(peer, ids)).max() < PEER


def peer_logits(peer: transformers.LlamaForCausalLM, ids: Sequence[int]) -> Logits:
    """All logits (tokens, vocabulary)."""
    import torch

    found: Logits = peer(torch.tensor([list(ids)])).logits[0].numpy()
    return found


# --- answers --------------------------------------------------------------------------------


def answer(session: Session, text: str, raw: bool = False, **options: float) -> str:
    sampling = SamplingOptions(**options)  # type: ignore[arg-type]
    pieces = session.generate(
        text, system=None, raw=raw, max_tokens=24, sampling=sampling, stops=()
    )
    return "".join(pieces)


def test_the_answer_is_english_and_right(session: Session) -> None:
    assert answer(session, "The capital of France is", raw=True).startswith(" Paris")
    assert "scatter" in "".join(
        session.generate(
            "Why is the sky blue?",
            system=None,
            raw=False,
            max_tokens=80,
            sampling=SamplingOptions(),
            stops=(),
        )
    )


def test_one_seed_gives_one_answer_and_another_another(session: Session) -> None:
    question = "Tell me a story."
    first = answer(session, question, temperature=0.9, seed=7)
    answer(session, "What is two and two?")
    assert answer(session, question, temperature=0.9, seed=7) == first
    assert answer(session, question, temperature=0.9, seed=8) != first


def test_an_answer_ends_where_the_context_is_full(session: Session) -> None:
    small = open_session(session.path, context=64, progress=lambda stage, done, total: None)
    prompt = "one two three four five six seven eight nine ten " * 6
    count = len(small.tokens(prompt, system=None, raw=True))
    pieces = small.generate(
        prompt, system=None, raw=True, max_tokens=1000, sampling=SamplingOptions(), stops=()
    )
    assert "".join(pieces)
    assert count + small.stats.generated_tokens == 64
    assert small.stats.finish_reason == "length"


def test_the_command_answers_with_the_sessions_text(session: Session) -> None:
    arguments = ["run", "smollm2-135m", "--raw", "--max-tokens", "24", "--stats"]
    command = "from photic.cli.main import run; run()"
    done = subprocess.run(
        [sys.executable, "-c", command, *arguments, "The capital of France is"],
        capture_output=True,
        text=True,
        timeout=300,
        check=True,
    )
    text = answer(session, "The capital of France is", raw=True)
    assert done.stdout == text + ("" if text.endswith("\n") else "\n")
    lines = [line.split() for line in done.stderr.splitlines()]
    assert ["tokens", "seconds", "tok/s"] in lines
    assert any(line[:2] == ["generation", "24"] for line in lines)
    assert "peak memory: " in done.stderr
