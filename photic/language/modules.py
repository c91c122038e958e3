"""The plain modules that decoders are made of: linear layers, norms, attention over a cache.

Each takes the step, which holds what all layers share, and the name of the weights; every value
is (count, size) for the new tokens of a call. The caches are states, written in place, a token's
row in one piece; what lies in rows that hold no token of this text never shows.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from photic.ir.dim import Dim
from photic.language.config import Config
from photic.language.rope import Rope
from photic.language.weights import Weights
from photic.tensor.creation import constant, size, state
from photic.tensor.indexing import update
from photic.tensor.norms import rms_norm
from photic.tensor.primitive import less, masked, reciprocal, where
from photic.tensor.reductions import max, softmax
from photic.tensor.rope import rope_halves, rope_pairs, rope_tables
from photic.tensor.rope_rates import Rope as Turning
from photic.tensor.rounding import abs, round
from photic.tensor.tensor import Tensor

INT8_LEVEL = 127
LONG, SHORT = "rope_factors_long.weight", "rope_factors_short.weight"


Adapt = Callable[[str, Tensor, Tensor], Tensor]
"""``adapt(name, x, y)``: what a linear layer of this name gives in place of its own y of x."""


@dataclass(frozen=True, slots=True)
class Seen:
    """The keys of one kind of layers: their ``places``, and ``seen`` (count, keys) by which query.

    Its caches have ``rows``, of which the first ``used`` are read; 0: there are none, and the keys
    are the new tokens. The new ones are written from row ``start`` on. ``filled`` (keys) tells of a
    ring which rows hold a token.
    """

    places: Tensor
    seen: Tensor
    rows: int
    used: Dim
    start: Dim
    filled: Tensor | None = None


@dataclass(frozen=True, slots=True)
class Step:
    """What every layer shares.

    ``places`` of the ``count`` new tokens count from 0 in a text of ``length``; ``whole`` is what
    they see where they see everything before, ``windowed`` where there is a window.
    """

    config: Config
    weights: Weights
    count: Dim
    length: Dim
    places: Tensor
    whole: Seen
    windowed: Seen
    cache: str
    adapt: Adapt | None = None
    updates: dict[Tensor, Tensor] = field(default_factory=dict)


def linear(step: Step, name: str, x: Tensor, width: int) -> Tensor:
    """``x @ weight.T``, and the bias where the file has one; the last axis becomes ``width``."""
    extent = int(x.shape[-1])
    y = x @ step.weights.tensor(f"{name}.weight", (width, extent)).T
    if step.weights.has(f"{name}.bias"):
        y = y + step.weights.tensor(f"{name}.bias", (width,))
    return y if step.adapt is None else step.adapt(name, x, y)


def norm(step: Step, name: str, x: Tensor) -> Tensor:
    """The last axis brought to a mean square of 1, times its weight."""
    weight = step.weights.tensor(f"{name}.weight", (int(x.shape[-1]),))
    return rms_norm(x, weight, step.config.epsilon)


def gated(step: Step, name: str, x: Tensor, activation: Callable[[Tensor], Tensor]) -> Tensor:
    """The feed-forward part: ``down(activation(gate(x)) * up(x))``."""
    config = step.config
    gate = linear(step, f"{name}.ffn_gate", x, config.hidden)
    up = linear(step, f"{name}.ffn_up", x, config.hidden)
    return linear(step, f"{name}.ffn_down", activation(gate) * up, config.width)


def projections(step: Step, name: str, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Queries, keys and values, (count, heads, head) each."""
    config = step.config
    wide, narrow = config.heads * config.head, config.kv_heads * config.head
    q = linear(step, f"{name}.attn_q", x, wide)
    k = linear(step, f"{name}.attn_k", x, narrow)
    v = linear(step, f"{name}.attn_v", x, narrow)
    return in_heads(step, q), in_heads(step, k), in_heads(step, v)


def in_heads(step: Step, x: Tensor) -> Tensor:
    """(count, heads * head) to (count, heads, head)."""
    head = step.config.head
    return x.reshape((step.count, int(x.shape[-1]) // head, head))


def attention(step: Step, number: int, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    """Causal attention of layer ``number`` with grouped heads over its cache, and its output.

    From what ``projections`` gives to (count, width).
    """
    config, name = step.config, f"blk.{number}"
    groups = config.heads // config.kv_heads
    q = q.reshape((step.count, config.kv_heads, groups, config.head))
    q, k = q.permute((1, 2, 0, 3)), k.permute((1, 0, 2))
    is_local = config.windows[number] > 0
    rope, seen = (config.local_rope, step.windowed) if is_local else (config.rope, step.whole)
    q = turned(step, rope, q, step.places)
    if grows(step):  # turned when read: how far depends on the length by then
        keys = turned(step, rope, cached(step, seen, f"{name}.keys", k), seen.places)
    else:
        keys = cached(step, seen, f"{name}.keys", turned(step, rope, k, step.places))
    values = cached(step, seen, f"{name}.values", v.permute((1, 0, 2)))
    if seen.filled is not None:  # a weight of 0 would not hide a nan
        values = masked(seen.filled[:, None], values)
    scores = (q @ keys.permute((0, 2, 1))[:, None]) * config.scale
    scores = where(seen.seen, scores, float("-inf"))
    mixed = softmax(scores, axis=-1) @ values[:, None]
    merged = mixed.permute((2, 0, 1, 3)).reshape((step.count, config.heads * config.head))
    return linear(step, f"{name}.attn_output", merged, config.width)


# --- rotation -------------------------------------------------------------------------------


def grows(step: Step) -> bool:
    """Whether the rotation of all keys changes when the text gets longer than trained."""
    return step.weights.has(LONG)


def turned(step: Step, rope: Rope, x: Tensor, places: Tensor) -> Tensor:
    """(..., tokens, head), turned by the tokens' places."""
    across, along = rope_tables(places, Turning(_rates(step, rope), rope.gain))
    turn = rope_halves if step.config.halves else rope_pairs
    return turn(x, across, along)


def _rates(step: Step, rope: Rope) -> Tensor:
    """Radians a token of each pair, over the factors that the file holds as tensors."""
    rates, shape = constant(rope.rates, "float32"), (len(rope.rates),)
    if step.weights.has("rope_freqs.weight"):
        rates = rates / step.weights.tensor("rope_freqs.weight", shape)
    if grows(step):
        is_long = less(step.config.rope.trained, size(step.length))
        long, short = (rates / step.weights.tensor(name, shape) for name in (LONG, SHORT))
        rates = where(is_long, long, short)
    return rates


# --- caches ---------------------------------------------------------------------------------


def cached(step: Step, seen: Seen, name: str, new: Tensor) -> Tensor:
    """Write new rows (heads, count, head) into a cache; all its rows that are used."""
    if not seen.rows:
        return new
    if step.cache != "int8":
        return _kept(step, seen, name, new, step.cache).astype(new.dtype)
    largest = max(abs(new), -1, keepdims=True)
    level = where(less(0.0, largest), reciprocal(largest) * INT8_LEVEL, 0.0)
    codes = _kept(step, seen, name, round(new * level), "int8").astype(new.dtype)
    return codes * _kept(step, seen, f"{name}.scale", largest / INT8_LEVEL, "float32")


def _kept(step: Step, seen: Seen, name: str, new: Tensor, dtype: str) -> Tensor:
    old = state(name, (new.shape[0], seen.rows, new.shape[2]), dtype)
    now = update(old, new, seen.start, 1)
    step.updates[old] = now
    return now[:, : seen.used]
