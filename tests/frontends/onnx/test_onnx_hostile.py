"""ONNX files made to do harm (FIL-03, FIL-04): each is refused soon, in little memory, by name."""

from __future__ import annotations

import os
import time
import tracemalloc
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from frontends.onnx.onnx_models import (
    INT64,
    graph_proto,
    model_proto,
    node,
    one_node,
    port,
    read,
    session,
)

from photic.base.errors import PhoticError
from photic.frontends.onnx.errors import OnnxCorrupt, OnnxInput, OnnxType
from photic.frontends.onnx.model import as_model
from photic.frontends.onnx.reader import read_bytes, read_model

SECONDS, BYTES = 5.0, 100 << 20  # of the processor and of memory; a refusal may take no more
X = np.ones(2, np.float32)


@contextmanager
def little() -> Iterator[None]:
    """Asserts that what happens inside takes little time and memory."""
    tracemalloc.start()
    start = time.process_time()
    try:
        yield
        assert time.process_time() - start < SECONDS
        assert tracemalloc.get_traced_memory()[1] < BYTES
    finally:
        tracemalloc.stop()


def relu(*nodes: Any, **arrays: Any) -> Any:
    """A model from x to y of these nodes."""
    made = nodes or (node("Relu", ["x"], ["y"]),)
    return model_proto(graph_proto(made, [port("x", [2])], [port("y", None)], **arrays))


def field(number: int, content: bytes) -> bytes:
    """A field of a protobuf message, of its length and its content."""
    size, length = bytearray(), len(content)
    while length >= 0x80:
        size.append(length & 0x7F | 0x80)
        length >>= 7
    return bytes([number << 3 | 2]) + bytes([*size, length]) + content


def nested_bytes(depth: int) -> bytes:
    """A model of graphs within graphs: no library would write it."""
    graph, node_field, attribute_field, graph_field, main_field = b"", 1, 5, 6, 7
    for _ in range(depth):
        attribute = (
            field(1, b"body") + field(graph_field, graph) + bytes([20 << 3 & 0x7F | 0x80, 1, 5])
        )
        graph = field(node_field, field(attribute_field, attribute))
    return field(main_field, graph)


# --- what is no model -----------------------------------------------------------------------

PAGE = b"<!DOCTYPE html><html><head><title>Not found</title></head><body>404</body></html>"


@pytest.mark.parametrize("data", [b"", b"\x08", PAGE, nested_bytes(200), nested_bytes(2000)])
def test_bytes_that_are_no_model_are_refused(data: bytes) -> None:
    with little(), pytest.raises(OnnxCorrupt):
        read_bytes(data, Path(), "model.onnx")


def test_a_file_cut_anywhere_is_refused_or_read() -> None:
    """Never another error, and no crash."""
    data = relu(node("Add", ["x", "w"], ["y"]), w=X).SerializeToString()
    refused = 0
    with little():
        for end in range(0, len(data), 3):
            try:
                read_bytes(data[:end], Path(), "model.onnx")
            except PhoticError:
                refused += 1
    assert refused > len(data) // 6


# --- sizes that lie -------------------------------------------------------------------------


def changed(change: Callable[[Any], None]) -> Any:
    """A model with one weight, which is changed."""
    proto = relu(node("Add", ["x", "w"], ["y"]), w=X)
    change(proto.graph.initializer[0])
    return proto


def resized(*dims: int) -> Callable[[Any], None]:
    def change(tensor: Any) -> None:
        del tensor.dims[:]
        tensor.dims.extend(dims)

    return change


LYING = {
    "more than the file": resized(1 << 33),
    "a product past 64 bits": resized((1 << 63) - 1, 2),
    "a product that wraps to 2": resized((1 << 62) + 1, 4, 2),
    "negative": resized(-1),
    "two that are negative": resized(-1, -2),
    "many": resized(*(1,) * 100, 3),
}


@pytest.mark.parametrize("name", LYING)
def test_a_weight_whose_size_lies_is_refused(name: str) -> None:
    proto = changed(LYING[name])
    with little(), pytest.raises(OnnxCorrupt, match="'w'"):
        read(proto)


@pytest.mark.parametrize("code", [0, 99, -1])
def test_a_weight_of_no_known_type_is_refused(code: int) -> None:
    proto = changed(lambda tensor: setattr(tensor, "data_type", code))
    with little(), pytest.raises(OnnxType):
        read(proto)


@pytest.mark.parametrize(("code", "error"), [(0, OnnxCorrupt), (99, OnnxType)])
def test_an_input_of_no_known_type_is_refused(code: int, error: type[PhoticError]) -> None:
    proto = relu()
    proto.graph.input[0].type.tensor_type.elem_type = code
    with pytest.raises(error, match="'x'"):
        as_model(read(proto), None, None)


def test_a_sparse_weight_of_few_numbers_and_a_huge_shape_is_refused() -> None:
    proto = relu(node("Add", ["x", "w"], ["y"]))
    values = onnx.numpy_helper.from_array(np.ones(1, np.float32), "w")
    places = onnx.numpy_helper.from_array(np.array([7]), "places")
    sparse = onnx.helper.make_sparse_tensor(values, places, [1 << 34])
    proto.graph.sparse_initializer.append(sparse)
    with little(), pytest.raises(OnnxCorrupt, match="sparse"):
        read(proto)


# --- names and graphs -----------------------------------------------------------------------


def test_a_circle_of_two_nodes_is_named() -> None:
    nodes = [node("Relu", ["b"], ["a"], name="first"), node("Relu", ["a"], ["b"], name="second")]
    with little(), pytest.raises(OnnxCorrupt, match="'first'"):
        read(relu(*nodes, node("Relu", ["a"], ["y"])))


def test_a_long_circle_is_refused_at_once() -> None:
    count = 5000
    nodes = [node("Relu", [f"a{k}"], [f"a{(k + 1) % count}"]) for k in range(count)]
    proto = relu(*nodes, node("Relu", ["a0"], ["y"]))
    with pytest.raises(OnnxCorrupt, match="depend"):
        read(proto)


def test_a_branch_without_nodes_or_outputs_is_refused() -> None:
    empty = graph_proto([], [], [])
    branches = {"then_branch": empty, "else_branch": empty}
    proto = relu(node("If", ["c"], ["y"], name="fork", **branches), c=np.array(True))
    with little(), pytest.raises(PhoticError, match="'fork'"):
        session(proto.graph).run(None, {"x": X})


def test_parts_that_do_not_come_out_are_refused() -> None:
    """4 places in 3 parts, no sizes said: by the standard the last is smaller; before 18, no."""
    with pytest.raises(PhoticError, match="'cut'"):
        one_node("Split", [np.ones(4, np.float32)], 3, opset=13, axis=0, name="cut")


# --- what never ends ------------------------------------------------------------------------


def looped(trips: int, *body: Any) -> Any:
    """A loop of so many trips over x, which goes on."""
    inner = graph_proto(
        [node("Identity", ["on"], ["on_"]), *body],
        [port("i", [], INT64), port("on", [], onnx.TensorProto.BOOL), port("v", [2])],
        [port("on_", [], onnx.TensorProto.BOOL), port("v_", [2])],
    )
    made = node("Loop", ["trips", "", "x"], ["y"], name="round", body=inner)
    return relu(made, trips=np.array(trips))


@pytest.mark.parametrize("trips", [1 << 62, (1 << 63) - 1])
def test_a_loop_that_never_ends_is_refused(trips: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("photic.frontends.onnx.ops_control.MOST_TRIPS", 200)
    proto = looped(trips, node("Add", ["v", "x"], ["v_"]))
    with pytest.raises(OnnxInput, match=r"'round'.*trips"):
        session(proto.graph).run(None, {"x": X})


def test_loops_within_loops_are_refused_by_their_number_of_nodes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("photic.frontends.onnx.importer.MOST_NODES", 500)
    body = [node("Add", ["v", "x"], ["v0"])]
    body += [node("Add", [f"v{k}", "x"], [f"v{k + 1}"]) for k in range(100)]
    body.append(node("Identity", ["v100"], ["v_"]))
    proto = looped(8, *body)
    with little(), pytest.raises(OnnxInput, match="more than 500 nodes"):
        session(proto.graph).run(None, {"x": X})


HUGE = {
    "ConstantOfShape": (node("ConstantOfShape", ["n"], ["y"]), {"n": np.array([1 << 40, 1 << 40])}),
    "Expand": (node("Expand", ["x", "n"], ["y"]), {"n": np.array([1 << 50, 2])}),
    "Tile": (node("Tile", ["x", "n"], ["y"]), {"n": np.array([1 << 60])}),
    "Range": (
        node("Range", ["a", "b", "c"], ["y"]),
        {"a": np.array(0), "b": np.array(1 << 62), "c": np.array(1)},
    ),
    "Pad": (node("Pad", ["x", "n"], ["y"]), {"n": np.array([0, 1 << 60])}),
    "Resize": (
        node("Resize", ["x", "", "s"], ["y"]),
        {"s": np.array([1e15], np.float32)},
    ),
    "OneHot": (
        node("OneHot", ["i", "d", "v"], ["y"]),
        {"i": np.array([1]), "d": np.array(1 << 61), "v": np.array([0.0, 1.0])},
    ),
}


@pytest.mark.parametrize("name", HUGE)
def test_a_result_that_no_memory_holds_is_refused(name: str) -> None:
    made, arrays = HUGE[name]
    ours = session(relu(made, **arrays).graph)
    with little(), pytest.raises(PhoticError, match=name):
        ours.run(None, {"x": X})


# --- data in other files --------------------------------------------------------------------


def external(path: Path, location: str, **entries: str) -> Path:
    """A model whose weight of two floats lies in another file."""
    proto = relu(node("Add", ["x", "w"], ["y"]), w=X)
    held = proto.graph.initializer[0]
    held.ClearField("raw_data")
    held.data_location = onnx.TensorProto.EXTERNAL
    for key, value in {"location": location, **entries}.items():
        held.external_data.add(key=key, value=value)
    path.write_bytes(proto.SerializeToString())
    return path


def test_a_pipe_does_not_hang(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.bin")
    with little(), pytest.raises(OnnxCorrupt, match="folder"):
        read_model(external(tmp_path / "model.onnx", "pipe.bin"))


def test_a_folder_is_no_data(tmp_path: Path) -> None:
    (tmp_path / "data.bin").mkdir()
    with little(), pytest.raises(OnnxCorrupt, match="folder"):
        read_model(external(tmp_path / "model.onnx", "data.bin"))


def test_a_location_of_any_length_is_refused(tmp_path: Path) -> None:
    with little(), pytest.raises(OnnxCorrupt, match="folder"):
        read_model(external(tmp_path / "model.onnx", "a/" * 100_000 + "b"))


def test_an_offset_of_any_length_is_refused(tmp_path: Path) -> None:
    (tmp_path / "data.bin").write_bytes(bytes(8))
    with little(), pytest.raises(OnnxCorrupt):
        read_model(external(tmp_path / "model.onnx", "data.bin", offset="9" * 4000))


def hub(folder: Path, location: str, target: Path | None = None) -> Path:
    """A hub's cache: model and data are links to files with other names in one folder."""
    blobs, home = folder / "blobs", folder / "snapshots" / "main"
    blobs.mkdir()
    home.mkdir(parents=True)
    (blobs / "data").write_bytes(np.array([3, 4], np.float32).tobytes())
    external(blobs / "model", location)
    (home / "model.onnx").symlink_to(Path("../../blobs/model"))
    (home / "weights.bin").symlink_to(target or Path("../../blobs/data"))
    return home / "model.onnx"


def test_links_of_a_hub_are_followed(tmp_path: Path) -> None:
    model = read_model(hub(tmp_path, "weights.bin"))
    assert model.graph.constants["w"].array.tolist() == [3, 4]


@pytest.mark.parametrize("location", ["../../blobs/data", "../../secret"])
def test_a_hubs_model_leads_nowhere_by_itself(tmp_path: Path, location: str) -> None:
    (tmp_path / "secret").write_bytes(bytes(8))
    with pytest.raises(OnnxCorrupt, match="folder"):
        read_model(hub(tmp_path, location))


def test_a_hubs_link_out_of_its_files_is_refused(tmp_path: Path) -> None:
    (tmp_path / "secret").write_bytes(bytes(8))
    with pytest.raises(OnnxCorrupt, match="folder"):
        read_model(hub(tmp_path, "weights.bin", tmp_path / "secret"))
