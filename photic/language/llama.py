"""The llama architecture (SmolLM2, Llama 2 and 3) over the twelve primitives, from a GGUF file.

One program takes token ids of any number up to ``chunk`` and the count of tokens already in the
cache, and gives the logits of the last one. The caches are states, written in place, a token's row
in one piece. What lies in them beyond the tokens of this call and before is never read.

Linear layers may have biases. Every tensor of the file is used, or the file is refused.
``build_training`` is the same model without caches, for the logits of every token.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from photic.frontends.gguf.reader import GgufFile
from photic.ir.dim import Dim
from photic.language.llama_config import Config
from photic.language.weights import Weights
from photic.tensor.activations import silu
from photic.tensor.arithmetic import floor_divide
from photic.tensor.compare import equal, less_equal, logical_and
from photic.tensor.creation import arange, constant, dim, input, state
from photic.tensor.indexing import embedding, update
from photic.tensor.norms import rms_norm
from photic.tensor.primitive import mod, sin, where
from photic.tensor.reductions import softmax
from photic.tensor.rope import rope_pairs
from photic.tensor.tensor import Tensor
from photic.tensor.waves import cos

Adapt = Callable[[str, Tensor, Tensor], Tensor]
"""``adapt(name, x, y)``: what a linear layer of this name gives in place of its own y of x."""


@dataclass(frozen=True, slots=True)
class Model:
    """The graph of one step: logits of the last token, and the caches' next values."""

    logits: Tensor
    updates: dict[Tensor, Tensor]


@dataclass(frozen=True, slots=True)
class _Step:
    """What every layer shares: weights, sizes, the rotation, which keys a query sees, caches.

    No ``rows``: there are no caches.
    """

    config: Config
    weights: Weights
    past: Dim
    count: Dim
    cos: Tensor
    sin: Tensor
    visible: Tensor
    rows: int
    updates: dict[Tensor, Tensor] = field(default_factory=dict)
    adapt: Adapt | None = None


def build(
    file: GgufFile,
    config: Config,
    context: int,
    chunk: int,
    adapt: Adapt | None = None,
    answers: int = 1,
) -> Model:
    """The graph for a cache of ``context`` tokens, up to ``chunk`` new ones a call.

    ``adapt`` changes what the linear layers of its choice give, the head's among them. With
    ``answers`` above 1 an input ``rows``, int64, names up to so many of the call's tokens, and the
    logits are those after each of them: (rows, vocabulary).

    Raises ModelIncomplete for a tensor that is missing or has another shape, GgufUnsupported for
    tensors that this architecture does not have and for block types that are not unpacked.
    """
    count, past = dim("count", 1, chunk), dim("past", 0, context)
    ids = input("ids", (count,), "int64")
    weights = Weights(file)
    table = weights.tensor("token_embd.weight", (config.vocabulary, config.width))
    places, keys = arange(past, past + count), arange(past + count)
    visible = less_equal(keys[None, :], places[:, None])
    across, along = _rotation(config, weights, places)
    rows = context + chunk
    step = _Step(config, weights, past, count, across, along, visible, rows, adapt=adapt)
    x = _layers(step, embedding(ids, table))
    last = x[count - 1]
    if answers > 1:
        last = embedding(input("rows", (dim("answers", 1, answers),), "int64"), x)
    logits = _head(step, last, table)
    weights.check_all_used()
    return Model(logits, step.updates)


def build_training(
    file: GgufFile, config: Config, ids: Tensor, adapt: Adapt | None = None
) -> Tensor:
    """The logits (texts, tokens, vocabulary) after each token of ``ids`` (texts, tokens).

    The texts lie one after another in one sequence, of which each token sees its own text: the
    masks have the square of all tokens. Raises as ``build``.
    """
    texts, tokens = ids.shape
    weights = Weights(file)
    table = weights.tensor("token_embd.weight", (config.vocabulary, config.width))
    places = arange(texts * tokens)
    text = floor_divide(places, tokens)
    before = less_equal(places[None, :], places[:, None])
    visible = logical_and(before, equal(text[None, :], text[:, None]))
    across, along = _rotation(config, weights, mod(places, tokens))
    step = _Step(config, weights, 0, texts * tokens, across, along, visible, 0, adapt=adapt)
    x = _layers(step, embedding(ids.reshape((texts * tokens,)), table))
    logits = _head(step, x, table)
    weights.check_all_used()
    return logits.reshape((texts, tokens, config.vocabulary))


def _layers(step: _Step, x: Tensor) -> Tensor:
    for layer in range(step.config.layers):
        x = x + _attention(step, f"blk.{layer}", x)
        x = x + _feed_forward(step, f"blk.{layer}", x)
    return x


def _head(step: _Step, x: Tensor, table: Tensor) -> Tensor:
    """Logits of what the layers gave; without a matrix of its own the head is the embedding's."""
    last = _norm(step, "output_norm", x)
    if step.weights.has("output.weight"):
        return _linear(step, "output", last, step.config.vocabulary)
    return last @ table.T


def _rotation(config: Config, weights: Weights, places: Tensor) -> tuple[Tensor, Tensor]:
    """Cosines and sines of the tokens at these places."""
    rates = constant(config.rope.rates, "float32")
    if weights.has("rope_freqs.weight"):
        rates = rates / weights.tensor("rope_freqs.weight", (config.head // 2,))
    angle = places.astype("float32")[:, None] * rates
    across, along = cos(angle), sin(angle)
    if config.rope.gain != 1:
        across, along = across * config.rope.gain, along * config.rope.gain
    return across, along


def _linear(step: _Step, name: str, x: Tensor, width: int) -> Tensor:
    """``x @ weight.T``, and the bias where the file has one; the last axis becomes ``width``."""
    size = int(x.shape[-1])
    y = x @ step.weights.tensor(f"{name}.weight", (width, size)).T
    if step.weights.has(f"{name}.bias"):
        y = y + step.weights.tensor(f"{name}.bias", (width,))
    return y if step.adapt is None else step.adapt(name, x, y)


def _norm(step: _Step, name: str, x: Tensor) -> Tensor:
    weight = step.weights.tensor(f"{name}.weight", (step.config.width,))
    return rms_norm(x, weight, step.config.epsilon)


def _attention(step: _Step, name: str, x: Tensor) -> Tensor:
    """Causal attention with grouped heads over the cache; (count, width) to the same."""
    config, count = step.config, step.count
    groups = config.heads // config.kv_heads
    wide, narrow = config.heads * config.head, config.kv_heads * config.head
    y = _norm(step, f"{name}.attn_norm", x)
    q = _linear(step, f"{name}.attn_q", y, wide)
    k = _linear(step, f"{name}.attn_k", y, narrow).reshape((count, config.kv_heads, config.head))
    v = _linear(step, f"{name}.attn_v", y, narrow).reshape((count, config.kv_heads, config.head))
    q = q.reshape((count, config.kv_heads, groups, config.head))
    q = rope_pairs(q.permute((1, 2, 0, 3)), step.cos, step.sin)
    k = rope_pairs(k.permute((1, 0, 2)), step.cos, step.sin)
    keys = _cached(step, f"{name}.keys", k)
    values = _cached(step, f"{name}.values", v.permute((1, 0, 2)))
    scores = (q @ keys.permute((0, 2, 1))[:, None]) * config.head**-0.5
    scores = where(step.visible, scores, float("-inf"))
    mixed = softmax(scores, axis=-1) @ values[:, None]
    merged = mixed.permute((2, 0, 1, 3)).reshape((count, wide))
    return _linear(step, f"{name}.attn_output", merged, config.width)


def _cached(step: _Step, name: str, new: Tensor) -> Tensor:
    """Write new rows (heads, count, head) into a cache; all its rows that hold tokens."""
    if not step.rows:
        return new
    old = state(name, (new.shape[0], step.rows, new.shape[2]))
    now = update(old, new, step.past, 1)
    step.updates[old] = now
    return now[:, : step.past + step.count]


def _feed_forward(step: _Step, name: str, x: Tensor) -> Tensor:
    config = step.config
    y = _norm(step, f"{name}.ffn_norm", x)
    gate = _linear(step, f"{name}.ffn_gate", y, config.hidden)
    up = _linear(step, f"{name}.ffn_up", y, config.hidden)
    return _linear(step, f"{name}.ffn_down", silu(gate) * up, config.width)
