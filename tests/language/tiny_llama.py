"""Tiny llama models of random weights as GGUF files, and what their logits must be.

The files are written by the ``gguf`` package. The reference is NumPy in float64, straight from
the definition of the architecture: pairs that are neighbours turn, each key head serves
``heads / kv_heads`` query heads in a row, token i sees tokens 0..i. It has no cache and no chunks.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import gguf
import numpy as np
from language.vocabulary import small_metadata
from numpy.typing import NDArray

from photic.frontends.gguf.reader import open_gguf
from photic.language.config import read_config
from photic.language.decoder import build
from photic.tensor.compiling import compile
from photic.tensor.program import Program

Float = NDArray[np.float64]
Arrays = dict[str, NDArray[np.float32]]
Type = gguf.GGMLQuantizationType

CONTEXT = 64
CHUNK = 16


@dataclass(frozen=True)
class Sizes:
    """A model small enough to compile in a second; rows are whole blocks of 32."""

    layers: int = 1
    width: int = 64
    hidden: int = 96
    heads: int = 4
    kv_heads: int = 2
    vocabulary: int = 40
    base: float = 10000.0
    epsilon: float = 1e-5
    head_size: int = 0  # 0: width / heads

    @property
    def head(self) -> int:
        return self.head_size or self.width // self.heads


@dataclass(frozen=True)
class Changes:
    """How a file differs from a plain one: keys and tensors replaced, or left out where None."""

    keys: Mapping[str, object] = field(default_factory=dict)
    tensors: Mapping[str, NDArray[np.float32] | None] = field(default_factory=dict)
    types: Mapping[str, Type] = field(default_factory=dict)
    architecture: str = "llama"


def shapes(sizes: Sizes) -> dict[str, tuple[int, ...]]:
    """Every tensor of a model with an untied head."""
    wide, narrow = sizes.width, sizes.kv_heads * sizes.head
    layer = {
        "attn_norm": (wide,),
        "attn_q": (sizes.heads * sizes.head, wide),
        "attn_k": (narrow, wide),
        "attn_v": (narrow, wide),
        "attn_output": (wide, sizes.heads * sizes.head),
        "ffn_norm": (wide,),
        "ffn_gate": (sizes.hidden, wide),
        "ffn_up": (sizes.hidden, wide),
        "ffn_down": (wide, sizes.hidden),
    }
    found = {"token_embd.weight": (sizes.vocabulary, wide), "output_norm.weight": (wide,)}
    found["output.weight"] = (sizes.vocabulary, wide)
    for number in range(sizes.layers):
        found |= {f"blk.{number}.{name}.weight": shape for name, shape in layer.items()}
    return found


def random_tensors(sizes: Sizes, seed: int = 0) -> Arrays:
    """Weights that keep activations near 1 and attention far from uniform."""
    rng = np.random.default_rng(seed)
    made: Arrays = {}
    for name, shape in shapes(sizes).items():
        scale = 2.0 / np.sqrt(shape[-1]) if len(shape) > 1 else 0.1
        values = rng.standard_normal(shape) * scale + (1.0 if len(shape) == 1 else 0.0)
        made[name] = values.astype(np.float32)
    return made


def keys(sizes: Sizes) -> dict[str, object]:
    """The metadata of a plain model."""
    found: dict[str, object] = {
        "llama.block_count": sizes.layers,
        "llama.context_length": CONTEXT,
        "llama.embedding_length": sizes.width,
        "llama.feed_forward_length": sizes.hidden,
        "llama.attention.head_count": sizes.heads,
        "llama.attention.head_count_kv": sizes.kv_heads,
        "llama.attention.layer_norm_rms_epsilon": sizes.epsilon,
        "llama.rope.freq_base": sizes.base,
    }
    if sizes.head_size:
        found |= {f"llama.attention.{one}_length": sizes.head_size for one in ("key", "value")}
        found["llama.rope.dimension_count"] = sizes.head_size
    return found


PLAIN = Changes()


def write(path: Path, sizes: Sizes, tensors: Arrays, changes: Changes = PLAIN) -> Arrays:
    """Write a model; the weights as the file holds them (quantised, and unpacked again)."""
    writer = gguf.GGUFWriter(str(path), changes.architecture)
    for key, value in {**keys(sizes), **changes.keys}.items():
        if value is not None:
            _add(writer, key, value)
    held: Arrays = {}
    for name, values in {**tensors, **changes.tensors}.items():
        if values is not None:
            kind = changes.types.get(name, Type.F32)
            packed = gguf.quants.quantize(values, kind)
            writer.add_tensor(name, packed, raw_dtype=kind)
            held[name] = gguf.quants.dequantize(packed, kind).reshape(values.shape)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return held


def _add(writer: gguf.GGUFWriter, key: str, value: object) -> None:
    match value:
        case bool():
            writer.add_bool(key, value)
        case int():
            writer.add_int64(key, value)
        case float():
            writer.add_float32(key, value)
        case str():
            writer.add_string(key, value)
        case list() | tuple():
            writer.add_array(key, value)
        case _:
            raise TypeError(key)


def write_talking(path: Path, changes: Changes = PLAIN, context: int = CONTEXT) -> Arrays:
    """A model with the small vocabulary of vocabulary.py, whose embedding is its head."""
    table = small_metadata()
    tokens = table["tokenizer.ggml.tokens"]
    assert isinstance(tokens, list)
    sizes = Sizes(vocabulary=len(tokens))
    found = {**table, "llama.context_length": context, **changes.keys}
    tensors = {"output.weight": None, **changes.tensors}
    return write(path, sizes, random_tensors(sizes), Changes(found, tensors, changes.types))


# --- running --------------------------------------------------------------------------------


def program_of(path: Path, context: int = CONTEXT) -> Program:
    """The compiled step of a file."""
    file = open_gguf(path)
    model = build(file, read_config(file), context, CHUNK)
    return compile({"logits": model.logits}, model.updates)


def feed(program: Program, ids: Sequence[int], parts: Sequence[int]) -> Float:
    """The last token's logits after each part, the parts fed one after another."""
    assert sum(parts) == len(ids)
    found, past = [], 0
    for count in parts:
        part = np.asarray(ids[past : past + count], np.int64)
        found.append(program(ids=part, past=past, answers=1)["logits"][0])
        past += count
    return np.stack(found).astype(np.float64)


# --- the reference --------------------------------------------------------------------------


@dataclass(frozen=True)
class Turning:
    """Divisors of the pairs' rates, and the gain of cos and sin."""

    factors: Float | float = 1.0
    gain: float = 1.0


@dataclass(frozen=True)
class Reference:
    """The logits (tokens, vocabulary); the first layer's turned keys (kv_heads, tokens, head)."""

    logits: Float
    turned_keys: Float


UNSCALED = Turning()


def reference(
    sizes: Sizes, tensors: Arrays, ids: Sequence[int], turning: Turning = UNSCALED
) -> Reference:
    """What a model must say of ``ids``."""
    held = {name: one.astype(np.float64) for name, one in tensors.items()}
    x = held["token_embd.weight"][np.asarray(ids)]
    first = np.empty(0)
    for number in range(sizes.layers):
        name = f"blk.{number}"
        y = _norm(x, held[f"{name}.attn_norm.weight"], sizes)
        mixed, turned = _attention(sizes, held, name, y, turning)
        first = turned if number == 0 else first
        x = x + mixed
        y = _norm(x, held[f"{name}.ffn_norm.weight"], sizes)
        gate = _linear(held, f"{name}.ffn_gate", y)
        gated = gate / (1 + np.exp(-gate)) * _linear(held, f"{name}.ffn_up", y)
        x = x + _linear(held, f"{name}.ffn_down", gated)
    x = _norm(x, held["output_norm.weight"], sizes)
    head = "output" if "output.weight" in held else "token_embd"
    return Reference(_linear(held, head, x), first)


def _linear(held: Mapping[str, Float], name: str, x: Float) -> Float:
    return x @ held[f"{name}.weight"].T + held.get(f"{name}.bias", 0.0)


def _norm(x: Float, weight: Float, sizes: Sizes) -> Float:
    return x / np.sqrt((x * x).mean(axis=-1, keepdims=True) + sizes.epsilon) * weight


def _attention(
    sizes: Sizes, held: Mapping[str, Float], name: str, x: Float, turning: Turning
) -> tuple[Float, Float]:
    count = len(x)
    heads = {
        one: _linear(held, f"{name}.attn_{one}", x).reshape(count, -1, sizes.head).swapaxes(0, 1)
        for one in "qkv"
    }
    q, k = (_turned(sizes, heads[one], turning) for one in "qk")
    groups = sizes.heads // sizes.kv_heads
    scores = q @ np.repeat(k, groups, axis=0).swapaxes(1, 2) / np.sqrt(sizes.head)
    scores[:, np.triu(np.ones((count, count), bool), 1)] = -np.inf
    weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
    weights /= weights.sum(axis=-1, keepdims=True)
    mixed = (weights @ np.repeat(heads["v"], groups, axis=0)).swapaxes(0, 1).reshape(count, -1)
    return _linear(held, f"{name}.attn_output", mixed), k


def _turned(sizes: Sizes, x: Float, turning: Turning) -> Float:
    """Each pair (2i, 2i + 1) as a complex number, turned by its place."""
    rates = sizes.base ** (-np.arange(0, sizes.head, 2) / sizes.head) / turning.factors
    turns = turning.gain * np.exp(1j * np.arange(x.shape[1])[:, None] * rates)
    turned = (x[..., 0::2] + 1j * x[..., 1::2]) * turns
    return np.stack((turned.real, turned.imag), axis=-1).reshape(x.shape)
