"""What a model's file says of its sizes, checked before anything is built of it.

Promises: every number is in a range in which the graph makes sense, the numbers fit each other,
and no key that would change the model is passed over: keys that are not known, or that ask for
something that is not done here, are refused by name.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from photic.frontends.gguf.metadata import shown
from photic.frontends.model_file import ModelFile
from photic.language import rope
from photic.language.architectures import BY_NAME, Architecture
from photic.language.rope import Rope, read_local_rope, read_rope

LARGEST = 1 << 24  # of any size; the longest contexts in use are 2**20 and 10 * 2**20 tokens

WINDOW = "attention.sliding_window"
PATTERN = "attention.sliding_window_pattern"
PAIRING = "rope.pairing"  # not of GGUF files, but of other formats of the same model
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
    "attention.scale",
    WINDOW,
    PATTERN,
    "rope.dimension_count",
    PAIRING,
    *(f"rope.{key}" for key in rope.KEYS),
)
# Keys that say nothing that the tensors do not say, or that do not touch the model.
IDLE = ("vocab_size", "tensor_data_layout", "rope.scaling.finetuned")
# Keys that are let pass with these values only, which ask for nothing.
GENERAL_NEUTRAL: dict[str, tuple[object, ...]] = {
    "general.type": ("model",),
    "split.count": (0, 1),
}
NEUTRAL: dict[str, tuple[object, ...]] = {
    "attention.causal": (True,),
    "attention.clamp_kqv": (0,),
    "attention.max_alibi_bias": (0,),
    "embedding_scale": (1,),
    "expert_count": (0,),
    "expert_used_count": (0,),
    "logit_scale": (1,),
    "residual_scale": (1,),
    "rope.scaling.yarn_attn_factor": (1,),
    "rope.scaling.yarn_ext_factor": (1,),
    "rope.scaling.yarn_log_multiplier": (0,),
    "use_parallel_residual": (False,),
}


@dataclass(frozen=True, slots=True)
class Config:
    """The model's sizes and numbers; ``head`` is the size of one head, ``context`` in tokens.

    ``windows``: how many tokens each layer sees, 0 for all before. ``local_rope`` is the rotation
    of the layers that have one. ``scale``: what scores are multiplied by. ``halves``: whether the
    pairs that turn are k and k + half, or neighbours.
    """

    architecture: Architecture
    layers: int
    width: int
    hidden: int
    heads: int
    kv_heads: int
    head: int
    context: int
    vocabulary: int
    epsilon: float
    scale: float
    windows: tuple[int, ...]
    halves: bool
    rope: Rope
    local_rope: Rope


@dataclass(frozen=True, slots=True)
class _Source:
    """A file and the architecture that it says it has."""

    file: ModelFile
    kind: Architecture

    @property
    def prefix(self) -> str:
        return self.kind.name + "."


def read_config(file: ModelFile) -> Config:
    """The config of a file of a known architecture.

    Raises GgufUnsupported for another architecture or for something that is not done here,
    GgufCorrupt for numbers that are missing or make no sense (a folder's errors for a folder).
    """
    source = _Source(file, _architecture(file))
    _check_keys(source)
    layers = _size(source, "block_count")
    width = _size(source, "embedding_length")
    heads = _size(source, "attention.head_count")
    context = _size(source, "context_length")
    head = _head(source, width, heads)
    turned = _turned(source, head)
    name, base = source.kind.name, source.kind.local_base
    return Config(
        architecture=source.kind,
        layers=layers,
        width=width,
        hidden=_size(source, "feed_forward_length"),
        heads=heads,
        kv_heads=_divisor(source, "attention.head_count_kv", heads),
        head=head,
        context=context,
        vocabulary=_vocabulary(file),
        epsilon=_epsilon(source),
        scale=_scale(source, layers, width / heads, head),
        windows=_windows(source, layers),
        halves=_halves(source),
        rope=read_rope(file, name, turned, context),
        local_rope=read_local_rope(file, name, turned, context, base),
    )


def _architecture(file: ModelFile) -> Architecture:
    given = file.text("general.architecture")
    if given not in BY_NAME:
        file.unsupported("the architecture", shown(given), ", ".join(BY_NAME))
    return BY_NAME[given]


def _check_keys(source: _Source) -> None:
    file, prefix = source.file, source.prefix
    neutral = GENERAL_NEUTRAL | {prefix + key: values for key, values in NEUTRAL.items()}
    known = {prefix + key for key in (*USED, *IDLE, *source.kind.keys)} | neutral.keys()
    for key, value in file.metadata.items():
        if key in neutral and value not in neutral[key]:
            file.unsupported(key, shown(str(value)), " or ".join(map(str, neutral[key])))
        if key.startswith(prefix) and key not in known:
            names = sorted(name.removeprefix(prefix) for name in known if name.startswith(prefix))
            file.unsupported(f"a key of {source.kind.name}", shown(key), ", ".join(names))


def _size(source: _Source, key: str) -> int:
    """A size of at least 1."""
    given = source.file.integer(source.prefix + key)
    if not 1 <= given <= LARGEST:
        source.file.corrupt(source.prefix + key, given, f"1 to {LARGEST}")
    return given


def _divisor(source: _Source, key: str, whole: int) -> int:
    """A divisor of ``whole``, which stands for it where it is missing."""
    given = source.file.integer(source.prefix + key, whole)
    if not 1 <= given <= whole or whole % given:
        source.file.corrupt(source.prefix + key, given, f"a divisor of the {whole} heads")
    return given


def _head(source: _Source, width: int, heads: int) -> int:
    """The size of one head; values are as long as keys."""
    file, key = source.file, source.prefix + "attention.key_length"
    if key in file.types:
        head = _size(source, "attention.key_length")
    elif width % heads:
        expected = f"a divisor of the width, {width}"
        file.corrupt(source.prefix + "attention.head_count", heads, expected)
    else:
        head = width // heads
    if head % 2:
        file.unsupported("the size of a head", head, "even sizes, being turned in pairs")
    other = source.prefix + "attention.value_length"
    given = file.integer(other, head)
    if given != head:
        file.unsupported(other, given, f"{head}, the size of a head")
    return head


def _turned(source: _Source, head: int) -> int:
    """How many values of a head turn, the first ones: all of them if the file does not say."""
    key = source.prefix + "rope.dimension_count"
    given = source.file.integer(key, head)
    if given % 2 or not 2 <= given <= head:
        source.file.unsupported(key, given, f"even numbers up to {head}, the size of a head")
    return given


def _vocabulary(file: ModelFile) -> int:
    """The number of tokens, by the tokenizer's table or else by the embedding's rows."""
    tokens = file.metadata.get("tokenizer.ggml.tokens")
    if isinstance(tokens, list):
        return len(tokens)
    embedding = file.shapes.get("token_embd.weight")
    return embedding[0] if embedding else 0


def _epsilon(source: _Source) -> float:
    key = source.prefix + "attention.layer_norm_rms_epsilon"
    given = source.file.number(key)
    if not (math.isfinite(given) and given >= 0):
        source.file.corrupt(key, given, "a finite number, 0 or more")
    return given


def _scale(source: _Source, layers: int, share: float, head: int) -> float:
    key = source.prefix + "attention.scale"
    usual = share if layers == source.kind.width_scaled_layers else head
    given = source.file.number(key, usual**-0.5)
    if not (math.isfinite(given) and given > 0):
        source.file.corrupt(key, given, "a finite number above 0")
    return given


def _halves(source: _Source) -> bool:
    return source.file.text(source.prefix + PAIRING, "") == "halves" or source.kind.halves


def _windows(source: _Source, layers: int) -> tuple[int, ...]:
    """The window of each layer; 0 sees all."""
    key = source.prefix + WINDOW
    window = source.file.integer(key, 0)
    if not 0 <= window <= LARGEST:
        source.file.corrupt(key, window, f"0 to {LARGEST}")
    return tuple(window if one else 0 for one in _windowed(source, layers))


def _windowed(source: _Source, layers: int) -> list[bool]:
    """Which layers have the window: by a list, by every how many one has none, or as usual."""
    file, key = source.file, source.prefix + PATTERN
    if file.types.get(key) == "array of bool":
        found = file.flags(key)
        if len(found) != layers:
            file.corrupt(key, f"{len(found)} long", f"{layers}, one a layer")
        return found
    every = file.integer(key, source.kind.layers_a_full_one)
    if every < 0:
        file.corrupt(key, every, "0 or more")
    return [every == 0 or (number + 1) % every != 0 for number in range(layers)]
