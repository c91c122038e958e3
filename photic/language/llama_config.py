"""What a llama file says of its model's sizes, checked before anything is built of it.

Promises: every number is in a range in which the graph makes sense, the numbers fit each other,
and no key that would change the model is passed over: keys that are not known, or that ask for
something that is not done here, are refused by name.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from photic.frontends.errors import GgufCorrupt, GgufUnsupported
from photic.frontends.gguf.metadata import shown
from photic.frontends.gguf.reader import GgufFile
from photic.language import rope
from photic.language.rope import Rope, read_rope

ARCHITECTURE = "llama"
PREFIX = ARCHITECTURE + "."
LARGEST = 1 << 24  # of any size; the longest contexts in use are 2**20 and 10 * 2**20 tokens

USED = (
    "block_count",
    "context_length",
    "embedding_length",
    "feed_forward_length",
    "attention.head_count",
    "attention.head_count_kv",
    "attention.key_length",
    "attention.value_length",
    "attention.layer_norm_rms_epsilon",
    "rope.dimension_count",
    *(f"rope.{key}" for key in rope.KEYS),
)
# Keys that say nothing that the tensors do not say, or that do not touch the model.
IDLE = ("vocab_size", "tensor_data_layout", "rope.scaling.finetuned")
# Keys that are let pass with these values only, which ask for nothing.
NEUTRAL: dict[str, tuple[object, ...]] = {
    "general.type": ("model",),
    "split.count": (0, 1),
    PREFIX + "attention.causal": (True,),
    PREFIX + "attention.clamp_kqv": (0,),
    PREFIX + "attention.max_alibi_bias": (0,),
    PREFIX + "attention.sliding_window": (0,),
    PREFIX + "embedding_scale": (1,),
    PREFIX + "expert_count": (0,),
    PREFIX + "expert_used_count": (0,),
    PREFIX + "logit_scale": (1,),
    PREFIX + "residual_scale": (1,),
    PREFIX + "rope.scaling.yarn_attn_factor": (1,),
    PREFIX + "rope.scaling.yarn_ext_factor": (1,),
    PREFIX + "rope.scaling.yarn_log_multiplier": (0,),
    PREFIX + "use_parallel_residual": (False,),
}


@dataclass(frozen=True, slots=True)
class Config:
    """The model's sizes and numbers; ``head`` is the size of one head, ``context`` in tokens."""

    layers: int
    width: int
    hidden: int
    heads: int
    kv_heads: int
    head: int
    context: int
    vocabulary: int
    epsilon: float
    rope: Rope


def read_config(file: GgufFile) -> Config:
    """The config of a llama file.

    Raises GgufUnsupported for another architecture or for something that is not done here,
    GgufCorrupt for numbers that are missing or make no sense.
    """
    _check_architecture(file)
    _check_keys(file)
    width = _size(file, "embedding_length")
    heads = _size(file, "attention.head_count")
    context = _size(file, "context_length")
    head = _head(file, width, heads)
    return Config(
        layers=_size(file, "block_count"),
        width=width,
        hidden=_size(file, "feed_forward_length"),
        heads=heads,
        kv_heads=_divisor(file, "attention.head_count_kv", heads),
        head=head,
        context=context,
        vocabulary=_vocabulary(file),
        epsilon=_epsilon(file),
        rope=read_rope(file, ARCHITECTURE, head, context),
    )


def _check_architecture(file: GgufFile) -> None:
    given = file.text("general.architecture")
    if given != ARCHITECTURE:
        _refuse(file, "the architecture", shown(given), ARCHITECTURE)


def _refuse(file: GgufFile, what: str, given: object, expected: str) -> None:
    raise GgufUnsupported(path=file.path, what=what, given=given, expected=expected)


def _check_keys(file: GgufFile) -> None:
    known = {PREFIX + key for key in (*USED, *IDLE)} | NEUTRAL.keys()
    for key, value in file.metadata.items():
        if key in NEUTRAL and value not in NEUTRAL[key]:
            _refuse(file, key, shown(str(value)), " or ".join(map(str, NEUTRAL[key])))
        if key.startswith(PREFIX) and key not in known:
            names = sorted(name.removeprefix(PREFIX) for name in known if name.startswith(PREFIX))
            _refuse(file, f"a key of {ARCHITECTURE}", shown(key), ", ".join(names))


def _size(file: GgufFile, key: str) -> int:
    """A size of at least 1."""
    given = file.integer(PREFIX + key)
    if not 1 <= given <= LARGEST:
        _corrupt(file, key, given, f"1 to {LARGEST}")
    return given


def _corrupt(file: GgufFile, key: str, given: object, expected: str) -> None:
    raise GgufCorrupt(path=file.path, field=PREFIX + key, given=given, expected=expected)


def _divisor(file: GgufFile, key: str, whole: int) -> int:
    """A divisor of ``whole``, which stands for it where it is missing."""
    given = file.integer(PREFIX + key, whole)
    if not 1 <= given <= whole or whole % given:
        _corrupt(file, key, given, f"a divisor of the {whole} heads")
    return given


def _head(file: GgufFile, width: int, heads: int) -> int:
    """The size of one head; all of it turns, and values are as long as keys."""
    key = "attention.key_length"
    if PREFIX + key in file.types:
        head = _size(file, key)
    elif width % heads:
        _corrupt(file, "attention.head_count", heads, f"a divisor of the width, {width}")
    else:
        head = width // heads
    if head % 2:
        _refuse(file, "the size of a head", head, "even sizes, being turned in pairs")
    for other in ("attention.value_length", "rope.dimension_count"):
        given = file.integer(PREFIX + other, head)
        if given != head:
            _refuse(file, PREFIX + other, given, f"{head}, the size of a head")
    return head


def _vocabulary(file: GgufFile) -> int:
    """The number of tokens, by the tokenizer's table or else by the embedding's rows."""
    tokens = file.metadata.get("tokenizer.ggml.tokens")
    if isinstance(tokens, list):
        return len(tokens)
    embedding = file.tensors.get("token_embd.weight")
    return embedding.shape[0] if embedding and embedding.shape else 0


def _epsilon(file: GgufFile) -> float:
    key = "attention.layer_norm_rms_epsilon"
    given = file.number(PREFIX + key)
    if not (math.isfinite(given) and given >= 0):
        _corrupt(file, key, given, "a finite number, 0 or more")
    return given
