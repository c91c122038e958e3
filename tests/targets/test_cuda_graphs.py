"""Launches that are recorded as a graph of the driver: when, and that they mean the same.

The driver is the one of cuda_driver.c, which refuses what cannot be recorded: waiting, memory, a
stream that waits for the default stream.
"""

from __future__ import annotations

import ctypes
import gc
from collections.abc import Iterator
from functools import partial

import numpy as np
import pytest
from targets.cuda_stand_in import number, use

import photic as ph
from photic.forms.eval import Array
from photic.targets.cuda.device import CUDA, DRIVEN
from photic.targets.cuda.errors import CudaFailed
from photic.targets.recorded import NON_BLOCKING, THREAD_LOCAL

compiled = partial(ph.compile, target="cuda", search=0)
COUNTED = ("launches", "recorded", "updated", "started")


@pytest.fixture
def stand_in(monkeypatch: pytest.MonkeyPatch) -> Iterator[ctypes.CDLL]:
    """The driver; graphs and memory were given back."""
    found = use(monkeypatch)
    for name in COUNTED:
        number(found, name).value = 0
    yield found
    gc.collect()
    assert number(found, "graphs").value == 0
    assert number(found, "live").value == 0


def counts(stand_in: ctypes.CDLL) -> tuple[int, ...]:
    """Launches one by one, graphs that were recorded, updated and started."""
    return tuple(number(stand_in, name).value for name in COUNTED)


def drawn(*shape: int) -> Array:
    return np.random.default_rng(sum(shape)).standard_normal(shape).astype(np.float32)


def chain(rows: ph.Dim | int) -> ph.Tensor:
    """Some kernels one after the other."""
    y = ph.input("x", (rows, 12)) @ ph.constant(drawn(12, 16))
    return ph.softmax(y, axis=0)


def test_the_second_call_is_recorded_and_later_ones_start_the_graph(stand_in: ctypes.CDLL) -> None:
    program, x = compiled({"y": chain(9)}), drawn(9, 12)
    first, steps = program(x=x)["y"], number(stand_in, "launches").value
    assert steps > 1 and counts(stand_in) == (steps, 0, 0, 0)
    for started in (1, 2, 3):
        assert np.array_equal(program(x=x + started)["y"], direct(9, x + started))
        assert counts(stand_in) == (steps, 1, 0, started)
    assert np.array_equal(program(x=x)["y"], first)


def direct(rows: int, x: Array) -> Array:
    """What the c target gives."""
    return ph.compile({"y": chain(rows)}, target="c", search=0)(x=x)["y"]


def test_a_graph_is_updated_when_sizes_change(stand_in: ctypes.CDLL) -> None:
    program = compiled({"y": chain(ph.dim("rows", 1, 400))})
    want = ph.compile({"y": chain(ph.dim("rows", 1, 400))}, target="c", search=0)
    for rows in (5, 5, 5, 300, 300, 7, 7, 7, 5, 5):
        x = drawn(rows, 12)
        assert np.array_equal(program(x=x)["y"], want(x=x)["y"]), rows
    launches, recorded, updated, started = counts(stand_in)
    assert (recorded, updated, started) == (4, 3, 6)
    assert launches > 0


def test_a_graph_with_other_launches_is_a_new_one(stand_in: ctypes.CDLL) -> None:
    rows = ph.dim("rows", 0, 40)
    outputs = {"y": chain(rows), "z": ph.input("t", (3,)) + 1}
    program, t = compiled(outputs), drawn(3)
    for count in (6, 6, 0, 0, 0, 6, 6):
        found = program(x=drawn(count, 12), t=t)
        assert found["y"].shape == (count, 16)
        assert np.array_equal(found["z"], t + 1)
        if count:
            assert np.array_equal(found["y"], direct(count, drawn(count, 12)))
    assert counts(stand_in)[2] == 0


def test_states_and_loops_are_recorded(stand_in: ctypes.CDLL) -> None:
    def made(target: str) -> ph.Program:
        total = ph.state("total", (4,), "float32")
        y = total + ph.cumsum(ph.input("x", (4,)))
        return ph.compile({"y": y * 2}, updates={total: y}, target=target, search=0)

    programs = made("cuda"), made("c")
    for k in range(5):
        found = [one(x=drawn(4) + k)["y"] for one in programs]
        assert np.array_equal(*found), k
    assert counts(stand_in)[3] > 0


def test_one_launch_is_not_recorded(stand_in: ctypes.CDLL) -> None:
    program = compiled({"y": ph.input("x", (5,)) + 1})
    for _ in range(4):
        program(x=drawn(5))
    assert counts(stand_in) == (4, 0, 0, 0)


def test_arrays_that_others_hold_on_the_device_may_move(stand_in: ctypes.CDLL) -> None:
    program, x = compiled({"y": chain(9)}), drawn(9, 12)
    want = program(x=x)["y"]
    places = [program.on_device(x=x)["y"] for _ in range(3)]
    more = compiled({"y": ph.softmax(ph.input("y", (9, 16)) * 2, axis=0)})
    found = [np.array(more(y=place)["y"]) for place in places * 2]
    alone = more(y=want)["y"]
    assert all(np.array_equal(one, alone) for one in found)


def test_the_stand_in_refuses_to_wait_while_it_records(stand_in: ctypes.CDLL) -> None:
    known = DRIVEN.opened()
    with known.using():
        stream = ctypes.c_void_p(CUDA.number("cuStreamCreate", NON_BLOCKING))
        CUDA.call("cuStreamBeginCapture_v2", stream, THREAD_LOCAL)
        try:
            with pytest.raises(CudaFailed, match="cuStreamSynchronize"):
                CUDA.call("cuStreamSynchronize", stream)
            with pytest.raises(CudaFailed, match="cuMemAlloc"):
                CUDA.new_memory(known.context, 8)
        finally:
            graph = ctypes.c_void_p()
            CUDA.call("cuStreamEndCapture", stream, ctypes.byref(graph))
            CUDA.call("cuGraphDestroy", graph)
