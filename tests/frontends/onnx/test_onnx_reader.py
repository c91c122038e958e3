"""Corrupt and hostile ONNX files are refused with a typed error; good ones are read in order."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from frontends.onnx.onnx_models import FLOAT, graph_proto, model_proto, node, port, read, session

from photic.frontends.onnx.errors import OnnxCorrupt, OnnxInput, OnnxType
from photic.frontends.onnx.reader import DEEPEST, read_model

REFUSE_SECONDS = 2.0  # a file that is refused may take no longer


def relu(*nodes: Any, **arrays: Any) -> Any:
    """A model from x to y of these nodes."""
    return model_proto(graph_proto(nodes, [port("x", [2])], [port("y", [2])], **arrays))


def circle() -> Any:
    return relu(
        node("Add", ["x", "b"], ["a"]), node("Relu", ["a"], ["b"]), node("Relu", ["b"], ["y"])
    )


def nothing_gives() -> Any:
    return relu(node("Add", ["x", "gone"], ["y"]))


def given_twice() -> Any:
    return relu(node("Relu", ["x"], ["y"]), node("Abs", ["x"], ["y"]))


def no_output() -> Any:
    return relu(node("Relu", ["x"], ["z"]))


def nested(depth: int) -> Any:
    """Branches within branches."""
    inner = graph_proto([node("Relu", ["x"], ["y0"])], [], [port("y0", None)])
    for k in range(1, depth):
        both = {"then_branch": inner, "else_branch": inner}
        inner = graph_proto([node("If", ["c"], [f"y{k}"], **both)], [], [port(f"y{k}", None)])
    main = [node("If", ["c"], ["y"], then_branch=inner, else_branch=inner)]
    return relu(*main, c=np.array(True))


def deep() -> Any:
    proto = relu(node("Relu", ["x"], ["y"]))
    graph = onnx.GraphProto(name="inner")
    for _ in range(DEEPEST + 2):
        outer = onnx.GraphProto(name="inner")
        held = outer.node.add(op_type="If", output=["z"]).attribute.add(
            name="then_branch", type=onnx.AttributeProto.GRAPH
        )
        held.g.CopyFrom(graph)
        graph = outer
    proto.graph.node.extend(graph.node)
    return proto


def short_data() -> Any:
    proto = relu(node("Add", ["x", "w"], ["y"]), w=np.ones(2, np.float32))
    proto.graph.initializer[0].raw_data = b"1234"
    return proto


def negative_size() -> Any:
    proto = relu(node("Add", ["x", "w"], ["y"]), w=np.ones(2, np.float32))
    proto.graph.initializer[0].dims[0] = -2
    return proto


def huge_size() -> Any:
    proto = relu(node("Add", ["x", "w"], ["y"]), w=np.ones(2, np.float32))
    del proto.graph.initializer[0].dims[:]
    proto.graph.initializer[0].dims.extend([1 << 40, 1 << 20])
    return proto


def few_numbers() -> Any:
    proto = relu(node("Add", ["x", "w"], ["y"]), w=np.ones(2, np.float32))
    held = proto.graph.initializer[0]
    held.ClearField("raw_data")
    held.float_data.extend([1.0])
    return proto


def sparse_outside() -> Any:
    proto = relu(node("Add", ["x", "w"], ["y"]))
    values = onnx.numpy_helper.from_array(np.ones(1, np.float32), "w")
    places = onnx.numpy_helper.from_array(np.array([7]), "places")
    proto.graph.sparse_initializer.append(onnx.helper.make_sparse_tensor(values, places, [2]))
    return proto


def no_graph() -> Any:
    return onnx.ModelProto(ir_version=10)


HOSTILE = (
    *(circle, nothing_gives, given_twice, no_output, deep, short_data, negative_size, huge_size),
    *(few_numbers, sparse_outside, no_graph),
)


@pytest.mark.parametrize("make", HOSTILE)
def test_a_hostile_model_is_refused_at_once(make: Callable[[], Any]) -> None:
    proto = make()
    start = time.perf_counter()
    with pytest.raises(OnnxCorrupt):
        read(proto)
    assert time.perf_counter() - start < REFUSE_SECONDS


def test_bytes_that_are_no_model_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "model.onnx"
    path.write_bytes(b"\xff\xfe not a model" * 50)
    with pytest.raises(OnnxCorrupt, match=r"model\.onnx"):
        read_model(path)


def test_a_cut_file_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "model.onnx"
    data = relu(node("Add", ["x", "w"], ["y"]), w=np.ones(2, np.float32)).SerializeToString()
    path.write_bytes(data[: len(data) // 2])
    with pytest.raises(OnnxCorrupt):
        read_model(path)


def test_a_type_that_is_not_read_is_named() -> None:
    proto = relu(node("Add", ["x", "w"], ["y"]), w=np.ones(2, np.complex64))
    with pytest.raises(OnnxType, match="complex64"):
        read(proto)


def test_nodes_out_of_order_are_brought_into_order() -> None:
    graph = graph_proto(
        [node("Neg", ["a"], ["y"]), node("Abs", ["x"], ["a"])], [port("x", [2])], [port("y", [2])]
    )
    (found,) = session(graph).run(None, {"x": np.array([1, -2], np.float32)})
    assert found.tolist() == [-1, -2]


def test_branches_nested_as_in_real_models_are_read() -> None:
    read(nested(4))


# --- data in other files --------------------------------------------------------------------


def external(folder: Path, location: str, **entries: str) -> Path:
    """A model whose weight of two floats lies in another file."""
    proto = relu(node("Add", ["x", "w"], ["y"]), w=np.ones(2, np.float32))
    held = proto.graph.initializer[0]
    held.ClearField("raw_data")
    held.data_location = onnx.TensorProto.EXTERNAL
    for key, value in {"location": location, **entries}.items():
        held.external_data.add(key=key, value=value)
    path = folder / "model.onnx"
    path.write_bytes(proto.SerializeToString())
    return path


def test_data_beside_the_model_is_read(tmp_path: Path) -> None:
    (tmp_path / "weights.bin").write_bytes(b"head" + np.array([3, 4], np.float32).tobytes())
    model = read_model(external(tmp_path, "weights.bin", offset="4", length="8"))
    assert model.graph.constants["w"].array.tolist() == [3, 4]


@pytest.mark.parametrize(
    "location", ["../secret.bin", "/etc/passwd", "", "sub/../../secret.bin", "link.bin"]
)
def test_data_outside_the_models_folder_is_refused(tmp_path: Path, location: str) -> None:
    (tmp_path / "secret.bin").write_bytes(bytes(8))
    home = tmp_path / "home"
    (home / "sub").mkdir(parents=True)
    (home / "link.bin").symlink_to(tmp_path / "secret.bin")
    with pytest.raises(OnnxCorrupt, match="folder"):
        read_model(external(home, location))


@pytest.mark.parametrize("entries", [{"offset": "4"}, {"length": "80"}, {"offset": "-1"}])
def test_data_past_the_end_of_the_file_is_refused(tmp_path: Path, entries: dict[str, str]) -> None:
    (tmp_path / "weights.bin").write_bytes(bytes(8))
    with pytest.raises(OnnxCorrupt):
        read_model(external(tmp_path, "weights.bin", **entries))


# --- models that never end ------------------------------------------------------------------


def test_a_function_that_calls_itself_is_refused() -> None:
    body = [node("Again", ["x"], ["y"], domain="own")]
    opsets = [onnx.helper.make_opsetid("own", 1)]
    again = onnx.helper.make_function("own", "Again", ["x"], ["y"], body, opsets)
    graph = graph_proto(body, [port("x", [2])], [port("y", [2])])
    with pytest.raises(OnnxInput, match="itself"):
        session(graph, functions=[again]).run(None, {"x": np.zeros(2, np.float32)})


def test_functions_that_double_again_and_again_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("photic.frontends.onnx.importer.MOST_NODES", 1000)
    opsets = [onnx.helper.make_opsetid("own", 1), onnx.helper.make_opsetid("", 21)]
    functions = []
    for k in range(30):
        inner = node(f"F{k - 1}", ["x"], ["m"], domain="own") if k else node("Neg", ["x"], ["m"])
        outer = node(f"F{k - 1}", ["m"], ["y"], domain="own") if k else node("Neg", ["m"], ["y"])
        functions.append(
            onnx.helper.make_function("own", f"F{k}", ["x"], ["y"], [inner, outer], opsets)
        )
    main = [node("F29", ["x"], ["y"], domain="own")]
    graph = graph_proto(main, [port("x", [2], FLOAT)], [port("y", [2])])
    with pytest.raises(OnnxInput, match="nodes"):
        session(graph, functions=functions).run(None, {"x": np.zeros(2, np.float32)})
