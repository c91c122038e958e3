"""Kernels of their own for ranges of a size: the same results, other kernels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import pytest

import photic as ph
from photic.base.errors import BadArgument
from photic.compiler.compile import prepared
from photic.forms.program_text import parse_program, print_program
from photic.ir.program import Branch, all_steps
from photic.targets.registry import target_named
from photic.tensor.compiling import graph_of
from photic.tensor.ranges import by_ranges

ROWS = 40
STARTS = {"count": (2, 16)}


def model() -> tuple[ph.Tensor, dict[ph.Tensor, ph.Tensor]]:
    """Rows that are written into a state, a scan over them, and a product with all so far."""
    count, past = ph.dim("count", 1, ROWS), ph.dim("past", 0, ROWS)
    x, kept = ph.input("x", (count, 8)), ph.state("kept", (2 * ROWS, 8))
    now = ph.update(kept, ph.tanh(x), past, 0)
    seen = now[: past + count]
    return ph.softmax(x @ seen.T, axis=-1) @ seen + ph.cumsum(x, axis=0), {kept: now}


def compiled(ranges: Mapping[str, Sequence[int]] | None = None) -> ph.Program:
    y, updates = model()
    return ph.compile({"y": y}, updates, search=0, ranges=ranges)


def test_every_size_gives_what_one_set_of_kernels_gives() -> None:
    plain, split = compiled(), compiled(ranges=STARTS)
    rng = np.random.default_rng(0)
    for past, count in ((0, 1), (1, 2), (3, 15), (18, 16), (34, 40), (0, 17), (17, 1)):
        x = rng.standard_normal((count, 8)).astype(np.float32)
        results = [one(x=x, past=past)["y"] for one in (plain, split)]
        # sums may be in another order: some ulp of what is added up
        np.testing.assert_allclose(results[0], results[1], rtol=2e-5, atol=2e-5)


def test_each_range_has_steps_of_its_own_and_states_are_shared() -> None:
    y, updates = model()
    state = prepared(graph_of({"y": y}, updates), target_named("c"))
    program = by_ranges([state.program], STARTS)
    branches = [one for one in all_steps(program.steps) if isinstance(one, Branch)]
    assert len(branches) == 2
    kept = {name for name, one in program.places.items() if one.role != "temporary"}
    assert kept == {name for name, one in state.program.places.items() if one.role != "temporary"}
    text = print_program(program)
    assert parse_program(text, {k: v.array for k, v in program.constants.items()}) == program


def test_memory_is_that_of_the_largest_range() -> None:
    assert compiled(ranges=STARTS).peak_bytes <= compiled().peak_bytes + 256


def test_a_program_of_several_ranges_is_saved_and_loaded(tmp_path: Path) -> None:
    path = tmp_path / "program"
    made = compiled(ranges=STARTS)
    made.save(path)
    x = np.ones((17, 8), np.float32)
    np.testing.assert_array_equal(ph.load(path)(x=x, past=0)["y"], made(x=x, past=0)["y"])


@pytest.mark.parametrize(
    ("ranges", "told"),
    [({"other": (2,)}, "count"), ({"count": (1,)}, "2 to 40"), ({"count": (41,)}, "2 to 40")],
)
def test_a_wrong_range_is_refused_with_what_was_expected(
    ranges: Mapping[str, Sequence[int]], told: str
) -> None:
    with pytest.raises(BadArgument, match=told):
        compiled(ranges=ranges)
