"""Reductions in generated code: of nothing, of every dtype, nested, and of what does not vary."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest
from fuzz.agreement import require_meaning
from fuzz.choices import lanes_along_reductions

import photic as ph
from photic.ir import graph as graphs
from photic.ir.dtype import DTYPES, DType, dtype_of
from photic.tensor.tensor import Tensor, whole

SUM_RTOL = 1e-5  # up to 200 terms of float32 in any order
HALF_RTOL = {"float16": 1e-3, "bfloat16": 1e-2}  # one rounding of the result


def numbers(shape: tuple[int, ...], dtype: str) -> np.ndarray:
    draw = np.random.default_rng(1)
    if dtype == "bool":
        return draw.integers(0, 2, shape).astype(bool)
    if dtype_of(dtype).kind == "int":
        low, high = np.iinfo(dtype).min, np.iinfo(dtype).max
        return draw.integers(low, high, shape, np.int64, endpoint=True).astype(dtype)
    return draw.standard_normal(shape).astype(dtype_of(dtype).numpy)


def reduced(op: str, x: Tensor, axis: int) -> Tensor:
    """The primitive itself: it keeps the dtype."""
    return whole(graphs.reduce(op, x.operand, axis))


@pytest.mark.parametrize("op", ["sum", "max"])
@pytest.mark.parametrize("dtype", DTYPES.values(), ids=str)
def test_every_dtype_reduces_over_every_axis(op: str, dtype: DType) -> None:
    for shape in ((7, 33), (40, 3), (1, 65)):
        x = ph.input("x", shape, dtype)
        outputs = {"rows": reduced(op, x, 1), "columns": reduced(op, x, 0)}
        rtol = SUM_RTOL if op == "sum" and dtype.kind == "float" else 0.0
        rtol = HALF_RTOL.get(dtype.name, rtol) if rtol else rtol
        require_meaning(outputs, {"x": numbers(shape, dtype.name)}, rtol=rtol)


@pytest.mark.parametrize("op", ["sum", "max"])
@pytest.mark.parametrize("dtype", DTYPES.values(), ids=str)
def test_of_nothing_every_dtype_gives_its_identity(op: str, dtype: DType) -> None:
    n = ph.dim("n", 0, 9)
    fixed, sized = ph.input("x", (0, 5), dtype), ph.input("y", (n, 5), dtype)
    given = {"x": numbers((0, 5), dtype.name), "y": numbers((0, 5), dtype.name)}
    outputs = {"fixed": reduced(op, fixed, 0), "sized": reduced(op, sized, 0)}
    outputs |= {"rows": reduced(op, fixed, 1), "all": reduced(op, reduced(op, sized, 0), 0)}
    result = require_meaning(outputs, given, sizes={"n": 0})
    if op == "sum":
        assert not result["sized"].any()
        assert not np.signbit(result["sized"].astype(np.float64)).any()  # +0, not -0


def test_sums_of_sums_of_nothing_are_plus_zero() -> None:
    n, m = ph.dim("n", 0, 4), ph.dim("m", 0, 4)
    x = ph.input("x", (3, n, m))
    total = ph.sum(ph.sum(x, axis=2), axis=1)
    scaled = ph.sum(ph.sum(x, axis=2) * -1.0, axis=1)
    for shape in ((3, 0, 2), (3, 2, 0), (3, 0, 0)):
        sizes = {"n": shape[1], "m": shape[2]}
        given = {"x": np.ones(shape, np.float32)}
        require_meaning({"total": total, "scaled": scaled}, given, sizes=sizes)


def test_a_one_hot_sum_over_nothing_is_plus_zero() -> None:
    n = ph.dim("n", 0, 4)
    table, place = ph.input("t", (n, 3)), ph.input("p", (2,), "int64")
    given = {"t": np.ones((0, 3), np.float32), "p": np.array([0, 1])}
    result = require_meaning(ph.take(table, place, 0), given, sizes={"n": 0})
    assert not np.signbit(result["y"]).any()


@pytest.mark.parametrize("count", [1, 5, 8, 17, 200])
def test_what_does_not_vary_along_the_axis_is_added_as_often_as_it_is_long(count: int) -> None:
    x = ph.input("x", (3, 1), "int64")
    spread = ph.broadcast_to(x, (3, count))
    outputs = {"sum": ph.sum(spread, axis=1), "max": ph.max(spread, axis=1)}
    given = {"x": np.array([[1], [-5], [2**62]])}
    require_meaning(outputs, given)
    require_meaning(outputs, given, change=lanes_along_reductions())


def test_reductions_stand_inside_reductions() -> None:
    x, y = ph.input("x", (5, 17)), ph.input("y", (17, 20))
    centred = x - ph.max(x, axis=1, keepdims=True)
    outputs = {
        "norm": ph.sum(centred * centred, axis=1),
        "softmax": ph.softmax(ph.matmul(x, y)),
        "max of sums": ph.max(ph.sum(x[:, :, None] * y, axis=1), axis=1),
        "sum of maxima": ph.sum(ph.max(x[:, :, None] + y, axis=2), axis=1),
    }
    outputs = {name.replace(" ", "_"): one for name, one in outputs.items()}
    given = {"x": numbers((5, 17), "float32"), "y": numbers((17, 20), "float32")}
    require_meaning(outputs, given, rtol=SUM_RTOL)
    require_meaning(outputs, given, rtol=SUM_RTOL, change=lanes_along_reductions())


@pytest.mark.parametrize("shape", [(1, 1, 1), (5, 16, 3), (4, 33, 9), (9, 70, 2)])
def test_lanes_of_a_reduction_stand_beside_unrolled_rows(shape: tuple[int, int, int]) -> None:
    rows, inner, columns = shape
    x, w = ph.input("x", (rows, inner)), ph.input("w", (columns, inner))
    given = {"x": numbers((rows, inner), "float32"), "w": numbers((columns, inner), "float32")}
    change = lanes_along_reductions(rows=3)
    require_meaning(ph.matmul(x, w.T), given, rtol=SUM_RTOL, change=change)


def test_a_maximum_passes_nan_on_and_knows_infinities_in_every_lane() -> None:
    x = ph.input("x", (45, 45))
    data = np.full((45, 45), -np.inf, np.float32)
    data[np.arange(44), np.arange(44)] = np.nan
    require_meaning({"rows": ph.max(x, axis=1), "columns": ph.max(x, axis=0)}, {"x": data})
    require_meaning(ph.max(x, axis=1), {"x": data}, change=lanes_along_reductions())


def test_halves_accumulate_in_float32() -> None:
    for dtype in ("float16", "bfloat16"):
        x = ph.input("x", (2, 4096), dtype)
        ones = np.ones((2, 4096), ml_dtypes.bfloat16 if dtype == "bfloat16" else np.float16)
        result = require_meaning({"sum": reduced("sum", x, 1)}, {"x": ones})
        assert (result["sum"].astype(np.float64) == 4096).all()  # in halves it stops at 256 or 2048


def test_a_count_of_a_known_border_compiles() -> None:
    # 24 = 16 + 8: where Clang knows that half of the last vector counts, it never ends
    x, q, least = ph.input("x", (24,), "int32"), ph.input("q", (2,), "int32"), ph.input("b", (2,))
    count = ph.sum(x[None] < q[:, None], axis=-1)
    program = ph.compile({"y": ph.where(least < count, q, q + 1)}, search=0)
    given = {"x": np.arange(24, dtype=np.int32), "q": np.array([3, 30], np.int32)}
    assert program(**given, b=np.array([2, 50], np.float32))["y"].tolist() == [3, 31]


@pytest.mark.parametrize("shape", [(20_000, 33), (150, 140, 33)])
def test_a_long_sum_is_a_sum_of_parts_so_that_rounding_stays_small(shape: tuple[int, ...]) -> None:
    x = np.full(shape, 0.1, np.float32)
    axes = tuple(range(len(shape) - 1))
    program = ph.compile(ph.sum(ph.input("x", shape), axis=axes), search=0)
    (found,) = program(x=x).values()
    terms = float(np.prod(shape[:-1]))
    # one term after the other would be wrong by some 2e-4
    np.testing.assert_allclose(found, terms * np.float64(np.float32(0.1)), rtol=1e-5)
