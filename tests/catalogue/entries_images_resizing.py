"""The catalogue's entries for resizing.

PyTorch in float64 tells what ``interpolate`` gives; ONNX's ``Resize`` is worked out place
by place from its formulas, in fractions.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from catalogue.entries_images_convolution import functional
from catalogue.entry import ALL, FLOATS, Array, Cases, Entry, Speed
from catalogue.inputs import joined, million, of_shape, with_specials

import photic as ph

WEIGHED = 2.0**-20
WHY = "a sum of some tens of weighted values, of the largest magnitude"
OF_PEER = 2.0**-17
PEER = "PyTorch rounds coordinates; of the largest magnitude"

Shape = tuple[int, ...]
Options = dict[str, Any]

# --- PyTorch's interpolation ----------------------------------------------------------------

IMAGES = of_shape((2, 3, 7, 5), (1, 1, 4, 4), (0, 2, 3, 3), (1, 2, 2, 6), (1, 1, 33, 31))
FEW_IMAGES = of_shape((2, 3, 7, 5), (0, 2, 3, 3), (1, 1, 2, 6))
LINES = of_shape((2, 3, 7), (1, 1, 4), (1, 1, 101))
SOLIDS = of_shape((2, 1, 4, 3, 5), (1, 1, 2, 2, 2))

NEAREST: tuple[Options, ...] = (
    {"size": (9, 4)},
    {"scale_factor": 2.0},
    {"scale_factor": (0.6, 1.5)},
    {"scale_factor": 2.3, "recompute_scale_factor": True},
    {"size": (3, 12), "mode": "nearest-exact"},
    {"scale_factor": 1.7, "mode": "nearest-exact"},
)


def _linear(mode: str) -> tuple[Options, ...]:
    return (
        {"mode": mode, "size": (9, 4)},
        {"mode": mode, "size": (14, 10), "align_corners": True},
        {"mode": mode, "size": (1, 7), "align_corners": True},
        {"mode": mode, "scale_factor": 2.0},
        {"mode": mode, "scale_factor": (0.6, 1.5)},
        {"mode": mode, "scale_factor": 2.3, "recompute_scale_factor": True},
    )


ANTIALIASED: tuple[Options, ...] = (
    {"mode": "bilinear", "size": (3, 4), "antialias": True},
    {"mode": "bilinear", "scale_factor": (0.3, 2.0), "antialias": True},
    {"mode": "bicubic", "size": (3, 4), "antialias": True},
    {"mode": "bicubic", "scale_factor": (0.3, 2.0), "antialias": True},
    {"mode": "bicubic", "size": (12, 3), "antialias": True, "align_corners": True},
)


def calls(choices: Sequence[Options]) -> Callable[..., Any]:
    return lambda x: tuple(ph.interpolate(x, **options) for options in choices)


def answers(choices: Sequence[Options]) -> Callable[..., Any]:
    """PyTorch's answers; what it does not take is told by us: nothing of an empty batch."""

    def oracle(x: Array) -> tuple[Array, ...]:
        return tuple(_answer(x, options) for options in choices)

    return oracle


def _answer(x: Array, options: Options) -> Array:
    if x.shape[0]:
        return np.asarray(functional("interpolate", x, **options))
    one = np.zeros((1, *x.shape[1:]))
    return np.asarray(functional("interpolate", one, **options))[:0]


def weighed(name: str, choices: Sequence[Options], inputs: Cases, **more: Any) -> Entry:
    """Interpolation by kernels."""
    oracle = answers(choices)
    return Entry(
        name,
        calls(choices),
        oracle,
        inputs,
        rtol=OF_PEER,
        why=PEER,
        scale=_largest_magnitude(oracle),
        is_peer=True,
        **more,
    )


def _largest_magnitude(oracle: Callable[..., Any]) -> Callable[..., Any]:
    """For every result the largest magnitude of the input."""

    def scale(x: Array) -> tuple[Array, ...]:
        largest = np.abs(x).max(initial=0.0)
        return tuple(np.full(one.shape, largest) for one in oracle(x))

    return scale


def speed(options: Options) -> Speed:
    return Speed(
        lambda torch, x: torch.nn.functional.interpolate(x, **options),
        million((1, 64, 56, 56)),
        lambda x: ph.interpolate(x, **options),
    )


NAMED: tuple[Options, ...] = ({"scale_factor": 2.0}, {"scale_factor": 1.5})


def _with(mode: str, choices: Sequence[Options] = NAMED) -> tuple[Options, ...]:
    return tuple({"mode": mode, **options} for options in choices)


INTERPOLATED = (
    Entry(
        "interpolate",
        calls(NEAREST),
        answers(NEAREST),
        joined(IMAGES, with_specials((2, 2, 5, 4))),
        (*FLOATS, "uint8"),
        ulps=0.0,
        gradient="almost everywhere",
        onnx=("Resize", "Upsample"),
        aten=("upsample_nearest2d", "_upsample_nearest_exact2d"),
        is_peer=True,
        speed=speed({"scale_factor": 2.0}),
    ),
    Entry(
        "interpolate.sizes",
        calls((*_with("nearest"), *_with("nearest-exact"))),
        answers((*_with("nearest"), *_with("nearest-exact"))),
        IMAGES,
        ulps=0.0,
        gradient="almost everywhere",
        sizes=("n c h+ w+",),
        is_peer=True,
    ),
    weighed(
        "interpolate.bilinear",
        _linear("bilinear"),
        FEW_IMAGES,
        onnx=("Resize", "Upsample"),
        aten=("upsample_bilinear2d",),
        speed=speed({"scale_factor": 2.0, "mode": "bilinear"}),
    ),
    weighed(
        "interpolate.bicubic",
        _linear("bicubic"),
        FEW_IMAGES,
        onnx=("Resize",),
        aten=("upsample_bicubic2d",),
        speed=speed({"scale_factor": 2.0, "mode": "bicubic"}),
    ),
    weighed("interpolate.linear_sizes", _with("bilinear"), IMAGES, sizes=("n c h+ w+",)),
    weighed("interpolate.cubic_sizes", _with("bicubic"), IMAGES, sizes=("n c h+ w+",)),
    weighed(
        "interpolate.linear",
        ({"mode": "linear", "size": 9}, {"mode": "linear", "scale_factor": 0.5}),
        LINES,
        aten=("upsample_linear1d",),
    ),
    weighed(
        "interpolate.trilinear",
        ({"mode": "trilinear", "size": (3, 4, 7)}, {"mode": "trilinear", "scale_factor": 1.5}),
        SOLIDS,
        aten=("upsample_trilinear3d",),
    ),
    weighed(
        "interpolate.area",
        ({"mode": "area", "size": (3, 4)}, {"mode": "area", "scale_factor": (2.0, 0.5)}),
        of_shape((2, 3, 7, 5), (1, 1, 4, 4)),
        sizes=("n c 7 5",),
        aten=("adaptive_avg_pool2d",),
    ),
    weighed(
        "interpolate.antialias",
        ANTIALIASED,
        of_shape((2, 3, 9, 8), (1, 1, 20, 13)),
        aten=("_upsample_bilinear2d_aa", "_upsample_bicubic2d_aa"),
        speed=speed({"size": (28, 28), "mode": "bilinear", "antialias": True}),
    ),
)

# --- ONNX's Resize, place by place ----------------------------------------------------------


def _triangle(d: Fraction) -> Fraction:
    return max(1 - d, Fraction(0))


def _keys(d: Fraction) -> Fraction:
    """Cubic convolution with a = -3/4."""
    a = Fraction(-3, 4)
    if d <= 1:
        return ((a + 2) * d - (a + 3)) * d * d + 1
    return (((d - 5) * d + 8) * d - 4) * a if d < 2 else Fraction(0)


def _half_pixel(o: int, n: int, m: int, step: Fraction) -> Fraction:
    return (o + Fraction(1, 2)) * step - Fraction(1, 2)


def _symmetric(o: int, n: int, m: int, step: Fraction) -> Fraction:
    middle = Fraction(n, 2) * (1 - m * step / n)
    return middle + _half_pixel(o, n, m, step)


COORDINATES: dict[str, Callable[[int, int, int, Fraction], Fraction]] = {
    "half_pixel": _half_pixel,
    "half_pixel_symmetric": _symmetric,
    "pytorch_half_pixel": lambda o, n, m, s: _half_pixel(o, n, m, s) if m > 1 else Fraction(0),
    "tf_half_pixel_for_nn": lambda o, n, m, s: (o + Fraction(1, 2)) * s,
    "asymmetric": lambda o, n, m, s: o * s,
    "align_corners": lambda o, n, m, s: Fraction(o * (n - 1), m - 1) if m > 1 else Fraction(0),
}
ROUNDINGS: dict[str, Callable[[Fraction], int]] = {
    "floor": math.floor,
    "ceil": math.ceil,
    "round_prefer_floor": lambda x: math.ceil(x - Fraction(1, 2)),
    "round_prefer_ceil": lambda x: math.floor(x + Fraction(1, 2)),
}


def _nearest_row(x: Fraction, n: int, rounding: str) -> Array:
    row = np.zeros(n)
    row[min(max(ROUNDINGS[rounding](x), 0), n - 1)] = 1.0
    return row


def _kernel_row(x: Fraction, n: int, mode: str, excluding: bool, stretch: Fraction) -> Array:
    kernel, radius = (_triangle, 1) if mode == "linear" else (_keys, 2)
    reach = math.ceil(radius * stretch) + 1
    row = [Fraction(0)] * n
    for k in range(math.floor(x) - reach, math.ceil(x) + reach + 1):
        if not excluding or 0 <= k < n:
            row[min(max(k, 0), n - 1)] += kernel(abs(k - x) / stretch)
    return np.array([float(one / sum(row)) for one in row])


def _matrix(n: int, m: int, step: Fraction, options: Options) -> Array:
    """The rows by which the new places are made of the old ones."""
    place = COORDINATES[options.get("coordinates", "half_pixel")]
    mode = options.get("mode", "nearest")
    stretch = max(step, Fraction(1)) if options.get("antialias") else Fraction(1)
    rows = []
    for o in range(m):
        x = place(o, n, m, step)
        if mode == "nearest":
            rows.append(_nearest_row(x, n, options.get("rounding", "round_prefer_floor")))
        else:
            excluding = bool(options.get("exclude_outside"))
            rows.append(_kernel_row(x, n, mode, excluding, stretch))
    return np.array(rows)


def resized(x: Array, sizes: Sequence[int], **options: Any) -> Array:
    """The last two axes in other sizes."""
    down, across = (
        _matrix(n, m, Fraction(n, m), options) for n, m in zip(x.shape[-2:], sizes, strict=True)
    )
    with np.errstate(all="ignore"):
        return np.asarray(np.einsum("on,pm,...nm->...op", down, across, x, optimize=True))


RESIZED: tuple[Options, ...] = (
    *({"mode": "nearest", "rounding": one} for one in ROUNDINGS),
    *({"mode": "nearest", "coordinates": one} for one in COORDINATES),
    *({"mode": "linear", "coordinates": one} for one in COORDINATES),
    *({"mode": "cubic", "coordinates": one} for one in COORDINATES),
    {"mode": "cubic", "exclude_outside": True},
    {"mode": "linear", "antialias": True},
    {"mode": "cubic", "antialias": True, "exclude_outside": True},
)
NEW_SIZES = ((4, 9), (8, 1))


def _all_resized(function: Callable[..., Any]) -> Callable[..., Any]:
    """Every choice to some sizes, a few to others."""
    return lambda x: tuple(
        function(x, sizes, **options)
        for sizes, choices in zip(NEW_SIZES, (RESIZED, RESIZED[::5]))
        for options in choices
    )


def _cropped(x: Array) -> Array:
    """tf_crop_and_resize of rows 1/4 .. 3/4 and columns 1/2 .. 5/4 to (3, 4), 7 outside."""
    result = np.full((*x.shape[:-2], 3, 4), 7.0)
    for row, column in np.ndindex(3, 4):
        y = (Fraction(1, 4) + Fraction(1, 2) * Fraction(row, 2)) * (x.shape[-2] - 1)
        z = (Fraction(1, 2) + Fraction(3, 4) * Fraction(column, 3)) * (x.shape[-1] - 1)
        if 0 <= y <= x.shape[-2] - 1 and 0 <= z <= x.shape[-1] - 1:
            down = _kernel_row(y, x.shape[-2], "linear", False, Fraction(1))
            across = _kernel_row(z, x.shape[-1], "linear", False, Fraction(1))
            result[..., row, column] = np.einsum("n,m,...nm->...", down, across, x)
    return result


def _photic_resized(x: ph.Tensor, sizes: Sequence[int], **options: Any) -> ph.Tensor:
    return ph.resize(x, sizes, axes=(-2, -1), **options)


_SCALE = _largest_magnitude(_all_resized(resized))
ONNX = (
    Entry(
        "resize",
        _all_resized(_photic_resized),
        _all_resized(resized),
        of_shape((7, 6), (1, 5, 4)),
        rtol=WEIGHED,
        why=WHY,
        scale=_SCALE,
        onnx=("Resize", "Upsample"),
    ),
    Entry(
        "resize.crop",
        lambda x: ph.resize(
            x,
            (3, 4),
            axes=(-2, -1),
            mode="linear",
            coordinates="tf_crop_and_resize",
            roi=((0.25, 0.75), (0.5, 1.25)),
            extrapolation_value=7.0,
        ),
        _cropped,
        of_shape((2, 5, 7), (1, 9, 4)),
        rtol=WEIGHED,
        why=WHY,
        scale=lambda x: np.full((*x.shape[:-2], 3, 4), np.abs(x).max()),
        onnx=("Resize",),
    ),
    Entry(
        "resize.scales",
        lambda x: (
            ph.resize(x, scales=(2.0, 0.5), axes=(0, 1), coordinates="asymmetric"),
            ph.resize(x, scales=(0.3,), axes=(1,), rounding="round_prefer_ceil"),
        ),
        lambda x: (
            x[np.ix_([-(-(k - 1) // 2) for k in range(2 * x.shape[0])], range(0, x.shape[1], 2))],
            x[:, [1, 5, 8, 11, 15, 18]],
        ),
        of_shape((3, 20), (1, 20)),
        ALL,
        ulps=0.0,
        gradient="almost everywhere",
        onnx=("Resize",),
    ),
)

ENTRIES: tuple[Entry, ...] = (*INTERPOLATED, *ONNX)
