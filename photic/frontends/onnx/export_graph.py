"""A graph's nodes as nodes of an ONNX file, each value under a name; scans as Scan or Loop.

Values are written once, in the block where they are needed; what bodies read from outside stands
outside. A value that an element-by-element operator repeats is not laid out before it.
"""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Iterable, Mapping, MutableMapping, Sequence
from dataclasses import dataclass

import numpy as np
import onnx
from onnx import helper

from photic.frontends.onnx import export_views as views
from photic.frontends.onnx.export_ops import cast, computed_in, element_by_element, reduction
from photic.frontends.onnx.export_products import Choice, Contraction, Lookup, Short, read_axes
from photic.frontends.onnx.export_sizes import Sizes
from photic.frontends.onnx.export_views import Moving, Seen
from photic.frontends.onnx.export_writer import Setting, Sheet, port
from photic.ir.dim import Dim, Var, at_most
from photic.ir.dtype import BOOL, INT64, DType
from photic.ir.graph import (
    Along,
    Item,
    Node,
    Operand,
    Payload,
    Scan,
)
from photic.ir.view import is_identity
from photic.ir.walk import parts_first

LETTERS = "abcdefghijklmnopqrstuvwxyz"

Names = MutableMapping[Node, tuple[str, ...]]


@dataclass(frozen=True, slots=True)
class Translation:
    """One block of a file: where it is written, what is known there, which sums are short."""

    sheet: Sheet
    sizes: Sizes
    names: Names
    short: Mapping[Node, Short]

    def moving(self, dtype: DType) -> Moving:
        return Moving(self.sheet, self.sizes, dtype)

    def inside(self) -> Translation:
        """A block within this one, which sees all names here."""
        names: Names = ChainMap({}, self.names)
        return Translation(self.sheet.inside(), self.sizes, names, self.short)

    # --- operands ---------------------------------------------------------------------------

    def compact(self, one: Operand) -> Seen:
        """An operand with the axes that it depends on, those of extent 1 left out."""
        moving = self.moving(one.dtype)
        if not is_index(one):
            return views.compact(moving, self.name(one), one.node.shape, one.view)
        axes = tuple(sorted(read_axes(one.view)))
        read = [Var(f"i{axis}", one.shape[axis]) for axis in axes]
        numbers = self.sizes.number(one.view.index[0], read).name
        return Seen(numbers if axes else moving.reshaped(numbers, ()), axes)

    def narrow(self, one: Operand) -> tuple[str, tuple[Dim, ...]]:
        """An operand with extent 1 where it repeats, and its shape; such axes are not in front."""
        if is_identity(one.view, one.node.shape) and not is_index(one):
            return self.name(one), one.shape
        return views.spread(self.moving(one.dtype), self.compact(one), one.shape)

    def full(self, one: Operand) -> str:
        """An operand as it is seen."""
        name, found = self.narrow(one)
        return name if found == one.shape else self.moving(one.dtype).expanded(name, one.shape)

    def name(self, one: Operand) -> str:
        (name,) = self.names[one.node]
        return name

    # --- nodes ------------------------------------------------------------------------------

    def write(self, roots: Iterable[Node]) -> None:
        """All that is needed for these nodes and not known yet."""
        for node in parts_first(roots, self.parts, self.names):
            self.names[node] = self.written(node)

    def give(self, results: Sequence[Operand], names: Sequence[str]) -> None:
        """The block's outputs; it is complete then."""
        self.write(one.node for one in results if not is_index(one))
        self.sheet.give([self.full(one) for one in results], names)

    def parts(self, node: Node) -> list[Node]:
        """The nodes that a node is written with."""
        short = self.short.get(node)
        operands = node.operands if short is None else short.operands
        return [one.node for one in reversed(operands) if not is_index(one)]

    def written(self, node: Node) -> tuple[str, ...]:
        """The names of a node's results."""
        short = self.short.get(node)
        match node.attribute:
            case _ if isinstance(short, Contraction):
                return (self.contraction(node, short),)
            case _ if isinstance(short, Lookup):
                return (self.lookup(node, short),)
            case _ if isinstance(short, Choice):
                return (self.choice(node, short),)
            case Payload():
                return (self.sheet.writer.held(node.attribute),)
            case Item(number=number):
                return (self.names[node.operands[0].node][number],)
            case Along(axis=axis):
                return (reduction(self.sheet, node, self.full(node.operands[0]), axis),)
            case Scan():
                return scanned(self, node, node.attribute)
        if node.op == "iota":  # in a view with bounds
            return (self.sizes.counted(node.shape[0]).name,)
        seen = [self.narrow(one) for one in node.operands]
        made = element_by_element(self.sheet, node, [name for name, _ in seen])
        return (self.laid_out(made, _together([shape for _, shape in seen]), node),)

    def laid_out(self, value: str, found: Sequence[Dim], node: Node) -> str:
        """A result in the node's shape, along whose axes it may still repeat."""
        is_whole = tuple(found) == node.shape
        return value if is_whole else self.moving(node.dtype).expanded(value, node.shape)

    # --- sums -------------------------------------------------------------------------------

    def contraction(self, node: Node, one: Contraction) -> str:
        """A sum of products."""
        left, right = self.compact(one.left), self.compact(one.right)
        terms = ["".join(LETTERS[k] for k in seen.axes) for seen in (left, right)]
        kept = [k for k in one.kept if k in {*left.axes, *right.axes}]
        equation = f"{terms[0]},{terms[1]}->{''.join(LETTERS[k] for k in kept)}"
        made = self.sheet.node("Einsum", left.name, right.name, equation=equation)
        is_whole = len(kept) == len(node.shape)
        return made if is_whole else self.moving(node.dtype).reshaped(made, node.shape)

    def choice(self, node: Node, one: Choice) -> str:
        """One value or the other."""
        mask, yes, no = (self.narrow(part) for part in one.operands)
        shape = _together([mask[1], yes[1], no[1]])
        if node.dtype == BOOL:
            other = self.sheet.node("And", self.sheet.node("Not", mask[0]), no[0])
            made = self.sheet.node("Or", self.sheet.node("And", mask[0], yes[0]), other)
            return self.laid_out(made, shape, node)
        inner = computed_in(node.dtype)
        wide = [cast(self.sheet, name, node.dtype, inner) for name, _ in (yes, no)]
        made = cast(self.sheet, self.sheet.node("Where", mask[0], *wide), inner, node.dtype)
        return self.laid_out(made, shape, node)

    def lookup(self, node: Node, one: Lookup) -> str:
        """One element of a table for each index, nothing for an index outside."""
        table, index = self.compact(one.table), self.compact(one.index)
        shared = [k for k in table.axes if k in index.axes]
        own = [k for k in index.axes if k not in shared]
        rest = [k for k in table.axes if k not in shared and k != one.axis]
        order = [*shared, one.axis, *rest]
        moving, places = self.moving(node.dtype), self.moving(one.index.dtype)
        laid = moving.transposed(table.name, [table.axes.index(k) for k in order])
        numbers = places.transposed(index.name, [index.axes.index(k) for k in (*shared, *own)])
        numbers = cast(self.sheet, numbers, one.index.dtype, INT64)
        extents = one.table.shape
        inside, near = self.clipped(numbers, extents[one.axis])
        if shared:
            shape = [*(extents[k] for k in (*shared, *own)), 1]
            near = self.moving(INT64).reshaped(near, shape)
            found = self.sheet.node("GatherND", laid, near, batch_dims=len(shared))
        else:
            found = self.sheet.node("Gather", laid, near, axis=0)
        if rest:
            shape = [*(extents[k] for k in (*shared, *own)), *(1 for _ in rest)]
            inside = self.moving(BOOL).reshaped(inside, shape)
        chosen = self.chosen(inside, found, node.dtype)
        axes = [*shared, *own, *rest]
        ordered = sorted(range(len(axes)), key=axes.__getitem__)
        after = sorted(k - (k > one.axis) for k in axes)
        seen = Seen(moving.transposed(chosen, ordered), tuple(after))
        return self.laid_out(*views.spread(moving, seen, node.shape), node)

    def clipped(self, index: str, extent: Dim) -> tuple[str, str]:
        """Where an index is inside an axis; and the nearest place that is."""
        zero, size = self.sheet.number(0, INT64), self.sizes.scalar(extent)
        last = self.sizes.scalar(extent - 1)
        is_below = self.sheet.node("Less", index, zero)
        inside = self.sheet.node(
            "And", self.sheet.node("Not", is_below), self.sheet.node("Less", index, size)
        )
        return inside, self.sheet.node("Max", self.sheet.node("Min", index, last), zero)

    def chosen(self, mask: str, value: str, dtype: DType) -> str:
        """The value where the mask is true, nothing elsewhere."""
        inner = computed_in(dtype)
        wide = cast(self.sheet, value, dtype, inner)
        nothing = self.moving(dtype).nothing(inner)
        return cast(self.sheet, self.sheet.node("Where", mask, wide, nothing), inner, dtype)


def is_index(one: Operand) -> bool:
    """True for the numbers 0, 1, ... in a view: its elements are the places that it reads."""
    return one.node.op == "iota" and not one.view.bounds


def _together(shapes: Sequence[Sequence[Dim]]) -> tuple[Dim, ...]:
    """The shape that shapes broadcast to; axes of extent 1 repeat."""
    rank = max(map(len, shapes))
    padded = [(*(1,) * (rank - len(one)), *one) for one in shapes]
    return tuple(next((one for one in many if one != 1), 1) for many in zip(*padded))


# --- scans ----------------------------------------------------------------------------------


def scanned(outer: Translation, node: Node, region: Scan) -> tuple[str, ...]:
    """A region as Scan; as Loop where it has no sequences, or perhaps no trips."""
    carried = len(region.carried)
    first = [outer.full(one) for one in node.operands[:carried]]
    sequences = [outer.full(one) for one in node.operands[carried : carried + len(region.sliced)]]
    body = outer.inside()
    if sequences and at_most(1, region.trips):
        return _scan(body, outer, region, first, sequences)
    return _loop(body, outer, region, first, sequences)


def _scan(
    body: Translation, outer: Translation, region: Scan, first: list[str], sequences: list[str]
) -> tuple[str, ...]:
    slots = [(one, outer.sheet.writer.name("in")) for one in (*region.carried, *region.sliced)]
    inputs = [port(name, one.dtype, one.shape) for one, name in slots]
    body.names.update({one: (name,) for one, name in slots})
    graph = _body(body, region, inputs, [])
    settings: dict[str, Setting] = {"body": graph, "num_scan_inputs": len(sequences)}
    count = len(region.outputs)
    return outer.sheet.nodes("Scan", [*first, *sequences], count, settings)


def _loop(
    body: Translation, outer: Translation, region: Scan, first: list[str], sequences: list[str]
) -> tuple[str, ...]:
    """Sequences are read at the number of the trip."""
    writer = outer.sheet.writer
    trip, is_on, goes_on = (writer.name(kind) for kind in ("trip", "on", "on"))
    slots = [(one, writer.name("in")) for one in region.carried]
    inputs = [port(trip, INT64, ()), port(is_on, BOOL, ())]
    inputs += [port(name, one.dtype, one.shape) for one, name in slots]
    body.names.update({one: (name,) for one, name in slots})
    for one, sequence in zip(region.sliced, sequences):
        body.names[one] = (body.sheet.node("Gather", sequence, trip, axis=0),)
    body.sheet.block.nodes.append(helper.make_node("Identity", [is_on], [goes_on]))
    graph = _body(body, region, inputs, [port(goes_on, BOOL, ())])
    trips = outer.sizes.scalar(region.trips)
    always = writer.constant(np.array(True))
    return outer.sheet.nodes("Loop", [trips, always, *first], len(region.outputs), {"body": graph})


def _body(
    body: Translation,
    region: Scan,
    inputs: list[onnx.ValueInfoProto],
    outputs: list[onnx.ValueInfoProto],
) -> onnx.GraphProto:
    """The graph of a body whose placeholders have names."""
    names = [body.sheet.writer.name("out") for _ in region.outputs]
    body.give(region.outputs, names)
    outputs += [port(name, one.dtype, one.shape) for name, one in zip(names, region.outputs)]
    return helper.make_graph(
        body.sheet.block.nodes, body.sheet.writer.name("body"), inputs, outputs
    )
