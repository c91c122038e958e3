"""What a graph calls by name is found, and one name has one meaning."""

from __future__ import annotations

import numpy as np
import pytest

from photic.forms.errors import NameTaken
from photic.forms.graph_names import named_sources, sizes_of
from photic.ir.dim import add, symbol
from photic.ir.dtype import FLOAT32
from photic.ir.graph import (
    Graph,
    Operand,
    constant_node,
    input_node,
    operand,
    reduce,
    scan,
    state_node,
    unary,
)
from photic.ir.view import axis_variable, identity

N = symbol("n", 0, 9)
X = input_node("x", (N, 3), FLOAT32)


def test_sources_are_found_by_name_and_one_name_has_one_meaning() -> None:
    state = state_node("h", (3,), FLOAT32)
    total = reduce("sum", operand(X), 0)
    graph = Graph((("y", operand(total)),), ((state, operand(total)),))
    assert named_sources(graph, "input") == {"x": X}
    assert named_sources(graph, "state") == {"h": state}
    other = unary("exp2", operand(input_node("x", (2,), FLOAT32)))
    with pytest.raises(NameTaken, match="'x'"):
        named_sources(Graph((("y", operand(total)), ("z", operand(other)))), "input")


def test_sizes_are_found_in_shapes_views_trips_and_outputs() -> None:
    names = [symbol(name, 1, 5) for name in ("a", "b", "c", "d")]
    a, b, c, d = names
    start = operand(constant_node(np.zeros((), np.float32)))
    slot = input_node("slot", (), FLOAT32)
    (item,) = scan(a, [start], [], [slot], [], [operand(slot)])
    shape = (b, add(c, 1))
    view = identity(shape)
    seen = Operand(item, type(view)(shape, (), ()))
    last = input_node("last", (9,), FLOAT32)
    tail = Operand(last, type(view)((2,), (add(axis_variable(0, 2), d),), ()))
    graph = Graph((("y", operand(unary("sin", seen))), ("z", tail)))
    assert sorted(sizes_of(graph)) == ["a", "b", "c", "d"]
    twice = input_node("twice", (symbol("a", 1, 6),), FLOAT32)
    with pytest.raises(NameTaken, match="size 'a'"):
        sizes_of(Graph((*graph.outputs, ("t", operand(twice)))))
