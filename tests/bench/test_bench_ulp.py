"""The slices of ``bench/ulp_slices.py``: they are the whole, and what is kept outlives a cut."""

from __future__ import annotations

import importlib.util
import sys
from dataclasses import replace
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

BENCH = Path(__file__).resolve().parents[2] / "bench"


@pytest.fixture
def slices(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    pytest.importorskip("scipy", reason="scipy is not installed: pip install .[test]")
    monkeypatch.syspath_prepend(str(BENCH))
    monkeypatch.setattr(sys, "path", [*sys.path])
    spec = importlib.util.spec_from_file_location("ulp_slices", BENCH / "ulp_slices.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, "ulp_slices", module)
    spec.loader.exec_module(module)
    return module


def test_all_slices_together_are_every_input_once(
    slices: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(slices, "PATTERNS", 1000)
    monkeypatch.setattr(slices, "COMPOSED_PIECE", 16)
    for parts in (1, 3, 64):
        found = [np.unique(np.concatenate(list(slices.pieces(k, parts)))) for k in range(parts)]
        assert sorted(np.concatenate(found)) == list(range(1000))


def test_a_line_that_was_cut_off_spoils_no_other(slices: ModuleType, tmp_path: Path) -> None:
    path = tmp_path / "kept"
    line = slices.Line("exp", np.inf, 0, 4, 2**30, 1.5, -2.0, 3.0, "mark")
    slices.write_lines(path, [line])
    with path.open("a", encoding="utf-8") as file:
        file.write('\n{"function": "ex')
    slices.write_lines(path, [replace(line, part=1, max_ulp=2.5)])
    kept = slices.read_lines(path)
    assert [one.part for one in kept] == [0, 1]
    (figure,) = slices.table_of([*kept, replace(line, part=2, made="other")], {"exp": "mark"})
    assert figure["max_ulp"] == 2.5
    assert figure["covered"] == "50.00%"


def test_a_slice_is_counted_from_one(slices: ModuleType) -> None:
    assert slices.chosen_slice("3/64") == (2, 64)
    for wrong in ("0/4", "5/4"):
        with pytest.raises(ValueError, match="expected"):
            slices.chosen_slice(wrong)
