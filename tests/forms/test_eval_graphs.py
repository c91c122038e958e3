"""The evaluator on graphs: wider floats, inputs, states, sizes, scans, and what it refuses."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable

import numpy as np
import pytest
from forms.small import FLOATS, Array, nan, run, same, value

from photic.forms import eval as evaluator
from photic.forms import movement
from photic.forms.errors import (
    BrokenGraph,
    InputDtype,
    InputMissing,
    InputShape,
    SizeMissing,
    SizeOutOfRange,
)
from photic.forms.eval import MEANING, evaluate, evaluate_operand
from photic.ir import view as views
from photic.ir.dim import Dim, symbol
from photic.ir.dtype import FLOAT16, FLOAT32, INT8, UINT8, DType
from photic.ir.graph import (
    Graph,
    Node,
    Operand,
    binary,
    cast,
    constant_node,
    input_node,
    operand,
    reduce,
    scan,
    state_node,
    unary,
)
from photic.ir.view import View, identity

N = symbol("n", 0, 9)


# --- widened --------------------------------------------------------------------------------


def widened(node: Node, **inputs: Array) -> Array:
    return evaluate(Graph((("y", operand(node)),)), inputs, {}, {}, widen=True)[0]["y"]


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_widened_floats_are_float64_and_casts_between_them_do_not_round(dtype: DType) -> None:
    x = input_node("x", (3,), FLOAT32)
    third = np.array([1 / 3, 1e-60, 1e60])
    result = widened(cast(operand(cast(operand(x), dtype)), FLOAT16), x=third)
    assert result.dtype == np.float64
    assert same(result, third)


def test_widened_integers_stay_what_they_are() -> None:
    result = widened(binary("add", value([127], INT8), value([1], INT8)))
    assert result.dtype == np.int8 and result == -128
    assert widened(cast(value([300.7, nan], FLOAT16), UINT8)).tolist() == [255, 0]


def test_widened_inputs_and_constants_may_be_any_float() -> None:
    x = input_node("x", (2,), FLOAT32)
    total = binary("add", operand(x), value([0.5, 0.5], FLOAT32))
    for dtype in (np.float16, np.float32, np.float64):
        assert widened(total, x=np.array([1, 2], dtype)).tolist() == [1.5, 2.5]


# --- inputs, states, sizes ------------------------------------------------------------------

X = input_node("x", (N, 2), FLOAT32)
STATE = state_node("h", (2,), FLOAT32)
TOTAL = reduce("sum", operand(X), 0)
COUNTER = Graph(
    (("total", operand(TOTAL)), ("old", operand(STATE))),
    ((STATE, operand(binary("add", operand(STATE), operand(TOTAL)))),),
)


def rows(count: int) -> Array:
    return np.arange(2 * count, dtype=np.float32).reshape(count, 2)


def test_a_state_starts_at_zero_and_has_one_next_value_a_call() -> None:
    state: dict[str, Array] = {}
    for call, expected_old in enumerate([0, 2, 4]):
        outputs, state = evaluate(COUNTER, {"x": rows(2)}, state, {"n": 2}, widen=False)
        assert outputs["old"].tolist() == [expected_old, 2 * expected_old], call
    assert state["h"].tolist() == [6, 12]


def test_a_state_without_an_update_keeps_its_value() -> None:
    graph = Graph((("y", operand(unary("exp2", operand(STATE)))),))
    given_ = np.array([1, 2], np.float32)
    assert evaluate(graph, {}, {"h": given_}, {}, widen=False)[1]["h"].tolist() == [1, 2]


def test_results_share_storage_with_nothing() -> None:
    graph = Graph((("a", operand(X)), ("b", operand(X))), ())
    given_ = rows(2)
    outputs = evaluate(graph, {"x": given_}, {}, {"n": 2}, widen=False)[0]
    outputs["a"][0, 0] = 99
    assert given_[0, 0] == outputs["b"][0, 0] == 0


@pytest.mark.parametrize(
    "inputs, sizes, error",
    [
        ({}, {"n": 2}, InputMissing),
        ({"x": rows(3)}, {"n": 2}, InputShape),
        ({"x": rows(2).astype(np.float64)}, {"n": 2}, InputDtype),
        ({"x": rows(2)}, {}, SizeMissing),
        ({"x": rows(10)}, {"n": 10}, SizeOutOfRange),
    ],
)
def test_what_does_not_fit_is_refused(
    inputs: dict[str, Array], sizes: dict[str, int], error: type[Exception]
) -> None:
    with pytest.raises(error):
        evaluate(COUNTER, inputs, {}, sizes, widen=False)


def faulty(view: View, items: object) -> Operand:
    return Operand(constant_node(np.array(items, np.float32)), view)


I = views.axis_variable(0, 4)


@pytest.mark.parametrize("index", [I + 1, I - 1, I * 2, 4, -1, (I + 1) // 1, (I * I)])
def test_a_view_that_reads_outside_is_refused_and_reads_nothing(index: Dim) -> None:
    with pytest.raises(BrokenGraph, match="outside axis 0"):
        run(faulty(View((4,), (index,)), [1, 2, 3, 4]))


def test_an_empty_source_may_be_seen_only_through_bounds() -> None:
    assert same(run(faulty(movement.pad(identity((0,)), 0, 1, 2), [])), [-0.0] * 3)
    with pytest.raises(BrokenGraph):
        run(faulty(View((2,), (0,)), []))


def test_a_division_by_an_empty_extent_is_never_met() -> None:
    x = input_node("x", (3, N), FLOAT32)
    view = movement.pad(movement.reshape(identity(x.shape), (N * 3,)), 0, 2, 0)
    graph = Graph((("y", Operand(x, view)),))
    empty = np.zeros((3, 0), np.float32)
    assert same(evaluate(graph, {"x": empty}, {}, {"n": 0}, widen=False)[0]["y"], [-0.0] * 2)


# --- constants early ------------------------------------------------------------------------


def test_a_constant_part_is_computed_once_with_a_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[str] = []

    def counted(op: str) -> Callable[..., Array]:
        return lambda *given_: (calls.append(op), MEANING[op](*given_))[1]

    monkeypatch.setattr(evaluator, "MEANING", {op: counted(op) for op in MEANING})
    inner = unary("exp2", value([1.0, 2.0], FLOAT32))
    outer = unary("sqrt", operand(inner))
    cache: dict[Node, Array] = {}
    assert evaluate_operand(operand(inner), cache).tolist() == [2, 4]
    assert evaluate_operand(operand(outer), cache)[1] == 2
    flipped = Operand(outer, movement.flip(identity((2,)), 0))
    assert evaluate_operand(flipped, cache)[0] == 2
    assert calls == ["exp2", "sqrt"]
    assert set(cache) == {inner, outer}


# --- scans ----------------------------------------------------------------------------------


def cumulative(trips: Dim, rows_: Operand, start: Operand) -> tuple[Node, ...]:
    shape, dtype = start.shape, start.dtype
    carried, sliced = input_node("carried", shape, dtype), input_node("sliced", shape, dtype)
    total = operand(binary("add", operand(carried), operand(sliced)))
    return scan(trips, [start], [rows_], [carried], [sliced], [total, total])


@pytest.mark.parametrize("n", [0, 1, 5])
def test_a_scan_over_a_symbolic_axis_is_a_cumulative_sum(n: int) -> None:
    items = cumulative(N, operand(X), value([1, 2], FLOAT32))
    graph = Graph(tuple((name, operand(one)) for name, one in zip(("last", "all"), items)))
    outputs = evaluate(graph, {"x": rows(n)}, {}, {"n": n}, widen=False)[0]
    expected = np.cumsum(np.concatenate([[[1, 2]], rows(n)]), 0)
    assert outputs["all"].shape == (n, 2)
    assert np.array_equal(outputs["all"], expected[1:])
    assert np.array_equal(outputs["last"], expected[-1])


def test_a_scan_inside_a_scan_reads_values_of_both_bodies() -> None:
    """Row by row: the sum of the powers 1, 2, 4 of the running total."""
    table = np.array([1.0, 2.0, 3.0], np.float32)
    total, item = input_node("total", (), FLOAT32), input_node("item", (), FLOAT32)
    power, sum_ = input_node("power", (), FLOAT32), input_node("sum", (), FLOAT32)
    following = operand(binary("add", operand(total), operand(item)))
    inner = scan(
        3,
        [following, value(0.0, FLOAT32)],
        [],
        [power, sum_],
        [],
        [
            operand(binary("mul", operand(power), operand(power))),
            operand(binary("add", operand(sum_), operand(power))),
        ],
    )
    outer = scan(
        3,
        [value(0.0, FLOAT32)],
        [operand(constant_node(table))],
        [total],
        [item],
        [following, operand(inner[1])],
    )
    running = np.cumsum(table)
    assert np.array_equal(run(outer[1]), running + running**2 + running**4)


def test_what_a_body_does_not_change_is_computed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[str] = []
    sin = MEANING["sin"]
    counted = {**MEANING, "sin": lambda x: (calls.append("sin"), sin(x))[1]}
    monkeypatch.setattr(evaluator, "MEANING", counted)
    carried = input_node("carried", (), FLOAT32)
    outside = unary("sin", value(1.0, FLOAT32))
    following = operand(binary("add", operand(carried), operand(outside)))
    (last,) = scan(50, [value(0.0, FLOAT32)], [], [carried], [], [following])
    assert run(last) == pytest.approx(50 * np.sin(1), rel=1e-5)
    assert calls == ["sin"]


def test_a_scan_keeps_the_dtype_of_what_it_carries() -> None:
    items = cumulative(3, value([[100], [100], [100]], INT8), value([0], INT8))
    assert run(items[1]).tolist() == [[100], [-56], [44]]


# --- memory ---------------------------------------------------------------------------------


def test_values_are_freed_after_their_last_use() -> None:
    x = input_node("x", (1 << 18,), FLOAT32)  # 1 MiB
    chain = operand(x)
    for _ in range(30):
        chain = operand(binary("add", chain, chain))
    array = np.ones(1 << 18, np.float32)
    tracemalloc.start()
    evaluate(Graph((("y", chain),)), {"x": array}, {}, {}, widen=False)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 6 * array.nbytes
