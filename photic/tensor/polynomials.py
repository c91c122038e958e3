"""Polynomials by their coefficients, the highest power first, as NumPy's."""

from __future__ import annotations

from photic.base.errors import BadArgument
from photic.tensor.axes import as_integer
from photic.tensor.decompositions import lstsq
from photic.tensor.linear import in_floats
from photic.tensor.primitive import accumulated, reciprocal, sqrt
from photic.tensor.reductions import sum
from photic.tensor.shapes import stack
from photic.tensor.slicing import unbind
from photic.tensor.tensor import (
    Tensor,
    Value,
    expanded,
    fixed,
    in_dtype,
    joined_dtype,
    number,
    tensor,
)


def vander(x: Value, N: int | None = None, increasing: bool = False) -> Tensor:
    """Powers of each element on a new last axis: ``N - 1`` down to 0, or rising.

    ``N``, the number of powers, is the size of the last axis if left out. Halves are multiplied in
    float32. BadArgument, UnknownSize.
    """
    value = tensor(x, "vander")
    if value.ndim == 0:
        raise BadArgument(op="vander", argument="rank", given=0, expected="an axis")
    count = fixed("vander", value.shape[-1]) if N is None else as_integer("vander", "N", N)
    wide = value.astype(accumulated(value.dtype)) if value.dtype.kind == "float" else value
    powers = [expanded(number(1, wide.dtype), wide.shape)]
    while len(powers) < count:
        powers.append(powers[-1] * wide)
    if count < 1:
        return expanded(number(0, value.dtype), (*value.shape, 0))
    ordered = powers if increasing else powers[::-1]
    return stack(ordered[:count], -1).astype(value.dtype)


def polyval(p: Value, x: Value) -> Tensor:
    """``p[0]*x**(n - 1) + ... + p[n - 1]`` by Horner's rule; ``p`` has one axis of known size."""
    coefficients = tensor(p, "polyval")
    if coefficients.ndim != 1:
        raise BadArgument(op="polyval", argument="rank of p", given=coefficients.ndim, expected=1)
    dtype = joined_dtype((coefficients, x), "polyval")
    wide = accumulated(dtype) if dtype.kind == "float" else dtype
    value = in_dtype(x, dtype).astype(wide)
    result = expanded(number(0, wide), value.shape)
    for one in unbind(coefficients.astype(wide)):
        result = result * value + one
    return result.astype(dtype)


def polyfit(x: Value, y: Value, deg: int) -> Tensor:
    """The coefficients of the polynomial of this degree nearest to the points, by least squares.

    ``x`` is (n,), ``y`` (n,) or (n, k). Columns are scaled to length 1 first, as NumPy does. Needs
    more than ``deg`` different places, else inf or nan. ShapeMismatch, BadArgument.
    """
    dtype, (places, values) = in_floats("polyfit", x, y)
    degree = as_integer("polyfit", "deg", deg)
    if degree < 0 or places.ndim != 1:
        given = (places.ndim, degree)
        raise BadArgument(
            op="polyfit", argument="rank of x, deg", given=given, expected="1, 0 or more"
        )
    table = vander(places, degree + 1)
    scale = reciprocal(sqrt(sum(table * table, 0)))
    found = lstsq(table * scale, values)
    return (found * (scale if found.ndim == 1 else scale[:, None])).astype(dtype)
