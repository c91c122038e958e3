"""Small ONNX models for the tests of this folder."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import helper

from photic.frontends.onnx.reader import read_bytes
from photic.frontends.onnx.records import Model
from photic.frontends.onnx.segments import evaluated
from photic.frontends.onnx.session import Session

OPSET = 21
FLOAT, INT64 = onnx.TensorProto.FLOAT, onnx.TensorProto.INT64

Ports = Mapping[str, tuple[Any, ...]]


def node(op: str, inputs: Sequence[str], outputs: Sequence[str], **attributes: Any) -> Any:
    """A node; ``domain`` and ``name`` are among the attributes."""
    return helper.make_node(op, list(inputs), list(outputs), **attributes)


def port(name: str, shape: Sequence[Any] | None, dtype: int = FLOAT) -> Any:
    return helper.make_tensor_value_info(name, dtype, shape)


def graph_proto(
    nodes: Sequence[Any], inputs: Sequence[Any], outputs: Sequence[Any], **arrays: Any
) -> Any:
    """A graph; ``arrays`` are its initializers."""
    held = [onnx.numpy_helper.from_array(np.asarray(one), name) for name, one in arrays.items()]
    return helper.make_graph(list(nodes), "main", list(inputs), list(outputs), held)


def model_proto(graph: Any, opset: int = OPSET, functions: Sequence[Any] = ()) -> Any:
    """A model, with com.microsoft and the domain ``own`` beside ONNX's own operators."""
    opsets = [("", opset), ("com.microsoft", 1), ("own", 1)]
    imports = [helper.make_opsetid(domain, version) for domain, version in opsets]
    return helper.make_model(graph, opset_imports=imports, functions=list(functions))


def read(proto: Any) -> Model:
    return read_bytes(proto.SerializeToString(), Path(), "model")


def session(graph: Any, opset: int = OPSET, functions: Sequence[Any] = ()) -> Session:
    """A session that runs by the evaluator."""
    return Session.of(read(model_proto(graph, opset, functions)), runner=evaluated)


def run(graph: Any, opset: int = OPSET, /, **feeds: Any) -> list[Any]:
    """All outputs, by the evaluator."""
    return session(graph, opset).run(None, feeds)


def one_node(
    op: str, arrays: Sequence[Any], outputs: int = 1, opset: int = OPSET, **attributes: Any
) -> list[Any]:
    """The outputs of one node of float32, int64 or bool arrays; None leaves an input out."""
    names = [f"x{k}" if one is not None else "" for k, one in enumerate(arrays)]
    feeds = {name: one for name, one in zip(names, arrays) if name}
    code = helper.np_dtype_to_tensor_dtype
    inputs = [port(name, one.shape, code(one.dtype)) for name, one in feeds.items()]
    made = [f"y{k}" for k in range(outputs)]
    results = [onnx.ValueInfoProto(name=name) for name in made]
    graph = graph_proto([node(op, names, made, **attributes)], inputs, results)
    return session(graph, opset).run(None, feeds)
