"""ONNX files to records: parsed, checked, brought into order.

Refused are files that are no ONNX models; names that nothing gives, or two give, or that go in a
circle; tensors whose data do not fit their shapes; graphs nested deeper than any model's; data
outside the model's folder. What operators take is not checked here.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import onnx
from google.protobuf.message import DecodeError  # type: ignore[import-untyped]

from photic.frontends.onnx.errors import OnnxCorrupt
from photic.frontends.onnx.kinds import UNREAD, kind_of_code
from photic.frontends.onnx.records import (
    Attribute,
    Constant,
    Function,
    Graph,
    Model,
    Node,
    Port,
    Reference,
)
from photic.frontends.onnx.tensors import locations, read_tensor
from photic.storage.errors import FileUnreadable

DEEPEST = 24  # graphs within graphs; protobuf itself reads about 30
MOST_DENSE_BYTES = 1 << 30  # of a sparse tensor with its zeros, of which the file holds no byte
DOMAINS = {"ai.onnx": ""}


def read_model(path: str | Path) -> Model:
    """The model in a file. FileUnreadable, OnnxCorrupt, OnnxData, OnnxType."""
    file = Path(path)
    try:
        data = file.read_bytes()
    except OSError as error:
        problem = (error.strerror or str(error)).lower()
        raise FileUnreadable(path=file, problem=problem) from None
    return read_bytes(data, file.parent, str(file))


def read_bytes(data: bytes, folder: Path, path: str) -> Model:
    """The model in bytes; tensors may have their data in files of ``folder``."""
    proto = onnx.ModelProto()
    try:
        proto.ParseFromString(data)
    except (DecodeError, RecursionError) as error:
        raise OnnxCorrupt(path=path, where="file", problem=str(error) or "no protobuf") from None
    return read_proto(proto, folder, path)


def read_proto(proto: onnx.ModelProto, folder: Path, path: str) -> Model:
    """The model of a parsed file."""
    if not proto.HasField("graph"):
        raise OnnxCorrupt(path=path, where="file", problem="no graph in it")
    reader = _Reader(folder, path)
    functions = [_function(one, reader) for one in proto.functions]
    return Model(
        path,
        _graph(proto.graph, reader, frozenset(), 0),
        _opsets(proto.opset_import),
        {(one.domain, one.op): one for one in functions},
        tuple(sorted(reader.beside)),
    )


@dataclass(frozen=True, slots=True)
class _Reader:
    """Where a model lies, and the locations of its data beside it, as far as it was read."""

    folder: Path
    path: str
    beside: set[str] = field(default_factory=set)

    def tensor(self, proto: onnx.TensorProto, where: str) -> Constant:
        """A tensor of the file, or of one beside it."""
        self.beside.update(locations(proto))
        return read_tensor(proto, self.folder, self.path, where)

    def corrupt(self, where: str, problem: str) -> OnnxCorrupt:
        return OnnxCorrupt(path=self.path, where=where, problem=problem)


def _opsets(entries: Iterable[onnx.OperatorSetIdProto]) -> dict[str, int]:
    """The version of each domain."""
    return {domain_of(one.domain): int(one.version) for one in entries}


def domain_of(text: str) -> str:
    """A domain by the one name that we use for it."""
    return DOMAINS.get(text, text)


# --- graphs ---------------------------------------------------------------------------------


def _graph(proto: onnx.GraphProto, reader: _Reader, outside: frozenset[str], depth: int) -> Graph:
    """A graph that may read the names ``outside`` it."""
    where = f"graph {proto.name!r}"
    if depth > DEEPEST:
        raise reader.corrupt(where, f"graphs nested deeper than {DEEPEST}")
    constants = {one.name: reader.tensor(one, where) for one in proto.initializer}
    for sparse in proto.sparse_initializer:
        constants[sparse.values.name] = _dense(sparse, reader, where)
    inputs = tuple(_port(one, where) for one in proto.input)
    own = frozenset(one.name for one in inputs).union(constants)
    nodes = _nodes(proto.node, reader, own, outside, depth)
    made = (own | outside).union(*(one.outputs for one in nodes))
    outputs = tuple(_port(one, where) for one in proto.output)
    for one in outputs:
        if one.name not in made:
            raise reader.corrupt(where, f"nothing gives its output {one.name!r}")
    return Graph(proto.name, nodes, inputs, outputs, constants)


def _nodes(
    protos: Sequence[onnx.NodeProto],
    reader: _Reader,
    own: frozenset[str],
    outside: frozenset[str],
    depth: int,
) -> tuple[Node, ...]:
    """The nodes in order, the graphs in them read with the names that stand around them."""
    makers: dict[str, int] = {}
    for number, proto in enumerate(protos):
        for name in filter(None, proto.output):
            if name in makers or name in own:
                raise reader.corrupt(_where(proto, number), f"{name!r} is given twice")
            makers[name] = number
    reads = [_reads(proto) for proto in protos]
    order = _ordered(protos, reads, makers, reader)
    visible = (own | outside).union(makers)
    for number in order:
        missing = [name for name in protos[number].input if name and name not in visible]
        if missing:
            problem = f"nothing gives its input {missing[0]!r}"
            raise reader.corrupt(_where(protos[number], number), problem)
    return tuple(_node(protos[n], _where(protos[n], n), reader, visible, depth) for n in order)


def _reads(proto: onnx.NodeProto) -> set[str]:
    """The names that a node reads, those of the graphs in it included."""
    names = set(filter(None, proto.input))
    stack = [graph for one in proto.attribute for graph in (one.g, *one.graphs)]
    while stack:
        for node in stack.pop().node:
            names.update(node.input)
            stack += [graph for one in node.attribute for graph in (one.g, *one.graphs)]
    for one in proto.attribute:
        names.update(output.name for graph in (one.g, *one.graphs) for output in graph.output)
    return names


def _ordered(
    protos: Sequence[onnx.NodeProto],
    reads: Sequence[set[str]],
    makers: Mapping[str, int],
    reader: _Reader,
) -> list[int]:
    """Numbers of nodes, each after those whose outputs it reads. OnnxCorrupt for a circle."""
    before = [{makers[name] for name in names if name in makers} for names in reads]
    after: list[list[int]] = [[] for _ in protos]
    for number, earlier in enumerate(before):
        for one in earlier:
            after[one].append(number)
    waiting = [len(earlier) for earlier in before]
    ready = [number for number, count in enumerate(waiting) if count == 0][::-1]
    order: list[int] = []
    while ready:
        number = ready.pop()
        order.append(number)
        for one in reversed(after[number]):
            waiting[one] -= 1
            if waiting[one] == 0:
                ready.append(one)
    if len(order) < len(protos):
        stuck = next(number for number, count in enumerate(waiting) if count)
        raise reader.corrupt(_where(protos[stuck], stuck), "its inputs depend on its outputs")
    return order


def _where(proto: onnx.NodeProto, number: int) -> str:
    return f"node {proto.name!r}" if proto.name else f"node {number} ({proto.op_type})"


def _node(
    proto: onnx.NodeProto, where: str, reader: _Reader, visible: frozenset[str], depth: int
) -> Node:
    attributes = {
        one.name: _attribute(one, where, reader, visible, depth) for one in proto.attribute
    }
    return Node(
        proto.op_type,
        domain_of(proto.domain),
        where,
        tuple(proto.input),
        tuple(proto.output),
        attributes,
        proto,
    )


# --- attributes -----------------------------------------------------------------------------


def _attribute(
    proto: onnx.AttributeProto, where: str, reader: _Reader, visible: frozenset[str], depth: int
) -> Attribute | Reference:
    if proto.ref_attr_name:
        return Reference(proto.ref_attr_name)
    kind = proto.DESCRIPTOR.enum_types_by_name["AttributeType"].values_by_number.get(proto.type)
    match kind.name if kind else "":
        case "FLOAT":
            return float(proto.f)
        case "INT":
            return int(proto.i)
        case "STRING":
            return _text(proto.s)
        case "TENSOR":
            return reader.tensor(proto.t, where)
        case "SPARSE_TENSOR":
            return _dense(proto.sparse_tensor, reader, where)
        case "GRAPH":
            return _graph(proto.g, reader, visible, depth + 1)
        case "FLOATS":
            return tuple(map(float, proto.floats))
        case "INTS":
            return tuple(map(int, proto.ints))
        case "STRINGS":
            return tuple(_text(one) for one in proto.strings)
        case "GRAPHS":
            return tuple(_graph(one, reader, visible, depth + 1) for one in proto.graphs)
    raise reader.corrupt(where, f"attribute {proto.name!r} of type {proto.type}")


def _text(data: bytes) -> str:
    return data.decode("utf-8", "replace")


def _dense(proto: onnx.SparseTensorProto, reader: _Reader, where: str) -> Constant:
    """A sparse tensor with its zeros. OnnxCorrupt for places outside."""
    values = reader.tensor(proto.values, where)
    places = reader.tensor(proto.indices, where).array.astype(np.int64)
    shape = tuple(proto.dims)
    size_bytes = math.prod(shape) * values.array.itemsize
    if any(size < 0 for size in shape) or size_bytes > MOST_DENSE_BYTES:
        raise reader.corrupt(where, f"shape {shape} is no sparse tensor's")
    if places.ndim == 2:
        try:
            places = np.ravel_multi_index(tuple(places.T), shape)
        except ValueError as error:
            raise reader.corrupt(where, str(error)) from None
    dense = np.zeros(shape, values.array.dtype)
    is_inside = places.shape == values.array.shape and places.ndim == 1
    if not is_inside or (places.size and not 0 <= places.min() <= places.max() < dense.size):
        raise reader.corrupt(where, "places of a sparse tensor do not fit it")
    dense.reshape(-1)[places] = values.array
    return Constant(dense, values.kind)


# --- inputs, outputs, functions -------------------------------------------------------------


def _port(proto: onnx.ValueInfoProto, where: str) -> Port:
    what = proto.type.WhichOneof("value")
    if what is None:
        return Port(proto.name, None, None)
    if what != "tensor_type":
        return Port(proto.name, None, None, what.removesuffix("_type"))
    held = proto.type.tensor_type
    if held.elem_type == 0:
        return Port(proto.name, None, None)
    code = held.elem_type
    if code in UNREAD:
        return Port(proto.name, None, None, UNREAD[code])
    kind = kind_of_code(code, f"{where}, {proto.name!r}")
    if not held.HasField("shape"):
        return Port(proto.name, kind, None)
    return Port(proto.name, kind, tuple(map(_size, held.shape.dim)))


def _size(proto: onnx.TensorShapeProto.Dimension) -> int | str:
    """A number; a name or another text; "" for what is not said."""
    if proto.HasField("dim_value"):
        return int(proto.dim_value)
    return str(proto.dim_param)


def _function(proto: onnx.FunctionProto, reader: _Reader) -> Function:
    where = f"function {proto.name!r}"
    given = frozenset(proto.input)
    nodes = _nodes(proto.node, reader, given, frozenset(), 0)
    defaults = {one.name: _attribute(one, where, reader, given, 0) for one in proto.attribute_proto}
    return Function(
        proto.name,
        domain_of(proto.domain),
        tuple(proto.input),
        tuple(proto.output),
        nodes,
        defaults,
        _opsets(proto.opset_import),
    )


def read_function(proto: onnx.FunctionProto) -> Function:
    """A function of ONNX itself."""
    return _function(proto, _Reader(Path(), "onnx"))
