"""What this machine can do at most: multiplications and additions a second, bytes a second.

Arithmetic: fused multiply-add in float32, dot and tile instructions in bfloat16 and int8, each by a
loop of that one instruction (``ceilings.c``, compiled by photic's own toolchain; tile registers
are asked for from Linux). Memory: passes that read, write and copy arrays of 8 KB to 512 MB, with
ordinary and 2 MB pages, prefetch and streaming stores; sizes are of all threads together, and a
copy counts what it reads and what it writes. On one thread and on two. What the processor lacks is
left out with a reason. The fastest of several turns counts, since other work only slows them.

``bench/kernels.py`` measures the same in its own run, for the share of the ceiling.
"""

from __future__ import annotations

import ctypes
import mmap
import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import common
import numpy as np

from photic.targets.c.facts import Facts, facts
from photic.targets.c.toolchain import build_kernels, load_library

SOURCE = Path(__file__).with_name("ceilings.c")
THREADS = (1, 2)
SAMPLE_SECONDS = 0.02
REPEATS = 7
TRIES = 3  # of each count, till one fills a sample
GIGA = 1e9
KILOBYTE, MEGABYTE = 1 << 10, 1 << 20
SIZES = tuple((8 << 2 * k) * KILOBYTE for k in range(9))  # 8 KB to 512 MB
SHORT_SIZES = tuple(n * KILOBYTE for n in (32, 512, 4096, 32_768, 262_144))
STEP_BYTES = 2048  # what every pass goes over in whole steps, also a copy's half
COUNT, TILES_A_ROUND = 12, 4  # as in ceilings.c
SCRATCH_BYTES = 4096
START = 0.5  # of multiplications that are repeated: nothing grows or becomes subnormal
FLOAT, HALF, BYTE = "float32", "bfloat16", "int8"

Pass = Callable[[int, int, int], None]


# --- what is measured -----------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Unit:
    """An instruction: the function that loops it, and the operations of a round for so many lanes.

    ``needs`` names the fact that the processor must have; nothing for what every one has.
    """

    name: str
    dtype: str
    function: str
    round_flops: Callable[[int], int]
    needs: str = ""


TILE_SIDE = 16
DOT_BYTES = 4  # of each operand, for a lane of the result
TILE_BYTES = 64  # of each operand, for an element of the result


def dot_flops(element_bytes: int, lanes: int) -> int:
    return 2 * COUNT * lanes * (DOT_BYTES // element_bytes)


def tile_flops(element_bytes: int, lanes: int) -> int:
    return 2 * TILES_A_ROUND * TILE_SIDE * TILE_SIDE * (TILE_BYTES // element_bytes)


UNITS = (
    Unit("f32 multiply-add", FLOAT, "rate_fma", lambda lanes: 2 * COUNT * lanes),
    Unit("bf16 dot", HALF, "rate_bf16_dot", partial(dot_flops, 2), "avx512_bf16"),
    Unit("bf16 tile", HALF, "rate_bf16_tile", partial(tile_flops, 2), "amx_bf16"),
    Unit("int8 dot", BYTE, "rate_int8_dot", partial(dot_flops, 1), "vnni"),
    Unit("int8 tile", BYTE, "rate_int8_tile", partial(tile_flops, 1), "amx_int8"),
)


@dataclass(frozen=True, slots=True)
class Way:
    """A way to pass over memory: what it does, its function, whether the pages are large."""

    name: str
    kind: str
    function: str
    is_large: bool


WAYS = (
    Way("read", "read", "pass_read", False),
    Way("read, 2 MB pages", "read", "pass_read", True),
    Way("read ahead, 2 MB pages", "read", "pass_read_ahead", True),
    Way("write", "write", "pass_write", False),
    Way("write around, 2 MB pages", "write", "pass_write_around", True),
    Way("copy", "copy", "pass_copy", False),
    Way("copy around, 2 MB pages", "copy", "pass_copy_around", True),
)


# --- what is found --------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Rate:
    """Operations a second of a unit; zero, with the reason, where it could not run."""

    name: str
    dtype: str
    threads: int
    rate: float
    problem: str = ""


@dataclass(frozen=True, slots=True)
class Bandwidth:
    """Bytes a second of a way, for arrays of so many bytes."""

    name: str
    kind: str
    threads: int
    bytes: int
    rate: float


@dataclass(frozen=True, slots=True)
class Roofs:
    """The ceilings of one run; those that count for a share have the most threads."""

    rates: tuple[Rate, ...]
    bandwidths: tuple[Bandwidth, ...]

    def arithmetic(self, dtype: str) -> float:
        """The most operations a second: of the dtype's best unit, else in float32."""
        known = [one for one in self.rates if one.rate and one.dtype == dtype]
        if not known:
            return self.arithmetic(FLOAT)
        return max(one.rate for one in known if one.threads == max(THREADS))

    def memory(self, kind: str, size: int) -> float:
        """The most bytes a second, between the sizes that were measured."""
        best: dict[int, float] = {}
        for one in self.bandwidths:
            if one.kind == kind and one.threads == max(THREADS):
                best[one.bytes] = max(best.get(one.bytes, 0.0), one.rate)
        sizes = sorted(best)
        logarithms = np.log2(sizes)
        return float(np.interp(np.log2(max(size, 1)), logarithms, [best[n] for n in sizes]))

    def moving(self, read: int, written: int) -> float:
        """The least seconds to read and write: as a copy where both, the rest alone."""
        both, total = min(read, written), read + written
        rest = "read" if read > written else "write"
        return 2 * both / self.memory("copy", total) + (total - 2 * both) / self.memory(rest, total)

    def least(self, dtype: str, flops: int, read: int, written: int) -> tuple[float, str]:
        """The seconds that no program can beat, and which of the two limits it is."""
        arithmetic, memory = flops / self.arithmetic(dtype), self.moving(read, written)
        return (arithmetic, "arithmetic") if arithmetic > memory else (memory, "memory")

    def figures(self) -> list[dict[str, str | int | float]]:
        """A line a unit, and a line a size with a column a way."""
        lines: list[dict[str, str | int | float]] = [
            {
                "what": one.name,
                "threads": one.threads,
                "Gflop/s": one.problem or one.rate / GIGA,
            }
            for one in self.rates
        ]
        sized: dict[tuple[int, int], dict[str, str | int | float]] = {}
        for one in self.bandwidths:
            what = f"{one.bytes / MEGABYTE:g} MB, GB/s"
            line = sized.setdefault(
                (one.threads, one.bytes), {"what": what, "threads": one.threads}
            )
            line[one.name] = one.rate / GIGA
        return [*lines, *sized.values()]


# --- measuring ------------------------------------------------------------------------------


class Probe:
    """The compiled loops, memory of both kinds of pages, and threads to run on."""

    def __init__(self, most_bytes: int) -> None:
        self.facts: Facts = facts()  # asks Linux for the tile registers
        self.loops = load_library(build_kernels(SOURCE.read_text(encoding="utf-8")))
        self.lanes = int(self.loops.lanes())
        self.memory = {large: _touched(most_bytes, large) for large in (False, True)}
        self.threads = ThreadPoolExecutor(max(THREADS))

    def function(self, name: str, arguments: int) -> Callable[..., None]:
        """A compiled loop; the first of its arguments says how often."""
        found = getattr(self.loops, name)
        found.restype, found.argtypes = None, [ctypes.c_int64, *[ctypes.c_void_p] * arguments]
        return found  # type: ignore[no-any-return]

    def together(self, calls: Sequence[Callable[[], None]]) -> None:
        """All calls at once, each on a thread of its own."""
        for one in [self.threads.submit(call) for call in calls]:
            one.result()

    def close(self) -> None:
        """The memory is given back."""
        self.threads.shutdown()


def _touched(size: int, is_large: bool) -> np.ndarray:
    """Memory with every page present."""
    memory = mmap.mmap(-1, size)
    advice = "MADV_HUGEPAGE" if is_large else "MADV_NOHUGEPAGE"
    with suppress(OSError, AttributeError):  # a system without large pages
        memory.madvise(getattr(mmap, advice))
    array = np.frombuffer(memory, np.uint8)
    array[...] = 1
    return array


def _counted(run: Callable[[int], None]) -> tuple[Callable[[], None], int]:
    """The loop with a count that fills a sample, also where other work interrupts some tries."""
    count = 1
    while True:
        seconds = min(_seconds(run, count) for _ in range(TRIES))
        if seconds >= SAMPLE_SECONDS:
            return partial(run, count), count
        count = max(2 * count, round(count * SAMPLE_SECONDS / seconds))


def _seconds(run: Callable[[int], None], count: int) -> float:
    start = time.perf_counter()
    run(count)
    return time.perf_counter() - start


def _rates(probe: Probe, threads: int, repeats: int) -> Iterable[Rate]:
    """Every unit on so many threads."""
    scratch = [_touched(SCRATCH_BYTES, False) for _ in range(threads)]
    for one in scratch:
        one.view(np.float32)[...] = START
    calls: dict[str, Callable[[], None]] = {}
    counts: dict[str, int] = {}
    for unit in UNITS:
        if unit.needs and not getattr(probe.facts, unit.needs):
            continue
        function = probe.function(unit.function, 1)

        def run(count: int, function: Callable[..., None] = function) -> None:
            probe.together([partial(function, count, one.ctypes.data) for one in scratch])

        calls[unit.name], counts[unit.name] = _counted(run)
    timings = common.race(calls, repeats=repeats, calls_per_sample=1)
    for unit in UNITS:
        if unit.name not in calls:
            problem = f"this processor, or Linux, does not offer {unit.needs}"
            yield Rate(unit.name, unit.dtype, threads, 0.0, problem)
            continue
        flops = unit.round_flops(probe.lanes) * counts[unit.name] * threads
        yield Rate(unit.name, unit.dtype, threads, flops / timings[unit.name].minimum)


def _bandwidths(probe: Probe, threads: int, size: int, repeats: int) -> Iterable[Bandwidth]:
    """Every way over memory of so many bytes."""
    each = size // threads // (2 * STEP_BYTES) * 2 * STEP_BYTES or STEP_BYTES
    calls: dict[str, Callable[[], None]] = {}
    counts: dict[str, int] = {}
    for way in WAYS:
        function = probe.function(way.function, 2)
        start = probe.memory[way.is_large].ctypes.data
        places = [start + number * each for number in range(threads)]

        def run(
            count: int, function: Callable[..., None] = function, places: list[int] = places
        ) -> None:
            probe.together([partial(function, count, place, each) for place in places])

        calls[way.name], counts[way.name] = _counted(run)
    timings = common.race(calls, repeats=repeats, calls_per_sample=1)
    for way in WAYS:
        moved = counts[way.name] * each * threads
        rate = moved / timings[way.name].minimum
        yield Bandwidth(way.name, way.kind, threads, size, rate)


def measured(
    sizes: Sequence[int] = SHORT_SIZES,
    thread_counts: Sequence[int] = THREADS[-1:],
    repeats: int = REPEATS,
) -> Roofs:
    """The ceilings of this machine; as little as ``bench/kernels.py`` needs, unless told."""
    probe = Probe(max(sizes))
    rates = [one for count in thread_counts for one in _rates(probe, count, repeats)]
    bandwidths = [
        one
        for count in thread_counts
        for size in sizes
        for one in _bandwidths(probe, count, size, repeats)
    ]
    probe.close()
    return Roofs(tuple(rates), tuple(bandwidths))


def main() -> None:
    parser = common.parser(__doc__ or "")
    parser.set_defaults(repeats=REPEATS)
    options = parser.parse_args()
    roofs = measured(SIZES, THREADS, options.repeats)
    common.report(roofs.figures(), options.json)


if __name__ == "__main__":
    main()
