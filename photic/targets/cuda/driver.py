"""NVIDIA's driver, called through its C interface: what is asked of it, and its refusals as errors.

Knows no program: memory, modules, kernels and a queue on the one device that is used, the first
that the driver shows (CUDA_VISIBLE_DEVICES is the driver's own variable).
"""

from __future__ import annotations

import ctypes
import weakref
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache

from photic.targets.cuda.errors import CudaFailed, CudaMissing
from photic.targets.errors import TooLarge

LIBRARY = "libcuda.so.1"
OUT_OF_MEMORY, NO_DEVICE = 2, 100  # of the driver's statuses
MOST_GROUPS = 2**31 - 1  # of a launch
SCRATCH_BYTES = 2**28  # of all work-items together; items take turns where this is not enough


@cache
def loaded() -> ctypes.CDLL:
    """The driver, ready to be called. Raises CudaMissing."""
    try:
        found = ctypes.CDLL(LIBRARY)
    except OSError as error:
        problem = f"no device was found, as there is no NVIDIA driver here ({error})"
        raise CudaMissing(problem=problem) from None
    status = found.cuInit(0)
    if status == NO_DEVICE:
        raise CudaMissing(problem="no device was found: the NVIDIA driver knows of none")
    if status:
        raise CudaMissing(problem=f"the NVIDIA driver does not start ({_text(found, status)})")
    return found


def call(name: str, *arguments: object) -> None:
    """A function of the driver by its name. Raises CudaFailed, TooLarge, CudaMissing."""
    status = getattr(loaded(), name)(*arguments)
    if status == OUT_OF_MEMORY:
        raise TooLarge(what="a buffer on the device", given="too many", expected="what is left")
    if status:
        raise CudaFailed(call=name, problem=_text(loaded(), status))


def _text(found: ctypes.CDLL, status: int) -> str:
    said = ctypes.c_char_p()
    found.cuGetErrorString(status, ctypes.byref(said))
    return (said.value or b"?").decode(errors="replace") + f", status {status}"


def _number(name: str, *arguments: object) -> int:
    """What a function puts where its first argument says."""
    found = ctypes.c_uint64()
    call(name, ctypes.byref(found), *arguments)
    return found.value


# --- a device -------------------------------------------------------------------------------


def device(number: int) -> int:
    """The handle of a device; a driver without any raises CudaMissing."""
    if number >= _number("cuDeviceGetCount"):
        raise CudaMissing(problem="no device was found: the NVIDIA driver knows of none")
    return _number("cuDeviceGet", number)


def device_name(handle: int) -> str:
    """What its maker calls it."""
    text = ctypes.create_string_buffer(256)
    call("cuDeviceGetName", text, len(text), handle)
    return text.value.decode(errors="replace")


def device_number(attribute: int, handle: int) -> int:
    """An attribute by its number in the driver's interface."""
    return _number("cuDeviceGetAttribute", attribute, handle)


def device_bytes(handle: int) -> int:
    """Its memory."""
    return _number("cuDeviceTotalMem_v2", handle)


def driver_version() -> int:
    """The CUDA version that the driver serves: 12040 is 12.4."""
    return _number("cuDriverGetVersion")


def context_of(handle: int) -> int:
    """The context that all libraries of this process share."""
    return _number("cuDevicePrimaryCtxRetain", handle)


def use_context(context: int) -> None:
    """What the calling thread does next is done there."""
    call("cuCtxSetCurrent", ctypes.c_void_p(context))


# --- memory and programs --------------------------------------------------------------------


@dataclass(frozen=True, slots=True, weakref_slot=True)
class Memory:
    """Bytes of the device, given back when nobody holds this."""

    address: int
    size: int


@dataclass(frozen=True, slots=True, weakref_slot=True)
class Module:
    """Machine code on the device, as long as somebody holds this."""

    handle: int


def new_memory(context: int, count: int) -> Memory:
    """So many bytes. Raises TooLarge."""
    size = max(1, count)
    made = Memory(_number("cuMemAlloc_v2", ctypes.c_size_t(size)), size)
    _end_with(made, context, "cuMemFree_v2", made.address)
    return made


def module_of(context: int, code: bytes) -> Module:
    """Machine code, loaded."""
    made = Module(_number("cuModuleLoadData", code))
    _end_with(made, context, "cuModuleUnload", made.handle)
    return made


def _end_with(one: object, context: int, name: str, handle: int) -> None:
    """What ``handle`` stands for is given back with an object of ours; not when all ends."""
    weakref.finalize(one, _end, loaded(), context, name, handle).atexit = False


def _end(found: ctypes.CDLL, context: int, name: str, handle: int) -> None:
    """Called from any thread, at any time: nobody would hear of a refusal."""
    found.cuCtxSetCurrent(ctypes.c_void_p(context))
    getattr(found, name)(ctypes.c_void_p(handle))


@dataclass(frozen=True, slots=True)
class Kernel:
    """A kernel's argument list: buffers, sizes, scratch, items, items of each work-item."""

    module: Module
    function: int
    buffers: Sequence[ctypes.c_uint64]
    sizes: ctypes.Array[ctypes.c_char]
    scratch: ctypes.c_uint64
    total: ctypes.c_int64
    each: ctypes.c_int64

    @classmethod
    def of(cls, module: Module, name: str, count: int, size_bytes: int) -> Kernel:
        """A kernel of a module, given nothing yet."""
        function = _number("cuModuleGetFunction", ctypes.c_void_p(module.handle), name.encode())
        buffers = [ctypes.c_uint64() for _ in range(count)]
        sizes = ctypes.create_string_buffer(size_bytes)
        rest = ctypes.c_uint64(), ctypes.c_int64(), ctypes.c_int64()
        return cls(module, function, buffers, sizes, *rest)

    def give(self, number: int, memory: Memory, start: int) -> None:
        self.buffers[number].value = memory.address + start

    def size(self, sizes: bytes, scratch: Memory, total: int, each: int) -> None:
        self.sizes.raw = sizes
        self.scratch.value, self.total.value, self.each.value = scratch.address, total, each

    def arguments(self) -> ctypes.Array[ctypes.c_void_p]:
        """The addresses of all."""
        every = (*self.buffers, self.sizes, self.scratch, self.total, self.each)
        return (ctypes.c_void_p * len(every))(*map(ctypes.addressof, every))


@dataclass(slots=True, weakref_slot=True)
class Queue:
    """A program's launches in order, in a stream of their own."""

    context: int
    module: Module
    group: int
    stream: ctypes.c_void_p = field(init=False)
    shares_memory: bool = False

    def __post_init__(self) -> None:
        self.stream = ctypes.c_void_p(_number("cuStreamCreate", 0))
        _end_with(self, self.context, "cuStreamDestroy_v2", self.stream.value or 0)

    def new(self, count: int) -> Memory:
        return new_memory(self.context, count)

    def view(self, address: int, count: int) -> Memory:
        raise AssertionError("the device does not share our memory")

    def kernel(self, name: str, count: int, size_bytes: int) -> Kernel:
        return Kernel.of(self.module, name, count, size_bytes)

    def groups(self, total: int, work: int, scratch: int) -> int:
        groups = min(-(-total // self.group), MOST_GROUPS)
        return min(groups, max(1, SCRATCH_BYTES // (scratch * self.group))) if scratch else groups

    def put(self, memory: Memory, address: int, count: int) -> None:
        self._copy("cuMemcpyHtoDAsync_v2", memory.address, address, count)

    def take(self, memory: Memory, address: int, count: int) -> None:
        self._copy("cuMemcpyDtoHAsync_v2", address, memory.address, count)

    def move(self, target: tuple[Memory, int], source: tuple[Memory, int], count: int) -> None:
        to, origin = target[0].address + target[1], source[0].address + source[1]
        self._copy("cuMemcpyDtoDAsync_v2", to, origin, count)

    def _copy(self, name: str, target: int, source: int, count: int) -> None:
        call(name, *map(ctypes.c_uint64, (target, source, count)), self.stream)

    def byte(self, memory: Memory, start: int) -> int:
        found = ctypes.c_uint8()
        here, there = ctypes.addressof(found), memory.address + start
        self._copy("cuMemcpyDtoHAsync_v2", here, there, 1)
        self.finish()
        return found.value

    def launch(self, kernel: Kernel, groups: int) -> None:
        shape = (groups, 1, 1, self.group, 1, 1)
        function, arguments = ctypes.c_void_p(kernel.function), kernel.arguments()
        call("cuLaunchKernel", function, *shape, 0, self.stream, arguments, None)

    def finish(self) -> None:
        call("cuStreamSynchronize", self.stream)
