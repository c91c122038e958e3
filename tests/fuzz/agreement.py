"""Generated code against the evaluator: batches of random graphs, and single graphs of a test.

Every graph is compiled for one of three machines, as they differ in vector length and registers,
with and without an arena, with all work on the pool or all on the calling thread.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np
from fuzz.compiled import Built, build
from fuzz.graphs import random_graph
from fuzz.movements import Array

from photic.compiler.passes import Compilation
from photic.forms.eval import evaluate
from photic.forms.graph_names import named_sources
from photic.ir.graph import Graph
from photic.loops.target import Machine
from photic.tensor.compiling import graph_of
from photic.tensor.tensor import Tensor

CORES, CACHE_BYTES = 2, 1 << 20
MACHINES = tuple(
    Machine(vector_bytes, registers, CORES, CACHE_BYTES)
    for vector_bytes, registers in ((64, 32), (32, 16), (16, 32))
)
BATCH = 50  # graphs in one library: the compiler's start is shared
POOL_ONLY, CALLER_ONLY = 0, 1 << 30  # operations below which work stays on the calling thread


def batches(first: int, last: int) -> list[range]:
    """The seeds from ``first`` to before ``last`` in batches."""
    return [range(k, min(k + BATCH, last)) for k in range(first, last, BATCH)]


def disagreements(
    seeds: Sequence[int],
    change: Callable[[Compilation], None] = lambda state: None,
    flags: tuple[str, ...] = (),
) -> list[str]:
    """What generated code does wrong on the random graphs of these seeds."""
    cases = [random_graph(seed) for seed in seeds]
    machines = [MACHINES[seed % len(MACHINES)] for seed in seeds]
    small_work = POOL_ONLY if seeds[0] // BATCH % 2 else CALLER_ONLY
    found = []
    for case, built in zip(
        cases,
        build([case.graph for case in cases], machines, small_work, change, flags),
        strict=True,
    ):
        outputs, states, broken = built.run(case.inputs, case.states, case.sizes)
        found += case.faults(outputs, states)
        found += [f"seed {case.seed}: written beside or into {name}" for name in broken]
    return found


def run_everywhere(
    graph: Graph,
    inputs: Mapping[str, Array],
    states: Mapping[str, Array],
    sizes: Mapping[str, int],
    change: Callable[[Compilation], None] = lambda state: None,
) -> list[tuple[dict[str, Array], dict[str, Array]]]:
    """Outputs and states' next values on each machine; no guard word may have changed."""
    found = []
    runs: list[Built] = build([graph] * len(MACHINES), MACHINES, POOL_ONLY, change)
    for built in runs:
        outputs, after, broken = built.run(inputs, states, sizes)
        assert broken == []
        found.append((outputs, after))
    return found


def require_meaning(
    outputs: Mapping[str, Tensor] | Tensor,
    given: Mapping[str, Array] | None = None,
    *,
    updates: Mapping[Tensor, Tensor] | None = None,
    states: Mapping[str, Array] | None = None,
    sizes: Mapping[str, int] | None = None,
    rtol: float = 0.0,
    change: Callable[[Compilation], None] = lambda state: None,
) -> dict[str, Array]:
    """Assert that generated code gives what the evaluator gives, which is returned.

    To the bit (a nan is a nan) unless ``rtol`` says otherwise. States not given are zeros.
    """
    named = {"y": outputs} if isinstance(outputs, Tensor) else dict(outputs)
    graph = graph_of(named, updates or {})
    inputs, sizes = dict(given or {}), dict(sizes or {})
    held = {
        name: np.zeros(tuple(int(n) for n in node.shape), node.dtype.numpy)
        for name, node in named_sources(graph, "state").items()
    } | dict(states or {})
    expected, following = evaluate(graph, inputs, held, sizes, widen=False)
    for results, after in run_everywhere(graph, inputs, held, sizes, change):
        for name, want in [*expected.items(), *following.items()]:
            got = results[name] if name in results else after[name]
            assert (got.dtype, got.shape) == (want.dtype, want.shape)
            require_equal(got, want, rtol)
    return {**following, **expected}


def require_equal(got: Array, want: Array, rtol: float) -> None:
    """Assert equality, to the bit without ``rtol``; nans are equal."""
    a, b = got.astype(np.float64), want.astype(np.float64)
    both_nan = np.isnan(a) & np.isnan(b)
    if rtol:
        np.testing.assert_allclose(a, b, rtol=rtol, atol=rtol)
    elif got.dtype.kind in "iub":
        np.testing.assert_array_equal(got, want)
    else:
        same = (a == b) & (np.signbit(a) == np.signbit(b)) | both_nan
        assert same.all(), (got[~same][:4], want[~same][:4])
