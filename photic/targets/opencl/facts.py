"""The OpenCL device that programs run on, and what its driver says of it.

The device is chosen once in a process: the one that PYOPENCL_CTX names, or else the first graphics
processor, or else what there is. A process that was forked after that cannot use OpenCL.
"""

from __future__ import annotations

import hashlib
import importlib
import json
import os
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import asdict, dataclass
from functools import cache
from typing import Any

from photic.base.settings import clean_environment
from photic.loops.target import Machine
from photic.targets.errors import TooLarge
from photic.targets.opencl.errors import OpenclFailed, OpenclMissing

CHOICE = "PYOPENCL_CTX"  # pyopencl's own variable: numbers or parts of names of platform and device
FLOAT_BYTES = 4
LEAST_VECTOR_BYTES, MOST_VECTOR_BYTES = 8, 64  # a double, and 16 lanes, the most that OpenCL knows
REGISTERS = 32
GROUP = 64  # work-items of a group, where lanes of one instruction are work-items
SHOWN_CHARACTERS = 4000


@dataclass(frozen=True, slots=True)
class Facts:
    """One device. ``group`` is how many work-items make a group; ``shares_memory`` with us.

    ``fused`` says that it has fused multiply-adds, ``exact_roots`` that float32 division and square
    root can be correctly rounded.
    """

    device: str
    platform: str
    driver: str
    kind: str
    units: int
    vector_bytes: int
    group: int
    memory_bytes: int
    buffer_bytes: int
    near_bytes: int
    shares_memory: bool
    doubles: bool
    fused: bool
    exact_roots: bool


@dataclass(frozen=True, slots=True)
class Opened:
    """A device in use: the library, its context, and the process that opened it."""

    cl: Any
    context: Any
    device: Any
    facts: Facts
    process: int


def opened() -> Opened:
    """The device of this process. Raises OpenclMissing."""
    found = _opened()
    if found.process != os.getpid():
        raise OpenclMissing(problem="this process was forked from one that uses it already")
    return found


def facts() -> Facts:
    """What the driver says of the device. Raises OpenclMissing."""
    return opened().facts


def facts_key() -> str:
    """A short text that changes when the device, its driver or a fact of it does."""
    text = json.dumps(asdict(facts()))
    return "opencl " + hashlib.sha256(text.encode()).hexdigest()[:16]


def machine() -> Machine:
    """What the planner is told."""
    known = facts()
    return Machine(known.vector_bytes, REGISTERS, known.units, known.near_bytes)


@contextmanager
def driver_errors(known: Opened) -> Iterator[None]:
    """The driver's errors as ours: TooLarge, OpenclFailed."""
    try:
        yield
    except known.cl.MemoryError:
        limit = f"{known.facts.buffer_bytes} a buffer, of what is left"
        raise TooLarge(what="a buffer on the device", given="too many", expected=limit) from None
    except known.cl.Error as error:
        problem = str(error)[:SHOWN_CHARACTERS]
        raise OpenclFailed(device=known.facts.device, problem=problem) from None


def device_errors() -> AbstractContextManager[None]:
    """``driver_errors`` of this process's device. Raises OpenclMissing."""
    return driver_errors(opened())


# --- finding a device -----------------------------------------------------------------------


@cache
def _opened() -> Opened:
    cl = _library()
    device = _chosen(cl)
    return Opened(cl, cl.Context([device]), device, _facts(cl, device), os.getpid())


def _library() -> Any:
    try:
        return importlib.import_module("pyopencl")
    except ImportError as error:
        problem = f"the package pyopencl cannot be imported ({error})"
        raise OpenclMissing(problem=problem) from None


def _chosen(cl: Any) -> Any:
    try:
        if clean_environment((CHOICE,)):
            return cl.choose_devices(interactive=False)[0]
        found = [device for platform in cl.get_platforms() for device in platform.get_devices()]
    except (cl.Error, RuntimeError) as error:
        raise OpenclMissing(problem=f"no driver was found ({error})") from None
    if not found:
        raise OpenclMissing(problem="the drivers know of no device")
    return max(found, key=lambda one: bool(one.type & cl.device_type.GPU))  # the first of several


def _facts(cl: Any, device: Any) -> Facts:
    single, roots = device.single_fp_config, cl.device_fp_config.CORRECTLY_ROUNDED_DIVIDE_SQRT
    is_cpu = bool(device.type & cl.device_type.CPU)
    vector = FLOAT_BYTES * device.preferred_vector_width_float
    return Facts(
        device=device.name.strip(),
        platform=device.platform.name.strip(),
        driver=f"{device.version} {device.driver_version}".strip(),
        kind="cpu" if is_cpu else "gpu" if device.type & cl.device_type.GPU else "other",
        units=device.max_compute_units,
        vector_bytes=min(max(LEAST_VECTOR_BYTES, vector), MOST_VECTOR_BYTES),
        group=1 if is_cpu else min(GROUP, device.max_work_group_size),
        memory_bytes=device.global_mem_size,
        buffer_bytes=device.max_mem_alloc_size,
        near_bytes=device.local_mem_size,
        shares_memory=bool(device.host_unified_memory),
        doubles=bool(device.double_fp_config & cl.device_fp_config.DENORM),
        fused=bool(single & cl.device_fp_config.FMA),
        exact_roots=bool(single & roots),
    )
