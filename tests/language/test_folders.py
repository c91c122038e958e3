"""Hugging Face folders: a session from one, and what is refused by name."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from language.test_folders_tokenizer import byte_level
from language.test_folders_tokenizer import write as write_tokenizer

from photic.base.errors import PhoticError
from photic.frontends.errors import FolderBroken, FolderUnsupported
from photic.frontends.huggingface import is_folder, open_folder
from photic.frontends.safetensors import write_safetensors
from photic.language.config import read_config
from photic.language.decoder import build
from photic.language.errors import ModelIncomplete
from photic.language.sampling import SamplingOptions
from photic.language.session import open_session
from photic.storage.errors import FileUnreadable, TensorFileCorrupt

Table = dict[str, object]
WIDTH, HIDDEN, HEADS, VOCABULARY = 32, 48, 4, 330
CONFIG: Table = {
    "model_type": "qwen2",
    "hidden_size": WIDTH,
    "intermediate_size": HIDDEN,
    "num_hidden_layers": 1,
    "num_attention_heads": HEADS,
    "num_key_value_heads": 2,
    "max_position_embeddings": 64,
    "rms_norm_eps": 1e-5,
    "vocab_size": VOCABULARY,
    "tie_word_embeddings": True,
}
LAYER = {
    "self_attn.q_proj.weight": (WIDTH, WIDTH),
    "self_attn.k_proj.weight": (WIDTH // 2, WIDTH),
    "self_attn.v_proj.weight": (WIDTH // 2, WIDTH),
    "self_attn.o_proj.weight": (WIDTH, WIDTH),
    "mlp.gate_proj.weight": (HIDDEN, WIDTH),
    "mlp.up_proj.weight": (HIDDEN, WIDTH),
    "mlp.down_proj.weight": (WIDTH, HIDDEN),
    "input_layernorm.weight": (WIDTH,),
    "post_attention_layernorm.weight": (WIDTH,),
}
SHAPES = {
    "model.embed_tokens.weight": (VOCABULARY, WIDTH),
    "model.norm.weight": (WIDTH,),
    **{f"model.layers.0.{name}": shape for name, shape in LAYER.items()},
}


def arrays() -> dict[str, np.ndarray]:
    rng = np.random.default_rng(0)
    return {name: rng.standard_normal(shape).astype(np.float32) for name, shape in SHAPES.items()}


def write(path: Path, config: Table | None = None, **changes: np.ndarray | None) -> Path:
    """A folder; config keys and tensors replaced, or left out where None."""
    table = {**CONFIG, **(config or {})}
    kept = {key: value for key, value in table.items() if value is not None}
    (path / "config.json").write_text(json.dumps(kept))
    held = {**arrays(), **changes}
    write_safetensors(
        path / "model.safetensors", {name: one for name, one in held.items() if one is not None}
    )
    return path


def building(path: Path) -> None:
    folder = open_folder(path)
    build(folder, read_config(folder), 32, 8)


# --- right folders --------------------------------------------------------------------------


def test_a_session_answers_from_a_folder_and_keeps_its_program(tmp_path: Path) -> None:
    path = write_tokenizer(write(tmp_path), byte_level())
    answers: list[str] = []
    stages: list[str] = []
    for _ in range(2):
        stages.clear()
        session = open_session(path, context=32, progress=lambda *one: stages.append(one[0]))
        pieces = session.generate(
            "the fox", system=None, raw=True, max_tokens=5, sampling=SamplingOptions(), stops=()
        )
        answers.append("".join(pieces))
    assert answers[0] == answers[1]
    assert session.stats.generated_tokens == 5
    assert stages == []  # the second one compiled nothing


def test_links_into_a_store_are_followed_as_the_hubs_cache_has_them(tmp_path: Path) -> None:
    (tmp_path / "blobs").mkdir()
    made = write(tmp_path / "blobs")
    snapshot = tmp_path / "snapshots" / "main"
    snapshot.mkdir(parents=True)
    for one in made.iterdir():
        (snapshot / one.name).symlink_to(Path("../../blobs") / one.name)
    assert is_folder(snapshot)
    building(snapshot)


def test_a_missing_head_is_the_embedding_also_where_nothing_ties_them(tmp_path: Path) -> None:
    building(write(tmp_path, {"tie_word_embeddings": False}))


# --- configs --------------------------------------------------------------------------------


WRONG: dict[str, tuple[Table, type[PhoticError], str]] = {
    "another model": ({"model_type": "bert"}, FolderUnsupported, "model_type is 'bert'; supported"),
    "no model": ({"model_type": None}, FolderUnsupported, "model_type is missing; supported"),
    "no layers": (
        {"num_hidden_layers": 0},
        FolderBroken,
        r"config\.json: num_hidden_layers is 0, expected 1 to",
    ),
    "layers left out": (
        {"num_hidden_layers": None},
        FolderBroken,
        r"config\.json: num_hidden_layers is missing, expected a number",
    ),
    "a text for a number": ({"hidden_size": "32"}, FolderBroken, "hidden_size is '32', expected"),
    "a bool for a number": ({"hidden_size": True}, FolderBroken, "hidden_size is 'True', expected"),
    "key heads that do not share": (
        {"num_key_value_heads": 3},
        FolderBroken,
        "num_key_value_heads is 3, expected a divisor of the 4 heads",
    ),
    "another activation": ({"hidden_act": "relu"}, FolderUnsupported, "hidden_act is 'relu'; supp"),
    "quantised": (
        {"quantization_config": {"bits": 4}},
        FolderUnsupported,
        "quantization_config is .*; supported: none",
    ),
    "soft caps": ({"final_logit_softcapping": 30.0}, FolderUnsupported, "final_logit_softcapping"),
    "another rope": (
        {"rope_scaling": {"rope_type": "dynamic", "factor": 2.0}},
        FolderUnsupported,
        "rope_scaling.rope_type is 'dynamic'; supported: default, linear",
    ),
    "a rope without its factor": (
        {"rope_scaling": {"type": "linear"}},
        FolderBroken,
        "rope_scaling.factor is missing, expected a number above 0",
    ),
    "a rope that is no object": ({"rope_scaling": 3}, FolderBroken, "rope_scaling is '3'"),
    "factors for another head": (
        {"rope_scaling": {"type": "su", "long_factor": [1.0], "short_factor": [1.0]}},
        FolderBroken,
        "rope_scaling.long_factor is '1 numbers', expected 4 numbers above 0",
    ),
    "an infinite epsilon": ({"rms_norm_eps": float("inf")}, FolderBroken, "rms_norm_eps is 'inf'"),
    "another kind of layer": (
        {"sliding_window": 4, "layer_types": ["chunked_attention"]},
        FolderUnsupported,
        "layer_types is 'chunked_attention'",
    ),
}


@pytest.mark.parametrize(("config", "error", "message"), WRONG.values(), ids=WRONG)
def test_a_config_without_sense_is_refused_by_its_own_key(
    tmp_path: Path, config: Table, error: type[PhoticError], message: str
) -> None:
    with pytest.raises(error, match=message):
        building(write(tmp_path, config))


@pytest.mark.parametrize("text", ["", "[]", "{", "nonsense", "[" * 100_000])
def test_a_config_that_is_no_object_is_refused(tmp_path: Path, text: str) -> None:
    write(tmp_path)
    (tmp_path / "config.json").write_text(text)
    with pytest.raises((FolderBroken, FileUnreadable), match=r"config\.json"):
        open_folder(tmp_path)


# --- weights --------------------------------------------------------------------------------


def test_a_missing_weight_is_named(tmp_path: Path) -> None:
    with pytest.raises(ModelIncomplete, match=r"tensor 'blk\.0\.ffn_up\.weight' .* is missing"):
        building(write(tmp_path, **{"model.layers.0.mlp.up_proj.weight": None}))


def test_a_weight_that_nothing_uses_is_refused(tmp_path: Path) -> None:
    more = {"model.layers.0.mlp.experts.weight": np.ones(3, np.float32)}
    with pytest.raises(FolderUnsupported, match=r"a tensor is 'model\.layers\.0\.mlp\.experts"):
        building(write(tmp_path, **more))


def test_weights_of_another_dtype_are_refused(tmp_path: Path) -> None:
    with pytest.raises(FolderUnsupported, match=r"output_norm\.weight is int8; supported: float32"):
        building(write(tmp_path, **{"model.norm.weight": np.ones(WIDTH, np.int8)}))


def test_a_folder_without_weights_is_refused(tmp_path: Path) -> None:
    write(tmp_path)
    (tmp_path / "model.safetensors").unlink()
    with pytest.raises(FileUnreadable, match=r"model\.safetensors"):
        open_folder(tmp_path)


def index(path: Path, places: object) -> Path:
    write(path)
    (path / "model.safetensors.index.json").write_text(json.dumps({"weight_map": places}))
    return path


PLACES: tuple[object, ...] = (
    "../secret.safetensors",
    "/etc/passwd",
    "a/b.safetensors",
    "a\\b.safetensors",
    "..",
    "model.bin",
    "",
    7,
)


@pytest.mark.parametrize("place", PLACES)
def test_a_part_outside_the_folder_is_refused(tmp_path: Path, place: object) -> None:
    with pytest.raises(FolderBroken, match=r"weight_map\."):
        open_folder(index(tmp_path, {"model.norm.weight": place}))


def test_a_part_that_lacks_its_tensor_is_refused(tmp_path: Path) -> None:
    with pytest.raises(FolderBroken, match="which does not hold it"):
        open_folder(index(tmp_path, {"mystery.weight": "model.safetensors"}))


def test_a_damaged_part_is_refused(tmp_path: Path) -> None:
    path = write(tmp_path) / "model.safetensors"
    path.write_bytes(b"\xff" * 8 + path.read_bytes()[8:])  # the header's length
    with pytest.raises(TensorFileCorrupt):
        open_folder(tmp_path)
