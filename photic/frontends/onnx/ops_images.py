"""Operators on images: sizes changed, samples at places by data, patches put together."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from photic.frontends.onnx.call import Call, Op
from photic.frontends.onnx.value import Value
from photic.tensor import resizing, sampling_grids, unfolding
from photic.tensor.tensor import Tensor, fixed

COORDINATES = (
    "half_pixel", "half_pixel_symmetric", "pytorch_half_pixel", "align_corners",
    "asymmetric", "tf_crop_and_resize", "tf_half_pixel_for_nn",
)  # fmt: skip
ROUNDINGS = ("round_prefer_floor", "round_prefer_ceil", "floor", "ceil")
FINEST = 1 << 16  # parts of a scale that is no fraction; a float32 holds no finer ones
GRID_MODES = {
    "linear": "bilinear", "bilinear": "bilinear", "nearest": "nearest",
    "cubic": "bicubic", "bicubic": "bicubic",
}  # fmt: skip


def _resize(call: Call) -> Value:
    """By scales or sizes; version 10 has neither coordinates nor regions."""
    value = call.value(0)
    x = value.tensor
    at_scales = 1 if call.version < 11 else 2
    scales = _numbers(call, at_scales)
    sizes = call.sizes(3) if call.version >= 11 and call.has(3) else None
    axes = tuple(one % x.ndim for one in call.ints("axes") or range(x.ndim))
    if sizes is not None and not sizes:
        sizes = None
    mode = call.choice("mode", ("nearest", "linear", "cubic"), "nearest")
    if call.version < 11:
        return Value(_scaled_old(x, scales, mode), value.kind)
    policy = call.choice(
        "keep_aspect_ratio_policy", ("stretch", "not_larger", "not_smaller"), "stretch"
    )
    if sizes is not None and policy != "stretch":
        extents = [fixed("Resize", x.shape[axis]) for axis in axes]
        scales = _with_aspect(extents, [fixed("Resize", one) for one in sizes], policy)
        sizes = tuple(int(extent * scales[0] + 0.5) for extent in extents)
    coordinates = call.choice("coordinate_transformation_mode", COORDINATES, "half_pixel")
    if coordinates == "align_corners" and scales is not None and sizes is None:
        coordinates, sizes, scales = _between_corners(x, axes, scales)
    region = _region(call, axes, coordinates)
    result = resizing.resize(
        x,
        sizes,
        scales,
        axes,
        mode,
        coordinates,
        call.choice("nearest_mode", ROUNDINGS, "round_prefer_floor"),
        call.number("cubic_coeff_a", -0.75),
        call.flag("exclude_outside"),
        call.flag("antialias"),
        region,
        call.number("extrapolation_value", 0.0),
    )
    return Value(result, value.kind)


def _numbers(call: Call, number: int) -> tuple[float, ...] | None:
    """The scales, None where they are left out or empty."""
    if not call.has(number):
        return None
    found = tuple(float(one) for one in call.array(number).reshape(-1))
    return found or None


def _scaled_old(x: Tensor, scales: tuple[float, ...] | None, mode: str) -> Tensor:
    """As the first version did: places are the old ones over the scale, rounded down."""
    return resizing.resize(x, None, scales, None, mode, "asymmetric", "floor")


def _with_aspect(extents: Sequence[int], sizes: Sequence[int], policy: str) -> tuple[float, ...]:
    """One scale for all axes: the least, or the largest, that the sizes ask for."""
    ratios = [size / extent for size, extent in zip(sizes, extents)]
    scale = min(ratios) if policy == "not_larger" else max(ratios)
    return (scale,) * len(extents)


def _between_corners(
    x: Tensor, axes: Sequence[int], scales: Sequence[float]
) -> tuple[str, tuple[int, ...] | None, tuple[float, ...]]:
    """Coordinates, sizes and scales where the corners are those of a size that is not whole.

    The standard lays the last corner at ``size*scale - 1``, though the last place is before it.
    """
    extents = [x.shape[axis] for axis in axes]
    sizes = [one if isinstance(one, int) else 1 for one in extents]
    longs = [Fraction(one).limit_denominator(FINEST) for one in scales]
    ends = [size * one for size, one in zip(sizes, longs)]
    if all(end.denominator == 1 for end in ends):
        return "align_corners", None, tuple(scales)
    apart = [(e - 1) / (n - 1) if n > 1 and e > 1 else e / n for e, n in zip(ends, sizes)]
    return "asymmetric", tuple(int(e) for e in ends), tuple(float(one) for one in apart)


def _region(
    call: Call, axes: Sequence[int], coordinates: str
) -> tuple[tuple[float, float], ...] | None:
    if coordinates != "tf_crop_and_resize":
        return None
    ends = [float(one) for one in call.array(1).reshape(-1)]
    count = len(axes)
    return tuple((ends[k], ends[k + count]) for k in range(count))


def _upsample(call: Call) -> Value:
    value = call.value(0)
    scales = _numbers(call, 1) if call.version >= 9 else call.floats("scales")
    if scales is None and "height_scale" in call.attributes:
        scales = (1.0, 1.0, call.number("height_scale"), call.number("width_scale"))
    mode = call.choice("mode", ("nearest", "linear", "bilinear"), "nearest")
    mode = "linear" if mode == "bilinear" else mode
    return Value(_scaled_old(value.tensor, scales, mode), value.kind)


def _grid_sample(call: Call) -> Value:
    value = call.value(0)
    mode = GRID_MODES[call.choice("mode", tuple(GRID_MODES), "linear")]
    padding = call.choice("padding_mode", ("zeros", "border", "reflection"), "zeros")
    corners = call.flag("align_corners")
    result = sampling_grids.grid_sample(value.tensor, call.tensor(1), mode, padding, corners)
    return Value(result, value.kind)


def _affine_grid(call: Call) -> Tensor:
    return sampling_grids.affine_grid(call.tensor(0), call.sizes(1), call.flag("align_corners"))


def _patches(call: Call) -> Value:
    """Col2Im: windows side by side added up again."""
    value = call.value(0)
    sizes, kernel = call.sizes(1), call.integers(2)
    rank = len(kernel)
    pads = call.ints("pads") or (0,) * (2 * rank)
    result = unfolding.fold(
        value.tensor,
        sizes,
        kernel,
        call.ints("dilations") or (1,) * rank,
        list(zip(pads[:rank], pads[rank:])),
        call.ints("strides") or (1,) * rank,
    )
    return Value(result, value.kind)


IMAGES: tuple[Op, ...] = (
    Op("Resize", _resize),
    Op("Upsample", _upsample),
    Op("GridSample", _grid_sample),
    Op("AffineGrid", _affine_grid),
    Op("Col2Im", _patches),
)
