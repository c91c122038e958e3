"""CUDA C++ to machine code by NVRTC, NVIDIA's compiler as a library: it needs no device.

The library is the one of the package nvidia-cuda-nvrtc, or else the system's. It is called through
its C interface, which has not changed since CUDA 11.1.
"""

from __future__ import annotations

import ctypes
import importlib.util
import re
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path

from photic.targets.binaries import Resources
from photic.targets.cuda.errors import CudaFailed, CudaMissing
from photic.targets.kernel_files import Refused

SYSTEM_NAMES = ("libnvrtc.so", "libnvrtc.so.13", "libnvrtc.so.12")
REFUSED = 6  # NVRTC_ERROR_COMPILATION
OPTIONS: tuple[str, ...] = (
    "--std=c++17",
    "--device-as-default-execution-space",
    "--device-int128",
    "--fmad=false",  # a fused multiply-add is written out where it is wanted
    "--disable-warnings",
)


_ENTRY = re.compile(
    r"entry function '(\w+)'.*?(\d+) bytes stack frame, (\d+) bytes spill stores, "
    r"(\d+) bytes spill loads.*?Used (\d+) registers",
    re.DOTALL,
)
_BOUNDS = r"__launch_bounds__\((\d+), 1\)"  # of a kernel's head: so many items, one block


def machine_code(text: str, architecture: str) -> bytes:
    """The cubin of a text, for an architecture as ``sm_80``. Raises Refused, CudaMissing."""
    return _with_least_spills(text, architecture)[0]


def resources(text: str, architecture: str) -> list[Resources]:
    """What the kernels of a text take, as the assembler says. Raises as ``machine_code``."""
    return sorted(_with_least_spills(text, architecture)[1], key=lambda one: one.kernel)


def _with_least_spills(text: str, architecture: str) -> tuple[bytes, list[Resources]]:
    """Machine code and what it takes: where kernels spill, all is compiled once more.

    Then those have no bound of one block a multiprocessor, with which the assembler mixes more of
    what is computed at once; which of both ways spills less differs from kernel to kernel.
    """
    code, found = _measured(text, architecture)
    spilling = [one.kernel for one in found if one.spilled_bytes]
    other = text
    for kernel in spilling:
        other = re.sub(_BOUNDS + rf" {kernel}\(", rf"__launch_bounds__(\1) {kernel}(", other)
    if other == text:
        return code, found
    more = _measured(other, architecture)
    return min((code, found), more, key=lambda one: sum(each.spilled_bytes for each in one[1]))


def _measured(text: str, architecture: str) -> tuple[bytes, list[Resources]]:
    options = (*OPTIONS, f"--gpu-architecture={architecture}", "--ptxas-options=-v")
    code, said = _compiled(text, options)
    return code, [
        Resources(name, int(registers), int(stack), int(stored) + int(loaded))
        for name, stack, stored, loaded, registers in _ENTRY.findall(said)
    ]


def _compiled(text: str, options: Sequence[str]) -> tuple[bytes, str]:
    """Machine code, and what the compiler said."""
    library, program = _loaded(), ctypes.c_void_p()
    given = (ctypes.c_char_p * len(options))(*(one.encode() for one in options))
    _call("CreateProgram", ctypes.byref(program), text.encode(), b"photic.cu", 0, None, None)
    try:
        status = library.nvrtcCompileProgram(program, len(given), given)
        said = _bytes("ProgramLog", program).rstrip(b"\0").decode(errors="replace")
        if status == REFUSED:
            raise Refused(said)
        _check("CompileProgram", status)
        return _bytes("CUBIN", program), said
    finally:
        library.nvrtcDestroyProgram(ctypes.byref(program))


@cache
def version() -> str:
    """NVRTC's version. Raises CudaMissing."""
    major, minor = ctypes.c_int(), ctypes.c_int()
    _call("Version", ctypes.byref(major), ctypes.byref(minor))
    return f"NVRTC {major.value}.{minor.value}"


def _bytes(what: str, program: ctypes.c_void_p) -> bytes:
    count = ctypes.c_size_t()
    _call(f"Get{what}Size", program, ctypes.byref(count))
    found = ctypes.create_string_buffer(count.value)
    _call(f"Get{what}", program, found)
    return found.raw


def _call(name: str, *arguments: object) -> None:
    _check(name, getattr(_loaded(), f"nvrtc{name}")(*arguments))


def _check(name: str, status: int) -> None:
    if status:
        problem = _loaded().nvrtcGetErrorString(status).decode()
        raise CudaFailed(call=f"nvrtc{name}", problem=problem)


@cache
def _loaded() -> ctypes.CDLL:
    problem = "the package nvidia-cuda-nvrtc-cu12 is not installed"
    for name in (*_packaged(), *SYSTEM_NAMES):
        try:
            library = ctypes.CDLL(str(name))
        except OSError as error:
            if isinstance(name, Path):
                problem = str(error)
            continue
        library.nvrtcGetErrorString.restype = ctypes.c_char_p
        return library
    raise CudaMissing(problem=f"NVRTC was not found: {problem}")


def _packaged() -> Iterator[Path]:
    """The libraries of NVIDIA's packages, which share a folder; the newest first."""
    spec = importlib.util.find_spec("nvidia")
    for folder in (spec.submodule_search_locations or ()) if spec else ():
        yield from sorted(Path(folder).glob("*/lib/libnvrtc.so.*"), reverse=True)
