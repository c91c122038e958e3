"""Tables and units: alignment, and the borders between prefixes."""

from __future__ import annotations

import pytest

from photic.cli.progress import amount
from photic.cli.table import quantity, table


def test_columns_are_aligned_and_lines_end_without_blanks() -> None:
    assert table(("name", "size"), [("a", "10"), ("longer", "")]) == (
        "name    size\na         10\nlonger"
    )


def test_a_table_without_rows_is_its_heads() -> None:
    assert table(("name", "size"), []) == "name  size"


@pytest.mark.parametrize(
    ("value", "text"),
    [(0, "0 B"), (999, "999 B"), (1000, "1.0 kB"), (98_765_432, "98.8 MB"), (1.5e18, "1500.0 PB")],
)
def test_a_quantity_has_the_largest_prefix_below_it(value: float, text: str) -> None:
    assert quantity(value, "B") == text


def test_an_amount_names_the_total_only_where_it_is_known() -> None:
    assert amount("pull", 1_500_000, 93_000_000) == "1.5 MB of 93.0 MB"
    assert amount("pull", 0, 93_000_000) == "0 B of 93.0 MB"
    assert amount("pull", 1_500_000, 0) == "1.5 MB"
    assert amount("compile", 2, 7) == "2/7"
    assert amount("compile", 2, 0) == "2"
    assert amount("compile", 0, 0) == ""
