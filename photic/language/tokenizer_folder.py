"""The tokenizer of a Hugging Face folder: tokenizer.json by the ``tokenizers`` library.

Promises as ``tokenizer.py``: what a user writes never becomes a control token, also where a file
lets merges make one. Tokens that are matched before any merge take no space around them with them,
whatever a file's ``lstrip`` and ``rstrip`` say. Vocabularies of other kinds than BPE are refused.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import cast

import tokenizers

from photic.frontends.huggingface.folder import CONFIG
from photic.frontends.huggingface.json_file import JsonTable, read_json
from photic.language import tokenizer_bytes, tokenizer_pieces
from photic.language.errors import TokenizerBroken
from photic.language.tokenizer import Tokenizer, Vocabulary, controls_of, tokenizer_of
from photic.language.tokenizer_bytes import Merging, Spelling, ids_by
from photic.language.tokenizer_tables import CONTROL, NORMAL, USER_DEFINED

TOKENIZER, SETTINGS = "tokenizer.json", "tokenizer_config.json"
GENERATION, TEMPLATE = "generation_config.json", "chat_template.jinja"
ROLES = {"bos_token": "bos", "eos_token": "eos", "unk_token": "unk", "pad_token": "pad"}
LARGEST_ID = 1 << 24

_REFUSED: type[BaseException] = Exception  # what the library raises for a file it cannot use


def folder_tokenizer(folder: Path, rows: int = 0) -> Tokenizer:
    """The tokenizer of a folder; ids up to the embedding's ``rows`` that no token has are empty.

    Raises FileUnreadable, FolderBroken, FolderUnsupported or TokenizerBroken.
    """
    table = read_json(folder / TOKENIZER)
    model = table.inner("model")
    if model is None or model.text("type") != "BPE":
        given = None if model is None else model.text("type")
        table.refuse("model.type", given, "BPE")
    vocab = model.inner("vocab")
    if vocab is None:
        model.fail("vocab", None, "an object")
    added = _added(table)
    tokens, kinds = _tokens(vocab, added, rows)
    settings = read_json(folder / SETTINGS) if (folder / SETTINGS).is_file() else None
    special = _special(settings, tokens)
    controls = controls_of(kinds, special)
    library = _library(table, {tokens[one] for one in controls})
    start = tokens[special["bos"]] if "bos" in special else None
    adds_start = _adds_start(table, settings, start)
    encode = partial(ids_by, library)
    return tokenizer_of(
        Vocabulary(tokens, kinds, special, controls),
        Merging(encode, _spelling(table), adds_start, _prefix(table)),
        add_start=adds_start,
        chat_template=_template(folder, settings),
        ends=_ends(folder, len(tokens)),
    )


Added = list[tuple[int, str, bool]]
"""Id, text, and whether it is a control token."""


def _added(table: JsonTable) -> Added:
    found = table.table.get("added_tokens") or []
    if not isinstance(found, list):
        table.fail("added_tokens", found, "a list")
    made = []
    for number, one in enumerate(found):
        within = f"added_tokens[{number}]"
        if not isinstance(one, dict):
            table.fail(within, one, "an object")
        inner = JsonTable(table.path, one, within + ".")
        token, text = inner.integer("id"), inner.text("content")
        if token is None or not 0 <= token < LARGEST_ID or not text:
            table.fail(within, one, "an object with an id and a text")
        made.append((token, text, bool(inner.flag("special"))))
    return made


def _tokens(vocab: JsonTable, added: Added, rows: int) -> tuple[tuple[str, ...], list[int]]:
    """Texts and kinds by id; ids that no token has are empty texts."""
    numbered: dict[int, str] = {}
    for text, token in vocab.table.items():
        if isinstance(token, bool) or not isinstance(token, int) or not 0 <= token < LARGEST_ID:
            vocab.fail(repr(text), token, f"an id from 0 to {LARGEST_ID - 1}")
        numbered[token] = text
    numbered |= {token: text for token, text, _ in added}
    count = max(rows, max(numbered, default=-1) + 1)
    tokens = tuple(numbered.get(token, "") for token in range(count))
    kinds = [NORMAL] * count
    for token, _, is_control in added:
        kinds[token] = CONTROL if is_control else USER_DEFINED
    return tokens, kinds


def _special(settings: JsonTable | None, tokens: tuple[str, ...]) -> dict[str, int]:
    """Ids of roles by their texts in tokenizer_config.json."""
    if settings is None:
        return {}
    ids = {text: token for token, text in enumerate(tokens)}
    found = {}
    for key, role in ROLES.items():
        given = settings.table.get(key)
        inner = settings.inner(key) if isinstance(given, dict) else None
        text = settings.text(key) if inner is None else inner.text("content")
        if text in ids:
            found[role] = ids[text]
    return found


def _ends(folder: Path, count: int) -> frozenset[int]:
    """The tokens that the configs say end an answer."""
    found: set[int] = set()
    for name in (GENERATION, CONFIG):
        if (folder / name).is_file():
            given = read_json(folder / name).table.get("eos_token_id")
            listed = given if isinstance(given, list) else [given]
            found |= {one for one in listed if isinstance(one, int) and 0 <= one < count}
    return frozenset(found)


# --- merging --------------------------------------------------------------------------------


def _library(table: JsonTable, controls: set[str]) -> tokenizers.Tokenizer:
    """The library's tokenizer without control tokens: neither matched nor made by merges."""
    model = dict(cast(Mapping[str, object], table.table["model"]))
    vocab = cast(Mapping[str, int], model["vocab"])
    if controls & vocab.keys():
        model["vocab"] = {text: token for text, token in vocab.items() if text not in controls}
        model["merges"] = [one for one in _merges(table) if not controls & {*one, "".join(one)}]
        if model.get("unk_token") in controls:
            model["unk_token"] = None
    added = [
        one
        for one in cast("list[dict[str, object]]", table.table.get("added_tokens") or [])
        if not one.get("special")
    ]
    made = {**table.table, "model": model, "added_tokens": added, "post_processor": None}
    return _parsed(table, made)


def _parsed(table: JsonTable, made: Mapping[str, object]) -> tokenizers.Tokenizer:
    try:
        return tokenizers.Tokenizer.from_str(json.dumps(made))
    except _REFUSED as error:
        if type(error) is not _REFUSED:  # the library's own is no narrower class
            raise
        raise TokenizerBroken(path=table.path, problem=str(error)) from None


def _merges(table: JsonTable) -> Iterator[tuple[str, str]]:
    """Pairs, whichever way the file writes them."""
    model = cast(Mapping[str, object], table.table["model"])
    for one in cast("list[object]", model.get("merges") or []):
        pair = one.split(" ") if isinstance(one, str) else one
        if not isinstance(pair, list) or len(pair) != 2:
            table.fail("model.merges", one, "pairs of tokens")
        yield str(pair[0]), str(pair[1])


def _objects_in(value: object, key: str) -> Iterator[dict[str, list[object]]]:
    """An object and all in it that hold a list under a key."""
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    if isinstance(value, dict) and isinstance(value.get(key), list):
        yield value
    for one in inner:
        yield from _objects_in(one, key)


def _kinds_in(value: object) -> Iterator[str]:
    """The ``type`` of an object and of all in it."""
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    if isinstance(value, dict) and isinstance(value.get("type"), str):
        yield value["type"]
    for one in inner:
        yield from _kinds_in(one)


def _spelling(table: JsonTable) -> Spelling:
    """How a token's text becomes bytes: byte by byte, or with a character for spaces."""
    is_by_bytes = "ByteLevel" in {*_kinds_in(table.table.get("decoder"))}
    return tokenizer_bytes.bytes_of if is_by_bytes else tokenizer_pieces.bytes_of


def _prefix(table: JsonTable) -> str:
    """The space that such models put before a text."""
    before = table.table.get("normalizer"), table.table.get("pre_tokenizer")
    kinds = {kind for part in before for kind in _kinds_in(part)}
    return " " if kinds & {"Prepend", "Metaspace"} else ""


def _adds_start(table: JsonTable, settings: JsonTable | None, start: str | None) -> bool:
    """Whether the file's own way to begin a prompt is the start token."""
    if start is None:
        return False
    if settings is not None and settings.flag("add_bos_token"):
        return True
    firsts = (one["single"][:1] for one in _objects_in(table.table.get("post_processor"), "single"))
    return any(
        isinstance(first, dict) and first.get("SpecialToken", {}).get("id") == start
        for single in firsts
        for first in single
    )


def _template(folder: Path, settings: JsonTable | None) -> str | None:
    """The chat template; of several the one called "default"."""
    if (folder / TEMPLATE).is_file():
        return (folder / TEMPLATE).read_text("utf-8", errors="replace")
    if settings is None or not isinstance(settings.table.get("chat_template"), list):
        return None if settings is None else settings.text("chat_template")
    for one in cast("list[object]", settings.table["chat_template"]):
        if isinstance(one, dict) and one.get("name") == "default":
            return JsonTable(settings.path, one, "chat_template.").text("template")
    return None
