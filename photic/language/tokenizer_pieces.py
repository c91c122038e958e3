"""SentencePiece BPE: spaces are a character of their own, pairs merge by the score of the whole.

As SentencePiece and llama.cpp do it: of all neighbours whose joined text is a token the one with
the highest score is joined, the leftmost of equal ones, until none is left. A character that is no
token becomes the tokens of its UTF-8 bytes, else the unknown one, else nothing. Unigram models,
which find the likeliest whole, are another kind. Source: Kudo and Richardson 2018.
"""

from __future__ import annotations

import heapq
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from photic.language.tokenizer_bytes import Merging
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
        for part in self._merged((self.prefix + text).replace(" ", SPACE)):
            token = self.ids.get(part)
            found += [token] if token is not None else self._spelt(part)
        return found

    def _spelt(self, character: str) -> list[int]:
        """A character that is no token, by its bytes."""
        spelt = [self.byte_ids.get(byte, self.unknown) for byte in character.encode()]
        if self.unknown in spelt:
            spelt = [self.unknown]
        return [one for one in spelt if one is not None]

    def _merged(self, text: str) -> list[str]:
        line = _Line(list(text))
        heap: list[tuple[float, int, int, str]] = []

        def offer(left: int) -> None:
            """Remember what the part at ``left`` may become with the one behind it."""
            right = line.after[left]
            if right < len(line.parts):
                joined = line.parts[left] + line.parts[right]
                token = self.ids.get(joined)
                if token is not None:
                    heapq.heappush(heap, (-self.scores[token], left, right, joined))

        for left in range(len(line.parts)):
            offer(left)
        while heap:
            _, left, right, joined = heapq.heappop(heap)
            if line.after[left] == right and line.parts[left] + line.parts[right] == joined:
                line.join(left, right)
                offer(left)
                if line.before[left] >= 0:
                    offer(line.before[left])
        return [part for part in line.parts if part]


@dataclass(slots=True)
class _Line:
    """Parts of a text, and for each the place of the one before and of the one behind."""

    parts: list[str]
    before: list[int] = field(default_factory=list)
    after: list[int] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.before = list(range(-1, len(self.parts) - 1))
        self.after = list(range(1, len(self.parts) + 1))

    def join(self, left: int, right: int) -> None:
        """Add the part at ``right`` to the one before it; it is empty then."""
        self.parts[left] += self.parts[right]
        self.parts[right] = ""
        self.after[left] = self.after[right]
        if self.after[right] < len(self.parts):
            self.before[self.after[right]] = left


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
    ids = {
        text: token
        for token, (text, kind) in enumerate(zip(tokens, kinds))
        if kind in plain and token not in controls and text
    }
    byte_ids = {
        BYTE_TEXTS[text]: token
        for token, (text, kind) in enumerate(zip(tokens, kinds))
        if kind == BYTE and text in BYTE_TEXTS
    }
    prefix = " " if tables.flag("add_space_prefix", True) else ""
    unknown = tables.token_id("unknown_token_id", len(tokens))
    pieces = Pieces(ids, scores, byte_ids, unknown, prefix)
    return Merging(pieces.encode, bytes_of, adds_start=True, prefix=prefix)
