"""config.json as the keys of GGUF that say the same: sizes, windows, what is not done here.

Promises: a value has the kind that its key asks for, and one that would change the model and is
not done is refused by name. Whether the numbers make sense is for who builds the model.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from photic.frontends.huggingface.json_file import JsonTable
from photic.frontends.huggingface.kinds import BY_TYPE, Kind
from photic.frontends.huggingface.rotation import Rotation, read_rotation
from photic.frontends.model_file import MetadataValue


@dataclass(frozen=True, slots=True)
class Setting:
    """A key of config.json and the one of GGUF, below the architecture's name."""

    key: str
    gguf: str
    required: bool


INTEGERS: tuple[Setting, ...] = (
    Setting("num_hidden_layers", "block_count", True),
    Setting("hidden_size", "embedding_length", True),
    Setting("intermediate_size", "feed_forward_length", True),
    Setting("num_attention_heads", "attention.head_count", True),
    Setting("num_key_value_heads", "attention.head_count_kv", False),
    Setting("head_dim", "attention.key_length", False),
    Setting("max_position_embeddings", "context_length", True),
)
EPSILON = Setting("rms_norm_eps", "attention.layer_norm_rms_epsilon", True)
# Keys that are let pass with these values only, or without any.
NEUTRAL: dict[str, tuple[object, ...]] = {
    "attn_logit_softcapping": (),
    "final_logit_softcapping": (),
    "quantization_config": (),
    "use_bidirectional_attention": (False,),
    "pretraining_tp": (1,),
}
WINDOWED, FULL = "sliding_attention", "full_attention"


@dataclass(frozen=True, slots=True)
class Described:
    """What a config says: the kind of model, GGUF keys with their types, the rotation."""

    kind: Kind
    values: dict[str, MetadataValue]
    types: dict[str, str]
    named: dict[str, str]
    """The config's own key for each of GGUF."""
    ties: bool
    rotation: Rotation


def read_config(config: JsonTable) -> Described:
    """The GGUF keys of a config. Raises FolderBroken or FolderUnsupported."""
    kind = _kind(config)
    _check(config, kind)
    rotation = read_rotation(config, kind)
    found = [
        *((one, config.integer(one.key), "int64") for one in INTEGERS),
        (EPSILON, config.number(EPSILON.key), "float64"),
        *_windows(config),
        *_scale(config),
        *((Setting(one.key, one.gguf, False), one.value, one.type) for one in rotation.keys),
    ]
    values: dict[str, MetadataValue] = {"general.architecture": kind.architecture}
    types, named = {"general.architecture": "string"}, {"general.architecture": "model_type"}
    for setting, value, type_name in found:
        if value is None:
            if setting.required:
                config.fail(setting.key, None, "a number")
            continue
        name = f"{kind.architecture}.{setting.gguf}"
        values[name], types[name], named[name] = value, type_name, setting.key
    return Described(kind, values, types, named, _ties(config, kind), rotation)


def _kind(config: JsonTable) -> Kind:
    given = config.text("model_type")
    if given not in BY_TYPE:
        config.refuse("model_type", given, ", ".join(BY_TYPE))
    return BY_TYPE[given]


def _check(config: JsonTable, kind: Kind) -> None:
    activation = config.text(kind.activation_key) or kind.activation
    if activation != kind.activation:
        config.refuse(kind.activation_key, activation, kind.activation)
    for key, allowed in NEUTRAL.items():
        given = config.table.get(key)
        if given is not None and given not in allowed:
            config.refuse(key, given, " or ".join(map(str, allowed)) or "none")


def _ties(config: JsonTable, kind: Kind) -> bool:
    """Whether the head is the embedding's; Gemma's is, where the config does not say."""
    given = config.flag("tie_word_embeddings")
    return kind.adds_one if given is None else given


Found = tuple[Setting, MetadataValue | None, str]


def _scale(config: JsonTable) -> Iterator[Found]:
    scalar = config.number("query_pre_attn_scalar")
    if scalar is not None:
        if scalar <= 0:
            config.fail("query_pre_attn_scalar", scalar, "a number above 0")
        yield Setting("query_pre_attn_scalar", "attention.scale", False), scalar**-0.5, "float64"


def _windows(config: JsonTable) -> Iterator[Found]:
    """The window and which layers have it: by a list, from a layer on, or all."""
    window = config.integer("sliding_window")
    if window is None or config.flag("use_sliding_window") is False:
        return
    yield Setting("sliding_window", "attention.sliding_window", False), window, "int64"
    pattern = Setting("layer_types", "attention.sliding_window_pattern", False)
    kinds, first = config.texts("layer_types"), config.integer("max_window_layers")
    if kinds is not None:
        for one in kinds:
            if one not in (WINDOWED, FULL):
                config.refuse("layer_types", one, f"{WINDOWED}, {FULL}")
        yield pattern, [one == WINDOWED for one in kinds], "array of bool"
    elif first is not None and config.flag("use_sliding_window"):
        layers = config.integer("num_hidden_layers") or 0
        yield pattern, [number >= first for number in range(layers)], "array of bool"
