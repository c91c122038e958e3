"""Bound calls: their results, and that they read and write in place."""

from __future__ import annotations

import os
import threading

import numpy as np
import pytest

import photic as ph
from photic.base.errors import BadArgument
from photic.forms.errors import InputMissing, InputShape, SizeMissing
from photic.targets.c.pool import pool, set_threads

ROWS = 8


def _program() -> ph.Program:
    return ph.compile(ph.input("x", (ROWS,)) * 2.0, search=0)


def _counter() -> ph.Program:
    """Adds its input to a state, and returns what was there."""
    total = ph.state("total", (ROWS,))
    return ph.compile({"before": total}, {total: total + ph.input("x", (ROWS,))}, search=0)


class Exported:
    """Something of another library that shares its memory."""

    def __init__(self, array: np.ndarray) -> None:
        self.array = array

    def __dlpack__(self, **options: object) -> object:
        return self.array.__dlpack__(**options)

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.array.__dlpack_device__()


# --- inputs and outputs ---------------------------------------------------------------------


def test_each_run_reads_the_input_as_it_is_and_writes_the_same_output() -> None:
    x = np.arange(ROWS, dtype=np.float32)
    bound = _program().bind(x=x)
    (first,) = bound.run().values()
    np.testing.assert_array_equal(first, x * 2)
    x += 1
    (second,) = bound.run().values()
    assert second is first
    np.testing.assert_array_equal(second, x * 2)
    assert bound.inputs["x"] is x


def test_two_bound_calls_have_outputs_of_their_own() -> None:
    program, x = _program(), np.ones(ROWS, np.float32)
    (one,), (other,) = program.bind(x=x).run().values(), program.bind(x=x).run().values()
    assert not np.shares_memory(one, other)


def test_each_run_reads_an_input_with_strides_as_it_is() -> None:
    every = np.arange(2 * ROWS, dtype=np.float32)
    for x in (every[::2], every[::-2]):
        bound = _program().bind(x=x)
        bound.run()
        every += 1
        np.testing.assert_array_equal(bound.run()["output"], x * 2)
        assert bound.inputs["x"] is x


def test_what_another_library_shares_is_read_where_it_lies() -> None:
    x = np.arange(ROWS, dtype=np.float32)
    bound = _program().bind(x=Exported(x))
    x += 1
    np.testing.assert_array_equal(bound.run()["output"], x * 2)
    assert np.shares_memory(bound.inputs["x"], x)


def test_an_input_that_a_run_could_not_read_again_is_refused() -> None:
    with pytest.raises(BadArgument, match="x is list, expected an array"):
        _program().bind(x=[1.0] * ROWS)


def test_an_input_that_may_not_be_written_is_read() -> None:
    x = np.arange(ROWS, dtype=np.float32)
    x.flags.writeable = False
    np.testing.assert_array_equal(_program().bind(x=x).run()["output"], x * 2)


def test_what_a_call_refuses_is_refused_when_it_is_bound() -> None:
    with pytest.raises(InputShape):
        _program().bind(x=np.ones(ROWS + 1, np.float32))
    with pytest.raises(InputMissing):
        _program().bind()


def test_a_bound_call_reads_the_result_of_another() -> None:
    program, x = _program(), np.arange(ROWS, dtype=np.float32)
    first = program.bind(x=x)
    second = program.bind(x=first.outputs["output"])
    for _ in range(2):
        x += 1
        first.run()
        np.testing.assert_array_equal(second.run()["output"], x * 4)


# --- sizes ----------------------------------------------------------------------------------


def _sized() -> ph.Program:
    n = ph.dim("n", 0, 64)
    x = ph.input("x", (n, 3))
    return ph.compile({"y": ph.cumsum(x, 0) * 2.0, "total": ph.sum(x, 0)}, search=0)


@pytest.mark.parametrize("rows", [0, 1, 7, 64])
def test_a_bound_call_has_the_sizes_of_its_arrays(rows: int) -> None:
    x = np.arange(rows * 3, dtype=np.float32).reshape(rows, 3)
    bound = _sized().bind(x=x)
    for _ in range(2):
        x += 1
        found = bound.run()
        np.testing.assert_array_equal(found["y"], x.cumsum(0) * 2)
        np.testing.assert_array_equal(found["total"], x.sum(0))


def test_calls_of_one_program_are_bound_at_several_sizes() -> None:
    program = _sized()
    arrays = [np.full((rows, 3), rows, np.float32) for rows in (2, 33, 5)]
    bound = [program.bind(x=one) for one in arrays]
    for one, x in (*zip(bound, arrays), *zip(bound, arrays)):
        np.testing.assert_array_equal(one.run()["y"], x.cumsum(0) * 2)


def test_a_size_that_no_input_tells_is_given_when_it_is_bound() -> None:
    n = ph.dim("n", 1, 64)
    program = ph.compile(ph.arange(n) * ph.input("x", (), "int64"), search=0)
    x = np.array(3)
    np.testing.assert_array_equal(program.bind(x=x, n=5).run()["output"], np.arange(5) * 3)
    with pytest.raises(SizeMissing):
        program.bind(x=x)


# --- states ---------------------------------------------------------------------------------


def test_runs_and_calls_of_a_program_with_states_follow_each_other() -> None:
    program, x = _counter(), np.ones(ROWS, np.float32)
    bound = program.bind(x=x)
    assert bound.run()["before"][0] == 0
    assert program(x=x)["before"][0] == 1
    assert bound.run()["before"][0] == 2
    program.reset()
    assert bound.run()["before"][0] == 0


def test_an_input_that_shares_memory_with_a_state_is_read_as_before_the_run() -> None:
    program = _counter()
    state = program.states["total"]
    state[...] = np.arange(ROWS)
    bound = program.bind(x=state[::-1])
    expected = np.arange(ROWS, dtype=np.float32)
    for _ in range(3):
        np.testing.assert_array_equal(bound.run()["before"], expected)
        expected = expected + expected[::-1]
    np.testing.assert_array_equal(state, expected)


def test_no_step_is_lost_when_threads_run_calls_that_share_a_state() -> None:
    program, x = _counter(), np.ones(ROWS, np.float32)
    bound = [program.bind(x=x) for _ in range(4)]
    threads = [threading.Thread(target=lambda b=b: [b.run() for _ in range(50)]) for b in bound]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    assert (program.states["total"] == 4 * 50).all()


# --- threads and processes ------------------------------------------------------------------


def test_a_bound_call_follows_the_number_of_threads() -> None:
    x = np.arange(ROWS, dtype=np.float32)
    bound = _program().bind(x=x)
    before = pool().threads
    try:
        for threads in (1, 3):
            set_threads(threads)
            np.testing.assert_array_equal(bound.run()["output"], x * 2)
    finally:
        set_threads(before)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the system cannot fork")
def test_a_bound_call_runs_in_a_forked_child() -> None:
    x = np.ones(ROWS, np.float32)
    bound = _counter().bind(x=x)
    bound.run()
    child = os.fork()
    if child == 0:
        os._exit(0 if bound.run()["before"][0] == 1 else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
