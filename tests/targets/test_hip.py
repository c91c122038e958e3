"""The hip target without a device: its text runs on a processor, Clang compiles it for AMD's.

What it shares with the cuda target, the driver's calls but for their names, is tested there.
"""

import gc
import re
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import opencl_functions as on_device
import pytest
from targets.cuda_cases import winner_texts
from targets.cuda_stand_in import number, unopened
from targets.hip_stand_in import use
from targets.opencl_cases import is_usable, results
from targets.test_cuda_nvrtc import functions, require_no_spills
from typer.testing import CliRunner

import photic as ph
from bench.workloads import matmul
from photic.cli.main import app
from photic.cli.targets_check import CHECKS, Check, faults_of
from photic.targets.hip import compiler, device
from photic.targets.hip.device import DRIVEN, HIP, TARGET
from photic.targets.hip.dialect import DIALECT
from photic.targets.hip.errors import HipMissing, HipRefused
from photic.targets.kernel_files import Refused
from photic.targets.measure import Trial
from photic.targets.registry import target_named

SINGLE = 7  # of the first checks, whose functions are the cuda target's
ARCHITECTURES = ("gfx90a", "gfx1100")  # an MI200, a Radeon RX 7900


@pytest.fixture
def stand_in(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The driver; nothing was written beside a buffer, and all was given back."""
    found = use(monkeypatch)
    yield
    gc.collect()
    assert number(found, "faults").value == 0
    assert number(found, "live").value == 0


@pytest.mark.parametrize("check", CHECKS[SINGLE:], ids=lambda one: one.name)
def test_the_self_test_of_a_target_finds_nothing_wrong(
    check: Check, stand_in: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("photic.cli.targets_check.CHECKS", (check,))
    assert list(faults_of(target_named("hip"))) == [(check.name, "")]


def test_half_types_are_cast_as_c_casts_them(stand_in: None) -> None:
    x = np.concatenate([np.logspace(-9, 6, 90), [np.inf, -np.inf, np.nan, 65519, 65520]])
    given = x.astype(np.float32)
    program = ph.compile({"y": ph.input("x", (95,)).astype("float16")}, target="hip", search=0)
    with np.errstate(over="ignore"):
        np.testing.assert_array_equal(program(x=given)["y"], given.astype(np.float16))


def test_products_of_groups_give_what_the_c_target_gives(stand_in: None) -> None:
    x, y = ph.input("x", (70, 50)), ph.input("y", (50, 40))
    program = ph.compile({"z": ph.relu(x @ y)}, target="hip", search=0)
    assert "group_sums" in program.artifact.source
    rng = np.random.default_rng(0)
    given = {
        one.name: rng.standard_normal(one.shape).astype(np.float32)
        for one in program.artifact.inputs
    }
    want = ph.compile({"z": ph.relu(x @ y)}, target="c", search=0)(**given)["z"]
    np.testing.assert_allclose(program(**given)["z"], want, rtol=0, atol=3e-6 * want.max())


@pytest.mark.parametrize("seed", [seed for seed in range(4) if is_usable(seed)][:2])
def test_random_graphs_give_what_the_evaluator_gives(seed: int, stand_in: None) -> None:
    assert results(seed, "hip")[2] == []


def test_what_the_compiler_refuses_is_kept_and_named(
    stand_in: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(text: str, architecture: str) -> bytes:
        raise Refused(f"no kernel in {text} for {architecture}")

    monkeypatch.setattr(compiler, "machine_code", refuse)
    with pytest.raises(HipRefused, match=r"P341(.|\n)*for gfx90a") as error:
        TARGET.build("nothing\n//: {}\n")
    assert error.value.fields["path"].read_text() == "nothing\n"
    assert "P341" in DRIVEN.worker().build([Trial("nothing\n//: {}\n", (), (), 0, 0)])[0]


def test_without_a_driver_the_list_of_targets_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    absent = replace(HIP, file="libamdhip64-that-is-not-there.so")
    monkeypatch.setattr(device, "HIP", absent)
    unopened(monkeypatch, DRIVEN)
    with pytest.raises(HipMissing, match=r"P340.*no AMD driver(.|\n)*ROCm"):
        ph.compile({"y": ph.input("x", (3,)) + 1}, target="hip", search=0)
    result = CliRunner().invoke(app, ["targets"])
    (line,) = [one for one in result.stdout.splitlines() if one.startswith("hip: ")]
    assert result.exit_code == 0 and "not available" in line and "no device was found" in line


def test_a_driver_that_does_not_name_the_architecture_is_an_error(
    stand_in: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(device, "ARCHITECTURE", re.compile(b"no such name"))
    with pytest.raises(HipMissing, match="which architecture"):
        device.architecture_of(0)


# --- Clang ----------------------------------------------------------------------------------


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_the_winner_of_a_matmul_compiles_without_spills(architecture: str) -> None:
    for text in winner_texts({"y": matmul()}, "sm_80", DIALECT):
        require_no_spills(compiler.resources(text, architecture))


def test_a_code_object_is_for_the_device() -> None:
    (text,) = winner_texts({"y": ph.input("x", (8,)) + 1}, "sm_80", DIALECT)
    code = compiler.machine_code(text, "gfx1100")
    assert code[:4] == b"\x7fELF" and b"amdgcn-amd-amdhsa--gfx1100" in code


@pytest.mark.parametrize("lanes", [1, 4])
def test_every_function_compiles(lanes: int) -> None:
    every = tuple(sorted({one.dtype for one in on_device.functions()}))
    dtypes = every if lanes == 1 else ("f32", "f16")
    text = functions(lanes, dtypes, DIALECT).replace("threadIdx.x", "0")
    assert len(compiler.resources(text, "gfx90a")) == 1


def test_what_clang_refuses_is_said_in_its_words() -> None:
    with pytest.raises(Refused, match="unknown type name"):
        compiler.machine_code("no HIP at all", "gfx90a")
