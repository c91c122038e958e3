"""What arranging a kernel must know of a machine; targets fill it in."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Machine:
    """Facts of one machine: sizes in bytes, counts of registers and cores."""

    vector_bytes: int
    vector_registers: int
    cores: int
    cache_bytes: int
