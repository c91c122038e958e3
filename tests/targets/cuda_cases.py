"""CUDA texts where there is no device: programs as planned for known devices, and winners of the
search as its cost model has them, with a judge.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

import photic as ph
from photic.codegen.dialect import Dialect
from photic.compiler.compile import prepared
from photic.forms.candidate_check import Right, check
from photic.ir.graph import Graph
from photic.loops.target import Machine
from photic.search.choosing import randomly
from photic.search.cost import seconds
from photic.search.space import Candidate, build, space_of
from photic.search.work import Work
from photic.targets.binaries import group_machine_of
from photic.targets.cuda.device import TARGET
from photic.targets.cuda.dialect import DIALECT
from photic.targets.launches import parted
from photic.targets.measure import OutOfBounds, Trial
from photic.targets.process import Array
from photic.targets.registry import target_named
from photic.targets.trials import Trials
from photic.tensor.artifacts import make_artifact
from photic.tensor.compiling import graph_of
from photic.tuning.candidate import is_small
from photic.tuning.partition import partition
from photic.tuning.trial import called, meaning_of, source_of

# multiprocessors and cache of an A100 and of an H100
MACHINES = {"sm_80": group_machine_of(108, 40 << 20), "sm_90": group_machine_of(132, 50 << 20)}
MACHINE = MACHINES["sm_80"]
DRAWN = 40  # candidates of a work


def text_of(graph: Graph, architecture: str) -> str:
    """The kernels of a program for a device of a kind, as planned; nothing is measured."""
    known = partial(MACHINES.get, architecture, MACHINE)
    target = replace(TARGET, machine=known, key=lambda: f"cuda {architecture}")
    return parted(make_artifact(graph, target).source)[0]


def winner_texts(
    outputs: Mapping[str, ph.Tensor], architecture: str, dialect: Dialect = DIALECT
) -> Iterator[str]:
    """The kernels of the winners of each group."""
    for work, candidate in winners(outputs, MACHINES[architecture]):
        yield parted(source_of(candidate, work, dialect).text)[0]


def winners(
    outputs: Mapping[str, ph.Tensor], machine: Machine = MACHINE
) -> Iterator[tuple[Work, Candidate]]:
    """For each group of kernels the fewest kernels, of those the fastest by prediction."""
    state = prepared(graph_of(outputs, {}), target_named("c"))
    for work in dict.fromkeys(one.work for one in partition(state.program)[1]):
        space, draw = space_of(work, machine, ()), randomly(random.Random(0))
        drawn = [one for one in (build(space, draw) for _ in range(DRAWN)) if is_small(one)]
        yield work, min(drawn, key=lambda one: (len(one.nests), seconds(one.nests, machine)))


def drawn_candidates(
    outputs: Mapping[str, ph.Tensor], count: int
) -> Iterator[tuple[Work, Candidate]]:
    """Random candidates of each group of kernels."""
    state = prepared(graph_of(outputs, {}), target_named("c"))
    for work in dict.fromkeys(one.work for one in partition(state.program)[1]):
        space, draw = space_of(work, MACHINE, ()), randomly(random.Random(0))
        for _ in range(count):
            if is_small(made := build(space, draw)):
                yield work, made


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
