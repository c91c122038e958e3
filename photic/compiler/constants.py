"""Constants evaluated early: what depends on constants alone is computed once, at compile time.

A value is evaluated when the result is no larger than what it is made of, or small, or costly to
compute again. Large cheap ones (unpacked weights) stay computations, fused where they are used.
Indices stay symbolic: a condition between indices is worth more than its table.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

from photic.forms.eval import Array, evaluate_operand
from photic.ir import graph as graphs
from photic.ir.dim import symbols
from photic.ir.graph import Graph, Node, Operand, Scan, constant_node, operand, topological
from photic.ir.view import Shape
from photic.loops.place import COSTLY

SMALL_BYTES = 65536  # a result of this size is always worth keeping
MOST_ELEMENTS = 1 << 24  # on the way to a result; more only if a constant below has as many


def evaluate_constants(graph: Graph) -> Graph:
    """The graph with constant values in place of what computes them."""
    order = list(topological(graph.roots))
    fixed = {node for node in order if _is_fixed(node)}
    for node in order:
        if node.op not in ("constant", "iota") and any(o.node not in fixed for o in node.operands):
            fixed.discard(node)
    wanted = _wanted(graph, order, fixed)
    cache: dict[Node, Array] = {}
    made: dict[Node, Node] = {}
    for node in order:
        if node in wanted:
            made[node] = constant_node(evaluate_operand(operand(node), cache))
            cache = {}
    return replaced(graph, made) if made else graph


def _is_fixed(node: Node) -> bool:
    if node.op in ("input", "state", "scan", "item"):
        return False
    return not any(map(symbols, node.shape)) and all(map(_is_settled, node.operands))


def _is_settled(one: Operand) -> bool:
    """True if no symbolic size says where the view reads."""
    conditions = (dim for bound in one.view.bounds for dim in (bound.value, bound.extent))
    return not any(map(symbols, (*one.view.shape, *one.view.index, *conditions)))


def _wanted(graph: Graph, order: list[Node], fixed: set[Node]) -> set[Node]:
    """The nodes to evaluate: each a last fixed one, or a costly one under it."""
    last = {one.node for node in order if node not in fixed for one in node.operands}
    last |= {one.node for _, one in (*graph.outputs, *graph.updates)}
    wanted: set[Node] = set()
    stack = [node for node in order if node in last & fixed]
    seen: set[Node] = set()
    while stack:
        node = stack.pop()
        if node in seen or node.op in ("constant", "iota"):
            continue
        seen.add(node)
        if _is_worth(node, node in last):
            wanted.add(node)
        else:
            stack += [one.node for one in node.operands]
    return wanted


def _is_worth(node: Node, is_last: bool) -> bool:
    under = list(topological([node]))
    costly = any(one.op in COSTLY or one.op in ("sum", "max") for one in under)
    made_of = [one for one in under if one.op == "constant" and one.shape != ()]
    most = max([MOST_ELEMENTS, *(_elements(one.shape) for one in made_of)])
    seen = (one for below in under for one in below.operands)
    if not (made_of or costly) or any(_elements(one.shape) > most for one in seen):
        return False
    size = _elements(node.shape) * node.dtype.bytes
    own = node.op in COSTLY or node.op in ("sum", "max")
    if own or not is_last:
        return own
    return size <= SMALL_BYTES or size <= sum(
        _elements(one.shape) * one.dtype.bytes for one in made_of
    )


def _elements(shape: Shape) -> int:
    return math.prod(int(extent) for extent in shape)


def replaced(graph: Graph, made: Mapping[Node, Node]) -> Graph:
    """The graph with some nodes replaced by others of the same shape and dtype."""
    done: dict[Node, Node] = dict(made)

    def moved(one: Operand) -> Operand:
        return Operand(done[one.node], one.view)

    def visit(roots: list[Node]) -> None:
        for node in topological(roots):
            if node in done:
                continue
            attribute = node.attribute
            if isinstance(attribute, Scan):
                visit([one.node for one in attribute.outputs])
                outputs = tuple(moved(one) for one in attribute.outputs)
                attribute = Scan(attribute.trips, attribute.carried, attribute.sliced, outputs)
            done[node] = graphs.with_operands(node, tuple(map(moved, node.operands)), attribute)

    visit(list(graph.roots))
    return Graph(
        tuple((name, moved(one)) for name, one in graph.outputs),
        tuple((done[state], moved(one)) for state, one in graph.updates),
    )
