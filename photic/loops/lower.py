"""Lowering: a graph becomes the program form, each stored value one store in index form.

Views dissolve into indices (``Translation``); states are written in place where every read of
an old element comes before its write, through a temporary otherwise; scans become ``Repeat``. Two
kernels with the same meaning up to names share one function. Nothing here arranges loops.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TypeAlias

from photic.ir import graph as graphs
from photic.ir import index as form
from photic.ir.dim import Atom, Dim, Symbol, Var, bounds, substitute, symbol, var, variables
from photic.ir.dtype import BOOL, FLOAT32
from photic.ir.graph import Along, Graph, Item, Named, Node, Operand, Payload, Scan, operand
from photic.ir.index import Buffer, Expr, Store
from photic.ir.program import ROW_MAJOR, Copy, Place, Program, Repeat, Role, Step, name_of
from photic.ir.view import Shape, is_identity
from photic.loops.place import choose_stored
from photic.loops.share import Functions, unlike

DEVICE = "c:0"

Index: TypeAlias = tuple[Dim, ...]


@dataclass(slots=True)
class Translation:
    """Turns nodes into index form; remembers what was read and hands out variable names."""

    buffers: dict[Node, Buffer] = field(default_factory=dict)
    slices: dict[Node, tuple[Operand, Dim]] = field(default_factory=dict)
    reads: set[Node] = field(default_factory=set)
    numbers: itertools.count[int] = field(default_factory=itertools.count)
    done: dict[tuple[Node, Index], Expr] = field(default_factory=dict)
    sources: dict[tuple[Operand, Index], tuple[Expr, Index]] = field(default_factory=dict)
    bound: dict[tuple[Node, Index], Dim] = field(default_factory=dict)
    results: dict[Node, list[Buffer]] = field(default_factory=dict)

    def store(self, target: Buffer, value: Operand, root: Node | None) -> Store:
        """The store of a whole operand; ``root`` is computed even if it has a buffer."""
        axes = tuple(Var(f"a{k}", n) for k, n in enumerate(value.shape))
        index = tuple(var(one.name, one.extent) for one in axes)
        self.reads = set()
        self.done, self.sources, self.bound = {}, {}, {}
        if root is value.node and is_identity(value.view, value.node.shape):
            expr = self.compute(root, index)
        else:
            expr = self.at(value, index)
        kept = tuple(one for one in axes if one.extent != 1)
        return Store(target, kept, index, expr)

    def at(self, value: Operand, index: Index) -> Expr:
        """An operand at an index of its view: nothing (the zero) outside the view's bounds."""
        inside, source = self.source(value, index)
        if inside is form.FALSE:
            return form.zero(value.dtype)
        return form.select(inside, self.element(value.node, source), form.zero(value.dtype))

    def source(self, value: Operand, index: Index) -> tuple[Expr, Index]:
        """The condition of a view's bounds at an index, and the index of the node that it reads."""
        if (value, index) not in self.sources:
            table: dict[Atom, Dim] = {
                Var(f"i{axis}", extent): index[axis]
                for axis, extent in enumerate(value.shape)
                if extent != 1
            }
            inside = form.TRUE
            for bound in value.view.bounds:
                term = form.inside(substitute(bound.value, table), bound.extent)
                inside = form.both(inside, term)
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
        stack = [(node, index)]
        while stack:  # operands first; a chain is no recursion
            one = stack[-1]
            needs = [] if one in self.done else [k for k in self.needs(*one) if k not in self.done]
            stack += needs
            if not needs:
                stack.pop()
                self.done[one] = self.done.get(one) or self.compute(*one)
        return self.done[node, index]

    def needs(self, node: Node, index: Index) -> list[tuple[Node, Index]]:
        """The elements of other nodes from which one is computed, loads aside."""
        if isinstance(node.attribute, Along):
            index = self.inner_index(node, index)
        found = []
        for one in node.operands:
            inside, source = self.source(one, index)
            is_known = one.node in self.buffers or one.node in self.slices
            if not is_known and inside is not form.FALSE:
                found.append((one.node, source))
        return found

    def compute(self, node: Node, index: Index) -> Expr:
        """The computation of one element of a node."""
        if node.op == "iota":
            return form.iota(index[0])
        if node.op == "constant":
            assert isinstance(node.attribute, Payload)
            return form.number(node.attribute.array.reshape(()).item(), node.dtype)
        if isinstance(node.attribute, Along):
            return self.reduction(node, index)
        values = [self.at(one, index) for one in node.operands]
        if node.op == "contiguous":
            return form.cast(values[0], node.dtype)
        if node.op == "mul" and values[0].dtype == BOOL and node.dtype != BOOL:
            return form.select(values[0], values[1], form.zero(node.dtype))
        wide = [form.cast(one, FLOAT32) if one.dtype.is_half else one for one in values]
        result = form.binary(node.op, *wide) if len(wide) > 1 else form.unary(node.op, wide[0])
        return form.cast(result, node.dtype)

    def inner_index(self, node: Node, index: Index) -> Index:
        """The index of a reduction's operand: with a variable of its own for the axis."""
        assert isinstance(node.attribute, Along)
        axis = node.attribute.axis
        if (node, index) not in self.bound:
            extent = node.operands[0].shape[axis]
            self.bound[node, index] = var(f"k{next(self.numbers)}", extent)
        return (*index[:axis], self.bound[node, index], *index[axis:])

    def reduction(self, node: Node, index: Index) -> Expr:
        """A reduction at one index; halves are summed in float32."""
        assert isinstance(node.attribute, Along)
        inner, value = self.inner_index(node, index), node.operands[0]
        element = self.at(value, inner)
        wide = form.cast(element, FLOAT32) if element.dtype.is_half else element
        for bound in variables(inner[node.attribute.axis]):
            wide = form.reduce(node.op, bound, wide)
        return form.cast(wide, node.dtype)


@dataclass(slots=True)
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
    translation: Translation = field(default_factory=Translation)
    names: itertools.count[int] = field(default_factory=itertools.count)
    depth: int = 0  # scans around what is being lowered

    def counter_name(self) -> str:
        """A name for the trips of a scan here: loops at one depth share it, no size has it."""
        return unlike(f"trip{self.depth}", self.sizes)

    def place(self, name: str, shape: Shape, node: Node, role: Role) -> Buffer:
        """A new buffer in the program."""
        buffer = Buffer(name, shape, node.dtype)
        self.places[name] = Place(buffer, role, DEVICE, ROW_MAJOR)
        return buffer

    def temporary(self, node: Node, shape: Shape) -> Buffer:
        """A new intermediate buffer."""
        return self.place(f"t{next(self.names)}", shape, node, "temporary")

    def store(self, target: Buffer, value: Operand, root: Node | None) -> _Work:
        """The work of storing an operand; a root is computed, anything else may be loaded."""
        store = self.translation.store(target, value, root)
        defines = set() if root is None else {root}
        return _Work((self.functions.kernel(store),), defines, set(self.translation.reads))


def lower(graph: Graph) -> Program:
    """The program of a graph, nothing arranged yet: one store a kernel.

    A state's next value is written over the old one if everything that reads the old one can run
    before; where that fails the state joins ``copied`` and the lowering starts again.
    """
    copied: set[Node] = set()
    sizes = graphs.sizes_of(graph)
    while True:
        low = _Lowering(graph, _overwrites(graph, copied), sizes, Functions(frozenset(sizes)))
        works, late = _works(low)
        ordered, stuck = _ordered(works, low)
        if stuck is None:
            return _program(low, [*ordered, *late])
        copied.add(stuck)


def _overwrites(graph: Graph, copied: set[Node]) -> dict[Node, Node]:
    """For each value that is written over a state in place, that state."""
    found: dict[Node, Node] = {}
    for state, value in graph.updates:
        plain = _is_plain(value) and state not in copied
        if plain and value.node not in found:
            found[value.node] = state
    return found


def _is_plain(value: Operand) -> bool:
    computed = value.node.op not in ("input", "state", "constant", "iota", "item", "scan")
    return computed and is_identity(value.view, value.node.shape)


def _works(low: _Lowering) -> tuple[list[_Work], list[_Work]]:
    """All works of the graph, then those that must run last (copies into states)."""
    graph = low.graph
    pinned = {one.node for _, one in (*graph.outputs, *graph.updates)}
    works = _body(low, list(graph.roots), pinned, _claims(low))
    for name, value in graph.outputs:
        if name_of("output", name) not in low.places:
            target = low.place(name_of("output", name), value.shape, value.node, "output")
            works.append(low.store(target, value, None))
    late: list[_Work] = []
    for state, value in graph.updates:
        if low.over.get(value.node) is not state:
            held = low.temporary(value.node, value.shape)
            works.append(low.store(held, value, None))
            copy = Copy(low.translation.buffers[state].name, held.name)
            late.append(_Work((copy,), set(), set()))
    return works, late


def _place_sources(low: _Lowering, nodes: Iterable[Node]) -> None:
    for node in nodes:
        attribute = node.attribute
        if node in low.translation.buffers or node in low.translation.slices:
            continue
        if node.op == "input" and isinstance(attribute, Named):
            buffer = low.place(name_of("input", attribute.name), node.shape, node, "input")
        elif node.op == "state" and isinstance(attribute, Named):
            buffer = low.place(name_of("state", attribute.name), node.shape, node, "state")
        elif isinstance(attribute, Payload) and node.shape != ():
            name = f"c{len(low.constants)}"
            buffer = low.place(name, node.shape, node, "constant")
            low.constants[name] = attribute
        else:
            continue
        low.translation.buffers[node] = buffer


def _claims(low: _Lowering) -> dict[Node, Buffer]:
    """Buffers that certain nodes write directly: states in place, and outputs."""
    _place_sources(low, graphs.topological(low.graph.roots))
    claims = {value: low.translation.buffers[state] for value, state in low.over.items()}
    for name, value in low.graph.outputs:
        if _is_plain(value) and value.node not in claims:
            target = low.place(name_of("output", name), value.shape, value.node, "output")
            claims[value.node] = target
    return claims


def _body(
    low: _Lowering, roots: list[Node], pinned: set[Node], claims: dict[Node, Buffer]
) -> list[_Work]:
    """The works that compute the roots, operands first; what has a buffer is not entered."""
    leaves = {*low.translation.buffers, *low.translation.slices}
    stored = set(choose_stored(roots, pinned, leaves))
    works: list[_Work] = []
    for node in graphs.topological(roots, leaves):
        if node in low.translation.buffers:  # given by a scan of these works
            continue
        if isinstance(node.attribute, Scan):
            works.append(_scan(low, node, node.attribute))
        elif isinstance(node.attribute, Item):
            scan_work = next(one for one in works if node.operands[0].node in one.defines)
            low.translation.buffers[node] = low.translation.results[node.operands[0].node][
                node.attribute.number
            ]
            scan_work.defines.add(node)
        elif node in stored:
            target = claims.get(node) or low.temporary(node, node.shape)
            works.append(low.store(target, operand(node), node))
            low.translation.buffers[node] = target
    return works


def _scan(low: _Lowering, node: Node, region: Scan) -> _Work:
    """A scan as ``Repeat``: carried values in buffers, next ones computed beside and copied in."""
    translation = low.translation
    counter = symbol(low.counter_name(), 0, max(0, bounds(region.trips)[1] - 1))
    count = len(region.carried)
    works: list[_Work] = []
    for slot, start in zip(region.carried, node.operands[:count], strict=True):
        buffer = low.temporary(slot, slot.shape)
        works.append(low.store(buffer, start, None))
        translation.buffers[slot] = buffer
    for slot, sequence in zip(region.sliced, node.operands[count:], strict=False):
        translation.slices[slot] = (sequence, counter)
    _place_sources(low, graphs.topological([one.node for one in region.outputs]))
    low.depth += 1
    inside = _body(low, [one.node for one in region.outputs], set(), {})
    low.depth -= 1
    copies: list[Copy] = []
    results = [translation.buffers[slot] for slot in region.carried]
    for slot, value in zip(region.carried, region.outputs, strict=False):
        held = low.temporary(slot, slot.shape)
        inside.append(low.store(held, value, None))
        copies.append(Copy(translation.buffers[slot].name, held.name))
    for value in region.outputs[count:]:
        whole = low.temporary(value.node, (region.trips, *value.shape))
        inside.append(_stacked(low, whole, value, counter))
        results.append(whole)
    translation.results[node] = results
    atom = counter.terms[0][0][0]
    assert isinstance(atom, Symbol)
    steps = tuple(step for one in inside for step in one.steps)
    loop = Repeat(atom, region.trips, (*steps, *copies))
    before = tuple(step for one in works for step in one.steps)
    reads = {read for one in (*works, *inside) for read in one.reads}
    defines = {node, *region.carried, *(made for one in inside for made in one.defines)}
    return _Work((*before, loop), defines, reads - defines)


def _stacked(low: _Lowering, whole: Buffer, value: Operand, counter: Dim) -> _Work:
    """The store of one trip's output into its place of the stacked result."""
    store = low.translation.store(whole, value, None)
    placed = Store(whole, store.axes, (counter, *store.index), store.value)
    return _Work((low.functions.kernel(placed),), set(), set(low.translation.reads))


def _ordered(works: list[_Work], low: _Lowering) -> tuple[list[_Work], Node | None]:
    """The works so that values come before their readers, and old states' readers before writes.

    Returns a state that stands in the way of any order as the second item, or None.
    """
    maker = {node: work for work in works for node in work.defines}
    kept = {node: state for node, state in low.over.items() if node in maker}
    waits: dict[int, set[int]] = {}
    for work in works:
        waits[id(work)] = {id(maker[n]) for n in work.reads if n in maker} - {id(work)}
    for value, state in kept.items():
        writer = maker[value]
        waits[id(writer)] |= {id(w) for w in works if state in w.reads and w is not writer}
        if state in writer.reads and not _reads_in_place(writer, low):
            return [], state
    done: set[int] = set()
    ordered: list[_Work] = []
    rest = list(works)
    while rest:
        ready = next((one for one in rest if waits[id(one)] <= done), None)
        if ready is None:
            blocked = [state for value, state in kept.items() if maker[value] in rest]
            return [], blocked[0]
        rest.remove(ready)
        ordered.append(ready)
        done.add(id(ready))
    return ordered, None


def _reads_in_place(writer: _Work, low: _Lowering) -> bool:
    """True if a store over a state reads of the old state only the element that it writes."""
    return all(low.functions.reads_in_place(step) for step in writer.steps)


def _program(low: _Lowering, works: list[_Work]) -> Program:
    outputs = {name: name_of("output", name) for name, _ in low.graph.outputs}
    for name, value in low.graph.outputs:
        if outputs[name] not in low.places:
            outputs[name] = low.translation.buffers[value.node].name
    return Program(
        tuple(low.sizes.values()),
        low.places,
        low.functions.table,
        tuple(step for work in works for step in work.steps),
        outputs,
        low.constants,
    )
