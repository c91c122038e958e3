"""Values quantised by the range that they turn out to have, and products with such values."""

from __future__ import annotations

from dataclasses import dataclass

from photic.ir.dtype import FLOAT32, FLOAT64, INT32, UINT8
from photic.tensor import arithmetic, compare, creation, linear, primitive, reductions, rounding
from photic.tensor.tensor import Tensor

UINT8_MOST = 255.0


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
    high = compare.maximum(reductions.max(x), 0.0)
    low = compare.minimum(reductions.min(x), 0.0)
    scale = exactly_divided(high - low, creation.constant(UINT8_MOST))
    divisor = primitive.where(compare.equal(scale, 0.0), 1.0, scale)
    zero = compare.clip(rounding.round(exactly_divided(0.0 - low, divisor)), 0.0, UINT8_MOST)
    whole = rounding.round(exactly_divided(x, divisor)) + zero
    integers = compare.clip(whole, 0.0, UINT8_MOST).astype(UINT8)
    return Quantised(integers, scale, zero.astype(UINT8))


@dataclass(frozen=True, slots=True)
class DynamicWeight:
    """A weight (inputs, rows) of integers; what it multiplies is quantised by its range first.

    ``scale`` and ``zero`` are one number each, or one for each row.
    """

    integers: Tensor
    scale: Tensor
    zero: Tensor


def dynamic_product(x: Tensor, weight: DynamicWeight) -> Tensor:
    """x times the weight: integers are multiplied and summed, the scales come after."""
    narrow = quantised_by_range(x)
    left = narrow.integers.astype(INT32) - narrow.zero.astype(INT32)
    right = weight.integers.astype(INT32) - weight.zero.astype(INT32)
    return linear.matmul(left, right).astype(FLOAT32) * (narrow.scale * weight.scale)
