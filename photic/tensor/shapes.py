"""Movement: reshapes, permutations, axes backwards and turned on, joins. All of it is views.

Nothing is copied. A padding reads nothing outside its source, which is the identity of ``add``; so
joining tensors is padding each to the whole and adding, exact for every value. Sizes may be
symbolic wherever the result's shape can be written down.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from photic.base.errors import BadArgument, ShapeMismatch
from photic.forms import movement
from photic.ir.dim import Dim, at_most, mod, mul, product
from photic.ir.view import Shape, View, axis_variables, composed
from photic.tensor.axes import (
    as_integer,
    as_many,
    as_sizes,
    checked_axis,
    infer_shape,
    is_many,
)
from photic.tensor.creation import checked_shape
from photic.tensor.primitive import apply
from photic.tensor.tensor import (
    Axes,
    Tensor,
    Value,
    broadcast_shape,
    expanded,
    in_dtype,
    joined_dtype,
    method,
    seen,
    tensor,
)

RIGHT_ANGLES = 4  # in a whole turn


def moved(x: Tensor, change: Callable[..., View], *arguments: object) -> Tensor:
    """The tensor seen through ``change(view, *arguments)``."""
    return seen(x, change(x.operand.view, *arguments))


# --- axes -----------------------------------------------------------------------------------


@method
def reshape(x: Value, shape: Dim | Sequence[Dim]) -> Tensor:
    """Same elements in row-major order, other axes; one size may be -1. CannotReshape."""
    value = tensor(x, "reshape")
    given = as_sizes("reshape", "shape", shape)
    return moved(value, movement.reshape, infer_shape(value.shape, given))


def ravel(x: Value) -> Tensor:
    """All elements on one axis, in row-major order."""
    return reshape(x, (-1,))


def flatten(x: Value, start_dim: int = 0, end_dim: int = -1) -> Tensor:
    """Axes ``start_dim`` to ``end_dim`` as one, in row-major order; a number as one element."""
    value = tensor(x, "flatten")
    if value.ndim == 0:
        return reshape(value, (1,))
    first, last = (checked_axis("flatten", one, value.ndim) for one in (start_dim, end_dim))
    if first > last:
        raise BadArgument(
            op="flatten", argument="end_dim", given=end_dim, expected=f"{first} or later"
        )
    shape = value.shape
    return reshape(value, (*shape[:first], product(shape[first : last + 1]), *shape[last + 1 :]))


def unflatten(x: Value, dim: int, sizes: Sequence[Dim]) -> Tensor:
    """One axis as several of these sizes, of which one may be -1. CannotReshape."""
    value = tensor(x, "unflatten")
    axis = checked_axis("unflatten", dim, value.ndim)
    parts = infer_shape((value.shape[axis],), as_sizes("unflatten", "sizes", sizes))
    return reshape(value, (*value.shape[:axis], *parts, *value.shape[axis + 1 :]))


@method
def transpose(x: Value, axes: Axes = None) -> Tensor:
    """Axes in the given order (negative ones count from the end); else in the opposite order."""
    value = tensor(x, "transpose")
    if axes is None:
        order = list(reversed(range(value.ndim)))
    else:
        order = [checked_axis("transpose", axis, value.ndim) for axis in as_many(axes)]
    return moved(value, movement.permute, order)


def permute(x: Value, axes: int | Sequence[int]) -> Tensor:
    """As ``transpose`` with an order."""
    return transpose(x, axes)


def matrix_transpose(x: Value) -> Tensor:
    """The last two axes exchanged."""
    return swapaxes(x, -1, -2)


@method
def swapaxes(x: Value, axis1: int, axis2: int) -> Tensor:
    """Two axes exchanged."""
    value = tensor(x, "swapaxes")
    a, b = (checked_axis("swapaxes", axis, value.ndim) for axis in (axis1, axis2))
    order = list(range(value.ndim))
    order[a], order[b] = b, a
    return transpose(value, order)


permute_dims = transpose  # NumPy's other name


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
    found = tuple(checked_axis(op, axis, rank) for axis in as_many(axes))
    if len(set(found)) != len(found):
        raise BadArgument(op=op, argument="axis", given=axes, expected="each axis once")
    return found


@method
def broadcast_to(x: Value, shape: Dim | Sequence[Dim]) -> Tensor:
    """Repeated along axes of size 1 and new leading ones; ShapeMismatch where it does not fit."""
    return expanded(tensor(x, "broadcast_to"), checked_shape("broadcast_to", shape))


@method
def expand(x: Value, shape: Dim | Sequence[Dim]) -> Tensor:
    """As ``broadcast_to``, PyTorch's: a size of -1 stays as it is."""
    value = tensor(x, "expand")
    given = as_sizes("expand", "shape", shape)
    new = len(given) - value.ndim
    kept = [
        value.shape[k - new] if size == -1 and k >= new >= 0 else size
        for k, size in enumerate(given)
    ]
    return broadcast_to(value, kept)


def broadcast_shapes(*shapes: Dim | Sequence[Dim]) -> Shape:
    """The shape that values of these shapes broadcast to. ShapeMismatch."""
    return broadcast_shape(
        "broadcast_shapes", *(checked_shape("broadcast_shapes", one) for one in shapes)
    )


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
    count = len(as_many(axis))
    places = checked_axes("expand_dims", axis, value.ndim + count)
    rest = iter(value.shape)
    shape = tuple(1 if k in places else next(rest) for k in range(value.ndim + count))
    return reshape(value, shape)


def unsqueeze(x: Value, dim: int) -> Tensor:
    """A new axis of size 1 at this place of the result."""
    return expand_dims(x, dim)


def atleast_1d(x: Value) -> Tensor:
    """A number as one element."""
    value = tensor(x, "atleast_1d")
    return value if value.ndim else reshape(value, (1,))


def atleast_2d(x: Value) -> Tensor:
    """A number or a line as a matrix of one row."""
    value = atleast_1d(x)
    return value if value.ndim > 1 else expand_dims(value, 0)


def atleast_3d(x: Value) -> Tensor:
    """NumPy's: a line as (1, n, 1), a matrix as (m, n, 1)."""
    value = atleast_2d(x)
    return value if value.ndim > 2 else expand_dims(value, -1)


# --- order of elements ----------------------------------------------------------------------


def flip(x: Value, axis: Axes = None) -> Tensor:
    """Axes backwards; all of them for None."""
    value = tensor(x, "flip")
    for one in checked_axes("flip", axis, value.ndim):
        value = moved(value, movement.flip, one)
    return value


def fliplr(x: Value) -> Tensor:
    """Axis 1 backwards."""
    return flip(x, 1)


def flipud(x: Value) -> Tensor:
    """Axis 0 backwards."""
    return flip(x, 0)


def rot90(x: Value, k: int = 1, axes: tuple[int, int] = (0, 1)) -> Tensor:
    """Turned ``k`` times by a right angle, from the first of two axes towards the second."""
    value = tensor(x, "rot90")
    if len(as_many(axes)) != 2:
        raise BadArgument(op="rot90", argument="axes", given=axes, expected="two axes")
    first, second = checked_axes("rot90", axes, value.ndim)
    half_turns, quarter = divmod(as_integer("rot90", "k", k) % RIGHT_ANGLES, 2)
    if half_turns:
        value = flip(value, (first, second))
    return swapaxes(flip(value, second), first, second) if quarter else value


def roll(x: Value, shift: int | Sequence[int], axis: Axes = None) -> Tensor:
    """Elements moved on by ``shift`` places, those that leave come back at the other end.

    Several shifts and axes go together as NumPy's broadcast. With ``axis=None`` all elements in
    row-major order are moved.
    """
    value = tensor(x, "roll")
    shifts = [as_integer("roll", "shift", one) for one in as_many(shift)]
    if axis is None:
        return reshape(_rolled(ravel(value), sum(shifts), 0), value.shape)
    axes = [checked_axis("roll", one, value.ndim) for one in as_many(axis)]
    count = max(len(shifts), len(axes))
    if {len(shifts), len(axes)} - {1, count}:
        raise BadArgument(op="roll", argument="shift", given=shift, expected="one for each axis")
    for k in range(count):
        value = _rolled(value, shifts[k % len(shifts)], axes[k % len(axes)])
    return value


def _rolled(x: Tensor, shift: int, axis: int) -> Tensor:
    extent = x.shape[axis]
    if extent == 0 or shift == 0:
        return x
    return moved(x, repeated_places, axis, -shift, extent)


def repeated_places(view: View, axis: int, start: Dim, length: Dim) -> View:
    """``length`` places of an axis from ``start`` on, as if it were laid in a row without end.

    The axis may only be empty where ``length`` is 0, too.
    """
    shape = (*view.shape[:axis], length, *view.shape[axis + 1 :])
    index = axis_variables(shape)
    index[axis] = mod(index[axis] + start, view.shape[axis])
    return composed(view, shape, index)


def repeated_whole(x: Tensor, axis: int, times: Dim) -> Tensor:
    """One axis laid ``times`` times in a row."""
    before, extent, after = x.shape[:axis], x.shape[axis], x.shape[axis + 1 :]
    laid = expanded(expand_dims(x, axis), (*before, times, extent, *after))
    return reshape(laid, (*before, mul(times, extent), *after))


# --- joining --------------------------------------------------------------------------------


def concat(values: Sequence[Value], axis: int = 0) -> Tensor:
    """Tensors one after another along an axis; dtypes promote. ShapeMismatch, BadArgument.

    A tensor in place of a sequence stands for its parts along the first axis, as NumPy's.
    """
    given = as_values("concat", values)
    dtype = joined_dtype(given, "concat")
    parts = [in_dtype(one, dtype) for one in given]
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


def as_values(op: str, values: Iterable[Value]) -> list[Value]:
    """What is joined, a sequence or a tensor's parts; BadArgument for a number or for nothing."""
    given = list(values) if is_many(values) else []
    if not given:
        expected = "a sequence of one tensor or more"
        raise BadArgument(op=op, argument="values", given=repr(values), expected=expected)
    return given


def _require_alike(first: Tensor, other: Tensor, axis: int) -> None:
    same = first.ndim == other.ndim and all(
        k == axis or a == b for k, (a, b) in enumerate(zip(first.shape, other.shape))
    )
    if not same:
        raise ShapeMismatch(op="concat", left=first.shape, right=other.shape)


def concatenate(values: Sequence[Value], axis: int | None = 0) -> Tensor:
    """As ``concat``; with ``axis=None`` of all elements in row-major order."""
    if axis is None:
        return concat([ravel(one) for one in as_values("concatenate", values)], 0)
    return concat(values, axis)


def stack(values: Sequence[Value], axis: int = 0) -> Tensor:
    """Tensors of one shape along a new axis. ShapeMismatch, AxisOutOfRange, BadArgument."""
    given = as_values("stack", values)
    shapes = [tensor(one, "stack").shape for one in given]
    place = checked_axis("stack", axis, len(shapes[0]) + 1)
    for shape in shapes:
        if shape != shapes[0]:
            raise ShapeMismatch(op="stack", left=shapes[0], right=shape)
    return concat([expand_dims(one, place) for one in given], place)


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
