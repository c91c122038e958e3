"""``ph.export_onnx``: a graph as an ONNX model of standard operators.

Every graph can be written: primitives by a table, views by what they read, scans as Scan or Loop.
Nothing is told by a name of an operator of a framework; sums of products and lookups are told by
what they are made of. No constants are computed: runtimes do that when they load a model.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import onnx
from onnx import defs, helper

from photic.base.errors import BadArgument
from photic.forms.graph_names import named_sources, sizes_of
from photic.frontends.onnx.errors import OnnxExport
from photic.frontends.onnx.export_file import MOST_IN_A_FILE_BYTES, beside, in_the_file
from photic.frontends.onnx.export_graph import Names, Translation
from photic.frontends.onnx.export_products import shorter
from photic.frontends.onnx.export_sizes import Sizes, told_by
from photic.frontends.onnx.export_writer import Block, Sheet, Writer, port
from photic.ir.dtype import INT64
from photic.ir.graph import Graph, Named, Node
from photic.tensor.compiling import graph_of
from photic.tensor.tensor import Tensor

OLDEST = 15  # the first version whose Shape gives one axis
USUAL = 18
STATES = "photic.states"  # the model's own note of which output is the next value of which input
LONE = "output"  # the name of a tensor that is given without one


def export_onnx(
    outputs: Graph | Mapping[str, Tensor] | Tensor,
    path: str | Path | None = None,
    updates: Mapping[Tensor, Tensor] | None = None,
    *,
    opset: int = USUAL,
    external: bool = False,
) -> onnx.ModelProto:
    """The model of tensors by name (a lone one is ``"output"``) or of a graph; written to a path.

    Inputs keep their names, dtypes and sizes; a symbolic size is a named one, and an input of its
    own (int64, a number) where no shape of an input tells it. A state is an input, zeros before the
    first call, and its next value the output ``<name>_next``; the model's metadata tells which is
    which under ``photic.states``. ``updates`` gives states their next values.

    By the standard's operators the model means what the graph means: movement, choices and integers
    to the bit, floats within 1 unit in the last place a primitive (``sin``: as near as the
    runtime's), sums but for the order of their terms. float64 cast to a half may be rounded twice.
    Runtimes have faults of their own: onnxruntime loses the sign of zeros in Where, and adds int64
    beyond 2**53 inexactly.

    With ``external``, and where all is larger than 2 GB, constants are in a file ``<path>.data``.
    Raises OnnxExport, BadArgument, and what ``ph.compile`` raises of the same arguments.
    """
    newest = defs.onnx_opset_version()
    if not isinstance(opset, int) or not OLDEST <= opset <= newest:
        expected = f"{OLDEST} to {newest}, as the package onnx has"
        raise BadArgument(op="export_onnx", argument="opset", given=opset, expected=expected)
    graph = _graph(outputs, updates or {})
    writer, model = _written(graph, opset)
    is_large = sum(one.nbytes for one in writer.constants.values()) > MOST_IN_A_FILE_BYTES
    if path is None:
        if external or is_large:
            problem = "constants in a file beside it need a path; without one they fit into 2 GB"
            raise OnnxExport(problem=problem)
        model.graph.initializer.extend(in_the_file(writer.constants))
        return model
    file = Path(path)
    try:
        made = (
            beside(writer.constants, file)
            if external or is_large
            else in_the_file(writer.constants)
        )
        model.graph.initializer.extend(made)
        file.write_bytes(model.SerializeToString())
    except OSError as error:
        raise OnnxExport(problem=f"{file}: {error.strerror or error}") from None
    return model


def _graph(
    outputs: Graph | Mapping[str, Tensor] | Tensor, updates: Mapping[Tensor, Tensor]
) -> Graph:
    if isinstance(outputs, Graph):
        return outputs
    if not isinstance(outputs, Tensor | Mapping):
        expected = "tensors by name, a tensor, or a graph"
        given = type(outputs).__name__
        raise BadArgument(op="export_onnx", argument="outputs", given=given, expected=expected)
    return graph_of({LONE: outputs} if isinstance(outputs, Tensor) else dict(outputs), updates)


def _written(graph: Graph, opset: int) -> tuple[Writer, onnx.ModelProto]:
    """The model without its constants, which the writer has."""
    inputs, states = named_sources(graph, "input"), named_sources(graph, "state")
    told = told_by({**inputs, **states})
    untold = [name for name, one in sizes_of(graph).items() if one not in told]
    following = _next_names(graph, [*inputs, *states, *untold])
    writer = Writer(opset)
    first = Sheet(writer, Block(None))
    sheet = first.inside()
    seen = (*graph.outputs, *((following[_name(node)], one) for node, one in graph.updates))
    names: Names = {node: (name,) for name, node in (*inputs.items(), *states.items())}
    short = shorter(graph.roots, [one.node for _, one in seen])
    translation = Translation(sheet, Sizes(first, told), names, short)
    translation.give([one for _, one in seen], [name for name, _ in seen])
    results = [port(name, one.dtype, one.shape) for name, one in seen]
    given = [
        port(name, node.dtype, node.shape) for name, node in (*inputs.items(), *states.items())
    ]
    given += [port(name, INT64, ()) for name in untold]
    return writer, _model(
        given, [*first.block.nodes, *sheet.block.nodes], results, opset, following
    )


def _next_names(graph: Graph, given: list[str]) -> dict[str, str]:
    """The output that is the next value of each state. OnnxExport for a name that is used twice."""
    taken = [*given, *(name for name, _ in graph.outputs)]
    for name in taken:
        if taken.count(name) > 1:
            raise OnnxExport(problem=f"{name!r} names two of its inputs, states, sizes and outputs")
    found: dict[str, str] = {}
    for node, _ in graph.updates:
        name = f"{_name(node)}_next"
        while name in taken:
            name += "_"
        found[_name(node)] = name
        taken.append(name)
    return found


def _name(node: Node) -> str:
    assert isinstance(node.attribute, Named)
    return node.attribute.name


def _model(
    inputs: list[onnx.ValueInfoProto],
    nodes: list[onnx.NodeProto],
    outputs: list[onnx.ValueInfoProto],
    opset: int,
    states: Mapping[str, str],
) -> onnx.ModelProto:
    opsets = [helper.make_opsetid("", opset)]
    model = helper.make_model(
        helper.make_graph(nodes, "photic", inputs, outputs),
        opset_imports=opsets,
        producer_name="photic",
        ir_version=helper.find_min_ir_version_for(opsets),
    )
    if states:
        helper.set_model_props(model, {STATES: json.dumps(states)})
    return model
