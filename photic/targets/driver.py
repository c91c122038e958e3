"""A driver as NVIDIA's is, called through its C interface: what is asked, and refusals as errors.

Knows no program: memory, modules, kernels and a queue on a device, by its context. AMD's has the
same functions by other names, so that a ``Driver`` says what its are called.
"""

from __future__ import annotations

import ctypes
import weakref
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache, partial

from photic.base.errors import PhoticError
from photic.targets.arrays import Held, Place
from photic.targets.errors import TooLarge
from photic.targets.group_products import GROUP
from photic.targets.launches import groups_of
from photic.targets.recorded import Recorder

OUT_OF_MEMORY, NO_DEVICE = 2, 100  # of the drivers' statuses
MOST_GROUPS = 2**31 - 1  # of a launch


@dataclass(frozen=True, slots=True, eq=False)
class Driver:
    """A shared object with CUDA's functions; ``names`` has those that are called otherwise there.

    ``shared`` has DLPack's numbers of its kind of devices and of their default stream. ``missing``
    is the error for what is not here, given ``problem``; ``failed`` that for what is refused, given
    ``call`` and ``problem``. ``maker`` stands before "driver" in both.
    """

    file: str
    maker: str
    shared: tuple[int, int]
    missing: Callable[..., PhoticError]
    failed: Callable[..., PhoticError]
    names: Mapping[str, str] = field(default_factory=dict)

    def function(self, name: str) -> Callable[..., int]:
        """A function by CUDA's name. Raises ``missing``."""
        found: Callable[..., int] = getattr(loaded(self), self.names.get(name, name))
        return found

    def call(self, name: str, *arguments: object) -> None:
        """Call a function by CUDA's name. Raises ``failed``, TooLarge, ``missing``."""
        status = self.function(name)(*arguments)
        if status == OUT_OF_MEMORY:
            raise TooLarge(what="a buffer on the device", given="too many", expected="what is left")
        if status:
            called = self.names.get(name, name)
            raise self.failed(call=called, problem=_text(self, loaded(self), status))

    def number(self, name: str, *arguments: object) -> int:
        """What a function puts where its first argument says."""
        found = ctypes.c_uint64()
        self.call(name, ctypes.byref(found), *arguments)
        return found.value

    def nothing(self) -> PhoticError:
        """The error that says that there is no device."""
        return self.missing(problem=f"no device was found: the {self.maker} driver knows of none")

    # --- devices ----------------------------------------------------------------------------

    def device(self, number: int) -> int:
        """The handle of a device; a driver without any raises ``missing``."""
        if number >= self.number("cuDeviceGetCount"):
            raise self.nothing()
        return self.number("cuDeviceGet", number)

    def device_names(self) -> list[str]:
        """What the devices are called, in the driver's order. Raises ``missing``."""
        return [self.device_name(self.device(k)) for k in range(self.number("cuDeviceGetCount"))]

    def device_name(self, handle: int) -> str:
        """What its maker calls it."""
        text = ctypes.create_string_buffer(256)
        self.call("cuDeviceGetName", text, len(text), handle)
        return text.value.decode(errors="replace")

    def device_number(self, attribute: int, handle: int) -> int:
        """An attribute by its number in the driver's interface."""
        return self.number("cuDeviceGetAttribute", attribute, handle)

    def device_bytes(self, handle: int) -> int:
        """Its memory."""
        return self.number("cuDeviceTotalMem_v2", handle)

    def version(self) -> int:
        """The version that the driver serves, as a number of its own kind."""
        return self.number("cuDriverGetVersion")

    def use_context(self, context: int) -> None:
        """What the calling thread does next is done there."""
        self.call("cuCtxSetCurrent", ctypes.c_void_p(context))

    def place(self, context: int, number: int) -> Place:
        """The memory of a device, for arrays that others see."""
        kind, stream = self.shared
        return Place(
            (kind, number),
            stream,
            using=lambda: self.using(context),
            new=partial(self.new_memory, context),
            take=self._take,
            wait=lambda one: self.call("cuStreamSynchronize", ctypes.c_void_p(one)),
        )

    @contextmanager
    def using(self, context: int) -> Iterator[None]:
        """The calling thread uses a device."""
        self.use_context(context)
        yield

    def _take(self, memory: Held, address: int, count: int) -> None:
        """Bytes of the device to ours."""
        places = map(ctypes.c_uint64, (address, memory.address, count))
        self.call("cuMemcpyDtoHAsync_v2", *places, None)
        self.call("cuStreamSynchronize", None)

    # --- memory and programs ----------------------------------------------------------------

    def new_memory(self, context: int, count: int) -> Memory:
        """So many bytes. Raises TooLarge."""
        size = max(1, count)
        made = Memory(self.number("cuMemAlloc_v2", ctypes.c_size_t(size)), size)
        self.end_with(made, context, "cuMemFree_v2", made.address)
        return made

    def module_of(self, context: int, code: bytes) -> Module:
        """Machine code, loaded."""
        made = Module(self, self.number("cuModuleLoadData", code))
        self.end_with(made, context, "cuModuleUnload", made.handle)
        return made

    def end_with(self, one: object, context: int, name: str, handle: int) -> None:
        """What ``handle`` stands for is given back with an object of ours; not when all ends."""
        functions = self.function("cuCtxSetCurrent"), self.function(name)
        weakref.finalize(one, _end, *functions, context, handle).atexit = False


@cache
def loaded(driver: Driver) -> ctypes.CDLL:
    """The driver's library, ready to be called. Raises ``missing``."""
    try:
        found = ctypes.CDLL(driver.file)
    except OSError as error:
        problem = f"no device was found, as there is no {driver.maker} driver here ({error})"
        raise driver.missing(problem=problem) from None
    status = getattr(found, driver.names.get("cuInit", "cuInit"))(0)
    if status == NO_DEVICE:
        raise driver.nothing()
    if status:
        said = _text(driver, found, status)
        raise driver.missing(problem=f"the {driver.maker} driver does not start ({said})")
    return found


def _text(driver: Driver, found: ctypes.CDLL, status: int) -> str:
    said, name = ctypes.c_char_p(), "cuGetErrorString"
    getattr(found, driver.names.get(name, name))(status, ctypes.byref(said))
    return (said.value or b"?").decode(errors="replace") + f", status {status}"


def _end(use: Callable[..., int], give_back: Callable[..., int], context: int, handle: int) -> None:
    """Called from any thread, at any time: nobody would hear of a refusal."""
    use(ctypes.c_void_p(context))
    give_back(ctypes.c_void_p(handle))


# --- what a driver gives ----------------------------------------------------------------------


@dataclass(frozen=True, slots=True, weakref_slot=True)
class Memory:
    """Bytes of the device, given back when nobody holds this."""

    address: int
    size: int


@dataclass(frozen=True, slots=True, weakref_slot=True)
class Module:
    """Machine code on the device, as long as somebody holds this."""

    driver: Driver
    handle: int


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
        handle = ctypes.c_void_p(module.handle)
        function = module.driver.number("cuModuleGetFunction", handle, name.encode())
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
    stream: ctypes.c_void_p = field(init=False)
    group: int = GROUP
    shares_memory: bool = False
    recorder: Recorder = field(init=False)

    def __post_init__(self) -> None:
        self.stream = ctypes.c_void_p(self.driver.number("cuStreamCreate", 0))
        self.driver.end_with(self, self.context, "cuStreamDestroy_v2", self.stream.value or 0)
        self.recorder = Recorder(self.driver, self.context, self.stream)

    @property
    def driver(self) -> Driver:
        return self.module.driver

    def new(self, count: int) -> Memory:
        return self.driver.new_memory(self.context, count)

    def view(self, address: int, count: int) -> Memory:
        return Memory(address, count)

    def kernel(self, name: str, count: int, size_bytes: int) -> Kernel:
        return Kernel.of(self.module, name, count, size_bytes)

    def groups(self, total: int, work: int, scratch: int) -> int:
        return groups_of(total, self.group, scratch, MOST_GROUPS)

    def put(self, memory: Memory, address: int, count: int) -> None:
        self._copy("cuMemcpyHtoDAsync_v2", memory.address, address, count)

    def take(self, memory: Memory, address: int, count: int) -> None:
        self._copy("cuMemcpyDtoHAsync_v2", address, memory.address, count)

    def move(self, target: tuple[Memory, int], source: tuple[Memory, int], count: int) -> None:
        to, origin = target[0].address + target[1], source[0].address + source[1]
        self._copy("cuMemcpyDtoDAsync_v2", to, origin, count)

    def _copy(self, name: str, target: int, source: int, count: int) -> None:
        self.driver.call(name, *map(ctypes.c_uint64, (target, source, count)), self.stream)

    def byte(self, memory: Memory, start: int) -> int:
        found = ctypes.c_uint8()
        here, there = ctypes.addressof(found), memory.address + start
        self._copy("cuMemcpyDtoHAsync_v2", here, there, 1)
        self.finish()
        return found.value

    def launch(self, kernel: Kernel, groups: int) -> None:
        shape = (groups, 1, 1, self.group, 1, 1)
        function, arguments = ctypes.c_void_p(kernel.function), kernel.arguments()
        self.driver.call("cuLaunchKernel", function, *shape, 0, self.stream, arguments, None)
        self.recorder.launches += 1

    def run(self, key: Hashable, steps: Callable[[], None]) -> None:
        if key is None:
            steps()
        else:
            self.recorder.run(key, partial(self._within, steps))

    def _within(self, steps: Callable[[], None], stream: ctypes.c_void_p) -> None:
        """Steps in another stream."""
        before, self.stream = self.stream, stream
        try:
            steps()
        finally:
            self.stream = before

    def finish(self) -> None:
        self.driver.call("cuStreamSynchronize", self.stream)
