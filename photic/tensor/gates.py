"""Gates of neural networks that are made of straight lines, and ``softsign`` and ``glu``.

Names, defaults and special values are PyTorch's: nan passes every gate, ``hardswish(-inf)`` and
``softsign(inf)`` are nan, as products of infinity and 0. Halves go through float32; integers become
float32, but keep their dtype where a gate only selects.
"""

from __future__ import annotations

from photic.base.errors import BadArgument
from photic.tensor.activations import sigmoid
from photic.tensor.compare import clip, less_equal
from photic.tensor.primitive import accumulated, as_float, in_float32, less, reciprocal, where
from photic.tensor.rounding import abs
from photic.tensor.shapes import expand_dims
from photic.tensor.slicing import split
from photic.tensor.tensor import Tensor, Value, tensor


def leaky_relu(x: Value, negative_slope: float = 0.01) -> Tensor:
    """x where it is positive, elsewhere ``negative_slope`` times x."""
    value = as_float(x, "leaky_relu")
    wide = value.astype(accumulated(value.dtype))
    return where(less(0.0, wide), wide, wide * negative_slope).astype(value.dtype)


def prelu(x: Value, weight: Value) -> Tensor:
    """x where it is positive, elsewhere ``weight`` times x.

    A weight of one axis belongs to axis 1 of x, the channels; others broadcast as they are.
    """
    value, slope = as_float(x, "prelu"), tensor(weight, "prelu")
    while slope.ndim and slope.ndim < value.ndim - 1:
        slope = expand_dims(slope, -1)
    return where(less(0.0, value), value, value * slope)


def relu6(x: Value) -> Tensor:
    """x limited to 0 .. 6."""
    return clip(x, 0, 6)


def hardtanh(x: Value, min_val: Value = -1.0, max_val: Value = 1.0) -> Tensor:
    """x limited to ``min_val .. max_val``."""
    return clip(x, min_val, max_val)


# From (-3, 0) to (3, 1) in a straight line.
HARD_REACH, HARD_SLOPE = 3.0, 1 / 6


@in_float32
def hardsigmoid(x: Tensor) -> Tensor:
    """``x/6 + 1/2`` limited to 0 .. 1. For other slopes limit a product and a sum."""
    return clip(x + HARD_REACH, 0.0, 2 * HARD_REACH) * HARD_SLOPE


@in_float32
def hardswish(x: Tensor) -> Tensor:
    """``x*hardsigmoid(x)``. hardswish(-inf) = nan, as -inf*0."""
    return x * hardsigmoid(x)


@in_float32
def softsign(x: Tensor) -> Tensor:
    """``x/(1 + |x|)``. softsign(inf) = nan, as inf/inf."""
    return x * reciprocal(abs(x) + 1.0)


def softshrink(x: Value, lambd: float = 0.5) -> Tensor:
    """x moved towards 0 by ``lambd``, 0 where it is nearer to 0 than that."""
    if lambd < 0:
        raise BadArgument(op="softshrink", argument="lambd", given=lambd, expected="0 or more")
    value = as_float(x, "softshrink")
    wide = value.astype(accumulated(value.dtype))
    rest = where(less(wide, -lambd), wide + lambd, wide * 0.0)
    return where(less(lambd, wide), wide - lambd, rest).astype(value.dtype)


def hardshrink(x: Value, lambd: float = 0.5) -> Tensor:
    """x, but 0 where ``|x| <= lambd``."""
    value = tensor(x, "hardshrink")
    inside = less_equal(-lambd, value) * less_equal(value, lambd)
    return where(inside, 0, value)


def threshold(x: Value, threshold: float, value: float) -> Tensor:
    """x where it is above the threshold, elsewhere ``value``; nan stays."""
    given = tensor(x, "threshold")
    return where(less_equal(given, threshold), value, given)


def glu(x: Value, axis: int = -1) -> Tensor:
    """The first half of an axis times the ``sigmoid`` of the second.

    BadArgument if the axis has no equal halves.
    """
    value = as_float(x, "glu")
    dtype = accumulated(value.dtype)
    first, second = (half.astype(dtype) for half in split(value, 2, axis))
    return (first * sigmoid(second)).astype(value.dtype)
