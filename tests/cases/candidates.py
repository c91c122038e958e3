"""Programs of which every kernel is a candidate that the search might propose, drawn at random.

Nothing is measured or judged: a case that holds for these holds for whatever the search keeps.
"""

from __future__ import annotations

import random
from collections.abc import Mapping

import photic as ph
from photic.compiler.compile import prepared
from photic.compiler.passes import PASSES, Compilation
from photic.loops.target import Machine
from photic.search.choosing import Choose, randomly
from photic.search.space import build, space_of
from photic.search.work import Work
from photic.targets.registry import target_named
from photic.tensor.artifacts import finished
from photic.tensor.compiling import graph_of
from photic.tuning.candidate import is_small
from photic.tuning.drawing import recording
from photic.tuning.partition import partition
from photic.tuning.winners import Winner, apply_winners

TRIES = 20  # for a candidate whose scratch is small


def drawn(
    outputs: Mapping[str, ph.Tensor],
    seed: int,
    updates: Mapping[ph.Tensor, ph.Tensor] | None = None,
) -> ph.Program:
    """A program of random candidates."""
    target = target_named("c")
    state = prepared(graph_of(outputs, updates or {}), target)
    give_winners(state, seed)
    artifact = finished(state)
    return ph.Program(artifact, target.load(target.build(artifact.source)))


def give_winners(state: Compilation, seed: int) -> None:
    """Let a random candidate win for every group of kernels."""
    works = {group.work.text(): group.work for group in partition(state.program)[1]}
    works = {text: one for text, one in works.items() if is_read(one)}
    apply_winners(state, {text: winner(one, state.machine, seed) for text, one in works.items()})


def is_read(work: Work) -> bool:
    """Whether anybody reads what a group computes."""
    return any(store.buffer.name not in work.temporary for store in work.stores)


def rearranged(state: Compilation, seed: int) -> None:
    """The same for a compilation whose kernels are chosen already."""
    give_winners(state, seed)
    for one in PASSES:
        if one.name in ("apply", "choose"):
            one.run(state)


def winner(work: Work, machine: Machine, seed: int) -> Winner:
    """A random candidate, but for one that keeps every kernel as written where there are others."""
    space, rng = space_of(work, machine, ()), random.Random(f"{seed} {work.text()}")
    for _ in range(TRIES):
        trail: list[tuple[str, str]] = []
        made = build(space, recording(_rearranging(randomly(rng)), trail))
        if is_small(made):
            break
    return Winner("", dict(trail), made, None, ())


def _rearranging(choose: Choose) -> Choose:
    def answer(key: str, options: object) -> int:
        if key == "kernels" and len(options) > 1:
            return 1 + choose(key, options[1:])
        return choose(key, options)

    return answer
