"""Text to token ids and back, from a GGUF file's own tables (byte-level BPE vocabularies).

Promises: text that is marked as a user's never becomes a control token; ids are those of the
model's own tokenizer; ``decode(encode(text)) == text`` for every text whose bytes the vocabulary
holds and that its normaliser leaves alone (bytes without a token are dropped, as peers do).

Does not add a start token unless asked (``prompt``), does not read GGUF files, and does not know
SentencePiece vocabularies ("llama" models).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NoReturn, cast

import tokenizers
from tokenizers import models, normalizers, pre_tokenizers

from photic.base.errors import BadArgument
from photic.language.errors import TokenizerBroken

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

# --- tables of the file ---------------------------------------------------------------------

PREFIX = "tokenizer.ggml."
NORMAL, UNKNOWN, CONTROL, USER_DEFINED = 1, 2, 3, 4  # tokenizer.ggml.token_type
# Tokens that end a turn, by text, where the file has no key for them.
TURN_ENDS = ("<|im_end|>", "<|eot_id|>", "<|end|>", "<|endoftext|>", "<end_of_turn>", "</s>")
SHOWN_CHARACTERS = 40


def _byte_characters() -> dict[str, int]:
    """GPT-2's alphabet: each byte as a visible character."""
    visible = [*range(ord("!"), ord("~") + 1), *range(0xA1, 0xAC + 1), *range(0xAE, 0xFF + 1)]
    hidden = [byte for byte in range(256) if byte not in visible]
    table = {chr(byte): byte for byte in visible}
    return table | {chr(256 + place): byte for place, byte in enumerate(hidden)}


BYTE_OF = _byte_characters()


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
    _model: tokenizers.Tokenizer = field(repr=False)

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
        return b"".join(map(self.token_bytes, ids)).decode("utf-8", errors="replace")

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
        return b"".join(_byte(character) for character in text)

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
        return list(self._model.encode(text, add_special_tokens=False).ids) if text else []


_LONE_SURROGATE = re.compile("[\ud800-\udfff]")
_NOT_USERS = re.compile(b"\0+")
_NOTHING = re.compile(r"(?!)")


def _byte(character: str) -> bytes:
    byte = BYTE_OF.get(character)
    return character.encode() if byte is None else bytes((byte,))


# --- building -------------------------------------------------------------------------------


def build_tokenizer(metadata: Mapping[str, object], path: str | Path) -> Tokenizer:
    """The tokenizer that a GGUF file's ``metadata`` describes; ``path`` is for messages.

    Raises TokenizerBroken when the tables are missing, contradict each other or are of a kind
    that is not read here.
    """
    tables = _Tables(metadata, path)
    kind = tables.text("model", "")
    if kind != "gpt2":
        tables.fail(f'the vocabulary is of kind {_shown(kind)}; supported: "gpt2"')
    name = tables.text("pre", "default")
    cutting = _BY_NAME.get(name)
    if cutting is None:
        known = ", ".join(sorted(_BY_NAME))
        tables.fail(f"text is cut by rules called {_shown(name)}; supported: {known}")
    tokens = tuple(tables.strings("tokens"))
    kinds = tables.kinds(len(tokens))
    special = _special_ids(tables, tokens)
    # A file may call its turn markers plain tokens; a user's text must not become them either.
    named = {special[role] for role in ("bos", "eos", "eot", "eom") if role in special}
    controls = {i for i, kind in enumerate(kinds) if kind in (UNKNOWN, CONTROL)} | named
    always = {i for i, kind in enumerate(kinds) if kind == USER_DEFINED} - controls
    return Tokenizer(
        tokens=tokens,
        start=special.get("bos"),
        end=special.get("eos"),
        ends=_ends(tokens, controls, special),
        add_start=tables.flag("add_bos_token", cutting.adds_start),
        chat_template=tables.template(),
        special_texts=_special_texts(tokens, special),
        _controls=_first_ids(tokens, controls),
        _control_ids=frozenset(controls),
        _always=_first_ids(tokens, always),
        _control_pattern=_any_of(tokens, controls),
        _always_pattern=_any_of(tokens, always),
        _model=_model(tables, cutting, tokens, controls),
    )


@dataclass(frozen=True, slots=True)
class _Tables:
    """The ``tokenizer.*`` keys, checked as they are read."""

    metadata: Mapping[str, object]
    path: str | Path

    def fail(self, problem: str) -> NoReturn:
        raise TokenizerBroken(path=self.path, problem=problem)

    def text(self, key: str, default: str) -> str:
        return cast(str, self._value(PREFIX + key, str, default))

    def flag(self, key: str, default: bool) -> bool:
        return cast(bool, self._value(PREFIX + key, bool, default))

    def template(self) -> str | None:
        return cast("str | None", self._value("tokenizer.chat_template", str, None))

    def strings(self, key: str) -> list[str]:
        found = list(self._array(PREFIX + key))
        if not all(isinstance(one, str) for one in found):
            self.fail(f"{PREFIX + key} does not hold texts only")
        return cast(list[str], found)

    def kinds(self, count: int) -> list[int]:
        key = PREFIX + "token_type"
        if key not in self.metadata:
            return [NORMAL] * count
        found = list(self._array(key))
        if len(found) != count or not all(hasattr(one, "__index__") for one in found):
            self.fail(f"{key} is not one number for each of the {count} tokens")
        return [int(cast(int, one)) for one in found]

    def token_id(self, key: str, count: int) -> int | None:
        found = self.metadata.get(PREFIX + key)
        if found is None:
            return None
        if not hasattr(found, "__index__") or not 0 <= int(cast(int, found)) < count:
            self.fail(f"{PREFIX + key} is {found}, not one of the {count} tokens")
        return int(cast(int, found))

    def _array(self, key: str) -> Sequence[object]:
        found = self.metadata.get(key)
        if found is None or isinstance(found, str | bytes) or not hasattr(found, "__len__"):
            self.fail(f"{key} is {'missing' if found is None else 'no list'}")
        return cast(Sequence[object], found)

    def _value(self, key: str, kind: type, default: object) -> object:
        found = self.metadata.get(key, default)
        if found is not default and not isinstance(found, kind):
            self.fail(f"{key} is no {kind.__name__}")
        return found


_ROLES = {
    "bos": "bos_token_id",
    "eos": "eos_token_id",
    "eot": "eot_token_id",
    "eom": "eom_token_id",
    "unk": "unknown_token_id",
    "pad": "padding_token_id",
}


def _special_ids(tables: _Tables, tokens: tuple[str, ...]) -> dict[str, int]:
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


def _model(
    tables: _Tables, cutting: Cutting, tokens: tuple[str, ...], controls: set[int]
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
            tables.fail(f"the merge {_shown(left)} + {_shown(right)} is not of tokens")
    model = tokenizers.Tokenizer(
        models.BPE(vocab=vocabulary, merges=merges, ignore_merges=cutting.whole_words)
    )
    model.pre_tokenizer = cutting.cutter()
    if cutting.composes:
        model.normalizer = normalizers.NFC()
    return model


def _merges(tables: _Tables) -> list[tuple[str, str]]:
    pairs: list[tuple[str, str]] = []
    for number, line in enumerate(tables.strings("merges")):
        left, _, right = line.partition(" ")  # byte-level tokens hold no space
        if not (left and right) or " " in right:
            tables.fail(f"merge {number} is {_shown(line)}, not two tokens")
        pairs.append((left, right))
    return pairs


def _shown(text: str) -> str:
    return repr(text if len(text) <= SHOWN_CHARACTERS else text[:SHOWN_CHARACTERS] + "...")
