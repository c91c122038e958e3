"""``photic compile``: graphs and models to programs in folders, and files that are neither."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from language.tiny_llama import write_talking
from typer.testing import CliRunner

import photic as ph
from photic.cli.main import app
from photic.compiler.passes import PASSES
from photic.forms.eval import Array
from photic.forms.graph_text import constants_of, print_graph
from photic.frontends.safetensors import write_safetensors
from photic.tensor.compiling import graph_of

runner = CliRunner()

COUNTER = """\
v0: float32[4] = input('x')
v1: float32[4] = state('total')
v2: float32[4] = add(v1, v0)
output('y', v2)
update(v1, v2)
"""


@pytest.fixture
def graph(tmp_path: Path) -> Path:
    """A graph's text; its constants lie beside it."""
    weights: Array = np.random.default_rng(0).standard_normal((16, 12)).astype(np.float32)
    x = ph.input("x", (ph.dim("n", 1, 8), 16))
    made = graph_of({"y": ph.softmax(x @ ph.constant(weights), axis=-1)}, {})
    path = tmp_path / "graph.txt"
    path.write_text(print_graph(made))
    write_safetensors(tmp_path / "graph.safetensors", constants_of(made))
    return path


def compiled(*arguments: object) -> str:
    result = runner.invoke(app, ["compile", *map(str, arguments)])
    assert result.exit_code == 0, result.output
    return result.stdout


def refused(*arguments: object) -> str:
    result = runner.invoke(app, ["compile", *map(str, arguments)])
    assert (result.exit_code, result.stdout) == (1, ""), result.output
    assert "Traceback" not in result.stderr
    return result.stderr


def softmax(x: Array, weights: Array) -> Array:
    raised = np.exp((product := x @ weights) - product.max(-1, keepdims=True))
    return raised / raised.sum(-1, keepdims=True)


def test_a_graph_with_constants_becomes_a_program(graph: Path, tmp_path: Path) -> None:
    constants, out = graph.with_suffix(".safetensors"), tmp_path / "graph.photic"
    said = compiled(graph, "--constants", constants, "-o", out)
    assert said.startswith(f"{out}: ") and said.endswith("B of constants\n")
    x = np.random.default_rng(1).standard_normal((3, 16)).astype(np.float32)
    from photic.frontends.safetensors import open_safetensors

    (weights,) = open_safetensors(constants).values()
    np.testing.assert_allclose(ph.load(out)(x=x)["y"], softmax(x, weights), rtol=1e-5)


def test_states_and_their_next_values_are_compiled_too(tmp_path: Path) -> None:
    (tmp_path / "counter.txt").write_text(COUNTER)
    compiled(tmp_path / "counter.txt", "-o", tmp_path / "counter.photic")
    program = ph.load(tmp_path / "counter.photic")
    for count in (1, 2, 3):
        total = program(x=np.ones(4, np.float32))["y"]
        np.testing.assert_array_equal(total, np.full(4, count, np.float32))


def test_a_model_becomes_a_program(tmp_path: Path) -> None:
    write_talking(tmp_path / "tiny.gguf")
    compiled(tmp_path / "tiny.gguf", "-o", tmp_path / "tiny.photic", "--context", "16")
    program = ph.load(tmp_path / "tiny.photic")
    assert {one.name for one in program.artifact.outputs} == {"logits"}


def test_a_search_says_what_it_came_to(tmp_path: Path) -> None:
    (tmp_path / "counter.txt").write_text(COUNTER)
    arguments = ["compile", str(tmp_path / "counter.txt"), "-o", str(tmp_path / "out")]
    result = runner.invoke(app, [*arguments, "--search", "4", "--seed", "1"])
    assert result.exit_code == 0, result.output
    assert " candidates in " in result.stdout
    assert result.stderr.startswith("Searching ...\n")


def test_events_of_a_search_are_shown_on_request(
    graph: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PHOTIC_SHOW", "search")
    constants = graph.with_suffix(".safetensors")
    arguments = ["compile", str(graph), "--constants", str(constants), "-o", str(tmp_path / "out")]
    shown = runner.invoke(app, [*arguments, "--search", "1"]).stderr
    assert "[search] saturate stopped=" in shown


def test_every_pass_leaves_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "counter.txt").write_text(COUNTER)
    monkeypatch.setenv("PHOTIC_DUMP", str(tmp_path / "dump"))
    compiled(tmp_path / "counter.txt", "-o", tmp_path / "out")
    names = [f"{number:02d}-{one.name}.txt" for number, one in enumerate(PASSES)]
    assert sorted(one.name for one in (tmp_path / "dump").iterdir()) == names


def test_the_graph_that_a_pass_left_compiles_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "counter.txt").write_text(COUNTER)
    monkeypatch.setenv("PHOTIC_DUMP", str(tmp_path / "dump"))
    compiled(tmp_path / "counter.txt", "-o", tmp_path / "out")
    monkeypatch.delenv("PHOTIC_DUMP")
    compiled(tmp_path / "dump" / "00-check.txt", "-o", tmp_path / "again")
    sources = [(tmp_path / name / "kernels.c").read_text() for name in ("out", "again")]
    assert sources[0] == sources[1]


def test_topics_can_be_left_out(graph: Path, tmp_path: Path) -> None:
    constants = graph.with_suffix(".safetensors")
    given = (graph, "--constants", constants, "-o", tmp_path / "out", "--without")
    compiled(*given, "folds, placement")
    assert "expected some of algebra, folds" in refused(*given, "folds,luck")


# --- files that cannot be compiled ----------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("m.onnx", b"\x08\x07", "m.onnx: file: no graph in it"),
        ("m.txt", b"\xff\xfe", "m.txt is no text"),
        ("m.txt", b"", "m.txt is a graph without outputs"),
        ("m.txt", b"v0: float32[4] = input('x')\nv1 = what", "m.txt, line 2: "),
        ("m.txt", b"v0: float32[4] =", "m.txt, line 1: "),
        ("m.txt", b"v0: float32[99] = constant(c0)", "name a safetensors file with --constants"),
        ("m.gguf", b"GG", "[P401]"),
        ("model", b"GGUF", "[P401]"),
    ],
)
def test_what_is_wrong_with_a_file_is_said(
    tmp_path: Path, name: str, content: bytes, message: str
) -> None:
    (tmp_path / name).write_bytes(content)
    assert message in refused(tmp_path / name, "-o", tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_a_graph_that_is_not_right_is_refused_by_the_checker(tmp_path: Path) -> None:
    text = "v0: float32[4] = input('x')\nv1: int64[4] = input('i')\nv2: float32[4] = add(v0, v1)\n"
    (tmp_path / "m.txt").write_text(f"{text}output('y', v2)\n")
    assert "error: [P" in refused(tmp_path / "m.txt", "-o", tmp_path / "out")


def test_places_that_are_no_files_are_said(graph: Path, tmp_path: Path) -> None:
    assert "there is no such file" in refused(tmp_path / "gone.txt", "-o", tmp_path / "out")
    assert "is a folder" in refused(tmp_path, "-o", tmp_path / "out")
    gone = refused(graph, "--constants", tmp_path / "gone", "-o", tmp_path / "out")
    assert "[P306]" in gone


def test_a_place_where_something_else_is_stays_as_it_is(tmp_path: Path) -> None:
    (tmp_path / "counter.txt").write_text(COUNTER)
    assert "something else is there" in refused(tmp_path / "counter.txt", "-o", tmp_path)
    assert (tmp_path / "counter.txt").read_text() == COUNTER


@pytest.mark.parametrize(
    ("option", "value"), [("--dim", "n=4"), ("--context", "5"), ("--constants", "c.safetensors")]
)
def test_an_option_that_means_nothing_for_the_file_is_refused(
    tmp_path: Path, option: str, value: str
) -> None:
    name = "model.onnx" if option == "--constants" else "counter.txt"
    (tmp_path / name).write_text(COUNTER)
    given = [str(tmp_path / name), "-o", str(tmp_path / "out"), option, value]
    result = runner.invoke(app, ["compile", *given])
    assert result.exit_code == 2
    assert "which takes none" in result.stderr and option in result.stderr
    assert not (tmp_path / "out").exists()
