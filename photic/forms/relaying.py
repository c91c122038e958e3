"""Constants as they lie in memory: copies in panels, for kernels that want them so."""

from __future__ import annotations

import numpy as np

from photic.ir.program import Layout

Array = np.ndarray[tuple[int, ...], np.dtype[np.generic]]


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
