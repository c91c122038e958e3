"""Products with coded weights in which two bytes stand for an element: the bound, and ranges."""

from __future__ import annotations

import numpy as np
import pytest
from tensor.test_integer_products import (
    CODED,
    HALF_STEP,
    SUMMING,
    TERMS,
    limit,
    needs_bytes,
    weights,
)

import photic as ph
from photic.base.errors import BadArgument
from photic.compiler.compile import prepared
from photic.targets.registry import target_named
from photic.tensor.compiling import graph_of
from photic.tensor.precision import narrowed, rounded
from photic.tensor.ranges import by_ranges

FINER = 254  # steps of the second byte in one of the first
RANGES = {"rows": (16,)}


def fine(x: np.ndarray, w: np.ndarray) -> np.ndarray:
    """How far a product may be off: half a step of the second byte, and float32's sums."""
    sums = SUMMING * np.abs(x) @ np.abs(w).T
    return (limit(x, w) - sums) / FINER + sums


def product(kind: str, rng: np.random.Generator, columns: int = 64) -> tuple[ph.Tensor, np.ndarray]:
    w, values = weights(kind, rng, columns)
    return ph.matmul(ph.input("x", (ph.dim("rows", 1, 200), TERMS)), w.transpose()), values


@pytest.mark.parametrize("kind", CODED)
def test_every_format_is_within_half_a_step_of_the_second_byte(kind: str) -> None:
    rng = np.random.default_rng(0)
    y, values = product(kind, rng)
    program = ph.compile(y, search=0, precision="int16", ranges=RANGES)
    for rows in (1, 7, 40):
        x = rng.standard_normal((rows, TERMS)).astype(np.float32)
        (found,) = program(x=x).values()
        exact = x.astype(np.float64)
        assert (np.abs(found - exact @ values.T) <= fine(exact, values)).all()
    assert HALF_STEP / FINER == 1 / 64516


@needs_bytes
def test_both_bytes_are_multiplied_with_codes_that_are_unpacked_once() -> None:
    rng = np.random.default_rng(0)
    y, _ = product("Q4_1", rng)
    loops = {}
    for precision in ("int8", "int16"):
        made = ph.compile(y.relu(), search=0, precision=precision, ranges=RANGES)
        loop = "for (int64_t block0"
        fitting = [one.source for one in made.report.kernels if loop in one.source]
        (few,) = (one for one in fitting if "char blocks[" not in one)  # those have many rows
        loops[precision] = few.count(loop), few.count("vpdpbusd")
    assert loops["int16"] == (loops["int8"][0], 2 * loops["int8"][1])


def test_ranges_may_differ_in_precision() -> None:
    rng = np.random.default_rng(0)
    y, values = product("Q4_1", rng)
    program = ph.compile(y, search=0, precision=("int16", "bf16"), ranges=RANGES)
    errors = {}
    for rows in (15, 16):
        x = rng.standard_normal((rows, TERMS)).astype(np.float32)
        (found,) = program(x=x).values()
        exact = x.astype(np.float64)
        errors[rows] = np.abs(found - exact @ values.T) / fine(exact, values)
        coarse = 2.0**-8 * np.abs(exact) @ np.abs(values).T
        assert (np.abs(found - exact @ values.T) <= coarse).all()
    assert errors[15].max() <= 1 < errors[16].max()


def test_programs_of_ranges_share_constants_by_what_they_hold() -> None:
    rng = np.random.default_rng(0)
    y, _ = product("Q4_1", rng)
    kept = ph.constant(rng.standard_normal((64, 64)).astype(np.float32))
    graph, target = graph_of({"y": ph.matmul(y, kept)}, {}), narrowed(target_named("c"))
    programs = [prepared(rounded(graph, one), target).program for one in ("int16", "bf16")]
    both = by_ranges(programs, RANGES)
    keys = [one.key for one in both.constants.values()]
    assert len(set(keys)) == len(keys)
    assert set(keys) == {one.key for each in programs for one in each.constants.values()}
    assert both.constants.keys() == {k for k, v in both.places.items() if v.role == "constant"}


@pytest.mark.parametrize(
    ("precision", "ranges", "told"),
    [
        (("int16", "exact"), RANGES, "'bf16' or 'int8' or 'int16'"),
        (("int16", "bf16"), None, "one for each range"),
        (("int16", "bf16", "bf16"), RANGES, "3 of them"),
        ((), RANGES, "precision"),
        ("fp8", None, "'exact' or 'bf16'"),
    ],
)
def test_wrong_precisions_are_refused_with_what_was_expected(
    precision: str | tuple[str, ...], ranges: dict[str, tuple[int, ...]] | None, told: str
) -> None:
    y, _ = product("Q8_0", np.random.default_rng(0))
    with pytest.raises(BadArgument, match=told):
        ph.compile(y, search=0, precision=precision, ranges=ranges)
