"""A program's launches as a graph of the driver: recorded from a stream, then started at once.

What is recorded holds addresses and sizes. ``Recorder`` is told by a key what they are: at a key's
first call all is launched one by one, at its second it is recorded, and from then on the graph is
started. When another key comes twice, the graph is updated to what is launched then, which takes
less than a new one. Not recorded: a step that waits for the device, one launch, very many.

It is recorded from a stream that waits for no other: while one that waits for the default stream
is recorded, the driver refuses whatever anybody does in that.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from photic.targets.driver import Driver

NON_BLOCKING = 1  # CU_STREAM_NON_BLOCKING
THREAD_LOCAL = 1  # CUstreamCaptureMode: other threads may do what they like meanwhile
MOST_LAUNCHES = 10_000  # of a graph, whose nodes take memory

Steps: TypeAlias = Callable[[ctypes.c_void_p], None]
"""What is done in a stream."""


@dataclass(frozen=True, slots=True, weakref_slot=True)
class Graph:
    """What can be started, as long as somebody holds this."""

    handle: int


@dataclass(slots=True, weakref_slot=True)
class Recorder:
    """The graph of a stream, and of what it is. ``recording`` is made with the first graph."""

    driver: Driver
    context: int
    stream: ctypes.c_void_p
    graph: Graph | None = None
    key: Hashable = None
    last: Hashable = None
    launches: int = 0
    recording: ctypes.c_void_p | None = None

    def run(self, key: Hashable, steps: Steps) -> None:
        """Have the stream do the steps; what they launch depends on the key alone."""
        if self.graph is not None and key == self.key:
            self._start(self.graph)
            return
        is_known, self.last = key == self.last, key
        if is_known and 1 < self.launches <= MOST_LAUNCHES:
            self.graph, self.key = self._recorded(steps), key
            self._start(self.graph)
            return
        self.launches = 0
        steps(self.stream)

    def _start(self, graph: Graph) -> None:
        self.driver.call("cuGraphLaunch", ctypes.c_void_p(graph.handle), self.stream)

    def _recorded(self, steps: Steps) -> Graph:
        """The graph of the steps: the one that there is, updated, or a new one."""
        found, stream = ctypes.c_void_p(), self.recording or self._stream()
        self.driver.call("cuStreamBeginCapture_v2", stream, THREAD_LOCAL)
        try:
            steps(stream)
        finally:
            self.driver.call("cuStreamEndCapture", stream, ctypes.byref(found))
        try:
            return self._updated(found) or self._new(found)
        finally:
            self.driver.call("cuGraphDestroy", found)

    def _stream(self) -> ctypes.c_void_p:
        made = self.driver.number("cuStreamCreate", NON_BLOCKING)
        self.driver.end_with(self, self.context, "cuStreamDestroy_v2", made)
        self.recording = ctypes.c_void_p(made)
        return self.recording

    def _updated(self, found: ctypes.c_void_p) -> Graph | None:
        """The graph that there is, if it has the same launches of other things."""
        if self.graph is None:
            return None
        update = self.driver.function("cuGraphExecUpdate")
        node, result = ctypes.c_void_p(), ctypes.c_int()
        places = ctypes.byref(node), ctypes.byref(result)
        status = update(ctypes.c_void_p(self.graph.handle), found, *places)
        return None if status else self.graph

    def _new(self, found: ctypes.c_void_p) -> Graph:
        made = Graph(self.driver.number("cuGraphInstantiateWithFlags", found, ctypes.c_uint64(0)))
        self.driver.end_with(made, self.context, "cuGraphExecDestroy", made.handle)
        return made
