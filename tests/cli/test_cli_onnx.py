"""``photic compile`` of an ONNX model, and ``photic run`` of what it made."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from frontends.onnx.onnx_models import INT64, graph_proto, model_proto, node, port
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


def test_a_model_runs_by_the_names_of_the_file_and_its_program_is_kept(
    model: Path, tmp_path: Path
) -> None:
    x = -np.arange(6, dtype=np.float32).reshape(2, 3)
    np.save(tmp_path / "x.npy", x)
    files = ["--input", f"x={tmp_path / 'x.npy'}", "--output", f"y={tmp_path / 'y.npy'}"]
    for _ in range(2):
        ran = runner.invoke(app, ["run", str(model), *files])
        assert (ran.exit_code, ran.stdout) == (0, "y: float32[2, 3]\n"), ran.output
        assert np.load(tmp_path / "y.npy").tolist() == np.abs(x).tolist()


def test_an_output_that_a_model_has_not_is_a_wrong_option(model: Path) -> None:
    assert runner.invoke(app, ["run", str(model), "--output", "z=z.npy"]).exit_code == USAGE


WITHOUT_ONNX = """\
import sys
sys.modules["onnx"] = None
from photic.cli.main import app
app(sys.argv[1:])
"""


@pytest.mark.parametrize("is_there", [False, True])
def test_a_file_that_is_missing_is_said_before_a_package_that_is(
    model: Path, is_there: bool
) -> None:
    file = model if is_there else model.with_name("nosuch.onnx")
    command = [sys.executable, "-c", WITHOUT_ONNX, "run", str(file)]
    found = subprocess.run(command, capture_output=True, text=True, check=False)
    assert found.returncode == 1
    assert ("there is no such file" in found.stderr) is not is_there
    assert ("pip install" in found.stderr) is is_there


# --- products that may be rounded -------------------------------------------------------------


@pytest.fixture
def product(tmp_path: Path) -> Path:
    """y = x @ w; all numbers are 1 and a little, which bfloat16 has not."""
    w = np.full((32, 32), 1 + 2**-9, np.float32)
    inside = [node("MatMul", ["x", "w"], ["y"])]
    graph = graph_proto(inside, [port("x", [32, 32])], [port("y", None)], w=w)
    path = tmp_path / "p.onnx"
    path.write_bytes(model_proto(graph).SerializeToString())
    np.save(tmp_path / "x.npy", np.eye(32, dtype=np.float32))
    return path


@pytest.mark.parametrize("options", [[], ["--precision", "exact"], ["--precision", "bf16"]])
@pytest.mark.parametrize("is_saved", [False, True])
def test_products_are_rounded_where_that_is_asked_for(
    product: Path, options: list[str], is_saved: bool
) -> None:
    here = product.parent
    file = here / "p.photic" if is_saved else product
    if is_saved:
        made = runner.invoke(app, ["compile", str(product), "-o", str(file), *options])
        assert made.exit_code == 0, made.output
    files = ["--input", f"x={here / 'x.npy'}", "--output", f"y={here / 'y.npy'}"]
    ran = runner.invoke(app, ["run", str(file), *files, *([] if is_saved else options)])
    assert ran.exit_code == 0, ran.output
    assert (np.load(here / "y.npy") == (1 if "bf16" in options else 1 + 2**-9)).all()


@pytest.mark.parametrize("command", ["run", "compile"])
def test_an_unknown_precision_of_a_model_is_a_usage_error(command: str, product: Path) -> None:
    output = ["-o", str(product.with_suffix(".photic"))] if command == "compile" else []
    result = runner.invoke(app, [command, str(product), *output, "--precision", "int4"])
    assert result.exit_code == USAGE
    assert "'int4'; known: bf16, int8, int16, exact" in " ".join(result.stderr.split())


# --- inputs that are known when a model is compiled -----------------------------------------


@pytest.fixture
def powers(tmp_path: Path) -> Path:
    """y = x ** n, of a whole number n; the axes of the sum are an input, too."""
    nodes = [node("Pow", ["x", "n"], ["p"]), node("ReduceSum", ["p", "axes"], ["y"], keepdims=0)]
    ports = [port("x", [2, 3]), port("n", [], INT64), port("axes", ["k"], INT64)]
    path = tmp_path / "p.onnx"
    graph = graph_proto(nodes, ports, [port("y", None)])
    path.write_bytes(model_proto(graph).SerializeToString())
    return path


def compiled(path: Path, out: Path, *given: str) -> tuple[int, str]:
    """The exit code and what is said, of ``photic compile`` with these values."""
    options = [text for one in given for text in ("--set", one)]
    result = runner.invoke(app, ["compile", str(path), "-o", str(out), *options])
    return result.exit_code, result.output


@pytest.mark.parametrize("axes", ["[0,1]", "axes.npy"])
def test_an_input_that_is_set_is_part_of_the_program(
    axes: str, powers: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    np.save("axes.npy", np.array([0, 1]))
    np.save("x.npy", np.arange(6, dtype=np.float32).reshape(2, 3))
    assert compiled(powers, Path("p.photic"), "n=2", f"axes={axes}")[0] == 0
    ran = runner.invoke(app, ["run", "p.photic", "--input", "x=x.npy", "--output", "y=y.npy"])
    assert ran.exit_code == 0, ran.output
    assert np.load("y.npy") == sum(k * k for k in range(6))


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ("m=2", "inputs: x, n, axes"),
        ("n", "no number"),
        ("n=two", "no number"),
        ("n=2.5", "numbers of int64"),
        ("axes=[0,[1]]", "no number"),
        ("axes=[", "no number"),
    ],
)
def test_a_value_that_an_input_cannot_have_is_a_wrong_option(
    given: str, said: str, powers: Path, tmp_path: Path
) -> None:
    code, text = compiled(powers, tmp_path / "p", given)
    assert code == USAGE
    assert said in " ".join(text.replace("│", " ").split())


def test_only_onnx_models_have_inputs_to_set(tmp_path: Path) -> None:
    (tmp_path / "g.txt").write_text("")
    assert compiled(tmp_path / "g.txt", tmp_path / "g", "n=2")[0] == USAGE
