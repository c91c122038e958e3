"""Masks that are not known before the call: filled, replaced, and picked with a stated bound."""

from __future__ import annotations

from photic.base.errors import BadArgument, ShapeMismatch
from photic.ir.dim import Dim
from photic.tensor.axes import checked_axis
from photic.tensor.creation import counted, full
from photic.tensor.errors import SizeOfMask
from photic.tensor.indexing import take
from photic.tensor.primitive import less, require_bool, where
from photic.tensor.running import cumsum
from photic.tensor.scattering import Scatter
from photic.tensor.shapes import expand_dims, ravel, reshape
from photic.tensor.tensor import (
    Scalar,
    Tensor,
    Value,
    broadcast_shape,
    expanded,
    in_dtype,
    size_value,
    tensor,
)


def _together(op: str, x: Value, mask: Value) -> tuple[Tensor, Tensor]:
    """Both in the shape of ``x``, to which the mask broadcasts. DtypeMismatch, ShapeMismatch."""
    value, chosen = tensor(x, op), tensor(mask, op)
    require_bool(op, chosen)
    if broadcast_shape(op, value.shape, chosen.shape) != value.shape:
        raise ShapeMismatch(op=op, left=value.shape, right=chosen.shape)
    return value, expanded(chosen, value.shape)


def masked_fill(x: Value, mask: Value, value: Value) -> Tensor:
    """``x`` with one number where the mask holds; nothing of what was there shows."""
    given, chosen = _together("masked_fill", x, mask)
    return where(chosen, in_dtype(value, given.dtype), given)


def _numbered(mask: Tensor) -> Tensor:
    """For each place of a line the number of picked ones before it."""
    return cumsum(mask) - mask.astype("int64")


def masked_scatter(x: Value, mask: Value, source: Value) -> Tensor:
    """``x`` with the elements of ``source``, in row-major order, where the mask holds.

    Where ``source`` has too few, 0 is put.
    """
    given, chosen = _together("masked_scatter", x, mask)
    places = reshape(_numbered(ravel(chosen)), given.shape)
    return where(chosen, take(in_dtype(source, given.dtype), places), given)


def masked_select(x: Value, mask: Value, size: Dim | None = None, fill_value: Scalar = 0) -> Tensor:
    """The elements where the mask holds, in row-major order: the first ``size`` of them.

    Both broadcast. ``size`` is the size of the result: where the mask picks less, ``fill_value``
    follows. SizeOfMask without a size.
    """
    value, chosen = tensor(x, "masked_select"), tensor(mask, "masked_select")
    require_bool("masked_select", chosen)
    if size is None:
        raise SizeOfMask(op="masked_select", shape=chosen.shape)
    shape = broadcast_shape("masked_select", value.shape, chosen.shape)
    line, flags = (ravel(expanded(one, shape)) for one in (value, chosen))
    return _picked(line, flags, size, fill_value)


def _picked(x: Tensor, mask: Tensor, size: Dim, fill_value: Scalar) -> Tensor:
    rest = full(size, fill_value, x.dtype)
    places = where(mask, _numbered(mask), -1)
    given = Scatter(rest, expand_dims(places, 0), expand_dims(x, 0), 0)
    count = reshape(mask.astype("int64").sum(), (1,))
    return where(less(counted(0, size), count), given.reduced("sum", given.values), rest)


def extract(condition: Value, x: Value, size: Dim | None = None, fill_value: Scalar = 0) -> Tensor:
    """``masked_select`` with NumPy's order of arguments; the condition holds where it is not 0."""
    return masked_select(x, tensor(condition, "extract").astype("bool"), size, fill_value)


def compress(
    condition: Value, x: Value, axis: int | None = None, size: Dim | None = None
) -> Tensor:
    """The places of an axis (of all elements for None) where a line of bools holds, as NumPy's.

    A shorter line leaves out the rest. ``size`` is that of the result: further places are 0, those
    too many are lost. DtypeMismatch, BadArgument, SizeOfMask without a size.
    """
    value, line = tensor(x, "compress"), tensor(condition, "compress")
    if axis is None:
        return compress(line, ravel(value), 0, size)
    require_bool("compress", line)
    if line.ndim != 1:
        raise BadArgument(op="compress", argument="condition", given=line.ndim, expected="one axis")
    if size is None:
        raise SizeOfMask(op="compress", shape=line.shape)
    places = masked_select(counted(0, line.shape[0]), line, size, -1)
    return _at_places(places, value, axis)


def _at_places(places: Tensor, x: Tensor, axis: int) -> Tensor:
    """The places of an axis; negative ones give 0."""
    outside = size_value(x.shape[checked_axis("compress", axis, x.ndim)])
    return take(x, where(less(places, 0), outside, places), axis)
