"""Every function of the catalogue that claims a gradient has the slope of central differences.

All float inputs move at once along a random direction, and all results are weighed at random: one
number for each case, in float64. Inputs are moved off the special places on which cases like to
stand (kinks, ties), and what is not finite or huge in them is replaced.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pytest
from autograd.catalogued import FEW, differentiable, is_float, moved_off
from autograd.checking import evaluated, inputs_of, named
from catalogue.entry import Entry
from catalogue.running import Job, jobs

import photic as ph
from photic.forms.eval import Array, evaluate
from photic.ir.graph import Graph, topological

LARGE_GRAPH = 200  # nodes, from which one case of an entry is enough
SEVERAL = 4  # elements; smaller cases come last
STEP = 1e-6  # of central differences: 1e-12 by the step, 1e-10 by rounding
NEAR = 1e-6  # relative to the sum of all that is added up
OF_VALUE = 1e-4  # of the function's own size, which rounding goes by
KINKS = 3.0  # times the change that half the step makes: there a kink or a pole is near


@dataclass(frozen=True, slots=True)
class Line:
    """A function along a random direction from where a job's arrays are, weighed to a number."""

    results: list[ph.Tensor]
    handles: list[ph.Tensor]
    arrays: list[Array]
    weights: list[Array]
    moves: dict[int, Array]

    def at(self, step: float) -> list[Array]:
        """The results at some steps along the direction."""
        moved = {f"x{k}": self.arrays[k] + step * move for k, move in self.moves.items()}
        graph = Graph(tuple((f"y{k}", one.operand) for k, one in enumerate(self.results)))
        outputs, _ = evaluate(graph, named(self.arrays) | moved, {}, {}, widen=True)
        return list(outputs.values())

    def difference(self, step: float) -> float:
        """The slope by a central difference."""
        pairs = zip(self.weights, self.at(step), self.at(-step), strict=True)
        return sum(((b - c) * w).sum() for w, b, c in pairs) / (2 * step)

    def gradients(self) -> list[Array]:
        """What is added up to the slope by the gradient's word."""
        variables = [self.handles[k] for k in self.moves]
        found = ph.vjp(self.results, variables, list(map(ph.constant, self.weights)))
        values = evaluated(found, named(self.arrays))
        return [value * move for value, move in zip(values, self.moves.values(), strict=True)]


def lines(job: Job) -> Iterator[Line]:
    """The function of a job from its own inputs, and from positive ones."""
    random = np.random.default_rng(job.number)
    arrays = moved_off(job.case, random)
    floats = [k for k, one in enumerate(arrays) if one.dtype == np.float64 and one.size]
    handles = inputs_of(arrays)
    made = job.entry.call(*handles)
    results = [one for one in (made if isinstance(made, tuple | list) else [made]) if is_float(one)]
    weights = [random.normal(size=one.shape) for one in results]
    moves = {k: random.normal(size=arrays[k].shape) for k in floats}
    if moves:
        yield Line(results, handles, arrays, weights, moves)
        positive = [np.abs(one) + 0.1 if k in moves else one for k, one in enumerate(arrays)]
        yield Line(results, handles, positive, weights, moves)


def check(line: Line) -> str:
    """What is wrong with the gradient, or nothing."""
    parts = line.gradients()
    size = sum(np.abs(w * y).sum() for w, y in zip(line.weights, line.at(0.0), strict=True))
    limit = NEAR * (sum(np.abs(one).sum() for one in parts) + OF_VALUE * size + NEAR)
    slope, first = sum(one.sum() for one in parts), line.difference(STEP)
    if abs(slope - first) <= limit:
        return ""
    second = line.difference(STEP / 2)
    is_near = abs(slope - first) <= limit + KINKS * abs(first - second)
    return "" if is_near else f"the gradient says {slope}, differences {first} and {second}"


@pytest.mark.parametrize("entry", differentiable(), ids=lambda entry: entry.name)
def test_the_gradient_is_the_slope_along_any_direction(entry: Entry) -> None:
    checked = 0
    sizes = [(sum(one.size for one in job.case), job) for job in jobs(entry, "float64")]
    for _, job in sorted(sizes, key=lambda pair: (pair[0] < SEVERAL, pair[0])):
        for line in lines(job):
            if checked < FEW and all(np.isfinite(one).all() for one in line.at(0.0)):
                wrong = check(line)
                assert not wrong, f"{job}: {wrong}"
                nodes = topological([one.operand.node for one in line.results])
                is_large = sum(1 for _ in nodes) > LARGE_GRAPH
                checked = FEW if is_large else checked + 1
                break
        if checked >= FEW:
            return
    assert checked, f"{entry.name} has no case that is finite and not empty"
