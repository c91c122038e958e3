"""A processor in place of a HIP device: as cuda_stand_in.py, by the names that AMD's driver has.

Of the hip target Clang's code for AMD's devices is left out, which test_hip_clang.py makes, and the
real driver.
"""

import ctypes
from pathlib import Path

import pytest
from targets import cuda_stand_in

from photic.targets.hip import compiler, device

PLACES = """
#define __builtin_amdgcn_workgroup_id_x() blockIdx.x
#define __builtin_amdgcn_workitem_id_x() threadIdx.x
"""


def compiled(text: str) -> Path:
    """The library of a text's kernels; each is ``run_`` and its name."""
    return cuda_stand_in.compiled(text, PLACES)


def machine_code(text: str, architecture: str) -> bytes:
    """What the driver loads: where the library is."""
    return str(compiled(text)).encode() + b"\0"


def stand_in() -> ctypes.CDLL:
    """The driver."""
    names = [f"#define {cuda} {hip}\n" for cuda, hip in device.HIP.names.items()]
    return cuda_stand_in.stand_in("#define HIP 1\n" + "".join(names))


def use(monkeypatch: pytest.MonkeyPatch) -> ctypes.CDLL:
    """The hip target runs on it; what was opened before is found again afterwards."""
    found = stand_in()
    cuda_stand_in.serve(monkeypatch, device.HIP, device.DRIVEN, found)
    monkeypatch.setattr(compiler, "machine_code", machine_code)
    monkeypatch.setattr(compiler, "version", cuda_stand_in.version)
    return found


def pytest_configure() -> None:
    """As a plugin: until the process ends."""
    use(pytest.MonkeyPatch())
