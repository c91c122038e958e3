"""``make_artifact``: run the passes over a graph; the result is data, not yet built or loaded."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

from photic.base.settings import text_setting
from photic.base.trace import emit
from photic.compiler.artifact import Argument, Artifact, KernelReport
from photic.compiler.passes import PASSES, Compilation, check_order
from photic.ir.dim import Dim, bounds, mul, product
from photic.ir.graph import Graph, Node, named_sources
from photic.ir.program import Kernel, Repeat, all_steps
from photic.ir.program import Program as Steps
from photic.loops.lower import name_of_input, name_of_state
from photic.loops.nest import print_nest
from photic.storage.files import write_atomic
from photic.targets.registry import Target


def make_artifact(graph: Graph, target: Target) -> Artifact:
    """The compiled form of a graph, not yet built."""
    check_order(PASSES)
    state = Compilation(graph, target, target.machine(), Steps((), {}, {}, (), {}, {}))
    folder = text_setting("dump")
    for number, one in enumerate(PASSES):
        start = time.perf_counter()
        one.run(state)
        emit("times", one.name, seconds=time.perf_counter() - start)
        if folder:
            name = f"{number:02d}-{one.name}.txt"
            write_atomic(Path(folder) / name, one.show(state).encode())
    emit("source", "program", text=state.text)
    return _artifact(state, graph)


def _artifact(state: Compilation, graph: Graph) -> Artifact:
    program, slots = state.program, state.addresses.slots
    inputs = _arguments(named_sources(graph, "input"), name_of_input, slots)
    states = _arguments(named_sources(graph, "state"), name_of_state, slots)
    outputs = tuple(
        Argument(name, value.shape, value.dtype, slots[program.outputs[name]])
        for name, value in graph.outputs
    )
    counters = sum(isinstance(step, Repeat) for step in all_steps(program.steps))
    return Artifact(
        sizes=program.sizes,
        counters=counters,
        inputs=inputs,
        outputs=outputs,
        states=states,
        constants=state.constants,
        constant_slots={name: slots[name] for name in state.constants},
        slots=len(slots),
        arena_bytes=state.memory.arena_bytes,
        buffer_bytes=state.memory.buffer_bytes,
        least_bytes=state.memory.least_bytes,
        source=state.text,
        kernels=_reports(state),
        target=state.target.name,
        machine=state.target.key(),
    )


def _arguments(
    nodes: dict[str, Node], buffer: Callable[[str], str], slots: dict[str, int]
) -> tuple[Argument, ...]:
    """Inputs or states; one that nothing reads has no slot and is only checked."""
    return tuple(
        Argument(name, node.shape, node.dtype, slots.get(buffer(name), -1))
        for name, node in nodes.items()
    )


def _reports(state: Compilation) -> tuple[KernelReport, ...]:
    calls = Counter(
        step.function for step in all_steps(state.program.steps) if isinstance(step, Kernel)
    )
    return tuple(
        KernelReport(
            name=name,
            source=state.sources[name].text,
            nest=print_nest(one),
            calls=calls[name],
            flops=bounds(one.work)[1],
            bytes=sum(_most_bytes(buffer.shape, buffer.dtype.bytes) for buffer in one.parameters),
            seconds=None,
            predicted_seconds=None,
            rules=(),
        )
        for name, one in state.nests.items()
    )


def _most_bytes(shape: tuple[Dim, ...], element: int) -> int:
    return bounds(mul(product(shape), element))[1]
