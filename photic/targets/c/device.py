"""The c target as a device: facts for the planner, sources to a loaded program, and its launch.

``build`` compiles one program's text; ``load`` opens what was built; ``Loaded.launch`` runs the
entry function with addresses that the caller keeps alive. Callers own their arenas.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from photic.loops.target import Machine
from photic.targets.c.dialect import DIALECT
from photic.targets.c.facts import facts, facts_key, tiles_granted
from photic.targets.c.matrix import register_tile
from photic.targets.c.matrix_units import BYTES, units
from photic.targets.c.pool import Pool, pool
from photic.targets.c.toolchain import build_kernels, load_library
from photic.targets.registry import Target, Threads

WIDE_VECTOR_BITS = 512
MANY_REGISTERS = 32
FEW_REGISTERS = 16
BITS = 8
ARGUMENTS = 5  # addresses that the entry function takes


def machine() -> Machine:
    """What the planner is told."""
    known = facts()
    many = known.vector_bits >= WIDE_VECTOR_BITS or known.neon
    made = Machine(
        vector_bytes=known.vector_bits // BITS,
        vector_registers=MANY_REGISTERS if many else FEW_REGISTERS,
        cores=known.cores,
        cache_bytes=known.l2_bytes,
    )
    return replace(made, special=register_tile, paired=True) if units() else made


@dataclass(frozen=True, slots=True)
class Loaded:
    """A loaded program: its library stays open as long as this lives."""

    library: ctypes.CDLL
    entry: Callable[[int, int, int, int, int], None]

    def pool(self) -> Pool:
        """What a launch would run on now."""
        return pool()

    def launch(self, buffers: int, sizes: int, arena: int, scratch: int, pool: Threads) -> None:
        """Run the entry function; all but the last are addresses."""
        self.entry(buffers, sizes, arena, scratch, pool.pointer)


def load(path: Path) -> Loaded:
    """Open a built program, which may use tile registers."""
    tiles_granted()
    library = load_library(path)
    entry = library.photic_entry
    entry.restype, entry.argtypes = None, [ctypes.c_void_p] * ARGUMENTS
    return Loaded(library, entry)


WORKER = "photic.targets.c.worker"
TARGET = Target(
    "c",
    DIALECT,
    machine,
    facts_key,
    build_kernels,
    load,
    WORKER,
    facts,
    multiplies_bytes=lambda: BYTES in units(),
)
