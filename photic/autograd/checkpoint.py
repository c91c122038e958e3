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


def copies(order: Sequence[Node], facts: Facts) -> dict[Node, Node]:
    """For nodes that are to be computed again, their copies; ``order`` has operands first.

    Of functions inside one another, the outer ones count.
    """
    found: dict[Node, Node] = {}
    with _lock:
        regions = [(node, _arguments[node]) for node in order if node in _arguments]
    for node, arguments in reversed(regions):
        if node in found:
            continue
        inside = dependents([operand(node)], set(arguments))
        table = {one: cast(operand(one), one.dtype) for one in arguments}
        made = replaced([node], table)
        found = {**{one: made[one] for one in inside if one in made}, **found}
    for node, copy in found.items():
        facts.alike(copy, node)
    return found
