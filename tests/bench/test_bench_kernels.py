"""The benches of ceilings, kernels and calls: what they say of figures, and that sides agree."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

import photic as ph

BENCH = Path(__file__).resolve().parents[2] / "bench"
NAMES = ("common", "ceilings", "kernel_workloads", "kernel_peers", "kernels", "calls")
GIGA = 1e9

needs_torch = pytest.mark.skipif(find_spec("torch") is None, reason="PyTorch is not installed")


@pytest.fixture(scope="module")
def bench() -> Iterator[dict[str, ModuleType]]:
    path = list(sys.path)
    sys.path.insert(0, str(BENCH))
    yield {name: importlib.import_module(name) for name in NAMES}
    sys.path[:] = path
    for name in NAMES:
        sys.modules.pop(name)
    if torch := sys.modules.get("torch"):  # which the benches keep no gradients of
        torch.set_grad_enabled(True)


# --- workloads ------------------------------------------------------------------------------


def test_workloads_have_names_of_their_own(bench: dict[str, ModuleType]) -> None:
    names = [one.name for one in bench["kernel_workloads"].WORKS]
    assert len(set(names)) == len(names)


@pytest.mark.peers
@needs_torch
def test_results_have_the_shapes_and_dtypes_of_the_peer(bench: dict[str, ModuleType]) -> None:
    import torch

    for work in bench["kernel_workloads"].WORKS:
        given = [(one.shape, one.dtype) for one in work.inputs]
        made = work.make(*(ph.input(f"x{k}", *one) for k, one in enumerate(given)))
        tensors = [torch.empty(n, dtype=getattr(torch, d), device="meta") for n, d in given]
        peer = work.peer(torch, *tensors)
        sides = [one if isinstance(one, tuple) else (one,) for one in (made, peer)]
        ours, theirs = ([(tuple(one.shape), _name(one.dtype)) for one in side] for side in sides)
        assert ours == theirs, work.name


def _name(dtype: object) -> str:
    return str(dtype).removeprefix("torch.")


@pytest.mark.peers
@needs_torch
def test_the_judge_takes_the_peer_for_right_and_a_wrong_result_not(
    bench: dict[str, ModuleType],
) -> None:
    work = bench["kernel_workloads"].product_of("small", (5, 7), (7, 3), "float32")
    arrays = [one.made(np.random.default_rng(0)) for one in work.inputs]
    right = arrays[0] @ arrays[1]
    found = bench["kernels"].errors_of(work, arrays, [right])
    assert found["right"] == "yes" and found["error"] < 2
    right[2, 1] += 1e-4
    assert bench["kernels"].errors_of(work, arrays, [right])["right"] == "NO"


@pytest.mark.peers
@needs_torch
def test_exact_functions_count_what_differs(bench: dict[str, ModuleType]) -> None:
    work = bench["kernel_workloads"].in_order((6,))
    array = np.array([3, 1, 2, 6, 4, 5], np.float32)
    found = bench["kernels"].errors_of(work, [array], [np.sort(array)])
    assert (found["error"], found["right"]) == (0, "yes")
    assert bench["kernels"].errors_of(work, [array], [array])["error"] == 6


# --- families -------------------------------------------------------------------------------


def figure(name: str, speed: float, share: float = 0.1) -> dict[str, str | float]:
    return {
        "family": "convolution",
        "workload": name,
        "speed": speed,
        "share": share,
        "peer_share": share,
    }


def test_a_family_reaches_its_bars_by_mean_and_by_the_least(bench: dict[str, ModuleType]) -> None:
    means_of = bench["kernels"].means_of
    (fast,) = means_of([figure("a", 2.0), figure("b", 0.8)])
    assert fast["mean"] == pytest.approx(1.6**0.5) and fast["reached"] == "yes"
    (uneven,) = means_of([figure("a", 4.0), figure("b", 0.7)])
    assert (uneven["reached"], uneven["below"], uneven["of"]) == ("NO", 1, "b")
    (slow,) = means_of([figure("a", 0.9), figure("b", 0.9)])
    assert (slow["reached"], slow["below"]) == ("NO", 0)


def test_a_workload_that_failed_counts_in_no_mean(bench: dict[str, ModuleType]) -> None:
    failed = {"family": "convolution", "workload": "c", "problem": "no kernel"}
    (mean,) = bench["kernels"].means_of([figure("a", 1.5), failed])
    assert mean["workloads"] == 1 and mean["mean"] == pytest.approx(1.5)


def test_near_the_ceiling_a_peer_may_be_a_little_faster(bench: dict[str, ModuleType]) -> None:
    rows = {"family": "rows"}
    near = [{**figure("a", 2.0), **rows}, {**figure("b", 0.96, share=0.9), **rows}]
    assert bench["kernels"].means_of(near)[0]["below"] == 0
    far = [{**figure("a", 2.0), **rows}, {**figure("b", 0.96, share=0.5), **rows}]
    assert bench["kernels"].means_of(far)[0]["below"] == 1


def test_the_markdown_has_a_line_for_each_workload(bench: dict[str, ModuleType]) -> None:
    more = {
        "photic_ms": 1.0,
        "peer": "torch",
        "peer_ms": 2.0,
        "error": 0.5,
        "peer_error": 0.5,
        "binds": "memory",
    }
    failed = {"family": "rows", "workload": "b", "problem": "too large"}
    text = bench["kernels"].markdown([{**figure("a", 2.0), **more}, failed], 30.0)
    assert "| a | 1 | torch | 2 | 2.00 | 0.5, 0.5 | 10% memory |" in text
    assert "| b | too large | | | | | |" in text


# --- ceilings -------------------------------------------------------------------------------


def roofs(ceilings: ModuleType) -> object:
    """An imagined machine: 100 Gflop/s in float32, 1000 in bfloat16; memory slower than caches."""
    threads = max(ceilings.THREADS)
    rates = (
        ceilings.Rate("f32", "float32", threads, 100 * GIGA),
        ceilings.Rate("bf16", "bfloat16", threads, 1000 * GIGA),
        ceilings.Rate("int8", "int8", threads, 0.0, "not here"),
    )
    known = [("read", 1 << 10, 40.0), ("read", 1 << 20, 20.0), ("copy", 1 << 20, 10.0)]
    known.append(("write", 1 << 20, 5.0))
    found = tuple(ceilings.Bandwidth(k, k, threads, size, rate * GIGA) for k, size, rate in known)
    return ceilings.Roofs(rates, found)


def test_bandwidth_between_two_sizes_lies_between_theirs(bench: dict[str, ModuleType]) -> None:
    known = roofs(bench["ceilings"])
    assert [known.memory("read", 1 << n) / GIGA for n in (5, 10, 15, 20, 30)] == [
        40, 40, 30, 20, 20,
    ]  # fmt: skip


def test_what_is_read_and_written_moves_as_a_copy_and_the_rest_alone(
    bench: dict[str, ModuleType],
) -> None:
    known, million = roofs(bench["ceilings"]), 1 << 20
    assert known.moving(million, 0) == pytest.approx(million / (20 * GIGA))
    both = 2 * million / (10 * GIGA)
    assert known.moving(million, million) == pytest.approx(both)
    assert known.moving(million, 3 * million) == pytest.approx(both + 2 * million / (5 * GIGA))


def test_the_slower_of_arithmetic_and_memory_binds(bench: dict[str, ModuleType]) -> None:
    known = roofs(bench["ceilings"])
    assert known.least("float32", 10**9, 1000, 0) == (0.01, "arithmetic")
    assert known.least("bfloat16", 10**9, 1000, 0) == (0.001, "arithmetic")
    assert known.least("int8", 10**9, 1000, 0) == (0.01, "arithmetic")  # no unit of its own
    assert known.least("float32", 10, 1 << 20, 0)[1] == "memory"


def test_every_probe_of_this_machine_runs(
    bench: dict[str, ModuleType], monkeypatch: pytest.MonkeyPatch
) -> None:
    ceilings = bench["ceilings"]
    monkeypatch.setattr(ceilings, "SAMPLE_SECONDS", 1e-4)
    found = ceilings.measured((1 << 14,), (1, 2), 1)
    for one in found.rates:
        assert bool(one.rate > 0) != bool(one.problem), one.name
    assert len(found.bandwidths) == 2 * len(ceilings.WAYS)
    assert all(one.rate > 0 for one in found.bandwidths)
    assert found.arithmetic("bfloat16") > 0
    assert len(found.figures()) == 2 * len(ceilings.UNITS) + 2


# --- calls ----------------------------------------------------------------------------------


def test_bound_calls_give_what_plain_calls_give(bench: dict[str, ModuleType]) -> None:
    for kind in bench["calls"].KINDS:
        program, arrays = kind.make(), kind.arrays()
        plain = {name: one.copy() for name, one in program(**arrays).items()}
        if program.states:
            program.reset()
        for name, one in program.bind(**arrays).run().items():
            np.testing.assert_array_equal(one, plain[name])
