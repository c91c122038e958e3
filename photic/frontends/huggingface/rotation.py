"""What config.json says of rotary position, as GGUF says it: keys, and tensors of factors.

Llama 3 and LongRoPE slow each pair by a factor of its own: GGUF files hold the factors as tensors,
and so does what is made here. Both spellings of the config are read: ``rope_theta`` beside
``rope_scaling``, and ``rope_parameters``, which may differ for layers with a window.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from photic.frontends.huggingface.json_file import JsonTable
from photic.frontends.huggingface.kinds import Kind
from photic.frontends.model_file import MetadataValue
from photic.tensor.creation import constant
from photic.tensor.rope_rates import rope_rates
from photic.tensor.rope_scalings import RopeLlama3, RopePlain, yarn_gain
from photic.tensor.tensor import Tensor

HALVES = "halves"


@dataclass(frozen=True, slots=True)
class RopeKey:
    """A value with its key in config.json and the one of GGUF."""

    key: str
    gguf: str
    value: MetadataValue
    type: str


@dataclass(frozen=True, slots=True)
class Rotation:
    """Keys below the architecture's name, and tensors by name: each pair's factor."""

    keys: tuple[RopeKey, ...]
    factors: dict[str, Tensor]


@dataclass(frozen=True, slots=True)
class _Source:
    """The config, and in it the object that tells of scaling (itself where there is none)."""

    config: JsonTable
    rope: JsonTable
    base: float
    turned: int

    def positive(self, key: str) -> float:
        """A number above 0 that must be there."""
        found = self.rope.number(key)
        if found is None or found <= 0:
            self.rope.fail(key, found, "a number above 0")
        return found

    def trained(self) -> float:
        """The context before scaling; the model's own where nothing says."""
        key = "original_max_position_embeddings"
        found = self.rope.integer(key) or self.config.integer(key)
        return float(found or self.context())

    def context(self) -> int:
        return self.config.integer("max_position_embeddings") or 0


def read_rotation(config: JsonTable, kind: Kind) -> Rotation:
    """The rotation. Raises FolderBroken, or FolderUnsupported for a kind that is not done."""
    rope = config.inner("rope_parameters") or config.inner("rope_scaling")
    local = None
    if rope is not None and "full_attention" in rope.table:
        local = rope.inner("sliding_attention")
        rope = rope.inner("full_attention")
    source = _source(config, rope if rope is not None else config, kind)
    way = (rope.text("rope_type") or rope.text("type") if rope is not None else None) or "default"
    if way not in _WAYS:
        source.rope.refuse("rope_type", way, ", ".join(_WAYS))
    scaled = _WAYS[way](source)
    general = [
        RopeKey("rope_theta", "rope.freq_base", source.base, "float64"),
        RopeKey("partial_rotary_factor", "rope.dimension_count", source.turned, "int64"),
        RopeKey("model_type", "rope.pairing", HALVES, "string"),
        *_local(config, local),
    ]
    return Rotation((*general, *scaled.keys), scaled.factors)


def _source(config: JsonTable, rope: JsonTable, kind: Kind) -> _Source:
    base = rope.number("rope_theta") or config.number("rope_theta") or kind.base
    share = rope.number("partial_rotary_factor") or config.number("partial_rotary_factor") or 1.0
    heads = config.integer("num_attention_heads") or 1
    head = config.integer("head_dim") or (config.integer("hidden_size") or 0) // max(1, heads)
    return _Source(config, rope, base, int(head * share))


def _local(config: JsonTable, local: JsonTable | None) -> Iterator[RopeKey]:
    """The base in layers with a window, which turn unscaled."""
    key, where = "rope_local_base_freq", config
    if local is not None:
        key, where = "rope_theta", local
        way = local.text("rope_type") or "default"
        if way != "default":
            local.refuse("rope_type", way, "default")
    base = where.number(key)
    if base is not None:
        yield RopeKey(key, "rope.freq_base_swa", base, "float64")


# --- the ways -------------------------------------------------------------------------------


def _number(key: str, gguf: str, value: float) -> RopeKey:
    return RopeKey(key, f"rope.scaling.{gguf}", value, "float64")


def _way(name: str) -> RopeKey:
    return RopeKey("rope_type", "rope.scaling.type", name, "string")


def _default(source: _Source) -> Rotation:
    return Rotation((), {})


def _linear(source: _Source) -> Rotation:
    return Rotation((_way("linear"), _number("factor", "factor", source.positive("factor"))), {})


def _yarn(source: _Source) -> Rotation:
    """GGUF's gain is a factor on top of YaRN's own."""
    rope, factor = source.rope, source.positive("factor")
    for key in ("mscale", "mscale_all_dim"):
        if rope.number(key) is not None:
            rope.refuse(key, rope.number(key), "none")
    if rope.flag("truncate") is False:
        rope.refuse("truncate", False, "true")
    keys = [
        _way("yarn"),
        _number("factor", "factor", factor),
        _number("original_max_position_embeddings", "original_context_length", source.trained()),
    ]
    for key, gguf in (("beta_fast", "yarn_beta_fast"), ("beta_slow", "yarn_beta_slow")):
        found = rope.number(key)
        keys += [] if found is None else [_number(key, gguf, found)]
    gain = rope.number("attention_factor")
    if gain is not None:
        keys.append(_number("attention_factor", "attn_factor", gain / yarn_gain(factor)))
    return Rotation(tuple(keys), {})


def _llama3(source: _Source) -> Rotation:
    scaling = RopeLlama3(
        source.turned,
        source.base,
        source.positive("factor"),
        source.positive("low_freq_factor"),
        source.positive("high_freq_factor"),
        int(source.trained()),
    )
    plain = rope_rates(RopePlain(source.turned, source.base)).rates
    return Rotation((), {"rope_freqs.weight": plain / rope_rates(scaling).rates})


def _long(source: _Source) -> Rotation:
    """The gain is that of Ding and others 2024 where the config does not say."""
    trained = source.trained()
    reach = source.rope.number("factor") or source.context() / trained
    gain = source.rope.number("attention_factor")
    if gain is None:
        gain = math.sqrt(1 + math.log(reach) / math.log(trained)) if reach > 1 else 1.0
    factors = {}
    for name in ("long", "short"):
        numbers = source.rope.numbers(f"{name}_factor")
        if len(numbers) != source.turned // 2 or min(numbers) <= 0:
            expected = f"{source.turned // 2} numbers above 0"
            source.rope.fail(f"{name}_factor", f"{len(numbers)} numbers", expected)
        factors[f"rope_factors_{name}.weight"] = constant(numbers, "float32")
    trained_key = "original_max_position_embeddings"
    keys = (
        _number(trained_key, "original_context_length", trained),
        _number("attention_factor", "attn_factor", gain),
    )
    return Rotation(keys, factors)


_WAYS: dict[str, Callable[[_Source], Rotation]] = {
    "default": _default,
    "linear": _linear,
    "yarn": _yarn,
    "llama3": _llama3,
    "longrope": _long,
    "su": _long,
}
