"""SentencePiece vocabularies: ids are those of the ``tokenizers`` library, bytes, broken files.

The library merges by rank: the merges that scores stand for are all ways to cut a token in two, in
the order of the whole's score, and that is how the tables of such models are converted for it.
"""

from __future__ import annotations

import random

import pytest
import tokenizers
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import models, normalizers

from photic.language.errors import TokenizerBroken
from photic.language.tokenizer import Tokenizer, build_tokenizer

LETTERS = "abcd\N{LOWER ONE EIGHTH BLOCK}é"
CONTROLS = ("<unk>", "<s>", "</s>", "<start_of_turn>", "<end_of_turn>")
ALWAYS = ("\n\n", "   ")
BYTES = tuple(f"<0x{byte:02X}>" for byte in range(256))


def pieces(seed: int, count: int = 60) -> list[str]:
    """Letters, and tokens that two smaller ones make."""
    rng = random.Random(seed)
    found = list(LETTERS)
    while len(found) < count:
        joined = rng.choice(found) + rng.choice(found)
        if joined not in found and len(joined) < 8:
            found.append(joined)
    return found


def metadata(seed: int = 0, **changes: object) -> dict[str, object]:
    plain = pieces(seed)
    tokens = [*CONTROLS, *BYTES, *ALWAYS, *plain]
    scores = [0.0] * (len(tokens) - len(plain)) + [-float(rank) for rank in range(len(plain))]
    kinds = [3] * len(CONTROLS) + [6] * 256 + [4] * len(ALWAYS) + [1] * len(plain)
    table: dict[str, object] = {
        "model": "llama",
        "tokens": tokens,
        "scores": scores,
        "token_type": kinds,
        "bos_token_id": 1,
        "eos_token_id": 2,
        "unknown_token_id": 0,
        "add_bos_token": True,
        "add_space_prefix": False,
    }
    table |= changes
    return {f"tokenizer.ggml.{key}": one for key, one in table.items() if one is not None}


def library(seed: int) -> tokenizers.Tokenizer:
    """The same vocabulary for the library."""
    table = metadata(seed)
    tokens = table["tokenizer.ggml.tokens"]
    assert isinstance(tokens, list)
    ids = {text: token for token, text in enumerate(tokens)}
    merges = [
        (text[:cut], text[cut:])
        for text in pieces(seed)
        for cut in range(1, len(text))
        if text[:cut] in ids and text[cut:] in ids
    ]
    model = tokenizers.Tokenizer(models.BPE(vocab=ids, merges=merges, byte_fallback=True))
    model.normalizer = normalizers.Replace(" ", "\N{LOWER ONE EIGHTH BLOCK}")
    return model


SMALL = build_tokenizer(metadata(), "x")


@settings(max_examples=150, deadline=None)
@given(seed=st.integers(0, 5), text=st.text("abcd é\tß", max_size=40))
def test_ids_are_those_of_the_library(seed: int, text: str) -> None:
    text = text.replace("   ", "  ")  # runs that are tokens by themselves are tested below
    if "   " in text:
        return
    found = build_tokenizer(metadata(seed), "x").encode(text, special=False)
    assert found == library(seed).encode(text, add_special_tokens=False).ids


@settings(max_examples=100, deadline=None)
@given(text=st.text(max_size=30))
def test_every_text_comes_back(text: str) -> None:
    safe = text.replace("\N{LOWER ONE EIGHTH BLOCK}", "")  # which stands for a space
    for tokenizer in (SMALL, build_tokenizer(metadata(add_space_prefix=True), "x")):
        assert tokenizer.decode(tokenizer.encode(safe, special=False)) == safe


def test_a_long_text_is_merged_in_little_time() -> None:
    text = "ab cd" * 20000
    assert SMALL.decode(SMALL.encode(text, special=False)) == text


def test_characters_that_are_no_token_are_spelt_in_bytes() -> None:
    first = len(CONTROLS)
    assert SMALL.encode("ß", special=False) == [first + 0xC3, first + 0x9F]


def test_without_tokens_of_bytes_the_unknown_one_stands_for_them() -> None:
    kinds = [3] * len(CONTROLS) + [1] * 256 + [4] * len(ALWAYS) + [1] * len(pieces(0))
    assert build_tokenizer(metadata(token_type=kinds), "x").encode("ß", special=False) == [0]
    nothing = metadata(token_type=kinds, unknown_token_id=None)
    assert build_tokenizer(nothing, "x").encode("ß", special=False) == []


def test_the_text_of_a_byte_or_control_token_is_plain_text() -> None:
    for text in ("<0x61>", "<start_of_turn>", "<s>"):
        ids = SMALL.encode(text, special=False)
        assert SMALL.decode(ids) == text
        assert not set(ids) & {*range(len(CONTROLS))}


def test_runs_that_are_tokens_are_taken_before_any_merge() -> None:
    first = len(CONTROLS) + 256
    assert SMALL.encode("\n\n", special=False) == [first]
    assert SMALL.encode("a   b", special=False)[1] == first + 1


def test_a_prefix_is_a_space_before_every_stretch() -> None:
    prefixed = build_tokenizer(metadata(add_space_prefix=True), "x")
    plain = build_tokenizer(metadata(), "x")
    assert prefixed.encode("ab", special=False) == plain.encode(" ab", special=False)
    assert prefixed.encode("", special=False) == []


def test_a_prompt_begins_with_the_start_token(tokenizer: Tokenizer = SMALL) -> None:
    assert tokenizer.prompt("") == [1]
    assert tokenizer.ends == {2, CONTROLS.index("<end_of_turn>")}


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"scores": None}, "scores is missing"),
        ({"scores": [0.0]}, "scores is not one number for each"),
        ({"add_space_prefix": 1}, "add_space_prefix is no bool"),
        ({"unknown_token_id": 10**6}, "unknown_token_id is 1000000"),
    ],
)
def test_a_broken_table_is_named(changes: dict[str, object], message: str) -> None:
    with pytest.raises(TokenizerBroken, match=message):
        build_tokenizer(metadata(**changes), "f.gguf")
