"""The Metal device that programs run on, and what the planner is told of devices of its kind.

Written by Apple's documentation: it was never run on a device.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from photic.targets.devices import numbered
from photic.targets.metal.errors import MetalMissing

# What Metal does not tell of a device, as the smallest have it.
UNITS = 8
L2_BYTES = 8 << 20


@dataclass(frozen=True, slots=True)
class Facts:
    """One device."""

    device: str
    devices: tuple[str, ...]
    memory_bytes: int
    buffer_bytes: int
    shares_memory: bool


@dataclass(frozen=True, slots=True)
class Opened:
    """A device in use: pyobjc's ``Metal`` and ``objc``."""

    metal: Any
    objc: Any
    device: Any
    facts: Facts

    @contextmanager
    def using(self) -> Iterator[None]:
        """Objects that Metal hands out are given back at the end."""
        with self.objc.autorelease_pool():
            yield


def opened(number: int) -> Opened:
    """A device by number. Raises MetalMissing."""
    metal, objc = _module("Metal"), _module("objc")
    every = _devices(metal)
    if not every:
        raise MetalMissing(problem="no device was found: Metal knows of none")
    device = every[number]
    found = Facts(
        device=str(device.name()),
        devices=numbered(names()),
        memory_bytes=int(device.recommendedMaxWorkingSetSize()),
        buffer_bytes=int(device.maxBufferLength()),
        shares_memory=bool(device.hasUnifiedMemory()),
    )
    return Opened(metal, objc, device, found)


def names() -> list[str]:
    """What the devices are called. Raises MetalMissing."""
    return [str(one.name()) for one in _devices(_module("Metal"))]


def _devices(metal: Any) -> list[Any]:
    """The usual device, then the others."""
    usual = metal.MTLCreateSystemDefaultDevice()
    if usual is None:
        return []
    others = (one for one in metal.MTLCopyAllDevices() if one.registryID() != usual.registryID())
    return [usual, *others]


def _module(name: str) -> Any:
    try:
        return importlib.import_module(name)
    except ImportError as error:
        problem = f"the package pyobjc-framework-Metal cannot be imported ({error})"
        raise MetalMissing(problem=problem) from None
