"""Symbolic sizes: names, texts and gaps of a file as ranges; shape arithmetic stays sizes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from frontends.onnx.onnx_models import graph_proto, model_proto, node, port, read, session

from photic.base.errors import BadArgument
from photic.frontends.onnx.model import Model, as_model


def copied(*sizes: Any) -> Any:
    """y = |x| with these sizes of x."""
    return graph_proto([node("Abs", ["x"], ["y"])], [port("x", sizes)], [port("y", None)])


def loaded(graph: Any, dims: Any = None) -> Model:
    return as_model(read(model_proto(graph)), dims, None)


def shown(model: Model) -> list[str]:
    return [str(one) for one in model.inputs[0].shape]


def test_a_name_is_one_size_wherever_it_stands() -> None:
    assert shown(loaded(copied("n", 3, "n"))) == ["n", "3", "n"]


@pytest.mark.parametrize("size", ["?", "", "2*n + 1", -1])
def test_what_has_no_name_is_a_size_of_its_own(size: Any) -> None:
    graph = copied(4, "m")
    held = graph.input[0].type.tensor_type.shape.dim[0]
    if isinstance(size, str):
        held.dim_param = size
    else:
        held.dim_value = size
    assert shown(loaded(graph)) == ["x_0", "m"]


def test_names_that_python_does_not_have_are_spelt_otherwise() -> None:
    assert shown(loaded(copied("p2o.Dim.0", "i0", "in", "a-b"))) == [
        *("p2o_Dim_0", "n_i0", "n_in", "a_b")
    ]


def test_sizes_may_be_fixed_or_given_a_range() -> None:
    model = loaded(copied("n", "m"), {"n": 2, "m": (1, 8)})
    assert shown(model) == ["2", "m"]
    with pytest.raises(BadArgument, match="k"):
        loaded(copied("n"), {"k": 2})


def test_a_range_may_have_a_step() -> None:
    """Halved twice and doubled twice, a size comes back only if 4 divides it."""
    model = loaded(copied("n"), {"n": (4, 16, 4)})
    assert shown(model) == ["4*n"]
    program = model.compile(search=0)
    assert program(x=-np.ones(8, np.float32))["y"].tolist() == [1] * 8
    with pytest.raises(BadArgument, match="step"):
        loaded(copied("n"), {"n": (4, 15, 4)})


def test_a_session_takes_ranges_with_a_step() -> None:
    ours = session(copied("n"))
    ours._dims = {"n": (4, 16, 4)}
    (y,) = ours.run(None, {"x": -np.ones(12, np.float32)})
    assert y.tolist() == [1] * 12


def test_one_program_serves_every_size_in_the_range() -> None:
    """The usual flattening: Shape, Gather, Concat with -1, Reshape."""
    nodes = [
        node("Shape", ["x"], ["s"]),
        node("Gather", ["s", "zero"], ["n"], axis=0),
        node("Unsqueeze", ["n", "axis"], ["n1"]),
        node("Concat", ["n1", "rest"], ["target"], axis=0),
        node("Reshape", ["x", "target"], ["flat"]),
        node("ReduceSum", ["flat", "one"], ["y"], keepdims=0),
    ]
    arrays = {"zero": np.array(0), "axis": np.array([0]), "rest": np.array([-1])}
    graph = graph_proto(
        nodes, [port("x", ["n", 2, 3])], [port("y", None)], **arrays, one=np.array([1])
    )
    program = loaded(graph, {"n": (1, 5)}).compile(search=0)
    for n in (1, 2, 5):
        x = np.arange(6.0 * n, dtype=np.float32).reshape(n, 2, 3)
        assert program(x=x)["y"].tolist() == x.reshape(n, -1).sum(1).tolist()


def test_arithmetic_on_sizes_stays_sizes() -> None:
    """(n + 1) // 2 rows: a slice whose end is computed from the shape."""
    nodes = [
        node("Shape", ["x"], ["s"]),
        node("Add", ["s", "one"], ["more"]),
        node("Div", ["more", "two"], ["end"]),
        node("Slice", ["x", "start", "end"], ["y"]),
    ]
    arrays = {"one": np.array([1]), "two": np.array([2]), "start": np.array([0])}
    graph = graph_proto(nodes, [port("x", ["n"])], [port("y", None)], **arrays)
    model = loaded(graph, {"n": (1, 9)})
    assert str(model.outputs[0].shape[0]) == "((1 + n) // 2)"
    program = model.compile(search=0)
    for n in (1, 4, 9):
        x = np.arange(n, dtype=np.float32)
        assert program(x=x)["y"].tolist() == x[: (n + 1) // 2].tolist()


def test_a_session_with_ranges_makes_one_program_for_all_sizes() -> None:
    ours = session(copied("n"))
    ours._dims = {"n": (1, 4)}
    for n in (1, 3, 4):
        (y,) = ours.run(None, {"x": -np.ones(n, np.float32)})
        assert y.tolist() == [1] * n
    assert len(ours._chains) == 1
