"""Values quantised by the range that they turn out to have, and products with such values."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from photic.frontends.onnx.value import Value
from photic.ir.dtype import FLOAT32, FLOAT64, INT32, UINT8
from photic.tensor import arithmetic, compare, creation, linear, primitive, reductions, rounding
from photic.tensor.tensor import Tensor

UINT8_MOST = 255.0
MOST_OF_8_BITS = 255  # apart
EXACT = 1 << 24  # float32 holds every integer up to it


def exactly_divided(x: Tensor, scale: Tensor) -> Tensor:
    """The quotient rounded once to float32: a tie must not move to the other side."""
    return arithmetic.divide(x.astype(FLOAT64), scale.astype(FLOAT64)).astype(FLOAT32)


@dataclass(frozen=True, slots=True)
class Quantised:
    """uint8 numbers of which ``(integers - zero) * scale`` is the value."""

    integers: Tensor
    scale: Tensor
    zero: Tensor


def quantised_by_range(x: Tensor) -> Quantised:
    """To uint8 by the range of all elements, which always holds 0."""
    high = compare.clip(reductions.max(x), min=0.0)
    low = compare.clip(reductions.min(x), max=0.0)
    scale = exactly_divided(high - low, creation.constant(UINT8_MOST))
    divisor = primitive.where(compare.equal(scale, 0.0), 1.0, scale)
    zero = compare.clip(rounding.round(exactly_divided(0.0 - low, divisor)), 0.0, UINT8_MOST)
    whole = rounding.round(exactly_divided(x, divisor)) + zero
    integers = compare.clip(whole, 0.0, UINT8_MOST).astype(UINT8)
    return Quantised(integers, scale, zero.astype(UINT8))


@dataclass(frozen=True, slots=True)
class DynamicWeight:
    """A weight (inputs, rows) of integers; what it multiplies is quantised by its range first.

    ``scale`` and ``zero`` are one number each, or one for each row; ``most`` is ``largest_sum``.
    """

    integers: Tensor
    scale: Tensor
    zero: Tensor
    most: float


def largest_sum(weight: Value, zero: Value | None) -> float:
    """The most that a column of a weight (.., inputs, rows) sums up to, each less its zero point.

    Infinite for what the model does not hold.
    """
    if not isinstance(weight.held, np.ndarray) or weight.held.ndim < 2 or weight.held.size == 0:
        return math.inf
    if zero is None:
        return float(np.abs(weight.held.astype(np.float64)).sum(-2).max())
    if not isinstance(zero.held, np.ndarray) or zero.held.ndim > 1:
        return math.inf
    less = weight.held.astype(np.float64) - zero.held.astype(np.float64)
    return float(np.abs(less).sum(-2).max())


def integer_product(left: Tensor, right: Tensor, most: float) -> Tensor:
    """A product of int32 numbers, those on the left of 8 bits less their zero point; exact.

    Where no sum can pass what float32 holds exactly, in any order, float32 multiplies them, which
    is twice as fast, and it is a float32. ``most`` is ``largest_sum`` of the right side.
    """
    if MOST_OF_8_BITS * most > EXACT:
        return linear.matmul(left, right)
    return linear.matmul(left.astype(FLOAT32), right.astype(FLOAT32))


def dynamic_product(x: Tensor, weight: DynamicWeight) -> Tensor:
    """x times the weight: integers are multiplied and summed, the scales come after."""
    narrow = quantised_by_range(x)
    left = narrow.integers.astype(INT32) - narrow.zero.astype(INT32)
    right = weight.integers.astype(INT32) - weight.zero.astype(INT32)
    whole = integer_product(left, right, weight.most).astype(FLOAT32)
    return whole * (narrow.scale * weight.scale)
