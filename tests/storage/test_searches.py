"""The last searches: few are kept, and a file that makes no sense is none."""

from __future__ import annotations

from pathlib import Path

import pytest

from photic.storage.searches import FILE, KEPT, KIND, Searched, last_searches, remember_search


@pytest.fixture(autouse=True)
def folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    monkeypatch.setenv("PHOTIC_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache" / KIND


def search(number: int) -> Searched:
    return Searched(float(number), 1.5, number, {"fold": number})


def test_searches_come_back_in_order_and_the_oldest_are_forgotten() -> None:
    assert last_searches() == []
    for number in range(KEPT + 3):
        remember_search(search(number))
    assert last_searches() == [search(number) for number in range(3, KEPT + 3)]


@pytest.mark.parametrize(
    "text",
    ["", "[", "{}", "3", "[1]", '[{"ended": 1}]', "[" * 100_000]
    + ['[{"ended": 1, "seconds": 1, "candidates": 1, "matches": {"a": "b"}}]']
    + ['[{"ended": "x", "seconds": 1, "candidates": 1, "matches": {}}]']
    + ['[{"ended": 1, "seconds": 1, "candidates": 1, "matches": 7}]'],
)
def test_a_file_that_makes_no_sense_is_none_and_is_written_anew(folder: Path, text: str) -> None:
    remember_search(search(1))
    (folder / FILE).write_text(text)
    assert last_searches() == []
    remember_search(search(2))
    assert last_searches() == [search(2)]
