"""Default placement: which values of a graph are stored, and which are recomputed where used.

Promises a sound choice, not the fastest one: a reduction is computed in place of its only use when
nothing would repeat it; a chain of element-by-element operations is recomputed while that is cheap;
values that only constants feed are never stored; a chain is cut before it is too long to walk. The
search makes these choices by measuring.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

from photic.ir.dim import Atom, Dim, Var, bounds, product, substitute, var
from photic.ir.graph import Along, Node, Operand, topological
from photic.ir.ops import SOURCES

COSTLY = frozenset({"exp2", "log2", "sin", "sqrt", "recip"})
FEW_REPEATS = 8  # uses of each element; up to so many recomputations cost less than a store
MANY_PLACES = 16  # ways to read a node; more are not told apart
LONG_CHAIN = 192  # nodes, one on another; the next that is not larger than its parts is stored
LONGEST_CHAIN = 320  # nodes after which any is stored

Place = tuple[Node, tuple[Dim, ...]]


@dataclass(slots=True)
class _Use:
    """Where a node is computed if it is not stored: by which stored node, at which index.

    Two users that read it at the same index of the same stored node share one computation.
    ``extents`` are the loops of each such place.
    """

    places: dict[Place, tuple[Dim, ...]] = field(default_factory=dict)
    inside_reduction: str = ""
    pinned: bool = False


@dataclass(slots=True)
class _Facts:
    """What is known of a node: what it is made of, its length as a chain, its loads."""

    fixed: bool = True
    positional: bool = True
    chain: int = 0
    costly: bool = False
    leaves: frozenset[Node] = frozenset()


def choose_stored(roots: Sequence[Node], pinned: set[Node], leaves: set[Node]) -> list[Node]:
    """The nodes to store, operands first.

    Each root is computed where it is named; ``pinned`` nodes are always stored (outputs, what a
    loop reads); ``leaves`` are already stored elsewhere and are not entered.
    """
    order = list(topological(roots, leaves))
    cut: set[Node] = set()
    while True:
        stored = _decided(roots, order, pinned | cut, _facts(order, leaves | cut))
        more = _cuts(order, stored)
        if not more:
            return [node for node in order if node in stored]
        cut |= more


def _decided(
    roots: Sequence[Node], order: list[Node], pinned: set[Node], below: dict[Node, _Facts]
) -> set[Node]:
    uses: dict[Node, _Use] = {node: _Use(pinned=node in pinned) for node in order}
    for number, root in enumerate(roots):
        if root in uses:
            uses[root].places[root, (number,)] = root.shape
    stored: set[Node] = set()
    for node in reversed(order):
        if _is_stored(node, uses[node], below[node]):
            stored.add(node)
        _pass_on(node, node in stored, uses)
    return stored


def _cuts(order: list[Node], stored: set[Node]) -> set[Node]:
    """Nodes to store so that none is computed from a chain that is too long."""
    length: dict[Node, int] = {}
    found: set[Node] = set()
    for node in order:
        parts = [one.node for one in node.operands]
        length[node] = 1 + max((length[one] for one in parts if one in length), default=0)
        if node.op in (*SOURCES, "scan", "item") or node in stored:
            length[node] = 0
        elif length[node] > LONG_CHAIN:
            largest = max(bounds(product(one.shape))[1] for one in parts)
            if length[node] > LONGEST_CHAIN or bounds(product(node.shape))[1] <= largest:
                found.add(node)
                length[node] = 0
    return found


def _facts(order: list[Node], leaves: set[Node]) -> dict[Node, _Facts]:
    known: dict[Node, _Facts] = {}
    for node in order:
        fact = _Facts()
        if node.op == "constant":
            fact.positional = node.shape == ()
        elif node.op in (*SOURCES, "scan", "item") and node.op != "iota":
            fact = _Facts(False, False, 0, False, frozenset({node}))
        elif node.op != "iota":
            for one in node.operands:
                _add_operand(fact, one.node, known, leaves)
            fact.chain += 1
            fact.costly |= node.op in COSTLY
        known[node] = fact
    return known


def _add_operand(fact: _Facts, node: Node, known: dict[Node, _Facts], leaves: set[Node]) -> None:
    constant = node.op == "constant"
    if node in leaves or node.op in ("sum", "max"):
        under = _Facts(constant, False, 0, False, frozenset() if constant else frozenset({node}))
        if node in known:
            under.fixed = known[node].fixed
    else:
        under = known[node]
    fact.fixed &= under.fixed
    fact.positional &= under.positional
    fact.chain += under.chain
    fact.costly |= under.costly
    fact.leaves |= under.leaves


def _is_stored(node: Node, use: _Use, fact: _Facts) -> bool:
    if node.op in (*SOURCES, "scan", "item"):
        return False
    if use.pinned:
        return True
    places, repeats = len(use.places), _repeats(node, use)
    if node.op in ("sum", "max"):
        again = use.inside_reduction not in ("", node.op)
        return places > 1 or repeats > 1 or again
    if (fact.fixed or fact.positional) and not fact.costly:
        return False
    if places > 1 and (fact.costly or len(fact.leaves) > 1):
        return True
    if fact.costly:
        return repeats > 1
    return fact.chain > 1 and repeats > FEW_REPEATS


def _repeats(node: Node, use: _Use) -> float:
    """How often each element is computed if it is not stored, at the largest sizes."""
    if len(use.places) == MANY_PLACES:
        return math.inf
    held = product(node.shape)
    total = 0.0
    for extents in use.places.values():
        shown = product(extents)
        total += 1.0 if shown == held else bounds(shown)[1] / max(1, bounds(held)[1])
    return total


def _pass_on(node: Node, stored: bool, uses: dict[Node, _Use]) -> None:
    """Tell the operands of a node where they are computed."""
    own = uses[node]
    here: dict[Place, tuple[Dim, ...]] = own.places
    if stored:
        index = tuple(var(f"i{k}", n) for k, n in enumerate(node.shape))
        here = {(node, index): node.shape}
    for one in node.operands:
        if one.node not in uses:
            continue
        use = uses[one.node]
        if node.op in ("scan", "item"):
            use.pinned = True
            continue
        for (sink, index), extents in here.items():
            if isinstance(node.attribute, Along):
                axis = node.attribute.axis
                bound = var(f"k{node.serial}", one.shape[axis])
                index = (*index[:axis], bound, *index[axis:])
                extents = (*extents, one.shape[axis])
            if len(use.places) < MANY_PLACES:
                use.places[sink, _through(one, index)] = extents
        if node.op in ("sum", "max"):
            bare = not one.view.bounds and len(one.view.shape) == len(one.node.shape)
            use.inside_reduction = node.op if bare else "other"
        elif not stored and own.inside_reduction:
            use.inside_reduction = "other"


def _through(one: Operand, index: tuple[Dim, ...]) -> tuple[Dim, ...]:
    """The index of the operand's node where its view is read at ``index``."""
    table: dict[Atom, Dim] = {
        Var(f"i{axis}", extent): index[axis] for axis, extent in enumerate(one.shape) if extent != 1
    }
    return tuple(substitute(at, table) for at in one.view.index)
