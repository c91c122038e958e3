"""Where an element lies: from index and layout to an offset."""

from __future__ import annotations

from collections.abc import Sequence

from photic.forms.places import flat
from photic.ir.dim import Dim, bounds, mod, product
from photic.ir.index import Buffer
from photic.ir.program import PAIRED, Layout

ALIGNMENT = 64  # bytes; one cache line


def offset(shape: Sequence[Dim], layout: Layout, index: Sequence[Dim]) -> Dim:
    """The element offset of an index in a buffer of this shape and layout."""
    places = list(index)
    if layout == PAIRED:
        *outer, one, last = places
        pairs = [*shape[:-2], shape[-2] // 2, shape[-1], 2]
        return flat(pairs, [*outer, one // 2, last, mod(one, 2)])
    if layout.tile > 1:
        cut = places.pop(layout.axis)
        places = [cut // layout.tile, *places, cut % layout.tile]
    return flat(_extents(shape, layout), places)


def _extents(shape: Sequence[Dim], layout: Layout) -> list[Dim]:
    """The extents in the order in which the axes lie, panels outermost."""
    extents = list(shape)
    if layout.tile > 1:
        cut = extents.pop(layout.axis)
        panels = (cut + layout.tile - 1) // layout.tile
        extents = [panels, *extents, layout.tile]
    return extents


def elements(shape: Sequence[Dim], layout: Layout) -> Dim:
    """How many elements a buffer of this layout holds, padding included."""
    return product(_extents(shape, layout))


def aligned_bytes(buffer: Buffer, layout: Layout) -> int:
    """Bytes of a buffer at the largest sizes, up to the end of a cache line."""
    most = bounds(elements(buffer.shape, layout))[1] * buffer.dtype.bytes
    return -(-most // ALIGNMENT) * ALIGNMENT
