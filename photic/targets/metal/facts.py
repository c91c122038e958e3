"""The Metal device that programs run on, and what the planner is told of devices of its kind.

The device is opened once in a process; a process that was forked after that cannot use Metal.
Written by Apple's documentation: it was never run on a device.
"""

from __future__ import annotations

import importlib
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from typing import Any

from photic.loops.target import Machine
from photic.targets.cuda.facts import machine_of
from photic.targets.metal.errors import MetalMissing

# What Metal does not tell of a device, as the smallest have it.
UNITS = 8
L2_BYTES = 8 << 20


@dataclass(frozen=True, slots=True)
class Facts:
    """One device."""

    device: str
    memory_bytes: int
    buffer_bytes: int
    shares_memory: bool


@dataclass(frozen=True, slots=True)
class Opened:
    """A device in use: pyobjc's ``Metal`` and ``objc``, and the process that opened it."""

    metal: Any
    objc: Any
    device: Any
    facts: Facts
    process: int


def opened() -> Opened:
    """The device of this process. Raises MetalMissing."""
    found = _opened()
    if found.process != os.getpid():
        raise MetalMissing(problem="this process was forked from one that uses it already")
    return found


@cache
def _opened() -> Opened:
    try:
        metal, objc = importlib.import_module("Metal"), importlib.import_module("objc")
    except ImportError as error:
        problem = f"the package pyobjc-framework-Metal cannot be imported ({error})"
        raise MetalMissing(problem=problem) from None
    device = metal.MTLCreateSystemDefaultDevice()
    if device is None:
        raise MetalMissing(problem="no device was found: Metal knows of none")
    found = Facts(
        device=str(device.name()),
        memory_bytes=int(device.recommendedMaxWorkingSetSize()),
        buffer_bytes=int(device.maxBufferLength()),
        shares_memory=bool(device.hasUnifiedMemory()),
    )
    return Opened(metal, objc, device, found, os.getpid())


def facts() -> Facts:
    """What Metal says of the device. Raises MetalMissing."""
    return opened().facts


def facts_key() -> str:
    """A short text that changes when code for the device would be another."""
    return f"metal {facts().device}"


def machine() -> Machine:
    """What the planner is told. Raises MetalMissing."""
    facts()
    return machine_of(UNITS, L2_BYTES)


@contextmanager
def in_pool() -> Iterator[None]:
    """Objects that Metal hands out are given back at the end. Raises MetalMissing."""
    with opened().objc.autorelease_pool():
        yield
