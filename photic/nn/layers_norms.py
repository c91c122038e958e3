"""Norms as modules: over features, groups of channels, or a batch with running statistics.

Names, arguments, defaults and shapes of weights are PyTorch's; weights begin as ones, biases as
zeros.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import numpy as np

from photic.autograd.handles import checkpoint
from photic.base.errors import BadArgument, ShapeMismatch
from photic.ir.dtype import FLOAT32, FLOAT64, INT64
from photic.nn.errors import NotTraining
from photic.nn.initial import filled
from photic.nn.module import Module
from photic.nn.parameter import Buffer, Parameter
from photic.tensor.norms import (
    batch_norm,
    batch_norm_training,
    group_norm,
    instance_norm,
    layer_norm,
    local_response_norm,
    rms_norm,
)
from photic.tensor.primitive import accumulated, as_float, reciprocal
from photic.tensor.tensor import DTypeLike, Tensor, Value, tensor

FLOAT = "float32"
EPS = 1e-5  # PyTorch's default
EPSILON = {FLOAT32: float(np.finfo(np.float32).eps), FLOAT64: float(np.finfo(np.float64).eps)}


def _handle(parameter: Parameter | None) -> Tensor | None:
    return None if parameter is None else parameter.tensor


def _shape(given: int | Sequence[int]) -> tuple[int, ...]:
    return (given,) if isinstance(given, int) else tuple(given)


def _last_axes(op: str, x: Tensor, shape: tuple[int, ...]) -> tuple[int, ...]:
    """The axes that have these sizes. ShapeMismatch."""
    if x.shape[x.ndim - len(shape) :] != shape:
        raise ShapeMismatch(op=op, left=x.shape, right=shape)
    return tuple(range(-len(shape), 0))


class LayerNorm(Module):
    """The last axes, of sizes ``normalized_shape``, brought to mean 0 and variance 1."""

    def __init__(
        self,
        normalized_shape: int | Sequence[int],
        eps: float = EPS,
        elementwise_affine: bool = True,
        bias: bool = True,
        *,
        dtype: DTypeLike = FLOAT,
    ) -> None:
        self.normalized_shape, self.eps = _shape(normalized_shape), eps
        self.weight = filled(self.normalized_shape, 1, dtype) if elementwise_affine else None
        has_bias = elementwise_affine and bias
        self.bias = filled(self.normalized_shape, 0, dtype) if has_bias else None

    def forward(self, x: Value) -> Tensor:
        value = tensor(x)
        axes = _last_axes("LayerNorm", value, self.normalized_shape)
        return checkpoint(layer_norm)(
            value, _handle(self.weight), _handle(self.bias), self.eps, axes
        )


class RMSNorm(Module):
    """The last axes over the root of their mean square.

    ``eps`` is the distance from 1 to the next number of the computation's dtype unless given.
    """

    def __init__(
        self,
        normalized_shape: int | Sequence[int],
        eps: float | None = None,
        elementwise_affine: bool = True,
        *,
        dtype: DTypeLike = FLOAT,
    ) -> None:
        self.normalized_shape, self.eps = _shape(normalized_shape), eps
        self.weight = filled(self.normalized_shape, 1, dtype) if elementwise_affine else None

    def forward(self, x: Value) -> Tensor:
        value = as_float(x, "RMSNorm")
        axes = _last_axes("RMSNorm", value, self.normalized_shape)
        eps = self.eps
        if eps is None:
            eps = EPSILON[accumulated(value.dtype)]
        return checkpoint(rms_norm)(value, _handle(self.weight), eps, axes)


class GroupNorm(Module):
    """Each of ``num_groups`` runs of channels of (batch, channels, ...) brought to mean 0."""

    def __init__(
        self,
        num_groups: int,
        num_channels: int,
        eps: float = EPS,
        affine: bool = True,
        *,
        dtype: DTypeLike = FLOAT,
    ) -> None:
        self.num_groups, self.eps = num_groups, eps
        self.weight = filled((num_channels,), 1, dtype) if affine else None
        self.bias = filled((num_channels,), 0, dtype) if affine else None

    def forward(self, x: Value) -> Tensor:
        return group_norm(x, self.num_groups, _handle(self.weight), _handle(self.bias), self.eps)


class InstanceNorm(Module):
    """Each channel of each example brought to mean 0 and variance 1 over its positions.

    PyTorch's without running statistics, which are its default: so in training and inference.
    """

    rank: ClassVar[int]

    def __init__(
        self,
        num_features: int,
        eps: float = EPS,
        *,
        affine: bool = False,
        dtype: DTypeLike = FLOAT,
    ) -> None:
        self.num_features, self.eps = num_features, eps
        self.weight = filled((num_features,), 1, dtype) if affine else None
        self.bias = filled((num_features,), 0, dtype) if affine else None

    def forward(self, x: Value) -> Tensor:
        value = as_float(x, type(self).__name__)
        if value.ndim == self.rank + 1:  # no batch
            return self.forward(value[None])[0]
        if value.ndim != self.rank + 2:
            expected = f"{self.rank + 2}, or {self.rank + 1} without a batch"
            given = {"given": value.ndim, "expected": expected}
            raise BadArgument(op=type(self).__name__, argument="rank", **given)
        return instance_norm(value, _handle(self.weight), _handle(self.bias), self.eps)


class InstanceNorm1d(InstanceNorm):
    """``InstanceNorm`` over one axis."""

    rank = 1


class InstanceNorm2d(InstanceNorm):
    """``InstanceNorm`` over two axes."""

    rank = 2


class InstanceNorm3d(InstanceNorm):
    """``InstanceNorm`` over three axes."""

    rank = 3


class LocalResponseNorm(Module):
    """``ph.local_response_norm``: by the squares of ``size`` channels around each."""

    def __init__(self, size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1.0) -> None:
        self.size, self.alpha, self.beta, self.k = size, alpha, beta, k

    def forward(self, x: Value) -> Tensor:
        return local_response_norm(x, self.size, self.alpha, self.beta, self.k)


# --- over a batch ---------------------------------------------------------------------------


class BatchNorm(Module):
    """Each channel of (batch, channels, ...) brought to mean 0 and variance 1 over the batch.

    In training by the batch's statistics, towards which the running ones move by ``momentum`` (by
    1/count of batches if None); else by the running ones. NotTraining where there would be
    statistics to keep and no train step is being built.
    """

    ranks: ClassVar[tuple[int, ...]] = ()

    def __init__(
        self,
        num_features: int,
        eps: float = EPS,
        momentum: float | None = 0.1,
        affine: bool = True,
        track_running_stats: bool = True,
        *,
        dtype: DTypeLike = FLOAT,
    ) -> None:
        self.num_features, self.eps, self.momentum = num_features, eps, momentum
        self.weight = filled((num_features,), 1, dtype) if affine else None
        self.bias = filled((num_features,), 0, dtype) if affine else None
        self.running_mean: Buffer | None = None
        self.running_var: Buffer | None = None
        self.num_batches_tracked: Buffer | None = None
        if track_running_stats:
            self.running_mean = Buffer(filled((num_features,), 0, dtype).value)
            self.running_var = Buffer(filled((num_features,), 1, dtype).value)
            self.num_batches_tracked = Buffer(np.zeros((), INT64.numpy))

    def forward(self, x: Value) -> Tensor:
        value = as_float(x, type(self).__name__)
        if self.ranks and value.ndim not in self.ranks:
            expected = " or ".join(map(str, self.ranks))
            given = {"given": value.ndim, "expected": expected}
            raise BadArgument(op=type(self).__name__, argument="rank", **given)
        weight, bias = _handle(self.weight), _handle(self.bias)
        if self.running_mean is None or self.running_var is None:
            still = (tensor(0.0), tensor(1.0))
            return batch_norm_training(value, *still, weight, bias, 0.0, self.eps)[0]
        running = (self.running_mean.tensor, self.running_var.tensor)
        if not self.training:
            return batch_norm(value, *running, weight, bias, self.eps)
        return self._trained(value, running, weight, bias)

    def _trained(
        self, x: Tensor, running: tuple[Tensor, Tensor], weight: Tensor | None, bias: Tensor | None
    ) -> Tensor:
        """By the batch's statistics, and the running ones moved."""
        counter = self.num_batches_tracked
        if self.running_mean is None or self.running_var is None or counter is None:
            raise NotTraining(what="statistics are moved")
        count = counter.tensor + 1
        towards = 0.0 if self.momentum is None else self.momentum
        result, *after = batch_norm_training(x, *running, weight, bias, towards, self.eps)
        if self.momentum is None:
            # the batch's own statistics, weighed by the count in the graph
            _, *own = batch_norm_training(x, *running, weight, bias, 1.0, self.eps)
            share = reciprocal(count.astype(after[0].dtype))
            after = [old + (new - old) * share for old, new in zip(running, own, strict=True)]
        self.running_mean.become(after[0])
        self.running_var.become(after[1])
        counter.become(count)
        return result


class BatchNorm1d(BatchNorm):
    """``BatchNorm`` of (batch, channels) or (batch, channels, places)."""

    ranks = (2, 3)


class BatchNorm2d(BatchNorm):
    """``BatchNorm`` of (batch, channels, rows, columns)."""

    ranks = (4,)


class BatchNorm3d(BatchNorm):
    """``BatchNorm`` of (batch, channels, depths, rows, columns)."""

    ranks = (5,)
