"""Convolutions and pooling as modules, channels first: (batch, channels, *sizes).

Names, arguments, defaults and shapes of weights are PyTorch's, but for ``rng``, from which first
values are drawn, and ``dtype``.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import ClassVar

from photic.base.errors import BadArgument
from photic.ir.dim import Dim
from photic.nn.building import computed
from photic.nn.initial import Rng, by_inputs, generator
from photic.nn.module import Module
from photic.tensor.adaptive import OutputSize, adaptive_avg_pool, adaptive_max_pool
from photic.tensor.convolution import conv, conv_transpose
from photic.tensor.kernel_windows import Padding, Sizes, padding_pairs, per_axis
from photic.tensor.padding import pad
from photic.tensor.pooling import avg_pool, lp_pool, max_pool
from photic.tensor.tensor import DTypeLike, Tensor, Value, tensor

FLOAT = "float32"
# PyTorch's names of paddings that hold something else than 0, and NumPy's
PADDING_MODES = {"reflect": "reflect", "replicate": "edge", "circular": "wrap"}


class _Convolution(Module):
    """What all convolutions share: their arguments, checked, and their weights."""

    rank: ClassVar[int]

    def _take(self, stride: Sizes, dilation: Sizes, groups: int, *channels: int) -> None:
        op = type(self).__name__
        self.stride = per_axis(op, "stride", stride, self.rank, 1)
        self.dilation = per_axis(op, "dilation", dilation, self.rank, 1)
        self.groups = groups
        if groups < 1 or any(one % groups for one in channels):
            expected = f"a divisor of {' and '.join(map(str, channels))}"
            raise BadArgument(op=op, argument="groups", given=groups, expected=expected)

    def _draw(
        self, rng: Rng, shape: tuple[int, ...], outputs: int, bias: bool, dtype: DTypeLike
    ) -> None:
        rng, inputs = generator(rng), math.prod(shape[1:])
        self.weight = by_inputs(rng, shape, inputs, dtype)
        self.bias = by_inputs(rng, (outputs,), inputs, dtype) if bias else None

    def _weights(self) -> tuple[Tensor, Tensor | None]:
        bias = None if self.bias is None else computed(self.bias.tensor)
        return computed(self.weight.tensor), bias


class Conv(_Convolution):
    """A cross-correlation; ``weight`` is (out_channels, in_channels/groups, *kernel_size).

    ``padding``: numbers, "same" or "valid"; ``padding_mode``: "zeros", "reflect", "replicate" or
    "circular". See ``ph.conv``.
    """

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Sizes,
        stride: Sizes = 1,
        padding: Padding = 0,
        dilation: Sizes = 1,
        groups: int = 1,
        bias: bool = True,
        padding_mode: str = "zeros",
        *,
        rng: Rng,
        dtype: DTypeLike = FLOAT,
    ) -> None:
        op = type(self).__name__
        self._take(stride, dilation, groups, in_channels, out_channels)
        self.padding, self.padding_mode = padding, padding_mode
        if padding_mode not in ("zeros", *PADDING_MODES):
            expected = f"'zeros' or one of {', '.join(PADDING_MODES)}"
            given = {"given": repr(padding_mode), "expected": expected}
            raise BadArgument(op=op, argument="padding_mode", **given)
        kernel = per_axis(op, "kernel_size", kernel_size, self.rank, 1)
        shape = (out_channels, in_channels // groups, *kernel)
        self._draw(rng, shape, out_channels, bias, dtype)

    def forward(self, x: Value) -> Tensor:
        value, padding = computed(tensor(x)), self.padding
        if self.padding_mode != "zeros":
            value, padding = self._extended(value), 0
        return conv(value, *self._weights(), self.stride, padding, self.dilation, self.groups)

    def _extended(self, x: Tensor) -> Tensor:
        """Padded by what lies inside."""
        pairs: Sequence[tuple[Dim, Dim]]
        if self.padding == "valid":
            return x
        if self.padding == "same":
            sizes = zip(self.weight.shape[2:], self.dilation, strict=True)
            reaches = [(size - 1) * step for size, step in sizes]
            pairs = [(one // 2, one - one // 2) for one in reaches]
        else:
            pairs = padding_pairs(type(self).__name__, self.padding, self.rank)
        lead = [(0, 0)] * (x.ndim - self.rank)
        return pad(x, (*lead, *pairs), PADDING_MODES[self.padding_mode])


class Conv1d(Conv):
    """``Conv`` over one axis."""

    rank = 1


class Conv2d(Conv):
    """``Conv`` over two axes."""

    rank = 2


class Conv3d(Conv):
    """``Conv`` over three axes."""

    rank = 3


class ConvTranspose(_Convolution):
    """The transpose of ``Conv``; ``weight`` is (in_channels, out_channels/groups, *kernel_size)."""

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Sizes,
        stride: Sizes = 1,
        padding: Padding = 0,
        output_padding: Sizes = 0,
        groups: int = 1,
        bias: bool = True,
        dilation: Sizes = 1,
        *,
        rng: Rng,
        dtype: DTypeLike = FLOAT,
    ) -> None:
        self._take(stride, dilation, groups, in_channels, out_channels)
        self.padding, self.output_padding = padding, output_padding
        kernel = per_axis(type(self).__name__, "kernel_size", kernel_size, self.rank, 1)
        shape = (in_channels, out_channels // groups, *kernel)
        self._draw(rng, shape, out_channels, bias, dtype)

    def forward(self, x: Value) -> Tensor:
        weight, bias = self._weights()
        return conv_transpose(
            computed(tensor(x)),
            weight,
            bias,
            self.stride,
            self.padding,
            self.output_padding,
            self.groups,
            self.dilation,
        )


class ConvTranspose1d(ConvTranspose):
    """``ConvTranspose`` over one axis."""

    rank = 1


class ConvTranspose2d(ConvTranspose):
    """``ConvTranspose`` over two axes."""

    rank = 2


class ConvTranspose3d(ConvTranspose):
    """``ConvTranspose`` over three axes."""

    rank = 3


# --- pooling --------------------------------------------------------------------------------


class MaxPool(Module):
    """The largest of each window of the last axes. See ``ph.max_pool``."""

    rank: ClassVar[int]

    def __init__(
        self,
        kernel_size: Sizes,
        stride: Sizes | None = None,
        padding: Padding = 0,
        dilation: Sizes = 1,
        *,
        ceil_mode: bool = False,
    ) -> None:
        name = type(self).__name__
        self.kernel_size = per_axis(name, "kernel_size", kernel_size, self.rank, 1)
        self.stride, self.padding = stride, padding
        self.dilation, self.ceil_mode = dilation, ceil_mode

    def forward(self, x: Value) -> Tensor:
        more = (self.stride, self.padding, self.dilation, self.ceil_mode)
        return max_pool(x, self.kernel_size, *more)


class MaxPool1d(MaxPool):
    """``MaxPool`` over one axis."""

    rank = 1


class MaxPool2d(MaxPool):
    """``MaxPool`` over two axes."""

    rank = 2


class MaxPool3d(MaxPool):
    """``MaxPool`` over three axes."""

    rank = 3


class AvgPool(Module):
    """The mean of each window of the last axes. See ``ph.avg_pool``."""

    rank: ClassVar[int]

    def __init__(
        self,
        kernel_size: Sizes,
        stride: Sizes | None = None,
        padding: Padding = 0,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
    ) -> None:
        name = type(self).__name__
        self.kernel_size = per_axis(name, "kernel_size", kernel_size, self.rank, 1)
        self.stride, self.padding = stride, padding
        self.ceil_mode, self.count_include_pad = ceil_mode, count_include_pad

    def forward(self, x: Value) -> Tensor:
        more = (self.stride, self.padding, self.ceil_mode, self.count_include_pad)
        return avg_pool(x, self.kernel_size, *more)


class AvgPool1d(AvgPool):
    """``AvgPool`` over one axis."""

    rank = 1


class AvgPool2d(AvgPool):
    """``AvgPool`` over two axes."""

    rank = 2


class AvgPool3d(AvgPool):
    """``AvgPool`` over three axes."""

    rank = 3


class LPPool(Module):
    """The p-norm of each window of the last axes. See ``ph.lp_pool``."""

    rank: ClassVar[int]

    def __init__(
        self,
        norm_type: float,
        kernel_size: Sizes,
        stride: Sizes | None = None,
        ceil_mode: bool = False,
    ) -> None:
        self.norm_type, self.stride, self.ceil_mode = norm_type, stride, ceil_mode
        self.kernel_size = per_axis(type(self).__name__, "kernel_size", kernel_size, self.rank, 1)

    def forward(self, x: Value) -> Tensor:
        return lp_pool(x, self.norm_type, self.kernel_size, self.stride, self.ceil_mode)


class LPPool1d(LPPool):
    """``LPPool`` over one axis."""

    rank = 1


class LPPool2d(LPPool):
    """``LPPool`` over two axes."""

    rank = 2


class LPPool3d(LPPool):
    """``LPPool`` over three axes."""

    rank = 3


class _Adaptive(Module):
    """So many windows as give a size; one number is that of every axis, None keeps an axis."""

    rank: ClassVar[int]

    def __init__(self, output_size: OutputSize) -> None:
        self.output_size = output_size

    def _sizes(self) -> OutputSize:
        given = self.output_size
        return given if isinstance(given, Sequence) else (given,) * self.rank


class AdaptiveAvgPool1d(_Adaptive):
    """The means of windows over one axis."""

    rank = 1

    def forward(self, x: Value) -> Tensor:
        return adaptive_avg_pool(x, self._sizes())


class AdaptiveAvgPool2d(AdaptiveAvgPool1d):
    """The means of windows over two axes."""

    rank = 2


class AdaptiveAvgPool3d(AdaptiveAvgPool1d):
    """The means of windows over three axes."""

    rank = 3


class AdaptiveMaxPool1d(_Adaptive):
    """The largest of windows over one axis."""

    rank = 1

    def forward(self, x: Value) -> Tensor:
        return adaptive_max_pool(x, self._sizes())


class AdaptiveMaxPool2d(AdaptiveMaxPool1d):
    """The largest of windows over two axes."""

    rank = 2


class AdaptiveMaxPool3d(AdaptiveMaxPool1d):
    """The largest of windows over three axes."""

    rank = 3
