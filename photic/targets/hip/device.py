"""The hip target as a device: what AMD's driver says of one, and the target's record.

HIP_VISIBLE_DEVICES, the driver's own variable, says which devices there are, in which order.
Written by AMD's documentation: it was never run on a device.
"""

from __future__ import annotations

import ctypes
import re
from contextlib import suppress

from photic.targets.binaries import Kind, Opened, driven, facts_of
from photic.targets.driver import Driver
from photic.targets.hip import compiler
from photic.targets.hip.dialect import DIALECT
from photic.targets.hip.errors import HipFailed, HipMissing, HipRefused

# Of the driver's interface (hipDeviceAttribute_t of ROCm 5 and later).
L2_BYTES, UNITS = 19, 63
# Properties are a structure whose layout has changed; the architecture's name is found in its text.
PROPERTIES_BYTES = 8192
ARCHITECTURE = re.compile(rb"gfx[0-9a-f]+")

SHARED = 10, 0  # kDLROCM, and the default stream
HIP = Driver(
    "libamdhip64.so",
    "AMD",
    SHARED,
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
        "cuStreamBeginCapture_v2": "hipStreamBeginCapture",
        "cuStreamEndCapture": "hipStreamEndCapture",
        "cuGraphInstantiateWithFlags": "hipGraphInstantiateWithFlags",
        "cuGraphExecUpdate": "hipGraphExecUpdate",
        "cuGraphLaunch": "hipGraphLaunch",
        "cuGraphDestroy": "hipGraphDestroy",
        "cuGraphExecDestroy": "hipGraphExecDestroy",
    },
)


def opened(number: int) -> Opened:
    """A device by number, which is its context too. Raises HipMissing, HipFailed."""
    handle = HIP.device(number)
    known = facts_of(
        HIP,
        handle,
        (UNITS, L2_BYTES),
        served=f"HIP {HIP.version()}",
        compiler=compiler.version(),
        architecture=architecture_of(handle),
    )
    return Opened(HIP, number, handle, known)


def architecture_of(handle: int) -> str:
    """The name as Clang knows it. Raises HipMissing where the driver does not say it."""
    properties = ctypes.create_string_buffer(PROPERTIES_BYTES)
    for name in ("hipGetDevicePropertiesR0600", "hipGetDeviceProperties"):
        with suppress(AttributeError):  # drivers before ROCm 6 have only the second
            HIP.call(name, properties, handle)
            if found := ARCHITECTURE.search(properties.raw):
                return found[0].decode()
    raise HipMissing(problem="the driver does not say which architecture the device has")


DRIVEN = driven(Kind(DIALECT, HIP, compiler, opened, ("hsaco", "hip"), HipRefused, HipFailed))
TARGET, Worker = DRIVEN.target(), DRIVEN.worker
