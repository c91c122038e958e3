"""Llama files to logits: block types, biases, head sizes, rope scaling, and files that are wrong.

The oracle is the NumPy model of tiny_llama.py, in float64, on the weights as the file holds them.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from language.tiny_llama import (
    CHUNK,
    CONTEXT,
    Arrays,
    Changes,
    Sizes,
    Turning,
    Type,
    feed,
    program_of,
    random_tensors,
    reference,
    shapes,
    write,
)

from photic.base.errors import PhoticError
from photic.frontends.errors import GgufCorrupt, GgufUnsupported
from photic.frontends.gguf.reader import open_gguf
from photic.language.config import Config, read_config
from photic.language.decoder import build
from photic.language.errors import ModelIncomplete
from photic.language.rope import read_rope

# Float32 against float64: sums of a few hundred terms near 1, logits up to 10.
TOLERANCE = 1e-4
IDS = [int(one) for one in np.random.default_rng(5).integers(0, Sizes().vocabulary, 12)]


def written(path: Path, sizes: Sizes, changes: Changes) -> tuple[Path, Arrays]:
    file = path / "tiny.gguf"
    return file, write(file, sizes, random_tensors(sizes), changes)


def close(got: np.ndarray, expected: np.ndarray) -> bool:
    return bool(np.abs(got - expected).max() < TOLERANCE)


def config_of(path: Path, changes: Changes, sizes: Sizes | None = None) -> Config:
    file, _ = written(path, sizes or Sizes(), changes)
    return read_config(open_gguf(file))


def building(path: Path, changes: Changes) -> None:
    """Build the graph of a changed file."""
    file = open_gguf(written(path, Sizes(), changes)[0])
    build(file, read_config(file), CONTEXT, CHUNK)


# --- right files ----------------------------------------------------------------------------


def test_two_layers_of_every_block_type_give_the_reference_logits(tmp_path: Path) -> None:
    sizes = Sizes(layers=2)
    kinds = (Type.F16, Type.Q8_0, Type.Q4_1, Type.Q4_0, Type.BF16, Type.F32)
    matrices = [name for name, shape in shapes(sizes).items() if len(shape) == 2]
    types = {name: kinds[place % len(kinds)] for place, name in enumerate(matrices)}
    path, held = written(tmp_path, sizes, Changes(types=types))
    got = feed(program_of(path), IDS, [5, 1, 6])
    assert close(got, reference(sizes, held, IDS).logits[[4, 5, 11]])


def test_without_an_output_matrix_the_embedding_is_the_head(tmp_path: Path) -> None:
    path, held = written(tmp_path, Sizes(), Changes(tensors={"output.weight": None}))
    assert "output.weight" not in held
    assert close(feed(program_of(path), IDS, [12])[0], reference(Sizes(), held, IDS).logits[-1])


def test_linear_layers_may_have_biases(tmp_path: Path) -> None:
    rng = np.random.default_rng(2)
    names = ("attn_q", "attn_k", "attn_v", "attn_output", "ffn_gate", "ffn_up", "ffn_down")
    all_shapes = shapes(Sizes())
    biases: Arrays = {
        f"{name}.bias": rng.standard_normal(all_shapes[f"{name}.weight"][0]).astype(np.float32)
        for name in (*(f"blk.0.{one}" for one in names), "output")
    }
    path, held = written(tmp_path, Sizes(), Changes(tensors=biases))
    expected = reference(Sizes(), held, IDS).logits[-1]
    assert close(feed(program_of(path), IDS, [12])[0], expected)


def test_heads_need_not_be_a_share_of_the_width(tmp_path: Path) -> None:
    sizes = Sizes(heads=3, kv_heads=1, head_size=32)
    path, held = written(tmp_path, sizes, Changes())
    assert close(feed(program_of(path), IDS, [12])[0], reference(sizes, held, IDS).logits[-1])


def test_what_an_earlier_prompt_left_in_the_cache_does_not_show(tmp_path: Path) -> None:
    path, _ = written(tmp_path, Sizes(), Changes())
    program = program_of(path)
    fresh = feed(program, IDS, [3] * 4)
    for state in program.states.values():
        state[...] = np.nan
    feed(program, IDS[::-1] * 3, [12, 12, 12])
    assert np.array_equal(feed(program, IDS, [3] * 4), fresh)


def test_the_last_place_of_the_context_is_used(tmp_path: Path) -> None:
    path, held = written(tmp_path, Sizes(), Changes())
    ids = (IDS * 6)[:CONTEXT]
    got = feed(program_of(path), ids, [CHUNK] * 3 + [CHUNK - 1, 1])
    assert close(got[-1], reference(Sizes(), held, ids).logits[-1])


# --- rope scaling from the file -------------------------------------------------------------


SCALINGS: dict[str, tuple[dict[str, object], Turning]] = {
    "linear": ({"scaling.type": "linear", "scaling.factor": 4.0}, Turning(4.0)),
    "no kind": ({"scaling.factor": 4.0}, Turning(4.0)),
    "the old key": ({"scale_linear": 4.0}, Turning(4.0)),
    "none": ({"scaling.type": "none", "scaling.factor": 4.0}, Turning(1.0)),
    "factor 0": ({"scaling.type": "linear", "scaling.factor": 0.0}, Turning(1.0)),
    "gain": ({"scaling.attn_factor": 1.25}, Turning(1.0, gain=1.25)),
}


@pytest.mark.parametrize("keys, turning", SCALINGS.values(), ids=SCALINGS)
def test_scaling_is_read_from_the_file(
    tmp_path: Path, keys: dict[str, object], turning: Turning
) -> None:
    rope = config_of(tmp_path, Changes({f"llama.rope.{key}": v for key, v in keys.items()})).rope
    plain = 10000.0 ** (-np.arange(8) / 8)
    assert np.allclose(rope.rates, plain / turning.factors, rtol=1e-12)
    assert rope.gain == turning.gain


@pytest.mark.parametrize("name", ["linear", "gain"])
def test_scaling_reaches_the_logits(tmp_path: Path, name: str) -> None:
    keys, turning = SCALINGS[name]
    changes = Changes({f"llama.rope.{key}": value for key, value in keys.items()})
    path, held = written(tmp_path, Sizes(), changes)
    expected = reference(Sizes(), held, IDS, turning).logits[-1]
    assert close(feed(program_of(path), IDS, [7, 5])[1], expected)
    assert not close(reference(Sizes(), held, IDS).logits[-1], expected)


YARN: dict[str, object] = {
    "llama.rope.scaling.type": "yarn",
    "llama.rope.scaling.factor": 4.0,
    "llama.rope.scaling.original_context_length": 2048,
}


def test_yarn_keeps_fast_pairs_and_slows_slow_ones(tmp_path: Path) -> None:
    sizes = Sizes(width=128, heads=2)
    rope = config_of(tmp_path, Changes(YARN), sizes).rope
    plain = 10000.0 ** (-np.arange(32) / 32)
    turns = 2048 * plain / (2 * np.pi)
    slowing = plain / np.asarray(rope.rates)
    assert np.allclose(slowing[turns > 32], 1) and np.allclose(slowing[turns < 0.5], 4)
    assert np.all(np.diff(slowing) >= -1e-12)
    assert rope.gain == pytest.approx(1 + 0.1 * np.log(4))


@pytest.mark.peers
@pytest.mark.parametrize("factor, trained, base", [(4.0, 2048, 1e4), (16.0, 8192, 5e5)])
def test_yarn_is_that_of_transformers(
    tmp_path: Path, factor: float, trained: int, base: float
) -> None:
    from transformers import LlamaConfig
    from transformers.modeling_rope_utils import ROPE_INIT_FUNCTIONS

    sizes = Sizes(width=128, heads=2, base=base)
    keys = {
        "llama.rope.scaling.type": "yarn",
        "llama.rope.scaling.factor": factor,
        "llama.rope.scaling.original_context_length": trained,
    }
    file = open_gguf(written(tmp_path, sizes, Changes(keys))[0])
    rope = read_rope(file, "llama", 64, int(trained * factor))
    config = LlamaConfig(
        hidden_size=128,
        num_attention_heads=2,
        max_position_embeddings=int(trained * factor),
        rope_parameters={
            "rope_type": "yarn",
            "rope_theta": base,
            "factor": factor,
            "original_max_position_embeddings": trained,
        },
    )
    rates, gain = ROPE_INIT_FUNCTIONS["yarn"](config, "cpu")
    assert np.allclose(rope.rates, rates.numpy(), rtol=1e-5)
    assert rope.gain == pytest.approx(gain)


@pytest.mark.parametrize("kind", ["longrope", "su", "dynamic"])
def test_another_kind_of_scaling_is_refused_by_name(tmp_path: Path, kind: str) -> None:
    with pytest.raises(GgufUnsupported, match=rf"rope\.scaling\.type is '{kind}'.*none, linear"):
        config_of(tmp_path, Changes({"llama.rope.scaling.type": kind}))


# --- numbers that make no sense -------------------------------------------------------------


WRONG: dict[str, tuple[dict[str, object], type[PhoticError], str]] = {
    "no layers": ({"block_count": 0}, GgufCorrupt, "block_count is 0, expected 1 to"),
    "no width": ({"embedding_length": 0}, GgufCorrupt, "embedding_length is 0"),
    "no context": ({"context_length": 0}, GgufCorrupt, "context_length is 0"),
    "a context below 0": ({"context_length": -1}, GgufCorrupt, "context_length is -1"),
    "a huge context": ({"context_length": 1 << 60}, GgufCorrupt, "context_length is 115292"),
    "no heads": ({"attention.head_count": 0}, GgufCorrupt, "head_count is 0"),
    "heads that do not share the width": (
        {"attention.head_count": 5, "attention.head_count_kv": 5},
        GgufCorrupt,
        "head_count is 5, expected a divisor of the width, 64",
    ),
    "no key heads": ({"attention.head_count_kv": 0}, GgufCorrupt, "head_count_kv is 0"),
    "key heads that do not share the heads": (
        {"attention.head_count_kv": 3},
        GgufCorrupt,
        "head_count_kv is 3, expected a divisor of the 4 heads",
    ),
    "more key heads than heads": ({"attention.head_count_kv": 8}, GgufCorrupt, "kv is 8"),
    "an odd head": (
        {"attention.key_length": 15, "attention.value_length": 15},
        GgufUnsupported,
        "the size of a head is 15; supported: even",
    ),
    "values of another size": (
        {"attention.value_length": 8},
        GgufUnsupported,
        "value_length is 8; supported: 16",
    ),
    "an odd number of turned values": (
        {"rope.dimension_count": 7},
        GgufUnsupported,
        "dimension_count is 7; supported: even numbers up to 16",
    ),
    "more turned values than a head has": (
        {"rope.dimension_count": 18},
        GgufUnsupported,
        "dimension_count is 18; supported: even numbers up to 16",
    ),
    "an epsilon that is no number": (
        {"attention.layer_norm_rms_epsilon": float("nan")},
        GgufCorrupt,
        "epsilon is nan",
    ),
    "a base below 0": ({"rope.freq_base": -1.0}, GgufCorrupt, "freq_base is -1.0"),
    "an infinite base": ({"rope.freq_base": float("inf")}, GgufCorrupt, "freq_base is inf"),
    "a factor below 0": ({"rope.scaling.factor": -2.0}, GgufCorrupt, "factor is -2.0"),
    "a missing number": ({"feed_forward_length": None}, GgufCorrupt, "forward_length is missing"),
    "a number as text": ({"block_count": "1"}, GgufCorrupt, "block_count is of type string"),
    "experts": ({"expert_count": 8}, GgufUnsupported, "expert_count is '8'; supported: 0"),
    "a window below 0": ({"attention.sliding_window": -1}, GgufCorrupt, "sliding_window is -1"),
    "a list of windows for other layers": (
        {"attention.sliding_window": 4, "attention.sliding_window_pattern": [True, False]},
        GgufCorrupt,
        "sliding_window_pattern is 2 long, expected 1, one a layer",
    ),
    "a scale of 0": ({"attention.scale": 0.0}, GgufCorrupt, "attention.scale is 0.0"),
    "an unknown key": ({"new_trick": 1}, GgufUnsupported, "a key of llama is 'llama.new_trick'"),
}


@pytest.mark.parametrize("keys, error, message", WRONG.values(), ids=WRONG)
def test_numbers_without_sense_are_refused_by_name(
    tmp_path: Path, keys: dict[str, object], error: type[PhoticError], message: str
) -> None:
    with pytest.raises(error, match=message):
        config_of(tmp_path, Changes({f"llama.{key}": value for key, value in keys.items()}))


def test_keys_that_ask_for_nothing_are_let_pass(tmp_path: Path) -> None:
    keys = {
        "general.type": "model",
        "llama.vocab_size": 40,
        "llama.expert_count": 0,
        "llama.attention.causal": True,
        "llama.rope.scaling.finetuned": False,
        "llama.logit_scale": 1.0,
    }
    assert config_of(tmp_path, Changes(keys)) == config_of(tmp_path, Changes())


def test_another_architecture_is_refused_by_name(tmp_path: Path) -> None:
    with pytest.raises(
        GgufUnsupported, match="the architecture is 'gpt2'; supported: llama, qwen2"
    ):
        config_of(tmp_path, Changes(architecture="gpt2"))


def test_an_adapter_and_a_part_of_a_model_are_refused(tmp_path: Path) -> None:
    with pytest.raises(GgufUnsupported, match=r"general\.type is 'adapter'"):
        config_of(tmp_path, Changes({"general.type": "adapter"}))
    with pytest.raises(GgufUnsupported, match=r"split\.count is '3'"):
        config_of(tmp_path, Changes({"split.count": 3}))


# --- tensors that are missing, misshapen or too many ----------------------------------------


@pytest.mark.parametrize("name", sorted(set(shapes(Sizes())) - {"output.weight"}))
def test_a_missing_tensor_is_named(tmp_path: Path, name: str) -> None:
    with pytest.raises(ModelIncomplete, match=rf"tensor '{name}' of shape \(.*\) is missing"):
        building(tmp_path, Changes(tensors={name: None}))


@pytest.mark.parametrize("name", sorted(shapes(Sizes())))
def test_a_misshapen_tensor_is_named_with_both_shapes(tmp_path: Path, name: str) -> None:
    right = shapes(Sizes())[name]
    wrong = (*right[:-1], right[-1] + 32)
    message = rf"tensor '{name}' has the shape \({wrong[0]},.*\), expected \({right[0]},"
    if name == "token_embd.weight":  # its rows are the vocabulary, where there is no tokenizer
        message = rf"tensor '{name}' has the shape \(40, 96\), expected \(40, 64\)"
    with pytest.raises(ModelIncomplete, match=message):
        building(tmp_path, Changes(tensors={name: np.ones(wrong, np.float32)}))


def test_a_matrix_of_the_right_size_and_the_wrong_way_round_is_refused(tmp_path: Path) -> None:
    turned = random_tensors(Sizes())["blk.0.ffn_down.weight"].T.copy()
    with pytest.raises(ModelIncomplete, match=r"shape \(96, 64\), expected \(64, 96\)"):
        building(tmp_path, Changes(tensors={"blk.0.ffn_down.weight": turned}))


def test_an_embedding_must_have_a_row_for_each_token(tmp_path: Path) -> None:
    tokens = {"tokenizer.ggml.tokens": [f"t{number}" for number in range(41)]}
    with pytest.raises(ModelIncomplete, match=r"shape \(40, 64\), expected \(41, 64\)"):
        building(tmp_path, Changes(tokens))


@pytest.mark.parametrize(
    "name",
    ["blk.1.attn_q.weight", "blk.0.attn_q_norm.weight", "blk.0.attn_norm.bias", "mystery.weight"],
)
def test_a_tensor_that_nothing_uses_is_refused_by_name(tmp_path: Path, name: str) -> None:
    extra = {name: np.ones(64, np.float32)}
    with pytest.raises(GgufUnsupported, match=rf"a tensor is '{name}'; supported: the tensors of"):
        building(tmp_path, Changes(tensors=extra))


def test_a_block_type_that_is_not_unpacked_is_refused_by_name(tmp_path: Path) -> None:
    types = {"blk.0.ffn_up.weight": Type.MXFP4}
    with pytest.raises(GgufUnsupported, match="the block type is MXFP4"):
        building(tmp_path, Changes(types=types))
