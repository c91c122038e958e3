"""The CUDA device that programs run on, and what the planner is told of devices of its kind.

The device is opened once in a process; a process that was forked after that cannot use CUDA.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache

from photic.loops.target import Machine
from photic.targets.cuda.compiler import version
from photic.targets.cuda.driver import CUDA
from photic.targets.cuda.errors import CudaMissing

# Of the driver's interface (CUdevice_attribute).
UNITS, L2_BYTES, MAJOR, MINOR = 16, 38, 75, 76
VECTOR_BYTES = 16  # of a work-item's tile: four numbers, the most that one instruction moves
# Vectors of that size in a tile. A work-item may have 255 registers, 63 vectors; partial sums and
# what is unpacked stand beside accumulators, and with 32 three times as many kernels spilled.
REGISTERS = 24
CORES_A_UNIT = 32  # four numbers each make the 128 lanes of a unit
THOUSAND = 1000


@dataclass(frozen=True, slots=True)
class Facts:
    """One device. ``units``: multiprocessors; kernels are compiled for ``architecture``."""

    device: str
    driver: str
    compiler: str
    architecture: str
    units: int
    memory_bytes: int
    l2_bytes: int


@dataclass(frozen=True, slots=True)
class Opened:
    """A device in use: its context, and the process that opened it."""

    context: int
    facts: Facts
    process: int


def opened() -> Opened:
    """The device of this process. Raises CudaMissing, CudaFailed."""
    found = _opened()
    if found.process != os.getpid():
        raise CudaMissing(problem="this process was forked from one that uses it already")
    return found


@cache
def _opened() -> Opened:
    handle = CUDA.device(0)
    major, minor, units, l2_bytes = (
        CUDA.device_number(one, handle) for one in (MAJOR, MINOR, UNITS, L2_BYTES)
    )
    served = CUDA.version()
    found = Facts(
        device=CUDA.device_name(handle),
        driver=f"CUDA {served // THOUSAND}.{served % THOUSAND // 10}",
        compiler=version(),
        architecture=f"sm_{major}{minor}",
        units=units,
        memory_bytes=CUDA.device_bytes(handle),
        l2_bytes=l2_bytes,
    )
    return Opened(CUDA.number("cuDevicePrimaryCtxRetain", handle), found, os.getpid())


def facts() -> Facts:
    """What the driver says of the device. Raises CudaMissing."""
    return opened().facts


def facts_key() -> str:
    """A short text that changes when code for the device would be another."""
    known = facts()
    return f"cuda {known.architecture} {known.units} {known.l2_bytes} {known.compiler}"


def machine() -> Machine:
    """What the planner is told. Raises CudaMissing."""
    return machine_of(facts().units, facts().l2_bytes)


def machine_of(units: int, l2_bytes: int) -> Machine:
    """The same of any device: so many multiprocessors, and the cache that they share."""
    cores = units * CORES_A_UNIT
    return Machine(VECTOR_BYTES, REGISTERS, cores, l2_bytes // cores)


@contextmanager
def in_context() -> Iterator[None]:
    """The calling thread uses the device of this process. Raises CudaMissing."""
    CUDA.use_context(opened().context)
    yield
