"""The graph: hash-consed nodes over views. What frontends write and autograd rewrites.

A ``Node`` is a source, a primitive, or a ``scan`` region; its operands are other nodes seen through
views. Building the same node twice gives the same object, so equality is identity. A ``Graph``
names outputs and the next values of states. Nothing here computes or reads array contents.
"""

from __future__ import annotations

import hashlib
import itertools
import threading
import weakref
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np

from photic.base.errors import BadArgument, ShapeMismatch
from photic.ir.dim import Dim
from photic.ir.dtype import BOOL, INT64, DType, dtype_of
from photic.ir.ops import PRIMITIVE
from photic.ir.view import Shape, View, identity
from photic.ir.walk import parts_first

SMALL_CONSTANT_BYTES = 4096  # constants up to this size are shared by content, larger by identity


@dataclass(frozen=True, slots=True)
class Named:
    """The attribute of an input or a state: its name."""

    name: str


@dataclass(frozen=True, slots=True)
class Payload:
    """The attribute of a constant: its array (never copied) and a key that tells it from others."""

    array: np.ndarray[tuple[int, ...], np.dtype[np.generic]] = field(compare=False)
    key: str


@dataclass(frozen=True, slots=True)
class Along:
    """The attribute of a reduction: the axis of its operand that goes."""

    axis: int


@dataclass(frozen=True, slots=True)
class Scan:
    """The attribute of a scan: its body over placeholders.

    Operands of the node: ``carried`` first values, then ``sliced`` sequences (leading axis =
    trips), then values from outside that the body reads. ``outputs`` of the body: the next carried
    values, then what is stacked along a new leading axis.
    """

    trips: Dim
    carried: tuple[Node, ...]
    sliced: tuple[Node, ...]
    outputs: tuple[Operand, ...]


@dataclass(frozen=True, slots=True)
class Item:
    """The attribute of ``item``: which result of a scan (carried ones first, then stacked)."""

    number: int


@dataclass(frozen=True, slots=True)
class Nothing:
    """The attribute of a node that needs none."""


Attribute: TypeAlias = Named | Payload | Along | Scan | Item | Nothing


@dataclass(frozen=True, slots=True)
class Operand:
    """A node seen through a view."""

    node: Node
    view: View

    @property
    def shape(self) -> Shape:
        """The shape after the view."""
        return self.view.shape

    @property
    def dtype(self) -> DType:
        """The dtype of the elements."""
        return self.node.dtype


@dataclass(frozen=True, slots=True, eq=False, weakref_slot=True)
class Node:
    """One value. Make nodes with the functions below; they intern."""

    op: str
    operands: tuple[Operand, ...]
    shape: Shape
    dtype: DType
    attribute: Attribute
    serial: int = field(repr=False)

    def __repr__(self) -> str:
        return f"<{self.op} {self.dtype}{list(map(str, self.shape))} #{self.serial}>"


_interned: weakref.WeakValueDictionary[tuple[object, ...], Node] = weakref.WeakValueDictionary()
_lock = threading.Lock()
_serials = itertools.count()


def _node(
    op: str, operands: tuple[Operand, ...], shape: Shape, dtype: DType, attribute: Attribute
) -> Node:
    key = (op, operands, shape, dtype, attribute)
    with _lock:
        found = _interned.get(key)
        if found is None:
            found = Node(op, operands, shape, dtype, attribute, next(_serials))
            _interned[key] = found
        return found


def operand(node: Node) -> Operand:
    """The node as it is."""
    return Operand(node, identity(node.shape))


# --- sources --------------------------------------------------------------------------------


def input_node(name: str, shape: Shape, dtype: DType) -> Node:
    """A value given at each call."""
    return _node("input", (), shape, dtype, Named(name))


def state_node(name: str, shape: Shape, dtype: DType) -> Node:
    """A value kept between calls; read here, its next value is named by the graph."""
    return _node("state", (), shape, dtype, Named(name))


def payload_of(array: np.ndarray[tuple[int, ...], np.dtype[np.generic]]) -> Payload:
    """The array, which must not change afterwards, with its key; a small one is copied."""
    dtype = dtype_of(array.dtype)
    array = array.astype(dtype.numpy, copy=False)  # in this machine's order of bytes
    if array.nbytes <= SMALL_CONSTANT_BYTES:
        array = np.array(array, order="C")
        array.setflags(write=False)
        content = hashlib.blake2b(array.tobytes(), digest_size=16).hexdigest()
    else:
        content = f"{array.__array_interface__['data'][0]:x}:{array.strides}"
    return Payload(array, f"{dtype}{array.shape}:{content}")


def constant_node(array: np.ndarray[tuple[int, ...], np.dtype[np.generic]]) -> Node:
    """A value known now."""
    return _node("constant", (), array.shape, dtype_of(array.dtype), payload_of(array))


def iota_node(length: Dim) -> Node:
    """The int64 numbers 0, 1, ..., length-1."""
    return _node("iota", (), (length,), INT64, Nothing())


# --- primitives -----------------------------------------------------------------------------


def unary(op: str, value: Operand) -> Node:
    """One of exp2 log2 sin sqrt recip, element by element."""
    return _node(op, (value,), value.shape, PRIMITIVE[op].result(op, (value.dtype,)), Nothing())


def binary(op: str, left: Operand, right: Operand) -> Node:
    """One of add mul mod less_than on equal shapes. A mask stands on the left of ``mul``."""
    if left.shape != right.shape:
        raise ShapeMismatch(op=op, left=left.shape, right=right.shape)
    if op == "mul" and right.dtype == BOOL and left.dtype != BOOL:
        left, right = right, left
    dtype = PRIMITIVE[op].result(op, (left.dtype, right.dtype))
    return _node(op, (left, right), left.shape, dtype, Nothing())


def reduce(op: str, value: Operand, axis: int) -> Node:
    """``sum`` or ``max`` over one axis, which goes."""
    shape = value.shape[:axis] + value.shape[axis + 1 :]
    dtype = PRIMITIVE[op].result(op, (value.dtype,))
    return _node(op, (value,), shape, dtype, Along(axis))


def cast(value: Operand, dtype: DType) -> Node:
    """The only cast: ``contiguous``, whose result may have another dtype."""
    return _node("contiguous", (value,), value.shape, dtype, Nothing())


def with_operands(node: Node, operands: tuple[Operand, ...], attribute: Attribute) -> Node:
    """The same operation on other operands of the same shapes and dtypes."""
    if operands == node.operands and attribute == node.attribute:
        return node
    return _node(node.op, operands, node.shape, node.dtype, attribute)


# --- regions --------------------------------------------------------------------------------


def scan(
    trips: Dim,
    first: Sequence[Operand],
    sequences: Sequence[Operand],
    carried: Sequence[Node],
    sliced: Sequence[Node],
    outputs: Sequence[Operand],
) -> tuple[Node, ...]:
    """Run a body ``trips`` times; returns final carried values, then stacked outputs.

    ``carried`` and ``sliced`` are the placeholders (input nodes) that the body was built over;
    ``outputs`` its results, the first ``len(carried)`` of them the next carried values.
    """
    for start, slot, after in zip(first, carried, outputs[: len(first)], strict=True):
        if not (start.shape == slot.shape == after.shape):
            raise ShapeMismatch(op="scan", left=slot.shape, right=after.shape)
        if not (start.dtype == slot.dtype == after.dtype):
            raise BadArgument(op="scan", argument="body", given=after.dtype, expected=slot.dtype)
    inside = dependents(outputs, {*carried, *sliced})
    outside = _outside(outputs, inside)
    body = Scan(trips, tuple(carried), tuple(sliced), tuple(outputs))
    results = [(one.shape, one.dtype) for one in first]
    results += [((trips, *one.shape), one.dtype) for one in outputs[len(first) :]]
    whole = _node("scan", (*first, *sequences, *outside), (), BOOL, body)
    parts = (operand(whole),)
    return tuple(
        _node("item", parts, shape, dtype, Item(k)) for k, (shape, dtype) in enumerate(results)
    )


def dependents(outputs: Iterable[Operand], roots: set[Node]) -> set[Node]:
    """Every node under ``outputs`` that depends on one of ``roots`` (these included)."""
    found = set(roots)
    for node in topological([one.node for one in outputs]):
        if any(one.node in found for one in node.operands):
            found.add(node)
    return found


def _outside(outputs: Iterable[Operand], inside: set[Node]) -> list[Operand]:
    """Values that nodes of the body, or its outputs, read from outside the body."""
    body = [node for node in topological([one.node for one in outputs]) if node in inside]
    read = [one.node for one in (*(one for node in body for one in node.operands), *outputs)]
    return [operand(node) for node in dict.fromkeys(read) if node not in inside]


# --- graphs ---------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Graph:
    """Named outputs, and for each state its next value."""

    outputs: tuple[tuple[str, Operand], ...]
    updates: tuple[tuple[Node, Operand], ...] = ()

    @property
    def roots(self) -> tuple[Node, ...]:
        """The nodes that must be computed."""
        results = [one.node for _, one in self.outputs]
        states = [node for node, _ in self.updates]
        return (*results, *states, *(one.node for _, one in self.updates))


def topological(roots: Iterable[Node], known: Collection[Node] = ()) -> Iterator[Node]:
    """Every node under the roots once, operands first; bodies of scans are not entered.

    Without what is known and what only that needs.
    """
    return parts_first(reversed(list(roots)), _operands, known)


def _operands(node: Node) -> list[Node]:
    return [one.node for one in reversed(node.operands)]


def all_nodes(roots: Iterable[Node]) -> Iterator[Node]:
    """As ``topological``, and the bodies of scans before the scan itself."""

    def parts(node: Node) -> list[Node]:
        body = node.attribute.outputs if isinstance(node.attribute, Scan) else ()
        return [*(one.node for one in reversed(body)), *_operands(node)]

    return parts_first(reversed(list(roots)), parts, ())
