"""Outputs that are views of what is computed are computed where they lie."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
import pytest
from tensor.evaluating import widened

import photic as ph

ROWS, COLUMNS = 12, 34


def product(x: ph.Tensor) -> ph.Tensor:
    return x @ ph.constant(np.linspace(-1, 1, COLUMNS * 40, dtype=np.float32).reshape(COLUMNS, 40))


ONE_KERNEL: Mapping[str, Callable[[ph.Tensor], ph.Tensor]] = {
    "transposed": lambda x: ph.transpose(product(x)),
    "turned around": lambda x: ph.flip(product(x), 1),
    "cropped": lambda x: product(x)[1:, 3:-1],
    "reshaped": lambda x: ph.reshape(product(x), (3, 4, 8, 5)),
    "as one axis": lambda x: ph.reshape(product(x), (-1,)),
    "one of each axis": lambda x: ph.sum(x, axis=1)[::5],
}
MORE: Mapping[str, Callable[[ph.Tensor], ph.Tensor]] = {
    "cropped pairs": lambda x: ph.reshape(product(x), (ROWS * 40,))[1:-1],
    "repeated": lambda x: ph.broadcast_to(ph.sum(x, axis=0), (ROWS, COLUMNS)),
    "padded": lambda x: ph.pad(ph.sum(x, axis=0), ((2, 3),)),
    "cut across": lambda x: ph.reshape(product(x), (-1,))[:477].reshape((9, 53)),
}


@pytest.mark.parametrize("name", [*ONE_KERNEL, *MORE])
def test_it_is_right(name: str) -> None:
    make = {**ONE_KERNEL, **MORE}[name]
    x = np.random.default_rng(0).standard_normal((ROWS, COLUMNS), np.float32)
    program = ph.compile({"y": make(ph.input("x", x.shape))})
    np.testing.assert_allclose(program(x=x)["y"], widened(make, x), 1e-5, 1e-5)
    assert name in MORE or len(program.report.kernels) == 1


def test_what_two_outputs_show_is_computed_once() -> None:
    y = product(ph.input("x", (ROWS, COLUMNS)))
    program = ph.compile({"a": ph.transpose(y), "b": ph.flip(y, 0)})
    x = np.random.default_rng(0).standard_normal((ROWS, COLUMNS), np.float32)
    found = program(x=x)
    assert len(program.report.kernels) == 3
    np.testing.assert_array_equal(found["a"].T, found["b"][::-1])


@pytest.mark.parametrize("padding", [0, 1, 2])
@pytest.mark.parametrize("width", [3, 8, 13, 16, 24, 40])
def test_steps_of_two_are_stored_in_pairs(width: int, padding: int) -> None:
    w = ph.constant(np.random.default_rng(1).standard_normal((3, 5, 4, 4), np.float32))
    x = np.random.default_rng(width).standard_normal((1, 3, 6, width), np.float32)

    def make(x: ph.Tensor) -> ph.Tensor:
        return ph.conv_transpose(x, w, stride=2, padding=padding)

    program = ph.compile({"y": make(ph.input("x", x.shape))})
    np.testing.assert_allclose(program(x=x)["y"], widened(make, x), 1e-4, 1e-5)
    assert width < 8 or any("store_pairs" in one.source for one in program.report.kernels)
