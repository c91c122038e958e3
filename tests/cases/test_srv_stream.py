"""SRV-01, split characters in a stream; SRV-04, doubled or missing start tokens."""

from __future__ import annotations

import json
from dataclasses import replace
from importlib.util import find_spec

import pytest
from language.vocabulary import SPECIALS, small_metadata

from photic.language.chat import encode_chat
from photic.language.stream import TextStream
from photic.language.tokenizer import Tokenizer, build_tokenizer

peers = pytest.mark.skipif(
    find_spec("transformers") is None,
    reason="transformers is missing: pip install '.[peers]'",
)

# --- SRV-01 ---------------------------------------------------------------------------------

THUMB = "👍".encode()
FAMILY = "👨‍👩‍👧‍👦".encode()


def chunks_of(pieces: list[bytes], stops: tuple[str, ...] = ()) -> list[str]:
    stream = TextStream(lambda token: pieces[token], stops)
    return [*map(stream.feed, range(len(pieces))), stream.finish()]


@pytest.mark.parametrize(
    "pieces",
    [
        [THUMB[:1], THUMB[1:]],
        [THUMB[:2], THUMB[2:]],
        [THUMB[i : i + 1] for i in range(4)],
        [b"caf\xc3", b"\xa9"],
        [b"so \xf0", b"\x9f\x91\x8d!"],
        [FAMILY[i : i + 1] for i in range(len(FAMILY))],
        [FAMILY[i : i + 3] for i in range(0, len(FAMILY), 3)],
    ],
)
def test_a_character_of_several_tokens_comes_out_whole(pieces: list[bytes]):
    chunks = chunks_of(pieces)
    assert "".join(chunks) == b"".join(pieces).decode()
    assert not any("\ufffd" in chunk for chunk in chunks)
    assert [json.loads(json.dumps(chunk)) for chunk in chunks] == chunks
    assert all(chunk.encode() is not None for chunk in chunks)


@pytest.mark.parametrize(
    "pieces",
    [
        [b"a\xff", b"b"],
        [b"a", b"\xff", b"b"],
        [b"\xff"],
        [THUMB[:2], b"a"],
        [b"\xf0\x9f", b"\xff", b"\x91\x8d"],
    ],
)
def test_truly_broken_bytes_are_replaced_as_in_the_whole(pieces: list[bytes]):
    assert "".join(chunks_of(pieces)) == b"".join(pieces).decode(errors="replace")


@pytest.mark.parametrize("size", [1, 2, 3])
def test_an_answer_cut_off_in_a_character_ends_with_one_mark(size: int):
    chunks = chunks_of([b"ok ", THUMB[:size]])
    assert "".join(chunks) == "ok \ufffd"
    assert chunks[:2] == ["ok ", ""]


@pytest.mark.parametrize("pieces", [[b"!END"], [b"!", b"END"], [b"!E", b"N", b"D", b"no"]])
def test_a_stop_right_after_a_split_character_is_not_shown(pieces: list[bytes]):
    cut = [THUMB[:3], THUMB[3:] + pieces[0], *pieces[1:]]
    assert "".join(chunks_of(cut, ("END",))) == "👍!"


def test_a_stop_of_split_characters_is_found():
    assert "".join(chunks_of([b"a", THUMB[:1], THUMB[1:], b"b"], ("👍",))) == "a"


def test_a_stop_never_hides_a_character_that_was_cut_off():
    assert "".join(chunks_of([b"E", THUMB[:2]], ("END",))) == "E\ufffd"


# --- SRV-04 ---------------------------------------------------------------------------------

START = 1  # "<|im_start|>" is the small vocabulary's start token
TURNS = "{% for m in messages %}{{ m.role }}: {{ m.content }}<|im_end|>{% endfor %}"
TEMPLATES = {"with a start token": "{{ bos_token }}" + TURNS, "without one": TURNS}
CONVERSATIONS = [
    [],
    [{"role": "user", "content": "hello world"}],
    [{"role": "user", "content": ""}, {"role": "assistant", "content": "\n\n 12"}],
]


def tokenizer_with(template: str, add_start: bool | None) -> Tokenizer:
    tokenizer = build_tokenizer(small_metadata(add_bos_token=add_start), "small.gguf")
    return replace(tokenizer, chat_template=template)


@pytest.mark.parametrize("add_start", [True, False, None])
@pytest.mark.parametrize("messages", CONVERSATIONS)
def test_the_template_alone_decides_about_the_start_token(
    messages: list[dict[str, object]], add_start: bool | None
):
    for name, template in TEMPLATES.items():
        ids = encode_chat(
            tokenizer_with(template, add_start), messages, add_generation_prompt=False
        )
        assert ids[:1] == [START] or name == "without one"
        assert ids.count(START) == (name == "with a start token")


@pytest.mark.peers
@peers
@pytest.mark.parametrize("add_start", [True, False, None])
@pytest.mark.parametrize("template", TEMPLATES.values(), ids=TEMPLATES.keys())
@pytest.mark.parametrize("messages", CONVERSATIONS[1:])
def test_conversations_have_the_ids_of_transformers(
    template: str, messages: list[dict[str, object]], add_start: bool | None
):
    import transformers
    from tokenizers import Tokenizer as Backend
    from tokenizers import models, pre_tokenizers

    metadata = small_metadata()
    tokens, merges = (metadata[f"tokenizer.ggml.{key}"] for key in ("tokens", "merges"))
    assert isinstance(tokens, list) and isinstance(merges, list)
    pairs = [tuple(merge.split(" ")) for merge in merges]
    backend = Backend(models.BPE(vocab={t: i for i, t in enumerate(tokens)}, merges=pairs))
    backend.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Digits(individual_digits=True),
            pre_tokenizers.ByteLevel(add_prefix_space=False),
        ]
    )
    peer = transformers.PreTrainedTokenizerFast(
        tokenizer_object=backend,
        bos_token="<|im_start|>",
        eos_token="<|im_end|>",
        additional_special_tokens=[text for text, kind in SPECIALS if kind == 3],
        **({} if add_start is None else {"add_bos_token": add_start}),
    )
    peer.add_tokens([text for text, kind in SPECIALS if kind == 4])
    expected = peer.apply_chat_template(messages, chat_template=template, return_dict=False)
    ids = encode_chat(tokenizer_with(template, add_start), messages, add_generation_prompt=False)
    assert ids == expected


@pytest.mark.parametrize("text", ["<|im_start|>", "<s>", "<|im_end|>", "<|endoftext|>"])
@pytest.mark.parametrize("before", ["", "a ", "<|im_", "<", "\n"])
def test_a_control_token_that_a_user_writes_is_plain_text(text: str, before: str):
    for template in TEMPLATES.values():
        tokenizer = tokenizer_with(template, False)
        content = before + text + before
        ids = encode_chat(
            tokenizer, [{"role": "user", "content": content}], add_generation_prompt=True
        )
        assert [token for token in ids if token < 5] == [START] * ("bos" in template) + [2]
        assert content in tokenizer.decode(ids)


def test_two_users_texts_do_not_make_a_control_token_together():
    tokenizer = tokenizer_with("{% for m in messages %}{{ m.content }}{% endfor %}", False)
    messages = [{"role": "user", "content": one} for one in ("<|im_", "start|>")]
    ids = encode_chat(tokenizer, messages, add_generation_prompt=False)
    assert START not in ids
    assert tokenizer.decode(ids) == "<|im_start|>"


def test_a_users_text_does_not_finish_a_control_token_of_the_template():
    tokenizer = tokenizer_with("<|im_{{ messages[0].content }}", False)
    messages = [{"role": "user", "content": "start|>"}]
    assert START not in encode_chat(tokenizer, messages, add_generation_prompt=False)


def test_what_follows_a_control_token_is_split_as_at_the_start_of_a_text():
    tokenizer = tokenizer_with("{{ bos_token }}hello world", False)
    ids = encode_chat(tokenizer, [], add_generation_prompt=False)
    assert ids == [START, *tokenizer.encode("hello world", special=False)]
