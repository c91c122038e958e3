"""What the search found, put into a program: kernels of groups replaced, or arranged as they won.

Before: kernels k0, k1, k2 over buffers between them. After: one kernel with a nest of its own; its
function says what it computes from the group's inputs. Or k0, k1, k2 with other choices.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import partial

from photic.ir.program import ROW_MAJOR, Kernel, Place, Program, Step, all_steps, mapped
from photic.loops.nest import Nest
from photic.loops.plan import Decide, best_known
from photic.search.choosing import prefixed, replaying
from photic.search.partition import Group, partition
from photic.search.space import Candidate


@dataclass(frozen=True, slots=True)
class Winner:
    """The best known for a group's work: the choices, what they make, and seconds if measured."""

    choices: Mapping[str, str]
    candidate: Candidate
    seconds: float | None
    rules: tuple[str, ...]


@dataclass(slots=True)
class Applied:
    """The program with the winners' kernels, their nests, and what was decided about others."""

    program: Program
    nests: dict[str, Nest] = field(default_factory=dict)
    decided: dict[str, Decide] = field(default_factory=dict)
    winners: dict[str, Winner] = field(default_factory=dict)


def apply_winners(program: Program, winners: Mapping[str, Winner]) -> Applied:
    """``winners`` are by the text of a group's work; without one a group stays as it is."""
    if not winners:
        return Applied(program)
    program, groups = partition(program)
    made = Applied(replace(program, functions=dict(program.functions), places=dict(program.places)))
    replaced = _replacements(made, groups, winners)
    steps = mapped(program.steps, lambda one: next(replaced) if isinstance(one, Kernel) else (one,))
    used = {one.function for one in all_steps(steps) if isinstance(one, Kernel)}
    functions = {name: one for name, one in made.program.functions.items() if name in used}
    made.program = replace(made.program, steps=steps, functions=functions)
    return made


def _replacements(
    made: Applied, groups: list[Group], winners: Mapping[str, Winner]
) -> Iterator[tuple[Step, ...]]:
    """For each kernel of the groups, in order, the steps that take its place."""
    names: dict[str, list[str]] = {}
    for group in groups:
        text = group.work.text()
        winner = winners.get(text)
        if winner is not None and not winner.candidate.choices:
            if text not in names:
                names[text] = list(_functions(made, winner))
            yield tuple(_calls(made, group, winner.candidate, names[text]))
            yield from [()] * (len(group.kernels) - 1)
            continue
        for number, kernel in enumerate(group.kernels):
            if winner is not None and kernel.function not in made.decided:
                known = replaying(winner.choices, best_known)
                made.decided[kernel.function] = partial(prefixed, known, f"f{number} ")
                made.winners[kernel.function] = winner
            yield (kernel,)


def _functions(made: Applied, winner: Winner) -> Iterator[str]:
    """The winner's kernels under names of their own."""
    functions = made.program.functions
    for nest, function in zip(winner.candidate.nests, winner.candidate.functions, strict=True):
        name = f"k{len(functions)}"
        while name in functions:
            name += "w"
        functions[name] = replace(function, name=name)
        made.nests[name] = replace(nest, name=name)
        made.winners[name] = winner
        yield name


def _calls(made: Applied, group: Group, candidate: Candidate, names: list[str]) -> Iterator[Kernel]:
    """Calls of the winner's kernels on the group's buffers, and on new ones between them."""
    places = made.program.places
    known = {f"b{number}": name for number, name in enumerate(group.arguments)}
    device = places[group.arguments[0]].device
    for buffer in candidate.stored:
        if buffer.name not in known:
            name = f"w{len(places)}"
            while name in places:
                name += "w"
            known[buffer.name] = name
            places[name] = Place(replace(buffer, name=name), "temporary", device, ROW_MAJOR)
    for name in names:
        parameters = made.program.functions[name].parameters
        yield Kernel(name, tuple(known[one.name] for one in parameters))
