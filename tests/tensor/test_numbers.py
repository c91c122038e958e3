"""Each line of docs/numbers.md, checked by the evaluator; a test is named by the line it checks."""

from __future__ import annotations

import importlib
import re
from pathlib import Path

import pytest

PAGE = Path(__file__).resolve().parents[2] / "docs" / "numbers.md"
CHECKS = (
    "numbers_analysis",
    "numbers_elementwise",
    "numbers_exact",
    "numbers_floats",
    "numbers_functions",
    "numbers_gradients",
    "numbers_images",
    "numbers_movements",
    "numbers_networks",
    "numbers_ordering",
    "numbers_numerics",
    "numbers_places",
)

pytest.register_assert_rewrite("number_lines", *CHECKS)
for _name in CHECKS:
    importlib.import_module(_name)
LINES = importlib.import_module("number_lines").LINES


@pytest.mark.parametrize("name", sorted(LINES))
def test_the_line_of_the_page_holds(name: str) -> None:
    LINES[name]()


def test_every_line_of_the_page_has_a_test_and_every_test_a_line() -> None:
    named = re.findall(r"^- `([^`]+)`:", PAGE.read_text(encoding="utf-8"), flags=re.MULTILINE)
    assert len(named) == len(set(named))
    assert set(named) == set(LINES)
