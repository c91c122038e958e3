"""DET-01: the same request has the same answer in any slot, round and process; the seed counts.

A tiny model whose logits are close together, so that a difference in the last bits would show.
Requests "at once" are answers of one session read in turns, and sessions in threads.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from language.tiny_llama import write_talking

from photic.language.sampling import SamplingOptions
from photic.language.session import Session, open_session

CONTEXT = 256
SLOTS, ROUNDS = 8, 10
TOKENS = 8
PROMPT = "the sky is"
OTHERS = ("a", "another question, which is rather longer than the first one", "the sky is not")
GREEDY = SamplingOptions(temperature=0.0)
DRAWN = SamplingOptions(temperature=0.8, seed=42)


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("det") / "tiny.gguf"
    write_talking(path, context=CONTEXT)
    return path


@pytest.fixture(scope="module")
def session(model: Path) -> Session:
    return opened(model)


def opened(model: Path) -> Session:
    return open_session(model, context=None, progress=lambda stage, done, total: None)


def answering(
    session: Session, text: str = PROMPT, sampling: SamplingOptions = GREEDY
) -> Iterator[str]:
    return session.generate(
        text, system=None, raw=True, max_tokens=TOKENS, sampling=sampling, stops=()
    )


def in_turns(answers: list[Iterator[str]]) -> list[str]:
    """The answers' texts, a piece of each at a time."""
    texts, open_ = [""] * len(answers), list(range(len(answers)))
    while open_:
        for number in list(open_):
            piece = next(answers[number], None)
            if piece is None:
                open_.remove(number)
            else:
                texts[number] += piece
    return texts


def test_det_01_slots_of_one_session_give_one_text_alone_and_among_others(
    session: Session,
) -> None:
    alone = "".join(answering(session))
    assert alone
    for number in range(ROUNDS):
        mixed = [answering(session, OTHERS[number % len(OTHERS)])] if number % 2 else []
        texts = in_turns([*mixed, *(answering(session) for _ in range(SLOTS))])
        assert set(texts[len(mixed) :]) == {alone}


def test_det_01_sessions_in_threads_give_one_text(model: Path, session: Session) -> None:
    alone = "".join(answering(session))
    sessions = [opened(model) for _ in range(SLOTS)]
    with ThreadPoolExecutor(SLOTS) as threads:
        for _ in range(2):
            texts = threads.map(lambda one: "".join(answering(one)), sessions)
            assert set(texts) == {alone}


def test_det_01_the_same_seed_draws_the_same_text_and_another_seed_another(
    session: Session,
) -> None:
    first = "".join(answering(session, sampling=DRAWN))
    assert "".join(answering(session, sampling=DRAWN)) == first
    other = SamplingOptions(temperature=DRAWN.temperature, seed=DRAWN.seed + 1)
    assert "".join(answering(session, sampling=other)) != first


@pytest.mark.parametrize("sampling", [GREEDY, DRAWN], ids=["greedy", "drawn"])
def test_det_01_what_the_caches_hold_changes_nothing(
    model: Path, session: Session, sampling: SamplingOptions
) -> None:
    fresh = "".join(answering(opened(model), sampling=sampling))
    for before in (PROMPT, f"{PROMPT} blue", PROMPT[:5], OTHERS[1]):
        assert "".join(answering(session, before))
        assert "".join(answering(session, sampling=sampling)) == fresh


CODE = """
import sys
from pathlib import Path
from cases.test_det import answering, opened
print(ascii("".join(answering(opened(Path(sys.argv[1]))))))
"""


def test_det_01_fresh_processes_give_one_text_with_and_without_a_cache(
    model: Path, session: Session, tmp_path: Path
) -> None:
    tests = str(Path(__file__).resolve().parent.parent)
    seen = {ascii("".join(answering(session)))}
    for cache, seed in (("a", "1"), ("a", "2")):
        environment = {**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": tests}
        environment["PHOTIC_CACHE"] = str(tmp_path / cache)
        command = [sys.executable, "-c", CODE, str(model)]
        done = subprocess.run(command, capture_output=True, text=True, env=environment, check=True)
        seen.add(done.stdout.strip())
    assert len(seen) == 1
