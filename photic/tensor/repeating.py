"""Elements and wholes repeated in a row."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from photic.base.errors import BadArgument
from photic.ir.dim import Dim, Int, mul
from photic.tensor.axes import checked_axis
from photic.tensor.creation import checked_shape
from photic.tensor.indexing import take
from photic.tensor.shapes import expand_dims, ravel, repeated_whole, reshape
from photic.tensor.tensor import Array, Tensor, Value, expanded, fixed, tensor

Repeats = Dim | Sequence[int] | Array


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


def repeat(x: Value, repeats: Repeats, axis: int | None = None) -> Tensor:
    """Each element ``repeats`` times in a row along an axis; of all elements for None.

    ``repeats`` may be a list or an array known now, with a number for each place of the axis.
    BadArgument, UnknownSize.
    """
    value = tensor(x, "repeat")
    if axis is None:
        return repeat(ravel(value), repeats, 0)
    place = checked_axis("repeat", axis, value.ndim)
    if not isinstance(repeats, int | np.integer | Int):
        return _repeated_each(value, np.asarray(repeats).astype(np.int64), place)
    (times,) = checked_shape("repeat", repeats)
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


def repeat_interleave(x: Value, repeats: Repeats, dim: int | None = None) -> Tensor:
    """PyTorch's name of ``repeat``."""
    return repeat(x, repeats, dim)
