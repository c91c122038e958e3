"""Values with zeros around them: a gradient goes past such a copy, and reads its inner part.

A convolution pads what it is given, so its reads of the copy are reads of the value within bounds.
A gradient on its way back is brought to the value at once: it is not computed around it. The
gradient of the weights needs the copy; what else of a backward pass reads the value itself (the
mask of a relu, a second convolution) then reads the inner part of the copy, so that the value need
not be kept beside it. A copy of an input is made again, since the input is there at any time. No
number changes but by the order of sums.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

from photic.autograd import build
from photic.autograd.rewrite import replaced
from photic.autograd.solve import solve
from photic.ir.graph import Node, Operand, cast, operand, topological, with_operands
from photic.ir.ops import SOURCES

Paddings = Mapping[Node, Operand]


def paddings(order: Iterable[Node]) -> dict[Node, Operand]:
    """For each sum of a value seen within bounds and zeros: the value, as it is seen."""
    found: dict[Node, Operand] = {}
    for node in order:
        if node.op == "add":
            for one, around in (node.operands, node.operands[::-1]):
                if one.view.bounds and _is_zeros(around):
                    found[node] = one
    return found


def _is_zeros(x: Operand) -> bool:
    """True for a mask times 0."""
    return x.node.op == "mul" and build.value_of(x.node.operands[1]) == 0


def past(one: Operand, known: Paddings) -> Operand:
    """What a view of a padded copy reads of the value, if it can be transposed."""
    if one.node in known:
        value = build.through(known[one.node], one.view)
        if solve(value.view, value.node.shape) is not None:
            return value
    return one


def off_copies(
    values: Mapping[Node, Operand], forward: Collection[Node], known: Paddings
) -> dict[Node, Operand]:
    """The same values; what is above the ``forward`` nodes reads padded copies where it can.

    Above a loop nothing changes, since its body reads values outside of it by name.
    """
    above = list(topological([one.node for one in values.values()], forward))
    copies = _copies(known, {one.node for node in above for one in node.operands})
    if not copies:
        return dict(values)
    still = set(topological([node for node in above if node.op == "scan"], forward))
    done: dict[Node, Node] = {}

    def moved(one: Operand) -> Operand:
        if one.node in copies:
            return build.through(copies[one.node], one.view)
        return Operand(done.get(one.node, one.node), one.view)

    for node in above:
        if node not in still:
            done[node] = with_operands(node, tuple(map(moved, node.operands)), node.attribute)
    return {key: Operand(done.get(one.node, one.node), one.view) for key, one in values.items()}


def _copies(known: Paddings, read: Collection[Node]) -> dict[Node, Operand]:
    """What to read instead of values and copies that are ``read``."""
    found: dict[Node, Operand] = {}
    for copy, one in known.items():
        if copy in read and one.node.op in SOURCES:
            again = cast(operand(one.node), one.dtype)
            found[copy] = operand(replaced([copy], {one.node: again})[copy])
        elif copy in read and one.node in read and one.node not in found:
            inner = _inner(copy, one)
            if inner is not None:
                found[one.node] = inner
    return found


def _inner(copy: Node, one: Operand) -> Operand | None:
    """The whole of a value as its copy shows it; None if not all of it is there."""
    found = solve(one.view, one.node.shape)
    if found is None or len(found.shape) != len(one.node.shape):
        return None
    inner = build.seen(operand(copy), found.shape, found.index, found.bounds)
    return None if inner.view.bounds else inner
