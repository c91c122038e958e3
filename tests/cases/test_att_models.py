"""ATT-01, ATT-03, ATT-04 for whole models: windows in chunks, a config's factors, head order."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from language.test_folders import write
from language.tiny_models import (
    TINY,
    VOCABULARY,
    evaluated,
    expected,
    model_of,
    write_folder,
    write_gguf,
)

from photic.forms.eval import evaluate_operand
from photic.frontends.gguf import open_gguf
from photic.frontends.huggingface import open_folder

IDS = [int(one) for one in np.random.default_rng(9).integers(0, VOCABULARY, 13)]
# Norms and rotations in float32 on one side; logits up to 10.
SAME = 2e-5
# Two ways of cutting the same float64 sums.
CUT = 1e-9


@pytest.mark.peers
@pytest.mark.parametrize("name", ["gemma3", "mistral with a window", "phi3 with LongRoPE"])
def test_att_01_a_prompt_in_chunks_is_the_prompt_in_one_pass(name: str, tmp_path: Path) -> None:
    folder = open_folder(write_folder(model_of(TINY[name]), tmp_path))
    whole = evaluated(folder, IDS, [13])[-1]
    for parts in ([4, 3, 3, 3], [1] * 13):
        assert np.abs(evaluated(folder, IDS, parts)[-1] - whole).max() < CUT


# Pair to divisor, for heads of 128, base 5e5, factor 8, low 1, high 4, 8192 trained tokens.
PUBLISHED = {0: 1.0, 28: 1.0, 29: 1.20748, 32: 2.69453, 34: 5.25733, 35: 8.0, 63: 8.0}


def test_att_03_a_config_of_llama_3_has_the_published_factors(tmp_path: Path) -> None:
    scaling = {
        "rope_type": "llama3",
        "factor": 8.0,
        "low_freq_factor": 1.0,
        "high_freq_factor": 4.0,
        "original_max_position_embeddings": 8192,
    }
    write(tmp_path, {"head_dim": 128, "rope_theta": 5e5, "rope_scaling": scaling})
    factors = evaluate_operand(open_folder(tmp_path).values("rope_freqs.weight").operand, {})
    assert factors.shape == (64,)
    for pair, divisor in PUBLISHED.items():
        assert factors[pair] == pytest.approx(divisor, rel=1e-5)


@pytest.mark.peers
@pytest.mark.parametrize("heads, kv_heads, width", [(8, 8, 64), (8, 4, 64), (8, 1, 64), (6, 3, 48)])
def test_att_04_a_folder_and_a_gguf_file_of_one_model_agree(
    tmp_path: Path, heads: int, kv_heads: int, width: int
) -> None:
    sizes = {"hidden_size": width, "num_attention_heads": heads, "num_key_value_heads": kv_heads}
    tiny = replace(TINY["llama"], changes=sizes)
    model = model_of(tiny)
    wanted = expected(model, IDS[:5])
    file = open_gguf(write_gguf(tiny, model, tmp_path / "tiny.gguf"))
    folder = open_folder(write_folder(model, tmp_path / "folder"))
    assert json.loads((folder.path / "config.json").read_text())["num_key_value_heads"] == kv_heads
    for source in (file, folder):
        assert np.abs(evaluated(source, IDS[:5], [5])[0] - wanted).max() < SAME
