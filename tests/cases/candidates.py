"""Programs of which every kernel is a candidate that the search might propose, drawn at random.

Nothing is measured or judged: a case that holds for these holds for whatever the search keeps.
"""

from __future__ import annotations

import random
from collections.abc import Mapping

import photic as ph
from photic.compiler.compile import finished, prepared
from photic.compiler.winners import Winner
from photic.search.choosing import Choose, randomly, recording
from photic.search.partition import Work, partition
from photic.search.space import build, is_small, space_of
from photic.targets.registry import Target, target_named
from photic.tensor.compiling import graph_of

TRIES = 20  # for a candidate whose scratch is small


def drawn(
    outputs: Mapping[str, ph.Tensor],
    seed: int,
    updates: Mapping[ph.Tensor, ph.Tensor] | None = None,
) -> ph.Program:
    """A program of random candidates."""
    target = target_named("c")
    state = prepared(graph_of(outputs, updates or {}), target)
    works = {group.work.text(): group.work for group in partition(state.program)[1]}
    state.winners = {text: winner(one, target, seed) for text, one in works.items()}
    artifact = finished(state)
    return ph.Program(artifact, target.load(target.build(artifact.source)))


def winner(work: Work, target: Target, seed: int) -> Winner:
    """A random candidate, but for one that keeps every kernel as written where there are others."""
    space, rng = space_of(work, target.machine(), ()), random.Random(f"{seed} {work.text()}")
    for _ in range(TRIES):
        trail: list[tuple[str, str]] = []
        made = build(space, recording(_rearranging(randomly(rng)), trail))
        if is_small(made):
            break
    return Winner(dict(trail), made, None, ())


def _rearranging(choose: Choose) -> Choose:
    def answer(key: str, options: object) -> int:
        if key == "kernels" and len(options) > 1:
            return 1 + choose(key, options[1:])
        return choose(key, options)

    return answer
