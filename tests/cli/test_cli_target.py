"""``--target``: what computes is chosen by name, of several devices by number or part of a name."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from photic.cli import targets_check
from photic.cli.main import app

runner = CliRunner()

DOUBLED = "v0: float32[4] = input('x')\nv1: float32[4] = add(v0, v0)\noutput('y', v1)\n"
COMMANDS = {
    "run": ["run", "m", "Why?"],
    "chat": ["chat", "m"],
    "compile": ["compile", "{file}", "-o", "{file}.photic"],
    "bench": ["bench", "{file}"],
    "bench-llm": ["bench-llm", "m"],
    "tune": ["tune", "m"],
    "explain": ["explain", "m"],
}


@pytest.fixture(autouse=True)
def usual(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a command sets is not there for the next test."""
    monkeypatch.setenv("PHOTIC_TARGET", "")


@pytest.fixture
def graph(tmp_path: Path) -> Path:
    path = tmp_path / "g.txt"
    path.write_text(DOUBLED)
    np.save(tmp_path / "x.npy", np.arange(4, dtype=np.float32))
    return path


def ran(program: Path, *more: str) -> list[str]:
    """The words of a command that runs a saved program."""
    given = f"x={program.parent / 'x.npy'}"
    return ["run", str(program), "--input", given, *more]


@pytest.mark.parametrize("command", COMMANDS)
def test_a_target_that_is_not_there_ends_the_command_with_a_list(command: str, graph: Path) -> None:
    words = [one.format(file=graph) for one in COMMANDS[command]]
    result = runner.invoke(app, [*words, "--target", "abacus"])
    assert result.exit_code == 1
    first, *lines = result.stderr.splitlines()
    assert "P509" in first and "abacus" in first
    assert "c: available" in lines
    assert all(any(one.startswith(f"{name}: ") for one in lines) for name in ("opencl", "metal"))


def test_a_target_of_one_device_has_no_others(graph: Path) -> None:
    words = ["compile", str(graph), "-o", f"{graph}.photic", "--target", "c:1"]
    assert "P509" in runner.invoke(app, words).stderr


def test_a_program_runs_on_the_target_that_it_was_compiled_for(graph: Path) -> None:
    pytest.importorskip("pyopencl", reason="pyopencl is not installed: pip install '.[opencl]'")
    program, y = graph.with_suffix(".photic"), graph.with_name("y.npy")
    words = ["compile", str(graph), "-o", str(program), "--target", "opencl"]
    assert runner.invoke(app, words).exit_code == 0
    for target in ([], ["--target", "opencl:0"]):
        result = runner.invoke(app, ran(program, "--output", f"y={y}", *target))
        assert (result.exit_code, result.stderr) == (0, "")
        assert np.load(y).tolist() == [0.0, 2.0, 4.0, 6.0]
    result = runner.invoke(app, ran(program, "--target", "c"))
    assert result.exit_code == 2 and "was compiled for opencl" in result.stderr


def test_the_self_test_runs_on_a_device(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("pyopencl", reason="pyopencl is not installed: pip install '.[opencl]'")
    monkeypatch.setattr(targets_check, "CHECKS", targets_check.CHECKS[:1])
    result = runner.invoke(app, ["targets", "--check", "opencl:0"])
    assert result.stdout == "opencl:0: one rounding for each operation: right\n"
    assert "P509" in runner.invoke(app, ["targets", "--check", "opencl:9"]).stderr


def test_of_two_devices_one_is_chosen_by_a_part_of_its_name(graph: Path) -> None:
    pytest.importorskip("pocl_binary_distribution", reason="PoCL is not installed")
    environment = os.environ | {"POCL_DEVICES": "basic pthread", "PHOTIC_TARGET": "opencl"}
    code = """
import sys
from photic.targets.registry import target_named
from photic.cli.main import app
print([target_named(one).facts().device.partition("-")[0] for one in sys.argv[1:4]])
print(app(sys.argv[4:], standalone_mode=False))
"""
    program = graph.with_suffix(".photic")
    words = ["compile", str(graph), "-o", str(program), "--target", "opencl:pthread"]
    command = [sys.executable, "-c", code, "opencl", "opencl:pthread", "opencl:0", *words]
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("['basic', 'pthread', 'basic']\n")
    words = ran(program, "--target", "opencl:processor")
    command = [sys.executable, "-m", "photic.cli.main", *words]
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert done.returncode == 1 and "0 basic-" in done.stderr and "1 pthread-" in done.stderr
