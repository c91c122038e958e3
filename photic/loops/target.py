"""What arranging a kernel must know of a machine; targets fill it in."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from photic.ir.dim import Var
from photic.ir.index import Store

Rows: TypeAlias = tuple[tuple[Var, int], ...]


@dataclass(frozen=True, slots=True)
class Machine:
    """Facts of one machine: sizes in bytes, counts of registers and cores.

    ``special`` tells the vectors and rows with which an instruction of the machine does all of a
    store's reduction, given the variable across lanes; None where none does. ``paired``: it reads
    what is staged in pairs along its last reduction. ``narrow``: rounding to a half type may be
    left out where nothing is stored in it. ``group``: cores that compute tiles together.
    """

    vector_bytes: int
    vector_registers: int
    cores: int
    cache_bytes: int
    special: Callable[[Store, Var | None], tuple[int, Rows] | None] = lambda store, lanes: None
    paired: bool = False
    narrow: bool = False
    group: int = 1
