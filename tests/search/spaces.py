"""Spaces of small programs, and answers to their choices that follow a plan.

``following`` answers the choices of a plan so that a given one comes out, all others by key, and
what is not said as the best known; a choice that the space does not offer is an error.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial

import photic as ph
from photic.compiler.compile import prepared
from photic.forms.candidate_check import Right, check
from photic.loops.arrange import Leaf, Open, Plan
from photic.search.choosing import Choose
from photic.search.planning import Move, Plans
from photic.search.space import Candidate, Space
from photic.search.work import Work
from photic.targets.process import Remote
from photic.targets.registry import target_named
from photic.tensor.compiling import graph_of
from photic.tuning.partition import partition
from photic.tuning.trial import called, meaning_of, source_of


def works_of(outputs: Mapping[str, ph.Tensor]) -> list[Work]:
    """What the groups of kernels of a program compute."""
    state = prepared(graph_of(outputs, {}), target_named("c"))
    return [one.work for one in partition(state.program)[1]]


def following(space: Space, number: int, plan: Plan, known: Mapping[str, str]) -> Choose:
    """Answers that make the alternative of this number by this plan."""
    plans = space.plans_for(number)
    here: dict[str, tuple[str, Plan]] = {"plan": (plans.root, plan)}

    def answer(key: str, options: Sequence[str]) -> int:
        if key == "kernels":
            return options.index(f"values {number}")
        if key not in here:
            return options.index(known[key]) if key in known else 0
        state, wanted = here[key]
        moves = plans.moves[state]
        (place,) = (k for k, one in enumerate(moves) if _is_wanted(plans, one, wanted))
        if isinstance(wanted, Open):
            here[f"{key}/{moves[place].detail}"] = moves[place].states[0], wanted.body
        elif not isinstance(wanted, Leaf):
            first, rest = moves[place].states
            here[f"{key}<"], here[f"{key}>"] = (first, wanted.first), (rest, wanted.rest)
        return place

    return answer


def _is_wanted(plans: Plans, move: Move, wanted: Plan) -> bool:
    if isinstance(wanted, Leaf):
        return (move.op, move.detail) == ("Tile", str(wanted.number))
    if isinstance(wanted, Open):
        return (move.op, move.detail) == ("Loop", wanted.axis.name)
    return move.op == "Then" and _count(plans, move.states[0]) == len(_leaves(wanted.first))


def _count(plans: Plans, state: str) -> int:
    """The statements that a state arranges."""
    move = plans.moves[state][0]
    return sum(_count(plans, one) for one in move.states) or 1


def _leaves(plan: Plan) -> list[int]:
    if isinstance(plan, Leaf):
        return [plan.number]
    if isinstance(plan, Open):
        return _leaves(plan.body)
    return _leaves(plan.first) + _leaves(plan.rest)


def require_right(work: Work, made: Candidate) -> None:
    """That a candidate passes the check of the search."""
    target = target_named("c")
    with Remote(target.worker) as remote:
        source = source_of(made, work, target.dialect)
        call = partial(called, remote, source, work)
        found = check(meaning_of(work, made), {}, call, 0)
    assert isinstance(found, Right), found
