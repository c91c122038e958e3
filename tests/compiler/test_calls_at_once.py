"""Many calls of one program: at once, one after another, after a fork; its states and memory."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import photic as ph

THREADS = 10
STATM = Path("/proc/self/statm")
PAGE_BYTES = 4096
CALLS = 10_000
SLACK_BYTES = 1 << 20  # 100 bytes a call would be as much


def in_threads(work: Callable[[int], None]) -> None:
    """Run ``work(0)``, ``work(1)``, ... at once; none may raise anything."""
    failed: list[int] = []
    gate = threading.Barrier(THREADS)

    def run(number: int) -> None:
        failed.append(number)
        gate.wait()
        work(number)  # what it raises, the thread prints
        failed.remove(number)

    threads = [threading.Thread(target=run, args=(k,)) for k in range(THREADS)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    assert failed == []


def matrices() -> ph.Program:
    n = ph.dim("n", 1, 300)
    x, w = ph.input("x", (n, 40)), ph.input("w", (40, 50))
    return ph.compile({"y": ph.softmax(ph.matmul(x, w)), "n": ph.sum(x, axis=1)})


def test_ten_threads_get_their_own_results_from_the_first_call_on() -> None:
    draw = np.random.default_rng(0)
    w = draw.standard_normal((40, 50)).astype(np.float32)
    inputs = [draw.standard_normal((3 + 29 * k, 40)).astype(np.float32) for k in range(THREADS)]
    alone = [matrices()(x=x, w=w) for x in inputs]
    for _ in range(3):
        program = matrices()  # its first calls race

        def work(number: int, program: ph.Program = program) -> None:
            for _ in range(20):
                result = program(x=inputs[number], w=w)
                for name, want in alone[number].items():
                    np.testing.assert_array_equal(result[name], want)

        in_threads(work)


def test_a_program_with_states_runs_one_call_at_a_time() -> None:
    count, x = ph.state("count", (1000,), "int64"), ph.input("x", (1000,), "int64")
    program = ph.compile({"seen": count}, {count: count + x})
    ones = np.ones(1000, np.int64)
    seen: list[int] = []

    def work(number: int) -> None:
        for _ in range(100):
            result = program(x=ones)["seen"]
            assert (result == result[0]).all()
            seen.append(int(result[0]))

    in_threads(work)
    assert sorted(seen) == list(range(100 * THREADS))
    assert (program.states["count"] == 100 * THREADS).all()


def test_results_share_storage_with_nothing() -> None:
    x, state = ph.input("x", (64,)), ph.state("s", (64,))
    program = ph.compile(
        {"x": x, "view": x[::2], "s": state, "next": state + x}, {state: state + x}
    )
    given = np.ones(64, np.float32)
    results = [program(x=given) for _ in range(3)]
    arrays = [array for result in results for array in result.values()]
    for place, one in enumerate(arrays):
        assert one.flags.owndata
        assert one.flags.writeable
        others = [*arrays[:place], given, *program.states.values()]
        assert not any(np.shares_memory(one, other) for other in others)


@pytest.mark.skipif(not STATM.exists(), reason="needs /proc/self/statm to see resident memory")
def test_ten_thousand_calls_take_no_more_memory() -> None:
    n = ph.dim("n", 1, 200)
    x, state = ph.input("x", (n, 16)), ph.state("s", (16,))
    total = state + ph.sum(x, axis=0)
    program = ph.compile({"y": ph.exp2(x) * 2.0, "total": total}, {state: total})
    inputs = [np.ones((1 + k % 200, 16), np.float32) for k in range(200)]

    def calls(count: int) -> int:
        for number in range(count):
            program(x=inputs[number % len(inputs)])
        gc.collect()
        return int(STATM.read_text().split()[1]) * PAGE_BYTES

    before = calls(CALLS // 10)
    assert calls(CALLS) - before < SLACK_BYTES


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs os.fork to make a child")
def test_a_child_after_a_fork_computes_on_its_own() -> None:
    x, state = ph.input("x", (200, 40)), ph.state("s", (200, 40))
    program = ph.compile({"y": ph.softmax(x + state)}, {state: state + x})
    given = np.random.default_rng(0).standard_normal((200, 40)).astype(np.float32)
    program(x=given)
    held = program.states["s"].copy()
    child = os.fork()
    if not child:
        status = 1
        try:
            result = program(x=given)["y"]
            is_right = np.array_equal(program.states["s"], held + given)
            status = 0 if is_right and np.isfinite(result).all() else 2
        finally:
            os._exit(status)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    np.testing.assert_array_equal(program.states["s"], held)  # the child's states were its own
    program(x=given)


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs os.fork to make a child")
def test_a_fork_in_the_middle_of_another_threads_call_leaves_no_lock() -> None:
    state = ph.state("s", (400, 400))
    program = ph.compile({}, {state: ph.matmul(state, state) * 0.5})
    stop = threading.Event()

    def keep_busy() -> None:
        while not stop.is_set():
            program()

    thread = threading.Thread(target=keep_busy)
    thread.start()
    try:
        for _ in range(10):
            child = os.fork()
            if not child:
                status = 1
                try:
                    program()
                    status = 0
                finally:
                    os._exit(status)
            assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    finally:
        stop.set()
        thread.join()


def test_states_are_read_set_and_reset() -> None:
    state = ph.state("s", (3, 4))
    program = ph.compile({"y": state}, {state: state + 1.0})
    for number in range(3):
        assert (program()["y"] == number).all()
    program.states["s"][...] = np.arange(12).reshape(3, 4)
    program.states["s"][1] = -1
    np.testing.assert_array_equal(program()["y"][1], [-1] * 4)
    assert program.states["s"][2].tolist() == [9, 10, 11, 12]
    program.reset()
    assert not program()["y"].any()


def test_a_state_keeps_its_storage() -> None:
    state = ph.state("s", (3,))
    program = ph.compile({"y": state}, {state: state + 1.0})
    with pytest.raises(TypeError):
        program.states["s"] = np.ones(3, np.float32)  # type: ignore[index]
    held = program.states["s"]
    program()
    assert held is program.states["s"]
    assert held.tolist() == [1, 1, 1]


def test_two_programs_of_one_graph_have_their_own_states() -> None:
    state = ph.state("s", (3,))
    one, other = (ph.compile({"y": state}, {state: state + 1.0}) for _ in range(2))
    one()
    one()
    assert other()["y"].tolist() == [0, 0, 0]


def test_an_interpreter_may_end_while_a_program_is_alive() -> None:
    code = (
        "import numpy as np, photic as ph\n"
        "program = ph.compile({'y': ph.matmul(ph.input('x', (300, 300)), ph.ones((300, 300)))})\n"
        "program(x=np.ones((300, 300), np.float32))\n"
    )
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code], capture_output=True, text=True
    )
    assert (done.returncode, done.stderr) == (0, "")
