"""A queue of the Metal device, as sessions use it: kernels, buffers, copies, launches.

Launches are encoded into one command buffer, which is committed when somebody waits: at a copy, at
a choice by a byte, at the end. Buffers are shared with the device, so that copies are ours.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from typing import Any

from photic.targets.arrays import memory_at
from photic.targets.errors import TooLarge
from photic.targets.launches import groups_of
from photic.targets.metal.errors import MetalFailed
from photic.targets.metal.facts import Opened

GROUP = 64  # work-items of a threadgroup: two SIMD groups
MOST_GROUPS = 2**25  # work-items are counted in 32 bits
SHARED = 0  # MTLResourceStorageModeShared


@dataclass(frozen=True, slots=True)
class Memory:
    """A buffer of the device."""

    buffer: Any
    size: int

    def bytes(self, start: int, count: int) -> memoryview:
        """Its bytes as ours."""
        found: memoryview = self.buffer.contents().as_buffer(self.size)[start : start + count]
        return found


@dataclass(slots=True)
class Kernel:
    """A pipeline and its arguments: buffers with where to begin, sizes, scratch, counts."""

    pipeline: Any
    buffers: list[tuple[Memory, int] | None]
    sizes: bytes = b""
    scratch: Memory | None = None
    counts: bytes = b""

    def give(self, number: int, memory: Memory, start: int) -> None:
        self.buffers[number] = memory, start

    def size(self, sizes: bytes, scratch: Memory, total: int, each: int) -> None:
        self.sizes, self.scratch, self.counts = sizes, scratch, struct.pack("<qq", total, each)


@dataclass(slots=True)
class Queue:
    """A program's launches in order."""

    opened: Opened
    functions: Any  # an MTLLibrary
    queue: Any = field(init=False)
    commands: Any = None
    encoder: Any = None
    shares_memory: bool = False  # ours is not the device's: only what it made itself
    group: int = GROUP

    def __post_init__(self) -> None:
        self.queue = self.opened.device.newCommandQueue()

    def new(self, count: int) -> Memory:
        size = max(1, count)
        made = self.opened.device.newBufferWithLength_options_(size, SHARED)
        if made is None:
            limit = f"{self.opened.facts.buffer_bytes}, of what is left"
            raise TooLarge(what="a buffer on the device", given=size, expected=limit)
        return Memory(made, size)

    def view(self, address: int, count: int) -> Memory:
        raise AssertionError("the device does not use our memory")

    def kernel(self, name: str, count: int, size_bytes: int) -> Kernel:
        function = self.functions.newFunctionWithName_(name)
        device = self.opened.device
        pipeline, error = device.newComputePipelineStateWithFunction_error_(function, None)
        if pipeline is None:
            raise MetalFailed(device=self.opened.facts.device, problem=str(error))
        return Kernel(pipeline, [None] * count)

    def groups(self, total: int, work: int, scratch: int) -> int:
        return groups_of(total, GROUP, scratch, MOST_GROUPS)

    def put(self, memory: Memory, address: int, count: int) -> None:
        self.finish()
        memory.bytes(0, count)[:] = memory_at(address, count).data

    def take(self, memory: Memory, address: int, count: int) -> None:
        self.finish()
        memory_at(address, count).data[:] = memory.bytes(0, count)

    def move(self, target: tuple[Memory, int], source: tuple[Memory, int], count: int) -> None:
        self.finish()
        target[0].bytes(target[1], count)[:] = bytes(source[0].bytes(source[1], count))

    def byte(self, memory: Memory, start: int) -> int:
        self.finish()
        return memory.bytes(start, 1)[0]

    def launch(self, kernel: Kernel, groups: int) -> None:
        if self.encoder is None:
            self.commands = self.queue.commandBuffer()
            self.encoder = self.commands.computeCommandEncoder()
        encoder, count = self.encoder, len(kernel.buffers)
        encoder.setComputePipelineState_(kernel.pipeline)
        every = [*kernel.buffers, (kernel.scratch, 0)]
        places = [*range(count), count + 1]
        for place, given in zip(places, every, strict=True):
            assert given is not None and given[0] is not None
            encoder.setBuffer_offset_atIndex_(given[0].buffer, given[1], place)
        encoder.setBytes_length_atIndex_(kernel.sizes, len(kernel.sizes), count)
        encoder.setBytes_length_atIndex_(kernel.counts, len(kernel.counts), count + 2)
        size = self.opened.metal.MTLSizeMake
        encoder.dispatchThreadgroups_threadsPerThreadgroup_(size(groups, 1, 1), size(GROUP, 1, 1))

    def run(self, key: Hashable, steps: Callable[[], None]) -> None:
        steps()

    def finish(self) -> None:
        if self.encoder is None:
            return
        commands, encoder = self.commands, self.encoder
        self.commands = self.encoder = None
        encoder.endEncoding()
        commands.commit()
        commands.waitUntilCompleted()
        if (error := commands.error()) is not None:
            raise MetalFailed(device=self.opened.facts.device, problem=str(error))
