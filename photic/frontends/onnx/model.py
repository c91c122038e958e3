"""An ONNX model that was read: its inputs and outputs, its graph, programs of it.

``load`` reads a file; ``Model.compile`` makes one program. What data decide in between (the number
of elements that are not 0, say) needs several programs: ``session.py``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from photic.frontends.onnx import records
from photic.frontends.onnx.call import Facts, Unread
from photic.frontends.onnx.errors import OnnxSegments
from photic.frontends.onnx.files import outline_of
from photic.frontends.onnx.importer import import_graph
from photic.frontends.onnx.kinds import Array
from photic.frontends.onnx.ports import (
    Keys,
    Port,
    input_port,
    input_value,
    known_inputs,
    output_ports,
)
from photic.frontends.onnx.reader import read_model
from photic.frontends.onnx.sizes import Naming, Sizes
from photic.ir.graph import Graph
from photic.tensor import compiling
from photic.tensor.compiling import graph_of
from photic.tensor.program import Program
from photic.tensor.tensor import Tensor


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
    ports, values = [], dict(known_inputs(model.graph.inputs, constants or {}))
    keys = Keys()
    for port in outline_of(model).asked:
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
