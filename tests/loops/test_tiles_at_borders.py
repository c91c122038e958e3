"""Tiles whose lanes end early, and tiles whose lanes lie apart in what they store."""

from __future__ import annotations

import re

import numpy as np
import pytest

import photic as ph
from photic.compiler.compile import prepared
from photic.targets.registry import target_named
from photic.tensor.artifacts import finished
from photic.tensor.compiling import graph_of
from photic.tensor.tensor import Tensor

SUMS = 2e-5  # absolute error of sums of at most 61 products of normal numbers, in float32


def kernels(y: Tensor) -> tuple[str, str]:
    """The text of all nests, and the source of all kernels."""
    made = finished(prepared(graph_of({"y": y}, {}), target_named("c"))).kernels
    return "\n".join(one.nest for one in made), "\n".join(one.source for one in made)


@pytest.mark.parametrize("columns", [1, 17, 97, 100, 127, 129, 196])
def test_lanes_left_over_are_computed_right(columns: int) -> None:
    rng = np.random.default_rng(1)
    a, b = rng.normal(size=(24, 61)).astype("f"), rng.normal(size=(61, columns)).astype("f")
    y = ph.input("a", a.shape) @ ph.input("b", b.shape)
    got = ph.compile({"y": y}, search=0)(a=a, b=b)["y"]
    np.testing.assert_allclose(got, a.astype("d") @ b, rtol=0, atol=SUMS)


def test_the_last_tile_of_lanes_has_only_the_vectors_that_it_needs() -> None:
    y = ph.input("a", (24, 61)) @ ph.input("b", (61, 196))
    found = re.findall(r"vector \w+:(\d)x(\d+) valid", kernels(y)[0])
    whole = re.findall(r"vector \w+:(\d)x(\d+)\]", kernels(y)[0])
    width, tile = int(whole[0][1]), int(whole[0][0]) * int(whole[0][1])
    assert found and {int(count) for count, _ in found} == {-(-(196 % tile) // width)}


@pytest.mark.parametrize(("rows", "sizes"), [(14, [5, 4]), (17, [6, 5]), (7, [4, 3]), (3, [3])])
def test_rows_left_over_are_a_tile(rows: int, sizes: list[int]) -> None:
    y = ph.input("a", (rows, 61)) @ ph.constant(np.ones((61, 64), np.float32))
    found = re.findall(r"tile \[a0_\w:(\d) vector a1_v:4x16\]", kernels(y)[0])
    assert [int(one) for one in found] == sizes and "a0_r :" not in kernels(y)[0]


@pytest.mark.parametrize("rows", [1, 3, 7, 13, 14, 17, 49, 51])
def test_rows_left_over_are_computed_right(rows: int) -> None:
    rng = np.random.default_rng(6)
    a, b = rng.normal(size=(rows, 61)).astype("f"), rng.normal(size=(61, 80)).astype("f")
    y = ph.input("a", a.shape) @ ph.constant(b)
    got = ph.compile({"y": y}, search=0)(a=a)["y"]
    np.testing.assert_allclose(got, a.astype("d") @ b, rtol=0, atol=SUMS)


def first_layer() -> tuple[Tensor, np.ndarray]:
    """A convolution with stride 2 of few channels: vectors run along those of the result."""
    weights = np.random.default_rng(2).normal(size=(32, 3, 3, 3)).astype("f")
    return ph.conv(ph.input("x", (1, 3, 33, 33)), ph.constant(weights), stride=2), weights


def test_rows_of_a_tile_are_those_that_lie_side_by_side_in_what_is_stored() -> None:
    nest, source = kernels(first_layer()[0])
    assert re.search(r"tile \[a2_u:8 vector a0_v:\d", nest)
    assert "store_fours_f32" in source


def test_what_is_stored_four_rows_at_a_time_is_where_it_belongs() -> None:
    y, weights = first_layer()
    x = np.random.default_rng(3).normal(size=(1, 3, 33, 33)).astype("f")
    got = ph.compile({"y": y}, search=0)(x=x)["y"]
    windows = np.lib.stride_tricks.sliding_window_view(x, (3, 3), (2, 3))[:, :, ::2, ::2]
    expected = np.einsum("ncijkl,ockl->noij", windows.astype("d"), weights)
    np.testing.assert_allclose(got, expected, rtol=0, atol=SUMS)
