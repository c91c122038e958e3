"""C source text to a loaded library, by the Clang inside the ``ziglang`` wheel.

Promises: a library is named by the hash of all that made it (source, flags, compiler, processor),
lies beside its sha256, appears whole or not at all, and is never changed in place; what is damaged
is built again. When it is already there no process is started. A folder that others can write is
never loaded from.

Does not know what the source means. Only Linux is tested; other systems use the same code.
"""

from __future__ import annotations

import ctypes
import errno
import hashlib
import importlib.util
import json
import os
import platform
import secrets
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import astuple, dataclass
from functools import lru_cache
from pathlib import Path
from typing import TypeVar

from photic.base.errors import BadArgument
from photic.base.settings import clean_environment, text_setting
from photic.base.trace import emit
from photic.storage.errors import FileUnwritable, NoSpace
from photic.storage.files import (
    cache_folder,
    file_sha256,
    locked,
    reading_folders,
    remove_quietly,
    temporary_folder,
    trust_problem,
    warn_of_fallback,
    write_atomic,
    write_errors,
)
from photic.targets.errors import CompileFailed, CompilerMissing, LoadRefused

# Raise this when the same source must be compiled anew (other fixed flags, other file layout).
TOOLCHAIN_VERSION = "2"

COMMON_FLAGS = ("-shared", "-fPIC", "-fno-sanitize=all", "-g0", "-w")
KERNEL_FLAGS = (
    "-std=c11",
    "-O3",
    "-fno-vectorize",  # vectors are written out; Clang 22's own take exponential time on some loops
    "-mprefer-vector-width=512",
    "-ffreestanding",
    "-nostdlib",
    "-ffp-contract=off",  # a fused multiply-add is written out where it is wanted
    "-fwrapv",
    "-fno-math-errno",
)
TRIAL_FLAGS = ("-fno-unroll-loops",)  # register tiles are written out; half the time to compile
RUNTIME_FLAGS = ("-std=gnu11", "-O2")

NATIVE = "native"
LIBRARY_MODE = 0o755
LIBRARY_SUFFIX = {"win32": ".dll", "darwin": ".dylib"}.get(sys.platform, ".so")
# Zig writes caches and temporary files; a user's own flags and search paths stay outside.
KEPT_VARIABLES = ("PATH", "TMPDIR", "TEMP", "TMP", "SYSTEMROOT")
CPUINFO = Path("/proc/cpuinfo")
CPUINFO_BYTES = 16384  # holds the first processor's lines; the file grows with the processors
CPUINFO_KEYS = (
    "vendor_id", "model name", "flags", "Features", "CPU implementer", "CPU part", "isa", "uarch",
)  # fmt: skip

KEY_CHARACTERS = 32
SHOWN_CHARACTERS = 4000
COMPILE_SECONDS = 900.0
LOCK_SECONDS = 60.0
LOCK_DIGITS = 3  # of a key: builds that wait for each other by chance are few, and so are the files
STALE_SECONDS = 3600.0
PUBLISH_TRIES = 8
WORK_PREFIX = ".work-"
SOURCE = "source.c"
ZIG_LOCAL = "zig-local"
ZIG_GLOBAL = "zig-global"
MAPS = Path("/proc/self/maps")
LIBC_NAMES = ("libc.so", "libc-", "libpthread.so", "libpthread-", "ld-musl-")


@dataclass(frozen=True, slots=True)
class Recipe:
    """All that decides what a library holds; its hash is the library's name."""

    source: str
    flags: tuple[str, ...]
    compiler: str
    processor: str
    libc: str

    def key(self) -> str:
        text = json.dumps([TOOLCHAIN_VERSION, *astuple(self)])
        return hashlib.sha256(text.encode()).hexdigest()[:KEY_CHARACTERS]


# --- public ---------------------------------------------------------------------------------


def build_kernels(source: str, *, flags: tuple[str, ...] = ()) -> Path:
    """The shared library of freestanding C ``source``: compiled, or found in the cache.

    ``flags`` come after the fixed ones. Raises CompilerMissing, CompileFailed (the source is kept
    where the message says), BadArgument for an unknown PHOTIC_CPU. Thread- and process-safe.
    """
    return _build(_recipe(source, (*KERNEL_FLAGS, *flags), ""), ((),))


def build_runtime(source: str) -> Path:
    """As ``build_kernels``, for C that uses the C library and threads."""
    recipe = _recipe(source, RUNTIME_FLAGS, _libc_version())
    return _build(recipe, (*_mapped_libc(), ("-lpthread",)))


def load_library(path: Path) -> ctypes.CDLL:
    """Load a library that ``build_kernels`` or ``build_runtime`` made.

    Raises LoadRefused when others could have written the file or its folders, when it is not what
    was built (its sha256), or when the system refuses it.
    """
    for one in (path, path.parent, path.parent.parent):
        if problem := trust_problem(one):
            raise LoadRefused(path=path, problem=f"{problem} ({one})" if one != path else problem)
    if not _is_intact(path.parent, path.parent.name):
        raise LoadRefused(path=path, problem="the file is not the one that was built")
    try:
        return ctypes.CDLL(str(path))
    except OSError as error:
        raise LoadRefused(path=path, problem=str(error)) from error


def load_together(sources: Sequence[str]) -> ctypes.CDLL:
    """One library of several freestanding sources, loaded; nothing of it is kept on disk.

    For measuring candidates: each source is compiled alone, all by one call of the compiler. Names
    that are not static must differ. Raises CompilerMissing, CompileFailed, LoadRefused.
    """
    try:
        return _somewhere(lambda folder: _load_together(folder, sources))
    except _Refused as refused:
        raise CompileFailed(path="not kept", output=str(refused)[:SHOWN_CHARACTERS]) from None


@lru_cache(maxsize=1)
def compiler_identity() -> str:
    """The compiler's version and size, without starting it; raises CompilerMissing."""
    program = _compiler()
    folders = sorted(program.parent.parent.glob("ziglang-*.dist-info"))
    version = folders[0].stem.split("-")[1] if len(folders) == 1 else "?"
    return f"zig {version} {program.stat().st_size}"


def processor_text() -> str:
    """What tells this processor from others: its name and instruction sets, and PHOTIC_CPU."""
    lines = sorted(line for line in _cpuinfo_lines() if line.split("\t")[0] in CPUINFO_KEYS)
    named = "\n".join(lines) or platform.processor()
    return f"{platform.system()} {platform.machine()} {text_setting('cpu')}\n{named}"


def predefined_macros(cpu: str) -> dict[str, str]:
    """The macros that the compiler defines for the processor called ``cpu``."""
    return _somewhere(lambda folder: _macros_in(folder, cpu))


# --- keys -----------------------------------------------------------------------------------


def _recipe(source: str, flags: tuple[str, ...], libc: str) -> Recipe:
    cpu = text_setting("cpu") or NATIVE
    every = (*COMMON_FLAGS, _processor_flag(cpu), *flags)
    return Recipe(source, every, compiler_identity(), processor_text(), libc)


def _processor_flag(cpu: str) -> str:
    # Clang's own names have hyphens (x86-64-v3); here a hyphen would take a feature away.
    return f"-mcpu={cpu.replace('-', '_')}"


def _macros_in(folder: Path, cpu: str) -> dict[str, str]:
    with _work_folder(folder) as work:
        result = _run((_processor_flag(cpu), "-dM", "-E", "-x", "c", os.devnull), work)
    if result.returncode:
        raise _Refused(result.stderr or f"exit status {result.returncode}")
    words = (line.split(maxsplit=2) for line in result.stdout.splitlines())
    return {name: "".join(value) for _, name, *value in words}


def _compiler() -> Path:
    spec = importlib.util.find_spec("ziglang")
    if spec is None or not spec.submodule_search_locations:
        raise CompilerMissing(problem="the package ziglang is not installed")
    program = Path(spec.submodule_search_locations[0]) / ("zig.exe" if os.name == "nt" else "zig")
    if not program.is_file():
        raise CompilerMissing(problem=f"{program} is not there")
    return program


@lru_cache(maxsize=1)
def _cpuinfo_lines() -> list[str]:
    try:
        with CPUINFO.open("rb", buffering=0) as file:
            text = file.read(CPUINFO_BYTES).decode(errors="replace")
    except OSError:
        return []
    return text.split("\n\n")[0].splitlines()


def _libc_version() -> str:
    # a library linked to this C library may not load under an older one
    try:
        return os.confstr("CS_GNU_LIBC_VERSION") or "?"
    except (ValueError, AttributeError, OSError):
        return "?"


def _mapped_libc() -> tuple[tuple[str, ...], ...]:
    """A quick way to link: against the C library that this very process uses (Linux).

    The wheel's own way builds start-up files and stubs for seconds, to the same effect.
    """
    try:
        lines = MAPS.read_text(errors="replace").splitlines()
    except OSError:
        return ()
    paths = {line.split(maxsplit=5)[-1] for line in lines if "/" in line}
    found = sorted(one for one in paths if Path(one).name.startswith(LIBC_NAMES))
    return (("-nostdlib", *found),) if found else ()


# --- finding and building -------------------------------------------------------------------


class _Refused(Exception):
    """The compiler ended with an error; the argument is what it said."""


@dataclass(slots=True)
class _Sweep:
    """Left-over work folders of killed processes are removed once in a process."""

    done: bool = False


_sweep = _Sweep()
T = TypeVar("T")


def _build(recipe: Recipe, links: tuple[tuple[str, ...], ...]) -> Path:
    key = recipe.key()
    for folder in reading_folders("kernels"):
        if _is_intact(folder / key, key):
            return _library(folder / key, key)
    try:
        return _somewhere(lambda folder: _build_locked(folder, recipe, links))
    except _Refused as refused:
        kept = cache_folder("kernels") / "failed" / f"{key}.c"
        with write_errors(kept):
            kept.parent.mkdir(exist_ok=True)
        write_atomic(kept, recipe.source.encode())
        raise CompileFailed(path=kept, output=str(refused)[:SHOWN_CHARACTERS]) from None


def _somewhere(action: Callable[[Path], T]) -> T:
    """``action`` in the cache folder, or else, with a warning if that helps, a temporary one."""
    folder = cache_folder("kernels")
    try:
        return action(folder)
    except (NoSpace, FileUnwritable, _Refused) as error:
        vanished = not os.path.isdir(folder)
        problem = str(error).splitlines()[0]
    if vanished:  # removed while we worked: cache_folder makes it again
        return action(cache_folder("kernels"))
    result = action(temporary_folder("kernels"))
    shutil.rmtree(folder / ZIG_GLOBAL, ignore_errors=True)  # it may be what was damaged
    warn_of_fallback(f"{folder}: {problem}")
    return result


def _build_locked(folder: Path, recipe: Recipe, links: tuple[tuple[str, ...], ...]) -> Path:
    key = recipe.key()
    with locked(folder / f".lock-{key[:LOCK_DIGITS]}", LOCK_SECONDS):
        if not _is_intact(folder / key, key):  # else another process was faster
            _sweep_stale(folder)
            _build_in(folder, recipe, links)
    return _library(folder / key, key)


def _build_in(folder: Path, recipe: Recipe, links: tuple[tuple[str, ...], ...]) -> None:
    key = recipe.key()
    with _work_folder(folder) as work:
        write_atomic(work / SOURCE, recipe.source.encode())
        library = _library(work, key)
        begin = time.perf_counter()
        _compile(work, (*recipe.flags, SOURCE, "-o", library.name), links)
        emit("source", "compiled", key=key, seconds=time.perf_counter() - begin)
        library.chmod(LIBRARY_MODE)  # whatever the umask, others cannot write it
        shutil.rmtree(work / ZIG_LOCAL, ignore_errors=True)
        write_atomic(work / "sha256", f"{key} {file_sha256(library)}\n".encode())
        _publish(work, folder / key, key)


def _load_together(folder: Path, sources: Sequence[str]) -> ctypes.CDLL:
    names = [f"{number}.c" for number in range(len(sources))]
    cpu = text_setting("cpu") or NATIVE
    flags = (*COMMON_FLAGS, _processor_flag(cpu), *KERNEL_FLAGS, *TRIAL_FLAGS)
    with _work_folder(folder) as work:
        for name, source in zip(names, sources, strict=True):
            (work / name).write_text(source, encoding="utf-8")
        library = work / f"together{LIBRARY_SUFFIX}"
        _compile(work, (*flags, *names, "-o", library.name), ((),))
        try:
            return ctypes.CDLL(str(library))
        except OSError as error:
            raise LoadRefused(path=library, problem=str(error)) from error


def _compile(work: Path, flags: tuple[str, ...], links: tuple[tuple[str, ...], ...]) -> None:
    """Try the ways to link one after another; the last one's refusal counts."""
    for link in links:
        result = _run((*flags, *link), work)
        if result.returncode == 0:
            return
    raise _Refused(result.stderr or f"exit status {result.returncode}")


def _publish(work: Path, entry: Path, key: str) -> None:
    """Give the finished folder its name; a damaged one in its place is moved away first."""
    for _ in range(PUBLISH_TRIES):
        try:
            work.rename(entry)
            return
        except OSError as error:
            if error.errno not in (errno.ENOTEMPTY, errno.EEXIST, errno.ENOTDIR):
                raise
        if _is_intact(entry, key):
            return
        away = entry.with_name(f"{WORK_PREFIX}{secrets.token_hex(8)}")
        with suppress(FileNotFoundError):
            entry.rename(away)
        _remove_tree(away)
    raise FileUnwritable(path=entry, what="a library", problem="the name stays taken")


@contextmanager
def _work_folder(folder: Path) -> Iterator[Path]:
    with write_errors(folder):
        work = Path(tempfile.mkdtemp(prefix=WORK_PREFIX, dir=folder))
        try:
            yield work
        finally:
            shutil.rmtree(work, ignore_errors=True)


def _sweep_stale(folder: Path) -> None:
    if _sweep.done:
        return
    _sweep.done = True
    for left in folder.glob(f"{WORK_PREFIX}*"):
        with suppress(OSError):
            if time.time() - left.stat().st_mtime > STALE_SECONDS:
                _remove_tree(left)


def _remove_tree(path: Path) -> None:
    remove_quietly(path)
    shutil.rmtree(path, ignore_errors=True)


def _library(entry: Path, key: str) -> Path:
    return entry / f"photic_{key}{LIBRARY_SUFFIX}"


def _is_intact(entry: Path, key: str) -> bool:
    """Whether ``entry`` holds what was built under ``key``, and only we or root could write it."""
    if trust_problem(entry) or trust_problem(_library(entry, key)):
        return False
    try:
        record = (entry / "sha256").read_bytes()
        return record == f"{key} {file_sha256(_library(entry, key))}\n".encode()
    except OSError:
        return False


def _run(arguments: tuple[str, ...], work: Path) -> subprocess.CompletedProcess[str]:
    """One call of the compiler, in ``work``; relative names keep odd folder names out of it."""
    environment = clean_environment(
        KEPT_VARIABLES, ZIG_LOCAL_CACHE_DIR=ZIG_LOCAL, ZIG_GLOBAL_CACHE_DIR=f"../{ZIG_GLOBAL}"
    )
    try:
        result = subprocess.run(
            (str(_compiler()), "cc", *arguments),
            cwd=work,
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=COMPILE_SECONDS,
        )
    except subprocess.TimeoutExpired:
        raise _Refused(f"no end after {COMPILE_SECONDS:.0f} seconds") from None
    except OSError as error:
        if not os.path.isdir(work):
            raise
        raise CompilerMissing(problem=str(error)) from error
    if result.returncode and "unknown CPU" in result.stderr:
        raise BadArgument(
            op="settings",
            argument="PHOTIC_CPU",
            given=repr(text_setting("cpu")),
            expected="native or a processor name that Clang knows",
        )
    return result
