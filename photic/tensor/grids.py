"""Grids and numbering: values along axes of their own, and places of elements as numbers."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np

from photic.base.errors import BadArgument
from photic.ir.dim import Dim
from photic.tensor.arithmetic import floor_divide
from photic.tensor.axes import as_integer, is_many
from photic.tensor.compare import clip
from photic.tensor.creation import checked_shape, counted
from photic.tensor.indexing import Places, index_tensor, row_major_places, take
from photic.tensor.primitive import mod
from photic.tensor.shapes import broadcast_arrays, ravel, reshape, stack, swapaxes
from photic.tensor.tensor import DTypeLike, Tensor, Value, fixed, size_value, tensor


def meshgrid(*values: Value, indexing: str = "xy", sparse: bool = False) -> tuple[Tensor, ...]:
    """Each line along an axis of its own, over the grid of all of them, as NumPy's.

    ``indexing="ij"``: the k-th line along axis k; "xy": the first two change places. ``sparse``:
    size 1 along the other axes. BadArgument.
    """
    if indexing not in ("ij", "xy"):
        raise BadArgument(
            op="meshgrid", argument="indexing", given=repr(indexing), expected="'ij' or 'xy'"
        )
    lines = [ravel(tensor(one, "meshgrid")) for one in values]
    grids = [_along(line, k, len(lines)) for k, line in enumerate(lines)]
    if not sparse:
        grids = list(broadcast_arrays(*grids))
    if indexing == "xy" and len(grids) > 1:
        grids = [swapaxes(one, 0, 1) for one in grids]
    return tuple(grids)


def _along(line: Tensor, axis: int, rank: int) -> Tensor:
    """A line along one of ``rank`` axes, of size 1 along the others."""
    return reshape(line, tuple(line.shape[0] if k == axis else 1 for k in range(rank)))


def indices(dimensions: Sequence[Dim], dtype: DTypeLike = "int64") -> Tensor:
    """The place along each axis of every element of a shape: (len(dimensions), *dimensions)."""
    shape = checked_shape("indices", dimensions)
    if not shape:
        raise BadArgument(op="indices", argument="dimensions", given=(), expected="an axis")
    lines = [counted(0, extent).astype(dtype) for extent in shape]
    return stack(meshgrid(*lines, indexing="ij"), 0)


# --- places as numbers ----------------------------------------------------------------------


def unravel_index(indices: Places, shape: Dim | Sequence[Dim]) -> tuple[Tensor, ...]:
    """The place along each axis of elements numbered in row-major order.

    A number outside has a place outside the first axis. BadArgument for a shape without axes.
    """
    sizes = checked_shape("unravel_index", shape)
    if not sizes:
        raise BadArgument(op="unravel_index", argument="shape", given=(), expected="an axis")
    rest = index_tensor("unravel_index", indices)
    places: list[Tensor] = []
    for extent in reversed(sizes[1:]):
        places.append(mod(rest, size_value(extent)))
        rest = floor_divide(rest, size_value(extent))
    return (rest, *reversed(places))


def ravel_multi_index(
    multi_index: Sequence[Places], dims: Dim | Sequence[Dim], mode: str | Sequence[str] = "drop"
) -> Tensor:
    """The numbers in row-major order of elements at places along each axis.

    ``mode``, one for all or for each axis: "wrap", "clip", or "drop": places outside make the
    number -1, which lookups drop; NumPy's "raise" has no meaning before the program runs.
    BadArgument.
    """
    sizes = checked_shape("ravel_multi_index", dims)
    modes = (mode,) * len(sizes) if isinstance(mode, str) else tuple(mode)
    given = list(multi_index) if is_many(multi_index) else []
    if len(given) != len(sizes) or len(modes) != len(sizes) or not sizes:
        raise BadArgument(
            op="ravel_multi_index", argument="multi_index", given=len(given),
            expected=f"{len(sizes)} tensors and modes",
        )  # fmt: skip
    places = [index_tensor("ravel_multi_index", one) for one in given]
    placed = [_inside(*one) for one in zip(places, sizes, modes)]
    return row_major_places("ravel_multi_index", placed, sizes)


def _inside(place: Tensor, extent: Dim, mode: str) -> Tensor:
    if mode == "wrap":
        return mod(place, size_value(extent))
    if mode == "clip":
        return clip(place, 0, size_value(extent) - 1)
    if mode != "drop":
        raise BadArgument(
            op="ravel_multi_index", argument="mode", given=repr(mode), expected="drop, wrap or clip"
        )
    return place


# --- places of triangles and diagonals ------------------------------------------------------


def tril_indices(n: int, k: int = 0, m: int | None = None) -> tuple[Tensor, Tensor]:
    """The rows and columns of an (n, m) matrix where ``column - row <= k``. UnknownSize."""
    rows, columns = np.tril_indices(fixed("tril_indices", n), k, m)
    return tensor(rows), tensor(columns)


def triu_indices(n: int, k: int = 0, m: int | None = None) -> tuple[Tensor, Tensor]:
    """The rows and columns of an (n, m) matrix where ``column - row >= k``. UnknownSize."""
    rows, columns = np.triu_indices(fixed("triu_indices", n), k, m)
    return tensor(rows), tensor(columns)


def diag_indices(n: Dim, ndim: int = 2) -> tuple[Tensor, ...]:
    """The places of the main diagonal of a cube: ``ndim`` times 0 .. n - 1."""
    return (counted(0, n),) * ndim


# --- every choice ---------------------------------------------------------------------------


def ix_(*values: Places) -> tuple[Tensor, ...]:
    """Lines of places along axes of their own: ``x[ix_(rows, columns)]`` is their grid."""
    lines = [index_tensor("ix_", one) for one in values]
    if any(one.ndim != 1 for one in lines):
        given = [one.ndim for one in lines]
        raise BadArgument(op="ix_", argument="ranks", given=given, expected="1 each")
    return tuple(_along(line, k, len(lines)) for k, line in enumerate(lines))


def cartesian_prod(*values: Value) -> Tensor:
    """Every choice of one element of each line, as rows; of one line that line, as PyTorch's."""
    grids = meshgrid(*values, indexing="ij")
    if len(grids) == 1:
        return grids[0]
    return stack([ravel(one) for one in grids], -1)


def combinations(x: Value, r: int = 2, with_replacement: bool = False) -> Tensor:
    """Every choice of ``r`` elements of a line in its order, as rows. UnknownSize, BadArgument."""
    value, count = tensor(x, "combinations"), as_integer("combinations", "r", r)
    if value.ndim != 1 or count < 0:
        given = (value.ndim, count)
        raise BadArgument(
            op="combinations", argument="rank, r", given=given, expected="1, 0 or more"
        )
    every = itertools.combinations_with_replacement if with_replacement else itertools.combinations
    rows = list(every(range(fixed("combinations", value.shape[0])), count))
    return take(value, np.array(rows, np.int64).reshape(len(rows), count))
