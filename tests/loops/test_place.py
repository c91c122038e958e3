"""Which values are stored, and which are computed again where they are read."""

from __future__ import annotations

import numpy as np

import photic as ph
from photic.compiler.compile import prepared
from photic.targets.registry import target_named
from photic.tensor.artifacts import finished
from photic.tensor.compiling import graph_of
from photic.tensor.tensor import Tensor


def nests(y: Tensor) -> list[str]:
    """The text of each nest."""
    made = finished(prepared(graph_of({"y": y}, {}), target_named("c"))).kernels
    return [one.nest for one in made]


def ones(*shape: int) -> Tensor:
    return ph.constant(np.ones(shape, np.float32))


def summed_and_cut() -> tuple[Tensor, Tensor]:
    """A sum of products, and the larger of 0 and what is made of it."""
    product = ph.conv(ph.input("x", (1, 8, 32, 32)), ones(16, 8, 1, 1))
    return product, ph.where(product < 3.0, 0.0, product)


def test_what_windows_read_again_is_stored_instead_of_the_sum_it_is_made_of() -> None:
    _, value = summed_and_cut()
    first, second = nests(ph.conv(value, ones(16, 1, 3, 3), stride=2, groups=16))
    assert "less_than" in first and "less_than" not in second


def test_a_sum_that_is_read_elsewhere_too_is_stored_itself() -> None:
    product, value = summed_and_cut()
    windows = ph.conv(value, ones(16, 1, 3, 3), stride=2, groups=16)
    first, *_, last = nests(windows + product[:, :, 1::2, 1::2][:, :, :15, :15])
    assert "less_than" not in first and "less_than" in last


def test_a_sum_of_sums_in_another_reduction_is_stored_instead_of_each() -> None:
    x = ph.input("x", (24, 32))
    first, second = nests(ph.max(x.sum(axis=1) + (x * x).sum(axis=1), axis=0))
    assert first.count("sum") == 2 and "sum" not in second


def test_what_is_larger_than_its_sums_is_not_stored_instead_of_them() -> None:
    x, y = ph.input("x", (24, 32)), ph.input("y", (40, 32))
    pairs = x.sum(axis=1)[:, None] + y.sum(axis=1)[None, :]
    made = finished(prepared(graph_of({"y": ph.max(pairs, axis=0)}, {}), target_named("c")))
    assert made.arena_bytes < 24 * 40 * 4
