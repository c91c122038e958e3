"""Norms: values brought to a mean and a spread, over features, groups, positions or a batch.

Nothing here is known to the compiler: each is written as its definition says, and the search finds
the fast forms. Variances take two passes and are divided by the count. Halves are computed in
float32 throughout and rounded once at the end; weights and biases take the dtype of that
computation. A row that has a nan or an infinity is nan.
"""

from __future__ import annotations

import math

import numpy as np

from photic.base.errors import BadArgument
from photic.forms import movement
from photic.ir.dim import Dim, exact_div, product
from photic.tensor.axes import as_integer
from photic.tensor.compare import maximum, not_equal
from photic.tensor.elementary import rsqrt
from photic.tensor.powers import power
from photic.tensor.primitive import accumulated, as_float, reciprocal, sqrt
from photic.tensor.reductions import max, mean, min, sum
from photic.tensor.rounding import abs
from photic.tensor.shapes import moved, reshape, squeeze
from photic.tensor.tensor import Axes, Tensor, Value, size_value, tensor

Weight = Value | None


def in_dtype_of(x: Tensor, value: Value) -> Tensor:
    """The value in the dtype of ``x``."""
    return tensor(value).astype(x.dtype)


def _wide(x: Value, op: str) -> tuple[Tensor, Tensor]:
    """The value as a float, and in the dtype of the computation."""
    given = as_float(x, op)
    return given, given.astype(accumulated(given.dtype))


def _scaled(x: Tensor, weight: Weight, bias: Weight) -> Tensor:
    """Times the weight, plus the bias, where there is one."""
    result = x if weight is None else x * in_dtype_of(x, weight)
    return result if bias is None else result + in_dtype_of(result, bias)


def _standardised(x: Tensor, axis: Axes, eps: float) -> Tensor:
    """Less the mean, over the root of the variance (plus ``eps``)."""
    distance = x - mean(x, axis, keepdims=True)
    return distance * rsqrt(mean(distance * distance, axis, keepdims=True) + eps)


# --- over features --------------------------------------------------------------------------


def rms_norm(x: Value, weight: Weight = None, eps: float = 1e-5, axis: Axes = -1) -> Tensor:
    """x over the root of its mean square (plus ``eps``) along an axis, times ``weight``."""
    given, value = _wide(x, "rms_norm")
    scaled = value * rsqrt(mean(value * value, axis, keepdims=True) + eps)
    return _scaled(scaled, weight, None).astype(given.dtype)


def layer_norm(
    x: Value,
    weight: Weight = None,
    bias: Weight = None,
    eps: float = 1e-5,
    axis: Axes = -1,
) -> Tensor:
    """x less its mean, over the root of its variance (plus ``eps``), times weight, plus bias.

    BadArgument for a number or sizes as weight: the axes are named by ``axis``.
    """
    given, value = _wide(x, "layer_norm")
    for argument, one in (("weight", weight), ("bias", bias)):
        if one is not None and not isinstance(one, Tensor | np.ndarray):
            expected = "a tensor or an array; the axes are named by axis"
            raise BadArgument(
                op="layer_norm", argument=argument, given=repr(one), expected=expected
            )
    return _scaled(_standardised(value, axis, eps), weight, bias).astype(given.dtype)


# --- over channels: (batch, channels, ...) --------------------------------------------------


def _along_channels(x: Tensor, values: Value) -> Tensor:
    """Numbers of the channels, laid along axis 1."""
    return reshape(in_dtype_of(x, values), (-1, *(1,) * (x.ndim - 2)))


def _scaled_channels(x: Tensor, weight: Weight, bias: Weight) -> Tensor:
    """Times each channel's weight, plus its bias."""
    return _scaled(
        x,
        None if weight is None else _along_channels(x, weight),
        None if bias is None else _along_channels(x, bias),
    )


def _require_channels(op: str, x: Tensor, least: int) -> None:
    if x.ndim < least:
        raise BadArgument(
            op=op,
            argument="rank",
            given=x.ndim,
            expected=f"(batch, channels, ...), {least} or more",
        )


def group_norm(
    x: Value, groups: int, weight: Weight = None, bias: Weight = None, eps: float = 1e-5
) -> Tensor:
    """Each of ``groups`` equal runs of channels brought to mean 0 and variance 1.

    x is (batch, channels, ...); ``weight`` and ``bias`` are (channels,). Raises BadArgument where
    the groups do not divide the channels.
    """
    given, value = _wide(x, "group_norm")
    _require_channels("group_norm", value, 2)
    groups = as_integer("group_norm", "groups", groups)
    each = exact_div(value.shape[1], groups) if groups > 0 else None
    if each is None:
        raise BadArgument(
            op="group_norm",
            argument="groups",
            given=groups,
            expected=f"a divisor of {value.shape[1]} channels",
        )
    parts = reshape(value, (value.shape[0], groups, each, *value.shape[2:]))
    even = _standardised(parts, tuple(range(2, parts.ndim)), eps)
    return _scaled_channels(reshape(even, value.shape), weight, bias).astype(given.dtype)


def instance_norm(
    x: Value, weight: Weight = None, bias: Weight = None, eps: float = 1e-5
) -> Tensor:
    """Each channel of each example brought to mean 0 and variance 1 over its positions.

    x is (batch, channels, positions, ...); ``weight`` and ``bias`` are (channels,).
    """
    given, value = _wide(x, "instance_norm")
    _require_channels("instance_norm", value, 3)
    even = _standardised(value, tuple(range(2, value.ndim)), eps)
    return _scaled_channels(even, weight, bias).astype(given.dtype)


def batch_norm(
    x: Value,
    running_mean: Value,
    running_var: Value,
    weight: Weight = None,
    bias: Weight = None,
    eps: float = 1e-5,
) -> Tensor:
    """Each channel less a given mean, over the root of a given variance (plus ``eps``).

    x is (batch, channels, ...); the rest is (channels,). For training see ``batch_norm_training``.
    """
    given, value = _wide(x, "batch_norm")
    _require_channels("batch_norm", value, 2)
    return _by_statistics(value, (running_mean, running_var), weight, bias, eps).astype(given.dtype)


def _by_statistics(
    x: Tensor, statistics: tuple[Value, Value], weight: Weight, bias: Weight, eps: float
) -> Tensor:
    """The scale of a channel is one number, so that constants of a model become one factor."""
    centre, spread = (in_dtype_of(x, one) for one in statistics)
    scale = _scaled(rsqrt(spread + eps), weight, None)
    return _scaled_channels(x - _along_channels(x, centre), scale, bias)


def batch_norm_training(
    x: Value,
    running_mean: Value,
    running_var: Value,
    weight: Weight = None,
    bias: Weight = None,
    momentum: float = 0.1,
    eps: float = 1e-5,
) -> tuple[Tensor, Tensor, Tensor]:
    """As ``batch_norm`` by the batch's own statistics; also the new running mean and variance.

    The running ones move by ``momentum`` towards the batch's, whose variance is divided by
    count - 1 for them, as in PyTorch. BadArgument where a channel has one value; where a symbolic
    size leaves it one, the running variance is nan.
    """
    given, value = _wide(x, "batch_norm_training")
    _require_channels("batch_norm_training", value, 2)
    axes = (0, *range(2, value.ndim))
    count = product(value.shape[k] for k in axes)
    if count == 1:
        raise BadArgument(
            op="batch_norm_training", argument="values a channel", given=1, expected="2 or more"
        )
    centre = mean(value, axes, keepdims=True)
    distance = value - centre
    spread = mean(distance * distance, axes)
    statistics = squeeze(centre, axes), spread
    unbiased = spread * _correction(spread, count)
    moved_on = [
        _moved_towards(tensor(old), new, momentum)
        for old, new in zip((running_mean, running_var), (statistics[0], unbiased), strict=True)
    ]
    result = _by_statistics(value, statistics, weight, bias, eps).astype(given.dtype)
    return result, moved_on[0], moved_on[1]


def _correction(x: Tensor, count: Dim) -> Tensor:
    """count/(count - 1) in the dtype of ``x``."""
    if isinstance(count, int):
        return tensor(np.asarray(count / (count - 1), x.dtype.numpy))
    whole = size_value(count).astype(x.dtype)
    return whole * reciprocal(whole - 1.0)


def _moved_towards(old: Tensor, new: Tensor, momentum: float) -> Tensor:
    before = in_dtype_of(new, old)
    return (before * (1 - momentum) + new * momentum).astype(old.dtype)


def local_response_norm(
    x: Value, size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1.0
) -> Tensor:
    """x over ``(k + alpha*mean of squares)**beta``, over ``size`` channels around each.

    ``size // 2`` of them come before; channels that do not exist count as 0, and into the mean.
    (Krizhevsky, Sutskever, Hinton 2012, section 3.3, with PyTorch's alpha/size.)
    """
    given, value = _wide(x, "local_response_norm")
    _require_channels("local_response_norm", value, 2)
    size = as_integer("local_response_norm", "size", size)
    if size < 1:
        raise BadArgument(
            op="local_response_norm", argument="size", given=size, expected="1 or more"
        )
    around = moved(value * value, movement.pad, 1, size // 2, (size - 1) // 2)
    total = sum(moved(around, movement.windows, 1, size, 1, 1), -1)
    divisor = power(total * (alpha / size) + k, beta)
    return (value * reciprocal(divisor)).astype(given.dtype)


# --- to length 1 ----------------------------------------------------------------------------


def normalize(x: Value, p: float = 2.0, axis: Axes = 1, eps: float = 1e-12) -> Tensor:
    """x over its p-norm along an axis, but not over less than ``eps``; of zeros it is 0.

    ``p`` may be any number, infinities and 0 (how many are not 0) among them.
    """
    given, value = _wide(x, "normalize")
    return (value * reciprocal(maximum(p_norm(value, p, axis), eps))).astype(given.dtype)


def p_norm(x: Tensor, p: float, axis: Axes) -> Tensor:
    """``sum(|x|**p)**(1/p)`` along an axis that stays with size 1, and its limits."""
    if p == 2:
        return sqrt(sum(x * x, axis, keepdims=True))
    size = abs(x)
    if p == math.inf:
        return max(size, axis, keepdims=True)
    if p == -math.inf:
        return min(size, axis, keepdims=True)
    if p == 0:
        return sum(not_equal(x, 0.0).astype(x.dtype), axis, keepdims=True)
    if p == 1:
        return sum(size, axis, keepdims=True)
    return power(sum(power(size, p), axis, keepdims=True), 1 / p)
