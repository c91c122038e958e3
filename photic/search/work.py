"""What a search is given: stores of a few kernels in names of their own.

Groups of kernels that differ only in the program's buffers have equal works, and are searched once.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from photic.ir import index as form
from photic.ir.index import Buffer, Store

LARGE_BYTES = 1 << 14  # a constant of more is laid out for its reader


@dataclass(frozen=True, slots=True)
class Work:
    """Stores in order over buffers b0, b1, ... by first use; only they read ``temporary`` ones."""

    stores: tuple[Store, ...]
    temporary: frozenset[str]
    constants: frozenset[str]

    @property
    def buffers(self) -> tuple[Buffer, ...]:
        """Every buffer, by number."""
        found = dict.fromkeys(
            buffer
            for store in self.stores
            for buffer in (store.buffer, *(one.buffer for one in form.loads(store.value)))
        )
        return tuple(sorted(found, key=lambda one: int(one.name[1:])))

    def text(self) -> str:
        """All that a search depends on, for the keys of records."""
        kinds = (self.temporary, self.constants)
        lines = [f"{b} {[b.name in kind for kind in kinds]}" for b in self.buffers]
        return "\n".join([*lines, *map(str, self.stores)])

    def kin(self) -> str:
        """The same for all works that differ in numbers only: what won there is worth a try."""
        return re.sub(r"\d+", "#", self.text())
