"""Every architecture from folders and GGUF files: logits are those of transformers.

The graphs are evaluated in float64, so that a difference is one of meaning; what is left is what
transformers rounds to float32 in norms and rotations. One model a kind of cache is compiled.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from language.tiny_models import (
    CHUNK,
    CONTEXT,
    TINY,
    VOCABULARY,
    Float,
    Tiny,
    evaluated,
    expected,
    model_of,
    write_folder,
    write_gguf,
)

import photic as ph
from photic.base.errors import BadArgument
from photic.frontends.gguf import open_gguf
from photic.frontends.huggingface import open_folder
from photic.frontends.model_file import ModelFile
from photic.language.caches import CACHES
from photic.language.config import read_config
from photic.language.decoder import build

pytestmark = pytest.mark.peers

IDS = [int(one) for one in np.random.default_rng(5).integers(0, VOCABULARY, 13)]
PARTS = (5, 1, 7)
ENDS = (5, 6, 13)
# Norms and rotations in float32 on one side; logits up to 10.
SAME = 2e-5
# Everything in float32.
COMPILED = 2e-4
# Keys and values rounded to so many bits, of values near 1; logits up to 10.
ROUNDED = {"float16": 0.01, "bfloat16": 0.1, "int8": 0.15}


def ends(tiny: Tiny) -> Float:
    model = model_of(tiny)
    return np.stack([expected(model, IDS[:end]) for end in ENDS])


@pytest.mark.parametrize("name", TINY)
def test_a_folder_gives_the_logits_of_transformers(name: str, tmp_path: Path) -> None:
    folder = open_folder(write_folder(model_of(TINY[name]), tmp_path))
    assert np.abs(evaluated(folder, IDS, PARTS) - ends(TINY[name])).max() < SAME


@pytest.mark.parametrize("name", [name for name, one in TINY.items() if one.gguf])
def test_a_gguf_file_gives_the_logits_of_transformers(name: str, tmp_path: Path) -> None:
    tiny = TINY[name]
    file = open_gguf(write_gguf(tiny, model_of(tiny), tmp_path / "tiny.gguf"))
    assert np.abs(evaluated(file, IDS, PARTS) - ends(tiny)).max() < SAME


def test_shards_give_what_one_file_gives(tmp_path: Path) -> None:
    model = model_of(TINY["qwen3"])
    whole = open_folder(write_folder(model, tmp_path / "whole"))
    shards = open_folder(write_folder(model, tmp_path / "shards", shard="20KB"))
    assert len(list((tmp_path / "shards").glob("*.safetensors"))) > 1
    assert np.array_equal(evaluated(whole, IDS, [13]), evaluated(shards, IDS, [13]))


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_half_weights_are_read_as_they_are(dtype: str, tmp_path: Path) -> None:
    import torch

    tiny = TINY["gemma3"]
    model = model_of(tiny)
    for one in model.parameters():
        one.data = one.to(getattr(torch, dtype)).double()
    folder = open_folder(write_folder(model, tmp_path, dtype=dtype))
    assert np.abs(evaluated(folder, IDS, [13])[0] - expected(model, IDS)).max() < SAME


# --- caches ---------------------------------------------------------------------------------


@pytest.mark.parametrize("cache", [one for one in CACHES if one != "float32"])
def test_a_narrow_cache_costs_what_its_bits_say(cache: str, tmp_path: Path) -> None:
    folder = open_folder(write_folder(model_of(TINY["qwen3"]), tmp_path))
    narrow = evaluated(folder, IDS, PARTS, cache=cache)
    difference = np.abs(narrow - ends(TINY["qwen3"])).max()
    assert SAME < difference < ROUNDED[cache]


def test_a_cache_of_another_kind_is_refused(tmp_path: Path) -> None:
    folder = open_folder(write_folder(model_of(TINY["qwen3"]), tmp_path))
    with pytest.raises(BadArgument, match="cache is int4, expected float32, float16"):
        build(folder, read_config(folder), CONTEXT, CHUNK, cache="int4")


# --- compiled -------------------------------------------------------------------------------


def program_of(file: ModelFile, cache: str) -> ph.Program:
    model = build(file, read_config(file), CONTEXT, CHUNK, cache=cache)
    return ph.compile({"logits": model.logits}, model.updates, search=0)


@pytest.mark.parametrize(
    ("name", "cache"),
    [("gemma3", "float32"), ("phi3 with LongRoPE", "float32"), ("qwen2", "int8")],
)
def test_compiled_steps_give_what_the_evaluator_gives(
    name: str, cache: str, tmp_path: Path
) -> None:
    folder = open_folder(write_folder(model_of(TINY[name]), tmp_path))
    wanted = evaluated(folder, IDS, PARTS, cache=cache)
    program = program_of(folder, cache)
    # The cache held another text before, which must not show.
    for state in program.states.values():
        state[...] = 77 if state.dtype == np.int8 else np.nan
    past = 0
    for count, logits in zip(PARTS, wanted, strict=True):
        ids = np.asarray(IDS[past : past + count])
        (found,) = program(ids=ids, past=past, answers=1)["logits"]
        assert np.abs(found - logits).max() < (COMPILED if cache == "float32" else ROUNDED[cache])
        past += count
