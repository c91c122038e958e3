"""The thread pool: every item once, right under many callers and forks, asleep when idle."""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest

from photic.base.errors import BadArgument
from photic.targets.c import pool as module
from photic.targets.c.facts import usable_cores
from photic.targets.c.pool import Pool, pool, set_threads
from photic.targets.c.toolchain import build_kernels, load_library

HANG_SECONDS = 50.0
SCRATCH_BYTES = 256  # one thread's, a power of two and whole cache lines
GUARD = 0x5A

INTERFACE = """
typedef long long int64_t;
typedef void (*photic_kernel)(void *const *, const int64_t *, char *, int64_t, int64_t);
struct photic_pool {
  void (*parallel)(struct photic_pool *, photic_kernel, void *const *, const int64_t *, char *,
                   int64_t, int64_t);
  int64_t threads;
};
"""

KERNELS = (
    INTERFACE
    + """
/* buffers: int counts[total]; int owner[total]; scratch. Counts each item, writes who did it. */
static void count(void *const *buffers, const int64_t *sizes, char *scratch, int64_t begin,
                  int64_t end) {
  int *counts = buffers[0], *owner = buffers[1];
  int mine = (int)((scratch - (char *)buffers[2]) / sizes[0]);
  for (int64_t i = begin; i < end; i++) {
    for (int64_t b = 0; b < sizes[0]; b++) scratch[b] = (char)i;
    for (int64_t spin = 0; spin < sizes[1]; spin++) __asm__ volatile("");
    for (int64_t b = 0; b < sizes[0]; b++) if (scratch[b] != (char)i) counts[i] = -1000;
    counts[i]++;
    owner[i] = mine;
  }
}
void run_count(struct photic_pool *pool, void *const *buffers, const int64_t *sizes, int64_t total,
               int64_t times) {
  for (int64_t t = 0; t < times; t++)
    pool->parallel(pool, count, buffers, sizes, buffers[2], sizes[0], total);
}

/* Item 0 does not end before all others have: others must take the rest of its thread's share. */
static void wait_for_rest(void *const *buffers, const int64_t *sizes, char *scratch, int64_t begin,
                          int64_t end) {
  int *done = buffers[0];
  for (int64_t i = begin; i < end; i++) {
    if (i == 0)
      for (int64_t spin = 0; spin < 10000000000 && __atomic_load_n(done, 5) < sizes[0] - 1; spin++)
        __asm__ volatile("");
    __atomic_fetch_add(done, 1, 5);
  }
}
void run_wait(struct photic_pool *pool, void *const *buffers, const int64_t *sizes) {
  pool->parallel(pool, wait_for_rest, buffers, sizes, 0, 0, sizes[0]);
}

/* A kernel that calls parallel itself. */
static void inner(void *const *buffers, const int64_t *sizes, char *scratch, int64_t begin,
                  int64_t end) {
  __atomic_fetch_add((int64_t *)buffers[1], end - begin, 5);
}
static void outer(void *const *buffers, const int64_t *sizes, char *scratch, int64_t begin,
                  int64_t end) {
  struct photic_pool *pool = buffers[0];
  for (int64_t i = begin; i < end; i++)
    pool->parallel(pool, inner, buffers, sizes, 0, 0, sizes[0]);
}
void run_nested(struct photic_pool *pool, void *const *buffers, const int64_t *sizes,
                int64_t total) {
  pool->parallel(pool, outer, buffers, sizes, 0, 0, total);
}

/* Halves every value; in a mode that flushes subnormals, tiny ones would become 0. */
static void halve(void *const *buffers, const int64_t *sizes, char *scratch, int64_t begin,
                  int64_t end) {
  volatile float *values = buffers[0];
  for (int64_t i = begin; i < end; i++) {
    for (int64_t spin = 0; spin < 100000; spin++) __asm__ volatile("");
    values[i] = values[i] * 0.5f;
  }
}
#if defined(__x86_64__)
unsigned mode(void) { return __builtin_ia32_stmxcsr(); }
void set_mode(unsigned mode) { __builtin_ia32_ldmxcsr(mode); }
unsigned halve_flushing(struct photic_pool *pool, void *const *buffers, int64_t total) {
  unsigned before = mode();
  set_mode(before | 0x8040);
  pool->parallel(pool, halve, buffers, 0, 0, 0, total);
  unsigned after = mode();
  set_mode(before);
  return (after & 0x8040) == 0x8040;
}
#endif
"""
)


@pytest.fixture(autouse=True)
def pools() -> Iterator[None]:
    """Leave the current pool as it was."""
    before = pool()
    yield
    set_threads(before.threads)


@cache
def kernels() -> ctypes.CDLL:
    library = load_library(build_kernels(KERNELS))
    pointer, number = ctypes.c_void_p, ctypes.c_int64
    library.run_count.argtypes = (pointer, pointer, pointer, number, number)
    library.run_wait.argtypes = (pointer, pointer, pointer)
    library.run_nested.argtypes = (pointer, pointer, pointer, number)
    return library


Ints = npt.NDArray[np.int32]


def count(one: Pool, total: int, *, spins: int = 0, times: int = 1) -> tuple[Ints, Ints]:
    """How often each item was done, and by which thread last; checks the scratch's borders."""
    counts, owner = np.zeros(total + 1, np.int32), np.full(total + 1, -1, np.int32)
    scratch = np.full(SCRATCH_BYTES * (one.threads + 2), GUARD, np.uint8)
    start = scratch.ctypes.data + SCRATCH_BYTES
    buffers = (ctypes.c_void_p * 3)(counts.ctypes.data, owner.ctypes.data, start)
    sizes = (ctypes.c_int64 * 2)(SCRATCH_BYTES, spins)
    kernels().run_count(one.pointer, buffers, sizes, total, times)
    assert (scratch[:SCRATCH_BYTES] == GUARD).all()
    assert (scratch[-SCRATCH_BYTES:] == GUARD).all()
    assert counts[total] == 0
    return counts[:total], owner[:total]


# --- every item once ------------------------------------------------------------------------


@pytest.mark.parametrize("threads", [1, 2, 3, 4, 7, 16])
def test_every_item_is_done_once(threads: int) -> None:
    one = set_threads(threads)
    for total in (*range(40), 63, 64, 65, 100, 1000, 4097):
        counts, owner = count(one, total)
        assert (counts == 1).all(), total
        assert ((owner >= 0) & (owner < threads)).all()


def test_nothing_is_called_for_a_negative_total() -> None:
    count(set_threads(2), 0)
    buffers = (ctypes.c_void_p * 3)()
    kernels().run_count(set_threads(2).pointer, buffers, (ctypes.c_int64 * 2)(), -5, 1)


def test_many_short_jobs_in_a_row() -> None:
    counts, _ = count(set_threads(3), 5, times=20_000)
    assert (counts == 20_000).all()


@pytest.mark.skipif(usable_cores() < 2, reason="needs two cores to share work")
def test_long_work_is_shared() -> None:
    one = set_threads(2)
    # on a busy machine not every time
    assert any(set(count(one, 64, spins=200_000)[1]) == {0, 1} for _ in range(50))


@pytest.mark.parametrize("total", [2, 8])  # chunks of one item
def test_a_slow_item_does_not_hold_up_the_rest(total: int) -> None:
    done = np.zeros(1, np.int32)
    buffers = (ctypes.c_void_p * 1)(done.ctypes.data)
    kernels().run_wait(set_threads(2).pointer, buffers, (ctypes.c_int64 * 1)(total))
    assert done[0] == total


def test_nested_jobs_are_done() -> None:
    one = set_threads(3)
    total, each = 20, 7
    found = np.zeros(1, np.int64)
    buffers = (ctypes.c_void_p * 2)(one.pointer, found.ctypes.data)
    kernels().run_nested(one.pointer, buffers, (ctypes.c_int64 * 1)(each), total)
    assert found[0] == total * each


# --- many callers ---------------------------------------------------------------------------


def test_ten_threads_at_once_are_right() -> None:
    one = set_threads(2)

    def calls(seed: int) -> bool:
        return all((count(one, 10 + seed, times=200)[0] == 200).all() for _ in range(10))

    with ThreadPoolExecutor(10) as executor:
        assert all(executor.map(calls, range(10)))


def test_changing_the_threads_leaves_running_calls_alone() -> None:
    end = time.monotonic() + 0.5

    def calls(_: int) -> bool:
        right = True
        while time.monotonic() < end:
            right &= bool((count(pool(), 33)[0] == 1).all())
        return right

    with ThreadPoolExecutor(4) as executor:
        found = executor.map(calls, range(4))
        while time.monotonic() < end:
            for threads in (1, 2, 5):
                set_threads(threads)
        assert all(found)


# --- asking for one -------------------------------------------------------------------------


def test_there_is_one_pool_for_a_number_of_threads() -> None:
    two, three = set_threads(2), set_threads(3)
    assert pool() == three
    assert set_threads(2) == two == pool()
    assert (two.threads, three.threads) == (2, 3)
    assert two.pointer != three.pointer


def test_zero_means_the_usable_cores() -> None:
    assert set_threads(0).threads == usable_cores()


def test_the_setting_gives_the_first_number(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_pools", module._Pools())
    monkeypatch.setenv("PHOTIC_THREADS", "3")
    assert pool().threads == 3


@pytest.mark.parametrize("text", ["-1", "1025", "many", "1.5"])
def test_a_senseless_setting_is_refused(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    monkeypatch.setattr(module, "_pools", module._Pools())
    monkeypatch.setenv("PHOTIC_THREADS", text)
    with pytest.raises(BadArgument, match=r"threads|THREADS"):
        pool()


def test_threads_asking_at_once_get_the_same_pool(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_pools", module._Pools())
    with ThreadPoolExecutor(8) as executor:
        assert len(set(executor.map(lambda _: pool(), range(8)))) == 1


# --- a good guest in the process ------------------------------------------------------------


def workers() -> list[Path]:
    """The pool's threads that have begun to run (and so have their name)."""
    try:
        tasks = list(Path("/proc/self/task").iterdir())
    except OSError:
        pytest.skip("needs /proc to look at threads")
    return [one for one in tasks if (one / "comm").read_text() == "photic\n"]


def begun(number: int) -> int:
    """How many workers have begun, once that is ``number`` or much time has passed."""
    end = time.monotonic() + HANG_SECONDS / 4
    while len(workers()) < number and time.monotonic() < end:
        time.sleep(0.001)
    return len(workers())


def test_idle_workers_use_no_time() -> None:
    count(set_threads(4), 100)
    time.sleep(0.05)
    before = time.process_time()
    time.sleep(0.3)
    assert time.process_time() - before < 0.03


def test_workers_leave_signals_to_the_users_threads() -> None:
    count(set_threads(4), 100)
    assert begun(3) >= 3
    masks = [
        int(line.split()[1], 16)
        for one in workers()
        for line in (one / "status").read_text().splitlines()
        if line.startswith("SigBlk")
    ]
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGALRM, signal.SIGCHLD):
        assert all(mask >> (number - 1) & 1 for mask in masks)
    assert not any(mask >> (signal.SIGSEGV - 1) & 1 for mask in masks)


def test_subnormals_are_kept_whatever_the_callers_mode() -> None:
    library = kernels()
    if not hasattr(library, "halve_flushing"):
        pytest.skip("needs an x86-64 processor to change its floating-point mode")
    values = np.full(64, np.finfo(np.float32).smallest_subnormal * 4, np.float32)
    expected = values.copy() / 2
    buffers = (ctypes.c_void_p * 1)(values.ctypes.data)
    library.halve_flushing.argtypes = (ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64)
    # a pool of its own, so that its workers are started while the caller flushes
    assert library.halve_flushing(set_threads(6).pointer, buffers, 64) == 1  # the mode is restored
    np.testing.assert_array_equal(values, expected)


def test_calls_do_not_grow_memory() -> None:
    one = set_threads(2)
    count(one, 100, times=1000)
    before = resident_pages()
    for _ in range(100):
        count(one, 100, times=100)
    assert resident_pages() - before < 200


def resident_pages() -> int:
    try:
        return int(Path("/proc/self/statm").read_text().split()[1])
    except OSError:
        pytest.skip("needs /proc to read the memory in use")


# --- processes ------------------------------------------------------------------------------

CHILD = """
import ctypes, os, sys, threading, time
import test_pool
from photic.targets.c.pool import pool, set_threads
one = set_threads(3)
"""


def child(script: str) -> str:
    """What a process of its own prints; it must end by itself."""
    environment = dict(os.environ) | {"PYTHONPATH": os.pathsep.join(sys.path)}
    command = (sys.executable, "-W", "error", "-c", CHILD + script)
    result = subprocess.run(
        command, env=environment, capture_output=True, text=True, timeout=HANG_SECONDS
    )
    assert result.returncode == 0, result.stderr
    return result.stdout


def test_a_forked_child_works_with_threads_of_its_own() -> None:
    script = """
assert (test_pool.count(one, 50)[0] == 1).all()
sys.stdout.flush()
pid = os.fork()
right = all((test_pool.count(one, 50, times=50)[0] == 50).all() for _ in range(20))
if pid: os.waitpid(pid, 0)
os.write(1, f"{'parent' if pid else 'child'} {right} {test_pool.begun(2)}\\n".encode())
"""
    assert sorted(child(script).splitlines()) == ["child True 2", "parent True 2"]


def test_a_child_forked_in_the_middle_of_a_job_works() -> None:
    script = """
stop = threading.Event()
def busy():
    while not stop.is_set(): test_pool.count(one, 64, spins=2000)
thread = threading.Thread(target=busy); thread.start()
for _ in range(20):
    pid = os.fork()
    if not pid: os._exit(0 if (test_pool.count(one, 50, times=20)[0] == 20).all() else 1)
    assert os.waitpid(pid, 0)[1] == 0
stop.set(); thread.join()
print("right")
"""
    assert child(script) == "right\n"


def test_a_process_ends_while_a_job_runs() -> None:
    script = """
def busy():
    while True: test_pool.count(one, 64, spins=20000)
threading.Thread(target=busy, daemon=True).start()
time.sleep(0.2)
print("ends")
"""
    assert child(script) == "ends\n"


def test_no_thread_is_started_before_the_first_job() -> None:
    assert child("print(len(test_pool.workers()))") == "0\n"


def test_where_no_thread_can_be_started_the_work_is_still_done() -> None:
    script = """
import resource
limits = (1, 1)
os.setresuid(65534, 65534, 65534)
resource.setrlimit(resource.RLIMIT_NPROC, limits)
print((test_pool.count(one, 50, times=20)[0] == 20).all(), len(test_pool.workers()))
"""
    if os.geteuid() != 0:
        pytest.skip("needs root to become a user without a right to threads")
    assert child("test_pool.kernels()\n" + script) == "True 0\n"
