"""Calling a program: threads, results of one's own, flat memory, inputs that do not fit."""

from __future__ import annotations

import gc
import importlib.util
import multiprocessing
import os
import threading
from pathlib import Path

import numpy as np
import pytest

import photic as ph
from photic.base import errors
from photic.tensor.program import Program

THREADS = 10
CALLS = 10_000
# Pages that allocators and lazily filled caches may take over so many calls; a leak of one output
# a call would be 2.5 MB.
GROWTH_BYTES = 1 << 20
STATM = Path("/proc/self/statm")


def softmax_of_product() -> Program:
    """Several kernels with buffers between them, and work enough for the thread pool."""
    n = ph.dim("n", 0, 64)
    x = ph.input("x", (n, 48))
    w = ph.constant(np.random.default_rng(3).standard_normal((48, 40)).astype(np.float32))
    return ph.compile({"y": ph.softmax(x @ w, axis=-1)})


def test_ten_threads_that_call_one_program_at_once_are_all_right() -> None:
    program = softmax_of_product()
    rng = np.random.default_rng(4)
    given = [rng.standard_normal((1 + k * 6, 48)).astype(np.float32) for k in range(THREADS)]
    expected = [program(x=one)["y"] for one in given]
    wrong: list[int] = []
    start = threading.Barrier(THREADS)

    def call(number: int) -> None:
        start.wait()
        for _ in range(100):
            if not np.array_equal(program(x=given[number])["y"], expected[number]):
                wrong.append(number)

    threads = [threading.Thread(target=call, args=(k,)) for k in range(THREADS)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    assert wrong == []


def test_first_calls_of_a_new_program_may_race() -> None:
    program = softmax_of_product()
    x = np.random.default_rng(5).standard_normal((9, 48)).astype(np.float32)
    results: list[np.ndarray] = []
    start = threading.Barrier(THREADS)

    def call() -> None:
        start.wait()
        results.append(program(x=x)["y"])

    threads = [threading.Thread(target=call) for _ in range(THREADS)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    assert len(results) == THREADS
    assert all(np.array_equal(one, results[0]) for one in results)


def test_results_share_storage_with_nothing() -> None:
    x = ph.input("x", (4,))
    old = ph.state("s", (4,))
    program = ph.compile({"same": x, "next": x + 1, "view": x[::-1], "s": old}, {old: old + x})
    given = np.arange(4, dtype=np.float32)
    first, second = program(x=given), program(x=given)
    arrays = [given, *program.states.values(), *first.values(), *second.values()]
    for place, one in enumerate(arrays):
        assert not any(np.shares_memory(one, other) for other in arrays[place + 1 :])
    kept = {name: array.copy() for name, array in first.items()}
    program(x=given + 5)
    assert all(np.array_equal(first[name], kept[name]) for name in kept)


def resident_bytes() -> int:
    return int(STATM.read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


@pytest.mark.skipif(not STATM.exists(), reason="needs /proc/self/statm to see resident memory")
def test_ten_thousand_calls_do_not_grow_memory() -> None:
    program = softmax_of_product()
    x = np.ones((64, 48), np.float32)
    for _ in range(500):
        program(x=x)
    gc.collect()
    before = resident_bytes()
    for _ in range(CALLS):
        program(x=x)
    gc.collect()
    assert resident_bytes() - before < GROWTH_BYTES


def test_a_program_with_states_serves_threads_one_at_a_time() -> None:
    old = ph.state("total", (3,), "int64")
    program = ph.compile({"before": old}, {old: old + ph.input("x", (3,), "int64")})
    one = np.ones(3, np.int64)
    threads = [
        threading.Thread(target=lambda: [program(x=one) for _ in range(50)]) for _ in range(THREADS)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert program.states["total"].tolist() == [50 * THREADS] * 3
    program.reset()
    assert program(x=one)["before"].tolist() == [0, 0, 0]
    program.states["total"][:] = 7
    assert program(x=one)["before"].tolist() == [7, 7, 7]


def child_result(program: Program, x: np.ndarray, results: object) -> None:
    results.put(program(x=x)["y"])  # type: ignore[attr-defined]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_program_works_in_a_forked_child() -> None:
    program = softmax_of_product()
    x = np.random.default_rng(6).standard_normal((33, 48)).astype(np.float32)
    expected = program(x=x)["y"]
    context = multiprocessing.get_context("fork")
    results = context.Queue()
    child = context.Process(target=child_result, args=(program, x, results))
    child.start()
    assert np.array_equal(results.get(timeout=60), expected)
    child.join(60)
    assert child.exitcode == 0


def test_inputs_are_read_as_they_lie_and_never_changed() -> None:
    program = softmax_of_product()
    whole = np.random.default_rng(7).standard_normal((20, 96)).astype(np.float32)
    strided, transposed = whole[::2, ::2], np.asfortranarray(whole[:10, :48])
    fixed = whole[:10, :48].copy()
    fixed.setflags(write=False)
    for one in (strided, transposed, fixed, whole[::-1, :48][:10]):
        before = one.copy()
        assert np.array_equal(program(x=one)["y"], program(x=np.ascontiguousarray(one))["y"])
        assert np.array_equal(one, before)


def test_scalars_and_empty_sizes_are_arrays_like_any_other() -> None:
    x = ph.input("x", ())
    assert ph.compile({"y": x * 2})(x=np.float32(3))["y"].tolist() == 6
    assert softmax_of_product()(x=np.zeros((0, 48), np.float32))["y"].shape == (0, 40)


@pytest.mark.peers
@pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="needs torch: DLPack")
def test_tensors_of_other_libraries_come_in_by_dlpack() -> None:
    import torch

    program = softmax_of_product()
    x = torch.ones((5, 48))
    assert np.array_equal(program(x=x)["y"], program(x=x.numpy())["y"])


def sized() -> Program:
    n, m = ph.dim("n", 1, 8), ph.dim("m", 1, 8)
    a, b = ph.input("a", (n, m)), ph.input("b", (m,))
    return ph.compile({"y": a + b, "z": ph.arange(ph.dim("k", 0, 4))})


ONES = np.ones((2, 3), np.float32)
BAD_CALLS: tuple[tuple[type[errors.PhoticError], dict[str, object], tuple[str, ...]], ...] = (
    (errors.InputMissing, {"a": ONES, "k": 1}, ("'b'", "a, k")),
    (errors.InputUnknown, {"a": ONES, "b": ONES[0], "k": 1, "c": 1}, ("'c'", "a, b")),
    (errors.InputDtype, {"a": ONES.astype("f8"), "b": ONES[0], "k": 1}, ("float64", "float32")),
    (errors.InputShape, {"a": ONES[0], "b": ONES[0], "k": 1}, ("(3,)", "[n, m]")),
    (errors.SizeConflict, {"a": ONES, "b": ONES[:, 0], "k": 1}, ("'m'", "2", "3")),
    (
        errors.SizeOutOfRange,
        {"a": np.ones((9, 3), np.float32), "b": ONES[0], "k": 1},
        ("9", "1..8"),
    ),
    (errors.SizeOutOfRange, {"a": ONES, "b": ONES[0], "k": 5}, ("'k'", "0..4")),
    (errors.SizeMissing, {"a": ONES, "b": ONES[0]}, ("'k'", "k=17")),
)


@pytest.mark.parametrize(("kind", "given", "parts"), BAD_CALLS)
def test_a_call_that_does_not_fit_says_what_was_given_and_expected(
    kind: type[errors.PhoticError], given: dict[str, object], parts: tuple[str, ...]
) -> None:
    with pytest.raises(kind) as caught:
        sized()(**given)
    assert all(part in str(caught.value) for part in parts)
