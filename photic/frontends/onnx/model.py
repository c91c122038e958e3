"""An ONNX model that was read: its inputs and outputs, its graph, programs of it.

``load`` reads a file; ``Model.compile`` makes one program. What data decide in between (the number
of elements that are not 0, say) needs several programs: ``session.py``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from photic.frontends.onnx import records
from photic.frontends.onnx.call import Facts, Unread
from photic.frontends.onnx.errors import OnnxCorrupt, OnnxFeed, OnnxSegments, OnnxType
from photic.frontends.onnx.importer import import_graph
from photic.frontends.onnx.kinds import KINDS, Array, Kind, carried, kind_of_array
from photic.frontends.onnx.reader import read_model
from photic.frontends.onnx.sizes import Naming, Sizes, identifier
from photic.frontends.onnx.value import Value
from photic.ir.dim import Dim
from photic.ir.graph import Graph
from photic.tensor import compiling, creation
from photic.tensor.compiling import graph_of
from photic.tensor.program import Program
from photic.tensor.tensor import Tensor


@dataclass(frozen=True, slots=True)
class Port:
    """An input or output: its name in the file, its name in programs, its type and sizes."""

    name: str
    key: str
    kind: Kind
    shape: tuple[Dim, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Model:
    """A model as tensors: ``tensors`` are its outputs by their names in programs."""

    inputs: tuple[Port, ...]
    outputs: tuple[Port, ...]
    tensors: Mapping[str, Tensor]

    @property
    def graph(self) -> Graph:
        """The graph of all outputs."""
        return graph_of(self.tensors, {})

    def compile(
        self,
        *,
        target: str = "",
        search: float | None = None,
        seed: int = 0,
        without: Sequence[str] = (),
        precision: str = "exact",
    ) -> Program:
        """The program, as ``ph.compile`` makes it; inputs and outputs by their ``key``."""
        return compiling.compile(
            self.tensors,
            target=target,
            search=search,
            seed=seed,
            without=without,
            precision=precision,
        )


def load(
    path: str | Path,
    dims: Sizes | None = None,
    constants: Mapping[str, Array] | None = None,
) -> Model:
    """The model in a file, as one graph.

    ``dims`` fixes symbolic sizes or gives their ranges, perhaps with a step that divides them:
    ``{"batch": (1, 16), "height": (32, 960, 32), "width": 640}``; names are the file's, or
    ``input_axis`` where it has none. Without it a size is 1 to 1024.
    ``constants`` are inputs that are known now. Raises OnnxCorrupt, OnnxUnsupported and their like;
    OnnxSegments where data decide sizes (then see ``Session``).
    """
    return as_model(read_model(path), dims, constants)


def as_model(
    model: records.Model, dims: Sizes | None, constants: Mapping[str, Array] | None
) -> Model:
    """As ``load``, of a model that was read."""
    naming = Naming(dims or {})
    ports, values = [], dict(known_inputs(model, constants or {}))
    keys = Keys()
    for port in inputs_of(model):
        if port.name not in values:
            one = input_port(port, naming.shape(port), keys)
            ports.append(one)
            values[port.name] = input_value(one)
    naming.require_all_used()
    try:
        found = import_graph(model, values, Facts({}), one_program=True)
    except Unread as cut:
        raise OnnxSegments(where=cut.where, value=cut.operand.node) from None
    names = [one.name for one in model.graph.outputs]
    outputs = output_ports(names, found)
    tensors = {one.key: value.tensor for one, value in zip(outputs, found)}
    return Model(tuple(ports), outputs, tensors)


# --- inputs and outputs ---------------------------------------------------------------------


class Keys:
    """Names in programs: identifiers, each once."""

    __slots__ = ("_taken",)

    def __init__(self) -> None:
        self._taken: set[str] = set()

    def of(self, name: str) -> str:
        """The name that stands for one of a file's."""
        key = identifier(name)
        while key in self._taken:
            key += "_"
        self._taken.add(key)
        return key


def inputs_of(model: records.Model) -> list[records.Port]:
    """The inputs that a caller must give: not those with a constant in the file."""
    return [one for one in model.graph.inputs if one.name not in model.graph.constants]


def known_inputs(model: records.Model, given: Mapping[str, Array]) -> dict[str, Value]:
    """Inputs that are known when the graph is built. OnnxFeed, OnnxType."""
    names = [one.name for one in model.graph.inputs]
    for name in given:
        if name not in names:
            raise OnnxFeed(kind="input", name=name, expected=", ".join(names))
    arrays = {name: np.asarray(one) for name, one in given.items()}
    kinds = {name: kind_of_array(one, f"input {name!r}") for name, one in arrays.items()}
    return {name: Value(carried(one, kinds[name]), kinds[name]) for name, one in arrays.items()}


def input_port(port: records.Port, shape: tuple[Dim, ...], keys: Keys) -> Port:
    """An input that programs have. OnnxType for what is no tensor, OnnxCorrupt."""
    where = f"input {port.name!r}"
    if port.other:
        raise OnnxType(where=where, given=port.other, expected=", ".join(one.name for one in KINDS))
    if port.kind is None or port.sizes is None:
        raise OnnxCorrupt(path="model", where=where, problem="its type or rank is not said")
    return Port(port.name, keys.of(port.name), port.kind, shape)


def input_value(port: Port) -> Value:
    """The tensor of an input."""
    return Value(creation.input(port.key, port.shape, port.kind.carrier), port.kind)


def output_ports(names: Sequence[str], values: Sequence[Value]) -> tuple[Port, ...]:
    """The outputs as programs give them."""
    keys = Keys()
    return tuple(
        Port(name, keys.of(name), value.kind, value.shape) for name, value in zip(names, values)
    )
