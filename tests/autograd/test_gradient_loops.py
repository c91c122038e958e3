"""The gradient of ``scan``: any number of trips, what is carried, sliced, stacked and read."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from autograd.checking import (
    by_torch,
    count_of,
    disagreement,
    evaluated,
    named,
    of_weighted,
    weighted,
)

import photic as ph
from photic.ir.graph import Scan, topological

CLOSE = 2e-9  # of central differences, see test_gradient_rules.py

random = np.random.default_rng(5)
Tensors = Sequence[ph.Tensor]


def recurrent(h: ph.Tensor, xs: ph.Tensor, w: ph.Tensor) -> ph.Tensor:
    """A state that is carried and stacked, a sequence, and a matrix from outside."""

    def body(carried: Tensors, sliced: Tensors) -> tuple[Tensors, Tensors]:
        h = ph.tanh(carried[0] @ w + sliced[0])
        return (h,), (h * 2,)

    (last,), (rows,) = ph.scan(body, (h,), (xs,))
    return rows * last


def test_what_is_carried_sliced_and_read_has_the_right_slope() -> None:
    arrays = random.normal(size=3), random.normal(size=(4, 3)), random.normal(size=(3, 3))
    assert disagreement(recurrent, *arrays) < CLOSE


def sums_of(gradients: Tensors) -> list[int]:
    """For each loop that gradients are made of, the sums in its body."""
    nodes = topological([one.operand.node for one in gradients])
    bodies = [one.attribute for one in nodes if isinstance(one.attribute, Scan)]
    roots = [[one.node for one in body.outputs] for body in bodies]
    return [sum(node.op == "sum" for node in topological(one)) for one in roots]


WIDE = (2, 17), (3, 2, 17), (17, 17)  # sums long enough to be kept


def test_a_long_sum_of_few_elements_is_not_computed_again() -> None:
    variables = [ph.input(name, shape) for name, shape in zip("hxw", WIDE, strict=True)]
    found = ph.grad(ph.sum(recurrent(*variables)), variables)
    assert max(sums_of(found)) == 2  # of the state, and of the matrix
    short = [ph.input(name, shape) for name, shape in zip("hxw", [(2, 3), (3, 2, 3), (3, 3)])]
    assert max(sums_of(ph.grad(ph.sum(recurrent(*short)), short))) == 3


@pytest.mark.peers
def test_sums_that_are_kept_have_torchs_slopes() -> None:
    import torch

    def peer(h: torch.Tensor, xs: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
        rows = []
        for x in xs:
            h = torch.tanh(h @ w + x)
            rows.append(h * 2)
        return torch.stack(rows) * h

    own = np.random.default_rng(6)  # what other tests draw stays as it is
    arrays = [own.normal(size=one) / 4 for one in WIDE]
    for one, other in zip(of_weighted(recurrent, *arrays), by_torch(peer, *arrays), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-12)  # float64; sums' orders


def test_an_lstm_has_the_right_slope() -> None:
    def lstm(h: ph.Tensor, c: ph.Tensor, xs: ph.Tensor, w: ph.Tensor) -> ph.Tensor:
        def body(carried: Tensors, sliced: Tensors) -> tuple[Tensors, Tensors]:
            h, c = carried
            i, f, g, o = ph.split(ph.concat([h, sliced[0]], 1) @ w, 4, 1)
            c = ph.sigmoid(f) * c + ph.sigmoid(i) * ph.tanh(g)
            h = ph.sigmoid(o) * ph.tanh(c)
            return (h, c), (h,)

        _, (rows,) = ph.scan(body, (h, c), (xs,))
        return rows

    shapes = (2, 3), (2, 3), (4, 2, 2), (5, 12)
    assert disagreement(lstm, *(random.normal(size=one) for one in shapes)) < CLOSE


def test_values_that_do_not_vary_are_carried_too() -> None:
    """A counter, a value that only integers read, and one that is replaced."""

    def counted(x: ph.Tensor, xs: ph.Tensor) -> ph.Tensor:
        def body(carried: Tensors, sliced: Tensors) -> tuple[Tensors, Tensors]:
            k, y, old = carried
            factor = (k + 1).astype("float64")
            return (k + 1, y * factor + sliced[0], sliced[0]), (y * old,)

        (k, y, old), (rows,) = ph.scan(body, (ph.constant(0), x, x), (xs,))
        return y + old + rows + k

    assert disagreement(counted, random.normal(size=2), random.normal(size=(5, 2))) < CLOSE


def test_views_around_a_loop_are_transposed() -> None:
    def flipped(x: ph.Tensor) -> ph.Tensor:
        def body(carried: Tensors, sliced: Tensors) -> tuple[Tensors, Tensors]:
            y = carried[0] * sliced[0][::-1] + x[0, 1]
            return (y,), (y[:1],)

        (last,), (rows,) = ph.scan(body, (x[0],), (ph.swapaxes(x, 0, 1)[1:, :2],))
        return ph.concat([rows[::-1, 0], last], 0)

    assert disagreement(flipped, random.normal(size=(2, 2))) < CLOSE


def test_loops_inside_loops_have_the_right_slope() -> None:
    def nested(x: ph.Tensor, w: ph.Tensor) -> ph.Tensor:
        def outer(carried: Tensors, sliced: Tensors) -> tuple[Tensors, Tensors]:
            def inner(own: Tensors, _: Tensors) -> tuple[Tensors, Tensors]:
                return (ph.sin(own[0]) * carried[0] + sliced[0] * w,), (own[0],)

            (last,), (rows,) = ph.scan(inner, (carried[0],), trips=3)
            return (last + w,), (ph.sum(rows, 0),)

        (last,), (rows,) = ph.scan(outer, (x[0],), (x,))
        return rows + last

    arrays = random.normal(size=(3, 2)), random.normal(size=2)
    assert disagreement(nested, *arrays) < CLOSE


def test_a_second_derivative_goes_through_a_loop_backward() -> None:
    def squared_slope(h: ph.Tensor, xs: ph.Tensor, w: ph.Tensor) -> ph.Tensor:
        return ph.square(ph.grad(weighted(recurrent(h, xs, w)), w))

    arrays = random.normal(size=2), random.normal(size=(3, 2)), random.normal(size=(2, 2))
    assert disagreement(squared_slope, *arrays) < CLOSE


def test_a_gradient_may_be_taken_inside_a_loop() -> None:
    """Steps of gradient descent, and the gradient through them."""

    def descended(x: ph.Tensor, rate: ph.Tensor) -> ph.Tensor:
        def body(carried: Tensors, _: Tensors) -> tuple[Tensors, Tensors]:
            (x,) = carried
            slope = ph.grad(ph.sum(ph.square(ph.square(x) - 2.0)), x)
            return (x - slope * rate,), ()

        (last,), _ = ph.scan(body, (x,), trips=4)
        return last

    assert disagreement(descended, np.array([1.0, 0.7]), np.array(0.02)) < CLOSE


@pytest.mark.parametrize("trips", [0, 1, 6])
def test_the_number_of_trips_may_be_symbolic(trips: int) -> None:
    n = ph.dim("n", 0, 9)
    shapes = (3,), (n, 3), (3, 3)
    symbolic = [ph.input(f"x{k}", shape, "float64") for k, shape in enumerate(shapes)]
    arrays = [random.normal(size=shape) for shape in ((3,), (trips, 3), (3, 3))]
    fixed = [ph.input(f"x{k}", one.shape, "float64") for k, one in enumerate(arrays)]
    got = ph.grad(ph.sum(recurrent(*symbolic)) + ph.sum(symbolic[0]), symbolic)
    want = ph.grad(ph.sum(recurrent(*fixed)) + ph.sum(fixed[0]), fixed)
    for one, other in zip(
        evaluated(got, named(arrays), n=trips), evaluated(want, named(arrays)), strict=True
    ):
        np.testing.assert_allclose(one, other, rtol=1e-13)


def test_a_loop_and_its_gradient_share_the_way_forward() -> None:
    shapes = (3,), (4, 3), (3, 3)
    handles = [ph.input(f"x{k}", shape) for k, shape in enumerate(shapes)]
    loss = ph.sum(recurrent(*handles))
    assert count_of("scan", loss, *ph.grad(loss, handles)) == 3
    value, found = ph.value_and_grad(loss, handles)
    assert count_of("scan", value, *found) == 2
    arrays = [random.normal(size=shape).astype(np.float32) for shape in shapes]
    before, after = evaluated([loss, value], named(arrays))
    np.testing.assert_array_equal(before, after)


def test_nothing_is_kept_that_the_way_back_does_not_read() -> None:
    x, xs = ph.input("x", (3,)), ph.input("xs", (4, 3))
    (last,), _ = ph.scan(lambda c, s: ((c[0] + s[0],), ()), (x,), (xs,))
    loss = ph.sum(last)
    assert count_of("scan", *ph.grad(loss, [x, xs])) == 1  # a sum needs no values
