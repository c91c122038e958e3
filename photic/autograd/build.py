"""Operands from operands: the primitives, with the few laws that keep a backward graph small.

Zeros and ones vanish, constants fold, views compose. -0.0, the identity of ``add``, is zero here. A
law may drop a NaN or an infinity that is multiplied by a constant 0; nothing else is simplified.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from functools import reduce

import numpy as np

from photic.ir import dim as dims
from photic.ir import graph
from photic.ir.dim import Dim
from photic.ir.dtype import BOOL, FLOAT32, DType
from photic.ir.graph import Operand, Payload, constant_node, operand
from photic.ir.view import Bound, Shape, View, axis_variable, axis_variables, composed

# --- constants ------------------------------------------------------------------------------


def number(value: float, dtype: DType, shape: Shape) -> Operand:
    """One number everywhere."""
    with np.errstate(over="ignore"):
        array = np.array(value).astype(dtype.numpy)
    return Operand(constant_node(array), View(shape, ()))


def nothing(dtype: DType, shape: Shape) -> Operand:
    """The identity of ``add`` everywhere."""
    return number(-0.0, dtype, shape)


def value_of(x: Operand) -> float | None:
    """The number that a value is everywhere, None unless that is plain (a question)."""
    attribute = x.node.attribute
    if not isinstance(attribute, Payload) or x.node.shape != () or x.view.bounds:
        return None
    return float(attribute.array.item())


def is_nothing(x: Operand) -> bool:
    """True for a constant 0, 0.0, -0.0 or False."""
    return value_of(x) == 0


# --- views ----------------------------------------------------------------------------------


def seen(x: Operand, shape: Shape, index: Sequence[Dim], bounds: Sequence[Bound] = ()) -> Operand:
    """The new value, of ``shape``, reads the old one at ``index`` within ``bounds``."""
    return Operand(x.node, composed(x.view, shape, index, bounds))


def through(x: Operand, view: View) -> Operand:
    """A value seen through a view of it."""
    return seen(x, view.shape, view.index, view.bounds)


def repeated(x: Operand, axis: int, extent: Dim) -> Operand:
    """The same along a new axis."""
    shape = (*x.shape[:axis], extent, *x.shape[axis:])
    variables = axis_variables(shape)
    return seen(x, shape, [*variables[:axis], *variables[axis + 1 :]])


def selected(x: Operand, axis: int, at: int) -> Operand:
    """One place of an axis, that axis gone."""
    shape = (*x.shape[:axis], *x.shape[axis + 1 :])
    variables = axis_variables(shape)
    return seen(x, shape, [*variables[:axis], at, *variables[axis:]], [Bound(at, x.shape[axis])])


def joined(x: Operand, first: int) -> Operand:
    """The axes from ``first`` on as one, in row-major order."""
    shape = (*x.shape[:first], dims.product(x.shape[first:]))
    *index, rest = axis_variables(shape)
    places: list[Dim] = []
    for extent in reversed(x.shape[first + 1 :]):
        is_empty = extent == 0  # there is no place, so any will do
        places.append(0 if is_empty else dims.mod(rest, extent))
        rest = 0 if is_empty else dims.floordiv(rest, extent)
    return seen(x, shape, [*index, rest, *reversed(places)])


def backwards(x: Operand) -> Operand:
    """The leading axis from its end to its start."""
    first, *rest = axis_variables(x.shape)
    return seen(x, x.shape, [x.shape[0] - 1 - first, *rest])


def places(extent: Dim, shape: Shape, axis: int) -> Operand:
    """The index of one axis, as int64 values."""
    return Operand(graph.iota_node(extent), View(shape, (axis_variable(axis, extent),)))


# --- primitives -----------------------------------------------------------------------------


def plus(left: Operand, right: Operand) -> Operand:
    """The sum; of bools, or."""
    if is_nothing(left):
        return right
    if is_nothing(right):
        return left
    return operand(graph.binary("add", left, right))


def times(left: Operand, right: Operand) -> Operand:
    """The product of two floats, or of two bools (and)."""
    for one, other in ((left, right), (right, left)):
        value = value_of(one)
        if value == 1:
            return other
        if value == 0:
            return nothing(other.dtype, other.shape)
    a, b = value_of(left), value_of(right)
    if a is not None and b is not None:
        return number(a * b, left.dtype, left.shape)
    return operand(graph.binary("mul", left, right))


_TRUE = number(True, BOOL, ())


def product(values: Iterable[Operand]) -> Operand:
    """The product of values from left to right; of none, true."""
    return reduce(times, values, _TRUE)


def scaled(x: Operand, factor: float) -> Operand:
    """A value times a plain number, rounded to its dtype."""
    return times(x, number(factor, x.dtype, x.shape))


def masked(mask: Operand, x: Operand) -> Operand:
    """The value where the mask is true, the identity of ``add`` elsewhere."""
    known = value_of(mask)
    if known is not None:
        return x if known else nothing(x.dtype, x.shape)
    if is_nothing(x):
        return x
    return operand(graph.binary("mul", mask, x))


def unary(op: str, x: Operand) -> Operand:
    """One of exp2 log2 sin sqrt recip."""
    return operand(graph.unary(op, x))


def less(left: Operand, right: Operand) -> Operand:
    """left < right, as bool."""
    return operand(graph.binary("less_than", left, right))


def less_number(left: float | Operand, right: float | Operand) -> Operand:
    """left < right, where one of them is a plain number."""
    if isinstance(left, Operand):
        assert not isinstance(right, Operand)
        return less(left, number(right, left.dtype, left.shape))
    assert isinstance(right, Operand)
    return less(number(left, right.dtype, right.shape), right)


def is_infinite(x: Operand) -> Operand:
    """True for inf; false for nan."""
    return less_number(_next(math.inf, 0.0, x.dtype), x)


def is_not_above_0(x: Operand) -> Operand:
    """True for 0 and below; false for nan."""
    return less_number(x, _next(0.0, 1.0, x.dtype))


def _next(value: float, toward: float, dtype: DType) -> float:
    """The next number of a float dtype."""
    ends = (np.array(one).astype(dtype.numpy) for one in (value, toward))
    return float(np.nextafter(*ends))


def negated(mask: Operand) -> Operand:
    """The opposite of a bool."""
    return less(mask, number(True, BOOL, mask.shape))


def in_dtype(x: Operand, dtype: DType) -> Operand:
    """The value in another dtype."""
    if x.dtype == dtype:
        return x
    value = value_of(x)
    return operand(graph.cast(x, dtype)) if value is None else number(value, dtype, x.shape)


def reduced(op: str, x: Operand, axis: int) -> Operand:
    """``sum`` or ``max`` over one axis, which goes."""
    return operand(graph.reduce(op, x, axis))


def summed(x: Operand, first: int) -> Operand:
    """The sum over the axes from ``first`` on; halves are rounded once."""
    count = len(x.shape) - first
    is_many_halves = x.dtype.is_half and count > 1
    total = in_dtype(x, FLOAT32) if is_many_halves else x
    for axis in reversed(range(first, len(x.shape))):
        total = reduced("sum", total, axis)
    return in_dtype(total, x.dtype)
