"""Views against NumPy: random chains of movements, with symbolic sizes and sizes of 0 and 1."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest
from fuzz.movements import (
    KINDS,
    Array,
    Movement,
    is_small,
    numbers,
    random_movement,
    random_shape,
    random_sizes,
)

from photic.base.errors import BadArgument, ShapeMismatch
from photic.forms import movement
from photic.forms.errors import CannotReshape
from photic.forms.eval import evaluate
from photic.forms.graph_check import check_graph
from photic.ir import view as views
from photic.ir.dim import add, mul, symbol
from photic.ir.dtype import BOOL, FLOAT32, INT16
from photic.ir.graph import Graph, Operand, input_node
from photic.ir.view import View, identity

N = symbol("n", 0, 7)
CHAINS = 1500
LONGEST = 6


def filled(shape: tuple[int, ...], dtype: str) -> Array:
    """Elements that differ from each other and from nothing."""
    count = int(np.prod(shape))
    return (np.arange(1, count + 1) % 120 + 1).reshape(shape).astype(dtype)


def chain_of(random: Random, view: View) -> list[Movement]:
    chain: list[Movement] = []
    for _ in range(random.randint(1, LONGEST)):
        movement = random_movement(random, view)
        view = movement.view(view)
        chain.append(movement)
    return chain


@pytest.mark.parametrize("part", range(10))
def test_a_chain_of_movements_is_one_view_that_equals_numpy(part: int) -> None:
    used: set[str] = set()
    for seed in range(part, CHAINS, 10):
        random = Random(seed)
        shape = random_shape(random)
        dtype = random.choice([FLOAT32, INT16, BOOL])
        node = input_node("x", shape, dtype)
        if not is_small(identity(shape)):
            continue
        chain = chain_of(random, identity(shape))
        view = identity(shape)
        for step in chain:
            view = step.view(view)
        graph = Graph((("y", Operand(node, view)),))
        check_graph(graph)
        for n in (0, 1, 2, 7):
            sizes = {**random_sizes(random), "n": n}
            array = filled(numbers(shape, sizes), dtype.name)
            expected = array
            for step in chain:
                expected = step.array(expected, sizes)
            got = evaluate(graph, {"x": array}, {}, sizes, widen=False)[0]["y"]
            where = f"seed {seed}: {shape} {[one.name for one in chain]} at {sizes}: {view}"
            assert got.shape == expected.shape == numbers(view.shape, sizes), where
            assert got.tobytes() == np.ascontiguousarray(expected).tobytes(), where
        used |= {movement.name for movement in chain}
    assert used >= set(KINDS)


def at(shape: views.Shape) -> View:
    return identity(shape)


def test_what_undoes_itself_is_the_identity() -> None:
    shape = (N, 4, 6)
    start = at(shape)
    assert movement.permute(movement.permute(start, (2, 0, 1)), (1, 2, 0)) == start
    assert movement.flip(movement.flip(start, 1), 1) == start
    assert movement.reshape(movement.reshape(start, (mul(N, 24),)), shape) == start
    assert movement.reshape(movement.reshape(start, (mul(N, 2), 2, 6)), shape) == start
    assert movement.shrink(movement.pad(start, 0, 2, 1), 0, 2, 1, N) == start
    assert movement.select(movement.expand(start, (5, N, 4, 6)), 0, 3) == start


def test_a_split_axis_reads_affinely() -> None:
    split = movement.reshape(at((N, 12)), (N, 3, 4))
    i, j, k = (views.axis_variable(axis, extent) for axis, extent in enumerate(split.shape))
    assert split.index == (i, add(mul(j, 4), k))


def test_bounds_that_always_hold_are_dropped() -> None:
    assert movement.windows(at((N, 8)), 1, 3, 1, 1).bounds == ()
    assert movement.pad(at((4,)), 0, 0, 0).bounds == ()
    assert len(movement.pad(at((4,)), 0, 1, 0).bounds) == 1


def test_movements_that_do_not_fit_are_refused() -> None:
    start = at((2, N))
    with pytest.raises(BadArgument, match="order"):
        movement.permute(start, (0, 0))
    with pytest.raises(ShapeMismatch):
        movement.expand(start, (3, N))
    with pytest.raises(ShapeMismatch):
        movement.expand(start, (N,))
    with pytest.raises(CannotReshape):
        movement.reshape(start, (N, 3))
    with pytest.raises(CannotReshape):
        movement.reshape(at((0, 3)), (1,))


def test_a_reshape_with_an_empty_axis_keeps_its_shape() -> None:
    assert movement.reshape(at((0, 3)), (3, 5, 0)).shape == (3, 5, 0)
    assert movement.reshape(at((N, 0)), (0,)).shape == (0,)
