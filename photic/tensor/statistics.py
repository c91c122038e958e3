"""Statistics of several values: weighted means, covariances, correlations.

Halves are computed in float32 and rounded once, integers become float32. A mean comes first, then
distances from it, so that values far from 0 lose nothing.
"""

from __future__ import annotations

from photic.base.errors import BadArgument, ShapeMismatch
from photic.tensor.compare import clip
from photic.tensor.diagonals import diagonal
from photic.tensor.linear import in_floats, matmul
from photic.tensor.primitive import reciprocal, sqrt
from photic.tensor.reductions import divided_by_count, mean, std, sum, var
from photic.tensor.shapes import checked_axes, concat, expand_dims, reshape, transpose
from photic.tensor.tensor import Axes, Tensor, Value, expanded, tensor

MATRIX_RANK = 2


def average(
    x: Value,
    axis: Axes = None,
    weights: Value | None = None,
    returned: bool = False,
    keepdims: bool = False,
) -> Tensor | tuple[Tensor, Tensor]:
    """The mean along axes by weight, as NumPy's; with ``returned`` the sum of the weights too.

    ``weights`` have the shape of ``x``, or that of the axes. Where they sum to 0 it is inf or nan,
    without them the plain mean. ShapeMismatch.
    """
    value = tensor(x, "average")
    dtype, (wide, shares) = in_floats("average", value, 1.0 if weights is None else weights)
    laid = _laid(wide, shares, axis)
    total = sum(laid, axis, keepdims)
    if weights is None:
        found = mean(wide, axis, keepdims)
    else:
        found = sum(wide * laid, axis, keepdims) * reciprocal(total)
    return (found.astype(dtype), total.astype(dtype)) if returned else found.astype(dtype)


def _laid(x: Tensor, weights: Tensor, axis: Axes) -> Tensor:
    """The weights in the shape of ``x``."""
    if weights.ndim == 0 or weights.shape == x.shape:
        return expanded(weights, x.shape)
    axes = checked_axes("average", axis, x.ndim)
    if weights.shape != tuple(x.shape[k] for k in axes):
        raise ShapeMismatch(op="average weights", left=x.shape, right=weights.shape)
    order = sorted(range(len(axes)), key=lambda k: axes[k])
    aligned = transpose(weights, order)
    sizes = tuple(n if k in axes else 1 for k, n in enumerate(x.shape))
    return expanded(reshape(aligned, sizes), x.shape)


def var_mean(
    x: Value, axis: Axes = None, ddof: int = 0, keepdims: bool = False
) -> tuple[Tensor, Tensor]:
    """``var`` and ``mean``; integers give float32."""
    return var(x, axis, ddof, keepdims), mean(x, axis, keepdims)


def std_mean(
    x: Value, axis: Axes = None, ddof: int = 0, keepdims: bool = False
) -> tuple[Tensor, Tensor]:
    """``std`` and ``mean``; integers give float32."""
    return std(x, axis, ddof, keepdims), mean(x, axis, keepdims)


# --- of several variables -------------------------------------------------------------------


def cov(
    m: Value,
    y: Value | None = None,
    rowvar: bool = True,
    bias: bool = False,
    ddof: int | None = None,
) -> Tensor:
    """The covariances of variables, which are rows (columns if not ``rowvar``), as NumPy's.

    ``y`` has more variables. Divided by the count less ``ddof``, which is 1, or 0 with ``bias``; of
    one variable a number of rank 0. There are no weights. BadArgument for a rank above 2.
    """
    dtype, given = in_floats("cov", *((m,) if y is None else (m, y)))
    rows = concat([_variables(one, rowvar) for one in given], 0)
    apart = rows - mean(rows, 1, keepdims=True)
    less = (0 if bias else 1) if ddof is None else ddof
    result = divided_by_count(matmul(apart, transpose(apart)), rows.shape[1] - less)
    return (reshape(result, ()) if result.shape == (1, 1) else result).astype(dtype)


def _variables(x: Tensor, rowvar: bool) -> Tensor:
    if x.ndim > MATRIX_RANK:
        raise BadArgument(op="cov", argument="rank", given=x.ndim, expected="at most 2")
    if x.ndim < MATRIX_RANK:
        return reshape(x, (1, -1))
    return x if rowvar else transpose(x)


def corrcoef(x: Value, y: Value | None = None, rowvar: bool = True) -> Tensor:
    """The correlations of variables, -1 .. 1, laid out as ``cov``; nan where one is constant."""
    dtype, given = in_floats("corrcoef", *((x,) if y is None else (x, y)))
    found = cov(given[0], given[1] if len(given) > 1 else None, rowvar)
    if found.ndim == 0:
        return (found * reciprocal(found)).astype(dtype)
    scale = reciprocal(sqrt(diagonal(found)))
    return clip(found * expand_dims(scale, 1) * scale, -1.0, 1.0).astype(dtype)
