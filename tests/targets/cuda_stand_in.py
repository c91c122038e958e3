"""A processor in place of a CUDA device: texts as C++, and cuda_driver.c as the driver.

All of the target but NVRTC and the real driver is as it is with a device. Named as a plugin
(``pytest -p targets.cuda_stand_in``) it serves all tests of a run.
"""

import ctypes
import hashlib
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from photic.targets import driver, group_nests
from photic.targets.c.toolchain import build_kernels, build_runtime, load_library
from photic.targets.cuda import compiler, device
from photic.targets.devices import Driven

HERE = Path(__file__).parent
MOST_DEVICES = 2  # that tests open
# not optimised: a program of a few functions would take half a minute
FLAGS = ("-x", "c++", "-std=c++17", "-O0", "-fno-exceptions", "-fno-rtti")
KERNEL = re.compile(r'^extern "C" __global__ void \w+\(.*?\) (\w+)\(', re.MULTILINE)
RUN = """
extern "C" void run_{name}(void **given, unsigned groups, unsigned group, int backwards) {{
  photic_run({name}, given, groups, group, backwards);
}}"""
KEEP = """
extern "C" void **keep_{name}(void **given) {{ return photic_kept({name}, given); }}"""


def compiled(text: str, more: str = "") -> Path:
    """The library of a text's kernels; each is ``run_`` and its name. ``more`` stands before."""
    shares = "#define SHARES 1\n" if "__shared__" in text else ""
    header = shares + (HERE / "cuda_on_cpu.h").read_text(encoding="utf-8") + more
    kept = [KEEP.format(name=name) for name in KERNEL.findall(text)]
    return built(header, "".join([text, *kept]), KERNEL)


def built(header: str, text: str, kernel: re.Pattern[str]) -> Path:
    """The library of kernels whose heads are so, behind a header that has ``photic_run``."""
    runs = [RUN.format(name=name) for name in kernel.findall(text)]
    return build_kernels("\n".join([header, text, *runs]), flags=FLAGS)


def library_of(text: str, more: str = "") -> ctypes.CDLL:
    """A text, loaded."""
    return load_library(compiled(text, more))


def machine_code(text: str, architecture: str) -> bytes:
    """What the driver in cuda_driver.c loads: where the library is."""
    return str(compiled(text)).encode() + b"\0"


def version() -> str:
    """What stands in for a compiler; libraries that it made are kept."""
    texts = (RUN + KEEP).encode() + (HERE / "cuda_on_cpu.h").read_bytes()
    return f"none, a processor stands in: {hashlib.sha256(texts).hexdigest()}"


def stand_in(before: str = "") -> ctypes.CDLL:
    """The driver; ``before`` is text before its own."""
    text = (HERE / "cuda_driver.c").read_text(encoding="utf-8")
    return load_library(build_runtime(before + text))


def use(monkeypatch: pytest.MonkeyPatch) -> ctypes.CDLL:
    """The cuda target runs on it; what was opened before is found again afterwards."""
    found = stand_in()
    serve(monkeypatch, device.CUDA, device.DRIVEN, found)
    monkeypatch.setattr(compiler, "machine_code", machine_code)
    monkeypatch.setattr(compiler, "version", version)
    return found


def serve(
    monkeypatch: pytest.MonkeyPatch,
    known: driver.Driver,
    target: Driven[Any],
    library: ctypes.CDLL,
) -> None:
    """A driver is this library, and no device of its target is open."""
    before = driver.loaded
    monkeypatch.setattr(driver, "loaded", lambda one: library if one is known else before(one))
    for number in range(MOST_DEVICES):
        unopened(monkeypatch, target, number)


def unopened(monkeypatch: pytest.MonkeyPatch, target: Driven[Any], number: int = 0) -> None:
    """A device is as if nobody had opened it; what was opened before is found again afterwards."""
    monkeypatch.setitem(target.used, number, None)
    del target.used[number]


@contextmanager
def group_memory(count: int) -> Iterator[None]:
    """Groups have so many bytes."""
    before, group_nests.SHARED_BYTES = group_nests.SHARED_BYTES, count
    group_nests.turns_of.cache_clear()
    try:
        yield
    finally:
        group_nests.SHARED_BYTES = before
        group_nests.turns_of.cache_clear()


def number(found: ctypes.CDLL, name: str) -> ctypes.c_int:
    """A number that tests set or look at."""
    return ctypes.c_int.in_dll(found, f"photic_{name}")


def pytest_configure() -> None:
    """As a plugin: until the process ends."""
    use(pytest.MonkeyPatch())
