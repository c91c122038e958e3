"""A queue of the OpenCL device, as sessions use it: kernels, buffers, copies, launches."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from photic.targets.arrays import memory_at
from photic.targets.opencl.facts import Facts, Opened

SMALL_WORK = 100_000  # operations; less than this is left to one work-item of a processor
ROUNDS = 32  # groups for each compute unit, where a work-item runs several items


@dataclass(frozen=True, slots=True)
class Kernel:
    """A kernel object of its own; each buffer is two arguments, memory and where in it to begin."""

    kernel: Any
    count: int

    def give(self, number: int, memory: Any, start: int) -> None:
        self.kernel.set_arg(2 * number, memory)
        self.kernel.set_arg(2 * number + 1, np.uint64(start))

    def size(self, sizes: bytes, scratch: Any, total: int, each: int) -> None:
        last = (sizes, scratch, np.int64(total), np.int64(each))
        for number, value in enumerate(last, 2 * self.count):
            self.kernel.set_arg(number, value)


@dataclass(slots=True)
class Queue:
    """A program's launches in order."""

    opened: Opened
    program: Any
    queue: Any = field(init=False)

    def __post_init__(self) -> None:
        self.queue = self.opened.cl.CommandQueue(self.opened.context)

    @property
    def facts(self) -> Facts:
        return self.opened.facts

    @property
    def shares_memory(self) -> bool:
        return self.facts.shares_memory

    @property
    def group(self) -> int:
        return self.facts.group

    def new(self, count: int) -> Any:
        cl = self.opened.cl
        return cl.Buffer(self.opened.context, cl.mem_flags.READ_WRITE, max(1, count))

    def view(self, address: int, count: int) -> Any:
        cl = self.opened.cl
        flags = cl.mem_flags.READ_WRITE | cl.mem_flags.USE_HOST_PTR
        return cl.Buffer(self.opened.context, flags, hostbuf=memory_at(address, count))

    def kernel(self, name: str, count: int, size_bytes: int) -> Kernel:
        return Kernel(self.opened.cl.Kernel(self.program, name), count)

    def groups(self, total: int, work: int, scratch: int) -> int:
        groups, is_processor = -(-total // self.group), self.facts.kind == "cpu"
        if is_processor and work < SMALL_WORK:
            return min(groups, 1)
        return min(groups, self.facts.units * ROUNDS) if is_processor or scratch else groups

    def put(self, memory: Any, address: int, count: int) -> None:
        self.opened.cl.enqueue_copy(self.queue, memory, memory_at(address, count))

    def take(self, memory: Any, address: int, count: int) -> None:
        cl = self.opened.cl
        if self.shares_memory:
            shape, flags = (count,), cl.map_flags.READ
            array, _ = cl.enqueue_map_buffer(self.queue, memory, flags, 0, shape, np.uint8)
            array.base.release(self.queue)
        else:
            cl.enqueue_copy(self.queue, memory_at(address, count), memory)

    def move(self, target: tuple[Any, int], source: tuple[Any, int], count: int) -> None:
        (to, start), (origin, first) = target, source
        starts = {"dst_offset": start, "src_offset": first, "byte_count": count}
        self.opened.cl.enqueue_copy(self.queue, to, origin, **starts)

    def byte(self, memory: Any, start: int) -> int:
        found = np.empty(1, np.uint8)
        self.opened.cl.enqueue_copy(self.queue, found, memory, src_offset=start)
        return int(found[0])

    def launch(self, kernel: Kernel, groups: int) -> None:
        shape, inside = (groups * self.group,), (self.group,)
        self.opened.cl.enqueue_nd_range_kernel(self.queue, kernel.kernel, shape, inside)

    def run(self, key: Hashable, steps: Callable[[], None]) -> None:
        steps()

    def finish(self) -> None:
        self.queue.finish()
