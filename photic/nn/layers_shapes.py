"""Modules that move and space out elements: padding, resizing, pixels, windows; and distances.

Names, arguments and defaults are PyTorch's; the functions are photic's. None has weights.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from photic.base.errors import BadArgument
from photic.ir.dim import Dim
from photic.nn.module import Module
from photic.tensor.kernel_windows import Padding, Sizes
from photic.tensor.losses import cosine_similarity
from photic.tensor.magnitudes import pairwise_distance
from photic.tensor.padding import pad
from photic.tensor.pixels import channel_shuffle, pixel_shuffle, pixel_unshuffle
from photic.tensor.resizing import Scales, interpolate
from photic.tensor.tensor import Tensor, Value, tensor
from photic.tensor.unfolding import fold, unfold

# --- padding --------------------------------------------------------------------------------


class _Pad(Module):
    """Places around the last axes: one number, or (before, after) for the last axis first."""

    rank: ClassVar[int]
    mode: ClassVar[str] = "constant"
    value: float = 0.0

    def __init__(self, padding: int | Sequence[int]) -> None:
        given = (padding,) * (2 * self.rank) if isinstance(padding, int) else tuple(padding)
        if len(given) != 2 * self.rank:
            expected = f"one number or {2 * self.rank}"
            op = type(self).__name__
            raise BadArgument(op=op, argument="padding", given=given, expected=expected)
        self.padding = given

    def forward(self, x: Value) -> Tensor:
        value = tensor(x)
        if not self.rank <= value.ndim:
            op, expected = type(self).__name__, f"{self.rank} axes or more"
            raise BadArgument(op=op, argument="rank", given=value.ndim, expected=expected)
        last = list(zip(self.padding[::2], self.padding[1::2], strict=True))
        around = [*[(0, 0)] * (value.ndim - self.rank), *reversed(last)]
        return pad(value, around, self.mode, self.value)


class ConstantPad1d(_Pad):
    """``value`` around one axis."""

    rank = 1

    def __init__(self, padding: int | Sequence[int], value: float) -> None:
        super().__init__(padding)
        self.value = value


class ConstantPad2d(ConstantPad1d):
    """``value`` around two axes."""

    rank = 2


class ConstantPad3d(ConstantPad1d):
    """``value`` around three axes."""

    rank = 3


class ZeroPad1d(_Pad):
    """0 around one axis."""

    rank = 1


class ZeroPad2d(_Pad):
    """0 around two axes."""

    rank = 2


class ZeroPad3d(_Pad):
    """0 around three axes."""

    rank = 3


class ReflectionPad1d(_Pad):
    """One axis mirrored at its ends, which are not repeated."""

    rank, mode = 1, "reflect"


class ReflectionPad2d(ReflectionPad1d):
    """Two axes mirrored at their ends."""

    rank = 2


class ReflectionPad3d(ReflectionPad1d):
    """Three axes mirrored at their ends."""

    rank = 3


class ReplicationPad1d(_Pad):
    """The ends of one axis repeated."""

    rank, mode = 1, "edge"


class ReplicationPad2d(ReplicationPad1d):
    """The ends of two axes repeated."""

    rank = 2


class ReplicationPad3d(ReplicationPad1d):
    """The ends of three axes repeated."""

    rank = 3


class CircularPad1d(_Pad):
    """One axis as a ring."""

    rank, mode = 1, "wrap"


class CircularPad2d(CircularPad1d):
    """Two axes as rings."""

    rank = 2


class CircularPad3d(CircularPad1d):
    """Three axes as rings."""

    rank = 3


# --- sizes and pixels -----------------------------------------------------------------------


class Upsample(Module):
    """(batch, channels, *sizes) in other sizes: ``ph.interpolate``."""

    def __init__(
        self,
        size: Dim | Sequence[Dim] | None = None,
        scale_factor: Scales = None,
        mode: str = "nearest",
        align_corners: bool | None = None,
        recompute_scale_factor: bool | None = None,
    ) -> None:
        self.size, self.scale_factor, self.mode = size, scale_factor, mode
        self.align_corners = align_corners
        self.recompute_scale_factor = recompute_scale_factor

    def forward(self, x: Value) -> Tensor:
        more = (self.mode, self.align_corners, self.recompute_scale_factor)
        return interpolate(x, self.size, self.scale_factor, *more)


class PixelShuffle(Module):
    """(..., C*r*r, H, W) as (..., C, H*r, W*r)."""

    def __init__(self, upscale_factor: int) -> None:
        self.upscale_factor = upscale_factor

    def forward(self, x: Value) -> Tensor:
        return pixel_shuffle(x, self.upscale_factor)


class PixelUnshuffle(Module):
    """(..., C, H*r, W*r) as (..., C*r*r, H, W)."""

    def __init__(self, downscale_factor: int) -> None:
        self.downscale_factor = downscale_factor

    def forward(self, x: Value) -> Tensor:
        return pixel_unshuffle(x, self.downscale_factor)


class ChannelShuffle(Module):
    """The channels of all groups in turn."""

    def __init__(self, groups: int) -> None:
        self.groups = groups

    def forward(self, x: Value) -> Tensor:
        return channel_shuffle(x, self.groups)


class Unfold(Module):
    """Every window as a column: ``ph.unfold``."""

    def __init__(
        self, kernel_size: Sizes, dilation: Sizes = 1, padding: Padding = 0, stride: Sizes = 1
    ) -> None:
        self.kernel_size, self.dilation = kernel_size, dilation
        self.padding, self.stride = padding, stride

    def forward(self, x: Value) -> Tensor:
        return unfold(x, self.kernel_size, self.dilation, self.padding, self.stride)


class Fold(Module):
    """Columns put back where they were, added where they overlap: ``ph.fold``."""

    def __init__(
        self,
        output_size: Dim | Sequence[Dim],
        kernel_size: Sizes,
        dilation: Sizes = 1,
        padding: Padding = 0,
        stride: Sizes = 1,
    ) -> None:
        self.output_size, self.kernel_size, self.dilation = output_size, kernel_size, dilation
        self.padding, self.stride = padding, stride

    def forward(self, x: Value) -> Tensor:
        more = (self.dilation, self.padding, self.stride)
        return fold(x, self.output_size, self.kernel_size, *more)


# --- distances ------------------------------------------------------------------------------


class CosineSimilarity(Module):
    """The cosine of the angle between vectors along an axis."""

    def __init__(self, dim: int = 1, eps: float = 1e-8) -> None:
        self.dim, self.eps = dim, eps

    def forward(self, x: Value, y: Value) -> Tensor:
        return cosine_similarity(x, y, self.dim, self.eps)


class PairwiseDistance(Module):
    """The p-norm of ``x - y + eps`` along the last axis."""

    def __init__(self, p: float = 2.0, eps: float = 1e-6, keepdim: bool = False) -> None:
        self.p, self.eps, self.keepdim = p, eps, keepdim

    def forward(self, x: Value, y: Value) -> Tensor:
        return pairwise_distance(x, y, self.p, self.eps, self.keepdim)
