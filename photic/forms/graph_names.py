"""What a graph calls by name: inputs, states and sizes, each name with one meaning."""

from __future__ import annotations

from photic.forms.errors import NameTaken
from photic.ir.dim import Dim, Symbol, symbols
from photic.ir.graph import Graph, Named, Node, Scan, all_nodes, topological


def named_sources(graph: Graph, op: str) -> dict[str, Node]:
    """The inputs (``op="input"``) or states of a graph by name; NameTaken if two share one."""
    found: dict[str, Node] = {}
    for node in topological(graph.roots):
        if node.op == op and isinstance(node.attribute, Named):
            other = found.setdefault(node.attribute.name, node)
            if other is not node:
                raise NameTaken(kind=op, name=node.attribute.name)
    return found


def sizes_of(graph: Graph) -> dict[str, Symbol]:
    """The symbolic sizes that any shape, view or trip count of the graph mentions."""
    found: dict[str, Symbol] = {}
    seen = [one for _, one in (*graph.outputs, *graph.updates)]
    dims: list[Dim] = []
    for node in all_nodes(graph.roots):
        dims += node.shape
        seen += node.operands
        if isinstance(node.attribute, Scan):
            dims.append(node.attribute.trips)
            seen += node.attribute.outputs
    for one in seen:
        dims += [*one.view.shape, *one.view.index]
        dims += [dim for bound in one.view.bounds for dim in (bound.value, bound.extent)]
    for dim in dict.fromkeys(dims):
        for one_symbol in sorted(symbols(dim), key=lambda one: one.name):
            if found.setdefault(one_symbol.name, one_symbol) != one_symbol:
                raise NameTaken(kind="size", name=one_symbol.name)
    return found
