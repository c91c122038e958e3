"""Losses of probabilities: what a prediction says against what came true, as PyTorch defines them.

``reduction`` is "mean", "sum" or "none". Classes lie on axis 1 (axis 0 of a vector). A class index
outside 0..classes-1 has loss 0; ``ignore_index`` also has no part in the mean. Halves are computed
and summed in float32 and rounded once.
"""

from __future__ import annotations

import math

from photic.base.errors import BadArgument, DtypeMismatch, ShapeMismatch
from photic.tensor.activations import softplus
from photic.tensor.compare import equal, maximum, not_equal
from photic.tensor.creation import counted, ones
from photic.tensor.elementary import exp, log, log1p
from photic.tensor.losses import combined, wide
from photic.tensor.norms import in_dtype_of
from photic.tensor.primitive import accumulated, as_float, less, masked, reciprocal, reduced, where
from photic.tensor.reductions import log_softmax, mean, sum
from photic.tensor.shapes import expand_dims, reshape
from photic.tensor.tensor import Tensor, Value, expanded, size_value, tensor

NO_CLASS = -100  # PyTorch's default of ``ignore_index``

# --- one of several classes -----------------------------------------------------------------


def cross_entropy(
    x: Value,
    target: Value,
    weight: Value | None = None,
    ignore_index: int = NO_CLASS,
    reduction: str = "mean",
    label_smoothing: float = 0.0,
) -> Tensor:
    """Minus the logarithm of the softmax of ``x`` at the target class.

    x is (batch, classes, ...) or (classes,). ``target``: integers without the class axis, or
    probabilities in the shape of x. ``weight`` (classes,) weighs each class; the mean is over the
    weights of the classes that came true (over the number of places for probabilities).
    ``label_smoothing`` gives each class its share of so much of the target. Raises BadArgument,
    DtypeMismatch, ShapeMismatch; a row of x that is all -inf gives nan.
    """
    given = as_float(x, "cross_entropy")
    axis = _class_axis("cross_entropy", given)
    if not 0 <= label_smoothing <= 1:
        raise BadArgument(
            op="cross_entropy", argument="label_smoothing", given=label_smoothing, expected="0..1"
        )
    logs = log_softmax(given.astype(accumulated(given.dtype)), axis)
    truth = tensor(target, "cross_entropy")
    weights = _class_weights("cross_entropy", logs, weight, axis)
    if truth.dtype.kind == "float":
        loss, total = _of_probabilities(logs, truth, weights, axis, label_smoothing)
    else:
        loss, total = _of_classes(logs, truth, weights, axis, ignore_index, label_smoothing)
    return _averaged("cross_entropy", loss, total, reduction).astype(given.dtype)


def nll_loss(
    x: Value,
    target: Value,
    weight: Value | None = None,
    ignore_index: int = NO_CLASS,
    reduction: str = "mean",
) -> Tensor:
    """Minus ``x``, logarithms of probabilities, at the target class; else as ``cross_entropy``."""
    given = as_float(x, "nll_loss")
    axis = _class_axis("nll_loss", given)
    logs = given.astype(accumulated(given.dtype))
    weights = _class_weights("nll_loss", logs, weight, axis)
    loss, total = _of_classes(logs, tensor(target, "nll_loss"), weights, axis, ignore_index, 0.0)
    return _averaged("nll_loss", loss, total, reduction).astype(given.dtype)


def _class_axis(op: str, x: Tensor) -> int:
    if x.ndim == 0:
        raise BadArgument(op=op, argument="rank", given=0, expected="an axis of classes")
    return min(1, x.ndim - 1)


def _class_weights(op: str, x: Tensor, weight: Value | None, axis: int) -> Tensor | None:
    """The weights laid along the class axis."""
    if weight is None:
        return None
    value = in_dtype_of(x, weight)
    if value.shape != (x.shape[axis],):
        raise ShapeMismatch(op=f"{op} weight", left=value.shape, right=(x.shape[axis],))
    return reshape(value, (-1, *(1,) * (x.ndim - axis - 1)))


def _weighted(x: Tensor, weights: Tensor | None) -> Tensor:
    return x if weights is None else x * weights


def _of_classes(
    logs: Tensor,
    target: Tensor,
    weights: Tensor | None,
    axis: int,
    ignored: int,
    smoothing: float,
) -> tuple[Tensor, Tensor]:
    """The loss of each place, and the weight of its class."""
    if target.dtype.kind != "int":
        raise DtypeMismatch(op="cross_entropy", given=target.dtype, expected="an integer dtype")
    without = (*logs.shape[:axis], *logs.shape[axis + 1 :])
    if target.shape != without:
        raise ShapeMismatch(op="cross_entropy target", left=target.shape, right=without)
    classes = reshape(counted(0, logs.shape[axis]), (-1, *(1,) * (logs.ndim - axis - 1)))
    is_true = equal(classes, expand_dims(target.astype("int64"), axis))

    def at_target(x: Tensor) -> Tensor:
        return reduced("sum", masked(is_true, x), axis)

    counts = not_equal(target, ignored)
    loss = -at_target(_weighted(logs, weights))
    if smoothing:
        loss = loss * (1 - smoothing) - _share(logs, weights, axis, smoothing)
    total = ones(without, logs.dtype)
    if weights is not None:
        total = at_target(expanded(weights, logs.shape))
    return where(counts, loss, 0.0), where(counts, total, 0.0)


def _share(logs: Tensor, weights: Tensor | None, axis: int, smoothing: float) -> Tensor:
    """What all classes together get by label smoothing."""
    classes = reciprocal(size_value(logs.shape[axis]).astype(logs.dtype))
    return sum(_weighted(logs, weights), axis) * (classes * smoothing)


def _of_probabilities(
    logs: Tensor, target: Tensor, weights: Tensor | None, axis: int, smoothing: float
) -> tuple[Tensor, Tensor]:
    if target.shape != logs.shape:
        raise ShapeMismatch(op="cross_entropy target", left=target.shape, right=logs.shape)
    loss = -sum(_weighted(logs, weights) * in_dtype_of(logs, target), axis)
    if smoothing:
        loss = loss * (1 - smoothing) - _share(logs, weights, axis, smoothing)
    return loss, ones(loss.shape, loss.dtype)


def _averaged(op: str, loss: Tensor, total: Tensor, reduction: str) -> Tensor:
    """The mean by weight, or what else ``reduction`` says."""
    if reduction == "mean":
        return sum(loss) * reciprocal(sum(total))
    return combined(op, loss, reduction, loss.dtype)


# --- yes or no ------------------------------------------------------------------------------

LEAST_LOG = -100.0  # PyTorch's bound, so that a certain error has a finite loss


def binary_cross_entropy(
    x: Value, target: Value, weight: Value | None = None, reduction: str = "mean"
) -> Tensor:
    """``-(target*log(x) + (1 - target)*log(1 - x))`` of probabilities; logarithms from -100 on."""
    dtype, (p, t) = wide("binary_cross_entropy", x, target)
    yes, no = maximum(log(p), LEAST_LOG), maximum(log1p(-p), LEAST_LOG)
    loss = (t - 1.0) * no - t * yes
    if weight is not None:
        loss = loss * in_dtype_of(loss, weight)
    return combined("binary_cross_entropy", loss, reduction, dtype)


def binary_cross_entropy_with_logits(
    x: Value,
    target: Value,
    weight: Value | None = None,
    reduction: str = "mean",
    pos_weight: Value | None = None,
) -> Tensor:
    """``binary_cross_entropy`` of sigmoid(x), without its overflow; ``pos_weight`` weighs targets.

    ``weight`` and ``pos_weight`` broadcast to the elements.
    """
    dtype, (logit, t) = wide("binary_cross_entropy_with_logits", x, target)
    lost = softplus(-logit)
    if pos_weight is not None:
        lost = lost * ((in_dtype_of(t, pos_weight) - 1.0) * t + 1.0)
    loss = (1.0 - t) * logit + lost
    if weight is not None:
        loss = loss * in_dtype_of(loss, weight)
    return combined("binary_cross_entropy_with_logits", loss, reduction, dtype)


# --- whole distributions --------------------------------------------------------------------


def kl_div(x: Value, target: Value, reduction: str = "mean", log_target: bool = False) -> Tensor:
    """``target*(log(target) - x)`` for logarithms x, 0 where the target is 0.

    With ``log_target`` the target is a logarithm too. ``reduction`` may also be "batchmean": the
    sum over the size of the first axis.
    """
    dtype, (logs, t) = wide("kl_div", x, target)
    if log_target:
        loss = exp(t) * (t - logs)
    else:
        loss = where(equal(t, 0.0), 0.0, t * log(t)) - t * logs
    if reduction != "batchmean":
        return combined("kl_div", loss, reduction, dtype)
    if loss.ndim == 0:
        raise BadArgument(op="kl_div", argument="rank", given=0, expected="a batch axis")
    return (sum(loss) * reciprocal(size_value(loss.shape[0]).astype(loss.dtype))).astype(dtype)


def poisson_nll_loss(
    x: Value,
    target: Value,
    log_input: bool = True,
    full: bool = False,
    eps: float = 1e-8,
    reduction: str = "mean",
) -> Tensor:
    """``exp(x) - target*x``; of rates x (not ``log_input``) ``x - target*log(x + eps)``.

    ``full`` adds Stirling's ``log(target!)`` for targets above 1.
    """
    dtype, (a, t) = wide("poisson_nll_loss", x, target)
    loss = exp(a) - t * a if log_input else a - t * log(a + eps)
    if full:
        stirling = t * log(t) - t + log(t * (2 * math.pi)) * 0.5
        loss = loss + where(less(1.0, t), stirling, 0.0)
    return combined("poisson_nll_loss", loss, reduction, dtype)


def gaussian_nll_loss(
    x: Value,
    target: Value,
    var: Value,
    full: bool = False,
    eps: float = 1e-6,
    reduction: str = "mean",
) -> Tensor:
    """``(log(var) + (x - target)**2/var)/2``, variances of at least ``eps``; broadcast.

    ``full`` adds ``log(2*pi)/2``.
    """
    dtype, (a, t, spread) = wide("gaussian_nll_loss", x, target, var)
    bounded = where(less(spread, eps), eps, spread)
    distance = a - t
    loss = (log(bounded) + distance * distance * reciprocal(bounded)) * 0.5
    loss = loss + 0.5 * math.log(2 * math.pi) if full else loss
    return combined("gaussian_nll_loss", loss, reduction, dtype)


def soft_margin_loss(x: Value, target: Value, reduction: str = "mean") -> Tensor:
    """``log(1 + exp(-target*x))`` for targets 1 and -1, without overflow."""
    dtype, (a, sign) = wide("soft_margin_loss", x, target)
    return combined("soft_margin_loss", softplus(-sign * a), reduction, dtype)


def multilabel_soft_margin_loss(
    x: Value, target: Value, weight: Value | None = None, reduction: str = "mean"
) -> Tensor:
    """``binary_cross_entropy_with_logits`` with the mean over the last axis, the labels.

    A wrong certainty (infinite x) is inf; a right one times its target's 0 is nan, as PyTorch's.
    """
    dtype, (a, t) = wide("multilabel_soft_margin_loss", x, target)
    each = t * softplus(-a) + (1.0 - t) * softplus(a)
    each = each if weight is None else each * in_dtype_of(each, weight)
    return combined("multilabel_soft_margin_loss", mean(each, -1), reduction, dtype)
