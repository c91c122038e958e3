"""Masks that are not known before the call: filled, replaced, and picked with a stated bound."""

from __future__ import annotations

from photic.base.errors import ShapeMismatch
from photic.ir.dim import Dim
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
