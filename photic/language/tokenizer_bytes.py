"""Byte-level BPE: every byte is a character of its own, and pairs merge by rank.

What the ``tokenizers`` library computes, from the tables of a GGUF file. Control tokens are no
part of it. How text is cut into words before merging has a name in the file.
"""

from __future__ import annotations

import itertools
import operator
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import tokenizers
from tokenizers import models, normalizers, pre_tokenizers

from photic.language.tokenizer_merging import merged
from photic.language.tokenizer_tables import Tables, shown

SHORT_CHARACTERS = 8192  # as long to merge here as to make the library's model
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
    vocabulary = dict(zip(reversed(tokens), range(len(tokens) - 1, -1, -1)))
    hidden = {tokens[token] for token in controls} | {""}
    for text in hidden:
        vocabulary.pop(text, None)
    merges = _merges(tables, vocabulary, hidden)
    return Merging(_Words(vocabulary, merges, cutting).encode, bytes_of, cutting.adds_start)


def ids_by(model: tokenizers.Tokenizer, text: str) -> list[int]:
    """The ids of a text without control tokens."""
    return list(model.encode(text, add_special_tokens=False).ids)


class _Words:
    """A vocabulary without control tokens, so that no merge can make one, and its merges.

    Short texts are merged here: the library is faster, but takes longer to take in the tables.
    """

    def __init__(self, vocabulary: dict[str, int], merges: list[str], cutting: Cutting) -> None:
        self._vocabulary = vocabulary
        self._ranks = dict(zip(merges, range(len(merges))))
        self._cutting = cutting
        self._cutter = cutting.cutter()
        self._library: tokenizers.Tokenizer | None = None

    def encode(self, text: str) -> list[int]:
        if len(text) > SHORT_CHARACTERS:
            return self.encode_long(text)
        if self._cutting.composes:
            text = normalizers.NFC().normalize_str(text)
        known: dict[str, list[int]] = {}
        ids: list[int] = []
        for word, _ in self._cutter.pre_tokenize_str(text):
            if word not in known:
                known[word] = self._word(word)
            ids += known[word]
        return ids

    def encode_long(self, text: str) -> list[int]:
        """By the library, which a first call makes."""
        if self._library is None:
            self._library = self._model()
        return ids_by(self._library, text)

    def _word(self, word: str) -> list[int]:
        if self._cutting.whole_words and word in self._vocabulary:
            return [self._vocabulary[word]]
        parts = [one for one in word if one in self._vocabulary]
        return [self._vocabulary[one] for one in merged(parts, self._order)]

    def _order(self, left: str, right: str) -> int | None:
        return self._ranks.get(f"{left} {right}")

    def _model(self) -> tokenizers.Tokenizer:
        whole_words = self._cutting.whole_words
        lines = sorted(self._ranks, key=self._ranks.__getitem__)
        merges = [(left, right) for left, _, right in (one.partition(" ") for one in lines)]
        bpe = models.BPE(vocab=self._vocabulary, merges=merges, ignore_merges=whole_words)
        model = tokenizers.Tokenizer(bpe)
        model.pre_tokenizer = self._cutting.cutter()
        if self._cutting.composes:
            model.normalizer = normalizers.NFC()
        return model


def _merges(tables: Tables, vocabulary: Mapping[str, int], hidden: set[str]) -> list[str]:
    """Pairs with a space between, but for those with a control token; all else is of tokens."""
    lines = tables.strings("merges")
    halves = " ".join(lines).split(" ")
    lefts, rights = halves[::2], halves[1::2]
    joined = map(operator.add, lefts, rights)
    is_sound = all(map(vocabulary.__contains__, itertools.chain(halves, joined)))
    if is_sound and list(map(" ".join, zip(lefts, rights))) == lines:
        return lines
    return list(_sound_merges(tables, lines, vocabulary, hidden))


def _sound_merges(
    tables: Tables, lines: Sequence[str], vocabulary: Mapping[str, int], hidden: set[str]
) -> Iterator[str]:
    """The same, one by one, so that what is wrong has a name."""
    for number, line in enumerate(lines):
        left, _, right = line.partition(" ")  # byte-level tokens hold no space
        joined = left + right
        if left in vocabulary and right in vocabulary and joined in vocabulary:
            yield line
        elif not (left and right) or " " in right:
            tables.fail(f"merge {number} is {shown(line)}, not two tokens")
        elif not hidden & {left, right, joined}:
            tables.fail(f"the merge {shown(left)} + {shown(right)} is not of tokens")
