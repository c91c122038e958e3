"""Movement: reshapes, permutations, slices, paddings, joins. All of it is views.

Nothing is copied. A padding reads nothing outside its source, which is the identity of ``add``; so
joining tensors is padding each to the whole and adding, exact for every value. Sizes may be
symbolic wherever the result's shape can be written down.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from photic.base.errors import BadArgument, ShapeMismatch
from photic.forms import movement
from photic.ir.dim import Dim, Int, at_most, bounds, floordiv, mod, mul
from photic.ir.dtype import BOOL
from photic.ir.view import View
from photic.tensor.axes import checked_axis, infer_shape
from photic.tensor.creation import checked_shape, counted
from photic.tensor.primitive import apply, less, masked, negated, where
from photic.tensor.tensor import (
    Axes,
    Scalar,
    Tensor,
    Value,
    broadcast_shape,
    expanded,
    fixed,
    in_dtype,
    joined_dtype,
    method,
    number,
    seen,
    tensor,
)


def moved(x: Tensor, change: Callable[..., View], *arguments: object) -> Tensor:
    """The tensor seen through ``change(view, *arguments)``."""
    return seen(x, change(x.operand.view, *arguments))


# --- axes -----------------------------------------------------------------------------------


@method
def reshape(x: Value, shape: Dim | Sequence[Dim]) -> Tensor:
    """Same elements in row-major order, other axes; one size may be -1. CannotReshape."""
    value = tensor(x, "reshape")
    given = (shape,) if isinstance(shape, int | Int) else tuple(shape)
    return moved(value, movement.reshape, infer_shape(value.shape, given))


def ravel(x: Value) -> Tensor:
    """All elements on one axis, in row-major order."""
    return reshape(x, (-1,))


@method
def transpose(x: Value, axes: Sequence[int] | None = None) -> Tensor:
    """Axes in the given order (negative ones count from the end); else in the opposite order."""
    value = tensor(x, "transpose")
    if axes is None:
        order = list(reversed(range(value.ndim)))
    else:
        order = [checked_axis("transpose", axis, value.ndim) for axis in axes]
    return moved(value, movement.permute, order)


def permute(x: Value, axes: Sequence[int]) -> Tensor:
    """As ``transpose`` with an order."""
    return transpose(x, axes)


@method
def swapaxes(x: Value, axis1: int, axis2: int) -> Tensor:
    """Two axes exchanged."""
    value = tensor(x, "swapaxes")
    a, b = (checked_axis("swapaxes", axis, value.ndim) for axis in (axis1, axis2))
    order = list(range(value.ndim))
    order[a], order[b] = b, a
    return transpose(value, order)


def moveaxis(x: Value, source: Axes, destination: Axes) -> Tensor:
    """Axes moved to other places, the rest in their order."""
    value = tensor(x, "moveaxis")
    sources = checked_axes("moveaxis", source, value.ndim)
    targets = checked_axes("moveaxis", destination, value.ndim)
    if len(sources) != len(targets):
        raise BadArgument(
            op="moveaxis", argument="destination", given=destination, expected="as many axes"
        )
    order = [axis for axis in range(value.ndim) if axis not in sources]
    for target, axis in sorted(zip(targets, sources)):
        order.insert(target, axis)
    return transpose(value, order)


def checked_axes(op: str, axes: Axes, rank: int) -> tuple[int, ...]:
    """Axes counted from the front, in the order given; all of them for None; no axis twice."""
    if axes is None:
        return tuple(range(rank))
    given = (axes,) if isinstance(axes, int) else tuple(axes)
    found = tuple(checked_axis(op, axis, rank) for axis in given)
    if len(set(found)) != len(found):
        raise BadArgument(op=op, argument="axis", given=axes, expected="each axis once")
    return found


@method
def broadcast_to(x: Value, shape: Dim | Sequence[Dim]) -> Tensor:
    """Repeated along axes of size 1 and new leading ones; ShapeMismatch where it does not fit."""
    return expanded(tensor(x, "broadcast_to"), checked_shape("broadcast_to", shape))


def broadcast_arrays(*values: Value) -> tuple[Tensor, ...]:
    """Every value in the common shape; dtypes stay."""
    given = [tensor(one, "broadcast_arrays") for one in values]
    shape = broadcast_shape("broadcast_arrays", *(one.shape for one in given))
    return tuple(expanded(one, shape) for one in given)


@method
def squeeze(x: Value, axis: Axes = None) -> Tensor:
    """Without axes of size 1: all that are known to be so, or those named. BadArgument."""
    value = tensor(x, "squeeze")
    if axis is None:
        gone = tuple(k for k, extent in enumerate(value.shape) if extent == 1)
    else:
        gone = checked_axes("squeeze", axis, value.ndim)
    for one in gone:
        if value.shape[one] != 1:
            raise BadArgument(
                op="squeeze", argument=f"axis {one}", given=value.shape[one], expected="size 1"
            )
    return reshape(value, tuple(n for k, n in enumerate(value.shape) if k not in gone))


def expand_dims(x: Value, axis: int | Sequence[int]) -> Tensor:
    """New axes of size 1 at these places of the result."""
    value = tensor(x, "expand_dims")
    count = 1 if isinstance(axis, int) else len(axis)
    places = checked_axes("expand_dims", axis, value.ndim + count)
    rest = iter(value.shape)
    shape = tuple(1 if k in places else next(rest) for k in range(value.ndim + count))
    return reshape(value, shape)


# --- order of elements ----------------------------------------------------------------------


def flip(x: Value, axis: Axes = None) -> Tensor:
    """Axes backwards; all of them for None."""
    value = tensor(x, "flip")
    for one in checked_axes("flip", axis, value.ndim):
        value = moved(value, movement.flip, one)
    return value


def roll(x: Value, shift: int | Sequence[int], axis: Axes = None) -> Tensor:
    """Elements moved on by ``shift`` places, those that leave come back at the other end.

    With ``axis=None`` all elements in row-major order are moved.
    """
    value = tensor(x, "roll")
    if axis is None:
        return reshape(roll(ravel(value), shift, 0), value.shape)
    axes = checked_axes("roll", axis, value.ndim)
    shifts = (shift,) * len(axes) if isinstance(shift, int) else tuple(shift)
    for one, places in zip(axes, shifts, strict=True):
        value = _rolled(value, places, one)
    return value


def _rolled(x: Tensor, shift: int, axis: int) -> Tensor:
    """A window of the axis laid twice in a row."""
    extent = x.shape[axis]
    if bounds(extent)[0] == 0:
        if extent == 0:
            return x
        raise BadArgument(op="roll", argument="axis", given=extent, expected="a size of 1 or more")
    start = mod(extent * (abs(shift) + 1) - shift, extent)
    twice = _repeated_whole(x, axis, 2)
    return moved(twice, movement.shrink, axis, start, 1, extent)


def _repeated_whole(x: Tensor, axis: int, times: Dim) -> Tensor:
    """One axis laid ``times`` times in a row."""
    before, extent, after = x.shape[:axis], x.shape[axis], x.shape[axis + 1 :]
    laid = expanded(expand_dims(x, axis), (*before, times, extent, *after))
    return reshape(laid, (*before, mul(times, extent), *after))


def tile(x: Value, reps: Dim | Sequence[Dim]) -> Tensor:
    """The whole laid side by side ``reps`` times along each axis (aligned from the right)."""
    value = tensor(x, "tile")
    counts = checked_shape("tile", reps)
    rank = max(len(counts), value.ndim)
    counts = (1,) * (rank - len(counts)) + counts
    value = reshape(value, (1,) * (rank - value.ndim) + value.shape)
    for axis, times in enumerate(counts):
        value = value if times == 1 else _repeated_whole(value, axis, times)
    return value


def repeat(x: Value, repeats: Dim, axis: int | None = None) -> Tensor:
    """Each element ``repeats`` times in a row along an axis; of all elements for None."""
    value = tensor(x, "repeat")
    if axis is None:
        return repeat(ravel(value), repeats, 0)
    place = checked_axis("repeat", axis, value.ndim)
    before, extent, after = value.shape[:place], value.shape[place], value.shape[place + 1 :]
    laid = expanded(expand_dims(value, place + 1), (*before, extent, repeats, *after))
    return reshape(laid, (*before, mul(extent, repeats), *after))


# --- padding and joining --------------------------------------------------------------------


def pad(x: Value, pad_width: PadWidth, constant_values: Scalar = 0) -> Tensor:
    """Places around each axis that hold ``constant_values``; negative widths cut away.

    ``pad_width``: one number, one (before, after) for all axes, or one for each axis.
    """
    value = tensor(x, "pad")
    outside, inside = value, expanded(number(True, BOOL), value.shape)
    for axis, (before, after) in enumerate(_widths(pad_width, value.ndim)):
        if before == 0 and after == 0:
            continue
        if bounds(value.shape[axis] + before + after)[0] < 0:
            raise BadArgument(
                op="pad", argument="pad_width", given=(before, after), expected="a size left"
            )
        outside = moved(outside, movement.pad, axis, before, after)
        inside = moved(inside, movement.pad, axis, before, after)
    # what is read outside is the identity of add
    return outside + masked(negated(inside), in_dtype(constant_values, value.dtype))


PadWidth = Dim | Sequence[Dim] | Sequence[tuple[Dim, Dim]]


def _widths(given: PadWidth, rank: int) -> list[tuple[Dim, Dim]]:
    if isinstance(given, int | Int):
        return [(given, given)] * rank
    pairs = list(given)
    both = [one for one in pairs if isinstance(one, int | Int)]
    if len(both) == len(pairs) == 2:
        return [(both[0], both[1])] * rank
    couples = [(one[0], one[1]) for one in pairs if not isinstance(one, int | Int)]
    if len(couples) != rank:
        raise BadArgument(
            op="pad", argument="pad_width", given=given, expected=f"{rank} pairs (before, after)"
        )
    return couples


def concat(values: Sequence[Value], axis: int = 0) -> Tensor:
    """Tensors one after another along an axis; dtypes promote. ShapeMismatch, BadArgument."""
    if not values:
        raise BadArgument(op="concat", argument="values", given="none", expected="one or more")
    dtype = joined_dtype(values, "concat")
    parts = [in_dtype(one, dtype) for one in values]
    place = checked_axis("concat", axis, parts[0].ndim)
    for one in parts[1:]:
        _require_alike(parts[0], one, place)
    before: Dim = 0
    total = sum((one.shape[place] for one in parts), start=before)
    result: Tensor | None = None
    for one in parts:
        after = total - before - one.shape[place]
        laid = moved(one, movement.pad, place, before, after) if len(parts) > 1 else one
        result = laid if result is None else apply("add", result, laid)
        before = before + one.shape[place]
    assert result is not None
    return result


def _require_alike(first: Tensor, other: Tensor, axis: int) -> None:
    same = first.ndim == other.ndim and all(
        k == axis or a == b for k, (a, b) in enumerate(zip(first.shape, other.shape))
    )
    if not same:
        raise ShapeMismatch(op="concat", left=first.shape, right=other.shape)


def concatenate(values: Sequence[Value], axis: int | None = 0) -> Tensor:
    """As ``concat``; with ``axis=None`` of all elements in row-major order."""
    if axis is None:
        return concat([ravel(one) for one in values], 0)
    return concat(values, axis)


def stack(values: Sequence[Value], axis: int = 0) -> Tensor:
    """Tensors of one shape along a new axis."""
    return concat([expand_dims(one, axis) for one in values], axis)


def split(x: Value, sections: int | Sequence[Dim], axis: int = 0) -> list[Tensor]:
    """Equal parts of an axis, or parts that end at the given places (and the rest)."""
    value = tensor(x, "split")
    place = checked_axis("split", axis, value.ndim)
    extent = value.shape[place]
    if isinstance(sections, int):
        if sections < 1 or fixed("split", extent) % sections:
            raise BadArgument(
                op="split", argument="sections", given=sections, expected=f"a divisor of {extent}"
            )
        part = floordiv(extent, sections)
        ends: list[Dim] = [mul(part, k + 1) for k in range(sections)]
    else:
        ends = [*sections, extent]
    starts: list[Dim] = [0, *ends[:-1]]
    parts = zip(starts, ends, strict=True)
    return [window(value, place, start, end, "split") for start, end in parts]


def window(x: Tensor, axis: int, start: Dim, end: Dim, op: str) -> Tensor:
    """Places ``start .. end - 1`` of an axis; BadArgument unless they surely lie within it."""
    extent = x.shape[axis]
    if not (at_most(0, start) and at_most(start, end) and at_most(end, extent)):
        raise BadArgument(
            op=op, argument="range", given=f"{start}:{end}", expected=f"inside 0:{extent} surely"
        )
    if start == 0 and end == extent:
        return x
    return moved(x, movement.shrink, axis, start, 1, end - start)


# --- triangles ------------------------------------------------------------------------------


def _below(rows: Dim, columns: Dim, k: int) -> Tensor:
    """True where ``column - row <= k``."""
    right, down = max(0, -k), max(0, k)
    across, deep = counted(right, columns + right), counted(down, rows + down)
    return negated(less(deep[:, None], across))


def tri(rows: Dim, columns: Dim, k: int = 0) -> Tensor:
    """A bool matrix, true on and below the diagonal ``column - row == k``."""
    return _below(rows, columns, k)


def tril(x: Value, k: int = 0) -> Tensor:
    """0 above the diagonal ``column - row == k`` of the last two axes, also over nan."""
    value = tensor(x, "tril")
    checked_axis("tril", -2, value.ndim)
    return where(_below(value.shape[-2], value.shape[-1], k), value, in_dtype(0, value.dtype))


def triu(x: Value, k: int = 0) -> Tensor:
    """0 below the diagonal ``column - row == k`` of the last two axes, also over nan."""
    value = tensor(x, "triu")
    checked_axis("triu", -2, value.ndim)
    under = _below(value.shape[-2], value.shape[-1], k - 1)
    return where(under, in_dtype(0, value.dtype), value)
