"""Values that many rows of a tile share are computed once for them, into a buffer near the core."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from fuzz.agreement import require_meaning

import photic as ph
from photic.compiler.compile import prepared
from photic.loops.plan import STAGED
from photic.targets.registry import target_named
from photic.tensor.artifacts import finished
from photic.tensor.compiling import graph_of
from photic.tensor.tensor import Tensor


def nests(y: Tensor, values: str | None = None) -> str:
    """The text of all nests; ``values`` says whether to stage, else the first option is taken."""

    def decide(key: str, options: Sequence[str]) -> int:
        return options.index(values) if key == "values" and values else 0

    state = prepared(graph_of({"y": y}, {}), target_named("c"))
    state.decided = dict.fromkeys(state.program.functions, decide)
    return "\n".join(one.nest for one in finished(state).kernels)


def quantised(rows: object) -> Tensor:
    """Rows times 4-bit numbers in groups of 32 with a scale each."""
    rng = np.random.default_rng(0)
    packed = ph.constant(rng.integers(0, 255, (128, 8, 16), np.uint8))
    scales = ph.constant(rng.normal(size=(128, 8, 1)).astype("f"))
    parts = ph.stack([packed % 16, packed // 16], 2).reshape(128, 8, 32)
    weights = (parts.astype("float32") * scales).reshape(128, 256)
    return ph.input("x", (rows, 256)) @ weights.T


def run(y: Tensor, x: np.ndarray) -> np.ndarray:
    return ph.compile({"y": y}, search=0)(x=x)["y"]


def test_weights_are_unpacked_once_for_many_rows() -> None:
    assert "staged0" in nests(quantised(48))


def test_what_few_rows_share_is_read_as_it_is() -> None:
    assert "staged" not in nests(quantised(15))


def test_with_a_symbolic_number_of_rows_the_call_decides() -> None:
    text = nests(quantised(ph.dim("n", 1, 128)))
    assert "if 16 <= n" in text and "staged0" in text


@pytest.mark.parametrize("rows", [1, 15, 16, 47, 49, 128])
def test_what_is_staged_changes_no_bit(rows: int) -> None:
    x = np.random.default_rng(1).normal(size=(128, 256)).astype("f")
    program = ph.compile({"y": quantised(ph.dim("n", 1, 128))}, search=0)
    few = ph.compile({"y": quantised(ph.dim("n", 1, 15))}, search=0)
    got = program(x=x[:rows])["y"]
    alone = [few(x=x[at : min(at + 9, rows)])["y"] for at in range(0, rows, 9)]
    assert np.array_equal(got, np.concatenate(alone))


def test_a_right_side_that_lies_the_other_way_is_turned_in_tiles() -> None:
    rng = np.random.default_rng(2)
    a, b = (rng.normal(size=(n, 61)).astype("f") for n in (128, 101))
    y = ph.input("x", a.shape) @ ph.input("b", b.shape).T
    assert "staged0" in nests(y)
    got = ph.compile({"y": y}, search=0)(x=a, b=b)["y"]
    # sums of 61 products of normal numbers, in float32: a few units in the last place of the sum
    np.testing.assert_allclose(got, a.astype("d") @ b.T.astype("d"), rtol=0, atol=2e-5)


def test_a_contiguous_right_side_may_be_copied_but_is_not_by_default() -> None:
    y = ph.input("x", (64, 96)) @ ph.input("b", (96, 128))
    assert "staged" not in nests(y)
    assert "staged0" in nests(y, STAGED[0])


def test_conditions_that_guard_loads_are_not_staged() -> None:
    x = np.random.default_rng(5).normal(size=(1, 3, 32, 32)).astype("f")
    weights = ph.constant(np.ones((3, 1, 3, 3), np.float32))
    y = ph.conv(ph.input("x", x.shape), weights, stride=2, padding=((0, 1), (0, 1)), groups=3)
    assert "positive" in nests(y) and "staged" not in nests(y)  # the last windows hang over
    require_meaning(y, {"x": x}, rtol=1e-5)  # what lies past the input ends the process
