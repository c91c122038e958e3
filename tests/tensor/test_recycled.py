"""Memory of large results: taken again only once nothing refers to it."""

import gc
import weakref

import numpy as np
import pytest

import photic as ph
from photic.tensor.recycled import LEAST_BYTES, Recycled

FLOAT = np.dtype(np.float32)
COUNT = LEAST_BYTES // FLOAT.itemsize


@pytest.fixture
def memory() -> Recycled:
    return Recycled()


def test_what_nothing_refers_to_is_taken_again(memory: Recycled) -> None:
    address = memory.empty((COUNT,), FLOAT).ctypes.data
    gc.collect()
    assert memory.empty((2, COUNT // 2), FLOAT).ctypes.data == address


@pytest.mark.parametrize(
    "keep",
    [
        lambda array: array[5:].reshape(-1, 1)[1:],
        lambda array: array.view(np.int32).T,
        memoryview,
        np.from_dlpack,
    ],
    ids=["a view of a view", "another dtype", "a memoryview", "dlpack"],
)
def test_a_view_keeps_the_memory(memory: Recycled, keep) -> None:
    array = memory.empty((COUNT,), FLOAT)
    view = keep(array)
    gone = weakref.ref(array)
    del array
    gc.collect()
    assert gone() is not None
    assert not memory.free
    del view
    gc.collect()
    assert gone() is None
    assert memory.free


def test_another_size_gets_other_memory(memory: Recycled) -> None:
    memory.empty((COUNT,), FLOAT)
    gc.collect()
    assert memory.empty((2 * COUNT,), FLOAT).nbytes == 2 * LEAST_BYTES


def test_small_results_are_numpys(memory: Recycled) -> None:
    assert memory.empty((COUNT - 1,), FLOAT).flags.owndata


def test_too_much_is_a_memory_error(memory: Recycled) -> None:
    with pytest.raises(MemoryError):
        memory.empty((1 << 61,), np.dtype(np.int8))


def test_results_that_are_kept_stay_as_they_are() -> None:
    x = ph.input("x", (COUNT,))
    program = ph.compile({"y": x * 2.0})
    kept = [program(x=np.full(COUNT, number, np.float32))["y"] for number in range(4)]
    assert [float(one.min()) for one in kept] == [float(one.max()) for one in kept] == [0, 2, 4, 6]
