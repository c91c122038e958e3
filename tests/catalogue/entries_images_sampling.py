"""The catalogue's entries for sampling by grids, and for channels as pixels.

PyTorch in float64 tells what grids sample, NumPy all else.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from catalogue.entries_images_convolution import functional
from catalogue.entries_images_resizing import Options, Shape
from catalogue.entry import ALL, Array, Case, Cases, Dtype, Entry, Speed
from catalogue.inputs import million, of_shape, with_specials

import photic as ph

SUMS = 2.0**-20

# --- grids ----------------------------------------------------------------------------------


def with_grids(image: Shape, out: Shape) -> Cases:
    """Images with grids that reach past their edges, ones of integers of the same shape too."""

    def made(dtype: Dtype, random: np.random.Generator) -> Iterator[Case]:
        rank = len(image) - 2
        for spread in (0.9, 2.5):
            x = random.uniform(-4, 4, image).astype(dtype)
            grid = random.uniform(-spread, spread, (image[0], *out, rank))
            # whole sixteenths: exact in every dtype, and no coordinate falls on a tie
            yield x, ((np.round(grid * 16) + 0.25) / 16).astype(dtype)

    return made


PADDINGS = ("zeros", "border", "reflection")


def _sample_options(mode: str) -> tuple[Options, ...]:
    """Every padding; corners in turn, of linear samples both ways."""
    return tuple(
        {"mode": mode, "padding_mode": padding, "align_corners": corners}
        for number, padding in enumerate(PADDINGS)
        for corners in (False, True)
        if mode == "bilinear" or corners == (number == 2)
    )


def sampled(
    name: str, options: tuple[Options, ...], image: Shape, out: Shape, **more: Any
) -> Entry:

    def oracle(x: Array, grid: Array) -> tuple[Array, ...]:
        return tuple(functional("grid_sample", x, grid, **one) for one in options)

    return Entry(
        name,
        lambda x, grid: tuple(ph.grid_sample(x, grid, **one) for one in options),
        oracle,
        with_grids(image, out),
        dtypes=("float64", "float32", "bfloat16"),
        rtol=2.0**-16,
        why="a coordinate rounded to float32 moves the weights; of the largest magnitude",
        scale=lambda x, grid: tuple(np.full(one.shape, np.abs(x).max()) for one in oracle(x, grid)),
        gradient="almost everywhere",
        onnx=("GridSample",),
        is_peer=True,
        **more,
    )


def sample_speed() -> Speed:
    return Speed(
        lambda torch, x, grid: torch.nn.functional.grid_sample(x, grid, align_corners=False),
        million((1, 64, 128, 128), (1, 128, 128, 2), low=-1.0, high=1.0),
        ph.grid_sample,
    )


def _affine(theta: Array, corners: bool) -> Array:
    """The grid of (5, 4) places, by NumPy."""
    rows, columns = (
        np.linspace(-1, 1, n) if corners else (2 * np.arange(n) + 1) / n - 1 for n in (5, 4)
    )
    base = np.stack([*np.meshgrid(columns, rows), np.ones((5, 4))], -1)
    return np.einsum("nij,hwj->nhwi", theta, base)


def _affine_scale(theta: Array) -> tuple[Array, Array]:
    sums = np.broadcast_to(np.abs(theta).sum((1, 2))[:, None, None, None], (2, 5, 4, 2))
    return sums, sums


GRIDS = (
    sampled(
        "grid_sample",
        _sample_options("bilinear"),
        (2, 3, 5, 4),
        (3, 6),
        aten=("grid_sampler_2d",),
        speed=sample_speed(),
    ),
    sampled("grid_sample.nearest", _sample_options("nearest"), (2, 3, 5, 4), (3, 6)),
    sampled("grid_sample.bicubic", _sample_options("bicubic"), (1, 2, 5, 4), (3, 6)),
    sampled(
        "grid_sample.solid",
        _sample_options("bilinear")[:4:3],
        (1, 2, 3, 4, 5),
        (2, 3, 2),
        aten=("grid_sampler_3d",),
    ),
    Entry(
        "affine_grid",
        lambda theta: tuple(
            ph.affine_grid(theta, (2, 3, 5, 4), align_corners=corners) for corners in (False, True)
        ),
        lambda theta: tuple(_affine(theta, corners) for corners in (False, True)),
        of_shape((2, 2, 3)),
        rtol=SUMS,
        why="a sum of three products in any order, of the sum of their magnitudes",
        scale=_affine_scale,
        onnx=("AffineGrid",),
        aten=("affine_grid_generator",),
    ),
)


# --- channels as pixels ---------------------------------------------------------------------


def _depth_first(x: Array) -> Array:
    """ONNX's "DCR" with squares of 2 by 2."""
    *lead, c, h, w = x.shape
    split = np.moveaxis(x.reshape(*lead, 2, 2, c // 4, h, w), (-5, -4), (-3, -1))
    return split.reshape(*lead, c // 4, 2 * h, 2 * w)


def _columns_first(x: Array) -> Array:
    *lead, c, h, w = x.shape
    split = np.moveaxis(x.reshape(*lead, c // 4, 2, 2, h, w), (-4, -3), (-3, -1))
    return split.reshape(*lead, c // 4, 2 * h, 2 * w)


def _gathered(x: Array, order: str) -> Array:
    """Squares of 2 by 2 as channels."""
    *lead, c, h, w = x.shape
    split = x.reshape(*lead, c, h // 2, 2, w // 2, 2)
    spots = (-5, -4) if order == "DCR" else (-4, -3)
    return np.moveaxis(split, (-3, -1), spots).reshape(*lead, 4 * c, h // 2, w // 2)


def views(name: str, call: Any, oracle: Any, *shapes: Shape, **more: Any) -> Entry:
    return Entry(name, call, oracle, with_specials(*shapes), ALL, ulps=0.0, **more)


DEEP: tuple[Shape, ...] = ((2, 8, 3, 5), (4, 2, 1), (0, 4, 2, 2))
WIDE: tuple[Shape, ...] = ((2, 3, 6, 4), (1, 2, 2), (0, 1, 4, 2))
PIXELS = (
    views(
        "pixel_shuffle",
        lambda x: ph.pixel_shuffle(x, 2),
        _columns_first,
        *DEEP,
        sizes=("n 8 h w",),
        aten=("pixel_shuffle",),
        speed=Speed(
            lambda torch, x: torch.nn.functional.pixel_shuffle(x, 2),
            million((1, 64, 128, 128)),
            lambda x: ph.pixel_shuffle(x, 2),
        ),
    ),
    views(
        "pixel_unshuffle",
        lambda x: ph.pixel_unshuffle(x, 2),
        lambda x: _gathered(x, "CRD"),
        *WIDE,
        aten=("pixel_unshuffle",),
        speed=Speed(
            lambda torch, x: torch.nn.functional.pixel_unshuffle(x, 2),
            million((1, 64, 128, 128)),
            lambda x: ph.pixel_unshuffle(x, 2),
        ),
    ),
    views(
        "depth_to_space",
        lambda x: (ph.depth_to_space(x, 2), ph.depth_to_space(x, 2, "CRD")),
        lambda x: (_depth_first(x), _columns_first(x)),
        *DEEP,
        sizes=("n 8 h w",),
        onnx=("DepthToSpace",),
    ),
    views(
        "space_to_depth",
        lambda x: ph.space_to_depth(x, 2),
        lambda x: _gathered(x, "DCR"),
        *WIDE,
        onnx=("SpaceToDepth",),
    ),
    views(
        "channel_shuffle",
        lambda x: ph.channel_shuffle(x, 2),
        lambda x: np.stack(np.split(x, 2, 1), 2).reshape(x.shape),
        (2, 6, 3, 4),
        (1, 4),
        (0, 2, 5),
        sizes=("n 6 h w",),
        aten=("channel_shuffle",),
    ),
)

ENTRIES: tuple[Entry, ...] = (*GRIDS, *PIXELS)
