"""A processor in place of a device of Apple's: texts as C++, and the ``Metal`` of pyobjc in Python.

It has what the metal target calls, by the same names. Buffers have guard bytes behind them, which
are looked at after each launch. Work is done when it is committed, and not before.
"""

import contextlib
import ctypes
import re
import sys
import types
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from targets.cuda_stand_in import built, unopened

from photic.base.errors import PhoticError
from photic.targets.c.toolchain import load_library
from photic.targets.metal import device

HEADER = Path(__file__).with_name("metal_on_cpu.h")
KERNEL = re.compile(r"^kernel void (\w+)\(", re.MULTILINE)
GUARD, GUARD_BYTES = 0xA5, 256
MOST_BUFFERS = 31


@dataclass
class State:
    """What tests set and look at."""

    is_here: bool = True
    backwards: int = 0
    faults: int = 0
    launches: int = 0
    most_bytes: int = 2**32
    problem: str = ""


STATE = State()


def library_of(text: str) -> ctypes.CDLL:
    """A text, loaded; each kernel is ``run_`` and its name."""
    return load_library(built(HEADER.read_text(encoding="utf-8"), text, KERNEL))


class Pointer:
    """Memory as pyobjc shows it."""

    def __init__(self, memory: ctypes.Array[ctypes.c_char]) -> None:
        self.memory = memory

    def as_buffer(self, count: int) -> memoryview:
        return memoryview(self.memory).cast("B")[:count]


class Buffer:
    """Memory with an end."""

    def __init__(self, count: int) -> None:
        self.count = count
        self.memory = ctypes.create_string_buffer(b"\xc7" * count, count + GUARD_BYTES)
        ctypes.memset(self.address + count, GUARD, GUARD_BYTES)

    @property
    def address(self) -> int:
        return ctypes.addressof(self.memory)

    @property
    def is_intact(self) -> bool:
        return self.memory.raw[self.count :] == bytes([GUARD]) * GUARD_BYTES

    def contents(self) -> Pointer:
        return Pointer(self.memory)

    def length(self) -> int:
        return self.count


@dataclass
class Encoder:
    """Launches in order, kept until they are committed."""

    work: list[Callable[[], None]]
    pipeline: Any = None
    given: dict[int, tuple[Any, int]] = field(default_factory=dict)
    is_open: bool = True

    def setComputePipelineState_(self, pipeline: Any) -> None:
        self.pipeline = pipeline

    def setBuffer_offset_atIndex_(self, buffer: Buffer, offset: int, index: int) -> None:
        assert self.is_open and 0 <= offset < buffer.length() and index < MOST_BUFFERS
        self.given[index] = buffer, buffer.address + offset

    def setBytes_length_atIndex_(self, data: bytes, count: int, index: int) -> None:
        assert self.is_open and len(data) == count <= 4096 and index < MOST_BUFFERS
        held = ctypes.create_string_buffer(data, count)
        self.given[index] = held, ctypes.addressof(held)

    def dispatchThreadgroups_threadsPerThreadgroup_(
        self, groups: tuple[int, int, int], threads: tuple[int, int, int]
    ) -> None:
        assert self.is_open and groups[1:] == threads[1:] == (1, 1)
        run, given = self.pipeline, dict(self.given)

        def launch() -> None:
            places = [ctypes.c_void_p(given[k][1]) for k in range(len(given))]
            every = [ctypes.addressof(one) for one in places]
            table = (ctypes.c_void_p * (len(every) + 1))(*every, None)
            run(table, groups[0], threads[0], STATE.backwards)
            STATE.launches += 1
            buffers = [one for one, _ in given.values() if isinstance(one, Buffer)]
            STATE.faults += sum(not one.is_intact for one in buffers)

        self.work.append(launch)

    def endEncoding(self) -> None:
        self.is_open = False


@dataclass
class CommandBuffer:
    """Work that begins when it is committed."""

    work: list[Callable[[], None]] = field(default_factory=list)
    is_committed: bool = False

    def computeCommandEncoder(self) -> Encoder:
        return Encoder(self.work)

    def commit(self) -> None:
        assert not self.is_committed
        self.is_committed = True
        for one in self.work:
            one()

    def waitUntilCompleted(self) -> None:
        assert self.is_committed

    def error(self) -> str | None:
        return STATE.problem or None


class CommandQueue:
    def commandBuffer(self) -> CommandBuffer:
        return CommandBuffer()


@dataclass
class Library:
    functions: ctypes.CDLL

    def newFunctionWithName_(self, name: str) -> Any:
        return getattr(self.functions, f"run_{name}")


class Options:
    """Of a compilation; tests look at what was asked for."""

    fast = True

    @classmethod
    def new(cls) -> "Options":
        return cls()

    def setFastMathEnabled_(self, fast: bool) -> None:
        self.fast = fast


class Device:
    def name(self) -> str:
        return "a processor in place of a device"

    def registryID(self) -> int:
        return id(self)

    def hasUnifiedMemory(self) -> bool:
        return True

    def recommendedMaxWorkingSetSize(self) -> int:
        return STATE.most_bytes

    def maxBufferLength(self) -> int:
        return STATE.most_bytes

    def newCommandQueue(self) -> CommandQueue:
        return CommandQueue()

    def newBufferWithLength_options_(self, count: int, options: int) -> Buffer | None:
        assert count > 0
        return Buffer(count) if count <= STATE.most_bytes else None

    def newLibraryWithSource_options_error_(
        self, text: str, options: Options, error: None
    ) -> tuple[Library | None, str | None]:
        assert not options.fast
        try:
            return Library(library_of(text)), None
        except PhoticError as problem:
            return None, str(problem)

    def newComputePipelineStateWithFunction_error_(
        self, function: Any, error: None
    ) -> tuple[Any, None]:
        return function, None


def modules() -> dict[str, types.ModuleType]:
    """``Metal`` and ``objc`` as far as they are used."""
    metal: Any = types.ModuleType("Metal")
    metal.MTLCreateSystemDefaultDevice = lambda: Device() if STATE.is_here else None
    metal.MTLCopyAllDevices = list
    metal.MTLCompileOptions, metal.MTLSizeMake = Options, lambda x, y, z: (x, y, z)
    objc: Any = types.ModuleType("objc")
    objc.autorelease_pool = contextlib.nullcontext
    return {"Metal": metal, "objc": objc}


def use(monkeypatch: pytest.MonkeyPatch) -> State:
    """The metal target runs on it; what was opened before is found again afterwards."""
    vars(STATE).update(vars(State()))
    for name, module in modules().items():
        monkeypatch.setitem(sys.modules, name, module)
    unopened(monkeypatch, device.DRIVEN)
    return STATE


def pytest_configure() -> None:
    """As a plugin: until the process ends."""
    use(pytest.MonkeyPatch())
