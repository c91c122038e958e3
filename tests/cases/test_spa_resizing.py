"""SPA-04: nearest places at ties and edges, sizes 1; by the evaluator and compiled C.

Places are computed exactly, in fractions: no device rounds them otherwise.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest
from cases.test_num_tensor import Run, by_evaluator, by_program, inputs

import photic as ph

BOTH = pytest.mark.parametrize("run", [by_evaluator, by_program], ids=["evaluator", "c"])
HALF = Fraction(1, 2)
ROUNDED: dict[str, Callable[[Fraction], int]] = {
    "floor": math.floor,
    "ceil": math.ceil,
    "round_prefer_floor": lambda place: math.ceil(place - HALF),
    "round_prefer_ceil": lambda place: math.floor(place + HALF),
}


def places(old: int, new: int, rounding: str, step: Fraction) -> list[int]:
    """The old place of each new one, half pixels apart, by exact arithmetic."""
    found = [ROUNDED[rounding]((k + HALF) * step - HALF) for k in range(new)]
    return [min(max(one, 0), old - 1) for one in found]


@BOTH
def test_spa_04_ties_go_where_the_rounding_says(run: Run) -> None:
    x = np.arange(20, dtype=np.float32)
    (a,) = inputs({"x": x})
    outputs = {
        name: ph.resize(a, sizes=(6,), coordinates="half_pixel", rounding=name) for name in ROUNDED
    }
    got = run(outputs, {"x": x})
    assert got["round_prefer_ceil"].tolist() == [1, 5, 8, 11, 15, 18]
    for name, one in got.items():
        assert one.tolist() == places(20, 6, name, Fraction(20, 6)), name


@BOTH
def test_spa_04_no_place_before_the_first_is_read(run: Run) -> None:
    x = np.arange(1, 17, dtype=np.float32).reshape(4, 4)
    (a,) = inputs({"x": x})
    got = run({"y": ph.resize(a, sizes=(8, 8), rounding="floor")}, {"x": x})["y"]
    line = [0, 0, 0, 1, 1, 2, 2, 3]
    np.testing.assert_array_equal(got, x[np.ix_(line, line)])


@BOTH
@pytest.mark.parametrize("rounding", sorted(ROUNDED))
def test_spa_04_sizes_of_one_and_scales_below_one_keep_to_the_input(
    run: Run, rounding: str
) -> None:
    given = {"one": np.array([5], np.float32), "many": np.arange(1, 8, dtype=np.float32)}
    one, many = inputs(given)
    outputs = {
        "out": ph.resize(one, sizes=(7,), rounding=rounding),
        "in": ph.resize(many, sizes=(1,), rounding=rounding),
        "scaled": ph.resize(many, scales=(0.6,), rounding=rounding),
    }
    got = run(outputs, given)
    assert got["out"].tolist() == [5] * 7
    assert got["in"].tolist() == [1 + places(7, 1, rounding, Fraction(7))[0]]
    assert got["scaled"].tolist() == [1 + k for k in places(7, 4, rounding, Fraction(5, 3))]


@BOTH
@pytest.mark.parametrize("mode", ["nearest", "linear", "cubic"])
def test_spa_04_aligned_corners_of_one_place_are_the_first(run: Run, mode: str) -> None:
    given = {"one": np.array([5], np.float32), "many": np.arange(1, 8, dtype=np.float32)}
    one, many = inputs(given)
    outputs = {
        "out": ph.resize(one, sizes=(7,), mode=mode, coordinates="align_corners"),
        "in": ph.resize(many, sizes=(1,), mode=mode, coordinates="align_corners"),
    }
    got = run(outputs, given)
    assert got["out"].tolist() == [5] * 7
    assert got["in"].tolist() == [1]


@BOTH
@pytest.mark.parametrize("mode", ["linear", "cubic"])
def test_spa_04_weighted_places_of_sizes_of_one_and_scales_below_one(run: Run, mode: str) -> None:
    given = {"one": np.array([5], np.float32), "many": np.arange(1, 8, dtype=np.float32)}
    one, many = inputs(given)
    outputs = {
        "out": ph.resize(one, sizes=(7,), mode=mode),
        "in": ph.resize(many, sizes=(1,), mode=mode),
        "scaled": ph.resize(many, scales=(0.6,), mode=mode, cubic_coeff_a=-0.5),
    }
    got = run(outputs, given)
    # a weighted sum of one number, whose weights are rounded
    np.testing.assert_allclose(got["out"], np.full(7, 5), rtol=3e-7)
    np.testing.assert_allclose(got["in"], [4], rtol=3e-7)
    # of a straight line these kernels make the line, where they lie inside it (Keys 1981)
    line = [1 + (k + 0.5) / 0.6 - 0.5 for k in range(4)]
    np.testing.assert_allclose(got["scaled"][1:3], line[1:3], rtol=1e-6)
    assert got["scaled"].shape == (4,)
