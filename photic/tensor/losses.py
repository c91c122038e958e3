"""Losses by distance and margin: how far predictions lie from targets, as PyTorch defines them.

``reduction`` is "mean", "sum" or "none" of the elements. Shapes broadcast and dtypes promote;
halves are computed and summed in float32 and rounded once. The mean of nothing is nan. Losses of
probabilities are in ``likelihoods.py``.
"""

from __future__ import annotations

from collections.abc import Callable

from photic.base.errors import BadArgument
from photic.ir.dtype import DType
from photic.tensor.compare import equal, less_equal, maximum, minimum, not_equal
from photic.tensor.creation import counted
from photic.tensor.elementary import rsqrt
from photic.tensor.indexing import index_tensor, take, take_along_axis
from photic.tensor.norms import p_norm
from photic.tensor.primitive import accumulated, as_float, less, reciprocal, where
from photic.tensor.reductions import mean, sum
from photic.tensor.rounding import abs
from photic.tensor.shapes import expand_dims, reshape
from photic.tensor.tensor import Tensor, Value, tensor, together


def wide(op: str, *values: Value) -> tuple[DType, tuple[Tensor, ...]]:
    """Values in their common float dtype, broadcast; that dtype, and they in the computation's."""
    given = [as_float(one, op) for one in together(op, *values)]
    dtype = given[0].dtype
    return dtype, tuple(one.astype(accumulated(dtype)) for one in given)


def combined(op: str, values: Tensor, reduction: str, dtype: DType) -> Tensor:
    """The losses of all elements as ``reduction`` says, rounded to ``dtype``."""
    if reduction not in REDUCTIONS:
        raise BadArgument(
            op=op, argument="reduction", given=repr(reduction), expected="'mean', 'sum' or 'none'"
        )
    return REDUCTIONS[reduction](values).astype(dtype)


REDUCTIONS: dict[str, Callable[[Tensor], Tensor]] = {
    "mean": mean,
    "sum": sum,
    "none": lambda x: x,
}


# --- element by element ---------------------------------------------------------------------


def mse_loss(x: Value, target: Value, reduction: str = "mean") -> Tensor:
    """The square of the distance."""
    dtype, (a, b) = wide("mse_loss", x, target)
    distance = a - b
    return combined("mse_loss", distance * distance, reduction, dtype)


def l1_loss(x: Value, target: Value, reduction: str = "mean") -> Tensor:
    """The distance."""
    dtype, (a, b) = wide("l1_loss", x, target)
    return combined("l1_loss", abs(a - b), reduction, dtype)


def smooth_l1_loss(x: Value, target: Value, reduction: str = "mean", beta: float = 1.0) -> Tensor:
    """``distance**2/(2*beta)`` below ``beta``, else ``distance - beta/2``; 0 for beta is l1."""
    _at_least("smooth_l1_loss", "beta", beta, 0)
    if beta == 0:
        return l1_loss(x, target, reduction)
    dtype, (a, b) = wide("smooth_l1_loss", x, target)
    distance = abs(a - b)
    near = distance * distance * (0.5 / beta)
    loss = where(less(distance, beta), near, distance - 0.5 * beta)
    return combined("smooth_l1_loss", loss, reduction, dtype)


def huber_loss(x: Value, target: Value, reduction: str = "mean", delta: float = 1.0) -> Tensor:
    """``distance**2/2`` up to ``delta``, else ``delta*(distance - delta/2)``."""
    if not delta > 0:
        raise BadArgument(op="huber_loss", argument="delta", given=delta, expected="above 0")
    dtype, (a, b) = wide("huber_loss", x, target)
    distance = abs(a - b)
    near = distance * distance * 0.5
    loss = where(less_equal(distance, delta), near, (distance - 0.5 * delta) * delta)
    return combined("huber_loss", loss, reduction, dtype)


def _at_least(op: str, argument: str, given: float, least: float) -> None:
    if not given >= least:
        raise BadArgument(op=op, argument=argument, given=given, expected=f"{least} or more")


# --- by margin ------------------------------------------------------------------------------


def hinge_embedding_loss(
    x: Value, target: Value, margin: float = 1.0, reduction: str = "mean"
) -> Tensor:
    """x where the target is 1, ``max(0, margin - x)`` where it is -1; elsewhere both added."""
    dtype, (a, sign) = wide("hinge_embedding_loss", x, target)
    apart = where(not_equal(sign, 1.0), maximum(margin - a, 0.0), 0.0)
    loss = apart + where(not_equal(sign, -1.0), a, 0.0)
    return combined("hinge_embedding_loss", loss, reduction, dtype)


def margin_ranking_loss(
    first: Value, second: Value, target: Value, margin: float = 0.0, reduction: str = "mean"
) -> Tensor:
    """``max(0, margin - target*(first - second))``: 1 wants the first larger, -1 the second."""
    dtype, (a, b, sign) = wide("margin_ranking_loss", first, second, target)
    return combined("margin_ranking_loss", maximum(margin - sign * (a - b), 0.0), reduction, dtype)


def triplet_margin_loss(
    anchor: Value,
    positive: Value,
    negative: Value,
    margin: float = 1.0,
    p: float = 2.0,
    eps: float = 1e-6,
    swap: bool = False,
    reduction: str = "mean",
) -> Tensor:
    """``max(0, margin + |anchor - positive| - |anchor - negative|)`` over the last axis.

    Distances are p-norms of the differences plus ``eps``; with ``swap`` the negative's is the
    smaller one of those to anchor and positive.
    """
    dtype, (a, b, c) = wide("triplet_margin_loss", anchor, positive, negative)
    near, far = _distance(a, b, p, eps), _distance(a, c, p, eps)
    if swap:
        far = minimum(far, _distance(b, c, p, eps))
    loss = maximum(margin + near - far, 0.0)
    return combined("triplet_margin_loss", loss, reduction, dtype)


def _distance(a: Tensor, b: Tensor, p: float, eps: float) -> Tensor:
    length = p_norm(a - b + eps, p, -1)
    return reshape(length, length.shape[:-1])


# --- by angle -------------------------------------------------------------------------------


def cosine_similarity(x: Value, y: Value, axis: int = 1, eps: float = 1e-8) -> Tensor:
    """The cosine of the angle between vectors along an axis; lengths below ``eps`` count as it."""
    dtype, (a, b) = wide("cosine_similarity", x, y)
    first, second = (one * reciprocal(maximum(p_norm(one, 2.0, axis), eps)) for one in (a, b))
    return sum(first * second, axis).astype(dtype)


SQUARE_EPS = 1e-12  # PyTorch adds it to the squares of both lengths


def cosine_embedding_loss(
    x: Value, y: Value, target: Value, margin: float = 0.0, reduction: str = "mean"
) -> Tensor:
    """1 - cosine where the target is 1, ``max(0, cosine - margin)`` where it is -1.

    Vectors lie on the last axis, which ``target`` does not have.
    """
    dtype, (a, b) = wide("cosine_embedding_loss", x, y)
    squares = (sum(a * a, -1) + SQUARE_EPS) * (sum(b * b, -1) + SQUARE_EPS)
    _, (cosine, sign) = wide("cosine_embedding_loss", sum(a * b, -1) * rsqrt(squares), target)
    alike = where(equal(sign, 1.0), 1.0 - cosine, 0.0)
    apart = where(equal(sign, -1.0), maximum(cosine - margin, 0.0), 0.0)
    return combined("cosine_embedding_loss", alike + apart, reduction, dtype)


def multi_margin_loss(
    x: Value,
    target: Value,
    p: int = 1,
    margin: float = 1.0,
    weight: Value | None = None,
    reduction: str = "mean",
) -> Tensor:
    """The mean over other classes of ``max(0, margin - x[target] + x[class])**p``.

    x is (batch, classes) or (classes,), ``target`` integers without the classes; ``p`` 1 or 2;
    ``weight`` (classes,) weighs a target's margins. BadArgument.
    """
    if p not in (1, 2):
        raise BadArgument(op="multi_margin_loss", argument="p", given=p, expected="1 or 2")
    dtype, (a,) = wide("multi_margin_loss", x)
    place = expand_dims(index_tensor("multi_margin_loss", target), -1)
    apart = maximum(margin - take_along_axis(a, place, -1) + a, 0.0)
    apart = apart if p == 1 else apart * apart
    if weight is not None:
        apart = apart * take(tensor(weight).astype(a.dtype), place)
    others = where(equal(counted(0, a.shape[-1]), place), 0.0, apart)
    return combined("multi_margin_loss", mean(others, -1), reduction, dtype)
