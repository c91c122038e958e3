"""CUDA C++ to machine code by NVRTC, NVIDIA's compiler as a library: it needs no device.

The library is the one of the package nvidia-cuda-nvrtc, or else the system's. It is called through
its C interface, which has not changed since CUDA 11.1.
"""

from __future__ import annotations

import ctypes
import importlib.util
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from photic.targets.cuda.errors import CudaFailed, CudaMissing

SYSTEM_NAMES = ("libnvrtc.so", "libnvrtc.so.13", "libnvrtc.so.12")
REFUSED = 6  # NVRTC_ERROR_COMPILATION
OPTIONS = (
    "--std=c++17",
    "--device-as-default-execution-space",
    "--device-int128",
    "--fmad=false",  # a fused multiply-add is written out where it is wanted
    "--disable-warnings",
)


class Refused(Exception):
    """NVRTC ended with an error; the argument is what it said."""


def machine_code(text: str, architecture: str) -> bytes:
    """The cubin of a text, for an architecture as ``sm_80``. Raises Refused, CudaMissing."""
    library, program = _library(), ctypes.c_void_p()
    arguments = [one.encode() for one in (*OPTIONS, f"--gpu-architecture={architecture}")]
    given = (ctypes.c_char_p * len(arguments))(*arguments)
    _call("CreateProgram", ctypes.byref(program), text.encode(), b"photic.cu", 0, None, None)
    try:
        status = library.nvrtcCompileProgram(program, len(given), given)
        if status == REFUSED:
            raise Refused(_bytes("ProgramLog", program).rstrip(b"\0").decode(errors="replace"))
        _check("CompileProgram", status)
        return _bytes("CUBIN", program)
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
    _check(name, getattr(_library(), f"nvrtc{name}")(*arguments))


def _check(name: str, status: int) -> None:
    if status:
        problem = _library().nvrtcGetErrorString(status).decode()
        raise CudaFailed(call=f"nvrtc{name}", problem=problem)


@cache
def _library() -> ctypes.CDLL:
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
