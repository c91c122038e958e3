"""Elements and wholes repeated in a row."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from photic.base.errors import BadArgument
from photic.ir.dim import Dim, mul
from photic.tensor.axes import as_size, checked_axis, is_many
from photic.tensor.compare import maximum
from photic.tensor.creation import checked_shape, counted
from photic.tensor.errors import SizeOfMask
from photic.tensor.indexing import index_tensor, take
from photic.tensor.running import cumsum
from photic.tensor.searching import searchsorted
from photic.tensor.shapes import expand_dims, ravel, repeated_whole, reshape
from photic.tensor.tensor import Array, Tensor, Value, expanded, fixed, tensor

Repeats = Dim | Sequence[int] | Array | Tensor


def tile(x: Value, reps: Dim | Sequence[Dim]) -> Tensor:
    """The whole laid side by side ``reps`` times along each axis (aligned from the right)."""
    value = tensor(x, "tile")
    counts = checked_shape("tile", reps)
    rank = max(len(counts), value.ndim)
    counts = (1,) * (rank - len(counts)) + counts
    value = reshape(value, (1,) * (rank - value.ndim) + value.shape)
    for axis, times in enumerate(counts):
        value = value if times == 1 else repeated_whole(value, axis, times)
    return value


def repeat(
    x: Value,
    repeats: Repeats,
    axis: int | None = None,
    total_repeat_length: Dim | None = None,
) -> Tensor:
    """Each element ``repeats`` times in a row along an axis; of all elements for None.

    ``repeats`` may be a list or an array known now, with a number for each place of the axis, or an
    integer tensor: then ``total_repeat_length`` is the size of the result. What is beyond it is
    lost; past the last element stands 0. A number below 0 counts as 0. BadArgument, DtypeMismatch,
    SizeOfMask without that size, UnknownSize.
    """
    value = tensor(x, "repeat")
    if axis is None:
        return repeat(ravel(value), repeats, 0, total_repeat_length)
    place = checked_axis("repeat", axis, value.ndim)
    if isinstance(repeats, Tensor) or total_repeat_length is not None:
        return _repeated_by_data(value, repeats, place, total_repeat_length)
    if is_many(repeats):
        return _repeated_each(value, np.asarray(repeats).astype(np.int64), place)
    (times,) = checked_shape("repeat", as_size("repeat", "repeats", repeats))
    before, extent, after = value.shape[:place], value.shape[place], value.shape[place + 1 :]
    laid = expanded(expand_dims(value, place + 1), (*before, extent, times, *after))
    return reshape(laid, (*before, mul(extent, times), *after))


def _repeated_each(x: Tensor, counts: npt.NDArray[np.int64], axis: int) -> Tensor:
    extent = fixed("repeat", x.shape[axis])
    if counts.shape not in ((1,), (extent,)) or np.any(counts < 0):
        raise BadArgument(
            op="repeat", argument="repeats", given=counts, expected=f"{extent} numbers of 0 or more"
        )
    return take(x, np.repeat(np.arange(extent), counts), axis)


def _repeated_by_data(x: Tensor, counts: Repeats, axis: int, size: Dim | None) -> Tensor:
    """The element at place k of the result is the one before which at most k others were laid."""
    given = index_tensor("repeat", counts)
    if size is None:
        raise SizeOfMask(op="repeat", shape=given.shape)
    ends = cumsum(maximum(expanded(given, (x.shape[axis],)), 0), 0)
    return take(x, searchsorted(ends, counted(0, size), "right"), axis)


def repeat_interleave(
    x: Value, repeats: Repeats, dim: int | None = None, output_size: Dim | None = None
) -> Tensor:
    """PyTorch's name of ``repeat``."""
    return repeat(x, repeats, dim, output_size)
