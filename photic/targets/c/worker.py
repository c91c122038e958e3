"""The c target's worker: builds trials, times them on noise and runs them between guards.

Every buffer lies between a page that may not be touched and guard words: what is written beside it
changes a guard word or ends the process. Buffers of one slot are shared by the trials that agree
about it, so that a race does not depend on where data lie. A sample is one loop in C; before
several calls there is one that does not count. For ``photic.targets.process``, in its process.
"""

from __future__ import annotations

import _ctypes
import ctypes
import mmap
import time
import weakref
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from photic.targets.c.facts import tiles_granted
from photic.targets.c.pool import pool
from photic.targets.c.toolchain import load_together
from photic.targets.errors import CompileFailed, LoadRefused
from photic.targets.measure import OutOfBounds, Slot, Trial
from photic.targets.process import Array, noise, with_zeros

PAGE = mmap.PAGESIZE
MARGIN = 512  # bytes of guard words at the open side of a buffer; eight vectors
LINE = 64  # bytes; what the runtime aligns arenas to
GUARD = 0xA5
NOTHING = 0xC7  # what arenas and scratch hold before a run

# The loop calls as the runtime does: through a pointer of which the compiler knows nothing.
UNIT = """\
#define photic_entry photic_entry_{number}
{text}
void photic_repeat_{number}(long long calls, void *buffers, void *sizes, void *arena,
                            void *scratch, void *pool) {{
  void (*volatile entry)() = (void (*)())photic_entry;
  while (calls-- > 0) entry(buffers, sizes, arena, scratch, pool);
}}
"""


@dataclass(frozen=True, slots=True)
class Guarded:
    """``count`` bytes that end at a page which may not be touched, or begin after one."""

    whole: Array
    bytes: Array
    margin: Array

    @classmethod
    def of(cls, count: int, *, at_end: bool) -> Guarded:
        """New memory. Raises MemoryError."""
        inner = -(-(count + MARGIN) // PAGE) * PAGE
        flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS  # as malloc does: huge pages are allowed
        try:
            pages = mmap.mmap(-1, inner + PAGE, flags=flags)
        except (OSError, OverflowError) as error:
            raise MemoryError(str(error)) from error
        whole = np.frombuffer(pages, np.uint8)
        closed = whole.ctypes.data + (inner if at_end else 0)
        if _libc.mprotect(ctypes.c_void_p(closed), ctypes.c_size_t(PAGE), 0):
            raise MemoryError("mprotect")
        if at_end:
            made = cls(whole, whole[inner - count : inner], whole[: inner - count])
        else:
            made = cls(whole, whole[PAGE : PAGE + count], whole[PAGE + count :])
        made.margin[:] = GUARD
        return made

    @property
    def address(self) -> int:
        """Where the bytes begin."""
        return int(self.bytes.ctypes.data)

    @property
    def is_intact(self) -> bool:
        """False if a guard word changed."""
        return bool((self.margin == GUARD).all())


_libc = ctypes.CDLL(None)


_REPEAT = ctypes.CFUNCTYPE(None, ctypes.c_longlong, *[ctypes.c_void_p] * 5)


@dataclass(frozen=True, slots=True)
class Loaded:
    """A trial's loop and the library that it is in, which is closed when no trial holds it."""

    library: ctypes.CDLL
    repeat: Callable[..., None]


@dataclass(frozen=True, slots=True)
class Ready:
    """A trial's loop with the memory for one call: slots by number, then arena and scratch."""

    repeat: Callable[..., None]
    slots: Mapping[int, Guarded]
    arena: Guarded
    scratch: Guarded
    sizes: Sequence[int]

    def seconds(self, calls: int) -> float:
        """Call; the time that it took."""
        table = (ctypes.c_void_p * max(1, len(self.slots)))()
        for number, one in self.slots.items():
            table[number] = one.address
        sizes = (ctypes.c_int64 * max(1, len(self.sizes)))(*self.sizes)
        rest = (self.arena.address, self.scratch.address, pool().pointer)
        arguments = (calls, ctypes.addressof(table), ctypes.addressof(sizes), *rest)
        start = time.perf_counter()
        self.repeat(*arguments)
        return time.perf_counter() - start

    def fault(self) -> OutOfBounds | None:
        """Where it was written outside, if anywhere."""
        places = {f"slot {number}": one for number, one in self.slots.items()}
        places |= {"arena": self.arena, "scratch": self.scratch}
        return next((OutOfBounds(name) for name, one in places.items() if not one.is_intact), None)


Shared = dict[tuple[int, Slot], tuple[Guarded, Array]]


def filled(shared: Shared, number: int, slot: Slot) -> Guarded:
    """A slot's buffer; if it is kept, as it was before the first call."""
    if (number, slot) not in shared:
        data = noise(slot, np.random.default_rng(number)).view(np.uint8)
        made = Guarded.of(data.size, at_end=False)
        made.bytes[:] = data
        shared[number, slot] = made, data if slot.kept else data[:0]
    found, first = shared[number, slot]
    found.bytes[: first.size] = first
    return found


def still_shared(shared: Shared, trials: Sequence[Trial]) -> Shared:
    """The buffers that some trials share."""
    wanted = {pair for one in trials for pair in enumerate(one.slots)}
    return {pair: one for pair, one in shared.items() if pair in wanted}


@dataclass(slots=True)
class Worker:
    """Texts that are loaded, and the buffers that trials share, with what is in them at first."""

    loaded: dict[str, Loaded] = field(default_factory=dict)
    shared: Shared = field(default_factory=dict)
    spaces: dict[tuple[str, int], Guarded] = field(default_factory=dict)

    def build(self, trials: Sequence[Trial]) -> list[str]:
        """Compile the new texts: in one call of the compiler, if nothing is wrong with any."""
        self.shared = still_shared(self.shared, trials)
        self.spaces.clear()
        wanted = dict.fromkeys(one.text for one in trials)
        self.loaded = {one: self.loaded[one] for one in wanted if one in self.loaded}
        new = [one for one in wanted if one not in self.loaded]
        problem = self.load(new) if new else ""
        problems = dict.fromkeys(new, problem)
        if problem and len(new) > 1:
            problems = {one: self.load([one]) for one in new}
        return [problems.get(one.text, "") for one in trials]

    def load(self, texts: Sequence[str]) -> str:
        """Load all of these, or say why not."""
        tiles_granted()
        units = [UNIT.format(number=n, text=one) for n, one in enumerate(texts)]
        try:
            library = load_together(units)
        except (CompileFailed, LoadRefused) as error:
            return str(error)
        weakref.finalize(library, _ctypes.dlclose, library._handle)
        for number, one in enumerate(texts):
            # not library[name]: that function would hold itself, and so the library, for long
            address = _ctypes.dlsym(library._handle, f"photic_repeat_{number}")
            self.loaded[one] = Loaded(library, _REPEAT(address))
        return ""

    def sample(self, trial: Trial, calls: int, series: int) -> float | OutOfBounds:
        """The seconds of ``calls`` calls in a row: the least of so many series."""
        seconds = []
        for _ in range(series):
            ready = self.at_noise(trial)
            if calls > 1:
                ready.seconds(1)
            seconds.append(ready.seconds(calls))
        fault = ready.fault()
        if fault:  # nobody else may be blamed for it
            self.shared.clear()
            self.spaces.clear()
        return fault or min(seconds)

    def at_noise(self, trial: Trial) -> Ready:
        """A call on the shared buffers, all as they were before the first call."""
        slots = {number: filled(self.shared, number, one) for number, one in enumerate(trial.slots)}
        for space in _spaces(trial):
            if space not in self.spaces:
                self.spaces[space] = _noisy(space[1])
        arena, scratch = (self.spaces[space] for space in _spaces(trial))
        return Ready(self.loaded[trial.text].repeat, slots, arena, scratch, trial.sizes)

    def run(
        self,
        trial: Trial,
        buffers: Mapping[int, Array],
        sizes: Sequence[int],
        wanted: Sequence[int],
    ) -> dict[int, Array] | OutOfBounds:
        """As ``Remote.run``."""
        slots, every = {}, with_zeros(trial, buffers)
        for number, array in every.items():
            slots[number] = Guarded.of(array.nbytes, at_end=True)
            slots[number].bytes[:] = np.frombuffer(array.tobytes(), np.uint8)
        arena, scratch = (_noisy(count) for _, count in _spaces(trial))
        ready = Ready(self.loaded[trial.text].repeat, slots, arena, scratch, sizes)
        ready.seconds(1)
        found = {
            number: one.bytes.view(every[number].dtype).reshape(every[number].shape)
            for number, one in slots.items()
        }
        changed = [n for n in buffers if n not in wanted and not _same(found[n], buffers[n])]
        if changed:
            return OutOfBounds(f"slot {changed[0]}, which it may only read")
        return ready.fault() or {number: np.array(found[number]) for number in wanted}


def _spaces(trial: Trial) -> tuple[tuple[str, int], tuple[str, int]]:
    """Bytes of the arena and of all threads' scratch, in whole cache lines."""
    arena, scratch = trial.arena_bytes, trial.scratch_bytes * pool().threads
    return ("arena", -(-arena // LINE) * LINE), ("scratch", -(-scratch // LINE) * LINE)


def _noisy(count: int) -> Guarded:
    """Whole cache lines between guards."""
    made = Guarded.of(-(-count // LINE) * LINE, at_end=True)
    made.bytes[:] = NOTHING
    return made


def _same(one: Array, other: Array) -> bool:
    return one.tobytes() == other.tobytes()
