"""Candidates as trials: what kernels are given, also where one sees a buffer with merged axes."""

from __future__ import annotations

import random

import pytest
from search.spaces import require_right, works_of

import photic as ph
from photic.search.choosing import randomly, replaying
from photic.search.space import AS_WRITTEN, build, space_of
from photic.targets.registry import target_named
from photic.tuning.candidate import table_of


@pytest.mark.parametrize("seed", range(3))
def test_kernels_as_written_pass_the_check_where_one_merges_axes_that_another_does_not(
    seed: int,
) -> None:
    x = ph.input("x", (3, 6, 8))
    tall = ph.pad(x, ((0, 0), (1, 1), (0, 0)))
    y = ph.exp2(ph.cumsum(tall, axis=1)) * 0.5
    (work,) = works_of({"y": y, "turned": ph.permute(y, (1, 2, 0))})
    target = target_named("c")
    choose = replaying({"kernels": AS_WRITTEN}, randomly(random.Random(seed)))
    made = build(space_of(work, target.machine(), ()), choose)
    names = [one.name for one in table_of(made.nests)]
    assert len(made.choices) > 1 and len(names) == len(set(names))
    require_right(work, made)
