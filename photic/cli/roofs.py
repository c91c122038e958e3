"""Which of arithmetic and memory limits a kernel, and how near it comes to that limit.

The roofs are measured where they can be (``ceilings.py``), else they are what the cost model
reckons with: then their ratio tells the limit, and their heights are no promise of a speed.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from photic.search.cost import CYCLES_PER_SECOND, INSTRUCTION, LINE_BYTES, WEIGHTS

if TYPE_CHECKING:
    from photic.loops.target import Machine
    from photic.storage.artifact import KernelReport

FLOAT_BYTES = 4
FUSED = 2  # a multiplication and an addition in one instruction


@dataclass(frozen=True, slots=True)
class Level:
    """A cache or memory: the bytes that it holds, and those that can be read in a second."""

    name: str
    size: float
    rate: float


@dataclass(frozen=True, slots=True)
class Roofs:
    """The most flops in a second, and the levels from the smallest on, of all cores."""

    flops: float
    levels: tuple[Level, ...]
    is_measured: bool

    def level(self, size: float) -> Level:
        """The smallest level that holds so many bytes."""
        return next((one for one in self.levels if size <= one.size), self.levels[-1])


def roofs_of(machine: Machine) -> Roofs:
    """The cost model's roofs for float32."""
    cycles = CYCLES_PER_SECOND * machine.cores
    lanes = machine.vector_bytes / FLOAT_BYTES
    rate = cycles * LINE_BYTES / WEIGHTS["far next lines"]
    flops = cycles * lanes * FUSED / (INSTRUCTION * WEIGHTS["operations"])
    return Roofs(flops, (Level("memory", math.inf, rate),), False)


def least_seconds(flops: float, size: float, roofs: Roofs) -> tuple[float, str]:
    """The seconds that so many flops and bytes take at least, and what limits them."""
    level = roofs.level(size)
    arithmetic, memory = flops / roofs.flops, size / level.rate
    return (arithmetic, "arithmetic") if arithmetic > memory else (memory, level.name)


def limit(kernel: KernelReport, roofs: Roofs) -> str:
    """``arithmetic`` or a level of memory; ``-`` for a kernel that does nothing."""
    if kernel.flops <= 0 and kernel.bytes <= 0:
        return "-"
    return least_seconds(kernel.flops, kernel.bytes, roofs)[1]


def reached(kernel: KernelReport, roofs: Roofs) -> float | None:
    """The part of the roof that a measured kernel reaches; None where it is not known."""
    done = timed(kernel)
    if not kernel.seconds or done is None or not roofs.is_measured:
        return None
    return least_seconds(*done, roofs)[0] / kernel.seconds


def timed(kernel: KernelReport) -> tuple[float, float] | None:
    """The flops and bytes of a call at the sizes that its time is of; None for none of them."""
    return kernel.timed if kernel.timed is not None and max(kernel.timed) > 0 else None


def speed(kernel: KernelReport) -> tuple[float, float] | None:
    """Flops a byte and flops a second as measured, else as predicted; None where unknown."""
    seconds, done = kernel.seconds or kernel.predicted_seconds, timed(kernel)
    if not seconds or done is None or min(done) <= 0:
        return None
    return done[0] / done[1], done[0] / seconds
