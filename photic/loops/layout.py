"""Where an element lies: from index and layout to an offset, and the re-laying of constants."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from photic.ir.dim import Dim, add, floordiv, mod, mul, product
from photic.ir.program import Layout

Array = np.ndarray[tuple[int, ...], np.dtype[np.generic]]


def offset(shape: Sequence[Dim], layout: Layout, index: Sequence[Dim]) -> Dim:
    """The element offset of an index in a buffer of this shape and layout."""
    extents, places = list(shape), list(index)
    if layout.tile > 1:
        cut = places[layout.axis]
        panels = floordiv(add(extents[layout.axis], layout.tile - 1), layout.tile)
        del extents[layout.axis], places[layout.axis]
        extents = [panels, *extents, layout.tile]
        places = [floordiv(cut, layout.tile), *places, mod(cut, layout.tile)]
    total: Dim = 0
    for extent, place in zip(extents, places, strict=True):
        total = add(mul(total, extent), place)
    return total


def elements(shape: Sequence[Dim], layout: Layout) -> Dim:
    """How many elements a buffer of this layout holds, padding included."""
    if layout.tile == 1:
        return product(shape)
    panels = floordiv(add(shape[layout.axis], layout.tile - 1), layout.tile)
    rest = [n for axis, n in enumerate(shape) if axis != layout.axis]
    return mul(mul(panels, product(rest)), layout.tile)


def relaid(array: Array, layout: Layout) -> Array:
    """A copy of a constant in its layout, as it lies in memory."""
    if layout.tile == 1:
        return np.ascontiguousarray(array)
    moved = np.moveaxis(array, layout.axis, 0)
    panels = -(-moved.shape[0] // layout.tile)
    missing = panels * layout.tile - moved.shape[0]
    if missing:
        moved = np.concatenate([moved, np.zeros((missing, *moved.shape[1:]), moved.dtype)])
    cut = moved.reshape(panels, layout.tile, *moved.shape[1:])
    return np.ascontiguousarray(np.moveaxis(cut, 1, -1))
