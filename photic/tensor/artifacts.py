"""What a compilation comes to: data, not yet built or loaded."""

from __future__ import annotations

from collections import Counter

from photic.codegen.clike import scratch_stride
from photic.compiler.compile import complete, prepared
from photic.compiler.passes import NOTHING_FOUND, Compilation
from photic.forms.nest_text import print_nest
from photic.forms.program_names import named_places
from photic.ir import index as form
from photic.ir.dim import Dim, add, bounds, mul, product, symbols
from photic.ir.graph import Graph
from photic.ir.index import Over
from photic.ir.nest import Nest
from photic.ir.program import Kernel, Place, Repeat, all_steps
from photic.search.cost import seconds
from photic.storage.artifact import Argument, Artifact, KernelReport
from photic.targets.registry import Target
from photic.tuning.trial import number_at, points_at

FREE = frozenset({"cast", "select"})  # moves that are not counted as arithmetic


def make_artifact(graph: Graph, target: Target) -> Artifact:
    """The compiled form of a graph, not yet built; nothing is searched."""
    return finished(prepared(graph, target))


def finished(state: Compilation) -> Artifact:
    """The rest of the passes, and what they made."""
    complete(state)
    return _artifact(state)


def _artifact(state: Compilation) -> Artifact:
    program, slots = state.program, state.addresses.slots
    results = {name: program.places[buffer] for name, buffer in program.outputs.items()}
    counters = sum(isinstance(step, Repeat) for step in all_steps(program.steps))
    return Artifact(
        sizes=program.sizes,
        counters=counters,
        inputs=_arguments(named_places(program, "input"), slots),
        outputs=_arguments(results, slots),
        states=_arguments(named_places(program, "state"), slots),
        constants=state.constants,
        constant_slots={name: slots[name] for name in state.constants},
        slots=len(slots),
        arena_bytes=state.memory.arena_bytes,
        buffer_bytes=state.memory.buffer_bytes,
        least_bytes=state.memory.least_bytes,
        scratch_bytes=scratch_stride(state.nests),
        source=state.text,
        kernels=_reports(state),
        target=state.target.name,
        machine=state.target.key(),
    )


def _arguments(places: dict[str, Place], slots: dict[str, int]) -> tuple[Argument, ...]:
    buffers = [(name, place.buffer) for name, place in places.items()]
    return tuple(Argument(name, b.shape, b.dtype, slots[b.name]) for name, b in buffers)


def _reports(state: Compilation) -> tuple[KernelReport, ...]:
    steps = all_steps(state.program.steps)
    calls = Counter(step.function for step in steps if isinstance(step, Kernel))
    found = [(one, state.found.get(name, NOTHING_FOUND)) for name, one in state.nests.items()]
    return tuple(
        KernelReport(
            name=one.name,
            source=state.sources[one.name].text,
            nest=print_nest(one),
            calls=calls[one.name],
            flops=bounds(_arithmetic(state, one))[1],
            bytes=sum(bounds(mul(product(b.shape), b.dtype.bytes))[1] for b in one.parameters),
            seconds=known.seconds,
            predicted_seconds=seconds((one,), state.machine),
            rules=known.rules,
            timed=_timed(one, _arithmetic(state, one)),
        )
        for one, known in found
    )


def _arithmetic(state: Compilation, nest: Nest) -> Dim:
    """Operations of a call: each once for each point of what it depends on, sums for each term.

    Where values are shared that the stores write out several times, the nest's own estimate, which
    counts loads as well.
    """
    total: Dim = 0
    for store in state.program.functions[nest.name].stores:
        bound, each = set(form.bound(store)), product(axis.extent for axis in store.axes)
        for one in form.walk(store.value):
            if one.children and one.op not in FREE:
                free = one.children[0].free if isinstance(one.attribute, Over) else one.free
                inner = sorted(free & bound, key=lambda axis: axis.name)
                total = add(total, mul(each, product(axis.extent for axis in inner)))
    return min(total, nest.work, key=lambda one: bounds(one)[1])


def _timed(nest: Nest, flops: Dim) -> tuple[float, float]:
    """Flops and bytes of a call, as the means over the sizes at which kernels are measured."""
    size: Dim = 0
    for one in nest.parameters:
        size = add(size, mul(product(one.shape), one.dtype.bytes))
    points = points_at(sorted(symbols(flops) | symbols(size), key=lambda one: one.name))
    return (
        sum(number_at(flops, one) for one in points) / len(points),
        sum(number_at(size, one) for one in points) / len(points),
    )
