"""Which values a gradient computes again instead of keeping them.

``remember`` notes that a value came out of a checkpointed function, and of what. A gradient then
reads copies of everything between, made of copies of the arguments: other nodes, with values of
their own, which need not be kept from the forward pass. What does not depend on the arguments is
not copied. Equal nodes are one, so a value computed once inside such a function and once outside
counts as inside; that changes no number, only what is computed twice.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from weakref import WeakKeyDictionary

from photic.autograd.facts import Facts
from photic.autograd.rewrite import replaced
from photic.ir.graph import Node, cast, dependents, operand

_arguments: WeakKeyDictionary[Node, frozenset[Node]] = WeakKeyDictionary()
_lock = threading.Lock()


def remember(outputs: Iterable[Node], arguments: Iterable[Node]) -> None:
    """The outputs are computed again from these arguments whenever a gradient needs a part."""
    made_of = frozenset(arguments)
    with _lock:
        for node in outputs:
            if node not in made_of:
                _arguments[node] = made_of


@dataclass(frozen=True, slots=True)
class Copies:
    """``again``: what a node is computed as again. ``originals``: what a copy is a copy of.

    Copies of arguments have an original, but the argument itself is not computed again.
    """

    again: dict[Node, Node]
    originals: dict[Node, Node]


def copies(order: Sequence[Node], facts: Facts) -> Copies:
    """The copies of nodes that are to be computed again; ``order`` has operands first.

    Of functions inside one another, the outer ones count.
    """
    found: dict[Node, Node] = {}
    originals: dict[Node, Node] = {}
    with _lock:
        regions = [(node, _arguments[node]) for node in order if node in _arguments]
    for node, arguments in reversed(regions):
        if node in found:
            continue
        inside = dependents([operand(node)], set(arguments))
        made = replaced([node], {one: cast(operand(one), one.dtype) for one in arguments})
        new = {one: made[one] for one in inside}
        originals |= {copy: one for one, copy in new.items()}
        found = {one: copy for one, copy in new.items() if one not in arguments} | found
    for copy, one in originals.items():
        facts.alike(copy, one)
    return Copies(found, originals)
