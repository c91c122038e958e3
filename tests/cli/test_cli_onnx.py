"""``photic compile`` of an ONNX model, and ``photic run`` of what it made."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from frontends.onnx.onnx_models import graph_proto, model_proto, node, port
from typer.testing import CliRunner

from photic.cli.main import app

runner = CliRunner()
USAGE = 2  # the exit code of wrong options


@pytest.fixture
def model(tmp_path: Path) -> Path:
    """y = |x| of a batch of rows."""
    graph = graph_proto([node("Abs", ["x"], ["y"])], [port("x", ["n", 3])], [port("y", None)])
    path = tmp_path / "m.onnx"
    path.write_bytes(model_proto(graph).SerializeToString())
    return path


def test_a_model_is_compiled_for_a_range_and_run_on_arrays_in_files(
    model: Path, tmp_path: Path
) -> None:
    out, x = tmp_path / "m.photic", -np.arange(6, dtype=np.float32).reshape(2, 3)
    made = runner.invoke(app, ["compile", str(model), "-o", str(out), "--dim", "n=1..4"])
    assert made.exit_code == 0, made.output
    np.save(tmp_path / "x.npy", x)
    files = ["--input", f"x={tmp_path / 'x.npy'}", "--output", f"y={tmp_path / 'y.npy'}"]
    ran = runner.invoke(app, ["run", str(out), *files])
    assert (ran.exit_code, ran.stdout) == (0, "y: float32[2, 3]\n"), ran.output
    assert np.load(tmp_path / "y.npy").tolist() == np.abs(x).tolist()


@pytest.mark.parametrize("dim", ["n", "n=", "n=4..", "n=a", "=3"])
def test_a_size_that_is_none_is_refused(model: Path, tmp_path: Path, dim: str) -> None:
    result = runner.invoke(app, ["compile", str(model), "-o", str(tmp_path / "o"), "--dim", dim])
    assert result.exit_code == USAGE


def test_a_file_that_holds_no_array_is_said(model: Path, tmp_path: Path) -> None:
    out = tmp_path / "m.photic"
    runner.invoke(app, ["compile", str(model), "-o", str(out), "--dim", "n=2"])
    (tmp_path / "x.npy").write_bytes(b"no array")
    ran = runner.invoke(app, ["run", str(out), "--input", f"x={tmp_path / 'x.npy'}"])
    assert ran.exit_code == 1
    assert "[P508]" in ran.stderr
