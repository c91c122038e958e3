"""The gradient of a scan: a scan over the trips from last to first.

Before: ``c' = f(c, x_t, w)`` for each trip t. After: with the values of ``c`` that every trip began
with, stacked by the scan that runs forward, the gradients of ``c``, of each ``x_t`` and of ``w``
follow from those of ``c'`` by the gradient of the body; those of ``w`` are added up on the way.
What the body computes between is computed again, trip by trip, but for long sums of few elements:
those are stacked too. Trips may be symbolic, and none.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from photic.autograd import build
from photic.autograd.facts import is_stop
from photic.autograd.rewrite import merged, substituted
from photic.autograd.term import Term
from photic.ir import dim as dims
from photic.ir import graph
from photic.ir.graph import Named, Node, Operand, Scan, dependents, operand, topological
from photic.ir.view import Shape

Pairs = Sequence[tuple[Operand, Operand]]
Gradients = Callable[[Pairs, Collection[Node]], Mapping[Node, Operand]]


def moving(roots: Iterable[Node], wanted: Collection[Node]) -> set[Node]:
    """Every node under the roots through which a gradient reaches one of ``wanted``."""
    found: set[Node] = set()
    for node in topological(roots):
        is_on = (node.dtype.kind == "float" or node.op == "scan") and not is_stop(node)
        if node in wanted or (is_on and any(one.node in found for one in node.operands)):
            found.add(node)
    return found


@dataclass(frozen=True, slots=True)
class _Loop:
    """A scan taken apart: its body, first values, sequences, and what it reads from outside."""

    body: Scan
    first: tuple[Operand, ...]
    sequences: tuple[Operand, ...]
    outside: tuple[Operand, ...]


def _taken_apart(node: Node) -> _Loop:
    body = node.attribute
    assert isinstance(body, Scan)
    count, given = len(body.carried), len(body.carried) + len(body.sliced)
    parts = (node.operands[:count], node.operands[count:given], node.operands[given:])
    return _Loop(body, *parts)


@dataclass(frozen=True, slots=True)
class _Back:
    """The body that runs backward over slots for gradients, by what they belong to.

    ``after``: of carried values, by number. ``rows``: of stacked results, by number. ``sums``: of
    outside values. ``slices``: the sequences that get a gradient. ``outputs``: for each of
    ``after``, ``sums`` and ``slices`` in this order.
    """

    after: dict[int, Node]
    rows: dict[int, Node]
    sums: dict[Operand, Node]
    slices: tuple[int, ...]
    outputs: tuple[Operand, ...]


def pull_scan(
    node: Node,
    results: Mapping[int, Operand],
    is_wanted: Callable[[Node], bool],
    gradients: Gradients,
) -> Iterable[tuple[Operand, Term]]:
    """The gradients of what a scan reads, from those of some of its results."""
    loop = _taken_apart(node)
    level = _level(node)
    back = _backward(loop, level, results, is_wanted, gradients)
    known, outputs = _begun_with(loop, level, back.outputs)
    sequences = [*known.values(), *(results[k] for k in back.rows)]
    ends = [results.get(k) or _zero(slot) for k, slot in back.after.items()]
    last = graph.scan(
        loop.body.trips,
        [*ends, *map(_zero, back.sums.values())],
        list(map(build.backwards, sequences)),
        [*back.after.values(), *back.sums.values()],
        [*known, *back.rows.values()],
        outputs,
    )
    values = [operand(one) for one in last]
    targets = [*(loop.first[k] for k in back.after), *back.sums]
    yield from ((one, Term((value,))) for one, value in zip(targets, values, strict=False))
    for k, value in zip(back.slices, values[len(targets) :], strict=True):
        yield loop.sequences[k], Term((build.backwards(value),))


def _backward(
    loop: _Loop,
    level: int,
    results: Mapping[int, Operand],
    is_wanted: Callable[[Node], bool],
    gradients: Gradients,
) -> _Back:
    """The gradients of one trip, from those of what it carried on and of what it gave."""
    body, varying = loop.body, _varying(loop, is_wanted)
    carried = {k: slot for k, slot in enumerate(body.carried) if slot in varying}
    after = {k: _slot(level, "carried", k, slot) for k, slot in carried.items()}
    given = sorted(k for k in results if k >= len(loop.first))
    rows = {k: _slot(level, "row", k, body.outputs[k]) for k in given}
    pairs = [(body.outputs[k], operand(slot)) for k, slot in (*after.items(), *rows.items())]
    found = gradients(pairs, varying)
    read = [(k, one) for k, one in enumerate(loop.outside) if one.node in found]
    sums = {one: _slot(level, "sum", k, one) for k, one in read}
    slices = tuple(k for k, slot in enumerate(body.sliced) if slot in found)
    before = [found.get(slot) or _zero(slot) for slot in carried.values()]
    added = [build.plus(operand(slot), found[one.node]) for one, slot in sums.items()]
    outputs = (*before, *added, *(found[body.sliced[k]] for k in slices))
    return _Back(after, rows, sums, slices, merged(outputs))


def _varying(loop: _Loop, is_wanted: Callable[[Node], bool]) -> set[Node]:
    """The slots and outside values through which a gradient goes on."""
    body = loop.body
    slots = zip((*body.carried, *body.sliced), (*loop.first, *loop.sequences), strict=True)
    given = [*slots, *((one.node, one) for one in loop.outside)]
    found = {node for node, one in given if node.dtype.kind == "float" and is_wanted(one.node)}
    while True:
        reached = moving([one.node for one in body.outputs], found)
        pairs = zip(body.carried, body.outputs, strict=False)
        more = {slot for slot, one in pairs if one.node in reached} - found
        if not more:
            return found
        found |= more


def _begun_with(
    loop: _Loop, level: int, outputs: Sequence[Operand]
) -> tuple[dict[Node, Operand], tuple[Operand, ...]]:
    """For each slot that the backward body reads, all its values in order; the body over these.

    What was carried forward has a slot of its own there, as it is a sequence now, and so have sums
    that are kept.
    """
    body = loop.body
    sums = {one: _slot(level, "sum of", k, one) for k, one in enumerate(_kept(body, outputs))}
    outputs = substituted(outputs, sums)
    read = set(topological([one.node for one in outputs]))
    carried = {slot: k for k, slot in enumerate(body.carried) if slot in read}
    begun = {slot: _slot(level, "begun", k, slot) for slot, k in carried.items()}
    known: dict[Node, Operand] = {}
    rows = begun | sums
    if rows:
        all_outputs = (*body.outputs, *map(operand, rows))
        slots = (body.carried, body.sliced)
        forward = graph.scan(body.trips, loop.first, loop.sequences, *slots, all_outputs)
        stacked = map(operand, forward[len(body.outputs) :])
        known |= dict(zip(rows.values(), stacked, strict=True))
    pairs = zip(body.sliced, loop.sequences, strict=True)
    known |= {slot: one for slot, one in pairs if slot in read}
    return known, substituted(outputs, begun)


LONG = 16  # terms of a sum that takes longer to compute again than to read


def _kept(body: Scan, outputs: Sequence[Operand]) -> list[Node]:
    """Long sums of the body that its gradient reads, each with what is added to it at once.

    None where they have more elements than what is stacked in any case.
    """
    slots = {*body.carried, *body.sliced}
    read = list(topological([one.node for one in outputs]))
    inside = dependents(body.outputs, slots).intersection(read)
    users: dict[Node, list[Node]] = {}
    for node in read:
        for one in node.operands:
            users.setdefault(one.node, []).append(node)
    found: dict[Node, None] = {}
    for node in read:
        if node in inside and node.op == "sum" and _terms(node) >= LONG:
            while _is_added_to(node, users.get(node, [])) and users[node][0] in inside:
                (node,) = users[node]
            found[node] = None
    tops = [one for one in found if all(user.op != "sum" for user in users.get(one, []))]
    stacked = [one for one in read if one in slots]
    return tops if sum(map(_most, tops)) <= sum(map(_most, stacked)) else []


def _terms(node: Node) -> int:
    (before,) = node.operands
    return _count(before.shape) // max(1, _most(node))


def _is_added_to(node: Node, users: Sequence[Node]) -> bool:
    """True if all that reads a value is one sum of it, as it is, with another."""
    if len(users) != 1 or users[0].op != "add" or users[0].shape != node.shape:
        return False
    return operand(node) in users[0].operands


def _most(node: Node) -> int:
    return _count(node.shape)


def _count(shape: Shape) -> int:
    """Elements at the largest sizes."""
    return dims.bounds(dims.product(shape))[1]


def _slot(level: int, what: str, number: int, like: Node | Operand) -> Node:
    return graph.input_node(f"@back{level}.{what}{number}", like.shape, like.dtype)


def _zero(slot: Node) -> Operand:
    return build.nothing(slot.dtype, slot.shape)


def _level(node: Node) -> int:
    """More than the level of every slot in the scan, and of every slot that its parts will need.

    Slots of nested scans must differ in their names, those of scans side by side need not.
    """
    body = node.attribute
    assert isinstance(body, Scan)
    slots = (*body.carried, *body.sliced)
    names = [one.attribute.name for one in slots if isinstance(one.attribute, Named)]
    own = [int(found[1]) for name in names if (found := re.match(r"@back(\d+)\.", name))]
    inside = dependents(body.outputs, set(slots))
    return 1 + max([0, *own, *(_level(one) for one in inside if one.op == "scan")])
