"""Byte-level BPE by its definition, in plain Python: the oracle of the tokenizer's tests.

Merges are applied one at a time, the lowest rank first, leftmost first; words are cut by walking
over Unicode categories instead of by a regular expression.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import cast

from language.vocabulary import gpt2_alphabet

CONTRACTIONS = ("'s", "'t", "'re", "'ve", "'m", "'ll", "'d")
# Unicode White_Space; str.isspace also takes the separators U+001C..U+001F, which are none.
SPACES = frozenset("\t\n\v\f\r \x85\xa0\u1680\u2028\u2029\u202f\u205f\u3000") | {
    chr(code) for code in range(0x2000, 0x200B)
}


def kind(character: str) -> str:
    if character in SPACES:
        return "space"
    return {"L": "letter", "N": "number"}.get(unicodedata.category(character)[0], "other")


def gpt2_words(text: str) -> list[str]:
    """Contractions; an optional space and a run of one kind; runs of spaces but for their last."""
    words, at = [], 0
    while at < len(text):
        end = _contraction(text, at) or _run(text, at) or _spaces(text, at)
        words.append(text[at:end])
        at = end
    return words


def _contraction(text: str, at: int) -> int:
    return next((at + len(one) for one in CONTRACTIONS if text.startswith(one, at)), 0)


def _run(text: str, at: int) -> int:
    start = at + 1 if text[at] == " " and at + 1 < len(text) else at
    first = kind(text[start])
    if first == "space":
        return 0
    end = start
    while end < len(text) and kind(text[end]) == first:
        end += 1
    return end


def _spaces(text: str, at: int) -> int:
    end = at
    while end < len(text) and kind(text[end]) == "space":
        end += 1
    return end - 1 if end < len(text) and end - at > 1 else end


def digit_by_digit(text: str) -> list[str]:
    """As ``gpt2_words``, after every number character is cut out on its own."""
    parts, plain = [], ""
    for character in text:
        if kind(character) == "number":
            parts += [plain, character]
            plain = ""
        else:
            plain += character
    return [word for part in (*parts, plain) for word in gpt2_words(part)]


def reference_ids(metadata: Mapping[str, object], text: str) -> list[int]:
    """The ids of plain ``text`` under a "smollm" vocabulary; bytes without a token are dropped."""
    tokens = cast(Sequence[str], metadata["tokenizer.ggml.tokens"])
    merges = cast(Sequence[str], metadata["tokenizer.ggml.merges"])
    ids = {token: place for place, token in enumerate(tokens)}
    ranks = {tuple(merge.split(" ")): rank for rank, merge in enumerate(merges)}
    alphabet = gpt2_alphabet()
    found: list[int] = []
    for word in digit_by_digit(text):
        parts = [alphabet[byte] for byte in word.encode()]
        parts = [part for part in parts if part in ids]
        found += [ids[part] for part in merged(parts, ranks)]
    return found


def merged(parts: list[str], ranks: Mapping[tuple[str, ...], int]) -> list[str]:
    while len(parts) > 1:
        pairs = [ranks.get(pair, len(ranks)) for pair in pairwise(parts)]
        best = min(pairs)
        if best == len(ranks):
            break
        place = pairs.index(best)
        parts[place : place + 2] = [parts[place] + parts[place + 1]]
    return parts
