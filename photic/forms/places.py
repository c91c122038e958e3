"""Where an element lies: numbers by their digits, and offsets of row-major buffers."""

from __future__ import annotations

from collections.abc import Iterable

from photic.ir.dim import Dim
from photic.ir.index import Access


def flat(extents: Iterable[Dim], places: Iterable[Dim]) -> Dim:
    """The number whose digits, the first counting most, are ``places`` in these radices."""
    total: Dim = 0
    for extent, place in zip(extents, places, strict=True):
        total = total * extent + place
    return total


def place_of(access: Access) -> Dim:
    """The element offset of an access in a buffer whose last index counts fastest."""
    return flat(access.buffer.shape, access.index)
