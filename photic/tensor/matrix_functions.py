"""Functions of whole matrices: norms, conditions, exponentials, solutions over several axes.

Halves are computed in float32 and rounded once, integers become float32.
"""

from __future__ import annotations

import math

from photic.base.errors import BadArgument
from photic.ir.dim import product
from photic.ir.dtype import FLOAT32, INT64, DType
from photic.tensor.axes import as_integer
from photic.tensor.creation import counted, eye
from photic.tensor.decompositions import (
    checked_square,
    cholesky_solve,
    inv,
    slogdet,
    solve,
)
from photic.tensor.linear import in_floats, matmul
from photic.tensor.loops import Tensors, scan
from photic.tensor.magnitudes import norm
from photic.tensor.primitive import exp2, less, log2, reciprocal, where
from photic.tensor.reductions import max, sum
from photic.tensor.rotations import svdvals
from photic.tensor.rounding import abs, ceil
from photic.tensor.shapes import checked_axes, reshape, transpose
from photic.tensor.tensor import Axes, Tensor, Value, expanded, tensor


def vector_norm(x: Value, axis: Axes = None, keepdims: bool = False, ord: float = 2) -> Tensor:
    """``norm`` of vectors: along several axes, or of all elements, as of one axis."""
    value = tensor(x, "vector_norm")
    axes = checked_axes("vector_norm", axis, value.ndim)
    rest = [k for k in range(value.ndim) if k not in axes]
    laid = transpose(value, [*rest, *axes])
    flat = reshape(laid, (*laid.shape[: len(rest)], product(laid.shape[len(rest) :])))
    result = norm(flat, ord, -1)
    kept = tuple(1 if k in axes else n for k, n in enumerate(value.shape))
    return reshape(result, kept) if keepdims else result


def matrix_norm(x: Value, keepdims: bool = False, ord: float | str = "fro") -> Tensor:
    """``norm`` of the matrices on the last two axes."""
    return norm(x, ord, (-2, -1), keepdims)


def cond(x: Value, p: float | str | None = None) -> Tensor:
    """How far a relative change of ``x`` (..., n, n) may grow in its inverse: ``|x|*|inv(x)|``.

    ``p`` is the ``ord`` of ``norm``. None, 2 and -2 are ratios of singular values, of any shape:
    the largest over the smallest, or the opposite. Of a singular matrix inf or nan. BadArgument.
    """
    dtype, (value,) = in_floats("cond", x)
    if p in (None, 2, -2):
        s = svdvals(value)
        ends = s[..., 0], s[..., -1]
        top, bottom = ends if p != -2 else ends[::-1]
        return (top * reciprocal(bottom)).astype(dtype)
    checked_square("cond", value)
    return (matrix_norm(value, ord=p) * matrix_norm(inv(value), ord=p)).astype(dtype)


def logdet(a: Value) -> Tensor:
    """The logarithm of the determinant; nan where that is negative, -inf where it is 0."""
    sign, logarithm = slogdet(a)
    return where(less(sign, 0.0), math.nan, logarithm)


def cholesky_inverse(factor: Value, upper: bool = False) -> Tensor:
    """The inverse of the matrix whose ``cholesky(a, upper)`` is given, as PyTorch's."""
    dtype, (value,) = in_floats("cholesky_inverse", factor)
    size = checked_square("cholesky_inverse", value)
    whole = expanded(eye(size, dtype=value.dtype), value.shape)
    return cholesky_solve(whole, value, upper).astype(dtype)


# --- the exponential ------------------------------------------------------------------------

# Of Pade's approximant of degree 13 (Higham 2005, table 2.3 and section 3), of 7 for float32: the
# norms up to which they are right to rounding.
PADE: dict[DType, tuple[int, float]] = {FLOAT32: (7, 3.925724783138660)}
LARGEST_PADE = (13, 5.371920351148152)
MOST_SQUARINGS = 20


def matrix_exp(a: Value) -> Tensor:
    """``1 + a + a @ a/2! + ...`` of matrices (..., n, n), by scaling and squaring (Higham 2005).

    Right relative to the norm of the result, and worse by what squarings lose: meant for norms up
    to some hundreds, and not beyond four million. BadArgument.
    """
    dtype, (value,) = in_floats("matrix_exp", a)
    size = checked_square("matrix_exp", value)
    degree, reach = PADE.get(value.dtype, LARGEST_PADE)
    length = max(sum(abs(value), -2, keepdims=True), -1, keepdims=True)
    turns = ceil(log2(where(less(reach, length), length * (1 / reach), 1.0)))
    turns = where(less(turns, MOST_SQUARINGS), turns, float(MOST_SQUARINGS))
    scaled = value * exp2(-turns)
    start = _pade(scaled, expanded(eye(size, dtype=value.dtype), value.shape), degree)

    def body(carried: Tensors, sliced: Tensors) -> tuple[Tensors, Tensors]:
        (power,), (k,) = carried, sliced
        return (where(less(k, turns.astype(INT64)), matmul(power, power), power),), ()

    return scan(body, (start,), (counted(0, MOST_SQUARINGS),))[0][0].astype(dtype)


def _pade(a: Tensor, one: Tensor, degree: int) -> Tensor:
    """``(V - U)**-1 @ (V + U)`` with the even terms V and the odd ones U."""
    squared = matmul(a, a)
    weights = [
        math.factorial(2 * degree - k) / (math.factorial(k) * math.factorial(degree - k))
        for k in range(degree + 1)
    ]
    odd, even = one * weights[degree], one * weights[degree - 1]
    for k in range(degree - 3, -1, -2):
        odd = matmul(odd, squared) + one * weights[k + 1]
        even = matmul(even, squared) + one * weights[k]
    odd = matmul(a, odd)
    return solve(even - odd, even + odd)


# --- several axes as one --------------------------------------------------------------------


def tensorinv(a: Value, ind: int = 2) -> Tensor:
    """The inverse of a tensor as a map from its axes after the first ``ind`` to these, as NumPy's.

    BadArgument where both have not the same number of elements.
    """
    value, count = tensor(a, "tensorinv"), as_integer("tensorinv", "ind", ind)
    first, rest = value.shape[:count], value.shape[count:]
    if count < 1 or product(first) != product(rest):
        raise BadArgument(op="tensorinv", argument="ind", given=ind, expected="halves of one size")
    matrix = reshape(value, (product(first), product(rest)))
    return reshape(inv(matrix), (*rest, *first))


def tensorsolve(a: Value, b: Value, axes: Axes = None) -> Tensor:
    """The x with ``tensordot(a, x, x.ndim) == b``, as NumPy's; ``axes`` of a are put last first.

    BadArgument where a is not as tall as wide.
    """
    value, right = tensor(a, "tensorsolve"), tensor(b, "tensorsolve")
    if axes is not None:
        moved = checked_axes("tensorsolve", axes, value.ndim)
        value = transpose(value, [*(k for k in range(value.ndim) if k not in moved), *moved])
    shape = value.shape[right.ndim :]
    if product(shape) != product(right.shape) or value.shape[: right.ndim] != right.shape:
        raise BadArgument(
            op="tensorsolve", argument="a", given=value.shape, expected="a square map"
        )
    matrix = reshape(value, (product(right.shape), product(shape)))
    return reshape(solve(matrix, reshape(right, (-1,))), shape)
