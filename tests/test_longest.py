"""The files that are said to take longest exist, and their tests come first."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

from longest import LONGEST, TESTS, longest_first


def test_every_file_that_takes_long_exists() -> None:
    assert not [name for name in LONGEST if not (TESTS / name).is_file()]


def test_files_that_take_long_come_first_and_tests_of_a_file_keep_their_order() -> None:
    names = ["a.py", LONGEST[1], "b.py", LONGEST[0], LONGEST[1]]
    items = [SimpleNamespace(path=Path(TESTS / name), place=k) for k, name in enumerate(names)]
    longest_first(items)  # type: ignore[arg-type]
    assert [one.place for one in items] == [3, 1, 4, 0, 2]
