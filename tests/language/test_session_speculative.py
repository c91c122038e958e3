"""Drafts change how an answer comes, and no token of it; conversations feed what is new."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from language.tiny_llama import CONTEXT, write_talking

from photic.base.errors import BadArgument
from photic.language import session as session_module
from photic.language.chat import encode_chat
from photic.language.errors import ContextOverflow, TemplateRejected
from photic.language.sampling import Sampler, SamplingOptions
from photic.language.session import MANY_TOKENS, Session, open_session
from photic.language.speculative import MOST_DRAFTED
from photic.language.turns import ASSISTANT, USER, Conversation, Said

LONG = 512
SAMPLINGS = (
    SamplingOptions(),
    SamplingOptions(temperature=0.5, seed=1),
    SamplingOptions(temperature=0.8, top_k=5, top_p=0.9, repetition_penalty=1.1, seed=2),
)


def silent(stage: str, done: int, total: int) -> None:
    """No progress."""


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("speculative") / "tiny.gguf"
    write_talking(path, context=LONG)
    return path


@pytest.fixture(scope="module")
def plain(path: Path) -> Session:
    return open_session(path, context=None, progress=silent)


@pytest.fixture(scope="module")
def drafting(path: Path) -> Session:
    return open_session(path, context=None, progress=silent, speculative=4)


@pytest.fixture
def calls(drafting: Session, monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, int]]:
    """(tokens, past) of every call of the drafting session's program from now on."""
    return watched(drafting, monkeypatch)


def watched(session: Session, monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, int]]:
    seen: list[tuple[int, int]] = []
    program = session.program

    def call(**given: object) -> dict[str, np.ndarray]:
        seen.append((len(given["ids"]), given["past"]))  # type: ignore[arg-type]
        return program(**given)

    monkeypatch.setattr(session, "program", call)
    return seen


def answering(
    session: Session, text: str, sampling: SamplingOptions, max_tokens: int = 60
) -> Iterator[str]:
    return session.generate(
        text, system=None, raw=True, max_tokens=max_tokens, sampling=sampling, stops=()
    )


# --- drafts ---------------------------------------------------------------------------------


@pytest.mark.parametrize("sampling", SAMPLINGS)
@pytest.mark.parametrize("text", ["hello world", "abcabcabcabc", "12 12 12 12"])
def test_drafts_change_no_token(
    plain: Session, drafting: Session, text: str, sampling: SamplingOptions
) -> None:
    ids = plain.tokens(text, system=None, raw=True)
    expected = [*plain.following(ids, Sampler(sampling), 60)]
    assert [*drafting.following(ids, Sampler(sampling), 60)] == expected


def test_an_answer_with_drafts_is_the_answer_without(plain: Session, drafting: Session) -> None:
    sampling = SamplingOptions(temperature=0.3, seed=5)
    expected = "".join(answering(plain, "hello hello hello", sampling))
    assert "".join(answering(drafting, "hello hello hello", sampling)) == expected
    assert drafting.stats.generated_tokens == plain.stats.generated_tokens
    assert drafting.stats.finish_reason == plain.stats.finish_reason


def test_right_drafts_save_calls(drafting: Session, calls: list[tuple[int, int]]) -> None:
    # every token is what the text repeats, as far as the sampler is concerned
    ids = drafting.tokens("xyxyxyxyxy", system=None, raw=True)
    loop = [ids[-2], ids[-1]] * 10

    class Told:
        options = SamplingOptions()

        def __init__(self) -> None:
            self.rest = iter(loop)

        def pick(self, logits: object, used: object) -> int:
            return next(self.rest)

    drafting.forget()
    got = [*drafting.following(ids, Told(), 20)]  # type: ignore[arg-type]
    assert got == loop
    # the prompt gives 1 token, three calls 5 each, and the last 4 of which 1 is not drafted
    assert calls == [(10, 0), (5, 10), (5, 15), (5, 20), (4, 25)]


def test_wrong_drafts_are_counted_and_their_rows_given_up(
    drafting: Session, calls: list[tuple[int, int]], monkeypatch: pytest.MonkeyPatch
) -> None:
    a, b, c = drafting.tokens("xyz", system=None, raw=True)
    told = iter([b, c, a, a])

    class Told:
        def __init__(self, options: SamplingOptions) -> None:
            self.options = options

        def pick(self, logits: object, used: object) -> int:
            return next(told)

    monkeypatch.setattr(session_module, "Sampler", Told)
    [*answering(drafting, "xyxyx", SamplingOptions(), max_tokens=4)]
    # after "xyxyx" comes y; "xy" is drafted, and z is picked instead of x
    assert calls == [(5, 0), (3, 5), (1, 6), (1, 7)]
    assert (drafting.stats.drafted_tokens, drafting.stats.accepted_tokens) == (2, 0)


def test_drafts_keep_to_the_context_and_to_the_most_tokens(
    plain: Session, drafting: Session
) -> None:
    narrow, broad = shortened(drafting, 20), shortened(plain, 20)
    ids = plain.tokens("xyxyxyxy", system=None, raw=True)
    for most in (1, 2, 3, 100):
        expected = [*broad.following(ids, Sampler(SamplingOptions()), most)]
        assert [*narrow.following(ids, Sampler(SamplingOptions()), most)] == expected
        assert len(expected) == min(most, 20 - len(ids))


def shortened(session: Session, context: int) -> Session:
    """Another session of the same program, with less room; the first must begin anew."""
    session.forget()
    return Session(
        session.path, session.config, session.tokenizer, session.program, context, session.drafts
    )


def test_drafted_answers_read_in_turns_are_those_read_one_by_one(drafting: Session) -> None:
    texts = ("abcabc", "hello hello")
    alone = [[*answering(drafting, text, SAMPLINGS[1])] for text in texts]
    streams = [answering(drafting, text, SAMPLINGS[1]) for text in texts]
    got: list[list[str]] = [[], []]
    for _ in range(61):
        for mine, stream in zip(got, streams):
            piece = next(stream, None)
            if piece is not None:
                mine.append(piece)
    assert got == alone


def test_calls_with_drafts_use_the_kernels_of_one_token() -> None:
    assert 1 + MOST_DRAFTED < MANY_TOKENS


@pytest.mark.parametrize("count", [-1, MOST_DRAFTED + 1])
def test_more_drafts_than_a_call_may_have_are_refused(path: Path, count: int) -> None:
    with pytest.raises(BadArgument, match="speculative"):
        open_session(path, context=None, progress=silent, speculative=count)


# --- conversations --------------------------------------------------------------------------


def ask(conversation: Conversation, text: str, max_tokens: int = 6) -> str:
    sampling = SamplingOptions()
    return "".join(conversation.ask(text, max_tokens=max_tokens, sampling=sampling, stops=()))


def prompt_of(conversation: Conversation, text: str) -> list[int]:
    shown = [{"role": one.role, "content": one.content} for one in conversation.messages()]
    shown.append({"role": USER, "content": text})
    return encode_chat(conversation.session.tokenizer, shown, add_generation_prompt=True)


def test_what_was_said_belongs_to_the_next_question(plain: Session) -> None:
    talk = Conversation(plain, system="be brief")
    first = ask(talk, "hello")
    assert talk.turns == (Said(USER, "hello"), Said(ASSISTANT, first))
    text = plain.tokenizer.decode(prompt_of(talk, "and now?"))
    assert text.index("be brief") < text.index("hello") < text.index("and now?")
    assert first in text


def test_a_turn_feeds_only_what_is_new(plain: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    talk = Conversation(plain)
    hello = [*plain.tokenizer.encode("hello world", special=False), 2]
    told(monkeypatch, hello)
    plain.forget()
    ask(talk, "hello", 20)
    before = len(prompt_of(Conversation(plain), "hello"))
    told(monkeypatch, hello)
    whole = prompt_of(talk, "12 12")
    seen = watched(plain, monkeypatch)
    ask(talk, "12 12", 20)
    held = before + len(hello) - 1  # the token that ended the answer was never fed
    assert seen[0] == (len(whole) - held, held)
    assert plain.stats.cached_tokens == held


def told(monkeypatch: pytest.MonkeyPatch, tokens: list[int]) -> None:
    """Make every sampler pick these tokens, one after another."""

    class Told:
        def __init__(self, options: SamplingOptions) -> None:
            self.rest = iter(tokens)

        def pick(self, logits: object, used: object) -> int:
            return next(self.rest)

    monkeypatch.setattr(session_module, "Sampler", Told)


def test_what_is_said_in_other_tokens_is_fed_from_the_first_of_them(
    plain: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    talk = Conversation(plain)
    letters = [plain.tokenizer.encode(one, special=False)[0] for one in "hello"]
    assert len(plain.tokenizer.encode("hello", special=False)) < len(letters)
    told(monkeypatch, [*letters, 2])
    plain.forget()
    ask(talk, "12", 20)
    first = len(prompt_of(Conversation(plain), "12"))
    whole = prompt_of(talk, "12")
    seen = watched(plain, monkeypatch)
    told(monkeypatch, [2])
    ask(talk, "12", 20)
    assert seen[0] == (len(whole) - first, first)


@pytest.mark.parametrize("speculative", [False, True])
def test_a_conversation_that_goes_on_says_what_one_fed_anew_says(
    plain: Session, drafting: Session, speculative: bool
) -> None:
    session = drafting if speculative else plain
    talk = Conversation(session)
    for text in ("hello", "abcabc", "12 12"):
        anew = Conversation(session)
        anew.replace(talk.messages())
        ids = prompt_of(talk, text)
        got = ask(talk, text, 20)
        session.forget()
        expected = "".join(session.resume(ids, max_tokens=20, sampling=SamplingOptions(), stops=()))
        assert got == expected


def test_an_answer_that_was_stopped_belongs_to_the_conversation(plain: Session) -> None:
    talk = Conversation(plain)
    pieces = talk.ask("hello", max_tokens=20, sampling=SAMPLINGS[1], stops=())
    said = next(pieces)
    pieces.close()
    assert talk.turns == (Said(USER, "hello"), Said(ASSISTANT, said))


def test_a_question_that_does_not_fit_changes_nothing(plain: Session) -> None:
    talk = Conversation(shortened(plain, CONTEXT))
    said = ask(talk, "a", 2)
    with pytest.raises(ContextOverflow, match=rf"do not fit the context of {CONTEXT}"):
        ask(talk, "z" * CONTEXT)
    assert talk.turns == (Said(USER, "a"), Said(ASSISTANT, said))


def test_a_model_without_a_template_cannot_converse(
    plain: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(plain, "tokenizer", replace(plain.tokenizer, chat_template=None))
    with pytest.raises(TemplateRejected):
        ask(Conversation(plain), "hello")


def test_messages_replace_a_conversation(plain: Session) -> None:
    talk = Conversation(plain, system="old")
    messages = (Said("system", "new"), Said(USER, "a"), Said(ASSISTANT, "b"))
    talk.replace(messages)
    assert (talk.system, talk.messages()) == ("new", messages)
    talk.replace(messages[1:])
    assert (talk.system, talk.messages()) == (None, messages[1:])
    talk.replace(())
    assert (talk.system, talk.messages()) == (None, ())
