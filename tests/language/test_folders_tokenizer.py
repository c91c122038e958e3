"""Tokenizers of Hugging Face folders: the library's ids for plain text, control tokens apart."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
import tokenizers
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tokenizers import decoders, models, normalizers, pre_tokenizers, processors, trainers

from photic.base.errors import PhoticError
from photic.frontends.errors import FolderBroken, FolderUnsupported
from photic.language.errors import TokenizerBroken
from photic.language.tokenizer import Tokenizer
from photic.language.tokenizer_folder import folder_tokenizer

CONTROLS = ["<|start|>", "<|end|>", "<|im_end|>"]
LINES = ["the quick brown fox jumps over the lazy dog", "hello world, hello fox", "<|start|> of it"]


def byte_level() -> tokenizers.Tokenizer:
    """As GPT-2, Llama 3 and Qwen have it."""
    made = tokenizers.Tokenizer(models.BPE())
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    made.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(
        vocab_size=330, special_tokens=CONTROLS, initial_alphabet=alphabet, show_progress=False
    )
    made.train_from_iterator(LINES, trainer)
    made.post_processor = processors.TemplateProcessing(
        single="<|start|> $A", special_tokens=[("<|start|>", 0)]
    )
    return made


def pieces() -> tokenizers.Tokenizer:
    """As Gemma has it: spaces are a character, bytes are tokens."""
    space = "\N{LOWER ONE EIGHTH BLOCK}"
    words = ["th", "the", space + "the", space + "th", "fo", "fox", "<|", "<|start|>"]
    letters = [space, *"abcdefghijklmnopqrstuvwxyz<|>"]
    texts = [*CONTROLS, *(f"<0x{byte:02X}>" for byte in range(256)), *letters, *words]
    vocab = {text: token for token, text in enumerate(dict.fromkeys(texts))}
    merges = [("t", "h"), ("th", "e"), (space, "the"), (space, "th"), ("f", "o"), ("fo", "x")]
    made = tokenizers.Tokenizer(models.BPE(vocab=vocab, merges=merges, byte_fallback=True))
    made.normalizer = normalizers.Replace(" ", space)
    made.decoder = decoders.Sequence(
        [decoders.Replace(space, " "), decoders.ByteFallback(), decoders.Fuse()]
    )
    made.add_special_tokens(CONTROLS)
    return made


KINDS: dict[str, Callable[[], tokenizers.Tokenizer]] = {"bytes": byte_level, "pieces": pieces}


def write(path: Path, made: tokenizers.Tokenizer, **more: object) -> Path:
    made.save(str(path / "tokenizer.json"))
    plain = {"bos_token": "<|start|>", "eos_token": {"content": "<|end|>"}}
    (path / "tokenizer_config.json").write_text(json.dumps(plain | more))
    return path


@pytest.fixture(scope="module", params=KINDS)
def pair(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> tuple[Tokenizer, tokenizers.Tokenizer]:
    made = KINDS[request.param]()
    return folder_tokenizer(write(tmp_path_factory.mktemp("made"), made)), made


PARTS = [*"the fox<|>stard é\n👍", "<|start|>", "<|start", "the "]
TEXTS = st.lists(st.sampled_from(PARTS), max_size=20).map("".join)


@settings(max_examples=100, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(text=TEXTS)
def test_ids_of_plain_text_are_those_of_the_library(
    pair: tuple[Tokenizer, tokenizers.Tokenizer], text: str
) -> None:
    ours, library = pair
    plain = text.replace("|>", "")  # no control token
    assert ours.encode(plain, special=False) == library.encode(plain, add_special_tokens=False).ids
    assert ours.encode(text, special=True) == library.encode(text, add_special_tokens=False).ids


@settings(max_examples=100, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(text=TEXTS)
def test_what_a_user_writes_is_no_control_token_and_comes_back(
    pair: tuple[Tokenizer, tokenizers.Tokenizer], text: str
) -> None:
    ids = pair[0].encode(text, special=False)
    assert not {0, 1, 2} & set(ids)
    assert pair[0].decode(ids) == text


def test_roles_ends_and_the_start_token(tmp_path: Path) -> None:
    made = folder_tokenizer(write(tmp_path, byte_level()))
    assert (made.start, made.end, made.ends, made.add_start) == (0, 1, {1, 2}, True)
    assert made.prompt("") == [0]
    assert made.special_texts == {"bos_token": "<|start|>", "eos_token": "<|end|>"}


def test_without_a_way_to_begin_no_start_token_is_added(tmp_path: Path) -> None:
    made = byte_level()
    made.post_processor = processors.ByteLevel()
    assert not folder_tokenizer(write(tmp_path, made)).add_start
    assert folder_tokenizer(write(tmp_path, made, add_bos_token=True)).add_start


@pytest.mark.parametrize("name", ["generation_config.json", "config.json"])
@pytest.mark.parametrize("listed", [5, [5, 7], None])
def test_the_configs_may_name_more_ends(tmp_path: Path, name: str, listed: object) -> None:
    (tmp_path / name).write_text(json.dumps({"eos_token_id": listed}))
    more = {5} if listed == 5 else set(listed or ())  # type: ignore[call-overload]
    assert folder_tokenizer(write(tmp_path, byte_level())).ends == {1, 2} | more


def test_the_template_is_found_in_either_place(tmp_path: Path) -> None:
    assert folder_tokenizer(write(tmp_path, byte_level())).chat_template is None
    path = write(tmp_path, byte_level(), chat_template="{{ one }}")
    assert folder_tokenizer(path).chat_template == "{{ one }}"
    several = [{"name": "tool", "template": "t"}, {"name": "default", "template": "d"}]
    path = write(tmp_path, byte_level(), chat_template=several)
    assert folder_tokenizer(path).chat_template == "d"
    (tmp_path / "chat_template.jinja").write_text("{{ two }}")
    assert folder_tokenizer(path).chat_template == "{{ two }}"


BROKEN: dict[str, tuple[object, type[PhoticError], str]] = {
    "no object": ([1], FolderBroken, r"tokenizer.json: the file is '\[1\]', expected a JSON"),
    "no model": ({}, FolderUnsupported, "model.type is missing; supported: BPE"),
    "unigram": ({"model": {"type": "Unigram"}}, FolderUnsupported, "model.type is 'Unigram'"),
    "no vocabulary": ({"model": {"type": "BPE"}}, FolderBroken, "model.vocab is missing"),
    "no id": (
        {"model": {"type": "BPE", "vocab": {"a": "b"}}},
        FolderBroken,
        "model.vocab.'a' is 'b', expected an id",
    ),
    "a huge id": ({"model": {"type": "BPE", "vocab": {"a": 1 << 40}}}, FolderBroken, "vocab.'a'"),
    "merges of nothing": (
        {"model": {"type": "BPE", "vocab": {"a": 0}, "merges": [["a", "b"]]}},
        TokenizerBroken,
        "out of vocabulary",
    ),
    "added without a text": (
        {"model": {"type": "BPE", "vocab": {}, "merges": []}, "added_tokens": [{"id": 1}]},
        FolderBroken,
        r"added_tokens\[0\]",
    ),
}


@pytest.mark.parametrize(("table", "error", "message"), BROKEN.values(), ids=BROKEN)
def test_a_broken_file_is_refused_by_name(
    tmp_path: Path, table: object, error: type[PhoticError], message: str
) -> None:
    (tmp_path / "tokenizer.json").write_text(json.dumps(table))
    with pytest.raises(error, match=message):
        folder_tokenizer(tmp_path)
