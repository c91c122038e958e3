"""Axes counted from the end, and shapes with one extent left open."""

from __future__ import annotations

import pytest

from photic.forms.errors import CannotReshape
from photic.ir.dim import mul, symbol
from photic.ir.view import Shape
from photic.tensor.axes import checked_axis, infer_shape
from photic.tensor.errors import AxisOutOfRange

N = symbol("n", 0, 9)


def test_an_unknown_extent_is_inferred_from_the_others() -> None:
    assert infer_shape((N, 12), (-1, 4)) == (mul(N, 3), 4)
    assert infer_shape((N, 12), (12, N)) == (12, N)
    assert infer_shape((), (1, -1)) == (1, 1)


@pytest.mark.parametrize(
    "old, given",
    [((6,), (4, -1)), ((6,), (-1, -1)), ((0, 3), (0, -1)), ((N,), (2, -1)), ((6,), (4, 2))],
)
def test_an_extent_that_cannot_be_inferred_is_refused(old: Shape, given: Shape) -> None:
    with pytest.raises(CannotReshape):
        infer_shape(old, given)


def test_an_axis_counts_from_either_end() -> None:
    assert [checked_axis("sum", axis, 2) for axis in (-2, -1, 0, 1)] == [0, 1, 0, 1]


@pytest.mark.parametrize("axis", [-3, 2])
def test_an_axis_outside_the_rank_is_refused(axis: int) -> None:
    with pytest.raises(AxisOutOfRange):
        checked_axis("sum", axis, 2)
