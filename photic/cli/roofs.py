"""Which of arithmetic and memory limits a kernel, by the cost model's figures for a machine.

Nothing is measured: the roofs are what the cost model reckons with. Their ratio tells the limit;
their heights are no promise of a speed.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from photic.search.cost import CYCLES_PER_SECOND, INSTRUCTION, LINE_BYTES, WEIGHTS

if TYPE_CHECKING:
    from photic.loops.target import Machine
    from photic.storage.artifact import KernelReport

FLOAT_BYTES = 4
FUSED = 2  # a multiplication and an addition in one instruction


@dataclass(frozen=True, slots=True)
class Roofs:
    """The most flops and the most bytes of memory in a second, of all cores."""

    flops: float
    bytes: float

    @property
    def ridge(self) -> float:
        """The flops a byte from which arithmetic is the limit."""
        return self.flops / self.bytes


def roofs_of(machine: Machine) -> Roofs:
    """The cost model's roofs for float32."""
    cycles = CYCLES_PER_SECOND * machine.cores
    lanes = machine.vector_bytes / FLOAT_BYTES
    return Roofs(
        cycles * lanes * FUSED / (INSTRUCTION * WEIGHTS["operations"]),
        cycles * LINE_BYTES / WEIGHTS["far next lines"],
    )


def limit(kernel: KernelReport, roofs: Roofs) -> str:
    """``arithmetic`` or ``memory``; ``-`` for a kernel that does neither."""
    if kernel.flops <= 0 and kernel.bytes <= 0:
        return "-"
    return "arithmetic" if kernel.flops > roofs.ridge * kernel.bytes else "memory"


def at_most(kernel: KernelReport, roofs: Roofs) -> tuple[float, float] | None:
    """Flops a byte, and the most flops a second under the roofs; None where there are none."""
    if kernel.flops <= 0 or kernel.bytes <= 0:
        return None
    intensity = kernel.flops / kernel.bytes
    return intensity, min(roofs.flops, intensity * roofs.bytes)


def speed(kernel: KernelReport, _: Roofs) -> tuple[float, float] | None:
    """Flops a byte and flops a second; None where one of them is not known."""
    seconds = kernel.seconds or kernel.predicted_seconds
    if not seconds or kernel.flops <= 0 or kernel.bytes <= 0:
        return None
    return kernel.flops / kernel.bytes, kernel.flops / seconds
