"""Operators over windows: convolutions and pooling, with every way of padding that ONNX has."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

from photic.frontends.onnx.call import Call, Op
from photic.frontends.onnx.value import Value
from photic.ir.dim import Dim, product
from photic.ir.dtype import INT32
from photic.tensor import adaptive, convolution, creation, grids, pooling, scattering, shapes
from photic.tensor.tensor import Tensor

AUTO = {"SAME_UPPER": "same", "SAME_LOWER": "same_lower", "VALID": "valid"}


def padding_of(call: Call, rank: int) -> str | list[tuple[Dim, Dim]]:
    """The padding: by name, or pairs of each axis."""
    auto = call.choice("auto_pad", ("NOTSET", *AUTO), "NOTSET")
    if auto in AUTO:
        return AUTO[auto]
    pads = call.ints("pads") or (0,) * (2 * rank)
    return list(zip(pads[:rank], pads[rank:], strict=True))


def _steps(call: Call, name: str, rank: int) -> tuple[int, ...]:
    return call.ints(name) or (1,) * rank


def convolved(call: Call, x: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
    rank = x.ndim - 2
    strides, apart = _steps(call, "strides", rank), _steps(call, "dilations", rank)
    padding = padding_of(call, rank)
    return convolution.conv(x, weight, bias, strides, padding, apart, call.integer("group", 1))


def _conv(call: Call) -> Tensor:
    return convolved(call, call.tensor(0), call.tensor(1), call.optional(2))


def _conv_integer(call: Call) -> Tensor:
    """Products of integers less their zero points."""
    x, weight = call.tensor(0).astype(INT32), call.tensor(1).astype(INT32)
    if call.has(2):
        x = x - call.tensor(2).astype(INT32)
    if call.has(3):
        zero = call.tensor(3).astype(INT32)
        weight = weight - (
            shapes.reshape(zero, (-1, *(1,) * (weight.ndim - 1))) if zero.ndim else zero
        )
    return convolved(call, x, weight, None)


def _conv_transpose(call: Call) -> Tensor:
    x, weight = call.tensor(0), call.tensor(1)
    rank = x.ndim - 2
    strides, apart = _steps(call, "strides", rank), _steps(call, "dilations", rank)
    extra = call.ints("output_padding") or (0,) * rank
    groups = call.integer("group", 1)
    wanted = call.ints("output_shape")
    padding = padding_of(call, rank)
    full: list[Dim] = [
        (size - 1) * step + ((kernel - 1) * one + 1) + more
        for size, step, kernel, one, more in zip(
            x.shape[2:], strides, weight.shape[2:], apart, extra
        )
    ]
    if wanted is not None or padding in ("same", "same_lower"):
        sizes = wanted[-rank:] if wanted else [n * s for n, s in zip(x.shape[2:], strides)]
        padding = _cut(full, sizes, padding)
        longer = [max(0, -(one[0] + one[1])) for one in padding]
        extra = tuple(a + int(b) for a, b in zip(extra, longer))
        padding = [(0, 0) if more else pair for pair, more in zip(padding, longer)]
    if padding == "valid":
        padding = [(0, 0)] * rank
    return convolution.conv_transpose(
        x, weight, call.optional(2), strides, padding, extra, groups, apart
    )


def _cut(full: Sequence[Dim], sizes: Sequence[Dim], padding: object) -> list[tuple[Dim, Dim]]:
    """The padding that leaves these sizes; the odd place goes to the end with SAME_UPPER."""
    found = []
    for size, wanted in zip(full, sizes):
        both = size - wanted
        less = both // 2
        found.append((less, both - less) if padding == "same" else (both - less, less))
    return found


# --- pooling --------------------------------------------------------------------------------


Windows: TypeAlias = tuple[
    tuple[int, ...], tuple[int, ...], str | list[tuple[Dim, Dim]], tuple[int, ...], bool
]


def _windows(call: Call) -> Windows:
    sizes = call.ints("kernel_shape")
    if sizes is None:
        raise call.attribute_error("kernel_shape", "missing", "sizes")
    rank = len(sizes)
    return (
        sizes,
        _steps(call, "strides", rank),
        padding_of(call, rank),
        _steps(call, "dilations", rank),
        call.flag("ceil_mode"),
    )


def _max_pool(call: Call) -> list[Value | Tensor]:
    value = call.value(0)
    x, windows = value.tensor, _windows(call)
    if len([one for one in call.node.outputs if one]) < 2:
        return [Value(pooling.max_pool(x, *windows), value.kind)]
    best, places = pooling.max_pool_with_indices(x, *windows)
    rank = len(windows[0])
    if call.flag("storage_order"):
        places = _by_columns(places, x.shape[-rank:])
    lead = creation.arange(product(x.shape[:-rank])) * creation.size(product(x.shape[-rank:]))
    laid = shapes.reshape(lead, (*x.shape[:-rank], *(1,) * rank))
    return [Value(best, value.kind), places + laid]


def _by_columns(places: Tensor, extents: tuple[Dim, ...]) -> Tensor:
    """Row-major places of the pooled axes as column-major ones."""
    parts = grids.unravel_index(places, extents)
    result, step = creation.zeros_like(places), creation.size(1)
    for part, extent in zip(parts, extents):
        result, step = result + part * step, step * creation.size(extent)
    return result


def average_pooled(call: Call, x: Tensor) -> Tensor:
    """The means of windows."""
    sizes, strides, padding, apart, ceil = _windows(call)
    counts = call.flag("count_include_pad")
    return pooling.avg_pool(x, sizes, strides, padding, ceil, counts, None, apart)


def _lp_pool(call: Call) -> Tensor:
    sizes, strides, padding, apart, ceil = _windows(call)
    power = float(call.integer("p", 2))
    return pooling.lp_pool(call.tensor(0), power, sizes, strides, ceil, padding, apart)


def _max_unpool(call: Call) -> Value:
    """Values at the places that MaxPool gave, which count over the whole tensor."""
    value, places = call.value(0), call.tensor(1)
    sizes = call.ints("kernel_shape") or ()
    rank = len(sizes)
    strides, pads = _steps(call, "strides", rank), call.ints("pads") or (0,) * (2 * rank)
    x = value.tensor
    natural = [
        (size - 1) * step - before - after + kernel
        for size, step, before, after, kernel in zip(
            x.shape[-rank:], strides, pads[:rank], pads[rank:], sizes
        )
    ]
    if call.has(2):
        given = call.sizes(2)
        lead, wanted = given[:-rank], given[-rank:]
    else:
        lead, wanted = x.shape[:-rank], tuple(natural)
    total = product((*lead, *wanted))
    # the places count over the shape that the pooling read, which is the natural one
    source = (*x.shape[:-rank], *natural)
    flat_places = places
    if tuple(source) != (*lead, *wanted):
        parts = grids.unravel_index(places, source)
        flat_places = grids.ravel_multi_index(list(parts), (*lead, *wanted))
    flat = scattering.put(
        creation.zeros((total,), x.dtype), shapes.ravel(flat_places), shapes.ravel(x)
    )
    return Value(shapes.reshape(flat, (*lead, *wanted)), value.kind)


WINDOWS: tuple[Op, ...] = (
    Op("Conv", _conv),
    Op("ConvInteger", _conv_integer),
    Op("ConvTranspose", _conv_transpose),
    Op("MaxPool", _max_pool),
    Op("AveragePool", lambda call: average_pooled(call, call.tensor(0))),
    Op("LpPool", _lp_pool),
    Op("MaxUnpool", _max_unpool),
    Op("GlobalAveragePool", lambda call: adaptive.global_avg_pool(call.tensor(0))),
    Op("GlobalMaxPool", lambda call: adaptive.global_max_pool(call.tensor(0))),
    Op(
        "GlobalLpPool",
        lambda call: adaptive.global_lp_pool(call.tensor(0), float(call.integer("p", 2))),
    ),
)
