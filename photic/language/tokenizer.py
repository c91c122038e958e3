"""Text to token ids and back, from a model's own tables.

Promises: text that is marked as a user's never becomes a control token; ids are those of the
model's own tokenizer; ``decode(encode(text)) == text`` for every text whose bytes the vocabulary
holds and that its normaliser leaves alone (bytes without a token are dropped, as peers do).

Does not add a start token unless asked (``prompt``), and does not read files. How text merges is
in ``tokenizer_bytes.py`` and ``tokenizer_pieces.py``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from photic.base.errors import BadArgument
from photic.language.tokenizer_bytes import Merging, byte_level
from photic.language.tokenizer_pieces import scored_pieces
from photic.language.tokenizer_tables import CONTROL, UNKNOWN, USER_DEFINED, Tables, shown

# Tokens that end a turn, by text, where the file has no key for them.
TURN_ENDS = ("<|im_end|>", "<|eot_id|>", "<|end|>", "<|endoftext|>", "<end_of_turn>", "</s>")


@dataclass(frozen=True, slots=True)
class Tokenizer:
    """A model's vocabulary; make it with ``build_tokenizer``. Safe to share between threads.

    ``ends`` are the tokens that end an answer. ``start`` and ``end`` (BOS and EOS) are None where
    the file names none. ``add_start``: whether a plain prompt begins with ``start``.
    """

    tokens: tuple[str, ...]
    start: int | None
    end: int | None
    ends: frozenset[int]
    add_start: bool
    chat_template: str | None
    special_texts: Mapping[str, str]
    """Texts by the names that chat templates use: bos_token, eos_token, unk_token, pad_token."""
    _controls: Mapping[str, int] = field(repr=False)
    _control_ids: frozenset[int] = field(repr=False)
    _always: Mapping[str, int] = field(repr=False)
    _control_pattern: re.Pattern[str] = field(repr=False)
    _always_pattern: re.Pattern[str] = field(repr=False)
    _merging: Merging = field(repr=False)

    def encode(self, text: str, *, special: bool) -> list[int]:
        """The ids of ``text``; adds none. ``special``: texts of control tokens become those.

        Lone surrogates become U+FFFD. The ids of "" are none.
        """
        return self.encode_marked(text, bytes(len(text)) if special else b"\1" * len(text))

    def encode_marked(self, text: str, user: bytes) -> list[int]:
        """The ids of ``text`` whose character ``i`` is a user's where ``user[i]`` is 1, else 0.

        A control token is recognised only where none of its characters is a user's. Text
        between control tokens is encoded as a whole, whoever its characters are from.
        """
        assert len(text) == len(user)
        text = _LONE_SURROGATE.sub("\N{REPLACEMENT CHARACTER}", text)
        ids: list[int] = []
        done = 0
        for start, stop in self._control_places(text, user):
            ids += self._plain(text[done:start])
            ids.append(self._controls[text[start:stop]])
            done = stop
        return ids + self._plain(text[done:])

    def prompt(self, text: str) -> list[int]:
        """The ids of a plain prompt: behind the start token, where the model wants one."""
        start = [self.start] if self.add_start and self.start is not None else []
        return start + self.encode(text, special=False)

    def decode(self, ids: Sequence[int]) -> str:
        """The text of ``ids``, control tokens left out; invalid UTF-8 becomes U+FFFD."""
        text = b"".join(map(self.token_bytes, ids)).decode("utf-8", errors="replace")
        return text.removeprefix(self._merging.prefix)

    def token_bytes(self, token: int) -> bytes:
        """The bytes of a token's text; b"" for a control token. BadArgument for no token."""
        if not 0 <= token < len(self.tokens):
            expected = f"an id from 0 to {len(self.tokens) - 1}"
            raise BadArgument(op="decode", argument="a token", given=token, expected=expected)
        text = self.tokens[token]
        if token in self._control_ids:
            return b""
        if text in self._always:
            return text.encode()
        return self._merging.bytes_of(text)

    def _control_places(self, text: str, user: bytes) -> Iterator[tuple[int, int]]:
        """Control tokens in each stretch that is no user's, the leftmost and longest first."""
        for stretch in _NOT_USERS.finditer(user):
            for found in self._control_pattern.finditer(text, *stretch.span()):
                yield found.span()

    def _plain(self, text: str) -> list[int]:
        ids: list[int] = []
        done = 0
        for found in self._always_pattern.finditer(text):
            ids += self._merged(text[done : found.start()])
            ids.append(self._always[found.group()])
            done = found.end()
        return ids + self._merged(text[done:])

    def _merged(self, text: str) -> list[int]:
        return self._merging.encode(text) if text else []


_LONE_SURROGATE = re.compile("[\ud800-\udfff]")
_NOT_USERS = re.compile(b"\0+")
_NOTHING = re.compile(r"(?!)")


# --- building -------------------------------------------------------------------------------


def build_tokenizer(metadata: Mapping[str, object], path: str | Path) -> Tokenizer:
    """The tokenizer that a GGUF file's ``metadata`` describes; ``path`` is for messages.

    Raises TokenizerBroken when the tables are missing, contradict each other or are of a kind
    that is not read here.
    """
    tables = Tables(metadata, path)
    kind = tables.text("model", "")
    if kind not in ("gpt2", "llama"):
        tables.fail(f'the vocabulary is of kind {shown(kind)}; supported: "gpt2", "llama"')
    tokens = tuple(tables.strings("tokens"))
    kinds = tables.kinds(len(tokens))
    special = _special_ids(tables, tokens)
    controls = controls_of(kinds, special)
    if kind == "gpt2":
        merging = byte_level(tables, tokens, controls)
    else:
        merging = scored_pieces(tables, tokens, kinds, controls)
    return tokenizer_of(
        Vocabulary(tokens, kinds, special, controls),
        merging,
        add_start=tables.flag("add_bos_token", merging.adds_start),
        chat_template=tables.template(),
    )


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """Tokens, their kinds as GGUF numbers them, the ids of roles (bos, eos, ...), control ids."""

    tokens: tuple[str, ...]
    kinds: Sequence[int]
    special: Mapping[str, int]
    controls: set[int]


def controls_of(kinds: Sequence[int], special: Mapping[str, int]) -> set[int]:
    """The control tokens. A file may call its turn markers plain tokens, and they are none."""
    named = {special[role] for role in ("bos", "eos", "eot", "eom") if role in special}
    return {token for token, kind in enumerate(kinds) if kind in (UNKNOWN, CONTROL)} | named


def tokenizer_of(
    vocabulary: Vocabulary,
    merging: Merging,
    *,
    add_start: bool,
    chat_template: str | None,
    ends: frozenset[int] = frozenset(),
) -> Tokenizer:
    """The tokenizer of a vocabulary. ``ends``: tokens that end an answer, besides those known."""
    tokens, special, controls = vocabulary.tokens, vocabulary.special, vocabulary.controls
    user_defined = {i for i, kind in enumerate(vocabulary.kinds) if kind == USER_DEFINED}
    always = user_defined - controls
    return Tokenizer(
        tokens=tokens,
        start=special.get("bos"),
        end=special.get("eos"),
        ends=_ends(tokens, controls, special) | ends,
        add_start=add_start,
        chat_template=chat_template,
        special_texts=_special_texts(tokens, special),
        _controls=_first_ids(tokens, controls),
        _control_ids=frozenset(controls),
        _always=_first_ids(tokens, always),
        _control_pattern=_any_of(tokens, controls),
        _always_pattern=_any_of(tokens, always),
        _merging=merging,
    )


_ROLES = {
    "bos": "bos_token_id",
    "eos": "eos_token_id",
    "eot": "eot_token_id",
    "eom": "eom_token_id",
    "unk": "unknown_token_id",
    "pad": "padding_token_id",
}


def _special_ids(tables: Tables, tokens: tuple[str, ...]) -> dict[str, int]:
    found = {role: tables.token_id(key, len(tokens)) for role, key in _ROLES.items()}
    return {role: token for role, token in found.items() if token is not None}


def _special_texts(tokens: tuple[str, ...], special: Mapping[str, int]) -> dict[str, str]:
    roles = ("bos", "eos", "unk", "pad")
    return {f"{role}_token": tokens[special[role]] for role in roles if role in special}


def _ends(
    tokens: tuple[str, ...], controls: set[int], special: Mapping[str, int]
) -> frozenset[int]:
    named = {special[role] for role in ("eos", "eot", "eom") if role in special}
    return frozenset(named | {token for token in controls if tokens[token] in TURN_ENDS})


def _first_ids(tokens: tuple[str, ...], chosen: set[int]) -> dict[str, int]:
    """Id by text; of tokens with one text the lowest."""
    return {tokens[token]: token for token in sorted(chosen, reverse=True) if tokens[token]}


def _any_of(tokens: tuple[str, ...], chosen: set[int]) -> re.Pattern[str]:
    """Matches the longest of the chosen tokens' texts."""
    texts = sorted(_first_ids(tokens, chosen), key=lambda text: (-len(text), text))
    return re.compile("|".join(map(re.escape, texts))) if texts else _NOTHING
