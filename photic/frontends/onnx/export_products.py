"""Sums that have a shorter form in an ONNX file than all their terms: what is written, how.

A sum of products of two values that repeat along axes of each other is one Einsum; a sum against
``place == index``, which is one term, is a lookup; two terms masked by opposites are a choice. They
are told by what a sum is made of, and stand for it exactly but for the order of additions.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from photic.frontends.onnx.export_ops import is_true
from photic.ir.dim import Dim, Var, bounds, variables
from photic.ir.dtype import BOOL, FLOAT32, FLOAT64, INT32, INT64
from photic.ir.graph import Along, Node, Operand, all_nodes
from photic.ir.view import View, axis_variable, composed, is_identity

MULTIPLIED = (FLOAT32, FLOAT64, INT32, INT64)  # halves round each product, so they are not one sum


@dataclass(frozen=True, slots=True)
class Contraction:
    """The sum of ``left * right``; ``kept`` are the axes of the product that stay, in order."""

    left: Operand
    right: Operand
    kept: tuple[int, ...]

    @property
    def operands(self) -> tuple[Operand, ...]:
        """What it reads."""
        return self.left, self.right


@dataclass(frozen=True, slots=True)
class Lookup:
    """``table`` where its axis ``axis`` is ``index``; both have the axes of the masked product."""

    table: Operand
    index: Operand
    axis: int

    @property
    def operands(self) -> tuple[Operand, ...]:
        """What it reads."""
        return self.table, self.index


@dataclass(frozen=True, slots=True)
class Choice:
    """``yes`` where the mask is true, ``no`` elsewhere."""

    mask: Operand
    yes: Operand
    no: Operand

    @property
    def operands(self) -> tuple[Operand, ...]:
        """What it reads."""
        return self.mask, self.yes, self.no


Short: TypeAlias = Contraction | Lookup | Choice


def shorter(roots: Iterable[Node], results: Iterable[Node]) -> dict[Node, Short]:
    """The sums under the roots, those in bodies too, that have a shorter form.

    ``results`` are nodes that are needed as they are.
    """
    users: dict[Node, list[Node]] = {}
    nodes = list(all_nodes(roots))
    wanted = Counter(results)
    for node in nodes:
        for one in node.operands:
            users.setdefault(one.node, []).append(node)
        for one in getattr(node.attribute, "outputs", ()):
            wanted[one.node] += 1
    found: dict[Node, Short] = {}
    for node in nodes:
        choice = _choice(node)
        if choice is not None:
            found[node] = choice
        if node.op != "sum":
            continue
        lookup = _lookup(node)
        if lookup is not None:
            found[node] = lookup
        elif _is_product(node.operands[0].node):
            made = _top(node, users, wanted)
            if made is not None:
                left, right = node.operands[0].node.operands
                found[made[0]] = Contraction(left, right, made[1])
    return found


# --- products -------------------------------------------------------------------------------


def _is_product(node: Node) -> bool:
    """True if it has more elements than one of its factors, and no axis that both repeat along."""
    if node.op != "mul" or node.operands[0].dtype != node.operands[1].dtype:
        return False
    if node.dtype not in MULTIPLIED or 0 in node.shape:
        return False
    long = {k for k, extent in enumerate(node.shape) if extent != 1}
    left, right = (read_axes(one.view) for one in node.operands)
    return bool(left and right) and left | right == long and (left != long or right != long)


def read_axes(view: View) -> set[int]:
    """The axes that a view does not repeat along."""
    read = [*view.index, *(one.value for one in view.bounds)]
    return {int(one.name[1:]) for place in read for one in variables(place)}


def _top(
    node: Node, users: Mapping[Node, Sequence[Node]], wanted: Counter[Node]
) -> tuple[Node, tuple[int, ...]] | None:
    """The last of the sums over a product that nothing else reads; the axes that it leaves.

    None if the first one sums something else than the product with its axes reordered.
    """
    top, kept = None, tuple(range(len(node.operands[0].node.shape)))
    while True:
        order = _order(node.operands[0])
        if order is None:
            return None if top is None else (top, kept)
        assert isinstance(node.attribute, Along)
        seen = [kept[k] if k >= 0 else k for k in order]
        top, kept = node, tuple(one for k, one in enumerate(seen) if k != node.attribute.axis)
        after = users.get(node, ())
        if wanted[node] or len(after) != 1 or after[0].op != "sum":
            return top, kept
        node = after[0]


def _order(value: Operand) -> list[int] | None:
    """The axes of the source in the order of the view's, if it only reorders them.

    Axes of extent 1 come and go; they are numbered -1.
    """
    shape = value.shape
    places = {axis_variable(k, n): k for k, n in enumerate(shape) if n != 1}
    long = {k: place for k, place in enumerate(value.view.index) if value.node.shape[k] != 1}
    if value.view.bounds or set(long.values()) != set(places) or len(long) != len(places):
        return None
    found = {places[place]: k for k, place in long.items()}
    return [found.get(k, -1) for k in range(len(shape))]


# --- choices --------------------------------------------------------------------------------


def _choice(node: Node) -> Choice | None:
    """The choice that ``c*a + (not c)*b`` is; exact, for each mask gives the identity of add."""
    if node.op != "add":
        return None
    masks: list[Operand] = []
    values: list[Operand] = []
    for one in node.operands:
        if one.node.op != "mul" or one.node.operands[0].dtype != BOOL or one.view.bounds:
            return None
        mask, value = (_under(inner, one.view) for inner in one.node.operands)
        masks.append(mask)
        values.append(value)
    if masks[1].node.op == "less_than" and _opposite(masks[1]) == masks[0]:
        return Choice(masks[0], values[0], values[1])
    if masks[0].node.op == "less_than" and _opposite(masks[0]) == masks[1]:
        return Choice(masks[1], values[1], values[0])
    return None


# --- lookups --------------------------------------------------------------------------------


def _lookup(node: Node) -> Lookup | None:
    """The lookup that a sum is: of ``(place == index) * table`` over the place."""
    masked = node.operands[0].node
    if masked.op != "mul" or masked.operands[0].dtype != BOOL or masked.dtype == BOOL:
        return None
    if not is_identity(node.operands[0].view, masked.shape):
        return None
    assert isinstance(node.attribute, Along)
    axis = node.attribute.axis
    if bounds(masked.shape[axis])[0] < 1 or 0 in masked.shape:
        return None
    mask, table = masked.operands
    index = _index(mask, axis, masked.shape[axis])
    if index is None or axis not in read_axes(table.view):
        return None
    return Lookup(table, index, axis)


def _index(mask: Operand, axis: int, extent: Dim) -> Operand | None:
    """``index`` if the mask is ``not (place < index) and not (index < place)``."""
    if mask.node.op != "mul" or mask.node.dtype != BOOL or mask.view.bounds:
        return None
    sides = [_opposite(_under(one, mask.view)) for one in mask.node.operands]
    if any(one is None or one.node.op != "less_than" for one in sides):
        return None
    (a, b), (c, d) = (
        [_under(x, one.view) for x in one.node.operands] for one in sides if one is not None
    )
    if (a, b) != (d, c):
        return None
    for place, index in ((a, b), (b, a)):
        is_free = axis not in read_axes(index.view)
        if _is_place(place, Var(f"i{axis}", extent)) and is_free and index.dtype.kind == "int":
            return index
    return None


def _under(operand: Operand, view: View) -> Operand:
    """An operand of a node as it shows in a view of that node."""
    return Operand(operand.node, composed(operand.view, view.shape, view.index, view.bounds))


def _opposite(value: Operand) -> Operand | None:
    """``x`` if the value is ``x < true``."""
    node = value.node
    if node.op != "less_than" or not is_true(node.operands[1]) or value.view.bounds:
        return None
    return _under(node.operands[0], value.view)


def _is_place(value: Operand, axis: Var) -> bool:
    """True for the numbers of the axis, perhaps cast to another integer."""
    while value.node.op == "contiguous" and value.dtype.kind == "int" and not value.view.bounds:
        value = _under(value.node.operands[0], value.view)
    if value.node.op != "iota" or value.view.bounds:
        return False
    return value.view.index == (axis_variable(int(axis.name[1:]), axis.extent),)
