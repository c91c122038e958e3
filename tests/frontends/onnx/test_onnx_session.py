"""Sessions: sizes that data decide, branches and loops by data, outputs and feeds by name."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from frontends.onnx.onnx_models import (
    INT64,
    graph_proto,
    model_proto,
    node,
    one_node,
    port,
    read,
    run,
    session,
)

from photic.frontends.onnx.errors import OnnxSegments
from photic.frontends.onnx.model import as_model
from photic.frontends.onnx.session import Session

BOOL = 9  # TensorProto.BOOL


def test_a_session_gives_the_outputs_that_are_named_in_that_order() -> None:
    nodes = [node("Abs", ["x"], ["a"]), node("Neg", ["x"], ["b"])]
    graph = graph_proto(nodes, [port("x", [2])], [port("a", None), port("b", None)])
    ours = session(graph)
    assert (ours.inputs, ours.outputs) == (("x",), ("a", "b"))
    b, a = ours.run(["b", "a"], {"x": np.array([-1, 2], np.float32)})
    assert (a.tolist(), b.tolist()) == ([1, 2], [1, -2])


def test_an_input_with_a_value_in_the_file_may_be_fed_or_not() -> None:
    graph = graph_proto(
        [node("Add", ["x", "w"], ["y"])],
        [port("x", [2]), port("w", [2])],
        [port("y", None)],
        w=np.array([10, 20], np.float32),
    )
    x = np.ones(2, np.float32)
    assert run(graph, x=x)[0].tolist() == [11, 21]
    assert run(graph, x=x, w=x)[0].tolist() == [2, 2]


# --- sizes that data decide -----------------------------------------------------------------


def chosen_rows() -> Any:
    """The rows of y = 2x where x is positive, and their sum: two segments."""
    nodes = [
        node("Add", ["x", "x"], ["twice"]),
        node("Greater", ["x", "zero"], ["mask"]),
        node("NonZero", ["mask"], ["places"]),
        node("Squeeze", ["places", "axis"], ["flat"]),
        node("Gather", ["twice", "flat"], ["rows"]),
        node("ReduceSum", ["rows"], ["total"]),
    ]
    outputs = [port("rows", None), port("total", None)]
    axis, zero = np.array([0]), np.array(0, np.float32)
    return graph_proto(nodes, [port("x", ["n"])], outputs, axis=axis, zero=zero)


@pytest.mark.parametrize("x", [[1, -1, 2], [-1, -2, -3], [1, 2, 3], []])
def test_as_many_rows_come_out_as_the_data_say(x: list[float]) -> None:
    array = np.array(x, np.float32)
    rows, total = run(chosen_rows(), x=array)
    expected = 2 * array[array > 0]
    assert rows.tolist() == expected.tolist()
    assert total.tolist() == [expected.sum()]


def test_segments_are_kept_by_the_numbers_that_were_read_back() -> None:
    made: list[object] = []

    def counting(segment: Any, *options: Any) -> Any:
        from photic.frontends.onnx.segments import evaluated

        made.append(segment)
        return evaluated(segment, *options)

    ours = Session.of(read(model_proto(chosen_rows())), runner=counting)
    for x in ([1, -1, 2], [5, 6, -7], [0, 3, 4]):  # two are positive in each
        ours.run(None, {"x": np.array(x, np.float32)})
    assert len(made) == 2
    ours.run(None, {"x": np.array([1, 1, 1], np.float32)})
    assert len(made) == 3


def test_compiled_segments_give_what_evaluated_ones_give() -> None:
    x = np.array([3, -1, 4, 0], np.float32)
    ours = Session.of(read(model_proto(chosen_rows())))
    rows, total = ours.run(None, {"x": x})
    assert (rows.tolist(), total.tolist()) == ([6, 8], [14])


def test_one_program_of_sizes_that_data_decide_is_refused_with_the_way_out() -> None:
    with pytest.raises(OnnxSegments, match="Session"):
        as_model(read(model_proto(chosen_rows())), None, None)


def test_shapes_may_be_computed_from_data() -> None:
    nodes = [node("Add", ["s", "s"], ["t"]), node("Reshape", ["x", "t"], ["y"])]
    graph = graph_proto(nodes, [port("x", [6]), port("s", [2], INT64)], [port("y", None)])
    x = np.arange(24, dtype=np.float32)
    graph.input[0].CopyFrom(port("x", [24]))
    (y,) = run(graph, x=x, s=np.array([2, 3]))
    assert y.tolist() == x.reshape(4, 6).tolist()


@pytest.mark.parametrize("sorted_", [0, 1])
def test_unique_numbers_its_elements_as_numpy_does(sorted_: int) -> None:
    x = np.array([3, 1, 3, 2, 1], np.float32)
    values, first, back, counts = one_node("Unique", [x], 4, sorted=sorted_)
    assert values[back].tolist() == x.tolist()
    assert x[first].tolist() == values.tolist()
    assert counts.sum() == len(x)
    assert values.tolist() == ([1, 2, 3] if sorted_ else [3, 1, 2])


# --- branches -------------------------------------------------------------------------------


def branching(same_shape: bool) -> Any:
    """|x| or -x by a condition; the other branch perhaps of another shape."""
    other = [node("Neg", ["x"], ["b"])]
    if not same_shape:
        other = [node("Concat", ["x", "x"], ["b"], axis=0)]
    yes = graph_proto([node("Abs", ["x"], ["a"])], [], [port("a", None)])
    no = graph_proto(other, [], [port("b", None)])
    main = node("If", ["c"], ["y"], then_branch=yes, else_branch=no)
    return graph_proto([main], [port("x", [2]), port("c", [], BOOL)], [port("y", None)])


@pytest.mark.parametrize("same_shape", [True, False])
@pytest.mark.parametrize("condition", [True, False])
def test_a_branch_is_chosen_by_data(condition: bool, same_shape: bool) -> None:
    x = np.array([-1, 2], np.float32)
    (y,) = run(branching(same_shape), x=x, c=np.array(condition))
    other = -x if same_shape else np.concatenate([x, x])
    assert y.tolist() == (np.abs(x) if condition else other).tolist()


def test_one_program_computes_both_branches_of_one_shape() -> None:
    model = as_model(read(model_proto(branching(True))), None, None)
    program = model.compile(search=0)
    x = np.array([-1, 2], np.float32)
    for condition, expected in ((True, [1, 2]), (False, [1, -2])):
        assert program(x=x, c=np.array(condition))["y"].tolist() == expected


def test_a_condition_known_as_a_constant_leaves_one_branch() -> None:
    given = {"c": np.array(False)}
    model = as_model(read(model_proto(branching(False))), None, given)
    assert [one.name for one in model.inputs] == ["x"]
    assert model.outputs[0].shape == (4,)


# --- loops ----------------------------------------------------------------------------------


def halving(trips: Any) -> Any:
    """x halved while it is above a limit, at most ``trips`` times; each value is kept."""
    body = graph_proto(
        [
            node("Mul", ["v", "half"], ["next"]),
            node("Greater", ["next", "limit"], ["go"]),
            node("Identity", ["next"], ["seen"]),
        ],
        [port("i", [], INT64), port("on", [], BOOL), port("v", [])],
        [port("go", [], BOOL), port("next", []), port("seen", [])],
    )
    main = node("Loop", ["trips", "", "x"], ["last", "all"], body=body)
    inputs = [port("x", []), port("limit", [])]
    outputs = [port("last", None), port("all", None)]
    half = np.array(0.5, np.float32)
    return graph_proto([main], inputs, outputs, trips=np.array(trips), half=half)


@pytest.mark.parametrize(("limit", "expected"), [(3, [8, 4, 2]), (0, [8, 4, 2, 1, 0.5]), (50, [8])])
def test_a_loop_ends_by_its_condition(limit: float, expected: list[float]) -> None:
    feeds = {"x": np.array(16, np.float32), "limit": np.array(limit, np.float32)}
    last, seen = run(halving(5), **feeds)
    assert seen.tolist() == expected
    assert last == expected[-1]


def summing(trips: int) -> Any:
    """The sum of x times the number of each trip."""
    body = graph_proto(
        [
            node("Cast", ["i"], ["f"], to=1),
            node("Mul", ["x", "f"], ["part"]),
            node("Add", ["v", "part"], ["next"]),
            node("Identity", ["on"], ["go"]),
        ],
        [port("i", [], INT64), port("on", [], BOOL), port("v", [2])],
        [port("go", [], BOOL), port("next", [2])],
    )
    main = node("Loop", ["trips", "on0", "zero"], ["y"], body=body)
    arrays = {"trips": np.array(trips), "on0": np.array(True), "zero": np.zeros(2, np.float32)}
    return graph_proto([main], [port("x", [2])], [port("y", None)], **arrays)


def test_a_branch_for_other_shapes_is_left_alone() -> None:
    """As where one branch is for one rate of sound, and the other for another."""
    branches = {
        f"{name}_branch": graph_proto(
            [node("MatMul", ["x", w], [w + "y"])], [], [port(w + "y", None)]
        )
        for name, w in (("then", "a"), ("else", "b"))
    }
    main = node("If", ["is_first"], ["y"], name="rate", **branches)
    arrays = {"a": np.eye(2, dtype=np.float32), "b": np.eye(3, dtype=np.float32)}
    ports = [port("x", [2]), port("is_first", [], BOOL)]
    graph = graph_proto([main], ports, [port("y", None)], **arrays)
    x, is_first = np.array([1, 2], np.float32), np.array(True)
    (y,) = session(graph).run(None, {"x": x, "is_first": is_first})
    assert y.tolist() == [1, 2]
    with pytest.raises(OnnxSegments, match="'rate'"):
        as_model(read(model_proto(graph)), None, None)
    known = as_model(read(model_proto(graph)), None, {"is_first": is_first})
    assert [one.name for one in known.inputs] == ["x"]


@pytest.mark.parametrize("trips", [0, 1, 3, 100])
def test_short_and_long_loops_give_the_same(trips: int) -> None:
    x = np.array([1, 2], np.float32)
    (y,) = run(summing(trips), x=x)
    assert y.tolist() == (x * sum(range(trips))).tolist()


def test_a_long_loop_is_one_of_the_program() -> None:
    model = as_model(read(model_proto(summing(100))), None, None)
    ops = {operand.node.operands[0].node.op for _, operand in model.graph.outputs}
    assert ops == {"scan"}


def test_a_model_may_be_compiled_with_rounded_products() -> None:
    """Off by 2^-8 of the absolute products at most, and not by nothing."""
    a, b = np.random.default_rng(0).standard_normal((2, 64, 64)).astype(np.float32)
    graph = graph_proto([node("MatMul", ["x", "w"], ["y"])], [port("x", [64, 64])], [], w=b)
    graph.output.append(port("y", None))
    model = as_model(read(model_proto(graph)), None, None)
    off = np.abs(model.compile(search=0, precision="bf16")(x=a)["y"] - a @ b)
    assert 0 < (off / (np.abs(a) @ np.abs(b))).max() < 1.01 * 2.0**-8
