"""What the one renderer must be told of a C-like language: a record of spellings.

Functions are named ``{op}_{dtype}x{lanes}``; ``prelude`` gives the text that defines those needed.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

Need = tuple[str, str, int]


@dataclass(frozen=True, slots=True)
class Dialect:
    """Spellings of one target."""

    name: str
    prelude: Callable[[frozenset[Need]], str]
    kernel: str  # the head of a kernel; {name} stands for its name
    pointer: str  # a parameter read from the table of buffers: {name}, {number}
    head: str  # text at the top of every source
