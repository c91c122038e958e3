"""Every function of the catalogue that claims a gradient has the slope of central differences.

All float inputs move at once along a random direction, and all results are weighed at random: one
number for each case, in float64. Inputs are moved off the special places on which cases like to
stand (kinks, ties), and what is not finite or huge in them is replaced.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pytest
from autograd.checking import evaluated, inputs_of, named
from catalogue.entry import NO_GRADIENT, Entry
from catalogue.running import Job, entries, jobs, sizes_of_case, symbolic_shapes

import photic as ph
from photic.forms.eval import Array, evaluate
from photic.ir.dim import Dim
from photic.ir.graph import Graph, topological

FEW = 2  # cases of an entry, one where the graph is large
LARGE_GRAPH = 200  # nodes
SEVERAL = 4  # elements; smaller cases come last
LARGE = 1e3  # beyond, an input is replaced: differences would drown in rounding
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


def differentiable() -> list[Entry]:
    known = [one for one in entries() if not one.gradient.startswith(NO_GRADIENT)]
    return [one for one in known if "float64" in one.dtypes]


def moved_off(case: tuple[Array, ...], random: np.random.Generator) -> list[Array]:
    """The case's arrays, floats replaced where they are not plain numbers, and shifted a little."""
    arrays = []
    for one in case:
        if one.dtype == np.float64:
            plain = np.isfinite(one) & (np.abs(one) < LARGE)
            one = np.where(plain, one, random.normal(size=one.shape))
            one = one + random.uniform(-0.03, 0.03, one.shape)
        arrays.append(np.array(one))
    return arrays


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


def is_float(x: ph.Tensor) -> bool:
    return x.dtype.kind == "float"


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


# --- symbolic sizes -------------------------------------------------------------------------


def of_squares(job: Job, shapes: Sequence[Sequence[Dim]]) -> list[ph.Tensor]:
    """The gradients of the sum of all results' squares, for float inputs of these shapes."""
    handles = [
        ph.input(f"x{k}", shape, one.dtype)
        for k, (shape, one) in enumerate(zip(shapes, job.case, strict=True))
    ]
    made = job.entry.call(*handles)
    results = [one for one in (made if isinstance(made, tuple | list) else [made]) if is_float(one)]
    loss = ph.sum(ph.square(results[0]))
    for one in results[1:]:
        loss = loss + ph.sum(ph.square(one))
    return list(ph.grad(loss, [one for one in handles if is_float(one)]))


@pytest.mark.parametrize(
    "entry", [one for one in differentiable() if one.sizes], ids=lambda entry: entry.name
)
def test_gradients_over_symbolic_sizes_are_those_over_fixed_ones(entry: Entry) -> None:
    checked = 0
    for job in sorted(jobs(entry, "float64"), key=lambda job: sum(one.size for one in job.case)):
        sizes = sizes_of_case(job)
        if sizes is None or checked == FEW:
            continue
        given = named(moved_off(job.case, np.random.default_rng(job.number)))
        fixed = evaluated(of_squares(job, [one.shape for one in job.case]), given)
        symbolic = evaluated(of_squares(job, symbolic_shapes(job, "")), given, **sizes)
        for one, other in zip(symbolic, fixed, strict=True):
            plain = np.isfinite(other)  # a division by 0 is a constant inf with fixed sizes
            limit = 1e-12 * np.abs(other[plain]).max(initial=1)
            np.testing.assert_allclose(one[plain], other[plain], rtol=0, atol=limit)
        checked += 1
    assert checked, f"{entry.name} has no case of the axes that it names"
