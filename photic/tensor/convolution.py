"""Convolutions of any rank: windows of the input times weights, summed. Channels first, as PyTorch.

Input (..., channels, *sizes), result (..., outputs, *sizes); there may be no batch axis, or
several. A transposed convolution is a convolution too: its kernel falls apart into a small kernel
for each place between two strides, so that nothing is stuffed with zeros. Halves are multiplied and
summed in float32 and rounded once, with the bias; integers wrap in their own dtype.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from photic.base.errors import BadArgument, ShapeMismatch
from photic.forms import movement
from photic.ir.dim import Dim, at_most, exact_div, floordiv, mod
from photic.ir.dtype import BOOL, DType
from photic.ir.graph import cast
from photic.tensor.axes import as_integer
from photic.tensor.kernel_windows import (
    CHANNEL_AXES,
    Padding,
    Sizes,
    of_rank,
    padding_pairs,
    per_axis,
    windowed,
    windows_of,
)
from photic.tensor.padding import pad
from photic.tensor.primitive import accumulated, apply, masked, reduced
from photic.tensor.shapes import flip, moveaxis, moved, reshape, transpose
from photic.tensor.tensor import (
    Tensor,
    Value,
    expanded,
    in_dtype,
    joined_dtype,
    number,
    tensor,
    whole,
)


def conv(
    x: Value,
    weight: Value,
    bias: Value | None = None,
    stride: Sizes = 1,
    padding: Padding = 0,
    dilation: Sizes = 1,
    groups: int = 1,
) -> Tensor:
    """The cross-correlation with a kernel of any rank, as PyTorch's ``conv1d`` to ``conv3d``.

    ``x`` (..., C, *sizes), ``weight`` (O, C/groups, *kernel), ``bias`` (O,). ``padding`` holds 0:
    a number, one for each axis, pairs (before, after), "same" (an odd place goes to the end),
    "same_lower" (to the start) or "valid". Sizes may be symbolic. ShapeMismatch, BadArgument.
    """
    op = "conv"
    (a, w, *rest), dtype = _widened(op, x, weight, bias)
    lead, rank = _axes(op, a, w)
    groups = as_integer(op, "groups", groups)
    if a.shape[lead] != w.shape[1] * groups:
        raise ShapeMismatch(op=op, left=a.shape, right=w.shape)
    windows = windows_of(op, a.shape[lead + 1 :], w.shape[2:], stride, padding, dilation)
    seen = _for_outputs(op, windowed(a, windows, 0), lead, groups, w.shape[0])
    # channels are summed innermost: their weights may then lie side by side
    kernel = _laid(moveaxis(w, 1, -1))
    kernel = reshape(kernel, (w.shape[0], *(1,) * rank, *kernel.shape[1:]))
    seen = moveaxis(seen, lead + 1, -1)
    return _with_bias(op, _summed(apply("mul", seen, kernel), rank + 1), rank, rest, dtype)


# --- transposed -----------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Phases:
    """One axis of a transposed convolution.

    Place p of the uncut result is turn ``p // stride`` and phase ``p % stride``; there ``taps``
    places of the input meet the kernel. The first place that is kept is ``start``, ``skipped``
    turns on.
    """

    stride: int
    dilation: int
    taps: Dim
    skipped: Dim
    start: Dim
    length: Dim

    @property
    def turns(self) -> Dim:
        """How many turns hold the places that are kept."""
        return floordiv(self.start + self.length + (self.stride - 1), self.stride)


def conv_transpose(
    x: Value,
    weight: Value,
    bias: Value | None = None,
    stride: Sizes = 1,
    padding: Padding = 0,
    output_padding: Sizes = 0,
    groups: int = 1,
    dilation: Sizes = 1,
) -> Tensor:
    """The transpose of ``conv`` in its input, as PyTorch's ``conv_transpose1d`` to ``3d``.

    ``x`` (..., C, *sizes), ``weight`` (C, O/groups, *kernel). Of n places it makes
    ``(n - 1)*stride - before - after + (k - 1)*dilation + output_padding + 1``, where the padding
    is what a ``conv`` would add: numbers, or pairs (before, after). ShapeMismatch, BadArgument.
    """
    op = "conv_transpose"
    (a, w, *rest), dtype = _widened(op, x, weight, bias)
    lead, rank = _axes(op, a, w)
    if a.shape[lead] != w.shape[0]:
        raise ShapeMismatch(op=op, left=a.shape, right=w.shape)
    groups = as_integer(op, "groups", groups)
    outputs = w.shape[1] * groups
    axes = _phases(a.shape[lead + 1 :], w.shape[2:], stride, padding, output_padding, dilation)
    kernel = _by_output(op, w, groups)
    product = apply(
        "mul",
        _by_turn(_for_outputs(op, _read_by_turns(a, axes), lead, groups, outputs), lead, rank),
        _laid(_by_phase(kernel, axes)),
    )
    if any(one.dilation > 1 or mod(k, one.stride) != 0 for k, one in zip(w.shape[2:], axes)):
        whole = expanded(number(True, BOOL), (1, 1, *w.shape[2:]))
        product = masked(_by_phase(whole, axes), product)
    result = _in_order(_summed(product, rank + 1), lead + 1, axes)
    return _with_bias(op, result, rank, rest, dtype)


def _phases(
    extents: Sequence[Dim],
    kernel: Sequence[Dim],
    stride: Sizes,
    padding: Padding,
    output_padding: Sizes,
    dilation: Sizes,
) -> list[_Phases]:
    op, rank = "conv_transpose", len(extents)
    strides = per_axis(op, "stride", stride, rank, 1)
    dilations = per_axis(op, "dilation", dilation, rank, 1)
    more = per_axis(op, "output_padding", output_padding, rank, 0)
    if any(a >= s and a >= d for a, s, d in zip(more, strides, dilations)):
        expected = "less than the stride or the dilation"
        raise BadArgument(op=op, argument="output_padding", given=output_padding, expected=expected)
    made = []
    axes = zip(extents, kernel, strides, dilations, more, padding_pairs(op, padding, rank))
    for extent, size, step, apart, extra, (before, after) in axes:
        reach = (size - 1) * apart + 1
        length = (extent - 1) * step - before - after + reach + extra
        if not at_most(0, length):
            expected = "large enough for the padding"
            raise BadArgument(
                op=op, argument="an axis", given=f"of size {extent}", expected=expected
            )
        taps = floordiv(reach + (step - 1), step)
        made.append(_Phases(step, apart, taps, floordiv(before, step), mod(before, step), length))
    return made


def _read_by_turns(x: Tensor, axes: Sequence[_Phases]) -> Tensor:
    """(..., sizes) as (..., turns, taps): turn t reads the ``taps`` places up to t."""
    first = x.ndim - len(axes)
    widths: dict[int, tuple[Dim, Dim]] = {}
    for axis, one in enumerate(axes, start=first):
        before = one.taps - 1 - one.skipped
        widths[axis] = (before, one.turns + one.taps - 1 - before - x.shape[axis])
    x = pad(x, widths)
    for axis, one in enumerate(axes, start=first):
        x = moved(x, movement.windows, axis, one.taps, 1, 1)
    return x


def _by_output(op: str, w: Tensor, groups: int) -> Tensor:
    """(C, O/groups, ...) as (O, C/groups, ...)."""
    inputs, share, *kernel = w.shape
    split = reshape(w, (groups, _share(op, inputs, groups), share, *kernel))
    swapped = moveaxis(split, 2, 1)
    return reshape(swapped, (share * groups, _share(op, inputs, groups), *kernel))


def _by_turn(x: Tensor, lead: int, rank: int) -> Tensor:
    """(..., O, C, turns, taps) as (..., O, [turns, 1], C, taps)."""
    x = moveaxis(x, lead + 1, lead + 1 + rank)
    shape = x.shape
    turns = [size for one in shape[lead + 1 : lead + 1 + rank] for size in (one, 1)]
    return reshape(x, (*shape[: lead + 1], *turns, *shape[lead + 1 + rank :]))


def _by_phase(w: Tensor, axes: Sequence[_Phases]) -> Tensor:
    """(O, C, kernel) as (O, [1, phases], C, taps), the taps backwards, holes where no weight is."""
    rank = len(axes)
    for k, one in enumerate(axes):
        w = _split_in_phases(w, CHANNEL_AXES + 2 * k, one)
    taps = range(CHANNEL_AXES, CHANNEL_AXES + 2 * rank, 2)
    w = transpose(w, [0, *(axis + 1 for axis in taps), 1, *taps])
    phases = [size for one in axes for size in (1, one.stride)]
    return reshape(w, (w.shape[0], *phases, *w.shape[1 + rank :]))


def _split_in_phases(w: Tensor, axis: int, one: _Phases) -> Tensor:
    """One axis of a kernel, with holes between its places if dilated, as (taps, phases)."""
    before, size, after = w.shape[:axis], w.shape[axis], w.shape[axis + 1 :]
    if one.dilation > 1:
        w = moved(
            reshape(w, (*before, size, 1, *after)), movement.pad, axis + 1, 0, one.dilation - 1
        )
        size = size * one.dilation
        w = reshape(w, (*before, size, *after))
    w = moved(w, movement.pad, axis, 0, one.taps * one.stride - size)
    return flip(reshape(w, (*before, one.taps, one.stride, *after)), axis)


def _in_order(x: Tensor, first: int, axes: Sequence[_Phases]) -> Tensor:
    """(..., [turns, phases]) as (..., sizes), without what was cut away."""
    shape = x.shape[:first]
    x = reshape(x, (*shape, *(one.turns * one.stride for one in axes)))
    for axis, one in enumerate(axes, start=first):
        if not (one.start == 0 and x.shape[axis] == one.length):
            x = moved(x, movement.shrink, axis, one.start, 1, one.length)
    return x


# --- operands and results -------------------------------------------------------------------


def _widened(op: str, *values: Value | None) -> tuple[list[Tensor], DType]:
    """The values in the dtype in which they are summed, and the dtype of the result."""
    present = [tensor(one, op) for one in values if one is not None]
    dtype = joined_dtype(present, op)
    return [in_dtype(one, dtype).astype(accumulated(dtype)) for one in present], dtype


def _axes(op: str, x: Tensor, w: Tensor) -> tuple[int, int]:
    """How many axes stand before the channels, and after them. ShapeMismatch."""
    rank = w.ndim - CHANNEL_AXES
    if rank < 1 or x.ndim < rank + 1 or 0 in w.shape[CHANNEL_AXES:]:
        raise ShapeMismatch(op=op, left=x.shape, right=w.shape)
    return x.ndim - rank - 1, rank


def _laid(x: Tensor) -> Tensor:
    """A constant in the order in which it is read, laid so once, when a program is compiled."""
    is_constant = x.operand.node.op == "constant"
    return whole(cast(x.operand, x.dtype)) if is_constant else x


def _share(op: str, channels: Dim, groups: int) -> Dim:
    """The channels of a group."""
    share = exact_div(channels, groups) if groups > 0 else None
    if share is None:
        expected = f"a divisor of {channels}"
        raise BadArgument(op=op, argument="groups", given=groups, expected=expected)
    return share


def _for_outputs(op: str, x: Tensor, lead: int, groups: int, outputs: Dim) -> Tensor:
    """(..., C, rest) as (..., O, C/groups, rest): what each output sees of the channels."""
    before, channels, rest = x.shape[:lead], x.shape[lead], x.shape[lead + 1 :]
    share, each = _share(op, channels, groups), _share(op, outputs, groups)
    x = reshape(x, (*before, groups, 1, share, *rest))
    x = expanded(x, (*before, groups, each, share, *rest))
    return reshape(x, (*before, outputs, share, *rest))


def _summed(x: Tensor, count: int) -> Tensor:
    """The sum over the last axes, ``count`` of them."""
    for _ in range(count):
        x = reduced("sum", x, -1)
    return x


def _with_bias(op: str, x: Tensor, rank: int, bias: Sequence[Tensor], dtype: DType) -> Tensor:
    for one in bias:
        if one.shape != (x.shape[-rank - 1],):
            raise ShapeMismatch(op=f"{op}, bias", left=one.shape, right=(x.shape[-rank - 1],))
        x = apply("add", x, reshape(one, (*one.shape, *(1,) * rank)))
    return x.astype(dtype)


# --- of a stated rank -----------------------------------------------------------------------


def _kernel(name: str, given: object, rank: int) -> Tensor:
    """Weights with so many axes for the kernel."""
    weight = tensor(given, name)  # type: ignore[arg-type]
    if weight.ndim != CHANNEL_AXES + rank:
        expected = f"{CHANNEL_AXES + rank} axes"
        raise BadArgument(op=name, argument="weight", given=weight.shape, expected=expected)
    return weight


conv1d, conv2d, conv3d = (of_rank(rank, conv, "weight", _kernel) for rank in (1, 2, 3))
conv_transpose1d, conv_transpose2d, conv_transpose3d = (
    of_rank(rank, conv_transpose, "weight", _kernel) for rank in (1, 2, 3)
)
