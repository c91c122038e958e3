"""What is known of a graph's values before they are computed: their sign, and whether they blow up.

A value is at least 0 or more than 0 by how it is composed (squares, exponentials, sums with a
positive constant). It may *blow up* if an infinity or nan can come out of finite inputs: by a
reciprocal of what may be 0, a logarithm or a root of what may be negative, an infinite constant.
Inputs, states and large constants count as finite, and so do sums and maxima; overflow and
underflow are left aside. Facts are for leaving out guards: what is not known is guarded.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from enum import IntEnum

import numpy as np

from photic.autograd.build import through, value_of
from photic.ir.dim import bounds
from photic.ir.dtype import BOOL
from photic.ir.graph import SMALL_CONSTANT_BYTES, Along, Node, Operand, Payload, topological
from photic.ir.view import axis_variables, identity


class Sign(IntEnum):
    """What is known of every element of a value, nan aside."""

    ANY = 0
    NOT_NEGATIVE = 1
    EXPONENTIAL = 2  # 0 only where an exponent is -inf or too small
    POSITIVE = 3


@dataclass(slots=True)
class Facts:
    """Facts about nodes; nothing is known of others."""

    signs: dict[Node, Sign] = field(default_factory=dict)
    blows_up: set[Node] = field(default_factory=set)
    fixed: set[Node] = field(default_factory=set)

    def learn(self, roots: Iterable[Node]) -> None:
        """Find out about every node under the roots, bodies of scans aside."""
        for node in topological(roots, self.signs):
            self.signs[node] = _SIGNS.get(node.op, _any)(node, self)
            if _BLOWS_UP.get(node.op, _any_operand)(node, self):
                self.blows_up.add(node)
            is_source = node.op in ("input", "state")
            if is_stop(node) or (not is_source and all(map(self.is_fixed, node.operands))):
                self.fixed.add(node)

    def alike(self, copy: Node, node: Node) -> None:
        """What holds of a node holds of its copy."""
        self.signs[copy] = self.signs.get(node, Sign.ANY)
        if node in self.blows_up:
            self.blows_up.add(copy)
        if node in self.fixed:
            self.fixed.add(copy)

    def sign(self, x: Operand) -> Sign:
        """The sign of what is seen: outside the bounds of a view it is -0."""
        if x.node.op == "iota" and not x.view.bounds and bounds(x.view.index[0])[0] > 0:
            return Sign.POSITIVE
        found = self.signs.get(x.node, Sign.ANY)
        return min(found, Sign.NOT_NEGATIVE) if x.view.bounds else found

    def is_fixed(self, x: Operand) -> bool:
        """True for a value that depends on no input and no state, or has stopped to."""
        return x.node in self.fixed

    def may_blow_up(self, x: Operand) -> bool:
        """True if the value may be infinite or nan."""
        return x.node in self.blows_up


# --- signs ----------------------------------------------------------------------------------


def _any(node: Node, facts: Facts) -> Sign:
    return Sign.ANY


def _constant_sign(node: Node, facts: Facts) -> Sign:
    array = _small(node)
    if array is None or not array.size:
        return Sign.ANY
    least = float(array.min())
    return Sign.POSITIVE if least > 0 else Sign.NOT_NEGATIVE if least == 0 else Sign.ANY


def _small(node: Node) -> np.ndarray[tuple[int, ...], np.dtype[np.generic]] | None:
    """A constant's elements, unless they are many."""
    if not isinstance(node.attribute, Payload):
        return None
    array = node.attribute.array
    return array if array.nbytes <= SMALL_CONSTANT_BYTES else None


def _operand_sign(node: Node, facts: Facts) -> Sign:
    return facts.sign(node.operands[0])


def _root_sign(node: Node, facts: Facts) -> Sign:
    return max(Sign.NOT_NEGATIVE, facts.sign(node.operands[0]))


def _product_sign(node: Node, facts: Facts) -> Sign:
    left, right = node.operands
    if left.dtype == BOOL:
        return min(Sign.NOT_NEGATIVE, facts.sign(right))
    lower = min(facts.sign(left), facts.sign(right))
    return Sign.NOT_NEGATIVE if left == right and lower == Sign.ANY else lower


def _sum_sign(node: Node, facts: Facts) -> Sign:
    selected = selection(node)
    if selected is not None:
        return min(map(facts.sign, selected))
    signs = [facts.sign(one) for one in node.operands]
    return Sign.ANY if Sign.ANY in signs else max(signs)


def _cast_sign(node: Node, facts: Facts) -> Sign:
    source = node.operands[0]
    known = facts.sign(source)
    return known if source.dtype.signed else max(known, Sign.NOT_NEGATIVE)


_SIGNS: dict[str, Callable[[Node, Facts], Sign]] = {
    "constant": _constant_sign,
    "iota": lambda node, facts: Sign.NOT_NEGATIVE,
    "exp2": lambda node, facts: Sign.EXPONENTIAL,
    "sqrt": _root_sign,
    "recip": _operand_sign,
    "mul": _product_sign,
    "add": _sum_sign,
    "sum": _operand_sign,
    "max": _operand_sign,
    "contiguous": _cast_sign,
}


# --- what blows up --------------------------------------------------------------------------


def _any_operand(node: Node, facts: Facts) -> bool:
    return any(map(facts.may_blow_up, node.operands))


def _never(node: Node, facts: Facts) -> bool:
    return False


def _infinite(node: Node, facts: Facts) -> bool:
    array = _small(node)
    return array is not None and not bool(np.isfinite(array).all())


def _unless(sign: Sign) -> Callable[[Node, Facts], bool]:
    return lambda node, facts: facts.sign(node.operands[0]) < sign or _any_operand(node, facts)


def _quotient(node: Node, facts: Facts) -> bool:
    return not value_of(node.operands[1]) or _any_operand(node, facts)


_BLOWS_UP: dict[str, Callable[[Node, Facts], bool]] = {
    "constant": _infinite,
    "sum": _never,
    "max": _never,
    "scan": _never,
    "item": _never,
    "less_than": _never,
    "recip": _unless(Sign.EXPONENTIAL),
    "log2": _unless(Sign.EXPONENTIAL),
    "sqrt": _unless(Sign.NOT_NEGATIVE),
    "mod": _quotient,
}


# --- forms ----------------------------------------------------------------------------------


def is_stop(node: Node) -> bool:
    """True for a copy of a copy in one dtype: ``stop_gradient`` writes it, nothing else does."""
    if node.op != "contiguous":
        return False
    below = node.operands[0].node
    is_copy = below.op == "contiguous" and below.operands[0].dtype == below.dtype
    return is_copy and below.dtype == node.dtype


def selection(node: Node) -> tuple[Operand, Operand] | None:
    """The two values of ``c*a + (not c)*b``; None for any other node."""
    if node.op != "add":
        return None
    masks, values = [], []
    for one in node.operands:
        if one.view != identity(one.node.shape) or one.node.op != "mul":
            return None
        mask, value = one.node.operands
        masks.append(mask)
        values.append(value)
    first, second = masks
    is_opposite = first.dtype == BOOL and (_opposes(first, second) or _opposes(second, first))
    return (values[0], values[1]) if is_opposite else None


def _opposes(mask: Operand, other: Operand) -> bool:
    """True if the other mask is ``mask < true``."""
    if other.node.op != "less_than":
        return False
    left, right = other.node.operands
    return value_of(right) == 1 and through(left, other.view) == mask


def is_below_own_max(x: Operand) -> bool:
    """True for ``c*(v - max of v)`` with a positive c: it is never above 0."""
    node = x.node
    if node.op == "mul" and (value_of(node.operands[1]) or 0) > 0:
        node = node.operands[0].node
    if node.op != "add" or node.operands[1].node.op != "mul":
        return False
    value, minus = node.operands
    top, factor = minus.node.operands
    return value_of(factor) == -1 and _is_max_of(_unstopped(through(top, minus.view)), value)


def _unstopped(x: Operand) -> Operand:
    """The value that a ``stop_gradient`` is of."""
    while is_stop(x.node):
        (copy,) = x.node.operands
        (value,) = copy.node.operands
        x = through(through(value, copy.view), x.view)
    return x


def _is_max_of(top: Operand, value: Operand) -> bool:
    """True if ``top`` is the maximum of ``value`` over axes along which it is then repeated."""
    axes = list(range(len(value.shape)))
    chain: list[int] = []
    node = top.node
    while isinstance(node.attribute, Along) and node.op == "max":
        chain.append(node.attribute.axis)
        (below,) = node.operands
        if below.view != identity(below.node.shape) and below != value:
            return False
        if below == value:
            for axis in reversed(chain):
                del axes[axis]
            places = axis_variables(value.shape)
            return top.view.index == tuple(places[axis] for axis in axes)
        node = below.node
    return False
