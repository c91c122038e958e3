"""A newcomer's mistakes with an ONNX model on the command line: a message that helps, each time."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from frontends.onnx.onnx_models import graph_proto, model_proto, node, port
from typer.testing import CliRunner

from photic.cli.main import app

X = np.ones((2, 4), np.float32)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Models and arrays; ``good.photic`` is what became of ``good.onnx``."""
    made = tmp_path_factory.mktemp("newcomer")
    product = node("MatMul", ["image:0", "w"], ["score"])
    ports = [port("image:0", ["batch", 4])], [port("score", None)]
    write(made / "good.onnx", model_proto(graph_proto([product], *ports, w=X.T)))
    apart = graph_proto([product], *ports, w=X.T)
    onnx.external_data_helper.set_external_data(apart.initializer[0], "weights.bin")
    apart.initializer[0].ClearField("raw_data")
    write(made / "apart.onnx", model_proto(apart))
    odd = node("Mystery", ["x"], ["y"], name="odd")
    write(made / "odd.onnx", model_proto(graph_proto([odd], [port("x", [2])], [port("y", None)])))
    counted = node("NonZero", ["x"], ["y"], name="count")
    outputs = [port("y", None, onnx.TensorProto.INT64)]
    write(made / "counted.onnx", model_proto(graph_proto([counted], [port("x", [4])], outputs)))
    (made / "page.onnx").write_text("<html>404</html>", encoding="utf-8")
    for name, array in {"x": X, "wide": X.astype("f8"), "long": np.ones((2, 5), "f4")}.items():
        np.save(made / f"{name}.npy", array)
    told(made, ["compile", "good.onnx", "-o", "good.photic"], 0)
    return made


def write(path: Path, model: Any) -> None:
    path.write_bytes(model.SerializeToString())


def told(folder: Path, arguments: Sequence[str], code: int) -> str:
    """What a command says that ends with this code, run in the folder; never a traceback."""
    before = Path.cwd()
    os.chdir(folder)
    try:
        result = CliRunner().invoke(app, list(arguments))
    finally:
        os.chdir(before)
    assert result.exit_code == code, result.output
    assert "Traceback" not in result.output
    return result.output


MISTAKES = {
    "no file": ("compile gone.onnx -o o.photic", 1, ("gone.onnx", "no such file")),
    "no file to measure": ("bench gone.onnx", 1, ("gone.onnx", "no such file")),
    "a web page": ("compile page.onnx -o o.photic", 1, ("page.onnx", "download it again")),
    "data left behind": ("compile apart.onnx -o o.photic", 1, ("'w'", "put weights.bin")),
    "an operator": ("compile odd.onnx -o o.photic", 1, ("'odd'", "Mystery", "Softmax")),
    "sizes by data": ("compile counted.onnx -o o.photic", 1, ("'count'", "Session")),
    "a size's name": ("compile good.onnx -o o.photic --dim btch=4", 1, ("btch", "expected batch")),
    "a size's text": ("compile good.onnx -o o.photic --dim batch=4-8", 2, ("batch=1..16",)),
    "no input": ("run good.photic --output score=y.npy", 1, ("'image_0'", "float32[batch, 4]")),
    "the file's name": ("run good.photic --input image:0=x.npy", 1, ("'image:0'", "image_0")),
    "an output": ("run good.photic --input image_0=x.npy --output y=y.npy", 2, ("score",)),
    "a shape": ("run good.photic --input image_0=long.npy", 1, ("(2, 5)", "(2, 4)")),
    "a dtype": ("run good.photic --input image_0=wide.npy", 1, ("float64", "astype('float32')")),
    "a model's input": ("run good.onnx --input image_0=x.npy", 1, ("'image_0'", "image:0")),
    "an array's file": ("run good.photic --input image_0=gone.npy", 1, ("gone.npy", "no such")),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_a_mistake_is_answered_with_what_was_given_and_what_to_do(name: str, folder: Path) -> None:
    command, code, words = MISTAKES[name]
    text = " ".join(told(folder, command.split(), code).split())
    assert [one for one in words if one not in text] == []


def test_a_model_is_compiled_without_options_and_run(folder: Path) -> None:
    text = told(folder, ["run", "good.photic", "--input", "image_0=x.npy"], 0)
    assert text == "score: float32[2, 2]\n"


def test_a_model_runs_without_a_program_of_it(folder: Path) -> None:
    text = told(folder, ["run", "good.onnx", "--input", "image:0=x.npy"], 0)
    assert text.endswith("score: float32[2, 2]\n")
