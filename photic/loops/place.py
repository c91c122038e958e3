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

from photic.forms.rounding import is_wider
from photic.ir.dim import Atom, Dim, Var, bounds, product, substitute, var
from photic.ir.dtype import BOOL
from photic.ir.graph import Along, Node, Operand, topological
from photic.ir.ops import COSTLY, REGIONS, SOURCES
from photic.ir.view import Shape, identity

GIVEN = (*SOURCES, *REGIONS)  # ops that no kernel computes element by element
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


@dataclass(frozen=True, slots=True)
class _Facts:
    """What is known of a node: what it is made of, its length as a chain, its loads.

    ``pins``: a condition on a place, by which a reduction may become a lookup or a scatter.
    """

    fixed: bool
    positional: bool
    pins: bool
    chain: int
    costly: bool
    leaves: frozenset[Node]


def choose_stored(roots: Sequence[Node], pinned: set[Node], leaves: set[Node]) -> list[Node]:
    """The nodes to store, operands first.

    Each root is computed where it is named; ``pinned`` nodes are always stored (outputs, what a
    loop reads); ``leaves`` are already stored elsewhere and are not entered.
    """
    order = list(topological(roots, leaves))
    pinned = pinned | {one.node for node in order if node.op in REGIONS for one in node.operands}
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
    uses = {node: _Use() for node in order}
    for number, root in enumerate(roots):
        if root in uses:
            points = (var(f"root{number}.{axis}", n) for axis, n in enumerate(root.shape))
            uses[root].places[root, tuple(points)] = root.shape
    stored: set[Node] = set()
    for node in reversed(order):
        if node.op not in GIVEN and (node in pinned or _is_worth(node, below[node], uses)):
            stored.add(node)
        if node.op not in REGIONS:
            _pass_on(node, node in stored, uses)
    return stored


def _cuts(order: list[Node], stored: set[Node]) -> set[Node]:
    """Nodes to store so that none is computed from a chain that is too long."""
    length: dict[Node, int] = {}
    found: set[Node] = set()
    for node in order:
        parts = [one.node for one in node.operands]
        length[node] = 1 + max((length.get(one, 0) for one in parts), default=0)
        if node.op in GIVEN or node in stored:
            length[node] = 0
        elif length[node] > LONG_CHAIN:
            largest = max(_most(one.shape) for one in parts)
            if length[node] > LONGEST_CHAIN or _most(node.shape) <= largest:
                found.add(node)
                length[node] = 0
    return found


def _most(shape: Shape) -> int:
    """Elements at the largest sizes."""
    return bounds(product(shape))[1]


def _facts(order: list[Node], leaves: set[Node]) -> dict[Node, _Facts]:
    known: dict[Node, _Facts] = {}
    for node in order:
        if node.op in ("input", "state", *REGIONS):
            known[node] = _loaded(node, False)
            continue
        parts = [_seen(one.node, known, leaves) for one in node.operands]
        is_array = node.op == "constant" and node.shape != ()
        known[node] = _Facts(
            fixed=all(one.fixed for one in parts),
            positional=not is_array and all(one.positional for one in parts),
            pins=node.dtype == BOOL and any(map(_pins, node.operands, parts)),
            chain=sum(one.chain for one in parts) + (node.op not in GIVEN),
            costly=node.op in COSTLY or any(one.costly for one in parts),
            leaves=frozenset().union(*(one.leaves for one in parts)),
        )
    return known


def _seen(node: Node, known: dict[Node, _Facts], leaves: set[Node]) -> _Facts:
    """The facts of an operand; one that is stored, or a reduction, is loaded."""
    if node in leaves or isinstance(node.attribute, Along):
        return _loaded(node, known[node].fixed if node in known else node.op == "constant")
    return known[node]


def _pins(value: Operand, facts: _Facts) -> bool:
    return facts.pins or (facts.positional and value.node.shape != ())


def _loaded(node: Node, fixed: bool) -> _Facts:
    leaves = frozenset({node}) if node.op != "constant" else frozenset[Node]()
    return _Facts(fixed, False, False, 0, False, leaves)


def _is_worth(node: Node, fact: _Facts, uses: dict[Node, _Use]) -> bool:
    """True if a node is stored though nothing else asks for it."""
    places, repeats = len(uses[node].places), _repeats(node, uses[node])
    if isinstance(node.attribute, Along):
        is_alone = node.dtype.kind == "int" or uses[node].inside_reduction in ("", node.op)
        return max(places, repeats) > 1 or not is_alone
    parts = [one.node for one in node.operands if one.node.shape == node.shape]
    sums = sum(isinstance(one.attribute, Along) for one in parts)
    if uses[node].inside_reduction and sums > 1 and node.dtype.kind == "float":
        return True  # rather than each of the reductions
    source = node.operands[0].dtype if node.op == "contiguous" else node.dtype
    # what widens a half takes more memory than the half
    is_wide = is_wider(source, node.dtype) or (source.is_half and node.dtype.bytes > 2)
    if is_wide or ((fact.fixed or fact.positional or fact.pins) and not fact.costly):
        return False
    is_costly = fact.costly or _is_instead(node, fact, uses)
    if places > 1 and (is_costly or len(fact.leaves) > 1):
        return True
    is_long = fact.chain > 1 or node.dtype.is_half
    return repeats > 1 if is_costly else is_long and repeats > FEW_REPEATS


def _is_instead(node: Node, fact: _Facts, uses: dict[Node, _Use]) -> bool:
    """True if a reduction that nothing later reads need not be stored where this value is."""
    (only, *others) = fact.leaves or (node,)
    is_free = isinstance(only.attribute, Along) and only in uses and not uses[only].places
    is_alike = node.shape == only.shape and node.dtype.bytes <= only.dtype.bytes
    return not others and is_free and is_alike


def _repeats(node: Node, use: _Use) -> float:
    """How often each element is computed if it is not stored, at the largest sizes."""
    if len(use.places) == MANY_PLACES:
        return math.inf
    held = product(node.shape)
    shown = [product(extents) for extents in use.places.values()]
    return sum(1.0 if one == held else bounds(one)[1] / max(1, bounds(held)[1]) for one in shown)


def _pass_on(node: Node, stored: bool, uses: dict[Node, _Use]) -> None:
    """Tell the operands of a node where they are computed."""
    own = uses[node]
    here = {(node, identity(node.shape).index): node.shape} if stored else own.places
    for one in (each for each in node.operands if each.node in uses):
        use = uses[one.node]
        for (sink, index), extents in here.items():
            if isinstance(node.attribute, Along):
                axis = node.attribute.axis
                bound = var(f"k{node.serial}", one.shape[axis])
                index = (*index[:axis], bound, *index[axis:])
                extents = (*extents, one.shape[axis])
            if len(use.places) < MANY_PLACES:
                table = view_table(one, index)
                source = tuple(substitute(at, table) for at in one.view.index)
                use.places[sink, source] = extents
        if isinstance(node.attribute, Along):
            bare = not one.view.bounds and len(one.view.shape) == len(one.node.shape)
            use.inside_reduction = node.op if bare else "other"
        elif not stored and own.inside_reduction:
            use.inside_reduction = "other"


def view_table(one: Operand, index: Sequence[Dim]) -> dict[Atom, Dim]:
    """The variables of a view's axes where it is read at ``index``."""
    axes = enumerate(one.shape)
    return {Var(f"i{axis}", extent): index[axis] for axis, extent in axes if extent != 1}
