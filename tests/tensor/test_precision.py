"""``precision="bf16"``: what is rounded, what is not, and by how much results may differ."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import photic as ph
from photic.base.errors import BadArgument
from photic.forms.eval import Array
from photic.ir.dtype import BFLOAT16
from photic.ir.graph import all_nodes
from photic.tensor.compiling import graph_of
from photic.tensor.precision import rounded

BOUND = 2.0**-8  # of the sum of absolute products: half a unit of each of two factors
SUMMING = 2.0**-18  # float32 sums of some hundred products


def halves(y: ph.Tensor) -> int:
    """How many values of a graph are rounded to bfloat16."""
    graph = rounded(graph_of({"y": y}, {}))
    return sum(one.dtype == BFLOAT16 for one in all_nodes(graph.roots))


def drawn(*shape: int) -> Array:
    return np.random.default_rng(sum(shape)).standard_normal(shape).astype(np.float32)


@pytest.mark.parametrize(
    ("rows", "terms", "columns"), [(16, 32, 32), (77, 96, 131), (33, 100, 64), (130, 67, 40)]
)
@pytest.mark.parametrize("is_constant", [False, True], ids=["run time", "constant"])
def test_products_stay_within_the_stated_bound(
    rows: int, terms: int, columns: int, is_constant: bool
) -> None:
    a, b = drawn(rows, terms), drawn(terms, columns)
    x, y = ph.input("a", a.shape), ph.constant(b) if is_constant else ph.input("b", b.shape)
    program = ph.compile(x @ y, search=0, precision="bf16")
    found = program(**({"a": a} if is_constant else {"a": a, "b": b}))["output"]
    wide, scale = a.astype(np.float64) @ b, np.abs(a).astype(np.float64) @ np.abs(b)
    assert (np.abs(found - wide) <= (BOUND + SUMMING) * scale).all()


def test_exact_is_the_default_and_rounds_nothing() -> None:
    a, b = drawn(64, 64), drawn(64, 64)
    x, y = ph.input("a", a.shape), ph.input("b", b.shape)
    found = ph.compile(x @ y, search=0)(a=a, b=b)["output"]
    scale = np.abs(a).astype(np.float64) @ np.abs(b)
    assert (np.abs(found - a.astype(np.float64) @ b) <= SUMMING * scale).all()


def test_an_operand_that_several_products_share_is_rounded_once() -> None:
    x = ph.input("x", (64, 64)) * 2.0
    products = [x @ ph.input(f"w{k}", (64, 64)) for k in range(3)]
    assert halves(products[0] + products[1] + products[2]) == 1 + len(products)


def product(rows: int, terms: int, columns: int, dtype: str = "float32") -> ph.Tensor:
    return ph.input("x", (rows, terms), dtype) @ ph.input("w", (terms, columns), dtype)


@pytest.mark.parametrize(
    "make",
    [
        pytest.param(lambda: product(8, 64, 64), id="few rows"),
        pytest.param(lambda: product(64, 8, 64), id="few terms"),
        pytest.param(lambda: product(64, 64, 64, "float64"), id="float64"),
        pytest.param(
            lambda: ph.sum(ph.input("x", (64, 64)) * ph.input("w", (64, 64)), 0), id="no reuse"
        ),
        pytest.param(
            lambda: ph.max(ph.input("x", (64, 1, 64)) * ph.input("w", (64, 64)), -1), id="no sum"
        ),
    ],
)
def test_what_gains_no_time_is_not_rounded(make: Callable[[], ph.Tensor]) -> None:
    assert halves(make()) == 0


def test_a_convolution_over_a_small_image_is_rounded_as_its_weights_serve_every_pixel() -> None:
    x, w = ph.input("x", (1, 64, 7, 7)), ph.input("w", (64, 64, 1, 1))
    assert halves(ph.conv2d(x, w)) == 2


def test_what_follows_a_product_may_choose_by_the_row_where_rows_are_left_over() -> None:
    """The last tile of rows is smaller, and only the sum of both ends lies inside."""
    x, first = ph.input("x", (257, 384)), ph.input("first", (1, 384))
    w, rest = drawn(384, 384), ph.input("rest", (384, 16, 16))
    y = ph.concatenate([first, (rest + 1).reshape(384, 256).T], 0) + x @ ph.constant(w)
    program = ph.compile(y, search=0, precision="bf16")
    given = {"x": drawn(257, 384), "first": drawn(1, 384), "rest": drawn(384, 16, 16)}
    wide = {name: one.astype(np.float64) for name, one in given.items()}
    added = np.concatenate([wide["first"], wide["rest"].reshape(384, 256).T + 1])
    error = np.abs(program(**given)["output"] - (added + wide["x"] @ w.astype(np.float64)))
    scale = np.abs(wide["x"]) @ np.abs(w.astype(np.float64))
    assert (error <= BOUND * scale + SUMMING * (scale + np.abs(added))).all()


def test_quantised_weights_are_not_rounded_where_rows_are_few() -> None:
    """They are unpacked on the way, and rounding them would cost time only."""
    rows = ph.dim("rows", 1, 64)
    codes, scales = np.arange(64 * 64, dtype=np.uint8).reshape(64, 64) % 16, drawn(64, 1)
    w = ph.constant(codes).astype("float32") * ph.constant(scales) * 1.5
    x = ph.input("x", (rows, 64))
    program = ph.compile(x @ w.T, search=0, precision="bf16")
    weights = (codes.astype(np.float64) * scales) * 1.5
    for count in (1, 3, 15, 16, 17, 37, 64):
        given = drawn(count, 64)
        scale = np.abs(given).astype(np.float64) @ np.abs(weights).T
        # with few rows only the rows are rounded: half a unit of one factor
        bound = BOUND if count >= 16 else BOUND / 2
        error = np.abs(program(x=given)["output"] - given.astype(np.float64) @ weights.T)
        assert (error <= (bound + SUMMING) * scale).all()


def test_an_unknown_precision_is_refused_by_name() -> None:
    with pytest.raises(BadArgument, match="'exact' or 'bf16'"):
        ph.compile(ph.input("x", (2,)), precision="int4")
