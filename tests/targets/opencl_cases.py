"""Random graphs on the opencl target, beside the c target and the evaluator.

More of them: ``python -m targets.opencl_cases FIRST LAST`` from ``tests``, with the package's
folder on the path.
"""

import sys
from collections.abc import Sequence

import numpy as np
from catalogue.running import Job
from fuzz.graphs import random_graph

from photic.forms.graph_names import named_sources
from photic.ir.graph import Graph
from photic.targets.registry import target_named
from photic.tensor.artifacts import make_artifact
from photic.tensor.program import Program

JOBS = 8  # of the catalogue in one program: drivers compile each kernel for some 70 ms
Arrays = dict[str, np.ndarray]


def made(graph: Graph, target: str) -> Program:
    """The program of a graph, nothing searched."""
    chosen = target_named(target)
    artifact = make_artifact(graph, chosen)
    return Program(artifact, chosen.load(chosen.build(artifact.source)))


def spread(jobs: list[Job], count: int = JOBS) -> list[Job]:
    """A few jobs of the catalogue, evenly from all that need no peer."""
    own = [job for job in jobs if not job.entry.is_peer]
    return own[:: -(-len(own) // count)]


def results(seed: int, target: str) -> tuple[Arrays, Arrays, list[str]]:
    """Outputs and states' next values of a random graph, and what the evaluator finds wrong."""
    case = random_graph(seed)
    program = made(case.graph, target)
    for name, array in program.states.items():
        array[...] = case.states[name]
    known = {one.name for one in program.artifact.sizes}
    sizes = {name: value for name, value in case.sizes.items() if name in known}
    inputs = {one.name: case.inputs[one.name] for one in program.artifact.inputs}
    outputs, states = program(**inputs, **sizes), dict(program.states)
    return outputs, states, case.faults(outputs, states)


def differences(one: Arrays, other: Arrays) -> list[str]:
    """The names under which numbers are not the same; every nan is the same."""
    return [name for name in one if not np.array_equal(wide(one[name]), wide(other[name]), True)]


def wide(array: np.ndarray) -> np.ndarray:
    """Half types have no comparison of their own that knows nan."""
    return array.astype(np.float64) if array.dtype.kind not in "iub" else array


def is_usable(seed: int) -> bool:
    """True if the graph's states have the integer shapes that users may give them."""
    states = named_sources(random_graph(seed).graph, "state").values()
    return all(isinstance(extent, int) for node in states for extent in node.shape)


def disagreements(seeds: Sequence[int]) -> list[str]:
    """What is wrong on the device, and where it is not what the c target gives."""
    found = []
    for seed in seeds:
        on_device, on_processor = results(seed, "opencl"), results(seed, "c")
        found += [f"seed {seed}: {one}" for one in on_device[2]]
        for got, want in zip(on_device[:2], on_processor[:2]):
            found += [f"seed {seed}: {name} differs from c" for name in differences(got, want)]
    return found


if __name__ == "__main__":
    first, last = map(int, sys.argv[1:])
    for number in filter(is_usable, range(first, last)):
        for line in disagreements([number]):
            sys.stdout.write(line + "\n")
