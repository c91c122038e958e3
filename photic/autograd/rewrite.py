"""Graphs with some of their nodes replaced; loops over the same values made one.

A gradient through a scan needs values of every step that the scan does not give, so it reads a scan
that gives them too. ``merged`` makes one of the two, so that nothing is computed twice.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from photic.ir import graph
from photic.ir.graph import Item, Node, Operand, Scan, all_nodes, topological


def replaced(roots: Sequence[Node], table: Mapping[Node, Node]) -> dict[Node, Node]:
    """What becomes of every node under the roots, bodies of scans included.

    ``table`` gives nodes of the same shape and dtype for some; what does not depend on these stays.
    """
    done = dict(table)

    def moved(one: Operand) -> Operand:
        return Operand(done[one.node], one.view)

    for node in all_nodes(roots):
        if node not in done:
            attribute = node.attribute
            if isinstance(attribute, Scan):
                attribute = replace(attribute, outputs=tuple(map(moved, attribute.outputs)))
            done[node] = graph.with_operands(node, tuple(map(moved, node.operands)), attribute)
    return done


def substituted(values: Sequence[Operand], table: Mapping[Node, Node]) -> tuple[Operand, ...]:
    """The values with some nodes replaced."""
    done = replaced([one.node for one in values], table)
    return tuple(Operand(done[one.node], one.view) for one in values)


def merged(values: Sequence[Operand]) -> tuple[Operand, ...]:
    """The same values; scans that differ in what they stack only are one that stacks it all."""
    while True:
        group = _alike(values)
        if not group:
            return tuple(values)
        values = substituted(values, _united(values, group))


def _alike(values: Sequence[Operand]) -> list[Node]:
    """Scans of the same steps, none of which reads a result of another."""
    groups: dict[object, list[Node]] = {}
    for node in topological([one.node for one in values]):
        body = node.attribute
        if isinstance(body, Scan):
            given = node.operands[: len(body.carried) + len(body.sliced)]
            steps = body.outputs[: len(body.carried)]
            groups.setdefault((body.trips, body.carried, body.sliced, given, steps), []).append(
                node
            )
    for group in groups.values():
        if len(group) > 1 and not _depend_on_each_other(group):
            return group
    return []


def _depend_on_each_other(group: Sequence[Node]) -> bool:
    below = topological([one.node for node in group for one in node.operands])
    return not set(group).isdisjoint(below)


def _united(values: Sequence[Operand], group: Sequence[Node]) -> dict[Node, Node]:
    """For each result of the scans, that of one scan which has them all."""
    bodies = {node: node.attribute for node in group if isinstance(node.attribute, Scan)}
    body, operands = bodies[group[0]], group[0].operands
    count, given = len(body.carried), len(body.carried) + len(body.sliced)
    rows = list(dict.fromkeys(one for each in bodies.values() for one in each.outputs[count:]))
    outputs = (*body.outputs[:count], *rows)
    first, sequences = operands[:count], operands[count:given]
    results = graph.scan(body.trips, first, sequences, body.carried, body.sliced, outputs)
    table: dict[Node, Node] = {}
    for node in topological([one.node for one in values]):
        if isinstance(node.attribute, Item) and node.operands[0].node in bodies:
            number, own = node.attribute.number, bodies[node.operands[0].node]
            is_row = number >= count
            table[node] = results[count + rows.index(own.outputs[number]) if is_row else number]
    return table
