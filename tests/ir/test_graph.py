"""The graph: equal nodes are one object, faults are refused when a node is built."""

from __future__ import annotations

import gc
import threading
import weakref

import numpy as np
import pytest

from photic.base.errors import BadArgument, DtypeMismatch, ShapeMismatch
from photic.forms.movement import flip
from photic.ir.dim import symbol
from photic.ir.dtype import BOOL, FLOAT32, FLOAT64, INT32
from photic.ir.graph import (
    SMALL_CONSTANT_BYTES,
    Node,
    Operand,
    Payload,
    all_nodes,
    binary,
    cast,
    constant_node,
    dependents,
    input_node,
    iota_node,
    operand,
    reduce,
    scan,
    state_node,
    topological,
    unary,
)
from photic.ir.view import identity

N = symbol("n", 0, 9)
X = input_node("x", (N, 3), FLOAT32)


def flipped(node: Node) -> Operand:
    return Operand(node, flip(identity(node.shape), 0))


def test_the_same_node_built_twice_is_one_object() -> None:
    one = reduce("sum", operand(unary("exp2", flipped(X))), 1)
    two = reduce("sum", operand(unary("exp2", flipped(X))), 1)
    assert one is two


def test_whatever_differs_makes_another_node() -> None:
    x = operand(X)
    nodes = [
        X,
        input_node("y", (N, 3), FLOAT32),
        input_node("x", (N, 4), FLOAT32),
        input_node("x", (N, 3), FLOAT64),
        state_node("x", (N, 3), FLOAT32),
        unary("exp2", x),
        unary("exp2", flipped(X)),
        binary("add", x, flipped(X)),
        binary("add", flipped(X), x),
        reduce("sum", x, 0),
        reduce("sum", x, 1),
        reduce("max", x, 1),
        cast(x, FLOAT32),
        cast(x, INT32),
        iota_node(N),
        iota_node(3),
    ]
    assert len(set(nodes)) == len(nodes)


@pytest.mark.parametrize("value", [0.0, 1.5, np.nan, np.inf])
def test_small_constants_are_shared_by_content(value: float) -> None:
    one, two = (constant_node(np.full((2, 3), value)) for _ in range(2))
    assert one is two
    assert constant_node(np.full((3, 2), value)) is not one
    assert constant_node(np.full((2, 3), value, np.float32)) is not one


def test_constants_of_equal_bytes_but_other_type_or_shape_differ() -> None:
    zeros = [np.zeros(4, np.int32), np.zeros(4, np.float32), np.zeros((2, 2), np.int32)]
    nodes = [constant_node(one) for one in zeros]
    assert len({node.attribute for node in nodes}) == len(set(nodes)) == len(nodes)


def test_minus_zero_and_zero_are_two_constants() -> None:
    assert constant_node(np.array(0.0)) is not constant_node(np.array(-0.0))


def test_a_small_constant_does_not_follow_its_array() -> None:
    array = np.zeros(3)
    node = constant_node(array)
    array[0] = 1
    assert constant_node(np.zeros(3)) is node


def test_large_constants_are_shared_by_identity_and_not_copied() -> None:
    array = np.zeros(SMALL_CONSTANT_BYTES, np.float32)
    node = constant_node(array)
    assert constant_node(array) is node
    assert constant_node(array[:]) is node
    assert constant_node(array[::-1]) is not node
    assert constant_node(array.copy()) is not node
    assert isinstance(node.attribute, Payload)
    assert np.shares_memory(node.attribute.array, array)


def test_a_mask_stands_on_the_left() -> None:
    mask = input_node("m", (N, 3), BOOL)
    assert binary("mul", operand(X), operand(mask)) is binary("mul", operand(mask), operand(X))


def test_operands_that_do_not_fit_are_refused() -> None:
    with pytest.raises(ShapeMismatch):
        binary("add", operand(X), operand(input_node("y", (N, 4), FLOAT32)))
    with pytest.raises(DtypeMismatch):
        binary("add", operand(X), operand(input_node("y", (N, 3), FLOAT64)))
    with pytest.raises(DtypeMismatch):
        unary("sin", operand(iota_node(3)))
    with pytest.raises(DtypeMismatch):
        binary("mod", *[operand(input_node("b", (3,), BOOL))] * 2)


def test_nodes_that_nobody_holds_are_freed() -> None:
    node = unary("exp2", operand(input_node("lonely", (7,), FLOAT32)))
    reference = weakref.ref(node)
    del node
    gc.collect()
    assert reference() is None


def test_threads_that_build_the_same_graph_get_the_same_nodes() -> None:
    found: list[Node] = []

    def build() -> None:
        value = operand(input_node("threads", (N,), FLOAT32))
        for _ in range(50):
            value = operand(binary("add", value, value))
        found.append(value.node)

    threads = [threading.Thread(target=build) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(set(found)) == 1


def test_topological_order_has_operands_first_and_each_node_once() -> None:
    value = operand(X)
    for _ in range(5000):  # deep: no recursion may stand in the way
        value = operand(binary("add", value, value))
    order = list(topological([value.node, X]))
    place = {node: k for k, node in enumerate(order)}
    assert len(place) == len(order) == 5001
    assert all(place[one.node] < place[node] for node in order for one in node.operands)


def recurrence(name: str) -> tuple[tuple[Node, ...], Node, Node]:
    """A scan over X that adds its rows to ``outer``; its items, its slot, and the outer value."""
    carried, sliced = (input_node(kind + name, (3,), FLOAT32) for kind in ("c", "s"))
    outer = unary("exp2", operand(input_node("outer", (3,), FLOAT32)))
    total = binary("add", operand(carried), operand(sliced))
    shifted = binary("add", operand(total), operand(outer))
    first = operand(constant_node(np.zeros(3, np.float32)))
    items = scan(N, [first], [operand(X)], [carried], [sliced], [operand(shifted), operand(total)])
    return items, carried, outer


def test_a_scan_has_carried_and_stacked_results() -> None:
    (last, stacked), carried, outer = recurrence("a")
    assert (last.shape, stacked.shape) == ((3,), (N, 3))
    whole = last.operands[0].node
    assert [one.node.op for one in whole.operands] == ["constant", "input", "exp2"]
    body = list(topological([stacked]))
    assert outer in body and carried not in body
    assert carried in list(all_nodes([stacked]))


def test_a_scan_whose_parts_do_not_fit_is_refused() -> None:
    slot = input_node("slot", (3,), FLOAT32)
    wide = input_node("wide", (4,), FLOAT32)
    with pytest.raises(ShapeMismatch):
        scan(2, [operand(slot)], [], [slot], [], [operand(wide)])
    with pytest.raises(BadArgument):
        scan(2, [operand(slot)], [], [slot], [], [operand(cast(operand(slot), INT32))])


def test_dependents_are_what_is_computed_from_the_roots() -> None:
    y = unary("exp2", operand(X))
    free = unary("exp2", operand(iota_like()))
    total = binary("add", operand(y), operand(free))
    assert dependents([operand(total)], {X}) == {X, y, total}


def iota_like() -> Node:
    return input_node("free", (N, 3), FLOAT32)
