"""Texts for matrix tiles run where there are none: their instructions are functions of a header.

So a processor without AMX tests what is printed for one with it.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from targets.test_matrix import called, drawn, require_product

import photic as ph
from photic.loops.target import Machine
from photic.targets.c import device, matrix_units
from photic.targets.c.facts import facts
from photic.targets.c.matrix import register_tile

TILES = Path(__file__).with_name("tiles_on_cpu.h").read_text()
INSTRUCTION = "tdpbf16ps"

needs_avx512 = pytest.mark.skipif(
    not facts().avx512, reason="this processor has no AVX-512, whose vectors stand around the tiles"
)


@pytest.fixture
def tiles(monkeypatch: pytest.MonkeyPatch) -> None:
    """A processor with tiles, made of functions."""
    build, known = device.TARGET.build, replace(facts(), amx_bf16=True)
    monkeypatch.setattr(matrix_units, "facts", lambda: known)

    def machine() -> Machine:
        """One that is not equal to this processor's, as choices are remembered by it."""
        return replace(device.machine(), special=lambda *tile: register_tile(*tile))

    made = replace(device.TARGET, machine=machine, build=lambda text: build(TILES + text))
    monkeypatch.setattr("photic.tensor.compiling.target_named", lambda name: made)


@needs_avx512
@pytest.mark.parametrize(
    ("rows", "terms", "columns"), [(16, 32, 32), (40, 256, 48), (77, 288, 131), (333, 96, 129)]
)
def test_products_by_tiles_equal_those_in_float64(
    tiles: None, rows: int, terms: int, columns: int
) -> None:
    rng = np.random.default_rng(rows)
    a, b = drawn(rng, rows, terms), drawn(rng, terms, columns)
    x, y = (ph.input(n, one.shape, "bfloat16") for n, one in (("a", a), ("b", b)))
    program = ph.compile(x @ y, search=0)
    assert any(INSTRUCTION in one.source for one in program.report.kernels)
    require_product(called(program, a=a, b=b), a, b)


@needs_avx512
def test_weights_in_pairs_for_any_number_of_rows(tiles: None) -> None:
    rng, count = np.random.default_rng(0), ph.dim("rows", 1, 200)
    packed = rng.integers(0, 255, (131, 16, 32)).astype(np.uint8)
    scale = rng.standard_normal((131, 16, 1)).astype(np.float32)
    w = (ph.constant(packed).astype("float32") * ph.constant(scale)).reshape((131, 512))
    product = ph.matmul(ph.input("x", (count, 512)), w.transpose())
    program = ph.compile(product, search=0, ranges={"rows": (16,)}, precision="bf16")
    assert any(INSTRUCTION in one.source for one in program.report.kernels)
    b = (packed * scale.astype(np.float64)).reshape(131, 512).T
    for rows in (1, 16, 33, 130, 200):
        a = drawn(rng, rows, 512).astype(np.float32)
        # each weight may be rounded to bfloat16: half a unit, and the order of float32 sums
        limit = (2.0**-8 + 2.0**-18) * (np.abs(a).astype(np.float64) @ np.abs(b))
        assert (np.abs(called(program, x=a) - a @ b) <= limit).all()
