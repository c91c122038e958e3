"""SentencePiece BPE: spaces are a character of their own, pairs merge by the score of the whole.

As SentencePiece and llama.cpp do it: of all neighbours whose joined text is a token the one with
the highest score is joined, the leftmost of equal ones, until none is left. A character that is no
token becomes the tokens of its UTF-8 bytes, else the unknown one, else nothing. Unigram models,
which find the likeliest whole, are another kind. Source: Kudo and Richardson 2018.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from photic.language.tokenizer_bytes import Merging
from photic.language.tokenizer_merging import merged
from photic.language.tokenizer_tables import BYTE, NORMAL, UNUSED, USER_DEFINED, Tables

SPACE = "\N{LOWER ONE EIGHTH BLOCK}"
BYTE_TEXTS = {f"<0x{byte:02X}>": byte for byte in range(256)}


@dataclass(frozen=True, slots=True)
class Pieces:
    """A vocabulary: ids by text, scores by id, the ids of bytes, what stands for anything else."""

    ids: Mapping[str, int]
    scores: Sequence[float]
    byte_ids: Mapping[int, int]
    unknown: int | None
    prefix: str

    def encode(self, text: str) -> list[int]:
        """The ids of a text without control tokens."""
        found: list[int] = []
        for part in merged(list((self.prefix + text).replace(" ", SPACE)), self._order):
            token = self.ids.get(part)
            found += [token] if token is not None else self._spelt(part)
        return found

    def _spelt(self, character: str) -> list[int]:
        """A character that is no token, by its bytes."""
        spelt = [self.byte_ids.get(byte, self.unknown) for byte in character.encode()]
        if self.unknown in spelt:
            spelt = [self.unknown]
        return [one for one in spelt if one is not None]

    def _order(self, left: str, right: str) -> float | None:
        token = self.ids.get(left + right)
        return None if token is None else -self.scores[token]


def bytes_of(text: str) -> bytes:
    """The bytes that a piece stands for."""
    byte = BYTE_TEXTS.get(text)
    return text.replace(SPACE, " ").encode() if byte is None else bytes((byte,))


def scored_pieces(
    tables: Tables, tokens: tuple[str, ...], kinds: Sequence[int], controls: set[int]
) -> Merging:
    """The merging of a SentencePiece vocabulary. Raises TokenizerBroken."""
    scores = tables.floats("scores", len(tokens))
    plain = (NORMAL, UNUSED, USER_DEFINED)
    others = {token for token, kind in enumerate(kinds) if kind not in plain} | controls
    ids = dict(zip(tokens, range(len(tokens))))
    if len(ids) < len(tokens):  # of a text with several tokens the last plain one counts
        ids = {text: token for token, text in enumerate(tokens) if token not in others}
    for text in (*(tokens[token] for token in others if ids.get(tokens[token]) == token), ""):
        ids.pop(text, None)
    byte_ids = {
        BYTE_TEXTS[tokens[token]]: token
        for token in sorted(others)
        if kinds[token] == BYTE and tokens[token] in BYTE_TEXTS
    }
    prefix = " " if tables.flag("add_space_prefix", True) else ""
    unknown = tables.token_id("unknown_token_id", len(tokens))
    pieces = Pieces(ids, scores, byte_ids, unknown, prefix)
    return Merging(pieces.encode, bytes_of, adds_start=True, prefix=prefix)
