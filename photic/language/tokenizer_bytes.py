"""Byte-level BPE: every byte is a character of its own, and pairs merge by rank.

What the ``tokenizers`` library computes, from the tables of a GGUF file. Control tokens are no
part of it. How text is cut into words before merging has a name in the file.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import tokenizers
from tokenizers import models, normalizers, pre_tokenizers

from photic.language.tokenizer_tables import Tables, shown

Spelling = Callable[[str], bytes]


@dataclass(frozen=True, slots=True)
class Merging:
    """How text that holds no control token becomes ids, and a token's text bytes.

    ``adds_start``: whether a start token is meant where the file does not say. ``prefix``: what
    ``encode`` puts before a text.
    """

    encode: Callable[[str], list[int]]
    bytes_of: Spelling
    adds_start: bool
    prefix: str = ""


# --- how text is cut before merging ---------------------------------------------------------

# From the models' own tokenizer files. The first is the one that the byte-level pre-tokenizer
# of the ``tokenizers`` library has built in (GPT-2's).
LLAMA3_WORDS = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}"
    r"| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
QWEN2_WORDS = LLAMA3_WORDS.replace(r"\p{N}{1,3}", r"\p{N}")

Cutter = pre_tokenizers.PreTokenizer


def _bytes_only() -> Cutter:
    return pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)


def _gpt2() -> Cutter:
    return pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=True)


def _digit_by_digit() -> Cutter:
    digits = pre_tokenizers.Digits(individual_digits=True)
    return pre_tokenizers.Sequence([digits, _gpt2()])


def _words(pattern: str) -> Cutter:
    split = pre_tokenizers.Split(tokenizers.Regex(pattern), behavior="isolated")
    return pre_tokenizers.Sequence([split, _bytes_only()])


@dataclass(frozen=True, slots=True)
class Cutting:
    """One value of ``tokenizer.ggml.pre``: how text is cut, and what goes with it.

    ``whole_words``: a piece that is a token is taken before any merge. ``adds_start``: the value
    of ``add_bos_token`` where the file has none. ``composes``: text is brought to NFC first.
    """

    names: tuple[str, ...]
    cutter: Callable[[], Cutter]
    whole_words: bool = False
    adds_start: bool = False
    composes: bool = False


CUTTINGS = (
    Cutting(("gpt-2", "default"), _gpt2),
    Cutting(("smollm", "starcoder"), _digit_by_digit),
    Cutting(
        ("llama-bpe", "llama3", "llama-v3"),
        lambda: _words(LLAMA3_WORDS),
        whole_words=True,
        adds_start=True,
    ),
    Cutting(("qwen2",), lambda: _words(QWEN2_WORDS), composes=True),
)
_BY_NAME = {name: one for one in CUTTINGS for name in one.names}

# --- bytes as characters --------------------------------------------------------------------


def _byte_characters() -> dict[str, int]:
    """GPT-2's alphabet: each byte as a visible character."""
    visible = [*range(ord("!"), ord("~") + 1), *range(0xA1, 0xAC + 1), *range(0xAE, 0xFF + 1)]
    hidden = [byte for byte in range(256) if byte not in visible]
    table = {chr(byte): byte for byte in visible}
    return table | {chr(256 + place): byte for place, byte in enumerate(hidden)}


BYTE_OF = _byte_characters()


def bytes_of(text: str) -> bytes:
    """The bytes that a token's text stands for."""
    return b"".join(map(_byte, text))


def _byte(character: str) -> bytes:
    byte = BYTE_OF.get(character)
    return character.encode() if byte is None else bytes((byte,))


# --- merging --------------------------------------------------------------------------------


def byte_level(tables: Tables, tokens: tuple[str, ...], controls: set[int]) -> Merging:
    """The merging of a byte-level vocabulary. Raises TokenizerBroken."""
    name = tables.text("pre", "default")
    cutting = _BY_NAME.get(name)
    if cutting is None:
        known = ", ".join(sorted(_BY_NAME))
        tables.fail(f"text is cut by rules called {shown(name)}; supported: {known}")
    model = _model(tables, cutting, tokens, controls)
    return Merging(partial(ids_by, model), bytes_of, cutting.adds_start)


def ids_by(model: tokenizers.Tokenizer, text: str) -> list[int]:
    """The ids of a text without control tokens."""
    return list(model.encode(text, add_special_tokens=False).ids)


def _model(
    tables: Tables, cutting: Cutting, tokens: tuple[str, ...], controls: set[int]
) -> tokenizers.Tokenizer:
    """The merging model. Control tokens are no part of it, so that no merge can make one."""
    vocabulary = {text: token for token, text in reversed(list(enumerate(tokens)))}
    hidden = {tokens[token] for token in controls} | {""}
    vocabulary = {text: token for text, token in vocabulary.items() if text not in hidden}
    merges = [
        pair
        for pair in _merges(tables)
        if pair[0] not in hidden and pair[1] not in hidden and pair[0] + pair[1] not in hidden
    ]
    for left, right in merges:
        if left not in vocabulary or right not in vocabulary or left + right not in vocabulary:
            tables.fail(f"the merge {shown(left)} + {shown(right)} is not of tokens")
    model = tokenizers.Tokenizer(
        models.BPE(vocab=vocabulary, merges=merges, ignore_merges=cutting.whole_words)
    )
    model.pre_tokenizer = cutting.cutter()
    if cutting.composes:
        model.normalizer = normalizers.NFC()
    return model


def _merges(tables: Tables) -> list[tuple[str, str]]:
    pairs: list[tuple[str, str]] = []
    for number, line in enumerate(tables.strings("merges")):
        left, _, right = line.partition(" ")  # byte-level tokens hold no space
        if not (left and right) or " " in right:
            tables.fail(f"merge {number} is {shown(line)}, not two tokens")
        pairs.append((left, right))
    return pairs
