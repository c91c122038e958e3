"""A session keeps keys and values as it is told, each way with a compiled program of its own."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from language.tiny_llama import Changes, Sizes, random_tensors, write, write_talking

from photic.base.errors import BadArgument
from photic.frontends.errors import GgufCorrupt
from photic.frontends.gguf.reader import open_gguf
from photic.language.caches import PRECISIONS
from photic.language.config import read_config
from photic.language.session import Session, open_session
from photic.tensor import precision

# Eleven bits of a float16, of values near 1; logits up to 10.
HALF = 0.05
EIGHT_BITS = 0.4


def opened(path: Path, **options: str) -> Session:
    return open_session(path, context=None, progress=lambda *one: None, **options)


def test_each_kind_of_cache_has_a_program_of_its_own(tmp_path: Path) -> None:
    path = tmp_path / "tiny.gguf"
    write_talking(path)
    ids = [3, 4, 5, 6, 7]
    wide, narrow = (opened(path, cache=one, precision="exact") for one in ("auto", "float16"))
    assert wide.program.states["blk.0.keys"].dtype == np.float32
    assert narrow.program.states["blk.0.keys"].dtype == np.float16
    apart = np.abs(narrow.logits(ids) - wide.logits(ids)).max()
    assert 0 < apart < HALF
    again = opened(path, precision="exact")
    assert np.array_equal(again.logits(ids), wide.logits(ids))


def test_the_default_rounds_caches_and_products_of_many_tokens(tmp_path: Path) -> None:
    path = tmp_path / "tiny.gguf"
    write_talking(path)
    usual, exact = opened(path), opened(path, precision="exact")
    assert usual.program.states["blk.0.keys"].dtype == np.dtype("bfloat16")
    for count in (5, 40):
        ids = [3 + k % 5 for k in range(count)]
        apart = np.abs(usual.logits(ids) - exact.logits(ids)).max()
        assert 0 < apart < EIGHT_BITS


def test_a_session_refuses_another_kind_of_cache(tmp_path: Path) -> None:
    path = tmp_path / "tiny.gguf"
    write_talking(path)
    with pytest.raises(BadArgument, match="cache is int4, expected float32, float16, bfloat16"):
        opened(path, cache="int4")


def test_a_session_refuses_another_precision_before_it_looks_for_the_model(tmp_path: Path) -> None:
    with pytest.raises(BadArgument, match="precision is int4, expected bf16, int8, int16, exact"):
        opened(tmp_path / "none.gguf", precision="int4")


def test_the_precisions_are_those_of_the_compiler() -> None:
    assert sorted(PRECISIONS) == sorted(precision.PRECISIONS)


def test_yarn_over_pairs_that_all_turn_alike_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "tiny.gguf"
    keys: dict[str, object] = {
        "llama.rope.freq_base": 1.0,
        "llama.rope.scaling.type": "yarn",
        "llama.rope.scaling.factor": 2.0,
    }
    write(path, Sizes(), random_tensors(Sizes()), Changes(keys))
    with pytest.raises(GgufCorrupt, match="freq_base is 1, expected another number"):
        read_config(open_gguf(path))
