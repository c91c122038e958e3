"""Targets whose compiler makes machine code and whose driver is as NVIDIA's.

Promises nothing of a device that it was not tried on: facts are those that the driver tells, and
the size of a register tile is NVIDIA's.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Protocol

from photic.base.errors import PhoticError
from photic.codegen.dialect import Dialect
from photic.loops.target import Machine
from photic.targets.devices import Driven, numbered
from photic.targets.driver import Driver, Queue
from photic.targets.group_products import GROUP, GroupTiles
from photic.targets.kernel_files import built, parts_of
from photic.targets.launches import plan_of
from photic.targets.session import Loaded

VECTOR_BYTES = 16  # of a work-item's tile: four numbers, the most that one instruction moves
# Vectors of that size in a tile. A work-item may have 255 registers, 63 vectors. A long sum has two
# accumulators, one of them of a part of it; addresses and what is unpacked stand beside them. With
# 24 two kernels of SmolLM2 spilled, with 32 six, and with 20 none.
REGISTERS = 20
CORES_A_UNIT = 32  # four numbers each make the 128 lanes of a unit


@dataclass(frozen=True, slots=True)
class Resources:
    """What a kernel takes of a device: registers of a work-item, and its bytes beside them.

    ``stack_bytes`` hold what is addressed, and what was spilled; ``spilled_bytes`` are those moved
    to and fro because there were too few registers.
    """

    kernel: str
    registers: int
    stack_bytes: int
    spilled_bytes: int


# --- devices --------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Facts:
    """One device. ``units``: multiprocessors; kernels are compiled for ``architecture``."""

    device: str
    devices: tuple[str, ...]
    driver: str
    compiler: str
    architecture: str
    units: int
    memory_bytes: int
    l2_bytes: int


@dataclass(frozen=True, slots=True)
class Opened:
    """A device in use, by its context."""

    driver: Driver
    number: int
    context: int
    facts: Facts

    def using(self) -> AbstractContextManager[None]:
        """The calling thread uses this device."""
        return self.driver.using(self.context)


class Compiler(Protocol):
    """A module that makes machine code: ``OPTIONS``, and what raises Refused."""

    OPTIONS: tuple[str, ...]

    def machine_code(self, text: str, architecture: str) -> bytes:
        """The code of a text."""

    def version(self) -> str:
        """Which compiler it is."""


@dataclass(frozen=True, slots=True)
class Kind:
    """What is not the same in two targets of this kind.

    ``open`` and ``names`` are those of ``Driven``; ``suffixes`` those of files, of machine code and
    of texts that were refused, for which there is the error ``refused``.
    """

    dialect: Dialect
    driver: Driver
    compiler: Compiler
    open: Callable[[int], Opened]
    suffixes: tuple[str, str]
    refused: type[PhoticError]
    failed: type[PhoticError]


def driven(kind: Kind) -> Driven[Opened]:
    """The target of such a compiler and driver."""
    name = kind.dialect.name
    return Driven(
        name=name,
        dialect=kind.dialect,
        names=kind.driver.device_names,
        open=kind.open,
        missing=kind.driver.missing,
        machine=lambda device: group_machine_of(device.facts.units, device.facts.l2_bytes),
        key=lambda device: _key(name, device.facts),
        build=partial(_build, kind),
        load=_load,
        refusals=(kind.refused, kind.failed),
    )


def facts_of(
    driver: Driver,
    handle: int,
    attributes: tuple[int, int],
    *,
    served: str,
    compiler: str,
    architecture: str,
) -> Facts:
    """What a driver says of a device; ``attributes``: units, and bytes of the cache they share.

    ``served`` is what the driver serves; code is for the ``architecture``, by the ``compiler``.
    """
    units, l2_bytes = (driver.device_number(one, handle) for one in attributes)
    return Facts(
        device=driver.device_name(handle),
        devices=numbered(driver.device_names()),
        driver=served,
        compiler=compiler,
        architecture=architecture,
        units=units,
        memory_bytes=driver.device_bytes(handle),
        l2_bytes=l2_bytes,
    )


def _key(name: str, known: Facts) -> str:
    return f"{name} {known.architecture} {known.units} {known.l2_bytes} {known.compiler}"


def machine_of(units: int, l2_bytes: int) -> Machine:
    """What the planner is told of any device: so many multiprocessors, the cache they share."""
    cores = units * CORES_A_UNIT
    return Machine(VECTOR_BYTES, REGISTERS, cores, l2_bytes // cores)


def group_machine_of(units: int, l2_bytes: int) -> Machine:
    """The same of a device whose groups compute products together."""
    return replace(machine_of(units, l2_bytes), special=GroupTiles(units), group=GROUP)


def _build(kind: Kind, device: Opened, source: str) -> Path:
    """The file of a text's machine code. Raises the compiler's errors, NoSpace."""
    compiler, known = kind.compiler, device.facts.architecture
    recipe = [*compiler.OPTIONS, compiler.version(), known]
    code = partial(compiler.machine_code, architecture=known)
    return built(source, recipe, code, kind.suffixes, kind.refused)


def _load(device: Opened, path: Path) -> Loaded:
    """What was built, on the device. Raises LoadRefused and the driver's errors."""
    plan, code = parts_of(path)
    with device.using():
        module = device.driver.module_of(device.context, code)
    place = device.driver.place(device.context, device.number)
    queue = partial(Queue, device.context, module)
    return Loaded(queue, device.using, plan_of(plan), place=place)
