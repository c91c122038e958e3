"""The c target as a device: facts for the planner, sources to a loaded program, and its launch.

``build`` compiles one program's text; ``load`` opens what was built; ``Loaded.launch`` runs the
entry function with addresses that the caller keeps alive. Callers own their arenas.
"""

from __future__ import annotations

import ctypes
from dataclasses import dataclass
from pathlib import Path

from photic.loops.target import Machine
from photic.targets.c.dialect import DIALECT
from photic.targets.c.facts import facts, facts_key
from photic.targets.c.pool import pool
from photic.targets.c.toolchain import build_kernels, load_library
from photic.targets.registry import Target

WIDE_VECTOR_BITS = 512
MANY_REGISTERS = 32
FEW_REGISTERS = 16
BITS = 8


def machine() -> Machine:
    """What the planner is told."""
    known = facts()
    many = known.vector_bits >= WIDE_VECTOR_BITS or known.neon
    return Machine(
        vector_bytes=known.vector_bits // BITS,
        vector_registers=MANY_REGISTERS if many else FEW_REGISTERS,
        cores=known.cores,
        cache_bytes=known.l2_bytes,
    )


@dataclass(frozen=True, slots=True)
class Loaded:
    """A loaded program: its library stays open as long as this lives."""

    library: ctypes.CDLL
    entry: int

    def launch(self, buffers: int, sizes: int, arena: int, scratch: int) -> None:
        """Run the entry function; all arguments are addresses."""
        workers = pool()
        call = _PROTOTYPE(self.entry)
        call(buffers, sizes, arena, scratch, workers.pointer)


_PROTOTYPE = ctypes.CFUNCTYPE(None, *([ctypes.c_void_p] * 5))


def load(path: Path) -> Loaded:
    """Open a built program."""
    library = load_library(path)
    address = ctypes.cast(library.photic_entry, ctypes.c_void_p).value
    assert address is not None
    return Loaded(library, address)


TARGET = Target("c", DIALECT, machine, facts_key, build_kernels, load)
