"""The OpenCL devices, and what their drivers say of them.

The first is the one that PYOPENCL_CTX names, or else a graphics processor, or else what there is.
"""

from __future__ import annotations

import hashlib
import importlib
import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from typing import Any

from photic.base.settings import clean_environment
from photic.loops.target import Machine
from photic.targets.devices import numbered
from photic.targets.errors import TooLarge
from photic.targets.opencl.errors import OpenclFailed, OpenclMissing

CHOICE = "PYOPENCL_CTX"  # pyopencl's own variable: numbers or parts of names of platform and device
FLOAT_BYTES = 4
LEAST_VECTOR_BYTES, MOST_VECTOR_BYTES = 8, 64  # a double, and 16 lanes, the most that OpenCL knows
# PoCL 3 takes a processor that it does not know for an older one without AVX-512, yet offers its
# vectors: functions of whole ones then end the process that compiles them.
HALF_VECTORS, HALF_VECTOR_BYTES = re.compile(r"-znver[123]\b"), 32
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
    devices: tuple[str, ...]
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
    """A device in use: the library, and its context."""

    cl: Any
    context: Any
    device: Any
    facts: Facts

    @contextmanager
    def using(self) -> Iterator[None]:
        """The driver's errors as ours: TooLarge, OpenclFailed."""
        try:
            yield
        except self.cl.MemoryError:
            what, limit = "a buffer on the device", f"{self.facts.buffer_bytes} a buffer"
            expected = f"{limit}, of what is left"
            raise TooLarge(what=what, given="too many", expected=expected) from None
        except self.cl.Error as error:
            problem = str(error)[:SHOWN_CHARACTERS]
            raise OpenclFailed(device=self.facts.device, problem=problem) from None


def facts_key(device: Opened) -> str:
    """A short text that changes when the device, its driver or a fact of it does."""
    known = asdict(device.facts)
    del known["devices"]  # others beside it
    return "opencl " + hashlib.sha256(json.dumps(known).encode()).hexdigest()[:16]


def machine(device: Opened) -> Machine:
    """What the planner is told."""
    known = device.facts
    return Machine(known.vector_bytes, REGISTERS, known.units, known.near_bytes)


# --- finding devices ------------------------------------------------------------------------


def opened(number: int) -> Opened:
    """A device by number. Raises OpenclMissing."""
    cl = _library()
    every = _devices(cl)
    if not every:
        raise OpenclMissing(problem="the drivers know of no device")
    device = every[number]
    known = _facts(cl, device, numbered([_name(one) for one in every]))
    return Opened(cl, cl.Context([device]), device, known)


def names() -> list[str]:
    """What the devices are called. Raises OpenclMissing."""
    return [_name(one) for one in _devices(_library())]


def _name(device: Any) -> str:
    return str(device.name).strip()


def _library() -> Any:
    try:
        return importlib.import_module("pyopencl")
    except ImportError as error:
        problem = f"the package pyopencl cannot be imported ({error})"
        raise OpenclMissing(problem=problem) from None


def _devices(cl: Any) -> list[Any]:
    """All of them, the one that is used if none is named first."""
    try:
        found = [device for platform in cl.get_platforms() for device in platform.get_devices()]
        if clean_environment((CHOICE,)):
            (first, *_) = cl.choose_devices(interactive=False)
            return [first, *(one for one in found if one != first)]
    except (cl.Error, RuntimeError) as error:
        raise OpenclMissing(problem=f"no driver was found ({error})") from None
    return sorted(found, key=lambda one: not one.type & cl.device_type.GPU)


def _facts(cl: Any, device: Any, devices: tuple[str, ...]) -> Facts:
    single, roots = device.single_fp_config, cl.device_fp_config.CORRECTLY_ROUNDED_DIVIDE_SQRT
    is_cpu = bool(device.type & cl.device_type.CPU)
    vector = FLOAT_BYTES * device.preferred_vector_width_float
    most = HALF_VECTOR_BYTES if HALF_VECTORS.search(device.version) else MOST_VECTOR_BYTES
    return Facts(
        device=_name(device),
        devices=devices,
        platform=device.platform.name.strip(),
        driver=f"{device.version} {device.driver_version}".strip(),
        kind="cpu" if is_cpu else "gpu" if device.type & cl.device_type.GPU else "other",
        units=device.max_compute_units,
        vector_bytes=min(max(LEAST_VECTOR_BYTES, vector), most),
        group=1 if is_cpu else min(GROUP, device.max_work_group_size),
        memory_bytes=device.global_mem_size,
        buffer_bytes=device.max_mem_alloc_size,
        near_bytes=device.local_mem_size,
        shares_memory=bool(device.host_unified_memory),
        doubles=bool(device.double_fp_config & cl.device_fp_config.DENORM),
        fused=bool(single & cl.device_fp_config.FMA),
        exact_roots=bool(single & roots),
    )
