"""The small compiler of docs/learn does what its page says; no test asks how long anything takes.

The page quotes the code and runs snippets: both are held to the file. Every form that the e-graph
gives means what the graph means, kernels agree with float64, and the form with one loop over the
keys is found with the fold rules and not without them.
"""

from __future__ import annotations

import doctest
import importlib.util
import random
import re
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
from test_house import TOP, _source, code_lines

FOLDER = TOP / "docs" / "learn"
CODE_LINES = 330
SIZES = {"k": 128, "d": 8, "v": 8, "q": 64}
EXACTLY = 1e-9  # forms in float64 differ in the order of sums, and no more
PLAN_LOOP = "for (long tile = 0;"


def _loaded(file: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location("tiny", file)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["tiny"] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    return module


tiny = _loaded(FOLDER / "tiny.py")
EVERY = tiny.ALGEBRA + tiny.FOLDS
WRITTEN = tiny.attention(0.1875)


@pytest.fixture(autouse=True)
def few_plans(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two plans instead of six: the C compiler takes most of the time."""
    monkeypatch.setattr(tiny, "PLANS", tiny.PLANS[::3])


def blocks(language: str) -> list[str]:
    text = (FOLDER / "README.md").read_text(encoding="utf-8")
    return re.findall(rf"^```{language}\n(.*?)^```", text, flags=re.MULTILINE | re.DOTALL)


def printed(form: object, tile: int) -> str:
    order = tiny.nodes(tiny.lowered(form))
    return tiny.Printer(tiny.Plan(lanes=16, tile=tile), SIZES, order).kernel("kernel_0")


def test_the_small_compiler_is_small() -> None:
    assert len(code_lines(_source(TOP, FOLDER / "tiny.py"))) <= CODE_LINES


def test_the_page_quotes_the_file() -> None:
    text = (FOLDER / "tiny.py").read_text(encoding="utf-8")
    quotes = blocks("python")
    assert quotes and all(quote in text for quote in quotes)


def test_the_snippets_of_the_page_run() -> None:
    runner = doctest.DocTestRunner(verbose=False)
    session = "\n".join(blocks("pycon"))
    test = doctest.DocTestParser().get_doctest(session, dict(vars(tiny)), "README", None, 0)
    said: list[str] = []
    assert test.examples and runner.run(test, out=said.append).failed == 0, "".join(said)


def test_the_kernel_on_the_page_is_the_one_that_is_printed() -> None:
    (shown,) = blocks("c")
    form = min(tiny.forms(WRITTEN, EVERY, SIZES, seed=0), key=tiny.passes)
    source = printed(form, tile=64)
    assert "\n".join(line.strip() for line in shown.splitlines()) in source


def test_the_form_found_has_one_loop_over_the_keys() -> None:
    loops = [
        printed(form, tile=16).count(PLAN_LOOP)
        for form in tiny.forms(WRITTEN, EVERY, SIZES, seed=0)
    ]
    assert loops[0] == tiny.passes(WRITTEN) == 3
    assert min(loops) == 1


def test_without_the_fold_rules_no_form_has_one_loop_over_the_keys() -> None:
    graph, rng = tiny.saturate(WRITTEN, tiny.ALGEBRA, SIZES), random.Random(0)
    drawn = [tiny.extract(graph, SIZES, rng, tiny.SPREAD) for _ in range(60)]
    assert graph.is_saturated
    assert min(map(tiny.passes, drawn)) == 2


def test_every_form_means_what_the_graph_means() -> None:
    graph, rng = tiny.saturate(WRITTEN, EVERY, SIZES), random.Random(0)
    arrays, right, _ = next(tiny.cases(WRITTEN, SIZES, seed=0))
    for _ in range(60):
        form = tiny.extract(graph, SIZES, rng, tiny.SPREAD)
        got = tiny.evaluate(form, arrays, SIZES, np.float64)
        assert np.abs(got - right).max() <= EXACTLY * np.abs(right).max()


def test_the_meaning_is_the_one_of_plain_numpy() -> None:
    arrays, right, _ = next(tiny.cases(WRITTEN, SIZES, seed=0))
    q, k, v = (arrays[name].astype(np.float64) for name in "QKV")
    powers = np.exp2(0.1875 * (k @ q))
    assert np.allclose(right[0, 0], v.T @ (powers / powers.sum(axis=0)), rtol=EXACTLY, atol=0)


def test_every_candidate_is_right_and_the_fastest_comes_first() -> None:
    forms = tiny.forms(WRITTEN, EVERY, SIZES, seed=0)
    found = tiny.search(WRITTEN, EVERY, SIZES, seed=0)
    assert len(found) == len(forms) * len(tiny.PLANS)
    seconds = [one.seconds for one in found]
    assert seconds == sorted(seconds)
    assert all(0 <= one.error <= 1 for one in found)


def test_a_wrong_rule_costs_candidates_and_not_correctness() -> None:
    rules = (*EVERY, tiny.Rule("(Recip a)", "a", "", "wrong"))
    found = tiny.search(WRITTEN, rules, SIZES, seed=0)
    assert {one.form for one in found} == {WRITTEN}
    assert len(tiny.forms(WRITTEN, rules, SIZES, seed=0)) > 1


def test_the_weights_alone_take_two_passes_instead_of_three() -> None:
    weights = tiny.make("mul", *WRITTEN.children[0].children[0].children)
    assert tiny.passes(weights) == 3
    found = tiny.search(weights, EVERY, SIZES, seed=0)
    assert min(tiny.passes(one.form) for one in found) == 2


def test_the_report_names_both_runs(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        tiny,
        "search",
        lambda node, rules, sizes, seed: [
            tiny.Candidate(form, tiny.PLANS[0], "", 0.0, 1.0)
            for form in tiny.forms(node, rules, SIZES, seed)
        ],
    )
    tiny.main()
    said = capsys.readouterr().out
    assert "all rules: 1 passes" in said and "without folds: 2 passes" in said
    assert "without folds: 1 passes" not in said
