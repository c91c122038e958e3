"""Channels to pixels and back, channels in another order: all of it views, channels first."""

from __future__ import annotations

from photic.base.errors import BadArgument
from photic.ir.dim import Dim, exact_div
from photic.tensor.axes import as_integer
from photic.tensor.resize_places import named
from photic.tensor.shapes import reshape, transpose
from photic.tensor.tensor import Tensor, Value, tensor

IMAGE_AXES = 3  # channels, height, width
HEIGHT, WIDTH = 3, 4  # after channels that are split in three
_MODES = {"DCR": "depth, column, row", "CRD": "column, row, depth"}


def depth_to_space(x: Value, blocksize: int, mode: str = "DCR") -> Tensor:
    """(..., C*b*b, H, W) as (..., C, H*b, W*b), as ONNX's: each b*b channels become a square.

    ``mode`` says which channels these are: with "DCR" those C apart, with "CRD" those side by
    side. BadArgument where b*b does not divide the channels.
    """
    named("depth_to_space", "mode", mode, _MODES)
    return _to_pixels("depth_to_space", tensor(x, "depth_to_space"), blocksize, mode == "DCR")


def space_to_depth(x: Value, blocksize: int) -> Tensor:
    """(..., C, H*b, W*b) as (..., C*b*b, H, W), as ONNX's: undoes ``depth_to_space`` ("DCR")."""
    return _to_channels("space_to_depth", tensor(x, "space_to_depth"), blocksize, True)


def pixel_shuffle(x: Value, upscale_factor: int) -> Tensor:
    """(..., C*r*r, H, W) as (..., C, H*r, W*r), as PyTorch's. BadArgument."""
    return _to_pixels("pixel_shuffle", tensor(x, "pixel_shuffle"), upscale_factor, False)


def pixel_unshuffle(x: Value, downscale_factor: int) -> Tensor:
    """(..., C, H*r, W*r) as (..., C*r*r, H, W), as PyTorch's. BadArgument."""
    return _to_channels("pixel_unshuffle", tensor(x, "pixel_unshuffle"), downscale_factor, False)


def channel_shuffle(x: Value, groups: int) -> Tensor:
    """(batch, C, ...) with the channels of all groups in turn, as PyTorch's. BadArgument."""
    value = tensor(x, "channel_shuffle")
    if value.ndim < 2:
        given, expected = f"of shape {value.shape}", "(batch, channels, ...)"
        raise BadArgument(op="channel_shuffle", argument="x", given=given, expected=expected)
    batch, channels, *rest = value.shape
    groups = as_integer("channel_shuffle", "groups", groups)
    each = _part("channel_shuffle", channels, groups)
    split = reshape(value, (batch, groups, each, *rest))
    return reshape(transpose(split, [0, 2, 1, *range(3, split.ndim)]), value.shape)


def _to_pixels(op: str, x: Tensor, factor: int, squares_first: bool) -> Tensor:
    factor = as_integer(op, "factor", factor)
    lead, channels, height, width = _image(op, x, factor)
    left = _part(op, channels, factor * factor)
    inner = (factor, factor, left) if squares_first else (left, factor, factor)
    split = reshape(x, (*x.shape[:lead], *inner, height, width))
    down, across, kept = (0, 1, 2) if squares_first else (1, 2, 0)
    order = [kept, HEIGHT, down, WIDTH, across]
    moved = transpose(split, [*range(lead), *(lead + k for k in order)])
    return reshape(moved, (*x.shape[:lead], left, height * factor, width * factor))


def _to_channels(op: str, x: Tensor, factor: int, squares_first: bool) -> Tensor:
    factor = as_integer(op, "factor", factor)
    lead, channels, height, width = _image(op, x, factor)
    rows, columns = _part(op, height, factor), _part(op, width, factor)
    split = reshape(x, (*x.shape[:lead], channels, rows, factor, columns, factor))
    order = [2, 4, 0, 1, 3] if squares_first else [0, 2, 4, 1, 3]
    moved = transpose(split, [*range(lead), *(lead + k for k in order)])
    return reshape(moved, (*x.shape[:lead], channels * (factor * factor), rows, columns))


def _image(op: str, x: Tensor, factor: int) -> tuple[int, Dim, Dim, Dim]:
    """How many axes lead, channels, height and width. BadArgument."""
    if x.ndim < IMAGE_AXES or factor < 1:
        given, expected = f"of shape {x.shape} by {factor}", "(..., channels, height, width)"
        raise BadArgument(op=op, argument="x", given=given, expected=expected)
    channels, height, width = x.shape[-IMAGE_AXES:]
    return x.ndim - IMAGE_AXES, channels, height, width


def _part(op: str, whole: Dim, parts: int) -> Dim:
    """An equal part. BadArgument where it is not surely whole."""
    part = exact_div(whole, parts) if parts > 0 else None
    if part is None:
        expected = f"surely a multiple of {parts}"
        raise BadArgument(op=op, argument="a size", given=whole, expected=expected)
    return part
