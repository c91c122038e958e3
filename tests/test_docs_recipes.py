"""What the docs show runs as it stands: a new operation, a new target, README's example."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import numpy as np
import pytest

from photic.cli import targets_check
from photic.forms import eval as evaluator
from photic.forms import index_eval
from photic.forms.graph_check import check_graph
from photic.forms.graph_text import parse_graph, print_graph
from photic.forms.program_check import check_program
from photic.forms.program_eval import evaluate_program
from photic.ir import ops
from photic.ir.dtype import DTYPES
from photic.ir.graph import Graph, input_node, operand, unary
from photic.loops.lower import lower
from photic.targets import registry
from photic.targets.c import numerics
from photic.tensor.artifacts import make_artifact
from photic.tensor.program import Program

DOCS = Path(__file__).resolve().parent.parent / "docs"
README = "../README.md"


def blocks(page: str, language: str) -> list[str]:
    text = (DOCS / page).read_text(encoding="utf-8")
    return re.findall(rf"^```{language}\n(.*?)^```", text, flags=re.MULTILINE | re.DOTALL)


def follow_the_recipe(monkeypatch: pytest.MonkeyPatch) -> None:
    """Do to the tables what the page says, with the page's own text."""
    record, meaning = blocks("add-an-op.md", "python")
    (section,) = blocks("add-an-op.md", "c")
    made = eval(record, {"OpRecord": ops.OpRecord, "_float": ops._float})
    monkeypatch.setitem(ops.PRIMITIVE, made.name, made)
    lines = {**evaluator.MEANING, **eval(f"{{{meaning}}}")}
    monkeypatch.setattr(evaluator, "MEANING", lines)
    monkeypatch.setattr(index_eval, "_OPERATIONS", {**lines, **index_eval._OPERATIONS})
    sections = (*numerics._sections(), *numerics._parse(section))
    monkeypatch.setattr(numerics, "_sections", lambda: sections)


@pytest.mark.parametrize("dtype", ["float32", "float64", "bfloat16"])
def test_an_operation_is_added_as_the_page_says(
    dtype: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    follow_the_recipe(monkeypatch)
    x = operand(input_node("x", (37,), DTYPES[dtype]))
    graph = Graph((("y", operand(unary("cube", x))),))
    check_graph(graph)
    assert parse_graph(print_graph(graph), {}) == graph
    program = lower(graph)
    check_program(program)
    array = np.linspace(-3, 3, 37).astype(DTYPES[dtype].numpy)
    wide = array if dtype == "float64" else array.astype(np.float32)
    want = (wide * wide * wide).astype(array.dtype)
    target = registry.target_named("c")
    artifact = make_artifact(graph, target)
    compiled = Program(artifact, target.load(target.build(artifact.source)))
    for got in (
        evaluator.evaluate(graph, {"x": array}, {}, {}, widen=False)[0]["y"],
        evaluate_program(program, {"x": array}, {}, {}, widen=False)[0]["y"],
        compiled(x=array)["y"],
    ):
        assert np.array_equal(got, want)


def test_an_operation_without_a_spelling_is_named_when_it_is_compiled(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    known = numerics._sections()
    follow_the_recipe(monkeypatch)
    monkeypatch.setattr(numerics, "_sections", lambda: known)
    numerics._instance.cache_clear()
    x = operand(input_node("x", (3,), DTYPES["float32"]))
    with pytest.raises(KeyError, match="cube"):
        make_artifact(Graph((("y", operand(unary("cube", x))),)), registry.target_named("c"))


def test_a_target_is_added_as_the_page_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (module,) = blocks("add-a-target.md", "python")
    (tmp_path / "plain_device.py").write_text(module, encoding="utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setitem(registry.MODULES, "plain", "plain_device")
    try:
        found = dict(targets_check.faults_of(registry.target_named("plain")))
        assert found == dict.fromkeys(found, "") and len(found) > 1
    finally:
        sys.modules.pop("plain_device", None)


def test_the_page_names_every_field_of_a_target() -> None:
    text = (DOCS / "add-a-target.md").read_text(encoding="utf-8")
    assert re.findall(r"^\| `(\w+)` \|", text, flags=re.MULTILINE) == list(
        registry.Target.__dataclass_fields__
    )


def test_the_example_in_the_readme_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (example,) = blocks(README, "python")
    names: dict[str, object] = {}
    exec(example, names)
    assert np.array_equal(names["out"], np.full((3, 64), 256, np.float32))  # type: ignore[arg-type]
    program = names["program"]
    assert isinstance(program, Program)
    assert program.report.kernels and (tmp_path / "model.photic").is_dir()
