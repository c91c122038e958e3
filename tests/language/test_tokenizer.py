"""The tokenizer against BPE by its definition, and SmolLM2's against transformers."""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Protocol

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from language.reference_bpe import reference_ids
from language.vocabulary import SPECIALS, small_metadata

from photic.base.errors import BadArgument
from photic.language.errors import TokenizerBroken
from photic.language.tokenizer import Tokenizer, build_tokenizer
from photic.language.tokenizer_bytes import CUTTINGS, Cutting

peers = pytest.mark.skipif(
    find_spec("transformers") is None,
    reason="transformers is missing: pip install '.[peers]'",
)

SMALL = build_tokenizer(small_metadata(), "small.gguf")
CONTROLS = [text for text, kind in SPECIALS if kind == 3]
CONTROL_IDS = set(range(len(CONTROLS)))

# Assigned characters only: which category a newer one has depends on the library's Unicode version.
ANY_TEXT = st.text(st.characters(exclude_categories=("Cs", "Cn")), max_size=40)
AWKWARD = st.lists(
    st.sampled_from(
        [
            *(
                "hello",
                " world",
                "12",
                "0",
                "٣٤",
                "²",
                "Ⅻ",
                "½",
                "é",
                "e\u0301",
                "漢字",
                "かな",
                "한글",
            ),
            *(
                "שלום",
                "مرحبا",
                "👍",
                "👨‍👩‍👧‍👦",
                "🇨🇭",
                "\u200d",
                "\u200b",
                "\ufeff",
                "\xa0",
                "\u3000",
            ),
            *(
                " ",
                "  ",
                "    ",
                "\t",
                "\n",
                "\n\n",
                "\r\n",
                "'s",
                "'ll",
                "'S",
                "'",
                "_",
                "...",
                "a",
            ),
            *("<|im_start|>", "<|im_", "end|>", "<s>", "<s", ">", "<tool>", "\x00", "\x1c", "\x85"),
        ]
    ),
    max_size=12,
).map("".join)


def without_always(text: str) -> bool:
    return "<tool>" not in text and "    " not in text


# --- plain text -----------------------------------------------------------------------------


@given(ANY_TEXT | AWKWARD)
def test_plain_text_has_the_ids_of_bpe_by_definition(text: str):
    assume(without_always(text))
    # The definition, without the merges that make a control token.
    metadata = small_metadata()
    merges = metadata["tokenizer.ggml.merges"]
    assert isinstance(merges, list) and merges.pop() == "<s >"
    assert SMALL.encode(text, special=False) == reference_ids(metadata, text)


@given(ANY_TEXT | AWKWARD, st.booleans())
def test_decoding_gives_the_text_back(text: str, special: bool):
    assume(not special or not any(control in text for control in CONTROLS))
    assert SMALL.decode(SMALL.encode(text, special=special)) == text


@given(AWKWARD)
def test_token_bytes_join_to_the_text(text: str):
    ids = SMALL.encode(text, special=False)
    assert b"".join(SMALL.token_bytes(token) for token in ids) == text.encode()


@pytest.mark.parametrize("special", [False, True])
def test_empty_text_has_no_ids(special: bool):
    assert SMALL.encode("", special=special) == []
    assert SMALL.decode([]) == ""


def test_lone_surrogates_become_the_replacement_character():
    ids = SMALL.encode("a\ud83d\udc4db\udcff", special=False)
    assert SMALL.decode(ids) == "a\ufffd\ufffdb\ufffd"


def test_bytes_without_a_token_are_dropped():
    metadata = small_metadata()
    tokens = metadata["tokenizer.ggml.tokens"]
    assert isinstance(tokens, list)
    tokens[tokens.index("Ą")] = "unused"  # byte 4
    tokenizer = build_tokenizer(metadata, "small.gguf")
    assert tokenizer.decode(tokenizer.encode("a\x04b", special=False)) == "ab"


@pytest.mark.parametrize("cutting", CUTTINGS, ids=lambda one: one.names[0])
@given(text=AWKWARD)
def test_every_way_of_cutting_gives_the_text_back(cutting: Cutting, text: str):
    tokenizer = CUT[cutting]
    composed = unicodedata.normalize("NFC", text) if cutting.composes else text
    assert tokenizer.decode(tokenizer.encode(text, special=False)) == composed


CUT = {one: build_tokenizer(small_metadata(pre=one.names[0]), "x") for one in CUTTINGS}


def words_of(pre: str, text: str) -> list[str]:
    """How ``pre`` cuts ``text``, shown by a vocabulary that merges any two ASCII characters."""
    cutter = next(one for one in CUTTINGS if pre in one.names).cutter()
    return [
        piece.replace("Ġ", " ").replace("Ċ", "\n") for piece, _ in cutter.pre_tokenize_str(text)
    ]


@pytest.mark.parametrize(
    ("pre", "words"),
    [
        ("gpt-2", ["I", "'ll", " pay", " 12345", "  ", " x", "\n\n", "\n", "y", "!?", "\n"]),
        ("smollm", ["I", "'ll", " pay", " ", *"12345", "  ", " x", "\n\n", "\n", "y", "!?", "\n"]),
        ("llama-bpe", ["I", "'ll", " pay", " ", "123", "45", "  ", " x", "\n\n\n", "y", "!?\n"]),
        ("qwen2", ["I", "'ll", " pay", " ", *"12345", "  ", " x", "\n\n\n", "y", "!?\n"]),
    ],
)
def test_text_is_cut_as_the_models_own_rules_say(pre: str, words: list[str]):
    assert words_of(pre, "I'll pay 12345   x\n\n\ny!?\n") == words


# --- control tokens -------------------------------------------------------------------------


@pytest.mark.parametrize("cutting", CUTTINGS, ids=lambda one: one.names[0])
@given(text=ANY_TEXT | AWKWARD)
def test_short_and_long_texts_are_merged_alike(cutting: Cutting, text: str):
    words = CUT[cutting]._merging.encode.__self__
    assert words.encode(text) == words.encode_long(text)


@given(AWKWARD)
def test_plain_text_never_becomes_a_control_token(text: str):
    assert not CONTROL_IDS & set(SMALL.encode(text, special=False))


@pytest.mark.parametrize("control", CONTROLS)
def test_text_of_a_control_token_becomes_it_only_when_asked(control: str):
    assert SMALL.encode(control, special=True) == [SMALL.tokens.index(control)]
    assert SMALL.decode(SMALL.encode(control, special=False)) == control


def test_the_longest_control_token_is_taken():
    assert SMALL.encode("<|im_start|>now<|im_start|>no", special=True)[:2] == [4, 1]


def test_user_defined_tokens_are_taken_in_any_text():
    assert SMALL.encode("<tool>", special=False) == [5]
    assert SMALL.decode([5, 6]) == "<tool>    "


def test_control_tokens_have_no_text():
    assert SMALL.decode([1, *SMALL.encode("hello", special=False), 2]) == "hello"
    assert SMALL.token_bytes(1) == b""


@given(AWKWARD, AWKWARD, AWKWARD)
def test_marked_text_is_one_text_between_the_control_tokens_of_its_author(a: str, b: str, c: str):
    for one in CONTROLS:
        assume(one not in a + c)
    template = "<|im_start|>"
    text = template + a + template + c + template
    user = bytes(len(template)) + b"\1" * len(a + template) + bytes(len(c + template))
    plain = SMALL.encode(a + template + c, special=False)
    assert SMALL.encode_marked(text, user) == [1, *plain, 1]


def test_a_control_token_with_one_character_of_a_user_is_none():
    for place in range(len("<|im_end|>")):
        user = bytearray(len("<|im_end|>"))
        user[place] = 1
        assert 2 not in SMALL.encode_marked("<|im_end|>", bytes(user))


@pytest.mark.parametrize("kind", ["bos", "eos", "eot", "eom"])
def test_a_turn_marker_that_the_file_calls_plain_is_a_control_token(kind: str):
    token = SMALL.tokens.index("hello")
    tokenizer = build_tokenizer(small_metadata(**{f"{kind}_token_id": token}), "x")
    assert token not in tokenizer.encode("hello", special=False)
    assert tokenizer.decode(tokenizer.encode("hello", special=False)) == "hello"


# --- start and end --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("pre", "add", "expected"),
    [
        ("smollm", False, []),
        ("smollm", True, [1]),
        ("smollm", None, []),
        ("llama-bpe", None, [1]),
        ("llama-bpe", False, []),
    ],
)
def test_a_plain_prompt_has_one_start_token_where_the_model_wants_it(
    pre: str, add: bool | None, expected: list[int]
):
    tokenizer = build_tokenizer(small_metadata(pre=pre, add_bos_token=add), "x")
    assert tokenizer.prompt("") == expected
    assert tokenizer.prompt("<|im_start|>")[: len(expected) + 1].count(1) == len(expected)


def test_a_vocabulary_without_a_start_token_adds_none():
    tokenizer = build_tokenizer(small_metadata(bos_token_id=None, add_bos_token=True), "x")
    assert tokenizer.start is None
    assert tokenizer.prompt("") == []


def test_turn_ends_are_known_by_key_and_by_text():
    assert SMALL.ends == {0, 2}
    assert build_tokenizer(small_metadata(eot_token_id=3), "x").ends == {0, 2, 3}


# --- broken tables --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"model": "t5"}, "kind 't5'; supported: \"gpt2\""),
        ({"model": "llama"}, "scores is missing"),
        ({"model": None}, "kind ''"),
        ({"model": 3}, "model is no str"),
        ({"pre": "tekken"}, "'tekken'; supported: .*gpt-2.*smollm"),
        ({"tokens": None}, "tokens is missing"),
        ({"tokens": "abc"}, "tokens is no list"),
        ({"tokens": ["a", 3]}, "does not hold texts only"),
        ({"token_type": [1, 2]}, "token_type is not one number for each"),
        ({"merges": None}, "merges is missing"),
        ({"merges": ["a b c"]}, "merge 0 is 'a b c', not two tokens"),
        ({"merges": ["ab"]}, "not two tokens"),
        ({"merges": [" a"]}, "not two tokens"),
        ({"merges": ["a c"]}, "the merge 'a' \\+ 'c' is not of tokens"),
        ({"eos_token_id": 10**6}, "eos_token_id is 1000000, not one of the"),
        ({"bos_token_id": -1}, "bos_token_id is -1"),
        ({"bos_token_id": "1"}, "bos_token_id is 1"),
        ({"add_bos_token": "yes"}, "add_bos_token is no bool"),
    ],
)
def test_broken_table_is_named(changes: dict[str, object], message: str):
    with pytest.raises(TokenizerBroken, match=f"(?s)tokenizer of f.gguf: .*{message}"):
        build_tokenizer(small_metadata(**changes), Path("f.gguf"))


@pytest.mark.parametrize("token", [-1, 10**6])
def test_an_id_outside_the_vocabulary_is_refused(token: int):
    with pytest.raises(BadArgument, match="a token is"):
        SMALL.token_bytes(token)


def test_without_token_types_only_named_tokens_are_control_tokens():
    tokenizer = build_tokenizer(small_metadata(token_type=None), "x")
    assert tokenizer.encode("<|im_end|>", special=True) == [2]
    assert 2 not in tokenizer.encode("<|im_end|>", special=False)


# --- the real vocabulary --------------------------------------------------------------------


@pytest.mark.model
def test_smollm2_splits_a_known_prompt_into_its_known_ids(smollm2: Tokenizer):
    assert smollm2.prompt("The capital of France is") == [504, 3575, 282, 4649, 314]


@pytest.mark.model
@settings(deadline=None, max_examples=300)
@given(text=ANY_TEXT | AWKWARD)
def test_smollm2_has_the_ids_of_bpe_by_definition(
    smollm2_metadata: Mapping[str, object], smollm2: Tokenizer, text: str
):
    assert smollm2.encode(text, special=False) == reference_ids(smollm2_metadata, text)


@pytest.mark.model
@pytest.mark.peers
@peers
@settings(deadline=None, max_examples=300)
@given(text=ANY_TEXT | AWKWARD)
def test_smollm2_has_the_ids_of_transformers(smollm2: Tokenizer, smollm2_peer: Peer, text: str):
    assert smollm2.encode(text, special=True) == smollm2_peer.encode(text, add_special_tokens=False)


class Peer(Protocol):
    """What the tests use of a transformers tokenizer."""

    def encode(self, text: str, *, add_special_tokens: bool) -> list[int]: ...
