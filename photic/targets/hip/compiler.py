"""HIP C++ to a code object by the Clang of the ``ziglang`` wheel: no device, nothing of ROCm.

Clang writes assembly, which is assembled and linked in steps of their own, as the wheel's driver
cannot start AMD's linker by itself.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
from pathlib import Path

from photic.targets.binaries import Resources
from photic.targets.c.toolchain import COMPILE_SECONDS, compiler_identity
from photic.targets.kernel_files import Refused

OPTIONS: tuple[str, ...] = (
    *("-x", "hip", "-std=c++17", "-O3", "--cuda-device-only", "-nogpulib", "-nogpuinc", "-w"),
    "-mcode-object-version=5",  # drivers since ROCm 5.5 load it
    "-ffp-contract=off",  # a fused multiply-add is written out where it is wanted
    "-fwrapv",
)
VECTOR_BYTES = 4  # of a register, for each work-item

_FACT = re.compile(r"^    \.(\w+): +(\S+)$", re.MULTILINE)


def machine_code(text: str, architecture: str) -> bytes:
    """The code object of a text, for an architecture as ``gfx90a``.

    Raises Refused, CompilerMissing.
    """
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder)
        (work / "kernels.s").write_text(_assembly(text, architecture), encoding="utf-8")
        target = ("-target", "amdgcn-amd-amdhsa", f"-mcpu={architecture}")
        _run(work, "clang", *target, "-c", "kernels.s", "-o", "kernels.o")
        _run(work, "ld.lld", "-shared", "kernels.o", "-o", "kernels.so")
        return (work / "kernels.so").read_bytes()


def resources(text: str, architecture: str) -> list[Resources]:
    """What the kernels of a text take, as the code object says. Raises as ``machine_code``."""
    found = list[Resources]()
    for part in _assembly(text, architecture).partition("amdhsa.kernels:\n")[2].split("  - .")[1:]:
        if fact := dict(_FACT.findall(part)):
            spilled = VECTOR_BYTES * int(fact["vgpr_spill_count"])
            memory = int(fact["private_segment_fixed_size"])
            found.append(Resources(fact["name"], int(fact["vgpr_count"]), memory, spilled))
    return sorted(found, key=lambda one: one.kernel)


def version() -> str:
    """The compiler. Raises CompilerMissing."""
    return compiler_identity()


def _assembly(text: str, architecture: str) -> str:
    version()
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder)
        (work / "kernels.hip").write_text(text, encoding="utf-8")
        given = (*OPTIONS, f"--offload-arch={architecture}", "-S", "-o", "kernels.s")
        _run(work, "clang", *given, "kernels.hip")
        return (work / "kernels.s").read_text(encoding="utf-8")


def _run(work: Path, *words: str) -> None:
    done = subprocess.run(
        (sys.executable, "-m", "ziglang", *words),
        cwd=work,
        capture_output=True,
        text=True,
        timeout=COMPILE_SECONDS,
        errors="replace",
    )
    if done.returncode:
        raise Refused(done.stderr or f"exit status {done.returncode}")
