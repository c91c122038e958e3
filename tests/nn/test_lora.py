"""LoRA adapters on a tiny language model: what they compute, their files, merging, training."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from language.tiny_llama import Sizes, random_tensors, reference, write
from safetensors.numpy import load_file, save_file

import photic as ph
from photic import nn
from photic.base.errors import BadArgument
from photic.frontends.gguf.reader import open_gguf
from photic.frontends.huggingface import open_folder
from photic.language.adapters import LAYERS, adapting, lora_for, merged_file, merged_weights
from photic.language.config import read_config
from photic.language.decoder import build_training
from photic.nn.trainer_errors import AdapterUnusable

SIZES = Sizes(layers=2)
IDS = np.array([[1, 5, 2, 7, 7, 3], [0, 4, 9, 2, 8, 6]])
ALL = ("q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj")


def opened(folder: Path):
    """A model's file and config, and its weights."""
    held = write(folder / "model.gguf", SIZES, random_tensors(SIZES))
    file = open_gguf(folder / "model.gguf")
    return file, read_config(file), held


def made(file, options: nn.LoraOptions) -> nn.Lora:
    """Adapters whose B is not zero."""
    lora = lora_for(file, options, rng=1)
    rng = np.random.default_rng(2)
    state = {k: rng.standard_normal(v.shape) * 0.2 for k, v in lora.state_dict().items()}
    lora.load_state_dict(state)
    return lora


def logits(file, config, adapt=None) -> np.ndarray:
    ids = ph.input("ids", IDS.shape, "int64")
    program = ph.compile({"y": build_training(file, config, ids, adapt)}, search=0)
    return program(ids=IDS)["y"]


def merged_by_definition(held: dict[str, np.ndarray], lora: nn.Lora, scale: float):
    """The file's weights with ``scale B A`` added, queries' and keys' rows put in its order."""
    state, found = lora.state_dict(), dict(held)
    for layer in range(SIZES.layers):
        for part, name in LAYERS.items():
            key = f"base_model.model.model.layers.{layer}.{name}"
            if f"{key}.lora_A.weight" in state:
                product = scale * state[f"{key}.lora_B.weight"] @ state[f"{key}.lora_A.weight"]
                if part in ("attn_q", "attn_k"):
                    halves = product.reshape(-1, 2, SIZES.head // 2, product.shape[1])
                    product = halves.swapaxes(1, 2).reshape(product.shape)
                weight = f"blk.{layer}.{part}.weight"
                found[weight] = held[weight] + product.astype(np.float32)
    return found


def test_adapters_add_their_product_to_each_chosen_layer(tmp_path: Path) -> None:
    file, config, held = opened(tmp_path)
    lora = made(file, nn.LoraOptions(r=3, alpha=6, targets=ALL))
    weights = merged_by_definition(held, lora, 2.0)
    want = [reference(SIZES, weights, list(ids)).logits for ids in IDS]
    got = logits(file, config, adapting(file, config, lora))
    np.testing.assert_allclose(got, want, rtol=2e-4, atol=2e-4)
    plain = [reference(SIZES, held, list(ids)).logits for ids in IDS]
    assert np.abs(got - plain).max() > 0.1
    # float32 sums of a merged weight and of two products differ by rounding only
    merged = logits(merged_file(file, config, lora), config)
    np.testing.assert_allclose(merged, want, rtol=2e-4, atol=2e-4)


def test_new_adapters_change_nothing(tmp_path: Path) -> None:
    file, config, held = opened(tmp_path)
    lora = lora_for(file, nn.LoraOptions(), rng=0)
    got = logits(file, config, adapting(file, config, lora))
    want = [reference(SIZES, held, list(ids)).logits for ids in IDS]
    np.testing.assert_allclose(got, want, rtol=2e-4, atol=2e-4)


def test_merged_weights_are_those_of_the_model_as_published(tmp_path: Path) -> None:
    file, config, held = opened(tmp_path)
    lora = made(file, nn.LoraOptions(r=2, alpha=2, targets=("q_proj", "down_proj"), layers=(1,)))
    got = merged_weights(file, config, lora)
    name = "model.layers.1.self_attn.q_proj"
    assert sorted(got) == ["model.layers.1.mlp.down_proj.weight", f"{name}.weight"]
    pairs = held["blk.1.attn_q.weight"].reshape(-1, SIZES.head // 2, 2, SIZES.width)
    published = pairs.swapaxes(1, 2).reshape(-1, SIZES.width)
    state = lora.state_dict()
    product = np.matmul(*(state[f"base_model.model.{name}.lora_{one}.weight"] for one in "BA"))
    np.testing.assert_allclose(got[f"{name}.weight"], published + product, rtol=1e-6, atol=1e-6)


def test_training_moves_the_adapters_alone(tmp_path: Path) -> None:
    file, config, _ = opened(tmp_path)
    lora = lora_for(file, nn.LoraOptions(r=4, targets=("q_proj", "v_proj"), layers=(1,)), rng=0)
    before = lora.state_dict()

    def loss(model: nn.Lora, ids: ph.Tensor) -> ph.Tensor:
        found = build_training(file, config, ids, adapting(file, config, model))
        rows = (IDS.shape[0] * (IDS.shape[1] - 1), SIZES.vocabulary)
        return ph.cross_entropy(found[:, :-1].reshape(rows), ids[:, 1:].reshape(rows[:1]))

    trainer = nn.Trainer(lora, loss, nn.Adam(0.02), progress=False, search=0)
    outcome = trainer.fit([{"ids": IDS}], epochs=40)
    history = [one["train_loss"] for one in outcome.history]
    assert history[-1] < history[0] / 2
    assert set(trainer.step.parameters()) == set(before)
    assert all((before[name] != one).any() for name, one in lora.state_dict().items())


NORMS = {"attn_norm": "input_layernorm", "ffn_norm": "post_attention_layernorm"}
OTHERS = {"token_embd": "model.embed_tokens", "output_norm": "model.norm", "output": "lm_head"}


def write_folder(folder: Path, held: dict[str, np.ndarray]) -> Path:
    """The same model as Hugging Face has it."""
    config = {
        "model_type": "llama",
        "hidden_size": SIZES.width,
        "intermediate_size": SIZES.hidden,
        "num_hidden_layers": SIZES.layers,
        "num_attention_heads": SIZES.heads,
        "num_key_value_heads": SIZES.kv_heads,
        "vocab_size": SIZES.vocabulary,
        "rms_norm_eps": SIZES.epsilon,
        "rope_theta": SIZES.base,
        "max_position_embeddings": 64,
        "tie_word_embeddings": False,
        "hidden_act": "silu",
    }
    published = {}
    for key, array in held.items():
        name = key.removesuffix(".weight")
        _, _, part = name.partition(".")[2].partition(".")
        if part in ("attn_q", "attn_k"):
            pairs = array.reshape(-1, SIZES.head // 2, 2, array.shape[1])
            array = np.ascontiguousarray(pairs.swapaxes(1, 2).reshape(array.shape))
        if name.startswith("blk."):
            layer = f"model.layers.{name.split('.')[1]}."
            published[layer + (NORMS.get(part) or LAYERS[part]) + ".weight"] = array
        else:
            published[OTHERS[name] + ".weight"] = array
    folder.mkdir()
    (folder / "config.json").write_text(json.dumps(config))
    save_file(published, folder / "model.safetensors")
    return folder


def test_the_same_adapters_suit_a_gguf_file_and_a_folder_of_the_same_model(tmp_path: Path) -> None:
    file, config, held = opened(tmp_path)
    lora = made(file, nn.LoraOptions(r=2, alpha=4, targets=ALL))
    folder = open_folder(write_folder(tmp_path / "folder", held))
    assert lora_for(folder, lora.options, rng=0).state_dict().keys() == lora.state_dict().keys()
    own = read_config(folder)
    got = logits(folder, own, adapting(folder, own, lora))
    want = [
        reference(SIZES, merged_by_definition(held, lora, 2.0), list(ids)).logits for ids in IDS
    ]
    np.testing.assert_allclose(got, want, rtol=2e-4, atol=2e-4)
    assert sorted(merged_weights(folder, own, lora)) == sorted(merged_weights(file, config, lora))
    for name, array in merged_weights(folder, own, lora).items():
        np.testing.assert_allclose(array, merged_weights(file, config, lora)[name], atol=1e-5)


# --- files ----------------------------------------------------------------------------------


def test_an_adapters_file_has_the_names_of_peft(tmp_path: Path) -> None:
    file, _, _ = opened(tmp_path)
    lora = made(file, nn.LoraOptions(r=2, targets=("q_proj", "o_proj"), layers=(0,)))
    lora.save_adapter(tmp_path / "adapter", base_model="tiny")
    found = load_file(tmp_path / "adapter" / "adapter_model.safetensors")
    wide = SIZES.width
    assert {name: one.shape for name, one in found.items()} == {
        "base_model.model.model.layers.0.self_attn.q_proj.lora_A.weight": (2, wide),
        "base_model.model.model.layers.0.self_attn.q_proj.lora_B.weight": (wide, 2),
        "base_model.model.model.layers.0.self_attn.o_proj.lora_A.weight": (2, wide),
        "base_model.model.model.layers.0.self_attn.o_proj.lora_B.weight": (wide, 2),
    }
    config = json.loads((tmp_path / "adapter" / "adapter_config.json").read_text())
    assert config["peft_type"] == "LORA" and config["r"] == 2
    assert config["target_modules"] == ["q_proj", "o_proj"]


def test_what_is_read_back_is_what_was_saved(tmp_path: Path) -> None:
    file, _, _ = opened(tmp_path)
    options = nn.LoraOptions(
        r=2, alpha=5.0, targets=("v_proj",), layers=(1,), dropout=0.1, rslora=True
    )
    lora = made(file, options)
    lora.save_adapter(tmp_path)
    again = nn.load_adapter(tmp_path)
    assert again.options == options and again.names == lora.names
    for name, one in lora.state_dict().items():
        np.testing.assert_array_equal(again.state_dict()[name], one)
    scales = {again[name].scale for name in again.names}
    assert scales == {5.0 / np.sqrt(2)}


PLAIN = {"peft_type": "LORA", "r": 1, "lora_alpha": 1, "target_modules": ["a"]}
PAIR = {
    "base_model.model.a.lora_A.weight": np.ones((1, 4), np.float32),
    "base_model.model.a.lora_B.weight": np.ones((4, 1), np.float32),
}


@pytest.mark.parametrize(
    ("config", "arrays", "named"),
    [
        (PLAIN | {"use_dora": True}, PAIR, "use_dora"),
        (PLAIN | {"peft_type": "IA3"}, PAIR, "IA3"),
        (PLAIN | {"alpha_pattern": {"a": 3}}, PAIR, "alpha_pattern"),
        ({"peft_type": "LORA"}, PAIR, "options"),
        (PLAIN, {"base_model.model.a.lora_embedding_A": np.ones((1, 4))}, "lora_embedding_A"),
        (PLAIN, {"base_model.model.a.lora_A.weight": np.ones((1, 4))}, "without a B"),
        (PLAIN, {}, "without adapters"),
    ],
)
def test_adapters_of_another_kind_are_refused(
    tmp_path: Path, config: dict[str, object], arrays: dict[str, np.ndarray], named: str
) -> None:
    (tmp_path / "adapter_config.json").write_text(json.dumps(config))
    save_file(arrays, tmp_path / "adapter_model.safetensors")
    with pytest.raises(AdapterUnusable, match=named):
        nn.load_adapter(tmp_path)


def test_targets_that_name_no_layer_are_refused(tmp_path: Path) -> None:
    file, _, _ = opened(tmp_path)
    with pytest.raises(BadArgument, match="q_proj"):
        lora_for(file, nn.LoraOptions(targets=("query",)), rng=0)


def test_weights_are_merged_in_their_own_dtype() -> None:
    lora = nn.Lora({"a.b": (4, 3)}, nn.LoraOptions(r=1, alpha=2, targets=("b",)), rng=0)
    lora.load_state_dict({k: np.ones(v.shape) for k, v in lora.state_dict().items()})
    weights = {"a.b.weight": np.ones((4, 3), np.float16), "c": np.zeros(2)}
    got = lora.merged(weights)
    assert got["a.b.weight"].dtype == np.float16 and (got["a.b.weight"] == 3).all()
    assert got["c"] is weights["c"]
    with pytest.raises(BadArgument, match=r"a\.b\.weight"):
        lora.merged({})
