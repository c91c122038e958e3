"""What the one renderer must be told of a C-like language: a record of spellings.

Functions are named ``{op}_{dtype}x{lanes}``; ``prelude`` gives the text that defines those needed.
How kernels are dispatched is the target's own: ``entry`` gives that text.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from photic.codegen.words import Need, Words
from photic.ir.nest import Nest
from photic.ir.program import Program


@dataclass(frozen=True, slots=True)
class Addresses:
    """Where buffers are: a slot of the table, or an offset (bytes) in the arena."""

    slots: dict[str, int]
    offsets: dict[str, int]
    sizes: dict[str, int]

    def text(self, name: str) -> str:
        """The address of a buffer in the entry function."""
        if name in self.slots:
            return f"buffers[{self.slots[name]}]"
        return f"arena + {self.offsets[name]}ll"


@dataclass(frozen=True, slots=True)
class Dialect:
    """Spellings of one target."""

    name: str
    prelude: Callable[[frozenset[Need]], str]
    kernel: str  # the head of a kernel; {name} stands for its name
    pointer: str  # a parameter that points to a buffer, behind the type of its bytes: {name}
    head: str  # text at the top of every source
    entry: Callable[[Program, dict[str, Nest], Addresses], str]  # what dispatches all kernels
    words: Callable[[Nest], Words] = lambda nest: Words()  # what a nest is printed into
