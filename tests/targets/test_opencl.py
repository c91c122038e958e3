"""The opencl target runs programs as the c target does; what is missing is said."""

import importlib
import os
import subprocess
import sys
import threading
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from targets import cuda_stand_in
from targets.opencl_cases import disagreements, is_usable

import photic as ph
from photic.ir.dtype import FLOAT32
from photic.targets.launches import packed
from photic.targets.measure import Slot, Trial
from photic.targets.opencl.device import DRIVEN, TARGET
from photic.targets.opencl.errors import OpenclLacks, OpenclMissing, OpenclRefused

pytest.importorskip("pyopencl", reason="pyopencl is not installed: pip install '.[opencl]'")

FUZZ = [seed for seed in range(12) if is_usable(seed)]


def compiled(*given: object) -> ph.Program:
    return ph.compile(*given, target="opencl", search=0)  # type: ignore[arg-type]


def normal(*shape: int) -> np.ndarray:
    return np.random.default_rng(len(shape)).standard_normal(shape).astype(np.float32)


@pytest.fixture(params=["a processor", "its own memory", "groups and short vectors"])
def machine(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Devices that this one can stand for: its facts are what is looked at."""
    changed = {
        "a processor": {},
        "its own memory": {"shares_memory": False},
        "groups and short vectors": {"kind": "gpu", "group": 4, "vector_bytes": 8, "units": 1},
    }[request.param]
    use_facts(monkeypatch, **changed)


def use_facts(monkeypatch: pytest.MonkeyPatch, **changed: object) -> None:
    """The device is as it is, but for these facts."""
    known = DRIVEN.opened()
    other = replace(known, facts=replace(known.facts, **changed))
    monkeypatch.setitem(DRIVEN.used, 0, (os.getpid(), other))


# --- programs -------------------------------------------------------------------------------


def test_one_program_serves_every_size(machine: None) -> None:
    n = ph.dim("n", 0, 300)
    x, w = ph.input("x", (n, 24)), normal(24, 10)
    program = compiled({"y": ph.relu(x @ ph.constant(w)), "rows": ph.sum(x, 0)})
    for count in (7, 300, 0, 1, 7):
        a = normal(count, 24)
        out = program(x=a)
        np.testing.assert_allclose(out["y"], np.maximum(a @ w, 0), rtol=1e-5, atol=1e-5)
        np.testing.assert_allclose(out["rows"], a.sum(0), rtol=1e-5, atol=1e-4)


def test_states_are_kept_from_call_to_call(machine: None) -> None:
    total = ph.state("total", (5,))
    x = ph.input("x", (5,))
    program = ph.compile({"y": total * 2}, {total: total + x}, target="opencl", search=0)
    a = np.arange(5, dtype=np.float32)
    assert [program(x=a)["y"].tolist() for _ in range(3)] == [(a * k).tolist() for k in (0, 2, 4)]
    program.states["total"][...] = 1
    assert program(x=a)["y"].tolist() == [2.0] * 5
    assert program.states["total"].tolist() == (a + 1).tolist()


def test_a_scan_runs_its_body_for_each_step(machine: None) -> None:
    n = ph.dim("n", 1, 50)
    x = ph.input("x", (n, 3))
    _, (every,) = ph.scan(lambda c, row: ((c[0] * 0.5 + row[0],),) * 2, [ph.zeros((3,))], [x])
    program = compiled({"y": every})
    for count in (4, 1, 50):
        a = normal(count, 3)
        want, carried = [], np.zeros(3, np.float32)
        for row in a:
            carried = carried * np.float32(0.5) + row
            want.append(carried)
        np.testing.assert_allclose(program(x=a)["y"], want, rtol=1e-6, atol=1e-6)


def test_kernels_that_need_more_scratch_than_those_before_leave_them_theirs() -> None:
    x, near, far = ph.input("x", (64, 64)), ph.input("near", (64, 64)), ph.input("far", (48, 512))
    wide = ph.concatenate([x] * 8, -1)
    program = compiled({"a": x @ ph.transpose(near), "b": wide @ ph.transpose(far)})
    assert program.artifact.scratch_bytes > 64 * 64 * 4
    a, b, c = normal(64, 64), normal(64, 64) + 1, normal(48, 512)
    for _ in range(3):
        out = program(x=a, near=b, far=c)
        np.testing.assert_allclose(out["a"], a @ b.T, rtol=1e-5, atol=1e-4)
        np.testing.assert_allclose(out["b"], np.tile(a, 8) @ c.T, rtol=1e-5, atol=1e-3)


def test_temporaries_that_ended_before_another_still_do_when_they_are_small() -> None:
    arena = [(0, 128, 10, -1), (0, 64, 64, -2), (64, 192, 100, -3), (128, 256, 1, -4)]
    starts, end = packed(arena)
    assert starts == {-1: 0, -2: 0, -3: 64, -4: 64}
    assert end == 192


def test_a_program_whose_largest_sizes_no_device_holds_runs_at_small_ones(machine: None) -> None:
    n = ph.dim("n", 1, 1 << 20)
    x = ph.input("x", (n, 64))
    wide = ph.cumsum(ph.cumsum(ph.concatenate([x] * 40, -1), 0), -1)
    program = compiled({"y": ph.sum(wide, -1)})
    assert program.artifact.arena_bytes > DRIVEN.opened().facts.buffer_bytes
    for count in (3, 17, 2):
        a = normal(count, 64)
        want = np.cumsum(np.cumsum(np.tile(a.astype(np.float64), 40), 0), -1).sum(-1)
        np.testing.assert_allclose(program(x=a)["y"], want, rtol=1e-4, atol=1)


def test_half_types_bytes_and_bools_go_in_and_out(machine: None) -> None:
    kinds = ["float16", "bfloat16", "int8", "uint8", "bool", "int64", "float64"]
    inputs = {f"x{k}": ph.input(f"x{k}", (37,), kind) for k, kind in enumerate(kinds)}
    program = compiled({f"y{k}": ph.flip(x, 0) for k, x in enumerate(inputs.values())})
    given = {name: (normal(37) * 9).astype(np.dtype(kind)) for name, kind in zip(inputs, kinds)}
    out = program(**given)
    for name, array in given.items():
        assert np.array_equal(out[name.replace("x", "y")], array[::-1])


def test_rounding_happens_after_each_operation(machine: None) -> None:
    x, y = ph.input("x", (64,)), ph.input("y", (64,))
    program = compiled({"a": x * y - 1, "b": x / y, "c": ph.sqrt(x * x), "d": x * 1e-40})
    a, b = normal(64), normal(64) + 3
    out = program(x=a, y=b)
    assert np.array_equal(out["a"], a * b - 1)
    assert np.array_equal(out["b"], a * (1 / b))
    assert np.array_equal(out["c"], np.sqrt(a * a))
    assert np.array_equal(out["d"], a * np.float32(1e-40))
    assert (out["d"] != 0).all()


def test_what_is_not_contiguous_or_aligned_is_read_as_it_is(machine: None) -> None:
    program = compiled({"y": ph.input("x", (6, 5)) + 1})
    bytes_ = np.zeros(6 * 5 * 4 + 4, np.uint8)
    offset = bytes_[4:].view(np.float32).reshape(6, 5)
    offset[...] = normal(6, 5)
    assert np.array_equal(program(x=offset)["y"], offset + 1)
    assert np.array_equal(program(x=normal(5, 6).T)["y"], normal(5, 6).T + 1)


def test_a_bound_call_reads_its_inputs_anew(machine: None) -> None:
    program, a = compiled({"y": ph.input("x", (9,)) * 3}), normal(9)
    bound = program.bind(x=a)
    first = bound.run()["y"].copy()
    a += 1
    assert np.array_equal(bound.run()["y"], a * 3)
    assert not np.array_equal(first, a * 3)


def test_threads_call_one_program_at_once() -> None:
    program = compiled({"y": ph.softmax(ph.input("x", (40, 8)) * 2, -1)})
    arrays = [normal(40, 8) + k for k in range(6)]
    alone = [program(x=one)["y"] for one in arrays]
    found: dict[int, list[np.ndarray]] = {}

    def call(number: int) -> None:
        found[number] = [program(x=arrays[number])["y"] for _ in range(20)]

    threads = [threading.Thread(target=call, args=(k,)) for k in range(6)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    assert all(np.array_equal(y, alone[k]) for k, every in found.items() for y in every)


def test_a_saved_program_is_loaded_for_the_device(tmp_path: Path) -> None:
    n = ph.dim("n", 1, 9)
    program = compiled({"y": ph.exp(ph.input("x", (n,)))})
    program.save(tmp_path / "exp.photic")
    again = ph.load(tmp_path / "exp.photic")
    assert again.artifact.target == "opencl"
    assert np.array_equal(again(x=normal(4))["y"], program(x=normal(4))["y"])


@pytest.mark.parametrize("seed", FUZZ)
def test_random_graphs_give_what_c_and_the_evaluator_give(seed: int) -> None:
    assert disagreements([seed]) == []


# --- trials of the search -------------------------------------------------------------------


def trial_of(program: ph.Program) -> Trial:
    """A program of one input and one output, 5 numbers each, as a trial."""
    slots = (Slot(FLOAT32, 5, 0, 1, False),) * 2
    return Trial(program.artifact.source, slots, (), 0, 0)


def test_the_worker_times_a_trial_and_gives_its_results(machine: None) -> None:
    program, worker = compiled({"y": ph.input("x", (5,)) + 1}), DRIVEN.worker()
    trial, x = trial_of(program), np.arange(5, dtype=np.float32)
    assert worker.build([trial]) == [""]
    places = {program.artifact.inputs[0].slot: x, program.artifact.outputs[0].slot: x * 0}
    out = program.artifact.outputs[0].slot
    found = worker.run(trial, places, (), [out])
    assert isinstance(found, dict) and found[out].tolist() == (x + 1).tolist()
    seconds = worker.sample(trial, 3, 2)
    assert isinstance(seconds, float) and 0 < seconds < 1


def test_the_worker_says_what_does_not_compile() -> None:
    good = trial_of(compiled({"y": ph.input("x", (5,)) + 1}))
    bad = replace(good, text="no C\n" + good.text)
    problems = DRIVEN.worker().build([bad, good])
    assert "P322" in problems[0] and problems[1] == ""


# --- what is missing ------------------------------------------------------------------------


@pytest.fixture
def unopened(monkeypatch: pytest.MonkeyPatch) -> None:
    """No device is open yet; what was opened before is found again afterwards."""
    cuda_stand_in.unopened(monkeypatch, DRIVEN)


def test_without_pyopencl_the_extra_is_named(
    unopened: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "pyopencl", None)
    with pytest.raises(OpenclMissing, match=r"P320.*pyopencl(.|\n)*photic\[opencl\]"):
        compiled({"y": ph.input("x", (3,)) + 1})


def test_without_a_driver_the_extra_is_named(
    unopened: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    cl = importlib.import_module("pyopencl")
    monkeypatch.setattr(cl, "get_platforms", list)
    with pytest.raises(OpenclMissing, match="know of no device"):
        TARGET.facts()


def test_a_device_without_float64_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    use_facts(monkeypatch, doubles=False)
    with pytest.raises(OpenclLacks, match="float64"):
        compiled({"y": ph.input("x", (3,), "float64") + 1})
    assert compiled({"y": ph.input("x", (3,)) + 1})(x=normal(3))["y"].shape == (3,)


def test_what_the_driver_refuses_is_kept_and_named() -> None:
    path = TARGET.build("no C at all\n//: {}\n")
    with pytest.raises(OpenclRefused, match=path.name):
        TARGET.load(path)
    assert path.exists()


def test_a_forked_process_is_told_that_it_cannot() -> None:
    code = """
import os, sys
from photic.targets.opencl.errors import OpenclMissing
from photic.targets.opencl.device import DRIVEN
DRIVEN.opened()
child = os.fork()
if child:
    sys.exit(os.waitpid(child, 0)[1])
try:
    DRIVEN.opened()
except OpenclMissing as error:
    os._exit(0 if "forked" in str(error) else 1)
os._exit(2)
"""
    assert subprocess.run([sys.executable, "-c", code], env=dict(os.environ)).returncode == 0
