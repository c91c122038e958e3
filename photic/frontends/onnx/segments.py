"""Segments of a model: programs one after another, each given what the ones before it computed.

A segment's outputs are whole nodes of the graph. In the segments after it inputs stand for these
nodes, so that nothing is computed twice.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

from photic.forms.constants import replaced
from photic.forms.eval import evaluate
from photic.forms.graph_names import named_sources, sizes_of
from photic.frontends.onnx.kinds import Array
from photic.ir.graph import Graph, Named, Node, Operand, input_node, operand
from photic.tensor.program import Program
from photic.tensor.tensor import Tensor

Runner: TypeAlias = Callable[[Mapping[str, Array], Mapping[str, int]], dict[str, Array]]
MakeRunner: TypeAlias = Callable[["Segment", float, str], Runner]
"""Given a segment, the seconds to search, and the precision."""


ASKED = "segment_asked"  # the output that is read back


@dataclass(frozen=True, slots=True, eq=False)
class Segment:
    """One program's graph. ``gives`` names the nodes that later segments take from it.

    ``asked`` is the value that is read back, also the output ``ASKED``.
    """

    graph: Graph
    gives: Mapping[Node, str]
    asked: Operand | None = None

    def renamed(self, names: Sequence[str]) -> Segment:
        """The same outputs under other names, in order."""
        outputs = tuple((name, one) for name, (_, one) in zip(names, self.graph.outputs))
        return replace(self, graph=Graph(outputs, ()))


def segment_of(
    asked: Operand | None, live: Sequence[Tensor], earlier: Sequence[Segment]
) -> Segment:
    """The segment that computes what is asked and what must live on; the last one its outputs."""
    made: dict[Node, Node] = {}
    for one in earlier:
        for node, name in one.gives.items():
            made.setdefault(node, input_node(name, node.shape, node.dtype))
    if asked is None:
        outputs = tuple((f"output{k}", one.operand) for k, one in enumerate(live))
        return Segment(_taking(Graph(outputs, ()), made), {})
    nodes = dict.fromkeys([asked.node, *(one.operand.node for one in live)])
    fresh = [node for node in nodes if node not in made and node.op != "input"]
    first = len(made)
    gives = {node: f"segment_{first + k}" for k, node in enumerate(fresh)}
    outputs = (*((name, operand(node)) for node, name in gives.items()), (ASKED, asked))
    known = {node: _name(one) for node, one in made.items()}
    inputs = {node: _name(node) for node in nodes if node.op == "input"}
    return Segment(_taking(Graph(outputs, ()), made), {**known, **inputs, **gives}, asked)


def _name(node: Node) -> str:
    """The name of an input."""
    assert isinstance(node.attribute, Named)
    return node.attribute.name


def _taking(graph: Graph, made: Mapping[Node, Node]) -> Graph:
    return replaced(graph, made) if made else graph


# --- running --------------------------------------------------------------------------------


def program_of(segment: Segment, search: float, precision: str) -> Program:
    """The segment as a program."""
    from photic.tensor import compiling  # heavy, and of no use to a start with kept programs

    tensors = {name: Tensor(one) for name, one in segment.graph.outputs}
    return compiling.compile(tensors, search=search, precision=precision)


def compiled(segment: Segment, search: float, precision: str) -> Runner:
    """The segment by a program."""
    return running(program_of(segment, search, precision))


def running(program: Program) -> Runner:
    """A segment's program, fed with what it takes of all that is there."""
    names = [one.name for one in program.artifact.inputs]
    symbols = [one.name for one in program.artifact.sizes]

    def run(held: Mapping[str, Array], sizes: Mapping[str, int]) -> dict[str, Array]:
        given: dict[str, object] = {name: held[name] for name in names}
        given.update({name: sizes[name] for name in symbols if name in sizes})
        return dict(program(**given))

    return run


def evaluated(segment: Segment, search: float, precision: str) -> Runner:
    """The segment by the evaluator: no program is made."""
    graph = segment.graph
    names, symbols = list(named_sources(graph, "input")), list(sizes_of(graph))

    def run(held: Mapping[str, Array], sizes: Mapping[str, int]) -> dict[str, Array]:
        given = {name: held[name] for name in names}
        chosen = {name: sizes[name] for name in symbols}
        return evaluate(graph, given, {}, chosen, widen=False)[0]

    return run
