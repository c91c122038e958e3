"""The llama architecture (SmolLM2, Llama 2 and 3) over the twelve primitives, from a GGUF file.

One program takes token ids of any number up to ``chunk`` and the count of tokens already in the
cache, and gives the logits of the last one. Keys are cached transposed, so that scores of many
positions lie side by side; both caches are states, written in place.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import photic as ph
from photic.base.errors import GgufUnsupported, ModelIncomplete
from photic.frontends.gguf.blocks import unpack
from photic.frontends.gguf.reader import GgufFile
from photic.ir.dim import Dim
from photic.tensor.tensor import Tensor

ARCHITECTURE = "llama"


@dataclass(frozen=True, slots=True)
class Config:
    """Sizes of the model, from the file's metadata."""

    layers: int
    width: int
    heads: int
    kv_heads: int
    head: int
    context: int
    vocabulary: int
    epsilon: float
    rope_base: float


def read_config(file: GgufFile) -> Config:
    """The config of a llama file; GgufUnsupported for another architecture."""
    kind = file.text("general.architecture")
    if kind != ARCHITECTURE:
        raise GgufUnsupported(
            path=file.path, what="the architecture", given=kind, expected=ARCHITECTURE
        )
    heads = file.integer("llama.attention.head_count")
    width = file.integer("llama.embedding_length")
    return Config(
        layers=file.integer("llama.block_count"),
        width=width,
        heads=heads,
        kv_heads=file.integer("llama.attention.head_count_kv", heads),
        head=file.integer("llama.rope.dimension_count", width // max(1, heads)),
        context=file.integer("llama.context_length"),
        vocabulary=file.tensors["token_embd.weight"].shape[0],
        epsilon=file.number("llama.attention.layer_norm_rms_epsilon"),
        rope_base=file.number("llama.rope.freq_base", 10000.0),
    )


@dataclass(frozen=True, slots=True)
class Model:
    """The graph of one step: logits of the last token, and the caches' next values."""

    logits: Tensor
    updates: dict[Tensor, Tensor]


@dataclass(frozen=True, slots=True)
class _Step:
    """What every layer shares: the sizes, the rotation, which keys a query sees."""

    config: Config
    past: Dim
    count: Dim
    cos: Tensor
    sin: Tensor
    visible: Tensor
    rows: int


def build(file: GgufFile, config: Config, context: int, chunk: int) -> Model:
    """The graph for a cache of ``context`` tokens, up to ``chunk`` new ones a call."""
    count, past = ph.dim("count", 1, chunk), ph.dim("past", 0, context)
    ids = ph.input("ids", (count,), "int64")
    step = _step(file, config, past, count, context + chunk)
    embedded = _weight(file, "token_embd.weight")
    x = ph.embedding(ids, embedded)
    updates: dict[Tensor, Tensor] = {}
    for layer in range(config.layers):
        x = x + _attention(file, step, f"blk.{layer}", x, updates)
        x = x + _feed_forward(file, step, f"blk.{layer}", x)
    last = _norm(file, step, "output_norm", x[count - 1])
    head = _weight(file, "output.weight") if "output.weight" in file.tensors else embedded
    return Model(last @ head.T, updates)


def _step(file: GgufFile, config: Config, past: Dim, count: Dim, rows: int) -> _Step:
    half = config.head // 2
    place = ph.arange(past, past + count).astype("float32")
    rates = ph.exp2(ph.arange(half).astype("float32") * (-math.log2(config.rope_base) / half))
    if "rope_freqs.weight" in file.tensors:
        rates = rates / _weight(file, "rope_freqs.weight")
    angle = place[:, None] * rates
    keys, queries = ph.arange(past + count), ph.arange(past, past + count)
    visible = ph.less_equal(keys[None, :], queries[:, None])
    return _Step(config, past, count, ph.cos(angle), ph.sin(angle), visible, rows)


def _weight(file: GgufFile, name: str) -> Tensor:
    if name not in file.tensors:
        raise ModelIncomplete(path=file.path, name=name, problem="is missing")
    tensor = file.tensors[name]
    return unpack(file.data(tensor), tensor.block_type, tensor.shape)


def _linear(file: GgufFile, name: str, x: Tensor) -> Tensor:
    return x @ _weight(file, f"{name}.weight").T


def _norm(file: GgufFile, step: _Step, name: str, x: Tensor) -> Tensor:
    return ph.rms_norm(x, _weight(file, f"{name}.weight"), step.config.epsilon)


def _attention(
    file: GgufFile, step: _Step, name: str, x: Tensor, updates: dict[Tensor, Tensor]
) -> Tensor:
    """Causal attention with grouped heads over the cache; (count, width) to the same."""
    config, count = step.config, step.count
    groups = config.heads // config.kv_heads
    y = _norm(file, step, f"{name}.attn_norm", x)
    q = _linear(file, f"{name}.attn_q", y).reshape((count, config.kv_heads, groups, config.head))
    k = _linear(file, f"{name}.attn_k", y).reshape((count, config.kv_heads, config.head))
    v = _linear(file, f"{name}.attn_v", y).reshape((count, config.kv_heads, config.head))
    q = ph.rope_pairs(q.permute((1, 2, 0, 3)), step.cos, step.sin)
    k = ph.rope_pairs(k.permute((1, 0, 2)), step.cos, step.sin)
    keys = _cached(f"{name}.keys", k.permute((0, 2, 1)), step, 2, updates)
    values = _cached(f"{name}.values", v.permute((1, 0, 2)), step, 1, updates)
    scores = (q @ keys[:, None]) * config.head**-0.5
    scores = ph.where(step.visible, scores, float("-inf"))
    mixed = ph.softmax(scores, axis=-1) @ values[:, None]
    merged = mixed.permute((2, 0, 1, 3)).reshape((count, config.heads * config.head))
    return _linear(file, f"{name}.attn_output", merged)


def _cached(
    name: str, new: Tensor, step: _Step, axis: int, updates: dict[Tensor, Tensor]
) -> Tensor:
    """Write new rows into a cache; what of it holds tokens, these included."""
    shape = list(new.shape)
    shape[axis] = step.rows
    old = ph.state(name, tuple(shape))
    updates[old] = ph.update(old, new, step.past, axis)
    end = step.past + step.count
    return updates[old][:, :, :end] if axis == 2 else updates[old][:, :end]


def _feed_forward(file: GgufFile, step: _Step, name: str, x: Tensor) -> Tensor:
    y = _norm(file, step, f"{name}.ffn_norm", x)
    gate, up = _linear(file, f"{name}.ffn_gate", y), _linear(file, f"{name}.ffn_up", y)
    return _linear(file, f"{name}.ffn_down", ph.silu(gate) * up)
