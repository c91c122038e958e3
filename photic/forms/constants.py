"""Constants evaluated early: what depends on constants alone is computed once, at compile time.

A value is evaluated when the result is no larger than what it is made of, or small, or costly to
compute again. Large cheap ones (unpacked weights) stay computations, fused where they are used.
Indices stay symbolic: a condition between indices is worth more than its table.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import replace

from photic.forms.eval import evaluate_operand
from photic.ir import graph as graphs
from photic.ir.dim import symbols
from photic.ir.graph import Graph, Node, Operand, Scan, constant_node, operand, topological
from photic.ir.ops import COSTLY, REGIONS, SOURCES
from photic.ir.view import Shape

WORK = COSTLY | {"sum", "max"}  # ops of which an element costs much
SMALL_BYTES = 65536  # a result of this size is always worth keeping
MOST_ELEMENTS = 1 << 24  # on the way to a result; more only if a constant below has as many


def evaluate_constants(graph: Graph) -> Graph:
    """The graph with constant values in place of what computes them."""
    order = list(topological(graph.roots))
    fixed: set[Node] = set()
    for node in order:
        if _is_fixed(node) and all(one.node in fixed for one in node.operands):
            fixed.add(node)
    wanted = _wanted(graph, order, fixed)
    made = {node: constant_node(evaluate_operand(operand(node), {})) for node in wanted}
    return replaced(graph, made) if made else graph


def _is_fixed(node: Node) -> bool:
    """True if a node gives its operands' values a fixed place: no size says which."""
    dims = list(node.shape)
    for one in node.operands:
        dims += [*one.view.shape, *one.view.index]
        dims += [dim for bound in one.view.bounds for dim in (bound.value, bound.extent)]
    return node.op not in ("input", "state", *REGIONS) and not any(map(symbols, dims))


def _wanted(graph: Graph, order: list[Node], fixed: set[Node]) -> list[Node]:
    """The nodes to evaluate: each a last fixed one, or a costly one under it."""
    last = {one.node for node in order if node not in fixed for one in node.operands}
    last |= {one.node for _, one in (*graph.outputs, *graph.updates)}
    reached, wanted = last & fixed, list[Node]()
    for node in reversed(order):
        if node in reached and node.op not in SOURCES:
            if _is_worth(node, node in last):
                wanted.append(node)
            else:
                reached |= {one.node for one in node.operands}
    return wanted[::-1]


def _is_worth(node: Node, is_last: bool) -> bool:
    under = list(topological([node]))
    made_of = [one for one in under if one.op == "constant" and one.shape != ()]
    if not made_of and not any(one.op in WORK for one in under):
        return False
    most = max([MOST_ELEMENTS, *(_elements(one.shape) for one in made_of)])
    if any(_elements(one.shape) > most for below in under for one in below.operands):
        return False
    if node.op in WORK or not is_last:
        return node.op in WORK
    return _bytes(node) <= max(SMALL_BYTES, sum(map(_bytes, made_of)))


def _elements(shape: Shape) -> int:
    return math.prod(int(extent) for extent in shape)


def _bytes(node: Node) -> int:
    return _elements(node.shape) * node.dtype.bytes


def _unchanged(node: Node) -> Node:
    return node


def replaced(
    graph: Graph, made: Mapping[Node, Node], change: Callable[[Node], Node] = _unchanged
) -> Graph:
    """The graph with some nodes replaced by others of the same shape and dtype.

    ``change`` is made of each other node, once what it is made of is replaced.
    """
    done: dict[Node, Node] = dict(made)

    def moved(one: Operand) -> Operand:
        return Operand(done[one.node], one.view)

    for node in graphs.all_nodes(graph.roots):
        if node not in done:
            attribute = node.attribute
            if isinstance(attribute, Scan):
                attribute = replace(attribute, outputs=tuple(map(moved, attribute.outputs)))
            operands = tuple(map(moved, node.operands))
            done[node] = change(graphs.with_operands(node, operands, attribute))
    return Graph(
        tuple((name, moved(one)) for name, one in graph.outputs),
        tuple((done[state], moved(one)) for state, one in graph.updates),
    )
