"""Default placement: which values of a graph are stored, and which are recomputed where used.

Promises a sound choice, not the fastest one: a reduction is computed in place of its only use when
nothing would repeat it; a chain of element-by-element operations is recomputed while that is cheap;
values that only constants feed are never stored. The search makes these choices by measuring.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from photic.ir.dim import Dim, bounds, product
from photic.ir.graph import Node, Operand, topological
from photic.ir.ops import SOURCES

COSTLY = frozenset({"exp2", "log2", "sin", "sqrt", "recip"})
CHEAP_CHAIN = 2  # operations; a chain up to this long is recomputed for each of its users
FEW_REPEATS = 8  # uses of each element; up to so many recomputations cost less than a store


@dataclass(slots=True)
class _Use:
    """How a node is used: number of users, how often each element is read, by what."""

    users: int = 0
    repeats: float = 1.0
    inside_reduction: str = ""
    pinned: bool = False


@dataclass(slots=True)
class _Facts:
    """What is known of a node from its operands: only constants or indices below, its chain."""

    fixed: bool = True
    positional: bool = True
    chain: int = 0
    costly: bool = False
    reduces: bool = False


@dataclass(slots=True)
class Choice:
    """The stored nodes, in topological order."""

    stored: list[Node] = field(default_factory=list)


def choose_stored(roots: Iterable[Node], pinned: set[Node], leaves: set[Node]) -> list[Node]:
    """The nodes to store, operands first.

    ``pinned`` nodes are always stored (outputs, what a loop reads); ``leaves`` are already stored
    elsewhere and are not entered.
    """
    order = [node for node in topological(roots) if node not in leaves]
    below = _facts(order, leaves)
    uses: dict[Node, _Use] = {node: _Use() for node in order}
    for node in pinned & set(order):
        uses[node].pinned = True
    stored: set[Node] = set()
    for node in reversed(order):
        if _is_stored(node, uses[node], below[node]):
            stored.add(node)
        _pass_on(node, node in stored, uses)
    return [node for node in order if node in stored]


def _facts(order: list[Node], leaves: set[Node]) -> dict[Node, _Facts]:
    """Facts of each node as if nothing under it were stored, a reduction ending each chain."""
    known: dict[Node, _Facts] = {}
    for node in order:
        fact = _Facts()
        if node.op in ("input", "state"):
            fact.fixed = fact.positional = False
        elif node.op == "constant":
            fact.positional = node.shape == ()
        elif node.op in ("scan", "item"):
            fact.fixed = fact.positional = False
        elif node.op != "iota":
            _from_operands(node, fact, known, leaves)
        known[node] = fact
    return known


def _from_operands(node: Node, fact: _Facts, known: dict[Node, _Facts], leaves: set[Node]) -> None:
    for one in node.operands:
        if one.node in leaves:
            fact.fixed = fact.positional = False
            continue
        under = known[one.node]
        fact.fixed &= under.fixed
        fact.positional &= under.positional
        if one.node.op not in ("sum", "max"):
            fact.chain += under.chain
            fact.costly |= under.costly
    fact.chain += 1
    fact.costly |= node.op in COSTLY
    fact.reduces = node.op in ("sum", "max")


def _is_stored(node: Node, use: _Use, fact: _Facts) -> bool:
    if node.op in SOURCES or node.op in ("scan", "item"):
        return False
    if use.pinned:
        return True
    if fact.fixed and not fact.costly and not fact.reduces:
        return False
    if fact.reduces:
        again = use.inside_reduction not in ("", node.op)
        return use.users > 1 or use.repeats > 1 or again
    if fact.positional and not fact.costly:
        return False
    if use.users > 1:
        return fact.costly or fact.chain > CHEAP_CHAIN or use.repeats > FEW_REPEATS
    if use.repeats > 1:
        return fact.costly or (fact.chain >= CHEAP_CHAIN and use.repeats > FEW_REPEATS)
    return False


def _pass_on(node: Node, stored: bool, uses: dict[Node, _Use]) -> None:
    """Tell the operands of a node how it uses them."""
    own = uses[node]
    for one in node.operands:
        if one.node not in uses:
            continue
        use = uses[one.node]
        use.users += 1
        repeats = _repeats(one) * (1.0 if stored else own.repeats)
        use.repeats = max(use.repeats, repeats)
        use.pinned |= node.op == "scan"
        if node.op in ("sum", "max"):
            use.inside_reduction = node.op if _is_bare(one) else "other"
        elif not stored and own.inside_reduction:
            use.inside_reduction = "other"
        if not stored and own.users > 1:
            use.users += 1


def _is_bare(one: Operand) -> bool:
    return not one.view.bounds and len(one.view.shape) == len(one.node.shape)


def _repeats(one: Operand) -> float:
    """How many times the view shows each element, at the largest sizes."""
    shown, held = product(one.view.shape), product(one.node.shape)
    if shown == held:
        return 1.0
    return max(1.0, _largest(shown) / max(1, _largest(held)))


def _largest(value: Dim) -> int:
    return bounds(value)[1]
