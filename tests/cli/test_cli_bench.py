"""``photic bench``: models and saved programs beside other runtimes, in processes of their own."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path

import numpy as np
import pytest
from frontends.onnx.onnx_models import graph_proto, model_proto, node, port
from typer.testing import CliRunner

import photic as ph
from photic.cli import bench_worker
from photic.cli.bench_runs import largest_error
from photic.cli.main import app
from photic.cli.peer_process import PeerProcess
from photic.frontends.onnx.records import Port
from photic.frontends.onnx.sizes import unsaid

runner = CliRunner()
USAGE = 2  # the exit code of wrong options
PEER = "onnxruntime"
OTHER = "openvino"


@pytest.fixture
def model(tmp_path: Path) -> Path:
    """y = |x| of a batch of rows."""
    graph = graph_proto([node("Abs", ["x"], ["y"])], [port("x", ["n", 3])], [port("y", None)])
    path = tmp_path / "m.onnx"
    path.write_bytes(model_proto(graph).SerializeToString())
    return path


def heads(output: str) -> list[str]:
    return [line.split()[0] for line in output.splitlines()[2:]]


def test_a_model_alone_has_one_row(model: Path) -> None:
    result = runner.invoke(app, ["bench", str(model), "-r", "2", "--dim", "n=4"])
    assert result.exit_code == 0, result.output
    assert result.stdout.startswith("x float32[4, 3]\nprogram")
    assert heads(result.stdout) == ["photic"]


def test_sizes_of_which_nothing_is_said_are_one_and_of_a_range_the_largest_is_run(
    model: Path,
) -> None:
    for options, shape in (([], "[1, 3]"), (["--dim", "n=2..8"], "[8, 3]")):
        result = runner.invoke(app, ["bench", str(model), "-r", "1", *options])
        assert result.stdout.startswith(f"x float32{shape}\n"), result.output


@pytest.mark.peers
def test_a_peer_runs_the_same_inputs_and_its_error_is_told(model: Path, tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", np.array([[1, -2, 3]], np.float32))
    options = ["--vs", PEER, "--json", "-r", "3", "--input", f"x={tmp_path / 'x.npy'}"]
    result = runner.invoke(app, ["bench", str(model), *options])
    assert result.exit_code == 0, result.output
    own, peer = json.loads(result.stdout)["results"]
    assert (own["program"], peer["program"]) == ("photic", PEER)
    assert peer["error"] == 0
    assert len(own["seconds"]) == len(peer["seconds"]) == 3
    assert min(own["peak_bytes"], peer["peak_bytes"]) > 0


def test_a_model_whose_sizes_data_decide_is_run_in_segments(tmp_path: Path) -> None:
    graph = graph_proto([node("NonZero", ["x"], ["y"])], [port("x", [4])], [port("y", None)])
    (tmp_path / "m.onnx").write_bytes(model_proto(graph).SerializeToString())
    result = runner.invoke(app, ["bench", str(tmp_path / "m.onnx"), "-r", "1"])
    assert result.exit_code == 0, result.output
    assert "photic session" in result.stdout


def test_a_saved_program_is_measured_alone(tmp_path: Path) -> None:
    n = ph.dim("n", 1, 8)
    x = ph.input("x", (n, 2))
    ph.compile({"y": x * 2.0}, search=0).save(tmp_path / "p.photic")
    result = runner.invoke(app, ["bench", str(tmp_path / "p.photic"), "-r", "1", "--dim", "n=3"])
    assert result.exit_code == 0, result.output
    assert result.stdout.startswith("x float32[3, 2]\n")
    refused = runner.invoke(app, ["bench", str(tmp_path / "p.photic"), "--vs", PEER])
    assert refused.exit_code == USAGE


@pytest.mark.parametrize("options", [["--vs", "tvm"], ["--dim", "n"]])
def test_options_that_mean_nothing_are_refused(model: Path, options: list[str]) -> None:
    assert runner.invoke(app, ["bench", str(model), *options]).exit_code == USAGE


def test_names_that_nothing_has_are_refused(model: Path, tmp_path: Path) -> None:
    np.save(tmp_path / "z.npy", np.zeros(3))
    for options in (["--dim", "k=2"], ["--input", f"z={tmp_path / 'z.npy'}"]):
        result = runner.invoke(app, ["bench", str(model), *options])
        assert result.exit_code == 1
        assert "[P104]" in result.stderr


def test_a_runtime_that_is_not_installed_is_named(
    model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if importlib.util.find_spec(OTHER):
        monkeypatch.setenv("PYTHONPATH", str(_without(model.parent, OTHER)))
    result = runner.invoke(app, ["bench", str(model), "--vs", OTHER, "-r", "1"])
    assert result.exit_code == 1
    assert "[P506]" in result.stderr and f"pip install {OTHER}" in result.stderr


def _without(folder: Path, package: str) -> Path:
    """A folder in which the package cannot be imported."""
    (folder / f"{package}.py").write_text("raise ImportError('not installed')\n")
    return folder


def test_a_process_that_fails_tells_its_last_words(tmp_path: Path) -> None:
    from photic.cli.errors import PeerFailed

    with pytest.raises(PeerFailed, match="gone"):
        arguments = ["photic", "gone", "gone", "gone", "1", "{}"]
        PeerProcess("photic", "photic", bench_worker.__name__, arguments)


def test_an_error_is_a_part_of_the_largest_number() -> None:
    a, b = np.array([1.0, 200.0, np.nan, np.inf]), np.array([1.5, 200.0, np.nan, np.inf])
    assert largest_error([a], [b]) == 0.5 / 200
    assert largest_error([a], [b[:3]]) == np.inf
    assert largest_error([a], [np.zeros(4)]) == np.inf


def test_sizes_without_a_number_are_named_once() -> None:
    ports = [Port("x", None, ("n", 3, -1)), Port("y", None, ("n", "?"))]
    assert unsaid(ports, {}) == ["n", "x_2", "y_1"]
    assert unsaid(ports, {"n": 2, "x_2": 5}) == ["y_1"]
