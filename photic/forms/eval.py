"""The evaluator: what a graph means, in NumPy. Every target and every rule is judged by it.

``MEANING`` holds one line a primitive. Halves are computed in float32 and rounded once; sums may
be added in any order, so two right answers may differ by rounding there, and only there. With
``widen`` every float is computed in float64 and casts between floats do not round: the judge.

It promises values, not speed: each node is one array, freed after its last use; a product that is
summed later exists whole. It reads no element outside a source, even for a faulty view.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
from numpy.lib.stride_tricks import as_strided

from photic.forms import errors
from photic.forms.dim_eval import number_of
from photic.forms.graph_names import named_sources, sizes_of
from photic.ir.dim import Atom, Data, Dim, Symbol, Var, coefficient_of, substitute, variables
from photic.ir.dtype import BFLOAT16, DType, dtype_of
from photic.ir.graph import Along, Graph, Item, Named, Node, Operand, Payload, Scan
from photic.ir.index import Buffer
from photic.ir.view import Shape, View, is_identity

Array: TypeAlias = npt.NDArray[np.generic]
Typed: TypeAlias = Node | Buffer
Results: TypeAlias = tuple[Array, ...]  # the values of a node: one, but of a scan as many as items


def identity_of_add(dtype: np.dtype[np.generic]) -> np.generic:
    """-0.0, 0 or False: what ``x + it`` leaves alone; masked places and paddings hold it."""
    return dtype.type(-0.0)


def _start(terms: int, dtype: np.dtype[np.generic]) -> np.generic:
    """What a sum of so many terms starts from: the sum of nothing is +0.0, not -0.0."""
    return identity_of_add(dtype) if terms else dtype.type(0)


def lowest(dtype: np.dtype[np.generic]) -> np.generic:
    """-inf, the lowest integer or False: the max of nothing."""
    return dtype.type(-np.inf if _is_float(dtype) else dtype_of(dtype).low)


def _is_float(dtype: np.dtype[np.generic]) -> bool:
    return dtype.kind not in "biu"  # the kind of bfloat16 is that of any user-defined type


@np.errstate(all="ignore")
def convert(x: Array, to: np.dtype[np.generic]) -> Array:
    """The cast: nearest even with one rounding; float to integer truncates, saturates, nan is 0."""
    if to.kind == "b":
        return np.asarray(x != 0)
    if _is_float(x.dtype) and not _is_float(to):
        return _saturate(x.astype(np.float64), to)
    if to == BFLOAT16.numpy and (x.dtype.kind in "iu" or x.dtype == np.float64):
        x = _to_odd(x)
    return x.astype(to)


def _saturate(x: npt.NDArray[np.float64], to: np.dtype[np.generic]) -> Array:
    low, high = dtype_of(to).low, dtype_of(to).high
    inside = np.where((x > low - 1) & (x < high + 1), x, 0).astype(to)
    return np.where(x >= high + 1, to.type(high), np.where(x <= low - 1, to.type(low), inside))


_STICKY_FROM = 2**32  # smaller integers are exact in float64
_STICKY = 2**16  # the unit kept above it leaves 16 bits, more than bfloat16's 8 + 2


def _to_odd(x: Array) -> Array:
    """Round float64 or integers to float32 such that rounding on to bfloat16 is right.

    An inexact result takes the neighbour with an odd last bit (Boldo and Melquiond, 2008).
    """
    if x.dtype.kind in "iu":
        whole = x.astype(np.int64)
        kept = (whole // _STICKY | (whole % _STICKY != 0)) * _STICKY
        x = np.where(np.abs(whole) < _STICKY_FROM, whole, kept)
    exact = x.astype(np.float64)
    near = exact.astype(np.float32)
    error = (exact - near).astype(np.float32)
    toward = np.where(exact == near, near, np.copysign(np.float32(np.inf), error))
    is_even = near.view(np.uint32) % 2 == 0
    return np.where(is_even, np.nextafter(near, toward), near)


MEANING: Mapping[str, Callable[..., Array]] = {
    "exp2": lambda x: np.exp2(x, dtype=np.float64),
    "log2": lambda x: np.log2(x, dtype=np.float64),
    "sin": lambda x: np.sin(x, dtype=np.float64),
    "sqrt": lambda x: np.sqrt(x),
    "recip": lambda x: 1 / x,
    "add": lambda x, y: np.add(x, y),
    "mul": lambda x, y: np.where(x, y, identity_of_add(y.dtype)) if x.dtype == bool else x * y,
    "mod": lambda x, y: np.mod(x, y),
    "less_than": lambda x, y: np.less(x, y),
    "sum": lambda x, k: np.add.reduce(x, k, x.dtype, initial=_start(x.shape[k], x.dtype)),
    "max": lambda x, k: np.maximum.reduce(x, k, initial=lowest(x.dtype)),
    "contiguous": lambda x, dtype: convert(x, dtype),
}


@dataclass(frozen=True, slots=True)
class Run:
    """What a whole evaluation shares: the sizes, and whether floats are float64."""

    sizes: Mapping[str, int]
    widen: bool

    def number(self, size: Dim) -> int:
        return int(number_of(size, self.lookup))

    def lookup(self, atom: Symbol | Var | Data) -> int:
        """A NumPy integer, so that a division by an empty extent gives 0 and does not stop."""
        assert isinstance(atom, Symbol)
        if atom.name not in self.sizes:
            raise errors.SizeMissing(name=atom.name)
        return np.int64(self.sizes[atom.name])  # type: ignore[return-value]

    def shape(self, shape: Shape) -> tuple[int, ...]:
        return tuple(self.number(extent) for extent in shape)

    def dtype(self, dtype: DType) -> np.dtype[np.generic]:
        if self.widen and dtype.kind == "float":
            return np.dtype(np.float64)
        return dtype.numpy

    def arithmetic(self, x: Array) -> Array:
        """The array in the dtype in which operations on it are done."""
        is_half = _is_float(x.dtype) and x.dtype.itemsize == BFLOAT16.bytes
        return x.astype(np.float32) if is_half else x

    def check_sizes(self, sizes: Iterable[Symbol]) -> None:
        """Raise SizeMissing or SizeOutOfRange."""
        for one in sizes:
            given = int(self.lookup(one))
            if not one.low <= given <= one.high:
                raise errors.SizeOutOfRange(name=one.name, given=given, low=one.low, high=one.high)

    def inputs(self, expected: Mapping[str, Typed], given: Mapping[str, Array]) -> dict[str, Array]:
        """The arrays given for what is expected, each of the right shape and dtype."""
        found: dict[str, Array] = {}
        for name, one in expected.items():
            if name not in given:
                raise errors.InputMissing(name=name, expected=one, given=", ".join(given))
            array, dtype, shape = given[name], self.dtype(one.dtype), self.shape(one.shape)
            if array.shape != shape:
                raise errors.InputShape(name=name, given=array.shape, expected=shape)
            is_float = self.widen and _is_float(array.dtype) and _is_float(dtype)
            if array.dtype != dtype and not is_float:
                raise errors.InputDtype(name=name, given=array.dtype, expected=str(one.dtype))
            found[name] = array.astype(dtype, copy=False)
        return found

    def states(self, expected: Mapping[str, Typed], given: Mapping[str, Array]) -> dict[str, Array]:
        """As ``inputs``, zeros for what is not given; always copies."""
        zeros = {k: np.zeros(self.shape(n.shape), self.dtype(n.dtype)) for k, n in expected.items()}
        return {
            k: np.array(array) for k, array in self.inputs(expected, {**zeros, **given}).items()
        }


@np.errstate(all="ignore")
def evaluate(
    graph: Graph,
    inputs: Mapping[str, Array],
    states: Mapping[str, Array],
    sizes: Mapping[str, int],
    *,
    widen: bool,
) -> tuple[dict[str, Array], dict[str, Array]]:
    """The outputs, and every state's next value (its old one where the graph names none).

    A state that is not given is all zeros. The arrays returned own their data. With ``widen``,
    floats may be given in any float dtype and come back as float64.
    Raises InputMissing, InputShape, InputDtype, SizeMissing, SizeOutOfRange.
    """
    run = Run(dict(sizes), widen)
    run.check_sizes(sizes_of(graph).values())
    sources, kept = named_sources(graph, "input"), named_sources(graph, "state")
    following = run.states(kept, states)
    given = {sources[name]: array for name, array in run.inputs(sources, inputs).items()}
    given |= {kept[name]: array for name, array in following.items()}
    values = _compute(graph.roots, {node: (array,) for node, array in given.items()}, run)
    outputs = {name: np.array(_seen(one, values, run)) for name, one in graph.outputs}
    for node, one in graph.updates:
        assert isinstance(node.attribute, Named)
        following[node.attribute.name] = np.array(_seen(one, values, run))
    return outputs, following


@np.errstate(all="ignore")
def evaluate_operand(value: Operand, cache: dict[Node, Array]) -> Array:
    """The elements of a value that depends on no input, state or symbolic size.

    ``cache`` holds nodes computed by earlier calls and gains this one; nodes between are dropped.
    The result may be read-only and share storage with a constant or the cache.
    """
    run = Run({}, widen=False)
    if value.node not in cache:
        known = {node: (array,) for node, array in cache.items()}
        cache[value.node] = _compute((value.node,), known, run)[value.node][0]
    return _seen(value, {value.node: (cache[value.node],)}, run)


# --- nodes ----------------------------------------------------------------------------------


def _order(roots: Iterable[Node], known: Mapping[Node, Results]) -> list[Node]:
    """The nodes to compute, operands first; what is known is not entered."""
    done: dict[Node, None] = {}
    stack = [(node, False) for node in roots]
    while stack:
        node, is_ready = stack.pop()
        if is_ready:
            done[node] = None
        elif node not in done and node not in known:
            stack.append((node, True))
            stack += [(one.node, False) for one in node.operands]
    return list(done)


def _compute(roots: Iterable[Node], known: Mapping[Node, Results], run: Run) -> dict[Node, Results]:
    """The values of the roots (and what is known); other nodes are freed after their last use."""
    roots = tuple(roots)
    order = _order(roots, known)
    uses = Counter(one.node for node in order for one in node.operands)
    uses.update((*roots, *known))
    values = dict(known)
    for node in order:
        values[node] = _value(node, values, run)
        for one in node.operands:
            uses[one.node] -= 1
            if not uses[one.node]:
                del values[one.node]
    return values


def _value(node: Node, values: Mapping[Node, Results], run: Run) -> Results:
    match node.attribute:
        case Payload(array=array):
            return (array.astype(run.dtype(node.dtype), copy=False),)
        case Item(number=number):
            return (values[node.operands[0].node][number],)
        case Scan():
            return _scan(node, node.attribute, values, run)
    if node.op == "iota":
        return (np.arange(run.number(node.shape[0]), dtype=np.int64),)
    seen = [_seen(one, values, run) for one in node.operands]
    dtype = run.dtype(node.dtype)
    if node.op == "contiguous":
        return (MEANING[node.op](seen[0], dtype),)
    along = (node.attribute.axis,) if isinstance(node.attribute, Along) else ()
    result = MEANING[node.op](*map(run.arithmetic, seen), *along)
    return (convert(np.asarray(result), dtype),)


def _scan(node: Node, body: Scan, values: Mapping[Node, Results], run: Run) -> tuple[Array, ...]:
    trips, carried = run.number(body.trips), len(body.carried)
    known = {one.node: values[one.node] for one in node.operands}
    start = [_seen(one, values, run) for one in node.operands[: carried + len(body.sliced)]]
    state, sequences = start[:carried], start[carried:]
    stacked = [
        np.empty((trips, *run.shape(one.shape)), run.dtype(one.dtype))
        for one in body.outputs[carried:]
    ]
    for trip in range(trips):
        slices = [np.asarray(sequence[trip]) for sequence in sequences]
        slots = zip((*body.carried, *body.sliced), (*state, *slices))
        inner = {**known, **{slot: (array,) for slot, array in slots}}
        inner = _compute([one.node for one in body.outputs], inner, run)
        results = [_seen(one, inner, run) for one in body.outputs]
        state = results[:carried]
        for whole, result in zip(stacked, results[carried:]):
            whole[trip] = result
    return (*state, *stacked)


# --- views ----------------------------------------------------------------------------------


@lru_cache(maxsize=4096)
def _affine(view: View) -> tuple[tuple[Dim, tuple[Dim, ...]], ...] | None:
    """For each source axis its offset and steps along the view's axes, if that is all there is."""
    if view.bounds:
        return None
    found = []
    axes = [Var(f"i{k}", extent) for k, extent in enumerate(view.shape)]
    origin: dict[Atom, Dim] = dict.fromkeys(axes, 0)
    for index in view.index:
        steps = [coefficient_of(index, one) for one in axes]
        if any(step is None or variables(step) for step in steps):
            return None
        found.append((substitute(index, origin), tuple(step for step in steps if step is not None)))
    return tuple(found)


def _seen(one: Operand, values: Mapping[Node, Results], run: Run) -> Array:
    """The operand's elements; a strided window of the node's array where that is possible."""
    array = values[one.node][0]
    if is_identity(one.view, one.node.shape):
        return array
    shape = run.shape(one.view.shape)
    if 0 in shape:
        return np.empty(shape, array.dtype)
    affine = _affine(one.view)
    if affine is None:
        return _gathered(array, one, shape, run)
    offsets, strides = [], [0] * len(shape)
    for axis, (offset, steps) in enumerate(affine):
        numbers = [run.number(step) for step in steps]
        first = run.number(offset)
        reach = [step * (extent - 1) for step, extent in zip(numbers, shape)]
        low, high = first + sum(min(0, r) for r in reach), first + sum(max(0, r) for r in reach)
        if not 0 <= low <= high < array.shape[axis]:
            raise _outside(one, axis)
        offsets.append(slice(first, None))
        strides = [s + step * array.strides[axis] for s, step in zip(strides, numbers)]
    return as_strided(array[tuple(offsets)], shape, strides, writeable=False)


def _gathered(array: Array, one: Operand, shape: tuple[int, ...], run: Run) -> Array:
    """The general view: an index array for each source axis, nothing outside the bounds."""
    grid = np.ix_(*map(np.arange, shape))

    def lookup(atom: Symbol | Var | Data) -> int:
        if isinstance(atom, Var):
            return grid[int(atom.name[1:])]  # type: ignore[return-value]
        return run.lookup(atom)

    is_inside = np.ones((1,) * len(shape), bool)
    for bound in one.view.bounds:
        place = np.asarray(number_of(bound.value, lookup))
        is_inside = is_inside & (place >= 0) & (place < run.number(bound.extent))
    nothing = identity_of_add(array.dtype)
    if not is_inside.any():
        return np.broadcast_to(nothing, shape)
    places = []
    for axis, index in enumerate(one.view.index):
        place = np.where(is_inside, number_of(index, lookup), 0)
        if place.size and not (0 <= place.min() <= place.max() < array.shape[axis]):
            raise _outside(one, axis)
        places.append(place)
    return np.broadcast_to(np.where(is_inside, array[tuple(places)], nothing), shape)


def _outside(one: Operand, axis: int) -> errors.BrokenGraph:
    return errors.BrokenGraph(
        form="graph", where=one.node, problem=f"a view reads outside axis {axis} of its source"
    )
