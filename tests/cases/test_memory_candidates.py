"""Cases of what kernels touch once more, with random candidates of the search as kernels.

ALI, DYN-03 and TIM-03 are the tests of other files with another ``ph.compile``. NUM-11 and REW-06
run in a worker: between guard words, on all that the check of candidates tries, at several sizes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import pytest
from cases import test_memory_compiled, test_tim_scatter
from cases.candidates import drawn, winner
from cases.test_rew_windows import windowed

import photic as ph
from photic.compiler.compile import prepared
from photic.forms.candidate_check import Arrays, Known, Right, Sizes, check, sizes_to_try
from photic.search.space import Candidate
from photic.search.work import Work
from photic.targets.process import Remote
from photic.targets.registry import target_named
from photic.tensor.compiling import graph_of
from photic.tuning.partition import partition, symbols_of
from photic.tuning.trial import called, meaning_of, source_of, trial_of

SEEDS = range(3)
AGAIN = ("test_ali_", "test_dyn_03_", "test_tim_03_")
SHAPES = ((66, 66, 8), (17, 5, 33), (9, 3, 65))
BUILD_SECONDS = 600.0
KNOWN: dict[str, Known] = {}  # by a work's text: what all its candidates are held to

globals().update(
    {
        name: one
        for module in (test_memory_compiled, test_tim_scatter)
        for name, one in vars(module).items()
        if name.startswith(AGAIN)
    }
)


@pytest.fixture(autouse=True, params=SEEDS, ids=lambda seed: f"candidates {seed}")
def seed(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> int:
    """Which random candidates ``ph.compile`` puts together."""
    number: int = request.param

    def compile(
        outputs: Mapping[str, ph.Tensor], updates: Mapping[ph.Tensor, ph.Tensor] | None = None
    ) -> ph.Program:
        return drawn(outputs, number, updates)

    monkeypatch.setattr(ph, "compile", compile, raising=False)
    return number


@pytest.fixture(scope="module")
def remote() -> Iterator[Remote]:
    with Remote(target_named("c").worker) as made:
        yield made


def middle(shape: tuple[int, ...]) -> dict[str, ph.Tensor]:
    x = ph.input("x", shape)
    return {"sum": ph.sum(x, axis=1), "max": ph.max(x, axis=1)}


def dilated() -> dict[str, ph.Tensor]:
    x, w = ph.input("x", (1, 4, 8, 8)), ph.input("w", (4, 2, 3, 3))
    return {"y": ph.relu(ph.input("scale", (4, 1, 1)) * windowed(x, w, 2, 1, 2))}


def scaled_shares() -> dict[str, ph.Tensor]:
    return {"y": ph.softmax(ph.input("x", (37, 45)) * (1 / 3))}


def causal() -> dict[str, ph.Tensor]:
    q, k, v = (ph.input(name, (2, 13, 8)) for name in "qkv")
    return {"y": ph.attention(q, k, v, causal=True)}


PROGRAMS = {
    **{f"num_11 {shape}": middle(shape) for shape in SHAPES},
    "rew_06": dilated(),
    "num_01": scaled_shares(),
    "att_01": causal(),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_candidates_are_right_between_guard_words(name: str, seed: int, remote: Remote) -> None:
    target = target_named("c")
    state = prepared(graph_of(PROGRAMS[name], {}), target)
    for text, work in {one.work.text(): one.work for one in partition(state.program)[1]}.items():
        candidate = winner(work, state.machine, seed).candidate
        require_right(candidate, work, remote, KNOWN.setdefault(text, {}))


def require_right(candidate: Candidate, work: Work, remote: Remote, known: Known) -> None:
    source = source_of(candidate, work, target_named("c").dialect)
    tried = sizes_to_try(symbols_of(work))
    assert remote.build([trial_of(source, work, tried[0])], BUILD_SECONDS) == [None]

    def call(arrays: Arrays, sizes: Sizes) -> Arrays | str:
        return called(remote, source, work, arrays, sizes)

    for sizes in tried:
        found = check(meaning_of(work, candidate), sizes, call, 0, known)
        assert isinstance(found, Right), found
