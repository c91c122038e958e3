"""Elements as sets: which are among others, what two sets have in common.

What has a size that only the data know is given a stated one, and the count beside it.
"""

from __future__ import annotations

from photic.ir.dim import Dim
from photic.tensor.compare import equal
from photic.tensor.creation import counted
from photic.tensor.distinct import unique
from photic.tensor.errors import SizeOfMask
from photic.tensor.indexing import looked_up
from photic.tensor.masks import masked_select
from photic.tensor.ordering import sort
from photic.tensor.primitive import less, negated
from photic.tensor.reductions import sum
from photic.tensor.searching import Numbers, line_of, searchsorted
from photic.tensor.shapes import concat, ravel
from photic.tensor.tensor import Tensor, Value, in_dtype, joined_dtype, size_value, tensor


def isin(
    element: Value, test_elements: Numbers, assume_unique: bool = False, invert: bool = False
) -> Tensor:
    """True where an element is one of others (or, ``invert``, is not); nan is nowhere.

    Found in the others put in order, step by step. ``assume_unique`` changes nothing.
    """
    value, others = tensor(element, "isin"), line_of(test_elements, "isin")
    dtype = joined_dtype((value, others), "isin")
    line, wanted = sort(ravel(others.astype(dtype))), in_dtype(value, dtype)
    place = searchsorted(line, wanted)
    found = equal(looked_up(line, place), wanted) * less(place, size_value(line.shape[0]))
    return negated(found) if invert else found


def _distinct(op: str, x: Value, size: Dim | None) -> tuple[Tensor, Tensor]:
    """The distinct elements in order, and which places hold one."""
    value = ravel(tensor(x, op))
    if size is None:
        raise SizeOfMask(op=op, shape=value.shape)
    values, _, _, count = unique(value, value.shape[0])
    return values, less(counted(0, value.shape[0]), count)


def union1d(
    a: Value, b: Value, size: Dim | None = None, fill_value: float = 0
) -> tuple[Tensor, Tensor]:
    """The distinct elements of both in order, and how many; ``fill_value`` follows.

    ``size`` is that of the result; those too many are lost. SizeOfMask without a size.
    """
    first, second = tensor(a, "union1d"), tensor(b, "union1d")
    if size is None:
        raise SizeOfMask(op="union1d", shape=first.shape)
    found = unique(concat([ravel(first), ravel(second)], 0), size, fill_value)
    return found[0], found[3]


def intersect1d(
    a: Value, b: Value, size: Dim | None = None, fill_value: float = 0
) -> tuple[Tensor, Tensor]:
    """The distinct elements that both have, and how many; else as ``union1d``."""
    values, is_there = _distinct("intersect1d", a, size)
    return _picked(values, is_there * isin(values, b), size, fill_value)


def setdiff1d(
    a: Value, b: Value, size: Dim | None = None, fill_value: float = 0
) -> tuple[Tensor, Tensor]:
    """The distinct elements of ``a`` that ``b`` has not, and how many; else as ``union1d``."""
    values, is_there = _distinct("setdiff1d", a, size)
    return _picked(values, is_there * isin(values, b, invert=True), size, fill_value)


def _picked(
    values: Tensor, mask: Tensor, size: Dim | None, fill_value: float
) -> tuple[Tensor, Tensor]:
    return masked_select(values, mask, size, fill_value), sum(mask.astype("int64"))
