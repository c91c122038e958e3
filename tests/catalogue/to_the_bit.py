"""Entries of functions that move elements: equal to the bit, for every dtype."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from catalogue.entry import ALL, Cases, Entry
from catalogue.inputs import million, with_specials

CUBES = with_specials((3, 4, 5), (1, 1, 1), (2, 0, 3), (7, 1, 33))
GRIDS = with_specials((3, 4), (1, 1), (0, 2), (33, 17))
SQUARE = million((1000, 1000))


def exact(
    name: str,
    call: Callable[..., Any],
    oracle: Callable[..., Any],
    inputs: Cases = CUBES,
    **more: Any,
) -> Entry:
    """Elements as they are, to the bit, for every dtype; ``more`` is of the record ``Entry``."""
    return Entry(name, call, oracle, inputs, ALL, ulps=0, **more)
