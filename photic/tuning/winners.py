"""What the search found, put into a program: kernels of groups replaced, or arranged as they won.

Before: kernels k0, k1, k2 over buffers between them. After: one kernel with a nest of its own; its
function says what it computes from the group's inputs. Or k0, k1, k2 with other choices.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial

from photic.base.trace import emit
from photic.compiler.passes import Compilation, Found
from photic.ir.dim import bounds
from photic.ir.program import ROW_MAJOR, Kernel, Place, Step, all_steps, mapped
from photic.loops.build import work
from photic.loops.plan import best_known
from photic.search.choosing import prefixed, replaying
from photic.search.cost import seconds
from photic.search.space import AS_WRITTEN, Candidate
from photic.tuning.partition import Group, partition


@dataclass(frozen=True, slots=True)
class Winner:
    """The best known for a group's work: the choices, what they make, and seconds if measured.

    ``region`` is what events and candidates call the work by.
    """

    region: str
    choices: Mapping[str, str]
    candidate: Candidate
    seconds: float | None
    rules: tuple[str, ...]

    @property
    def kind(self) -> str:
        """Whether its kernels are as written, or else which alternative of values they compute."""
        return self.choices.get("kernels", AS_WRITTEN)


def apply_winners(state: Compilation, winners: Mapping[str, Winner]) -> dict[str, Winner]:
    """Put winners into a compilation that ``prepared`` made, by the text of a group's work.

    Returns the winner behind each kernel that has one.
    """
    behind: dict[str, Winner] = {}
    if not winners:
        return behind
    program, groups = partition(state.program)
    places, functions = dict(program.places), dict(program.functions)
    state.program = replace(program, places=places, functions=functions)
    replaced = _replacements(state, groups, winners, behind)
    steps = mapped(program.steps, lambda one: next(replaced) if isinstance(one, Kernel) else (one,))
    used = {one.function for one in all_steps(steps) if isinstance(one, Kernel)}
    functions = {name: one for name, one in functions.items() if name in used}
    state.program = replace(state.program, steps=steps, functions=functions)
    for name, one in state.found.items():
        emit("search", "kernel", kernel=name, seconds=one.seconds, rules=one.rules)
    return behind


def _replacements(
    state: Compilation,
    groups: list[Group],
    winners: Mapping[str, Winner],
    behind: dict[str, Winner],
) -> Iterator[tuple[Step, ...]]:
    """For each kernel of the groups, in order, the steps in its place; notes what is ``behind``."""
    names: dict[str, list[str]] = {}
    for group in groups:
        text = group.text
        winner = winners.get(text)
        if winner is not None and not winner.candidate.choices:
            if text not in names:
                names[text] = list(_functions(state, winner))
                behind |= dict.fromkeys(names[text], winner)
            yield tuple(_calls(state, group, winner.candidate, names[text]))
            yield from [()] * (len(group.kernels) - 1)
            continue
        for number, kernel in enumerate(group.kernels):
            if winner is not None and kernel.function not in state.decided:
                if winner.choices:
                    known = replaying(winner.choices, best_known)
                    state.decided[kernel.function] = partial(prefixed, known, f"f{number} ")
                state.found[kernel.function] = _found(winner, state, number)
                behind[kernel.function] = winner
            yield (kernel,)


def _found(winner: Winner, state: Compilation, number: int) -> Found:
    """A kernel's part of the measured time of its group: by what was predicted, if nests are its.

    Those of kernels as written may be joined; then by its operations.
    """
    made, machine = winner.candidate, state.machine
    if made.choices:
        costs = [float(bounds(work(one.stores[0]))[1]) for one in made.functions]
    else:
        costs = [seconds((one,), machine) for one in made.nests]
    measured = None if winner.seconds is None else winner.seconds * costs[number] / sum(costs)
    return Found(measured, winner.rules)


def _functions(state: Compilation, winner: Winner) -> Iterator[str]:
    """The winner's kernels under names of their own."""
    functions = state.program.functions
    pairs = zip(winner.candidate.nests, winner.candidate.functions, strict=True)
    for number, (nest, function) in enumerate(pairs):
        name = f"k{len(functions)}"
        while name in functions:
            name += "w"
        functions[name] = replace(function, name=name)
        state.nests[name] = replace(nest, name=name)
        state.found[name] = _found(winner, state, number)
        yield name


def _calls(
    state: Compilation, group: Group, candidate: Candidate, names: list[str]
) -> Iterator[Kernel]:
    """Calls of the winner's kernels on the group's buffers, and on new ones between them."""
    places = state.program.places
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
        parameters = state.program.functions[name].parameters
        yield Kernel(name, tuple(known[one.name] for one in parameters))
