"""Run the passes over a graph or a program."""

from __future__ import annotations

import time
from functools import partial
from pathlib import Path

from photic.base.settings import text_setting
from photic.base.trace import Lazily, emit
from photic.compiler.passes import PASSES, Compilation, Pass, check_order
from photic.ir.graph import Graph
from photic.ir.program import Program
from photic.storage.files import write_atomic
from photic.targets.registry import Target

LOWERED = 1 + [one.name for one in PASSES].index("combine")


def prepared(graph: Graph, target: Target) -> Compilation:
    """The first passes, up to a program that can be searched."""
    state = Compilation(graph, target, target.machine(), Program((), {}, {}, (), {}, {}))
    _pass(state, PASSES[:LOWERED], "graph")
    return state


def complete(state: Compilation) -> None:
    """The rest of the passes."""
    _pass(state, PASSES[LOWERED:], "program")


def _pass(state: Compilation, passes: tuple[Pass, ...], given: str) -> None:
    check_order(passes, given)
    folder = text_setting("dump")
    for one in passes:
        start = time.perf_counter()
        one.run(state)
        emit("times", one.name, seconds=time.perf_counter() - start)
        if one.stage:
            emit(one.stage, one.name, text=Lazily(partial(one.show, state)))
        if folder:
            Path(folder).mkdir(parents=True, exist_ok=True)
            name = f"{PASSES.index(one):02d}-{one.name}.txt"
            write_atomic(Path(folder) / name, one.show(state).encode())
