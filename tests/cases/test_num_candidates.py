"""The cases of ``test_num_tensor`` once more, with random candidates of the search as kernels.

A rule, a plan or a register tile that breaks one of them would break it here. Every test is that
of the other file, with another way to run a program.
"""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from cases import test_num_tensor
from cases.candidates import drawn
from cases.test_num_tensor import Arrays, Run

import photic as ph

SEEDS = range(2)

globals().update(
    {name: one for name, one in vars(test_num_tensor).items() if name.startswith("test_")}
)


@pytest.fixture(params=SEEDS, ids=lambda seed: f"candidates {seed}")
def run(request: pytest.FixtureRequest) -> Run:
    programs: dict[tuple[ph.Tensor, ...], ph.Program] = {}

    def answer(outputs: Mapping[str, ph.Tensor], given: Arrays, **sizes: int) -> Arrays:
        key = tuple(map(id, outputs.values()))
        if key not in programs:
            programs[key] = drawn(outputs, request.param)
        return programs[key](**given, **sizes)

    return answer
