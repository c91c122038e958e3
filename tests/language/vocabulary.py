"""A small byte-level vocabulary as a GGUF file's metadata would hold it, for tests."""

from __future__ import annotations

SPECIALS = (
    ("<|endoftext|>", 3),
    ("<|im_start|>", 3),
    ("<|im_end|>", 3),
    ("<s>", 3),
    ("<|im_start|>now", 3),
    ("<tool>", 4),
    ("    ", 4),
)
# The last three would build the control token "<s>" out of plain text.
MERGES = (
    "h e", "l l", "he ll", "hell o", "Ġ w", "o r", "Ġw or", "l d", "Ġwor ld", "Ċ Ċ", "Ġ Ġ",
    "ĠĠ ĠĠ", "1 2", "Ġ 1", "Ã ©", "i m", "im _", "a b", "b c", "ab c", "< |", "| >",
    "t o", "to o", "too l", "< s", "s >", "<s >",
)  # fmt: skip

TEMPLATE = (
    "{% for message in messages %}{{ '<|im_start|>' + message['role'] + '\\n'"
    " + message['content'] + '<|im_end|>' + '\\n' }}{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}"
)


def gpt2_alphabet() -> list[str]:
    """GPT-2's character for each byte, in the order of bytes, by its published definition."""
    visible = {*range(33, 127), *range(161, 173), *range(174, 256)}
    characters, spare = [], 256
    for byte in range(256):
        characters.append(chr(byte if byte in visible else spare))
        spare += byte not in visible
    return characters


def small_metadata(**changes: object) -> dict[str, object]:
    """``changes`` replace keys below ``tokenizer.ggml.``; None removes one."""
    made = {line.replace(" ", "") for line in MERGES} - {"<s>", *gpt2_alphabet()}
    tokens = [text for text, _ in SPECIALS] + gpt2_alphabet() + sorted(made)
    table: dict[str, object] = {
        "model": "gpt2",
        "pre": "smollm",
        "tokens": tokens,
        "token_type": [kind for _, kind in SPECIALS] + [1] * (len(tokens) - len(SPECIALS)),
        "merges": list(MERGES),
        "bos_token_id": 1,
        "eos_token_id": 2,
        "unknown_token_id": 0,
        "add_bos_token": False,
    }
    table |= changes
    metadata = {f"tokenizer.ggml.{k}": v for k, v in table.items() if v is not None}
    return metadata | {"tokenizer.chat_template": TEMPLATE}
