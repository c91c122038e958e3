"""The checker of graphs: run after every pass in tests, and on whatever was parsed.

It checks, for each node, those in the bodies of scans included: the operation is known; operand
count, shape and dtype follow its record; a reduction's axis exists; a view has one index for each
axis of its source, over its own axes only; every index is provably inside the source or guarded by
a bound, or else no sample point shows it outside; no extent is always negative. For a scan: slots,
first values, sequences and results fit, and no slot is read outside. For the graph: the names of
inputs, states, sizes and outputs are unique; an update fits its state, at most one for each.

It does not check: that sizes exceed 0 or divide as a reshape supposes; indices that neither the
proof nor the samples decide; that values are finite; anything about what the graph computes.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from photic.base.errors import PhoticError
from photic.forms.dim_eval import number_of
from photic.forms.errors import BrokenGraph
from photic.forms.graph_names import named_sources, sizes_of
from photic.ir import dim as dims
from photic.ir import graph as graphs
from photic.ir.dim import Atom, Data, Dim, Var, at_most, atoms, symbols, variables
from photic.ir.dtype import INT64, DType, dtype_of
from photic.ir.graph import Along, Graph, Item, Named, Node, Operand, Payload, Scan
from photic.ir.index import Expr
from photic.ir.ops import PRIMITIVE
from photic.ir.view import Shape, View


def check_graph(graph: Graph) -> None:
    """Raise BrokenGraph at the first fault, NameTaken where a source or size has two meanings."""
    for kind in ("input", "state"):
        named_sources(graph, kind)
    sizes_of(graph)
    names = [name for name, _ in graph.outputs]
    for name in names:
        _require(names.count(name) == 1, f"output {name!r}", "the name is taken")
    states = [state for state, _ in graph.updates]
    for state, following in graph.updates:
        _require(state.op == "state", state, "updated, but no state")
        _require(states.count(state) == 1, state, "updated twice")
        _require(_types([following]) == [(state.dtype, state.shape)], state, "the update differs")
    _check_operands("the outputs", [one for _, one in (*graph.outputs, *graph.updates)])
    _check_region(list(graphs.topological(graph.roots)))


def _require(fact: bool, where: object, problem: str) -> None:
    if not fact:
        raise BrokenGraph(form="graph", where=where, problem=problem)


def _types(values: Iterable[Operand | Node]) -> list[tuple[DType, Shape]]:
    return [(one.dtype, one.shape) for one in values]


def _check_region(order: list[Node]) -> None:
    """Check the nodes of a graph, or those of a body that depend on its slots."""
    for node in order:
        _check_operands(node, node.operands)
        for extent in node.shape:
            is_size = not variables(extent) and dims.bounds(extent)[1] >= 0
            _require(is_size, node, f"the extent {extent} is no size")
        kind = PRIMITIVE[node.op].kind if node.op in PRIMITIVE else node.op
        _require(kind in _RULES, node, "the operation is unknown")
        count, rule = _RULES[kind]
        _require(count in (len(node.operands), _ANY), node, f"{len(node.operands)} operands")
        _require(rule(node), node, "operands, attribute, shape and dtype do not fit together")
        if isinstance(node.attribute, Scan):
            slots = (*node.attribute.carried, *node.attribute.sliced)
            _require(not set(slots) & set(order), node, "a slot is read outside the scan")
            _check_operands(node, node.attribute.outputs)
            inside = graphs.dependents(node.attribute.outputs, set(slots))
            below = graphs.topological(one.node for one in node.attribute.outputs)
            _check_region([one for one in below if one in inside])


# --- nodes ----------------------------------------------------------------------------------


def result_dtype(op: str, operands: Iterable[Operand | Expr]) -> DType | None:
    """The dtype of a primitive of these operands, or None if they do not fit."""
    try:
        return PRIMITIVE[op].result(op, tuple(one.dtype for one in operands))
    except PhoticError:
        return None


def _elementwise(node: Node) -> bool:
    is_same = all(one.shape == node.shape for one in node.operands)
    return is_same and result_dtype(node.op, node.operands) == node.dtype


def _reduction(node: Node) -> bool:
    axis, shape = getattr(node.attribute, "axis", -1), node.operands[0].shape
    rest = (*shape[:axis], *shape[axis + 1 :])
    fits = isinstance(node.attribute, Along) and 0 <= axis < len(shape) and node.shape == rest
    return fits and result_dtype(node.op, node.operands) == node.dtype


def _copy(node: Node) -> bool:
    return node.shape == node.operands[0].shape


def _constant(node: Node) -> bool:
    if not isinstance(node.attribute, Payload):
        return False
    array = node.attribute.array
    return (dtype_of(array.dtype), array.shape) == (node.dtype, node.shape)


def _scan(node: Node) -> bool:
    body = node.attribute
    if not isinstance(body, Scan):
        return False
    count = len(body.carried)
    first, sequences = node.operands[:count], node.operands[count : count + len(body.sliced)]
    expected = [(slot.dtype, (body.trips, *slot.shape)) for slot in body.sliced]
    is_named = all(slot.op == "input" for slot in (*body.carried, *body.sliced))
    is_carried = _types(first) == _types(body.carried) == _types(body.outputs[:count])
    return is_named and is_carried and _types(sequences) == expected


def _item(node: Node) -> bool:
    body = node.operands[0].node.attribute
    if not isinstance(body, Scan) or not isinstance(node.attribute, Item):
        return False
    place, count = node.attribute.number, len(body.carried)
    results = _types(body.outputs)
    stacked = [(dtype, (body.trips, *shape)) for dtype, shape in results[count:]]
    expected = [*results[:count], *stacked]
    return 0 <= place < len(expected) and expected[place] == (node.dtype, node.shape)


_ANY = -1
_RULES: dict[str, tuple[int, Callable[[Node], bool]]] = {
    "input": (0, lambda node: isinstance(node.attribute, Named)),
    "state": (0, lambda node: isinstance(node.attribute, Named)),
    "iota": (0, lambda node: len(node.shape) == 1 and node.dtype == INT64),
    "constant": (0, _constant),
    "unary": (1, _elementwise),
    "binary": (2, _elementwise),
    "reduce": (1, _reduction),
    "copy": (1, _copy),
    "scan": (_ANY, _scan),
    "item": (1, _item),
}

# --- views ----------------------------------------------------------------------------------


def _check_operands(where: object, operands: Iterable[Operand]) -> None:
    for one in operands:
        fault = _view_fault(one.view, one.node.shape)
        _require(not fault, where, f"the view of {one.node} {fault}")


@lru_cache(maxsize=4096)
def _view_fault(view: View, source: Shape) -> str:
    """What is wrong with a view, or nothing."""
    if len(view.index) != len(source):
        return f"has {len(view.index)} indices"
    axes = {Var(f"i{axis}", extent) for axis, extent in enumerate(view.shape)}
    extents = (*view.shape, *(one.extent for one in view.bounds))
    if any(variables(extent) for extent in extents):
        return "has an extent over an axis"
    for value in (*view.index, *(one.value for one in view.bounds)):
        if variables(value) - axes or any(isinstance(one, Data) for one in atoms(value)):
            return f"has the index {value}, which is not over its own axes"
    gaps = [gap for one in view.bounds for gap in (one.value + 1, one.extent - one.value)]
    for axis, (index, extent) in enumerate(zip(view.index, source, strict=True)):
        if not is_guarded(index, extent, gaps) and escapes(index, extent, axes, gaps):
            return f"reads axis {axis} (extent {extent}) at {index}"
    return ""


def is_guarded(index: Dim, extent: Dim, gaps: Collection[Dim]) -> bool:
    """True only if the index is provably inside ``0 .. extent - 1`` where all gaps exceed 0."""
    return all(
        at_most(0, one) or any(at_most(gap - 1, one) for gap in gaps)
        for one in (index, extent - 1 - index)
    )


_SAMPLES = 64  # all of {lowest, next, middle, highest} for three sizes


@np.errstate(all="ignore")
def escapes(index: Dim, extent: Dim, axes: Collection[Var], gaps: Collection[Dim]) -> bool:
    """True if at a sample point where all gaps exceed 0 the index is outside ``0 .. extent - 1``.

    The points are the ends and the middle of each size's range and of each axis. Nothing may
    depend on data.
    """
    sizes = {
        one for dim in (index, extent, *gaps, *(a.extent for a in axes)) for one in symbols(dim)
    }
    point: dict[Atom, int] = {}

    def at(value: Dim) -> npt.NDArray[np.int64]:
        return np.asarray(number_of(value, point.__getitem__), np.int64)

    for sample in range(_SAMPLES):
        for place, one in enumerate(sorted(sizes, key=str)):
            ends = (one.low, min(one.low + 1, one.high), (one.low + one.high) // 2, one.high)
            point[one] = np.int64(ends[sample // 4**place % len(ends)])  # type: ignore[assignment]
        shape = [int(at(axis.extent)) for axis in axes]
        grid = np.ix_(*(sorted({0, 1 % n, n // 2, n - 1}) if n > 0 else [] for n in shape))
        point |= zip(axes, grid, strict=True)  # type: ignore[arg-type]
        is_out = (at(index) < 0) | (at(index) >= at(extent))
        for gap in gaps:
            is_out = is_out & (at(gap) > 0)
        if min(shape, default=1) > 0 and np.any(is_out):
            return True
    return False
