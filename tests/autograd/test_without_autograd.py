"""The rest of the package works without the folder of gradients."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

TOP = Path(__file__).resolve().parents[2]
# A part of the core's tests that takes seconds: graphs, views, the evaluator, compiled loops.
SOME = (
    "tests/ir/test_graph.py",
    "tests/forms/test_movement.py",
    "tests/forms/test_eval.py",
    "tests/loops/test_scans.py",
)


@pytest.fixture(scope="module")
def copied(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The tree with a package that lacks ``autograd``."""
    top = tmp_path_factory.mktemp("without")
    left_out = shutil.ignore_patterns("autograd", "__pycache__")
    shutil.copytree(TOP / "photic", top / "photic", ignore=left_out)
    shutil.copytree(TOP / "tests", top / "tests", ignore=left_out)
    shutil.copy(TOP / "pyproject.toml", top)
    return top


def run(copied: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": str(copied)}
    command = [sys.executable, *arguments]
    return subprocess.run(
        command, cwd=copied, env=environment, capture_output=True, text=True, check=False
    )


def test_the_cores_tests_pass(copied: Path) -> None:
    result = run(copied, "-m", "pytest", "-q", "-n", "0", "-p", "no:cacheprovider", *SOME)
    assert result.returncode == 0, result.stdout[-3000:] + result.stderr[-1000:]


def test_everything_is_there_but_the_gradients(copied: Path) -> None:
    script = """
import photic as ph
assert ph.__file__.startswith({top!r}), ph.__file__
ph.compile(ph.relu(ph.input("x", (3,))), search=0)
try:
    ph.grad
except ModuleNotFoundError as error:
    print(error)
"""
    result = run(copied, "-c", script.format(top=str(copied)))
    assert "photic.autograd" in result.stdout, result.stderr
