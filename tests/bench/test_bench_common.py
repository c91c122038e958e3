"""The helper of the bench scripts: fair turns, figures, and what lands in the JSON file."""

from __future__ import annotations

import importlib.util
import json
import sys
from pathlib import Path
from types import ModuleType

import pytest

COMMON = Path(__file__).resolve().parents[2] / "bench" / "common.py"


@pytest.fixture(scope="module")
def common() -> ModuleType:
    spec = importlib.util.spec_from_file_location("bench_common", COMMON)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def test_contestants_take_turns_after_warming(common: ModuleType) -> None:
    calls: list[str] = []
    contestants = {"a": lambda: calls.append("a"), "b": lambda: calls.append("b")}
    timings = common.race(contestants, repeats=2, calls_per_sample=1)
    assert "".join(calls) == "aaabbb" + "abab"
    assert [len(timing.seconds) for timing in timings.values()] == [2, 2]


def test_a_timing_has_median_minimum_and_spread(common: ModuleType) -> None:
    timing = common.Timing("a", tuple(float(n) for n in range(1, 12)))
    assert (timing.median, timing.minimum) == (6.0, 1.0)
    assert timing.spread == pytest.approx((10 - 2) / 6)


def test_figures_and_machine_land_in_the_json_file(
    common: ModuleType, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "figures.json"
    common.report([{"work": "sum", "ratio": 1.23456}, {"work": "max", "note": "x"}], path)
    content = json.loads(path.read_text())
    assert content["figures"] == [{"work": "sum", "ratio": 1.23456}, {"work": "max", "note": "x"}]
    assert content["machine"]["cores"] >= 1 and content["machine"]["processor"]
    assert capsys.readouterr().out.splitlines()[1:] == [
        "work  ratio  note",
        "sum   1.235",
        "max          x",
    ]
