"""The code of docs/add-a-rule.md runs, and the page names every term and fact there is."""

from __future__ import annotations

import re
from pathlib import Path

from photic.search.language import CONSTRUCTORS, SORTS

PAGE = Path(__file__).resolve().parents[2] / "docs" / "add-a-rule.md"


def test_the_examples_on_adding_a_rule_run() -> None:
    snippets = re.findall(
        r"^```python\n(.*?)^```", PAGE.read_text("utf-8"), re.DOTALL | re.MULTILINE
    )
    assert snippets
    exec("\n".join(snippets), {})


def test_the_page_names_every_term_and_every_fact() -> None:
    text = PAGE.read_text("utf-8")
    internal = {"at", "axis", "depends", "relative", "root", "literal", "opposite"}
    facts = set(re.findall(r"\((?:relation|function) ([\w-]+)", SORTS)) - internal
    missing = [name for name in (*sorted(CONSTRUCTORS), *sorted(facts)) if f"({name} " not in text]
    assert not missing
