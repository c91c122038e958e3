"""What stands in for a CUDA device keeps barriers, and shows where one is missing.

The kernel here is written by hand; test_cuda_groups.py does the same with the target's own.
"""

import ctypes

import numpy as np
from targets.cuda_stand_in import library_of

GROUPS, GROUP = 3, 64
BARRIER = "__syncthreads();"
TEXT = """
extern "C" __global__ void __launch_bounds__(64) turned(float *x, float *y) {
  __shared__ float held[64];
  const int me = threadIdx.x, start = blockIdx.x * blockDim.x;
  held[me] = x[start + me];
  __syncthreads();
  const float other = held[63 - me];
  __syncthreads();
  held[me] = 2 * other;
  __syncthreads();
  y[start + me] = held[63 - me];
}
"""


def run(text: str, backwards: int) -> np.ndarray:
    """Each group's numbers doubled, if barriers are kept."""
    x = np.arange(GROUPS * GROUP, dtype=np.float32)
    y = np.zeros_like(x)
    places = [ctypes.c_void_p(one.ctypes.data) for one in (x, y)]
    given = (ctypes.c_void_p * len(places))(*map(ctypes.addressof, places))
    library_of(text).run_turned(given, GROUPS, GROUP, backwards)
    return y


def is_right(text: str) -> bool:
    """In either order of work-items."""
    want = 2 * np.arange(GROUPS * GROUP, dtype=np.float32)
    return all(np.array_equal(run(text, backwards), want) for backwards in (0, 1))


def test_work_items_that_share_memory_wait_for_each_other() -> None:
    assert is_right(TEXT)


def test_a_barrier_that_was_removed_is_seen() -> None:
    parts = TEXT.split(BARRIER)
    for k in range(len(parts) - 1):
        without = BARRIER.join([*parts[:k], parts[k] + parts[k + 1], *parts[k + 2 :]])
        assert without.count(BARRIER) == TEXT.count(BARRIER) - 1
        assert not is_right(without), f"barrier {k}"
