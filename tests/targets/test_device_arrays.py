"""Arrays that lie on a device already: read there, left there, shown to others without a copy.

The stand-in's device memory is a processor's, so that NumPy can look at what capsules show.
"""

from __future__ import annotations

import ctypes
import gc
from collections.abc import Iterator
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from targets.cuda_stand_in import number, use

import photic as ph
from photic.base.errors import BadArgument
from photic.forms.errors import InputDtype, InputShape, InputUnreadable
from photic.ir.dtype import DTYPES
from photic.targets import dlpack
from photic.targets.arrays import DeviceArray, Place
from photic.targets.cuda.device import DRIVEN

ROWS = 64
BYTES = ROWS * 4  # of an array of these tests


class Copied:
    """Bytes that the driver copied to the device, and from it, since they were last asked for."""

    def __init__(self, library: ctypes.CDLL) -> None:
        names = ("photic_given_bytes", "photic_taken_bytes")
        self.counts = [ctypes.c_longlong.in_dll(library, one) for one in names]
        self.now()

    def now(self) -> tuple[int, ...]:
        found = tuple(one.value for one in self.counts)
        for one in self.counts:
            one.value = 0
        return found


@pytest.fixture
def copied(monkeypatch: pytest.MonkeyPatch) -> Iterator[Copied]:
    """What is copied; in the end all memory was given back, and nothing written beside it."""
    library = use(monkeypatch)
    yield Copied(library)
    gc.collect()
    assert number(library, "faults").value == 0
    assert number(library, "live").value == 0


class Foreign:
    """NumPy's own capsule and interface, said to be of a device: what another library exports."""

    def __init__(self, array: np.ndarray, device: tuple[int, int] = (2, 0)) -> None:
        self.array, self.device, self.streams = array, device, []

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.device

    def __dlpack__(self, *, stream: int | None = None) -> object:
        self.streams.append(stream)
        return self.array.__dlpack__()


def interfaced(array: np.ndarray, **changed: object) -> SimpleNamespace:
    """What exports ``__cuda_array_interface__`` alone."""
    told = {**array.__array_interface__, "version": 3, "stream": None, **changed}
    return SimpleNamespace(__cuda_array_interface__=told, array=array)


def place() -> Place:
    known = DRIVEN.opened()
    return known.driver.place(known.context, 0)


def doubled(target: str = "cuda") -> ph.Program:
    return ph.compile({"y": ph.input("x", (ROWS,)) * 2}, target=target, search=0)


X = np.arange(ROWS, dtype=np.float32)

# --- calls ----------------------------------------------------------------------------------


def test_a_result_that_stays_is_read_there_by_the_next_program(copied: Copied) -> None:
    program = doubled()
    first = program.on_device(x=X)["y"]
    assert copied.now() == (BYTES, 0)
    second = program.on_device(x=first)["y"]
    assert copied.now() == (0, 0)
    assert np.array_equal(second.numpy(), X * 4)
    assert copied.now() == (0, BYTES)
    assert np.array_equal(first.numpy(), X * 2)


def test_calls_after_one_that_used_others_memory_leave_that_alone(copied: Copied) -> None:
    program = doubled()
    there = program.on_device(x=X)["y"]
    program.on_device(x=there)
    assert np.array_equal(program(x=X + 1)["y"], (X + 1) * 2)
    assert np.array_equal(program.on_device(x=X - 1)["y"].numpy(), (X - 1) * 2)
    assert np.array_equal(there.numpy(), X * 2)


def test_arrays_on_the_device_and_in_our_memory_go_into_one_call(copied: Copied) -> None:
    x, z = ph.input("x", (ROWS,)), ph.input("z", (ROWS,))
    program = ph.compile({"y": x - z}, target="cuda", search=0)
    there = doubled().on_device(x=X)["y"]
    copied.now()
    assert np.array_equal(program(x=there, z=X)["y"], X)
    assert copied.now() == (BYTES, BYTES)


def test_symbolic_sizes_are_read_off_arrays_on_the_device(copied: Copied) -> None:
    n = ph.dim("n", 0, ROWS)
    program = ph.compile({"y": ph.input("x", (n, 2)) + 1}, target="cuda", search=0)
    for rows in (3, 0, ROWS):
        x = np.ones((rows, 2), np.float32)
        there = program.on_device(x=x)["y"]
        assert there.shape == (rows, 2)
        assert np.array_equal(program(x=there)["y"], x + 2)


def test_states_and_results_on_the_device_go_together(copied: Copied) -> None:
    total, x = ph.state("total", (ROWS,)), ph.input("x", (ROWS,))
    program = ph.compile({"y": total + x}, {total: total + x}, target="cuda", search=0)
    for count in (1, 2, 3):
        assert np.array_equal(program.on_device(x=X)["y"].numpy(), X * count)
    assert np.array_equal(program.states["total"], X * 3)


def test_weights_are_moved_to_the_device_once(copied: Copied) -> None:
    weights = np.random.default_rng(0).standard_normal((ROWS, ROWS)).astype(np.float32)
    program = ph.compile({"y": ph.input("x", (ROWS,)) @ ph.constant(weights)}, target="cuda")
    copied.now()
    program(x=X)
    assert copied.now()[0] == BYTES + program.constant_bytes
    program(x=X)
    assert copied.now()[0] == BYTES


def test_states_stay_on_the_device_until_somebody_asks_for_them(copied: Copied) -> None:
    total, x = ph.state("total", (ROWS,)), ph.input("x", (ROWS,))
    program = ph.compile({"y": ph.max(total)}, {total: total + x}, target="cuda", search=0)
    copied.now()
    assert [float(program(x=X)["y"]) for _ in range(4)] == [0, ROWS - 1, 2 * ROWS - 2, 3 * ROWS - 3]
    assert copied.now() == (5 * BYTES, 4 * 4)  # the first zeros, four times x, four maxima
    bound = program.bind(x=X)
    bound.run()
    assert copied.now() == (BYTES, 4)
    states = program.states
    assert np.array_equal(states["total"], X * 5)
    states["total"][...] = 7
    assert float(program(x=X)["y"]) == 7
    assert np.array_equal(states["total"], X + 7)
    copied.now()
    program(x=X)
    assert copied.now() == (2 * BYTES, BYTES + 4)


def test_states_that_stay_on_the_device_can_be_reset(copied: Copied) -> None:
    total, x = ph.state("total", (ROWS,)), ph.input("x", (ROWS,))
    program = ph.compile({"y": total + x}, {total: total + x}, target="cuda", search=0)
    for _ in range(2):
        assert [program(x=X)["y"][1] for _ in range(2)] == [1, 2]
        program.reset()


# --- in -------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [name for name in DTYPES if name != "bfloat16"])
def test_the_capsule_of_another_library_is_read_where_it_lies(dtype: str, copied: Copied) -> None:
    program = ph.compile({"y": ph.flip(ph.input("x", (ROWS,), dtype), 0)}, target="cuda")
    x = (X % 2).astype(np.dtype(dtype))
    foreign = Foreign(x)
    assert np.array_equal(program(x=foreign)["y"], x[::-1])
    assert copied.now()[0] == 0
    assert foreign.streams == [1]  # the default stream, which those of ours wait for


def test_the_interface_of_another_library_is_read_where_it_lies(copied: Copied) -> None:
    program = doubled()
    assert np.array_equal(program(x=interfaced(X, stream=1))["y"], X * 2)
    assert np.array_equal(program(x=interfaced(X, strides=(4,)))["y"], X * 2)
    assert copied.now()[0] == 0


def test_what_lies_in_our_memory_is_copied_as_ever(copied: Copied) -> None:
    program = doubled()
    ours = SimpleNamespace(__dlpack__=X.__dlpack__, __dlpack_device__=X.__dlpack_device__)
    for one in (X, X.data, ours):
        assert np.array_equal(program(x=one)["y"], X * 2)
        assert copied.now() == (BYTES, BYTES)


@pytest.mark.parametrize(
    ("value", "problem"),
    [
        (Foreign(X, (2, 1)), "device 2:1"),
        (Foreign(X, (10, 0)), "device 10:0"),
        (Foreign(np.zeros(2 * ROWS, np.float32)[::2]), "in order"),
        (Foreign(X.astype(np.complex64)), "dtype"),
        (interfaced(X, strides=(8,)), "in order"),
        (interfaced(X, mask=X), "mask"),
    ],
)
def test_what_cannot_be_read_where_it_lies_is_an_error(
    value: object, problem: str, copied: Copied
) -> None:
    with pytest.raises(InputUnreadable, match=problem):
        doubled()(x=value)


def test_shapes_and_dtypes_are_checked_on_the_device_too(copied: Copied) -> None:
    with pytest.raises(InputShape):
        doubled()(x=Foreign(X[:-1]))
    with pytest.raises(InputDtype):
        doubled()(x=Foreign(X.astype(np.int32)))


# --- out ------------------------------------------------------------------------------------


def as_numpy(array: DeviceArray) -> np.ndarray:
    """NumPy's view of what a capsule shows, as if the memory were said to be ours."""
    ours = DeviceArray(replace(array.place, device=(1, 0)), array.memory, array.shape, array.dtype)
    return np.from_dlpack(ours)


@pytest.mark.parametrize("dtype", [name for name in DTYPES if name != "bfloat16"])
def test_a_capsule_shows_the_result_to_others(dtype: str, copied: Copied) -> None:
    x = (np.arange(6).reshape(2, 3) % 2).astype(np.dtype(dtype))
    program = ph.compile({"y": ph.flip(ph.input("x", (2, 3), dtype), 0)}, target="cuda")
    found = as_numpy(program.on_device(x=x)["y"])
    gc.collect()
    assert found.dtype == x.dtype and np.array_equal(found, x[::-1])


def test_the_interface_shows_the_result_to_others(copied: Copied) -> None:
    there = doubled().on_device(x=X)["y"]
    told = there.__cuda_array_interface__
    shown = SimpleNamespace(__array_interface__={**told, "version": 3}, owner=there)
    assert np.array_equal(np.asarray(shown), X * 2)
    assert there.__dlpack_device__() == (2, 0)


def test_memory_lives_as_long_as_somebody_looks_at_it(copied: Copied) -> None:
    shown = as_numpy(doubled().on_device(x=X)["y"])
    gc.collect()
    assert np.array_equal(shown, X * 2)
    capsule = doubled().on_device(x=X)["y"].__dlpack__()
    assert len(dlpack._held) == 2
    del capsule, shown
    gc.collect()
    assert not dlpack._held


def test_numpy_copies_a_result_and_says_so(copied: Copied) -> None:
    there = doubled().on_device(x=X)["y"]
    assert np.array_equal(np.asarray(there), X * 2)
    assert np.asarray(there, np.float64).dtype == np.float64
    with pytest.raises(ValueError, match="without copying"):
        np.array(there, copy=False)
    with pytest.raises(BufferError, match="not copied"):
        there.__dlpack__(dl_device=(1, 0))


def test_a_target_that_works_in_our_memory_leaves_nothing_elsewhere() -> None:
    with pytest.raises(BadArgument, match=r"on_device.*cuda or hip"):
        doubled("c").on_device(x=X)
