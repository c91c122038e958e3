"""The checker finds each planted fault and names the node; sound graphs pass."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from photic.forms import movement
from photic.forms.errors import BrokenGraph, NameTaken
from photic.forms.graph_check import check_graph
from photic.ir import view as views
from photic.ir.dim import Dim, add, floordiv, mod, mul, symbol, var
from photic.ir.dtype import BOOL, FLOAT32, FLOAT64, INT32, INT64, DType
from photic.ir.graph import (
    Along,
    Graph,
    Item,
    Named,
    Node,
    Nothing,
    Operand,
    Payload,
    Scan,
    binary,
    cast,
    constant_node,
    input_node,
    iota_node,
    operand,
    reduce,
    scan,
    state_node,
    unary,
)
from photic.ir.view import Bound, Shape, View, identity

N = symbol("n", 0, 9)
X = input_node("x", (N, 3), FLOAT32)
MASK = input_node("mask", (N, 3), BOOL)
STATE = state_node("h", (3,), FLOAT32)
SLOT, ROW = input_node("slot", (3,), FLOAT32), input_node("row", (3,), FLOAT32)
TOTAL = binary("add", operand(SLOT), operand(ROW))
LAST, STACKED = scan(
    N, [operand(STATE)], [operand(X)], [SLOT], [ROW], [operand(TOTAL), operand(TOTAL)]
)
SCAN = LAST.operands[0].node
BODY = SCAN.attribute
assert isinstance(BODY, Scan)


def graph_of(*values: Node | Operand) -> Graph:
    seen = [one if isinstance(one, Operand) else operand(one) for one in values]
    return Graph(tuple((f"y{place}", one) for place, one in enumerate(seen)))


def test_a_sound_graph_passes() -> None:
    one_hot = binary("mul", operand(MASK), operand(X))
    nodes = [
        unary("exp2", operand(X)),
        reduce("max", operand(one_hot), 1),
        cast(operand(X), INT32),
        constant_node(np.zeros((2, 3))),
        iota_node(N),
        LAST,
        STACKED,
    ]
    total = operand(reduce("sum", operand(X), 0))
    check_graph(Graph(graph_of(*nodes).outputs, ((STATE, total),)))


# --- nodes ----------------------------------------------------------------------------------

x, mask = operand(X), operand(MASK)
wide = operand(input_node("wide", (N, 4), FLOAT32))
double = operand(input_node("double", (N, 3), FLOAT64))
whole = (N, 3)


def node(
    op: str, operands: tuple[Operand, ...], shape: Shape, dtype: DType, *attribute: object
) -> Node:
    """A node that no constructor would build."""
    given = (attribute or (Nothing(),))[0]
    return Node(op, operands, shape, dtype, given, -1)  # type: ignore[arg-type]


FAULTS: dict[str, Node] = {
    "an unknown operation": node("tanh", (x,), whole, FLOAT32),
    "one operand too few": node("add", (x,), whole, FLOAT32),
    "one operand too many": node("exp2", (x, x), whole, FLOAT32),
    "a source with an operand": node("input", (x,), whole, FLOAT32, Named("z")),
    "a source without a name": node("input", (), whole, FLOAT32),
    "another shape": node("exp2", (x,), (N, 4), FLOAT32),
    "another dtype": node("exp2", (x,), whole, FLOAT64),
    "an integer where floats are meant": node("sin", (operand(iota_node(N)),), (N,), INT64),
    "operands of two shapes": node("add", (x, wide), whole, FLOAT32),
    "operands of two dtypes": node("add", (x, double), whole, FLOAT32),
    "a mask on the right": node("mul", (x, mask), whole, FLOAT32),
    "mod of bools": node("mod", (mask, mask), whole, BOOL),
    "a comparison that is no bool": node("less_than", (x, x), whole, FLOAT32),
    "an axis past the end": node("sum", (x,), whole, FLOAT32, Along(2)),
    "a negative axis": node("sum", (x,), (N,), FLOAT32, Along(-1)),
    "another axis than the shape says": node("sum", (x,), (3,), FLOAT32, Along(1)),
    "a reduction without an axis": node("sum", (x,), (N,), FLOAT32),
    "a constant of another shape": node(
        "constant", (), (4,), FLOAT32, Payload(np.zeros(3, np.float32), "k")
    ),
    "a constant of another dtype": node(
        "constant", (), (3,), FLOAT64, Payload(np.zeros(3, np.float32), "k")
    ),
    "a constant without elements": node("constant", (), (3,), FLOAT32),
    "an iota that is no int64": node("iota", (), (N,), INT32),
    "an iota of rank 2": node("iota", (), whole, INT64),
    "an extent that is negative": node("input", (), (add(mul(N, -1), -1),), FLOAT32, Named("z")),
    "an extent over an axis": node("input", (), (var("i0", 5),), FLOAT32, Named("z")),
    "an item of no scan": node("item", (x,), (N, 3), FLOAT32, Item(0)),
    "an item past the last": node(
        "item", SCAN.operands[:0] + LAST.operands, (3,), FLOAT32, Item(2)
    ),
    "an item of another shape": node("item", LAST.operands, (N, 3), FLOAT32, Item(0)),
    "an item of another dtype": node("item", LAST.operands, (3,), FLOAT64, Item(0)),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_faulty_node_is_named(fault: str) -> None:
    broken = FAULTS[fault]
    shown = Operand(broken, identity(broken.shape))
    with pytest.raises(BrokenGraph, match=f"{broken.op}.*#-1"):
        check_graph(Graph((("y", operand(X)), ("z", shown))))


def test_a_fault_under_other_nodes_is_found() -> None:
    broken = FAULTS["another dtype"]
    with pytest.raises(BrokenGraph, match="#-1"):
        check_graph(graph_of(unary("exp2", operand(cast(operand(broken), FLOAT32)))))


# --- views ----------------------------------------------------------------------------------

I, J = views.axis_variable(0, N), views.axis_variable(1, 3)


@pytest.mark.parametrize(
    "view",
    [
        View((N,), (I,)),
        View((N, 3), (I, add(J, 1))),
        View((N, 3), (add(I, 1), J)),
        View((N, 3), (add(I, -1), J)),
        View((N, 3), (J, J)),
        View((N, 3), (I, mul(J, 2))),
        View((add(N, 1), 3), (views.axis_variable(0, add(N, 1)), J)),
        View((N, 3), (I, views.axis_variable(2, 3))),
        View((N, 3), (I, views.axis_variable(1, 4))),
        View((N, 3), (I, J), (Bound(views.axis_variable(5, 2), 1),)),
        View((N, 3), (add(I, 1), J), (Bound(add(I, -1), N),)),
        View((N, 3), (add(I, 1), J), (Bound(add(I, 1), add(N, 1)),)),
        View((N, 12), (I, floordiv(views.axis_variable(1, 12), 3))),
        View((2,), (0, 0)),
        View((N, mul(N, 3)), (I, mod(views.axis_variable(1, mul(N, 3)), 4))),
    ],
    ids=str,
)
def test_a_view_that_may_read_outside_is_found(view: View) -> None:
    broken = Operand(X, view)
    with pytest.raises(BrokenGraph, match="the view of"):
        check_graph(graph_of(broken))
    with pytest.raises(BrokenGraph, match="exp2"):
        check_graph(graph_of(unary("exp2", broken)))


@pytest.mark.parametrize(
    "view",
    [
        movement.pad(identity(whole), 0, N, 2),
        movement.reshape(identity(whole), (3, N)),
        movement.flip(movement.reshape(movement.pad(identity(whole), 1, 1, 0), (mul(N, 2), 2)), 0),
        movement.windows(movement.pad(identity(whole), 0, 3, 0), 0, 2, 2, 2),
        View((N, 12), (I, floordiv(views.axis_variable(1, 12), 4))),
        movement.select(identity(whole), 0, add(N, -1)),
    ],
    ids=str,
)
def test_a_view_that_reads_inside_passes(view: View) -> None:
    check_graph(graph_of(Operand(X, view)))


def test_a_fault_that_shows_only_at_some_sizes_is_found() -> None:
    m = symbol("m", 1, 40)
    source = input_node("source", (20,), FLOAT32)
    late: Dim = mod(add(views.axis_variable(0, m), 1), 30)
    with pytest.raises(BrokenGraph):
        check_graph(graph_of(Operand(source, View((m,), (late,)))))


# --- scans ----------------------------------------------------------------------------------

other = operand(input_node("other", (4,), FLOAT32))
seen = operand(TOTAL)
SCANS: dict[str, tuple[tuple[Operand, ...], Callable[[Scan], Scan]]] = {
    "a first value of another shape": ((other, x), lambda body: body),
    "a sequence of another length": ((operand(STATE), other), lambda body: body),
    "a sequence that is missing": ((operand(STATE),), lambda body: body),
    "a next value of another shape": (
        SCAN.operands,
        lambda body: replace(body, outputs=(other, seen)),
    ),
    "a next value that is missing": (SCAN.operands, lambda body: replace(body, outputs=())),
    "a slot that is no input": (SCAN.operands, lambda body: replace(body, carried=(STATE,))),
    "other trips than the sequence": (SCAN.operands, lambda body: replace(body, trips=4)),
    "a fault in the body": (
        SCAN.operands,
        lambda body: replace(
            body, outputs=(seen, Operand(TOTAL, View((2,), (views.axis_variable(0, 2) + 2,))))
        ),
    ),
}


@pytest.mark.parametrize("fault", SCANS)
def test_a_scan_whose_parts_do_not_fit_is_named(fault: str) -> None:
    operands, change = SCANS[fault]
    assert isinstance(BODY, Scan)
    broken = node("scan", operands, (), BOOL, change(BODY))
    with pytest.raises(BrokenGraph, match="#-1"):
        check_graph(graph_of(operand(broken)))


def test_a_fault_inside_a_body_is_found() -> None:
    bad = node("exp2", (seen,), (3,), FLOAT64)
    broken = node("scan", SCAN.operands, (), BOOL, replace(BODY, outputs=(seen, operand(bad))))
    with pytest.raises(BrokenGraph, match="exp2"):
        check_graph(graph_of(operand(broken)))


def test_a_slot_that_is_read_outside_its_scan_is_found() -> None:
    with pytest.raises(BrokenGraph, match="outside the scan"):
        check_graph(graph_of(LAST, unary("exp2", operand(SLOT))))


# --- names, outputs and updates -------------------------------------------------------------


def test_two_outputs_of_one_name_are_found() -> None:
    with pytest.raises(BrokenGraph, match="output 'y'"):
        check_graph(Graph((("y", x), ("y", mask))))


def test_two_meanings_of_a_source_or_a_size_are_found() -> None:
    with pytest.raises(NameTaken, match="input 'x'"):
        check_graph(graph_of(X, input_node("x", (3,), FLOAT32)))
    with pytest.raises(NameTaken, match="size 'n'"):
        check_graph(graph_of(X, input_node("y", (symbol("n", 0, 8),), FLOAT32)))


@pytest.mark.parametrize(
    "updates, problem",
    [
        ([(STATE, other)], "differs"),
        ([(STATE, operand(cast(operand(STATE), INT32)))], "differs"),
        ([(X, x)], "no state"),
        ([(STATE, operand(STATE)), (STATE, operand(STATE))], "twice"),
    ],
)
def test_an_update_that_does_not_fit_is_found(
    updates: list[tuple[Node, Operand]], problem: str
) -> None:
    with pytest.raises(BrokenGraph, match=problem):
        check_graph(Graph((), tuple(updates)))
