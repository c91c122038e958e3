"""Layers with a window keep a ring of rows: the same logits as with all rows, in less memory.

The oracles are transformers, and a session of which every layer keeps the whole context.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from language.tiny_llama import Changes, write_talking
from language.tiny_models import (
    CHUNK,
    CONTEXT,
    TINY,
    VOCABULARY,
    evaluated,
    expected,
    model_of,
    write_folder,
)

import photic as ph
from photic.frontends.huggingface import open_folder
from photic.frontends.model_file import ModelFile
from photic.language import decoder
from photic.language import session as session_module
from photic.language.caches import ring_rows
from photic.language.config import read_config
from photic.language.decoder import build
from photic.language.sampling import Sampler, SamplingOptions
from photic.language.session import CHUNK_TOKENS, Session, open_session
from photic.language.session_calls import chunks, room_in, rows_of

RING = 32  # of TINY's gemma3: a window of 4 and a chunk of 16, in whole chunks
IDS = [int(one) for one in np.random.default_rng(6).integers(0, VOCABULARY, 60)]
# As in test_architectures.py.
SAME, COMPILED = 2e-5, 2e-4
# The same sums in another order, in float32; logits up to 10.
REORDERED = 1e-4


# --- how many rows --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("window", "context", "rows"),
    [
        (512, 32768, 640),
        (512, 641, 640),
        (512, 640, 0),
        (1, 4096, 256),
        (128, 4096, 256),
        (0, 9, 0),
    ],
)
def test_a_ring_holds_window_and_chunk_where_the_context_is_more(
    window: int, context: int, rows: int
) -> None:
    assert ring_rows(window, context, 128) == rows


@pytest.mark.parametrize("size", [1, 5, 8, 16])
@pytest.mark.parametrize("past", [0, 3, 16, 31, 32])
def test_no_call_passes_the_end_of_a_ring(size: int, past: int) -> None:
    calls = chunks(range(50), size, past, RING)
    assert [one for call in calls for one in call.ids] == list(range(50))
    for call in calls:
        assert 1 <= len(call.ids) <= min(size, room_in(RING, past))
        past += len(call.ids)


# --- graphs ---------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def gemma(tmp_path_factory: pytest.TempPathFactory) -> ModelFile:
    return open_folder(write_folder(model_of(TINY["gemma3"]), tmp_path_factory.mktemp("gemma")))


@pytest.mark.peers
@pytest.mark.parametrize("parts", [(16, 16, 16, 12), (7, 16, 9, 1, 16, 11)])
def test_a_text_of_several_rings_has_the_logits_of_transformers(
    gemma: ModelFile, parts: tuple[int, ...]
) -> None:
    model = model_of(TINY["gemma3"])
    wanted = np.stack([expected(model, IDS[:end]) for end in np.cumsum(parts)])
    assert np.abs(evaluated(gemma, IDS, parts) - wanted).max() < SAME


@pytest.mark.peers
def test_a_call_that_passes_the_end_gives_no_numbers(gemma: ModelFile) -> None:
    found = evaluated(gemma, IDS, (16, 15, 2, 7))
    assert np.isfinite(found[:2]).all() and np.isnan(found[2]).all()


@pytest.mark.peers
@pytest.mark.parametrize("cache", ["float32", "int8"])
def test_compiled_rings_are_small_and_show_nothing_of_an_older_text(
    gemma: ModelFile, cache: str
) -> None:
    config, parts = read_config(gemma), (16, 16, 16, 12)
    model = build(gemma, config, CONTEXT, CHUNK, cache=cache)
    program = ph.compile({"logits": model.logits}, model.updates, search=0)
    for number, window in enumerate(config.windows):
        rows = program.states[f"blk.{number}.keys"].shape[1]
        assert rows == (RING if window else CONTEXT) + CHUNK
    for one in program.states.values():
        one[...] = 77 if one.dtype == np.int8 else np.nan
    wanted, past = evaluated(gemma, IDS, parts, cache=cache), 0
    for count, logits in zip(parts, wanted, strict=True):
        (got,) = program(ids=np.asarray(IDS[past : past + count]), past=past, answers=1)["logits"]
        assert np.abs(got - logits).max() < (COMPILED if cache == "float32" else 1e-2)
        past += count


# --- sessions -------------------------------------------------------------------------------

WINDOW, LONG = 32, 512
SESSION_RING = 2 * CHUNK_TOKENS


def opened(path: Path, context: int, speculative: int = 0) -> Session:
    return open_session(path, context=context, progress=lambda *one: None, speculative=speculative)


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("rings") / "tiny.gguf"
    write_talking(path, Changes({"llama.attention.sliding_window": WINDOW}), context=LONG)
    return path


@pytest.fixture(scope="module")
def ringed(path: Path) -> Session:
    session = opened(path, LONG)
    assert session.program.states["blk.0.keys"].shape[1] == SESSION_RING + CHUNK_TOKENS
    return session


@pytest.fixture(scope="module")
def plain(path: Path) -> Iterator[Session]:
    """Of another context, so that it is another program that is kept."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(decoder, "ring_rows", lambda *_: 0)
        patch.setattr(session_module, "ring_rows", lambda *_: 0)
        session = opened(path, LONG - 1)
        assert session.program.states["blk.0.keys"].shape[1] == LONG - 1 + CHUNK_TOKENS
        yield session


@pytest.fixture(scope="module")
def text(ringed: Session) -> list[int]:
    rng = np.random.default_rng(1)
    return [int(one) for one in rng.integers(0, ringed.config.vocabulary, LONG - 20)]


@pytest.mark.parametrize("length", [1, 40, SESSION_RING, SESSION_RING + 1, LONG - 20])
def test_a_ring_changes_no_logit(
    ringed: Session, plain: Session, text: list[int], length: int
) -> None:
    wanted = plain.logits(text[:length])
    assert np.abs(ringed.logits(text[:length]) - wanted).max() < REORDERED
    assert np.abs(ringed.logits(text[:length], 37) - wanted).max() < REORDERED


@pytest.mark.parametrize("back", [470, 380, 300, 120, 10])
def test_a_shorter_text_is_fed_anew_where_its_rows_are_lost(
    ringed: Session, text: list[int], back: int
) -> None:
    ringed.forget()
    other = [*text[:back], 5, 7]
    wanted = ringed.logits(other)
    ringed.forget()
    ringed.logits(text)
    assert np.array_equal(ringed.logits(other), wanted)
    ringed.logits(text)
    list(ringed.resume(other, max_tokens=2, sampling=SamplingOptions(), stops=()))
    is_kept = len(text) - back <= SESSION_RING - WINDOW
    assert (ringed.stats.cached_tokens > 0) == is_kept


def test_drafts_change_no_token_at_the_end_of_a_ring(path: Path, ringed: Session) -> None:
    drafting = opened(path, LONG, speculative=6)
    prompt = [3, 4, 5] * 78  # so that drafts reach over the ring's end
    tokens = list(ringed.following(prompt, Sampler(SamplingOptions()), 60))
    assert list(drafting.following(prompt, Sampler(SamplingOptions()), 60)) == tokens
    assert rows_of(drafting._held) > SESSION_RING
