"""What the processor offers: vector widths, instructions, cores, caches.

Promises: ``facts()`` names only what the compiler will use and this process may run; it is found
once per machine, compiler and PHOTIC_CPU, and then read from one small file. ``facts_key()``
changes whenever a fact does that changes generated code. Cores are counted anew in each process
and are not part of the key.

Does not measure anything: bandwidth and peaks are the search's to measure.
"""

from __future__ import annotations

import ctypes
import hashlib
import json
import os
import sys
from contextlib import suppress
from dataclasses import asdict, dataclass, fields, replace
from functools import lru_cache
from pathlib import Path

from photic.base.errors import BadArgument
from photic.base.settings import text_setting
from photic.storage.errors import FileUnwritable, NoSpace
from photic.storage.files import Missing, cache_folder, read_checked, reading_folders, write_checked
from photic.targets.c.toolchain import (
    NATIVE,
    TOOLCHAIN_VERSION,
    compiler_identity,
    predefined_macros,
    processor_text,
)

KIB = 1024
# Where the system does not tell; small enough to hold on any processor of the last ten years.
DEFAULT_L1D_BYTES = 32 * KIB
DEFAULT_L2_BYTES = 256 * KIB
DEFAULT_L3_BYTES = 4096 * KIB
DEFAULT_LINE_BYTES = 64

CPU_FOLDER = Path("/sys/devices/system/cpu")
CGROUP_QUOTA = Path("/sys/fs/cgroup/cpu.max")
SIZE_UNITS = {"K": KIB, "M": KIB * KIB, "G": KIB * KIB * KIB}

AVX512_MACROS = ("__AVX512F__", "__AVX512BW__", "__AVX512DQ__", "__AVX512VL__")
# Linux hands out the tile registers on request: arch_prctl(ARCH_REQ_XCOMP_PERM, XTILEDATA).
SYSCALL_ARCH_PRCTL = 158
ARCH_REQ_XCOMP_PERM = 0x1023
XFEATURE_XTILEDATA = 18

# Instructions that a compiler puts into computations; a named PHOTIC_CPU must not have more of them
# than this machine (those for operating systems it may have).
COMPUTING_MACROS = (
    "__AMX", "__APX", "__ARM_FEATURE", "__AVX", "__BMI", "__EGPR", "__F16C", "__FMA", "__GFNI",
    "__LZCNT", "__MOVBE", "__POPCNT", "__SSE", "__TBM", "__VAES", "__VPCLMUL", "__XOP",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Facts:
    """One processor as the c target sees it; sizes in bytes, caches per core except ``l3_bytes``.

    ``vector_bits`` is 512 only with the F, BW, DQ and VL parts of AVX-512. ``cores`` counts the
    physical cores that this process may use (affinity and container quota).
    """

    arch: str
    vector_bits: int
    fma: bool
    f16c: bool
    avx512: bool
    vnni: bool
    avx512_bf16: bool
    amx_bf16: bool
    amx_int8: bool
    neon: bool
    cores: int
    l1d_bytes: int
    l2_bytes: int
    l3_bytes: int
    line_bytes: int


def facts() -> Facts:
    """The facts of this machine for the current PHOTIC_CPU.

    Raises CompilerMissing, or BadArgument when PHOTIC_CPU names a processor that is unknown or
    has instructions that this machine lacks.
    """
    found = _recorded(text_setting("cpu"))
    if (found.amx_bf16 or found.amx_int8) and not tiles_granted():
        found = replace(found, amx_bf16=False, amx_int8=False)
    return replace(found, cores=usable_cores())


def facts_key() -> str:
    """A short text that goes into every cache key: it changes when generated code may."""
    known = asdict(replace(facts(), cores=0))
    text = json.dumps([known, compiler_identity(), TOOLCHAIN_VERSION, processor_text()])
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def usable_cores() -> int:
    """Physical cores that this process may use: affinity, hyper-threads, container quota."""
    if hasattr(os, "sched_getaffinity"):
        usable = _distinct_cores(os.sched_getaffinity(0))
    else:
        usable = os.cpu_count() or 1
    return max(1, min(usable, _quota_cores(usable)))


# --- cores ----------------------------------------------------------------------------------


def _distinct_cores(cpus: set[int]) -> int:
    if _read(CPU_FOLDER / "smt/active") != "1":
        return len(cpus)
    siblings = {
        _read(CPU_FOLDER / f"cpu{one}/topology/thread_siblings_list") or str(one) for one in cpus
    }
    return len(siblings)


def _quota_cores(otherwise: int) -> int:
    """The container's share of processor time (cgroup 2), rounded up."""
    quota, _, period = _read(CGROUP_QUOTA).partition(" ")
    if not (quota.isdigit() and period.isdigit() and int(period)):
        return otherwise
    return -(-int(quota) // int(period))


# --- finding and recording ------------------------------------------------------------------


@lru_cache(maxsize=8)
def _recorded(cpu: str) -> Facts:
    """From the cache, or found by asking the compiler (and then kept)."""
    text = json.dumps([TOOLCHAIN_VERSION, compiler_identity(), processor_text(), cpu])
    name = f"facts-{hashlib.sha256(text.encode()).hexdigest()[:32]}.json"
    for folder in reading_folders("kernels"):
        blob = read_checked(folder / name)
        if not isinstance(blob, Missing) and (known := _parse(blob)):
            return known
    found = _find(cpu)
    with suppress(NoSpace, FileUnwritable):  # asking the compiler again costs some 30 ms
        write_checked(cache_folder("kernels") / name, json.dumps(asdict(found)).encode())
    return found


def _parse(blob: bytes) -> Facts | None:
    try:
        known = json.loads(blob)
    except ValueError:
        return None
    names = {field.name for field in fields(Facts)}
    return Facts(**known) if isinstance(known, dict) and known.keys() == names else None


def _find(cpu: str) -> Facts:
    macros = predefined_macros(cpu or NATIVE)
    if cpu not in ("", NATIVE):
        _check_runs_here(cpu, macros)
    avx512 = all(one in macros for one in AVX512_MACROS)
    return Facts(
        arch="x86_64" if "__x86_64__" in macros else "aarch64" if "__aarch64__" in macros else "",
        vector_bits=512 if avx512 else 256 if "__AVX2__" in macros else 128,
        fma="__FMA__" in macros or "__aarch64__" in macros,
        f16c="__F16C__" in macros,
        avx512=avx512,
        vnni="__AVX512VNNI__" in macros or "__AVXVNNI__" in macros,
        avx512_bf16="__AVX512BF16__" in macros,
        amx_bf16="__AMX_BF16__" in macros,
        amx_int8="__AMX_INT8__" in macros,
        neon="__ARM_NEON" in macros,
        cores=usable_cores(),
        **_caches(),
    )


def _check_runs_here(cpu: str, macros: dict[str, str]) -> None:
    extra = macros.keys() - predefined_macros(NATIVE).keys()
    lacking = sorted(one for one in extra if one.startswith(COMPUTING_MACROS))
    if lacking:
        raise BadArgument(
            op="settings",
            argument="PHOTIC_CPU",
            given=repr(cpu),
            expected=f"a processor whose instructions this one has (lacking: {', '.join(lacking)})",
        )


def _caches() -> dict[str, int]:
    found = {
        "l1d_bytes": DEFAULT_L1D_BYTES,
        "l2_bytes": DEFAULT_L2_BYTES,
        "l3_bytes": DEFAULT_L3_BYTES,
        "line_bytes": DEFAULT_LINE_BYTES,
    }
    names = {"1": "l1d_bytes", "2": "l2_bytes", "3": "l3_bytes"}
    for index in sorted((CPU_FOLDER / "cpu0/cache").glob("index*")):
        size = _size_bytes(_read(index / "size"))
        level = _read(index / "level")
        if _read(index / "type") == "Instruction" or not size or level not in names:
            continue
        found[names[level]] = size
        line = _read(index / "coherency_line_size")
        found["line_bytes"] = int(line) if line.isdigit() else found["line_bytes"]
    return found


def _size_bytes(text: str) -> int:
    digits, unit = text.rstrip("KMG"), text[-1:]
    return int(digits) * SIZE_UNITS.get(unit, 1) if digits.isdigit() else 0


def _read(path: Path) -> str:
    try:
        return path.read_text(errors="replace").strip()
    except OSError:
        return ""


@lru_cache(maxsize=1)
def tiles_granted() -> bool:
    """Ask Linux for the tile registers, for all threads of this process."""
    if sys.platform != "linux":
        return False
    call = ctypes.CDLL(None).syscall
    call.restype = ctypes.c_long
    numbers = (SYSCALL_ARCH_PRCTL, ARCH_REQ_XCOMP_PERM, XFEATURE_XTILEDATA)
    return bool(call(*(ctypes.c_long(one) for one in numbers)) == 0)
