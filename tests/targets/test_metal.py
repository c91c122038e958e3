"""The metal target without a device: its text runs on a processor, with address spaces checked.

What stands in for Metal and for pyobjc is in metal_stand_in.py. Metal's own compiler is nowhere in
these tests.
"""

import gc
import re
import sys
from collections.abc import Iterator

import metal_functions
import numpy as np
import opencl_functions as on_device
import pytest
from targets import cuda_cases
from targets.cuda_stand_in import unopened
from targets.metal_stand_in import STATE, modules, use
from targets.opencl_cases import is_usable, results
from typer.testing import CliRunner

import photic as ph
from bench.workloads import WORKLOADS, Workload, inputs_of, naive_attention
from photic.cli.main import app
from photic.cli.targets_check import CHECKS, Check, faults_of
from photic.ir.dtype import FLOAT32
from photic.targets.errors import TooLarge
from photic.targets.measure import Slot, Trial
from photic.targets.metal.device import DRIVEN, TARGET
from photic.targets.metal.dialect import DIALECT, spelled
from photic.targets.metal.errors import MetalFailed, MetalLacks, MetalMissing, MetalRefused
from photic.targets.registry import target_named

SPACES = ("device", "constant", "thread", "PRIVATE")
POINTER = re.compile(r"[\w>] [*&](?=[A-Za-z_)])")
ROUNDED = 3e-6  # of the largest number: sums of a thousand terms in another order
PROMISED_ULP = 2
WITH_FLOAT64 = ("in float64", "integers")  # whole division of int64 goes by float64
POINTERS = 50  # a text has more


def compiled(outputs: dict[str, ph.Tensor]) -> ph.Program:
    return ph.compile(outputs, target="metal", search=0)


@pytest.fixture
def stand_in(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The device; nothing was written behind a buffer."""
    use(monkeypatch)
    yield
    gc.collect()
    assert STATE.faults == 0


# --- programs -------------------------------------------------------------------------------


@pytest.mark.parametrize("check", CHECKS, ids=lambda one: one.name)
def test_the_self_test_of_a_target_finds_nothing_wrong_but_that_there_is_no_float64(
    check: Check, stand_in: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("photic.cli.targets_check.CHECKS", (check,))
    ((_, found),) = faults_of(target_named("metal"))
    assert ("P351" in found) if check.name in WITH_FLOAT64 else not found


@pytest.mark.parametrize("one", WORKLOADS[:3], ids=lambda one: one.name)
def test_workloads_give_what_c_gives_in_either_order_of_items(
    one: Workload, stand_in: None
) -> None:
    program = compiled({"y": one.make()})
    given = inputs_of(program, 1)
    got = program(**given)["y"]
    want = ph.compile({"y": one.make()}, target="c", search=0)(**given)["y"].astype(np.float64)
    np.testing.assert_allclose(got, want, rtol=0, atol=ROUNDED * np.abs(want).max())
    STATE.backwards = 1
    assert np.array_equal(program(**given)["y"], got)


def test_attention_as_the_search_finds_it_is_a_kernel_that_is_right(
    stand_in: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cuda_cases, "DIALECT", DIALECT)
    ((work, candidate),) = cuda_cases.winners({"y": naive_attention(2, 48, 16)})
    assert len(candidate.nests) == 1
    assert cuda_cases.judged(work, candidate, DRIVEN.worker()) == ""


@pytest.mark.parametrize("seed", [seed for seed in range(4) if is_usable(seed)])
def test_random_graphs_give_what_the_evaluator_gives(seed: int, stand_in: None) -> None:
    try:
        assert results(seed, "metal")[2] == []
    except MetalLacks as error:
        assert error.fields["given"] == "float64"


def test_the_worker_times_a_trial_and_gives_its_results(stand_in: None) -> None:
    program, worker = compiled({"y": ph.input("x", (5,)) + 1}), DRIVEN.worker()
    trial = Trial(program.artifact.source, (Slot(FLOAT32, 5, 0, 1, False),) * 2, (), 0, 0)
    assert worker.build([trial]) == [""]
    out, x = program.artifact.outputs[0].slot, np.arange(5, dtype=np.float32)
    found = worker.run(trial, {program.artifact.inputs[0].slot: x, out: x * 0}, (), [out])
    assert isinstance(found, dict) and found[out].tolist() == (x + 1).tolist()


# --- the language ---------------------------------------------------------------------------


@pytest.mark.parametrize("lanes", [1, 4])
def test_a_function_gives_the_numbers_of_c(lanes: int) -> None:
    def chosen(one: on_device.Function) -> bool:
        return metal_functions.is_said(one) and one.operation != "sin"

    assert on_device.differences(metal_functions.apply, lanes, chosen) == []


def test_the_sine_of_every_magnitude_is_within_what_is_promised() -> None:
    every = enumerate(on_device.functions())
    (number,) = (k for k, one in every if (one.operation, one.dtype) == ("sin", "f32"))
    draw = np.random.default_rng(0)
    bits = draw.integers(0, 2**32, 1 << 17, np.uint32).view(np.float32)
    near = np.arange(1, 1 << 12, dtype=np.float32) * np.float32(np.pi)
    x = np.concatenate([bits[np.isfinite(bits)], near, [np.float32(0)]]).astype(np.float32)
    got, exact = metal_functions.apply(number, 1, [x]), np.sin(x.astype(np.float64))
    ulp = np.spacing(np.abs(exact).astype(np.float32)).astype(np.float64)
    assert (np.abs(got - exact) / ulp).max() <= PROMISED_ULP
    for special in (np.inf, -np.inf, np.nan):
        assert np.isnan(metal_functions.apply(number, 1, [np.array([special], np.float32)]))[0]
    zero = metal_functions.apply(number, 1, [np.array([-0.0], np.float32)])
    assert zero[0] == 0 and np.signbit(zero[0])


def test_every_pointer_says_what_memory_it_is_to(stand_in: None) -> None:
    text = spelled(compiled({"y": naive_attention(2, 8, 8)}).artifact.source)
    found = [text[max(0, one.start() - 40) : one.end()] for one in POINTER.finditer(text)]
    assert len(found) > POINTERS
    assert [one for one in found if not any(word in one for word in SPACES)] == []
    assert "double" not in text.rpartition("// ---- what the c target's")[2].partition("typedef")[2]


# --- what is missing ------------------------------------------------------------------------


def test_without_pyobjc_the_list_of_targets_names_the_extra(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "Metal", None)
    unopened(monkeypatch, DRIVEN)
    with pytest.raises(MetalMissing, match=r"P350.*pyobjc-framework-Metal(.|\n)*photic\[metal\]"):
        compiled({"y": ph.input("x", (3,)) + 1})
    result = CliRunner().invoke(app, ["targets"])
    (line,) = [one for one in result.stdout.splitlines() if one.startswith("metal: ")]
    assert result.exit_code == 0 and "not available" in line


def test_a_mac_without_a_device_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, module in modules().items():
        monkeypatch.setitem(sys.modules, name, module)
    monkeypatch.setattr(STATE, "is_here", False)
    unopened(monkeypatch, DRIVEN)
    with pytest.raises(MetalMissing, match="knows of none"):
        TARGET.facts()


def test_a_kernel_of_more_buffers_than_metal_has_is_an_error(stand_in: None) -> None:
    inputs = [ph.input(f"x{k}", (3,)) for k in range(31)]
    with pytest.raises(MetalLacks, match="more than 28 buffers"):
        TARGET.build("void f() { [[buffer(31)]] }\n//: {}\n")
    total = inputs[0]
    for one in inputs[1:20]:
        total = total + one
    x = np.ones(3, np.float32)
    assert compiled({"y": total})(**{f"x{k}": x for k in range(20)})["y"].tolist() == [20.0] * 3


def test_what_metal_refuses_is_kept_and_named(stand_in: None) -> None:
    path = TARGET.build("no C at all\n//: {}\n")
    with pytest.raises(MetalRefused, match=path.name):
        TARGET.load(path)


def test_a_launch_that_fails_is_an_error_with_metals_words(stand_in: None) -> None:
    program = compiled({"y": ph.input("x", (3,)) + 1})
    STATE.problem = "the device was taken out"
    with pytest.raises(MetalFailed, match=r"P353.*taken out"):
        program(x=np.ones(3, np.float32))
    STATE.problem = ""


def test_a_buffer_that_the_device_cannot_hold_is_too_large(stand_in: None) -> None:
    program = compiled({"y": ph.input("x", (1000,)) + 1})
    STATE.most_bytes = 100
    with pytest.raises(TooLarge, match="P208"):
        program(x=np.ones(1000, np.float32))
