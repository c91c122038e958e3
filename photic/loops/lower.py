"""Lowering: a graph becomes the program form, each stored value one store in index form.

Views dissolve into indices (``Translation``); states are written in place where every read of
an old element comes before its write, through a temporary otherwise; scans become ``Repeat``. Two
kernels with the same meaning up to names share one function. Nothing here arranges loops.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TypeAlias

from photic.forms.graph_names import sizes_of
from photic.forms.parts import is_short, split_parts
from photic.forms.scatters import is_scatter
from photic.ir import graph as graphs
from photic.ir import index as form
from photic.ir.dim import (
    Dim,
    FloorDiv,
    Mod,
    Symbol,
    at_most,
    atoms,
    bounds,
    product,
    substitute,
    symbol,
    var,
    variables,
)
from photic.ir.dtype import BOOL, DType, accumulator
from photic.ir.graph import Along, Graph, Item, Named, Node, Operand, Payload, Scan, operand
from photic.ir.index import Buffer, Expr, Store
from photic.ir.program import ROW_MAJOR, Copy, Place, Program, Repeat, Role, Step, name_of
from photic.ir.view import Shape, is_identity
from photic.ir.walk import parts_first
from photic.loops.place import GIVEN, choose_stored, view_table
from photic.loops.share import Functions, points_of, unlike

DEVICE = "c:0"

Index: TypeAlias = tuple[Dim, ...]


@dataclass(slots=True)
class Translation:
    """Turns the nodes of one store into index form; remembers what was read.

    Nodes with buffers, and slices of sequences, are loaded; ``numbers`` name new variables.
    ``scattered`` are nodes met that had better been stored by themselves.
    """

    buffers: dict[Node, Buffer]
    slices: dict[Node, tuple[Operand, Dim]]
    numbers: itertools.count[int]
    scattered: set[Node]
    reads: set[Node] = field(default_factory=set)
    done: dict[tuple[Node, Index], Expr] = field(default_factory=dict)
    sources: dict[tuple[Operand, Index], tuple[Expr, Index]] = field(default_factory=dict)
    bound: dict[tuple[Node, Index], Dim] = field(default_factory=dict)

    def at(self, value: Operand, index: Index) -> Expr:
        """An operand at an index of its view: nothing (the zero) outside the view's bounds."""
        inside, source = self.source(value, index)
        if inside is form.FALSE:
            return form.zero(value.dtype)
        return form.select(inside, self.element(value.node, source), form.zero(value.dtype))

    def source(self, value: Operand, index: Index) -> tuple[Expr, Index]:
        """The condition of a view's bounds at an index, and the index of the node that it reads."""
        if (value, index) not in self.sources:
            table, inside = view_table(value, index), form.TRUE
            for one in value.view.bounds:
                inside = form.both(inside, form.inside(substitute(one.value, table), one.extent))
            places = tuple(substitute(one, table) for one in value.view.index)
            self.sources[value, index] = inside, places
        return self.sources[value, index]

    def element(self, node: Node, index: Index) -> Expr:
        """One element of a node: a load if it is stored, else its computation."""
        if node in self.buffers:
            self.reads.add(node)
            return form.load(self.buffers[node], index)
        if node in self.slices:
            sequence, counter = self.slices[node]
            return self.at(sequence, (counter, *index))
        if (node, index) not in self.done:
            for one in parts_first([(node, index)], self.needs, self.done):
                self.done[one] = self.compute(*one)
                if isinstance(one[0].attribute, Along) and is_scatter(self.done[one], one[1]):
                    self.scatter(one[0])
        return self.done[node, index]

    def scatter(self, node: Node) -> None:
        """Note a reduction that is one with those of its kind inside it."""
        self.scattered.add(node)
        if node.operands[0].node.op == node.op:
            self.scattered.discard(node.operands[0].node)

    def needs(self, element: tuple[Node, Index]) -> list[tuple[Node, Index]]:
        """The elements of other nodes from which one is computed, loads aside."""
        inner = self.inner_index(*element)
        reads = [(one.node, *self.source(one, inner)) for one in element[0].operands]
        reads = [one for one in reads if one[0] not in self.buffers and one[0] not in self.slices]
        return [(node, index) for node, inside, index in reads if inside is not form.FALSE]

    def inner_index(self, node: Node, index: Index) -> Index:
        """The index of a node's operands: a reduction has a variable of its own for its axis."""
        if not isinstance(node.attribute, Along):
            return index
        axis = node.attribute.axis
        if (node, index) not in self.bound:
            extent = node.operands[0].shape[axis]
            self.bound[node, index] = var(f"k{next(self.numbers)}", extent)
        return (*index[:axis], self.bound[node, index], *index[axis:])

    def compute(self, node: Node, index: Index) -> Expr:
        """The computation of one element of a node; halves are computed with in float32."""
        if node.op == "iota":
            return form.iota(index[0])
        if isinstance(node.attribute, Payload):
            return form.number(node.attribute.array.reshape(()).item(), node.dtype)
        inner = self.inner_index(node, index)
        values = [self.at(one, inner) for one in node.operands]
        if node.op == "contiguous":
            return form.cast(values[0], node.dtype)
        if node.op == "mul" and values[0].dtype == BOOL and node.dtype != BOOL:
            return form.select(values[0], values[1], form.zero(node.dtype))
        result, *others = (form.cast(one, accumulator(one.dtype)) for one in values)
        if isinstance(node.attribute, Along):
            for bound in variables(inner[node.attribute.axis]):
                result = form.reduce(node.op, bound, result)
        elif others:
            result = form.binary(node.op, result, *others)
        else:
            result = form.unary(node.op, result)
        return form.cast(result, node.dtype)


@dataclass(slots=True, eq=False)
class _Work:
    """Steps that belong together, the nodes they define and those they read."""

    steps: tuple[Step, ...]
    defines: set[Node]
    reads: set[Node]


@dataclass(slots=True)
class _Lowering:
    """One attempt: places, constants and functions so far."""

    graph: Graph
    over: dict[Node, Node]
    sizes: dict[str, Symbol]
    functions: Functions
    places: dict[str, Place] = field(default_factory=dict)
    constants: dict[str, Payload] = field(default_factory=dict)
    buffers: dict[Node, Buffer] = field(default_factory=dict)
    slices: dict[Node, tuple[Operand, Dim]] = field(default_factory=dict)
    numbers: itertools.count[int] = field(default_factory=itertools.count)
    results: dict[Node, list[Buffer]] = field(default_factory=dict)
    names: itertools.count[int] = field(default_factory=itertools.count)
    depth: int = 0  # scans around what is being lowered
    scattered: set[Node] = field(default_factory=set)  # always stored

    def place(self, role: Role, name: str, shape: Shape, dtype: DType) -> Buffer:
        """A new buffer in the program."""
        buffer = Buffer(name, shape, dtype)
        self.places[name] = Place(buffer, role, DEVICE, ROW_MAJOR)
        return buffer

    def temporary(self, shape: Shape, dtype: DType) -> Buffer:
        """A new intermediate buffer."""
        return self.place("temporary", f"t{next(self.names)}", shape, dtype)

    def output(self, name: str, value: Operand) -> Buffer:
        """The buffer of an output."""
        return self.place("output", name_of("output", name), value.shape, value.dtype)

    def store(self, target: Buffer, value: Operand, root: Node | None, part: Index) -> _Work:
        """The work of storing an operand as ``target[part]``; if it is ``root``, it is computed."""
        axes, index = points_of(value.shape)
        made = Translation(self.buffers, self.slices, self.numbers, self.scattered)
        expr = made.at(value, index) if root is None else made.compute(root, index)
        if root is not None and isinstance(root.attribute, Along) and is_scatter(expr, index):
            made.scatter(root)
        kernel = self.functions.kernel(Store(target, axes, (*part, *index), expr))
        return _Work((kernel,), set() if root is None else {root}, made.reads)

    def held(self, value: Operand, works: list[_Work]) -> Buffer:
        """A new intermediate buffer, which one more of the works fills with an operand."""
        buffer = self.temporary(value.shape, value.dtype)
        works.append(self.store(buffer, value, None, ()))
        return buffer


def lower(graph: Graph) -> Program:
    """The program of a graph, nothing arranged yet: one store a kernel.

    A state's next value is written over the old one if everything that reads the old one can run
    before; where that fails the state joins ``copied`` and the lowering starts again. So it does
    with scatters, which are stored by themselves.
    """
    copied, scattered, sizes = set[Node](), set[Node](), sizes_of(graph)
    while True:
        functions, known = Functions(frozenset(sizes)), len(scattered)
        low = _Lowering(graph, _overwrites(graph, copied), sizes, functions, scattered=scattered)
        works, copies = _works(low)
        if len(scattered) > known:
            continue
        ordered, stuck = _ordered(works, low)
        if stuck is None:
            names = {name: name_of("output", name) for name, _ in graph.outputs}
            symbols, table = tuple(sizes.values()), low.functions.table
            steps = (*_steps(ordered), *copies)
            return Program(symbols, low.places, table, steps, names, low.constants)
        copied.add(stuck)


def _steps(works: Iterable[_Work]) -> list[Step]:
    return [step for work in works for step in work.steps]


def _overwrites(graph: Graph, copied: set[Node]) -> dict[Node, Node]:
    """For each value that is written over a state in place, that state."""
    found: dict[Node, Node] = {}
    for state, value in graph.updates:
        if _is_plain(value) and state not in copied:
            found.setdefault(value.node, state)
    return found


def _is_plain(value: Operand) -> bool:
    return value.node.op not in GIVEN and is_identity(value.view, value.node.shape)


def _is_rearranged(value: Operand) -> bool:
    """True if a view moves elements, none of them twice, to where no long axis is divided."""
    node, (axes, index) = value.node, points_of(value.shape)
    is_more = not at_most(product(value.shape), product(node.shape))
    if _is_plain(value) or value.view.bounds or is_more:
        return False
    table = view_table(value, index)
    read = form.load(
        Buffer("", node.shape, node.dtype), [substitute(x, table) for x in value.view.index]
    )
    parts = split_parts(Store(Buffer("", value.shape, node.dtype), axes, index, read))
    divided = [one for dim in form.dims_in(parts.value) for one in atoms(dim)]
    tops = [one.top for one in divided if isinstance(one, FloorDiv | Mod)]
    return all(is_short(axis) for top in tops for axis in variables(top))


def _works(low: _Lowering) -> tuple[list[_Work], list[Copy]]:
    """All works of the graph, and the copies into states that must run last."""
    graph = low.graph
    named = [one for _, one in (*graph.outputs, *graph.updates)]
    uses = Counter(one.node for one in named)
    pinned = {one.node for one in named if uses[one.node] > 1 or not _is_rearranged(one)}
    works = _body(low, list(graph.roots), pinned, _claims(low))
    for name, value in graph.outputs:
        if name_of("output", name) not in low.places:
            works.append(low.store(low.output(name, value), value, None, ()))
    copies = [
        Copy(low.buffers[state].name, low.held(value, works).name)
        for state, value in graph.updates
        if low.over.get(value.node) is not state
    ]
    return works, copies


def _place_sources(low: _Lowering, roots: Iterable[Node]) -> None:
    """Buffers for the inputs, states and constants under the roots."""
    for node in graphs.topological(roots):
        attribute = node.attribute
        if node in low.buffers or node in low.slices:
            continue
        if isinstance(attribute, Named):
            role: Role = "input" if node.op == "input" else "state"
            name = name_of(role, attribute.name)
            low.buffers[node] = low.place(role, name, node.shape, node.dtype)
        elif isinstance(attribute, Payload) and node.shape != ():
            name = f"c{len(low.constants)}"
            low.buffers[node] = low.place("constant", name, node.shape, node.dtype)
            low.constants[name] = attribute


def _claims(low: _Lowering) -> dict[Node, Buffer]:
    """Buffers that certain nodes write directly: states in place, and outputs."""
    _place_sources(low, low.graph.roots)
    claims = {value: low.buffers[state] for value, state in low.over.items()}
    for name, value in low.graph.outputs:
        if _is_plain(value) and value.node not in claims:
            claims[value.node] = low.output(name, value)
    return claims


def _body(
    low: _Lowering, roots: list[Node], pinned: set[Node], claims: dict[Node, Buffer]
) -> list[_Work]:
    """The works that compute the roots, operands first; what has a buffer is not entered."""
    leaves = {*low.buffers, *low.slices}
    stored = set(choose_stored(roots, pinned | low.scattered, leaves))
    works: list[_Work] = []
    for node in graphs.topological(roots, leaves):
        if node in low.buffers:  # given by a scan of these works
            continue
        if isinstance(node.attribute, Scan):
            works.append(_scan(low, node, node.attribute))
        elif isinstance(node.attribute, Item):
            scan = node.operands[0].node
            low.buffers[node] = low.results[scan][node.attribute.number]
            next(one for one in works if scan in one.defines).defines.add(node)
        elif node in stored:
            target = claims.get(node) or low.temporary(node.shape, node.dtype)
            works.append(low.store(target, operand(node), node, ()))
            low.buffers[node] = target
    return works


def _scan(low: _Lowering, node: Node, region: Scan) -> _Work:
    """A scan as ``Repeat``: carried values in buffers, next ones computed beside and copied in.

    Scans at one depth share the name of their counter, which no size has.
    """
    count = len(region.carried)
    last = max(0, bounds(region.trips)[1] - 1)
    atom = Symbol(unlike(f"trip{low.depth}", low.sizes), 0, last)
    counter = symbol(atom.name, atom.low, atom.high)
    works: list[_Work] = []
    first, sequences = node.operands[:count], node.operands[count:]
    low.buffers |= {k: low.held(one, works) for k, one in zip(region.carried, first, strict=True)}
    low.slices |= {slot: (one, counter) for slot, one in zip(region.sliced, sequences)}
    roots = [one.node for one in region.outputs]
    _place_sources(low, roots)
    low.depth += 1
    inside = _body(low, roots, set(), {})
    low.depth -= 1
    carried = [low.buffers[slot] for slot in region.carried]
    following = [low.held(value, inside) for value in region.outputs[:count]]
    copies = [Copy(a.name, b.name) for a, b in zip(carried, following, strict=True)]
    low.results[node] = carried
    for value in region.outputs[count:]:
        whole = low.temporary((region.trips, *value.shape), value.dtype)
        inside.append(low.store(whole, value, None, (counter,)))
        low.results[node].append(whole)
    for made in (one for work in inside for one in work.defines):
        low.buffers.pop(made, None)  # another scan may have the same body
    loop = Repeat(atom, region.trips, (*_steps(inside), *copies))
    reads = {read for one in (*works, *inside) for read in one.reads}
    defines = {node, *region.carried, *(made for one in inside for made in one.defines)}
    return _Work((*_steps(works), loop), defines, reads - defines)


def _ordered(works: list[_Work], low: _Lowering) -> tuple[list[_Work], Node | None]:
    """The works so that values come before their readers, and old states' readers before writes.

    Returns a state that stands in the way of any order as the second item, or None.
    """
    maker = {node: work for work in works for node in work.defines}
    writers = [(maker[node], state) for node, state in low.over.items() if node in maker]
    waits = {work: {maker[one] for one in work.reads if one in maker} - {work} for work in works}
    for writer, state in writers:
        waits[writer] |= {work for work in works if state in work.reads} - {writer}
        if state in writer.reads and not all(map(low.functions.reads_in_place, writer.steps)):
            return [], state
    ordered: dict[_Work, None] = {}
    rest = list(works)
    while rest:
        ready = next((work for work in rest if waits[work] <= ordered.keys()), None)
        if ready is None:
            return [], next(state for writer, state in writers if writer in rest)
        rest.remove(ready)
        ordered[ready] = None
    return list(ordered), None
