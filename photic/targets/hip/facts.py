"""The HIP device that programs run on, and what the planner is told of devices of its kind.

The device is opened once in a process; a process that was forked after that cannot use HIP.
Written by AMD's documentation: it was never run on a device.
"""

from __future__ import annotations

import ctypes
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache

from photic.loops.target import Machine
from photic.targets.cuda.driver import Driver
from photic.targets.cuda.facts import Facts, Opened, machine_of
from photic.targets.hip.compiler import version
from photic.targets.hip.errors import HipFailed, HipMissing

# Of the driver's interface (hipDeviceAttribute_t of ROCm 5 and later).
L2_BYTES, UNITS = 19, 63
# Properties are a structure whose layout has changed; the architecture's name is found in its text.
PROPERTIES_BYTES = 8192
ARCHITECTURE = re.compile(rb"gfx[0-9a-f]+")

HIP = Driver(
    "libamdhip64.so",
    "AMD",
    HipMissing,
    HipFailed,
    {
        "cuInit": "hipInit",
        "cuDeviceGetCount": "hipGetDeviceCount",
        "cuDeviceGet": "hipDeviceGet",
        "cuDeviceGetName": "hipDeviceGetName",
        "cuDeviceGetAttribute": "hipDeviceGetAttribute",
        "cuDeviceTotalMem_v2": "hipDeviceTotalMem",
        "cuDriverGetVersion": "hipDriverGetVersion",
        "cuCtxSetCurrent": "hipSetDevice",
        "cuGetErrorString": "hipDrvGetErrorString",
        "cuMemAlloc_v2": "hipMalloc",
        "cuMemFree_v2": "hipFree",
        "cuMemcpyHtoDAsync_v2": "hipMemcpyHtoDAsync",
        "cuMemcpyDtoHAsync_v2": "hipMemcpyDtoHAsync",
        "cuMemcpyDtoDAsync_v2": "hipMemcpyDtoDAsync",
        "cuModuleLoadData": "hipModuleLoadData",
        "cuModuleUnload": "hipModuleUnload",
        "cuModuleGetFunction": "hipModuleGetFunction",
        "cuStreamCreate": "hipStreamCreateWithFlags",
        "cuStreamDestroy_v2": "hipStreamDestroy",
        "cuStreamSynchronize": "hipStreamSynchronize",
        "cuLaunchKernel": "hipModuleLaunchKernel",
    },
)


def opened() -> Opened:
    """The device of this process. Raises HipMissing, HipFailed."""
    found = _opened()
    if found.process != os.getpid():
        raise HipMissing(problem="this process was forked from one that uses it already")
    return found


@cache
def _opened() -> Opened:
    handle = HIP.device(0)
    units, l2_bytes = (HIP.device_number(one, handle) for one in (UNITS, L2_BYTES))
    found = Facts(
        device=HIP.device_name(handle),
        driver=f"HIP {HIP.version()}",
        compiler=version(),
        architecture=_architecture(handle),
        units=units,
        memory_bytes=HIP.device_bytes(handle),
        l2_bytes=l2_bytes,
    )
    return Opened(handle, found, os.getpid())  # a device's number is its context too


def _architecture(handle: int) -> str:
    """The name as Clang knows it. Raises HipMissing where the driver does not say it."""
    properties = ctypes.create_string_buffer(PROPERTIES_BYTES)
    for name in ("hipGetDevicePropertiesR0600", "hipGetDeviceProperties"):
        with suppress(AttributeError):  # drivers before ROCm 6 have only the second
            HIP.call(name, properties, handle)
            if found := ARCHITECTURE.search(properties.raw):
                return found[0].decode()
    raise HipMissing(problem="the driver does not say which architecture the device has")


def facts() -> Facts:
    """What the driver says of the device. Raises HipMissing."""
    return opened().facts


def facts_key() -> str:
    """A short text that changes when code for the device would be another."""
    known = facts()
    return f"hip {known.architecture} {known.units} {known.l2_bytes} {known.compiler}"


def machine() -> Machine:
    """What the planner is told. Raises HipMissing."""
    return machine_of(facts().units, facts().l2_bytes)


@contextmanager
def in_context() -> Iterator[None]:
    """The calling thread uses the device of this process. Raises HipMissing."""
    HIP.use_context(opened().context)
    yield
