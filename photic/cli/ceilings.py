"""What the processor reaches at most, measured in a moment: float32 arithmetic, reading by level.

Loops of one instruction (``ceilings.c``) run several times, by the threads' own clocks; the fastest
counts, since other work on the machine only slows them. What each core has for itself is measured
on one and multiplied, what they share on all at once. Levels are the caches and memory, each named
with what it holds for all cores together. For the processor, whatever target is asked about.
"""

from __future__ import annotations

import ctypes
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache
from pathlib import Path

import numpy as np

from photic.cli.roofs import FLOAT_BYTES, FUSED, Level, Roofs
from photic.targets.c.facts import Facts, facts
from photic.targets.c.toolchain import build_kernels, load_library

SOURCE = Path(__file__).with_name("ceilings.c")
SAMPLE_SECONDS, SAMPLES = 0.002, 12
WARM_SAMPLES = 2  # of each number of rounds, till one is found that takes so long
CHAINS = 12  # multiply-adds of a round, as in ceilings.c
STEP_VECTORS = 8  # of a pass, as in ceilings.c
MOST_BYTES = 256 << 20  # of memory that is read: more takes long to get
LEAST_BYTES = 64 << 20
PARTS = 2  # of a cache, one is filled: its lines have other uses too
OWN = frozenset({"L1", "L2"})  # levels that each core has for itself
START = 0.5  # of multiplications that are repeated: nothing grows or becomes subnormal
ALIGNMENT = 64
BITS = 8

Loop = Callable[[int, int], None]
"""So many rounds, on the core of this number."""


@lru_cache(maxsize=1)
def measured_roofs() -> Roofs:
    """The roofs of this machine. Raises CompilerMissing and what building a kernel raises."""
    known = facts()
    head = f"#define BYTES {known.vector_bits // BITS}\n"
    head += "#define FUSED\n" if known.fma else ""
    library = load_library(build_kernels(head + SOURCE.read_text(encoding="utf-8")))
    memory = _memory(_sizes(known)[-1][2])
    with ThreadPoolExecutor(known.cores) as threads:
        lanes = known.vector_bits // BITS // FLOAT_BYTES
        rounds = _rounds_a_second(threads, 1, _arithmetic(library, known))
        levels = tuple(_levels(threads, library, known, memory))
    return Roofs(rounds * known.cores * CHAINS * lanes * FUSED, levels, True)


def _levels(
    threads: ThreadPoolExecutor, library: ctypes.CDLL, known: Facts, memory: np.ndarray
) -> Iterator[Level]:
    step = STEP_VECTORS * known.vector_bits // BITS
    for name, size, used in _sizes(known):
        cores = 1 if name in OWN else known.cores
        each = max(step, used // known.cores // step * step)
        loop = _reading(library, known, memory, each)
        rate = _rounds_a_second(threads, cores, loop) * known.cores * each
        yield Level(name, size, rate)


def _sizes(known: Facts) -> list[tuple[str, float, int]]:
    """Levels by name, with the bytes that they hold and those to read."""
    caches = [
        ("L1", known.l1d_bytes * known.cores),
        ("L2", known.l2_bytes * known.cores),
        ("L3", known.l3_bytes),
    ]
    found: list[tuple[str, float, int]] = [
        (name, size, size // PARTS) for name, size in caches if size // PARTS < MOST_BYTES // PARTS
    ]
    largest = max(size for _, size in caches)
    return [*found, ("memory", np.inf, min(MOST_BYTES, max(LEAST_BYTES, PARTS * largest)))]


def _memory(size: int) -> np.ndarray:
    """Numbers at the start of a cache line."""
    whole = np.full(size // FLOAT_BYTES + ALIGNMENT, START, np.float32)
    return whole[-whole.ctypes.data % ALIGNMENT // FLOAT_BYTES :]


def _arithmetic(library: ctypes.CDLL, known: Facts) -> Loop:
    places = [_memory(known.vector_bits) for _ in range(known.cores)]
    function = library.arithmetic
    function.restype, function.argtypes = None, [ctypes.c_longlong, ctypes.c_void_p]
    return lambda rounds, core: function(rounds, places[core].ctypes.data)


def _reading(library: ctypes.CDLL, known: Facts, memory: np.ndarray, each: int) -> Loop:
    results = [_memory(known.vector_bits) for _ in range(known.cores)]
    vectors, start = each // (known.vector_bits // BITS), memory.ctypes.data
    function = library.reading
    pointer, integer = ctypes.c_void_p, ctypes.c_longlong
    function.restype, function.argtypes = None, [integer, pointer, integer, pointer]

    def loop(rounds: int, core: int) -> None:
        function(rounds, start + core * each, vectors, results[core].ctypes.data)

    return loop


def _rounds_a_second(threads: ThreadPoolExecutor, cores: int, loop: Loop) -> float:
    """The most rounds a second of one core, while all are at it."""
    rounds = 1
    while _least(threads, cores, loop, rounds, WARM_SAMPLES) < SAMPLE_SECONDS:
        rounds = 2 * rounds
    return rounds / _least(threads, cores, loop, rounds, SAMPLES)


def _least(threads: ThreadPoolExecutor, cores: int, loop: Loop, rounds: int, samples: int) -> float:
    return min(_seconds(threads, cores, loop, rounds) for _ in range(samples))


def _seconds(threads: ThreadPoolExecutor, cores: int, loop: Loop, rounds: int) -> float:
    """The time of the slowest core, less the time in which it was given to other processes."""

    def timed(core: int) -> float:
        start = time.thread_time()
        loop(rounds, core)
        return time.thread_time() - start

    return max(threads.map(timed, range(cores)))
