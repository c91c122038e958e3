"""What a program's report says of its kernels."""

from __future__ import annotations

import pytest

import photic as ph


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_a_product_has_a_multiplication_and_an_addition_for_each_term(dtype: str) -> None:
    x, y = ph.input("x", (24, 40), dtype), ph.input("y", (40, 56), dtype)
    (kernel,) = ph.compile(x @ y, search=0).report.kernels
    assert kernel.flops == 2 * 24 * 40 * 56
