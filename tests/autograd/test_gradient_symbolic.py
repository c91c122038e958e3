"""Gradients over symbolic sizes are those over fixed ones, where the catalogue names sizes."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from autograd.catalogued import FEW, differentiable, is_float, moved_off
from autograd.checking import evaluated, named
from catalogue.entry import Entry
from catalogue.running import Job, jobs, sizes_of_case, symbolic_shapes

import photic as ph
from photic.ir.dim import Dim


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
