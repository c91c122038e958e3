"""The cuda target without a device: its text runs on a processor, and what is missing is said.

A C library stands in for the driver, the compiler of the c target for NVRTC (cuda_stand_in.py).
"""

import ctypes
import gc
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from targets.cuda_cases import judged, winners
from targets.cuda_stand_in import group_memory, number, unopened, use
from targets.opencl_cases import is_usable, results
from typer.testing import CliRunner

import photic as ph
from bench.workloads import WORKLOADS, Workload, inputs_of, naive_attention
from photic.cli.main import app
from photic.cli.targets_check import CHECKS, Check, faults_of
from photic.ir.dtype import FLOAT32
from photic.targets import driver, launches
from photic.targets.cuda import compiler, device
from photic.targets.cuda.device import CUDA, DRIVEN, TARGET
from photic.targets.cuda.errors import CudaFailed, CudaMissing, CudaRefused
from photic.targets.errors import LoadRefused, TooLarge
from photic.targets.kernel_files import Refused
from photic.targets.measure import Slot, Trial
from photic.targets.registry import target_named

SINGLE = 7  # of the first checks, whose functions are tested one by one
FUZZ = [seed for seed in range(4) if is_usable(seed)]
ROUNDED = 3e-6  # of the largest number: sums of a thousand terms in another order

compiled = partial(ph.compile, target="cuda", search=0)


def normal(*shape: int) -> np.ndarray:
    return np.random.default_rng(len(shape)).standard_normal(shape).astype(np.float32)


@pytest.fixture
def stand_in(monkeypatch: pytest.MonkeyPatch) -> Iterator[ctypes.CDLL]:
    """The driver; nothing was written beside a buffer, and all was given back."""
    found = use(monkeypatch)
    yield found
    gc.collect()
    assert number(found, "faults").value == 0
    assert number(found, "live").value == 0


# --- programs -------------------------------------------------------------------------------


@pytest.mark.parametrize("check", CHECKS[SINGLE:], ids=lambda one: one.name)
def test_the_self_test_of_a_target_finds_nothing_wrong(
    check: Check, stand_in: ctypes.CDLL, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("photic.cli.targets_check.CHECKS", (check,))
    assert list(faults_of(target_named("cuda"))) == [(check.name, "")]
    assert number(stand_in, "launches").value > 0


@pytest.mark.parametrize("one", WORKLOADS, ids=lambda one: one.name)
def test_workloads_give_what_c_gives(one: Workload, stand_in: ctypes.CDLL) -> None:
    program = compiled({"y": one.make()})
    given = inputs_of(program, 1)
    got = program(**given)["y"]
    want = ph.compile({"y": one.make()}, target="c", search=0)(**given)["y"].astype(np.float64)
    np.testing.assert_allclose(got, want, rtol=0, atol=ROUNDED * np.abs(want).max())


@pytest.mark.parametrize("one", WORKLOADS[:3], ids=lambda one: one.name)
def test_the_order_of_work_items_changes_nothing(one: Workload, stand_in: ctypes.CDLL) -> None:
    program = compiled({"y": one.make()})
    given = inputs_of(program, 1)
    forwards = program(**given)["y"]
    number(stand_in, "backwards").value = 1
    backwards = program(**given)["y"]
    number(stand_in, "backwards").value = 0
    assert np.array_equal(forwards, backwards)


def test_fused_kernels_of_the_search_compute_what_was_written(stand_in: ctypes.CDLL) -> None:
    made = {
        "attention": naive_attention(2, 48, 16),
        "an entropy": -ph.sum(ph.log_softmax(ph.input("x", (24, 70))) * ph.input("t", (24, 70)), 1),
    }
    for name, tensor in made.items():
        for work, candidate in winners({"y": tensor}):
            assert len(candidate.nests) == 1, name
            assert judged(work, candidate, DRIVEN.worker()) == "", name


@pytest.mark.parametrize("seed", FUZZ)
def test_random_graphs_give_what_the_evaluator_gives(seed: int, stand_in: ctypes.CDLL) -> None:
    assert results(seed, "cuda")[2] == []


def test_threads_call_one_program_at_once(stand_in: ctypes.CDLL) -> None:
    program = compiled({"y": ph.input("x", (40, 8)) * 2 + ph.constant(normal(40, 8))})
    arrays = [normal(40, 8) + k for k in range(4)]
    alone = [program(x=one)["y"] for one in arrays]
    found: dict[int, list[np.ndarray]] = {}

    def call(k: int) -> None:
        found[k] = [program(x=arrays[k])["y"] for _ in range(20)]

    threads = [threading.Thread(target=call, args=(k,)) for k in range(4)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    assert all(np.array_equal(y, alone[k]) for k, every in found.items() for y in every)


def test_scratch_that_would_not_fit_is_shared_by_turns(
    stand_in: ctypes.CDLL, monkeypatch: pytest.MonkeyPatch
) -> None:
    x, w = ph.input("x", (640, 64)), ph.exp(ph.input("w", (48, 64)))
    y = ph.max(x[:, None, :] * w[None, :, :], axis=2)
    with group_memory(0):  # so that it is work-items' own
        program = compiled({"y": y})
    assert program.artifact.scratch_bytes > 0 and "__shared__" not in program.artifact.source
    given = {"x": normal(640, 64), "w": normal(48, 64)}
    whole = program(**given)["y"]
    monkeypatch.setattr(launches, "SCRATCH_BYTES", 1)  # one group at a time
    with group_memory(0):
        again = compiled({"y": y})(**given)["y"]
    assert np.array_equal(whole, again)


def test_a_buffer_that_the_device_cannot_hold_is_too_large(stand_in: ctypes.CDLL) -> None:
    program = compiled({"y": ph.input("x", (1000,)) + 1})
    most = ctypes.c_longlong.in_dll(stand_in, "photic_most_bytes")
    most.value, before = 100, most.value
    with pytest.raises(TooLarge, match="P208"):
        program(x=normal(1000))
    most.value = before


# --- files and trials -----------------------------------------------------------------------


def test_a_file_that_was_changed_is_not_loaded(stand_in: ctypes.CDLL) -> None:
    path = TARGET.build(compiled({"y": ph.input("x", (3,)) + 1}).artifact.source)
    whole = path.read_bytes()
    try:
        path.write_bytes(whole[:-1] + b"!")
        with pytest.raises(LoadRefused, match="not the one that was written"):
            TARGET.load(path)
    finally:
        path.write_bytes(whole)


def test_what_the_compiler_refuses_is_kept_and_named(
    stand_in: ctypes.CDLL, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(text: str, architecture: str) -> bytes:
        raise Refused(f"no kernel in {text} for {architecture}")

    monkeypatch.setattr(compiler, "machine_code", refuse)
    with pytest.raises(CudaRefused, match=r"P331(.|\n)*for sm_80") as error:
        TARGET.build("nothing\n//: {}\n")
    assert error.value.fields["path"].read_text() == "nothing\n"


def test_the_worker_times_a_trial_and_gives_its_results(stand_in: ctypes.CDLL) -> None:
    program, worker = compiled({"y": ph.input("x", (5,)) + 1}), DRIVEN.worker()
    slots = (Slot(FLOAT32, 5, 0, 1, False),) * 2
    trial = Trial(program.artifact.source, slots, (), 0, 0)
    assert worker.build([trial]) == [""]
    out = program.artifact.outputs[0].slot
    x = np.arange(5, dtype=np.float32)
    found = worker.run(trial, {program.artifact.inputs[0].slot: x, out: x * 0}, (), [out])
    assert isinstance(found, dict) and found[out].tolist() == (x + 1).tolist()
    seconds = worker.sample(trial, 3, 2)
    assert isinstance(seconds, float) and 0 < seconds < 1


# --- what is missing ------------------------------------------------------------------------


@pytest.fixture
def unknown(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """No device was looked for yet; nothing of this test is remembered."""
    caches = (driver.loaded, compiler._loaded, compiler.version)
    unopened(monkeypatch, DRIVEN)
    for one in caches:
        one.cache_clear()
    yield
    for one in caches:
        one.cache_clear()


@pytest.fixture
def without_driver(unknown: None, monkeypatch: pytest.MonkeyPatch) -> None:
    absent = replace(CUDA, file="libcuda-that-is-not-there.so.1")
    monkeypatch.setattr(device, "CUDA", absent)


def test_without_a_driver_the_target_says_that_no_device_was_found(without_driver: None) -> None:
    with pytest.raises(CudaMissing, match=r"P330.*no device was found.*no NVIDIA driver"):
        compiled({"y": ph.input("x", (3,)) + 1})


def test_the_list_of_targets_says_that_no_device_was_found(without_driver: None) -> None:
    result = CliRunner().invoke(app, ["targets"])
    assert result.exit_code == 0
    lines = [one for one in result.stdout.splitlines() if one.startswith("cuda: ")]
    assert len(lines) == 1 and "not available" in lines[0] and "no device was found" in lines[0]


def test_a_driver_without_a_device_says_so(unknown: None, stand_in: ctypes.CDLL) -> None:
    number(stand_in, "devices").value = 0
    try:
        with pytest.raises(CudaMissing, match="knows of none"):
            CUDA.device(0)
    finally:
        number(stand_in, "devices").value = 1


def test_without_nvrtc_the_extra_is_named(unknown: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compiler, "_packaged", lambda: iter(()))
    monkeypatch.setattr(compiler, "SYSTEM_NAMES", ())
    with pytest.raises(CudaMissing, match=r"NVRTC was not found(.|\n)*photic\[cuda\]"):
        compiler.version()


def test_what_the_driver_refuses_is_an_error_with_its_words(stand_in: ctypes.CDLL) -> None:
    known = DRIVEN.opened()
    with known.using(), pytest.raises(CudaFailed, match=r"P332.*cuModuleLoadData.*invalid"):
        CUDA.module_of(known.context, b"not there\0")


def test_a_forked_process_is_told_that_it_cannot() -> None:
    code = """
import os, sys
from photic.targets.cuda.device import DRIVEN
from photic.targets.cuda.errors import CudaMissing
DRIVEN.used[0] = os.getpid(), None
DRIVEN.opened()
child = os.fork()
if child:
    sys.exit(os.waitpid(child, 0)[1])
try:
    DRIVEN.opened()
except CudaMissing as error:
    os._exit(0 if "forked" in str(error) else 1)
os._exit(2)
"""
    assert subprocess.run([sys.executable, "-c", code], env=dict(os.environ)).returncode == 0
