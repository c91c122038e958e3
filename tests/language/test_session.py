"""Sessions with a tiny model: answers that depend on nothing but their question, and their ends."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from language.tiny_llama import (
    CONTEXT,
    Changes,
    Sizes,
    random_tensors,
    reference,
    write_talking,
)

from photic.base.errors import BadArgument, PhoticError
from photic.language import session as session_module
from photic.language.errors import BadSampling, ContextOverflow
from photic.language.sampling import Sampler, SamplingOptions
from photic.language.session import CHUNK_TOKENS, Session, open_session

LONG = 512  # a context of several chunks
WILD = SamplingOptions(temperature=2.0, seed=3)  # a random model's bytes, as broken as they come


def silent(stage: str, done: int, total: int) -> None:
    """No progress."""


@pytest.fixture(scope="module")
def opened(tmp_path_factory: pytest.TempPathFactory) -> Session:
    path = tmp_path_factory.mktemp("session") / "tiny.gguf"
    write_talking(path, context=LONG)
    return open_session(path, context=None, progress=silent, precision="exact")


@pytest.fixture
def session(opened: Session) -> Session:
    """The session of all tests, which must not notice each other."""
    return opened


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Session:
    """A session of CONTEXT tokens."""
    path = tmp_path_factory.mktemp("session") / "tiny.gguf"
    write_talking(path)
    return open_session(path, context=None, progress=silent, precision="exact")


def answering(
    session: Session,
    text: str = "hello world",
    max_tokens: int = 12,
    sampling: SamplingOptions = WILD,
    stops: tuple[str, ...] = (),
) -> Iterator[str]:
    return session.generate(
        text, system=None, raw=True, max_tokens=max_tokens, sampling=sampling, stops=stops
    )


def picks(monkeypatch: pytest.MonkeyPatch, tokens: list[int]) -> None:
    """Make every sampler pick these tokens, one after another."""

    class Told:
        def __init__(self, options: SamplingOptions) -> None:
            self.rest = iter(tokens)

        def pick(self, logits: object, used: object) -> int:
            return next(self.rest)

    monkeypatch.setattr(session_module, "Sampler", Told)


@pytest.fixture
def calls(session: Session, monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, int]]:
    """(tokens, past) of every call of the program from now on."""
    seen: list[tuple[int, int]] = []
    program = session.program

    def call(*, ids: np.ndarray, past: int, answers: int) -> dict[str, np.ndarray]:
        seen.append((len(ids), past))
        return program(ids=ids, past=past, answers=answers)

    monkeypatch.setattr(session, "program", call)
    return seen


# --- logits ---------------------------------------------------------------------------------


@pytest.mark.parametrize("count", [1, 5, CHUNK_TOKENS - 1, CHUNK_TOKENS, CHUNK_TOKENS + 1, 300])
def test_logits_are_those_of_the_reference_at_every_length(session: Session, count: int) -> None:
    rng = np.random.default_rng(count)
    ids = [int(one) for one in rng.integers(0, session.config.vocabulary, count)]
    sizes = Sizes(vocabulary=session.config.vocabulary)
    tensors = random_tensors(sizes)
    del tensors["output.weight"]
    expected = reference(sizes, tensors, ids).logits[-1]
    for chunk in (CHUNK_TOKENS, 7):
        # a random model with sharp attention magnifies rounding over hundreds of tokens
        assert np.abs(session.logits(ids, chunk) - expected).max() < 1e-3


def test_ids_and_chunks_outside_their_range_are_refused(session: Session) -> None:
    for ids in ([], [-1], [session.config.vocabulary]):
        with pytest.raises(BadArgument):
            session.logits(ids)
    for chunk in (0, CHUNK_TOKENS + 1):
        with pytest.raises(BadArgument, match="chunk"):
            session.logits([1], chunk)
    with pytest.raises(ContextOverflow):
        session.logits([1] * (LONG + 1))


# --- one answer does not know of another ----------------------------------------------------


def test_the_same_question_has_the_same_answer_whatever_came_before(session: Session) -> None:
    first = [*answering(session)]
    assert [*answering(session)] == first
    [*answering(session, "something else, and rather longer than that" * 5)]
    assert [*answering(session)] == first


def test_another_seed_gives_another_answer(session: Session) -> None:
    other = SamplingOptions(temperature=2.0, seed=4)
    assert "".join(answering(session)) != "".join(answering(session, sampling=other))


def test_answers_read_in_turns_are_those_read_one_by_one(session: Session) -> None:
    alone = [[*answering(session, text)] for text in ("one", "two")]
    one, two = answering(session, "one"), answering(session, "two")
    got: list[list[str]] = [[], []]
    for _ in range(12):
        for mine, stream in zip(got, (one, two), strict=True):
            piece = next(stream, None)
            if piece is not None:
                mine.append(piece)
    assert got == alone


def test_an_answer_left_unfinished_does_no_harm(session: Session) -> None:
    whole = [*answering(session)]
    stream = answering(session, "another question")
    next(stream)
    stream.close()
    assert [*answering(session)] == whole


def test_a_call_that_was_interrupted_does_no_harm(
    session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = [*answering(session)]
    program = session.program

    def interrupted(**given: object) -> dict[str, np.ndarray]:
        program(**given)
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(session, "program", interrupted)
        with pytest.raises(KeyboardInterrupt):
            next(answering(session, "another question"))
    assert [*answering(session)] == whole


def test_whole_chunks_that_the_caches_hold_are_not_computed_again(
    session: Session, calls: list[tuple[int, int]]
) -> None:
    ids = [3] * (2 * CHUNK_TOKENS + 5)
    session.logits(ids)
    expected = session.logits([4, *ids])
    calls.clear()
    assert np.array_equal(session.logits([4, *ids]), expected)
    assert calls == [(6, 2 * CHUNK_TOKENS)]
    calls.clear()
    session.logits([4, *ids[:-1], 5, 5])
    assert calls == [(7, 2 * CHUNK_TOKENS)]


def test_only_the_last_call_of_a_prompt_computes_logits(
    session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    program, shapes = session.program, list[tuple[int, ...]]()

    def call(**given: object) -> dict[str, np.ndarray]:
        found = program(**given)
        shapes.append(found["logits"].shape)
        return found

    session.forget()
    monkeypatch.setattr(session, "program", call)
    session.logits([3] * (2 * CHUNK_TOKENS + 5))
    assert shapes == [(one, session.config.vocabulary) for one in (0, 0, 1)]


def test_one_token_a_step_is_fed_while_an_answer_goes_on(
    session: Session, calls: list[tuple[int, int]]
) -> None:
    session.logits([1])
    calls.clear()
    [*answering(session, "hello world", max_tokens=4)]
    prompt = len(session.tokens("hello world", system=None, raw=True))
    assert calls == [(prompt, 0), (1, prompt), (1, prompt + 1), (1, prompt + 2)]


# --- how answers end ------------------------------------------------------------------------


def test_an_answer_ends_after_max_tokens(session: Session) -> None:
    [*answering(session, max_tokens=5)]
    assert (session.stats.generated_tokens, session.stats.finish_reason) == (5, "length")
    assert session.stats.prompt_tokens == len(session.tokens("hello world", system=None, raw=True))


@pytest.mark.parametrize("end", [2, 0])
def test_an_end_token_ends_the_answer_and_is_not_shown(
    session: Session, monkeypatch: pytest.MonkeyPatch, end: int
) -> None:
    hello = session.tokenizer.encode("hello", special=False)
    assert end in session.tokenizer.ends
    picks(monkeypatch, [*hello, end])
    assert "".join(answering(session)) == "hello"
    assert (session.stats.finish_reason, session.stats.generated_tokens) == ("stop", len(hello) + 1)


def test_a_stop_text_ends_the_answer_and_nothing_of_it_is_shown(
    session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    picks(monkeypatch, session.tokenizer.encode("hello world again and on", special=False))
    pieces = [*answering(session, max_tokens=99, stops=("absent", "d a"))]
    assert "".join(pieces) == "hello worl"
    assert session.stats.finish_reason == "stop"


def test_characters_cut_by_tokens_are_streamed_whole(
    session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = "a👍é" + "\N{WOMAN}\N{ZERO WIDTH JOINER}\N{GIRL}"
    tokens = session.tokenizer.encode(text, special=False)
    assert len(tokens) > len(text)
    picks(monkeypatch, [*tokens, 2])
    pieces = [*answering(session, max_tokens=99)]
    assert "".join(pieces) == text
    assert all("\N{REPLACEMENT CHARACTER}" not in piece for piece in pieces)


def test_an_answer_cut_in_a_character_ends_with_one_mark(
    session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    picks(monkeypatch, session.tokenizer.encode("a👍", special=False))
    assert "".join(answering(session, max_tokens=3)) == "a\N{REPLACEMENT CHARACTER}"


def test_pieces_of_broken_bytes_join_to_the_text_of_all_tokens(
    session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[int] = []
    pick = Sampler.pick

    def recorded(self: Sampler, logits: np.ndarray, used: list[int]) -> int:
        seen.append(pick(self, logits, used))
        return seen[-1]

    monkeypatch.setattr(Sampler, "pick", recorded)
    for seed in range(5):
        seen.clear()
        wild = SamplingOptions(temperature=50.0, seed=seed)
        text = "".join(answering(session, max_tokens=40, sampling=wild))
        assert text == session.tokenizer.decode(seen)


@pytest.mark.parametrize("max_tokens", [0, -1])
def test_an_answer_of_no_tokens_is_refused(session: Session, max_tokens: int) -> None:
    with pytest.raises(BadSampling, match="max_tokens"):
        next(answering(session, max_tokens=max_tokens))


def test_wrong_stops_are_refused_before_anything_is_computed(
    session: Session, calls: list[tuple[int, int]]
) -> None:
    with pytest.raises(BadSampling, match="stop"):
        next(answering(session, stops=("",)))
    assert not calls


# --- SRV-03: prompts and answers that do not fit --------------------------------------------


def prompt_of(session: Session, count: int) -> str:
    text = "z" * count
    assert len(session.tokens(text, system=None, raw=True)) == count
    return text


def test_srv_03_a_prompt_that_leaves_room_for_one_token_gets_one(small: Session) -> None:
    [*answering(small, prompt_of(small, CONTEXT - 1), max_tokens=1000)]
    assert (small.stats.generated_tokens, small.stats.finish_reason) == (1, "length")


@pytest.mark.parametrize("count", [CONTEXT, CONTEXT + 1, 500])
def test_srv_03_a_prompt_too_long_is_refused_with_both_counts(small: Session, count: int) -> None:
    whole = [*answering(small)]
    with pytest.raises(ContextOverflow, match=rf"{count} prompt and 1 answer tokens .* {CONTEXT}"):
        next(answering(small, prompt_of(small, count)))
    assert [*answering(small)] == whole


def test_srv_03_an_answer_ends_where_the_context_is_full(
    small: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(small.tokenizer.__class__, "ends", frozenset(), raising=False)
    [*answering(small, prompt_of(small, 10), max_tokens=1000)]
    assert small.stats.generated_tokens == CONTEXT - 10
    assert small.stats.finish_reason == "length"


def test_srv_03_an_empty_prompt_is_refused(small: Session) -> None:
    with pytest.raises(BadArgument, match="the prompt is empty"):
        next(answering(small, ""))


def test_a_context_outside_the_models_is_refused(small: Session) -> None:
    for context, error in ((0, BadArgument), (CONTEXT + 1, ContextOverflow)):
        with pytest.raises(error):
            open_session(small.path, context=context, progress=silent)


def test_a_smaller_context_is_kept_to(small: Session) -> None:
    narrow = open_session(small.path, context=20, progress=silent)
    assert [*answering(narrow, max_tokens=5)] == [*answering(small, max_tokens=5)]
    with pytest.raises(ContextOverflow, match="raise --context up to the model's own 64"):
        next(answering(narrow, prompt_of(narrow, 20)))


# --- prompts and files ----------------------------------------------------------------------


def test_a_template_of_the_file_is_used_unless_the_prompt_is_raw(session: Session) -> None:
    tokens = session.tokens("hi", system="be brief", raw=False)
    text = session.tokenizer.encode(
        "<|im_start|>system\nbe brief<|im_end|>\n<|im_start|>user\nhi<|im_end|>\n"
        "<|im_start|>assistant\n",
        special=True,
    )
    assert tokens == text
    assert session.tokens("hi", system=None, raw=True) == session.tokenizer.prompt("hi")


def test_a_file_without_a_tokenizer_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "tiny.gguf"
    write_talking(path, Changes({"tokenizer.ggml.merges": None}))
    with pytest.raises(PhoticError, match=r"tokenizer\.ggml\.merges is missing"):
        open_session(path, context=None, progress=silent)
