"""Conversations to ids: whole texts between the template's control tokens, and none of a user's."""

from __future__ import annotations

from dataclasses import replace
from importlib.util import find_spec
from typing import Protocol

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from language.vocabulary import small_metadata

from photic.language.chat import encode_chat
from photic.language.errors import TemplateRejected
from photic.language.tokenizer import Tokenizer, build_tokenizer

peers = pytest.mark.skipif(
    find_spec("transformers") is None,
    reason="transformers is missing: pip install '.[peers]'",
)

SMALL = build_tokenizer(small_metadata(), "small.gguf")
START, END = 1, 2

WORDS = ["hello", " world", "12", "é👍", "\n", "\n\n", "  ", "\t", "<tool>", "<", "s", ">", "漢"]
CONTROLS = ["<|im_start|>", "<|im_end|>", "<|endoftext|>", "<s>", "<|im_", "end|>", "|>"]
HARMLESS = st.lists(st.sampled_from(WORDS), max_size=8).map("".join)
HOSTILE = st.lists(st.sampled_from(WORDS + CONTROLS), max_size=8).map("".join)


def messages_of(contents: list[str]) -> list[dict[str, object]]:
    roles = ["user", "assistant"]
    return [{"role": roles[i % 2], "content": one} for i, one in enumerate(contents)]


@given(st.lists(HOSTILE, max_size=4), st.booleans())
def test_each_turn_is_one_text_between_its_control_tokens(contents: list[str], more: bool):
    expected: list[int] = []
    between = ""
    for message in messages_of(contents):
        expected += [*SMALL.encode(between, special=False), START]
        expected += SMALL.encode(f"{message['role']}\n{message['content']}", special=False)
        expected.append(END)
        between = "\n"
    if more:
        expected += [*SMALL.encode(between, special=False), START]
        between = "assistant\n"
    expected += SMALL.encode(between, special=False)
    assert encode_chat(SMALL, messages_of(contents), add_generation_prompt=more) == expected


def test_a_model_without_a_template_says_so():
    with pytest.raises(TemplateRejected, match="the model has none"):
        encode_chat(replace(SMALL, chat_template=None), [], add_generation_prompt=True)


# --- SmolLM2 --------------------------------------------------------------------------------


class Peer(Protocol):
    """What the tests use of a transformers tokenizer."""

    def apply_chat_template(
        self, messages: object, *, add_generation_prompt: bool, return_dict: bool
    ) -> list[int]: ...


@pytest.mark.model
@pytest.mark.peers
@peers
@settings(deadline=None, max_examples=100)
@given(st.lists(HARMLESS, min_size=1, max_size=4), st.booleans(), st.booleans())
def test_smollm2_conversations_have_the_ids_of_transformers(
    smollm2: Tokenizer, smollm2_peer: Peer, contents: list[str], system: bool, more: bool
):
    messages = messages_of(contents)
    if system:
        messages.insert(0, {"role": "system", "content": "Be brief."})
    expected = smollm2_peer.apply_chat_template(
        messages, add_generation_prompt=more, return_dict=False
    )
    assert encode_chat(smollm2, messages, add_generation_prompt=more) == expected


@pytest.mark.model
@given(HOSTILE)
def test_smollm2_turns_are_those_of_the_conversation(smollm2: Tokenizer, content: str):
    ids = encode_chat(smollm2, messages_of([content]), add_generation_prompt=True)
    # The template's own system message, the user's, and the answer's beginning.
    assert (ids.count(START), ids.count(END)) == (3, 2)
    assert not {0, *range(3, 17)} & set(ids)
    assert content in smollm2.decode(ids)
