"""Kernels of the search for a CUDA device: those that the cost model thinks best, and a judge."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import photic as ph
from photic.compiler.compile import prepared
from photic.forms.candidate_check import Right, check
from photic.loops.target import Machine
from photic.search.choosing import randomly
from photic.search.cost import seconds
from photic.search.space import Candidate, build, space_of
from photic.search.work import Work
from photic.targets.cuda.dialect import DIALECT
from photic.targets.cuda.facts import machine_of
from photic.targets.measure import OutOfBounds, Trial
from photic.targets.process import Array
from photic.targets.registry import target_named
from photic.targets.trials import Trials
from photic.tensor.compiling import graph_of
from photic.tuning.candidate import is_small
from photic.tuning.partition import partition
from photic.tuning.trial import called, meaning_of, source_of

MACHINE = machine_of(108, 40 << 20)  # of an A100
DRAWN = 40  # candidates of a work


def winners(
    outputs: Mapping[str, ph.Tensor], machine: Machine = MACHINE
) -> Iterator[tuple[Work, Candidate]]:
    """For each group of kernels the fewest kernels, of those the fastest by prediction."""
    state = prepared(graph_of(outputs, {}), target_named("c"))
    for work in dict.fromkeys(one.work for one in partition(state.program)[1]):
        space, draw = space_of(work, machine, ()), randomly(random.Random(0))
        drawn = [one for one in (build(space, draw) for _ in range(DRAWN)) if is_small(one)]
        yield work, min(drawn, key=lambda one: (len(one.nests), seconds(one.nests, machine)))


@dataclass(frozen=True, slots=True)
class Here:
    """A worker in this process, called as one in another is."""

    worker: Trials

    def run(
        self,
        trial: Trial,
        buffers: Mapping[int, Array],
        sizes: Sequence[int],
        wanted: Sequence[int],
        seconds: float,
    ) -> dict[int, Array] | OutOfBounds:
        assert self.worker.build([trial]) == [""]
        return self.worker.run(trial, buffers, sizes, wanted)


def judged(work: Work, candidate: Candidate, worker: Trials) -> str:
    """What the check of the search finds wrong with a candidate, in float64; "" if nothing."""
    source = source_of(candidate, work, DIALECT)
    call = partial(called, Here(worker), source, work)
    found = check(meaning_of(work, candidate), {}, call, 0)
    return "" if isinstance(found, Right) else str(found)
