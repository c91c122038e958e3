"""The transpose of every view: what each element of the source was read for, and how cheaply."""

from __future__ import annotations

import numpy as np
import pytest
from autograd.checking import count_of, disagreement, evaluated, gradients
from hypothesis import given, settings
from hypothesis import strategies as st

import photic as ph
from photic.autograd.solve import solve
from photic.autograd.transpose import transposed
from photic.forms import movement
from photic.forms.errors import CannotReshape
from photic.forms.eval import evaluate
from photic.forms.graph_check import check_graph
from photic.ir.dim import Dim, floordiv, mod, symbol
from photic.ir.dtype import FLOAT64
from photic.ir.graph import Graph, Operand, constant_node, input_node, operand
from photic.ir.view import Bound, View, axis_variables, identity

CLOSE = 2e-9  # of central differences, see test_gradient_rules.py
MOST_ELEMENTS = 400


def value_of(value: Operand, **inputs: np.ndarray) -> np.ndarray:
    graph = Graph((("y", value),))
    check_graph(graph)
    return evaluate(graph, inputs, {}, {}, widen=False)[0]["y"]


def assert_transposed(view: View, source: tuple[int, ...]) -> None:
    """Each element of the result is added to the element that it shows, found by its number."""
    count = int(np.prod(source))
    numbers = np.arange(1.0, count + 1).reshape(source)
    shown = value_of(Operand(input_node("x", source, FLOAT64), view), x=numbers)
    given = np.random.default_rng(0).integers(-9, 9, shown.shape).astype(np.float64)
    expected = np.zeros(count + 1)
    np.add.at(expected, shown.astype(int).ravel(), given.ravel())  # 0 where nothing is shown
    node = input_node("y", view.shape, FLOAT64)
    found = transposed(view, source, [operand(node)], ())
    got = value_of(found.value, y=given) * found.factor
    np.testing.assert_array_equal(got, expected[1:].reshape(source))
    for other in factors_of(node.shape):
        product = transposed(view, source, [operand(node), other], ())
        expected = np.zeros(count + 1)
        np.add.at(expected, shown.astype(int).ravel(), (given * value_of(other)).ravel())
        got = value_of(product.value, y=given) * product.factor
        np.testing.assert_array_equal(got, expected[1:].reshape(source))


def factors_of(shape: tuple[int, ...]) -> list[Operand]:
    """Values to multiply by: of all elements, of the first axis only, and with places cut away."""
    numbers = np.arange(1.0, np.prod(shape) + 1).reshape(shape)
    whole = constant_node(numbers)
    found = [operand(whole)]
    if shape:
        first = constant_node(numbers[(slice(None), *(0,) * (len(shape) - 1))])
        line = movement.reshape(identity(first.shape), (shape[0], *(1,) * (len(shape) - 1)))
        found.append(Operand(first, movement.expand(line, shape)))
        cut = movement.shrink(identity(shape), 0, 0, 1, shape[0] - 1)
        found.append(Operand(whole, movement.pad(cut, 0, 0, 1)))
    return found


# --- any view -------------------------------------------------------------------------------


@st.composite
def views(draw: st.DrawFn) -> tuple[View, tuple[int, ...]]:
    """A chain of movements of a small source."""
    source = tuple(draw(st.lists(st.integers(1, 6), max_size=3)))
    view = identity(source)
    for _ in range(draw(st.integers(1, 5))):
        view = draw(moved(view))
        if np.prod(view.shape) > MOST_ELEMENTS:
            break
    return view, source


@st.composite
def moved(draw: st.DrawFn, view: View) -> View:
    kinds = ["expand", "reshape"]
    if view.rank:
        kinds += ["permute", "shrink", "pad", "flip", "windows", "select", "merge"]
    kind = draw(st.sampled_from(kinds))
    axis = draw(st.integers(0, view.rank - 1)) if view.rank else 0
    extent = view.shape[axis] if view.rank else 1
    assert isinstance(extent, int)
    if kind == "expand":
        return movement.expand(
            movement.reshape(view, (1, *view.shape)), (draw(st.integers(1, 3)), *view.shape)
        )
    if kind == "reshape":
        return reshaped(draw, view)
    if kind == "permute":
        return movement.permute(view, draw(st.permutations(range(view.rank))))
    if kind == "merge":
        rest = view.shape[axis:]
        return movement.reshape(view, (*view.shape[:axis], int(np.prod(rest))))
    if kind == "pad":
        return movement.pad(view, axis, draw(st.integers(0, 3)), draw(st.integers(0, 3)))
    if kind == "flip":
        return movement.flip(view, axis)
    if kind == "select":
        return movement.select(view, axis, draw(st.integers(0, extent - 1)))
    if kind == "windows":
        size, step = draw(st.integers(1, extent)), draw(st.integers(1, 3))
        dilation = draw(st.integers(1, max(1, (extent - 1) // max(1, size - 1))))
        return movement.windows(view, axis, size, step, dilation)
    step, start = draw(st.sampled_from([1, 2, 3, -1, -2])), draw(st.integers(0, extent - 1))
    most = (extent - 1 - start) // step + 1 if step > 0 else start // -step + 1
    return movement.shrink(view, axis, start, step, draw(st.integers(1, most)))


def reshaped(draw: st.DrawFn, view: View) -> View:
    left, shape = int(np.prod(view.shape)), []
    while left > 1 and len(shape) < 3:
        shape.append(draw(st.sampled_from([n for n in range(2, left + 1) if left % n == 0])))
        left //= shape[-1]
    try:
        return movement.reshape(view, (*shape, left) if left > 1 else tuple(shape))
    except CannotReshape:  # pragma: no cover
        raise AssertionError(view.shape) from None


@settings(max_examples=150)
@given(views())
def test_the_transpose_adds_each_element_to_what_it_shows(
    drawn: tuple[View, tuple[int, ...]],
) -> None:
    view, source = drawn
    assert solve(view, source) is not None
    assert_transposed(view, source)


def test_an_index_that_is_not_affine_is_laid_one_by_one() -> None:
    (i,) = axis_variables((7,))
    view = View((7,), ((i * i) % 5,), (Bound(i - 1, 5),))
    assert solve(view, (5,)) is None
    assert_transposed(view, (5,))


# --- how cheaply ----------------------------------------------------------------------------


def sums_of(view: View, source: tuple[object, ...]) -> list[object]:
    """The extents that the transpose sums over."""
    found = solve(view, source)  # type: ignore[arg-type]
    assert found is not None
    return list(found.shape[len(source) :])


n, m = symbol("n", 0, 64), symbol("m", 1, 32)


@pytest.mark.parametrize(
    ("view", "source", "sums"),
    [
        (movement.permute(identity((n, 3, m)), (2, 0, 1)), (n, 3, m), []),
        (movement.reshape(identity((n, m)), (n * m,)), (n, m), []),
        (movement.reshape(identity((n * m,)), (n, m)), (n * m,), []),
        (movement.reshape(identity((6, 4)), (3, 8)), (6, 4), []),
        (movement.flip(identity((n,)), 0), (n,), []),
        (movement.shrink(identity((9,)), 0, 1, 3, 3), (9,), []),
        (movement.pad(identity((n,)), 0, 2, m), (n,), []),
        (movement.select(identity((n, m)), 1, 0), (n, m), []),
        (movement.windows(identity((8,)), 0, 2, 2, 1), (8,), []),
        (movement.expand(identity((n, 1)), (n, m)), (n, 1), [m]),
        (movement.windows(identity((n + 2,)), 0, 3, 1, 1), (n + 2,), [3]),
        (movement.windows(identity((11,)), 0, 3, 2, 1), (11,), [2]),
        (movement.windows(identity((30,)), 0, 5, 3, 2), (30,), [2]),
    ],
)
def test_only_what_must_be_is_summed(
    view: View, source: tuple[object, ...], sums: list[object]
) -> None:
    assert sums_of(view, source) == sums


def test_a_rotation_is_undone_by_a_rotation() -> None:
    (i,) = axis_variables((m,))
    assert sums_of(View((m,), ((i + 3) % m,)), (m,)) == []


def sheared(n: Dim) -> View:
    """Rows of n + 3 read as rows of n + 4: each is one place further on than the one before."""
    i, j, k = axis_variables((4, n + 3, 5))
    flat = (n + 3) * i + j
    row, place = mod(flat, n + 4), floordiv(flat, n + 4) * 5 + k
    return View((4, n + 3, 5), (row, place), (Bound(place, 16), Bound(row, n)))


def test_sizes_that_do_not_cancel_are_solved_too() -> None:
    assert sums_of(sheared(n), (n, 16)) == []
    for rows in (1, 2, 5):
        assert_transposed(sheared(rows), (rows, 16))


def test_a_slice_after_reshapes_is_one_view() -> None:
    x = ph.input("x", (4, 6), "float64")
    view = x.reshape(24)[2:20].reshape(3, 6).operand.view
    assert sums_of(view, (4, 6)) == []


def test_repeated_values_are_counted_not_added() -> None:
    x = ph.input("x", (3,), "float64")
    got = ph.grad(ph.sum(ph.broadcast_to(x, (50, 3)) + 1), x)
    assert count_of("sum", got) == 0
    np.testing.assert_array_equal(evaluated([got], {"x": np.zeros(3)})[0], [50] * 3)


def test_the_gradient_of_a_window_asks_nothing_inside_its_sum() -> None:
    x, w = ph.input("x", (9,), "float64"), ph.input("w", (3,), "float64")
    view = movement.windows(x.operand.view, 0, 3, 1, 1)
    y = ph.sum(ph.Tensor(Operand(x.operand.node, view)) * w, 1)
    node = ph.grad(ph.sum(y * y), x).operand.node
    while node.op != "sum":
        node = node.operands[0].node
    assert [one.view.bounds for one in node.operands[0].node.operands] == [(), ()]


def test_the_gradient_of_a_lookup_sums_over_one_axis_of_terms() -> None:
    table, index = ph.input("t", (50, 6)), ph.input("i", (8, 16), "int64")
    node = ph.grad(ph.sum(ph.square(ph.embedding(index, table))), table).operand.node
    while node.op != "sum":
        node = node.operands[0].node
    assert node.operands[0].shape == (50, 6, 8 * 16)


# --- through functions ----------------------------------------------------------------------


@pytest.mark.parametrize(
    "function",
    [
        lambda x: x[::-2, 1:],
        lambda x: ph.concat([x[:, 2:], x * x, x[:, ::-1][:, :3]], 1),
        lambda x: ph.roll(x, (1, -2), (0, 1)),
        lambda x: ph.tile(x, (2, 3)) * 2,
        lambda x: ph.repeat(x, 3, 1),
        lambda x: ph.pad(x, ((1, 2), (0, 3)), constant_values=4.0),
        lambda x: ph.pad(x, ((1, 0), (2, 3)), "reflect") if x.shape[0] > 1 else x,
        lambda x: ph.stack([x, x * 2, x], 1),
        lambda x: ph.einsum("ij,ij->i", x, x),
        lambda x: ph.tril(x) + ph.triu(x, 1) * 2,
        lambda x: ph.cumsum(x, 1),
        lambda x: ph.cumprod(x + 2, 0),
    ],
)
@pytest.mark.parametrize("shape", [(1, 5), (4, 5)])
def test_movement_in_functions_has_the_right_slope(
    function: object, shape: tuple[int, int]
) -> None:
    x = np.random.default_rng(4).normal(size=shape)
    assert disagreement(function, x) < CLOSE  # type: ignore[arg-type]


def test_diagonals_go_back_to_diagonals() -> None:
    x = np.arange(9.0).reshape(3, 3)
    (got,) = gradients(lambda x: ph.einsum("ii->i", x), x)
    np.testing.assert_array_equal(got, np.eye(3))
