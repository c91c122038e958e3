"""The order of loops around a tile: what brings the fewest new lines moves fastest."""

from __future__ import annotations

import numpy as np

import photic as ph
from photic.ir import index as form
from photic.ir.dim import Dim, Var, symbol, var
from photic.ir.dtype import FLOAT32
from photic.ir.index import Buffer, Store
from photic.loops.order import orders

N = symbol("n", 1, 4096)


def at(axis: Var) -> Dim:
    return var(axis.name, axis.extent)


def names(found: list[tuple[Var, ...]]) -> list[str]:
    return [" ".join(axis.name for axis in one) for one in found]


def test_a_loop_that_moves_within_lines_lies_inside_one_that_leaves_them() -> None:
    batch, near, lanes, k = Var("b", 1000), Var("j", 32), Var("v", 32), Var("k", 32)
    source, factors = Buffer("x", (1000, 32, 32), FLOAT32), Buffer("w", (32, 32), FLOAT32)
    read = form.load(source, (at(batch), at(k), at(near)))
    value = form.binary("mul", read, form.load(factors, (at(k), at(lanes))))
    target = Buffer("y", (1000, 32, 32), FLOAT32)
    index = (at(batch), at(near), at(lanes))
    store = Store(target, (near, batch, lanes), index, form.reduce("sum", k, value))
    assert names(orders(store, {lanes: 32}, {})) == ["b j v", "j b v"]


def test_rows_stay_outside_where_a_row_is_shared() -> None:
    row, column = Var("i", 1000), Var("j", 1000)
    value = form.binary(
        "add",
        form.load(Buffer("x", (1000, 1000), FLOAT32), (at(row), at(column))),
        form.load(Buffer("b", (1000,), FLOAT32), (at(column),)),
    )
    store = Store(Buffer("y", (1000, 1000), FLOAT32), (row, column), (at(row), at(column)), value)
    assert names(orders(store, {column: 64}, {})) == ["i j"]


def test_columns_that_are_written_lane_by_lane_stay_in_the_cache() -> None:
    row, column = Var("i", 1000), Var("j", 1000)
    value = form.load(Buffer("x", (1000, 1000), FLOAT32), (at(column), at(row)))
    store = Store(Buffer("y", (1000, 1000), FLOAT32), (column, row), (at(row), at(column)), value)
    assert names(orders(store, {row: 64}, {}))[0] == "i j"


def test_a_step_of_unknown_length_is_far() -> None:
    row, column = Var("i", N), Var("j", N)
    value = form.load(Buffer("x", (N, N), FLOAT32), (at(row), at(column)))
    store = Store(Buffer("y", (N, N), FLOAT32), (column, row), (at(row), at(column)), value)
    assert names(orders(store, {column: 64}, {}))[0] == "i j"


def test_a_product_keeps_a_panel_of_weights_while_rows_pass() -> None:
    x, w = ph.input("x", (512, 576)), ph.constant([[1.0] * 512] * 576, "float32")
    (kernel,) = ph.compile({"y": x @ w}, search=0).report.kernels
    loops = [line.strip() for line in kernel.nest.splitlines() if " : " in line]
    assert [loop.split()[1][:2] for loop in loops if "parallel" in loop or "serial" in loop] == [
        "a1",
        "a0",
    ]


def test_a_product_of_no_rows_is_empty() -> None:
    program = ph.compile({"y": ph.input("a", (0, 2)) @ ph.input("b", (2,))}, search=0)
    assert program(a=np.zeros((0, 2), "float32"), b=np.zeros(2, "float32"))["y"].shape == (0,)
