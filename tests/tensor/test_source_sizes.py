"""What is composed stays small as C, where the same could be arranged as something large."""

from __future__ import annotations

import pytest

import photic as ph
from photic.compiler.compile import complete, prepared
from photic.targets.registry import target_named
from photic.tensor.compiling import graph_of

MOST = 2**16  # characters


@pytest.mark.parametrize("axis", [None, 0, 1])
def test_bits_of_symbolic_rows_are_not_packed_by_a_product_of_matrices(axis: int | None) -> None:
    bits = ph.input("x", (ph.dim("n", 0, 2048), ph.dim("m", 0, 2048)), "bool")
    state = prepared(graph_of({"y": ph.packbits(bits, axis)}, {}), target_named("c"))
    complete(state)
    assert len(state.text) < MOST
