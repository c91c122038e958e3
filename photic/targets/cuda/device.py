"""The cuda target as a device: what NVIDIA's driver says of one, and the target's record.

CUDA_VISIBLE_DEVICES, the driver's own variable, says which devices there are, in which order.
"""

from __future__ import annotations

from photic.targets.binaries import Kind, Opened, driven, facts_of
from photic.targets.cuda import compiler
from photic.targets.cuda.dialect import DIALECT
from photic.targets.cuda.errors import CudaFailed, CudaMissing, CudaRefused
from photic.targets.driver import Driver

SHARED = 2, 1  # kDLCUDA, and the default stream that waits for all
CUDA = Driver("libcuda.so.1", "NVIDIA", SHARED, CudaMissing, CudaFailed)
# Of the driver's interface (CUdevice_attribute).
UNITS, L2_BYTES, MAJOR, MINOR = 16, 38, 75, 76
THOUSAND = 1000  # versions are 12040 for 12.4


def opened(number: int) -> Opened:
    """A device by number. Raises CudaMissing, CudaFailed."""
    handle = CUDA.device(number)
    major, minor = (CUDA.device_number(one, handle) for one in (MAJOR, MINOR))
    version = CUDA.version()
    known = facts_of(
        CUDA,
        handle,
        (UNITS, L2_BYTES),
        served=f"CUDA {version // THOUSAND}.{version % THOUSAND // 10}",
        compiler=compiler.version(),
        architecture=f"sm_{major}{minor}",
    )
    return Opened(CUDA, number, CUDA.number("cuDevicePrimaryCtxRetain", handle), known)


DRIVEN = driven(Kind(DIALECT, CUDA, compiler, opened, ("cubin", "cu"), CudaRefused, CudaFailed))
TARGET, Worker = DRIVEN.target(), DRIVEN.worker
