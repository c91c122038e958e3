"""Loads happen only where they may: paddings, windows, look-ups, empty extents."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest
from fuzz.agreement import require_meaning
from fuzz.choices import scramble

import photic as ph
from photic.forms import movement
from photic.ir.dim import Dim
from photic.tensor.shapes import moved

ROWS = np.arange(40, dtype=np.float32)


@pytest.mark.parametrize("before", [0, 1, 15, 16, 33])
def test_paddings_of_any_width_are_nothing(before: int) -> None:
    n = ph.dim("n", 0, 64)
    x = ph.input("x", (n,))
    for size in (0, 1, 16, 40):
        outputs = {"y": ph.pad(x, (before, 3)), "z": ph.pad(ph.exp2(x), (3, before))}
        require_meaning(outputs, {"x": ROWS[:size] / 64}, sizes={"n": size}, rtol=1e-6)


def test_a_padded_window_reads_nothing_beside_its_source() -> None:
    x = ph.input("x", (9, 11))
    y = ph.pad(x, ((2, 2), (1, 3)))
    for axis in (0, 1):
        y = moved(y, movement.windows, axis, 3, 2, 1)
    given = {"x": np.arange(99, dtype=np.float32).reshape(9, 11)}
    require_meaning({"max": ph.max(ph.max(y, axis=3), axis=2), "y": y}, given)


@pytest.mark.parametrize("sizes", [(0, 0), (0, 3), (3, 0), (3, 4)], ids=str)
def test_an_empty_extent_divides_nothing(sizes: tuple[int, int]) -> None:
    n, m = ph.dim("n", 0, 8), ph.dim("m", 0, 8)
    x = ph.input("x", (n, m))
    place = ph.reshape(ph.arange(n * m), (n, m))
    outputs = {
        "flat": ph.pad(ph.reshape(x, (n * m,)), (2, 1)),
        "place": ph.pad(ph.reshape(place, (n * m,)), (1, 1)),
        "back": ph.reshape(ph.pad(ph.reshape(x, (n * m,)), (1, 0))[1:], (m, n)),
    }
    data = np.arange(sizes[0] * sizes[1], dtype=np.float32).reshape(sizes)
    require_meaning(outputs, {"x": data}, sizes={"n": sizes[0], "m": sizes[1]})


def test_a_look_up_through_padded_places_reads_only_what_is_there() -> None:
    table, places = ph.input("t", (17, 5)), ph.input("p", (6,), "int64")
    again = ph.take(ph.input("q", (8,), "int64"), ph.pad(places, (1, 1)), 0)
    outputs = {
        "y": ph.take(table, again, 0),
        "z": ph.pad(ph.take(table, again, 0), ((1, 0), (0, 1))),
    }
    given = {
        "t": np.arange(85, dtype=np.float32).reshape(17, 5),
        "p": np.array([0, 7, 8, -1, -9, 3]),
        "q": np.array([16, 17, -17, -18, 0, 2**62, -(2**63), 5]),
    }
    require_meaning(outputs, given)
    random = Random(0)
    for _ in range(4):
        require_meaning(outputs, given, change=lambda state: scramble(random, state))


def test_the_other_side_of_a_choice_is_guarded_too() -> None:
    p = ph.dim("p", 0, 4)
    old, new = ph.input("old", (9, 4)), ph.input("new", (3, 4))
    after: Dim = 6 - p
    mask = moved(moved(ph.full((3, 4), True), movement.pad, 0, p, after), movement.pad, 1, 0, 0)
    spread = moved(new, movement.pad, 0, p, after)
    outputs = {
        "first": ph.where(mask, spread, old),
        "last": ph.where(ph.logical_not(mask), old, spread),
    }
    given = {"old": np.ones((9, 4), np.float32), "new": np.full((3, 4), 2, np.float32)}
    for size in range(5):
        require_meaning(outputs, given, sizes={"p": size})


def test_places_wrap_with_their_dtype_before_they_are_compared() -> None:
    rows = 300  # a byte meets 44 twice: at 44 and at 300 - 256
    row = ph.arange(rows).astype("uint8")
    table, place = ph.input("t", (rows,)), ph.input("p", (1,), "uint8")
    picked = ph.where(ph.equal(row, place), table, 0.0)
    given = {"t": np.ones(rows, np.float32), "p": np.array([43], np.uint8)}
    assert require_meaning(ph.sum(picked), given)["y"] == 2


@pytest.mark.parametrize("dtype", ["float16", "float64", "int8", "bool"])
def test_a_look_up_in_any_dtype_is_a_load(dtype: str) -> None:
    table, place = ph.input("t", (1000, 8), dtype), ph.input("p", (3,), "int64")
    program = ph.compile({"y": ph.take(table, place, 0)})
    assert all("for (int64_t k" not in kernel.source for kernel in program.report.kernels)
    data = np.random.default_rng(0).integers(0, 2, (1000, 8)).astype(dtype)
    result = program(t=data, p=np.array([999, 0, 5]))["y"]
    np.testing.assert_array_equal(result, data[[999, 0, 5]])


def test_a_symbolic_stride_is_taken_lane_by_lane() -> None:
    n = ph.dim("n", 1, 50)
    x = ph.input("x", (40, n))
    outputs = {"columns": ph.swapaxes(x, 0, 1), "first": x[:, 0], "sum": ph.sum(x, axis=0)}
    for size in (1, 7, 50):
        data = np.arange(40 * size, dtype=np.float32).reshape(40, size)
        require_meaning(outputs, {"x": data}, sizes={"n": size})


def test_sizes_may_be_called_like_anything() -> None:
    names = ["item", "left", "lane", "v0", "sizes", "int64_t", "p0", "a0", "trip0", "n_", "double"]
    dims = [ph.dim(name, 1, 9) for name in names]
    inputs = [ph.input(f"x_{name}", (dim, 2)) for name, dim in zip(names, dims, strict=True)]
    outputs = {name: ph.sum(one) for name, one in zip(names, inputs, strict=True)}
    (last,), _ = ph.scan(lambda c, s: ((c[0] + s[0],), ()), [ph.zeros((2,))], [inputs[0]])
    given = {f"x_{name}": np.ones((3, 2), np.float32) for name in names}
    sizes = dict.fromkeys(names, 3)
    require_meaning({**outputs, "last": last}, given, sizes=sizes)


def test_partial_stores_of_narrowed_lanes_write_no_more() -> None:
    place = ph.arange(17)
    dtypes = ("bfloat16", "float16", "int8", "int16", "int32", "uint8", "float32", "bool")
    require_meaning({dtype: place.astype(dtype) for dtype in dtypes})


@pytest.mark.parametrize("dtype", ["float32", "float16", "int8", "int64", "bool"])
def test_borders_inside_a_vector_are_one_masked_load(dtype: str) -> None:
    x = ph.input("x", (3, 21), dtype)
    padded = {"y": ph.pad(x, ((0, 0), (2, 3)))}
    given = np.random.default_rng(0).integers(0, 2, (3, 21)).astype(dtype)
    require_meaning(padded, {"x": given})
    (kernel,) = ph.compile(padded, search=0).report.kernels
    assert "load_masked" in kernel.source and "lane++" not in kernel.source
