"""The passes from graph to artifact, as a table with a checked order.

Each pass names what it reads and what it makes of ``Compilation``; a table in which something is
read before it is made is refused. With PHOTIC_DUMP set, every pass writes what it made to a file.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial

from photic.codegen.clike import Source
from photic.codegen.dialect import Addresses
from photic.compiler.memory import MemoryPlan, plan_memory
from photic.compiler.source import rendered
from photic.forms.constants import evaluate_constants
from photic.forms.graph_check import check_graph
from photic.forms.graph_text import print_graph
from photic.forms.joined_program import joined_program
from photic.forms.nest_text import print_nests
from photic.forms.program_text import print_layouts, print_program
from photic.forms.relaying import relaid
from photic.ir.graph import Graph
from photic.ir.nest import Nest
from photic.ir.program import ROW_MAJOR, Kernel, Layout, Program, Repeat, Step, all_steps, mapped
from photic.loops.build import nest, together
from photic.loops.lower import lower
from photic.loops.plan import Choice, Decide, best_known, choose
from photic.loops.target import Machine
from photic.storage.artifact import Array
from photic.targets.combine import combined
from photic.targets.registry import Target


@dataclass(frozen=True, slots=True)
class Found:
    """What a search tells of a kernel: seconds of a call, if measured, and the rules behind it."""

    seconds: float | None
    rules: tuple[str, ...]


NOTHING_FOUND = Found(None, ())


@dataclass(slots=True)
class Compilation:
    """What the passes have made so far.

    A search may put kernels with nests of their own into a lowered program, decide how others are
    arranged (``decided``), and tell what it ``found``, all by the kernels' names.
    """

    graph: Graph
    target: Target
    machine: Machine
    program: Program
    decided: dict[str, Decide] = field(default_factory=dict)
    found: dict[str, Found] = field(default_factory=dict)
    choices: dict[str, Choice] = field(default_factory=dict)
    nests: dict[str, Nest] = field(default_factory=dict)
    memory: MemoryPlan = field(default_factory=lambda: MemoryPlan({}, 0, 0, 0))
    addresses: Addresses = field(default_factory=lambda: Addresses({}, {}, {}))
    sources: dict[str, Source] = field(default_factory=dict)
    text: str = ""
    constants: dict[str, Array] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Pass:
    """One step: what it reads, what it makes, what it does, and how to show what it made.

    What it reads and makes are names of ``Compilation``. ``stage`` is the stage of PHOTIC_SHOW that
    shows it; empty if none does.
    """

    name: str
    stage: str
    reads: str
    makes: str
    run: Callable[[Compilation], None]
    show: Callable[[Compilation], str]


def _evaluate(state: Compilation) -> None:
    state.graph = evaluate_constants(state.graph)


def _lower(state: Compilation) -> None:
    state.program = lower(state.graph)


def _combine(state: Compilation) -> None:
    state.program = combined(state.program)


def _choose(state: Compilation) -> None:
    """Choices for functions without a nest; what is a constant in every call may be laid anew."""
    varying = {
        (step.function, name)
        for step, name, argument in _arguments(state.program)
        if state.program.places[argument].role != "constant"
    }
    for name, function in state.program.functions.items():
        if name not in state.nests:
            names = (one.name for one in function.parameters)
            constants = frozenset(one for one in names if (name, one) not in varying)
            decide = state.decided.get(name, best_known)
            state.choices[name] = choose(function, constants, state.machine, decide)


def _arguments(program: Program) -> list[tuple[Kernel, str, str]]:
    """Each call with each of its parameters and the buffer given for it."""
    return [
        (step, parameter.name, argument)
        for step in all_steps(program.steps)
        if isinstance(step, Kernel)
        for parameter, argument in zip(program.functions[step.function].parameters, step.arguments)
    ]


def _lay_out(state: Compilation) -> None:
    """A layout for each constant: what a winner has, else the first that a kernel wants of it."""
    arguments = _arguments(state.program)
    lays = {argument: ROW_MAJOR for step, _, argument in arguments if step.function in state.nests}
    for step, name, argument in arguments:
        wanted = {} if step.function in state.nests else state.choices[step.function].layouts
        if name in wanted and state.program.places[argument].role == "constant":
            lays.setdefault(argument, wanted[name])
    places = {
        name: replace(place, layout=lays.get(name, ROW_MAJOR))
        for name, place in state.program.places.items()
    }
    state.program = replace(state.program, places=places)
    state.constants = {
        name: relaid(payload.array, places[name].layout)
        for name, payload in state.program.constants.items()
    }


def _arrange(state: Compilation) -> None:
    """A nest for each function and each set of layouts that its calls have."""
    program = state.program
    made: dict[tuple[str, tuple[Layout, ...]], str] = {}
    functions = dict(program.functions)

    def variant(step: Step) -> tuple[Step]:
        if not isinstance(step, Kernel) or step.function not in state.choices:
            return (step,)
        lays = tuple(program.places[name].layout for name in step.arguments)
        key = (step.function, lays)
        if key not in made:
            name = step.function if step.function not in state.nests else f"k{len(functions)}"
            function = functions[name] = replace(program.functions[step.function], name=name)
            by_name = {one.name: lay for one, lay in zip(function.parameters, lays, strict=True)}
            state.nests[name] = nest(function, state.choices[step.function], by_name, state.machine)
            made[key] = name
        return (replace(step, function=made[key]),)

    steps = mapped(program.steps, variant)
    state.program = replace(program, steps=steps, functions=functions)


def _join(state: Compilation) -> None:
    """Kernels in a row as one, where each item needs only what it made itself."""
    join = partial(together, machine=state.machine)
    state.program, state.nests, members = joined_program(state.program, state.nests, join)
    for name, parts in members.items():
        known = [state.found.get(one, NOTHING_FOUND) for one in parts]
        times = [one.seconds for one in known if one.seconds is not None]
        rules = dict.fromkeys(rule for one in known for rule in one.rules)
        measured = sum(times) if len(times) == len(parts) else None
        state.found[name] = Found(measured, tuple(rules))


def _place(state: Compilation) -> None:
    """The memory plan, and a slot for each buffer and each size that comes from outside."""
    program = state.program
    state.memory = plan_memory(program)
    outside = [name for name, place in program.places.items() if place.role != "temporary"]
    counters = [step.counter for step in all_steps(program.steps) if isinstance(step, Repeat)]
    names = [one.name for one in (*program.sizes, *counters)]
    state.addresses = Addresses(
        {name: slot for slot, name in enumerate(outside)},
        state.memory.offsets,
        {name: slot for slot, name in enumerate(dict.fromkeys(names))},
    )


def _render(state: Compilation) -> None:
    dialect = state.target.dialect
    state.sources, state.text = rendered(state.program, state.nests, state.addresses, dialect)


def _graph_text(state: Compilation) -> str:
    return print_graph(state.graph)


def _choices_text(state: Compilation) -> str:
    return "".join(
        f"{name}: {one.count} vectors of {one.width} along {one.lanes}, {one.rows}, {one.layouts}\n"
        for name, one in state.choices.items()
    )


def _layouts_text(state: Compilation) -> str:
    return print_layouts(state.program)


def _nests_text(state: Compilation) -> str:
    return print_nests(state.nests)


PASSES: tuple[Pass, ...] = (
    Pass("check", "graph", "graph", "", lambda s: check_graph(s.graph), _graph_text),
    Pass("evaluate", "graph", "graph", "graph", _evaluate, _graph_text),
    Pass("lower", "", "graph", "program", _lower, lambda s: print_program(s.program)),
    Pass("combine", "", "program", "program", _combine, lambda s: print_program(s.program)),
    Pass("choose", "", "program", "choices", _choose, _choices_text),
    Pass("lay_out", "", "program choices", "program constants", _lay_out, _layouts_text),
    Pass("arrange", "", "program choices constants", "program nests", _arrange, _nests_text),
    Pass("join", "nests", "program nests", "program nests", _join, _nests_text),
    Pass("place", "", "program nests", "memory addresses", _place, lambda s: str(s.memory)),
    Pass("render", "source", "nests addresses", "sources text", _render, lambda s: s.text),
)


def check_order(passes: tuple[Pass, ...], given: str) -> None:
    """An assertion that nothing but what is given is read before it is made."""
    known = {given}
    for one in passes:
        missing = set(one.reads.split()) - known
        assert not missing, f"pass {one.name} reads {missing} before it is made"
        known |= set(one.makes.split())
