"""The benches of the search: what they compare is fair, and their programs mean what they say."""

from __future__ import annotations

import importlib
import math
import random
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

import photic as ph
from photic.search.choosing import Choose, randomly
from photic.search.tree import Drawn
from photic.targets.registry import target_named

BENCH = Path(__file__).resolve().parents[2] / "bench"
NAMES = ("common", "workloads", "baselines", "mcts", "ablation", "found", "ways", "mcts_replay")
ROWS = 24
# float32 sums of up to 64 products, shares and weighted means: a few units in the last place
ROUNDING = 1e-5


@pytest.fixture(scope="module")
def bench() -> Iterator[dict[str, ModuleType]]:
    path = list(sys.path)
    sys.path.insert(0, str(BENCH))
    yield {name: importlib.import_module(name) for name in NAMES}
    sys.path[:] = path
    for name in NAMES:
        sys.modules.pop(name)


# --- workloads ------------------------------------------------------------------------------


def test_every_workload_has_one_result_and_inputs_that_fit(bench: dict[str, ModuleType]) -> None:
    for one in bench["workloads"].WORKLOADS:
        program = ph.compile({"y": one.make()}, search=0)
        given = bench["workloads"].inputs_of(program, 0)
        (result,) = program(**given).values()
        assert np.isfinite(result).all(), one.name


def test_every_workload_is_one_region(bench: dict[str, ModuleType]) -> None:
    for one in bench["workloads"].WORKLOADS:
        work = bench["mcts"].work_of(one, target_named("c"))
        results = {store.buffer.name for store in work.stores} - work.temporary
        assert len(results) == 1, one.name


# --- attention in several forms -------------------------------------------------------------


def test_every_form_of_attention_is_its_definition(bench: dict[str, ModuleType]) -> None:
    found = bench["found"]
    for variant in (found.PLAIN, *found.VARIANTS):
        one = found.contestant(variant, ROWS, 0.0)
        assert one.error < ROUNDING, variant.name


def test_growth_is_seen_from_outside(bench: dict[str, ModuleType]) -> None:
    if sys.platform != "linux":
        pytest.skip("/proc missing: growth is read there")
    program = ph.compile({"y": ph.sum(ph.exp2(ph.input("x", (2048, 2048))), axis=0)}, search=0)
    assert 0 <= bench["found"].growth(program)["after_megabytes"] < 64


# --- equal terms ----------------------------------------------------------------------------


def drawn(number: int) -> Drawn:
    return Drawn(((("a", str(number))),), str(number), 1.0, None)


def draw(choose: Choose) -> Drawn | None:
    return drawn(choose("a", [str(number) for number in range(100)]))


def test_shuffled_times_are_times_that_were_measured(bench: dict[str, ModuleType]) -> None:
    told: list[float] = []

    class Listening(bench["baselines"].Blind):  # type: ignore[name-defined,misc]
        def learn(self, drawn: Drawn, seconds: float) -> None:
            told.append(seconds)

    one = bench["mcts"].Shuffled(Listening(random.Random(0)), random.Random(1))
    times = [float(number) for number in range(1, 50)]
    for seconds in times:
        one.learn(one.propose(draw), seconds)
    assert set(told) <= set(times) and told != times


def run_of(bench: dict[str, ModuleType], method: str, curve: list[float]) -> object:
    return bench["mcts"].Run(
        method, bench["baselines"].Blind(random.Random(0)), None, curve[-1], curve
    )


def test_a_ratio_of_areas_is_a_ratio_of_times(bench: dict[str, ModuleType]) -> None:
    area = bench["mcts"].area
    slow, fast = ([factor * one for one in (4.0, 2.0, 1.0)] for factor in (3.0, 1.0))
    runs = [[run_of(bench, "tree", curve)] for curve in (slow, fast)]
    assert math.exp(area(runs[0]) - area(runs[1])) == pytest.approx(3.0)


def test_the_mean_of_ratios_is_geometric(bench: dict[str, ModuleType]) -> None:
    figures = [{"workload": "a", "area/blind": 0.5, "x": 1}, {"workload": "b", "area/blind": 2.0}]
    assert bench["mcts"].mean_of(figures) == {
        "workload": "geometric mean",
        "area/blind": pytest.approx(1.0),
    }


def test_all_methods_share_what_was_measured(
    bench: dict[str, ModuleType], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mcts = bench["mcts"]
    small = bench["workloads"].Workload("small", lambda: ph.softmax(ph.input("x", (16, 40))))
    monkeypatch.setattr(
        mcts, "METHODS", {n: mcts.METHODS[n] for n in ("tree", "blind", "shuffled")}
    )
    options = mcts.Options(candidates=8, seeds=1, repeats=2)
    first = mcts.measured(small, tmp_path, options)
    assert first["wrong"] == 0 and first["measured"] <= 3 * 8 + 1
    monkeypatch.setattr(mcts, "measure", lambda *_: pytest.fail("measured again"))
    again = mcts.measured(small, tmp_path, options)
    assert again["measured"] == first["measured"] and again["tree_ms"] == first["tree_ms"]
    table = bench["ways"].Table(tmp_path / "small.table")
    drawn = [table.draw(randomly(random.Random(seed))) for seed in range(20)]
    assert {one.trail for one in drawn} <= table.ways.keys()
    assert all(one.made == table.ways[one.trail].seconds for one in drawn)
    replay = bench["mcts_replay"]
    found = replay.area(table, replay.METHODS["tree"](random.Random(0)), 16)
    least = min(table.first, *(one.seconds for one in table.ways.values()))
    assert math.log(least) - ROUNDING <= found <= math.log(table.first) + ROUNDING


def test_what_choices_explain_is_found_and_noise_is_not(bench: dict[str, ModuleType]) -> None:
    rng = np.random.default_rng(0)
    chosen = rng.integers(0, 2, (80, 6))
    alike = 20.0 * np.array([[np.mean(a == b) for b in chosen] for a in chosen])
    explained = bench["mcts_replay"].explained
    assert explained(alike, chosen @ np.arange(6.0), 40) > 0.9
    assert explained(alike, rng.normal(size=80), 40) < 0.2


def test_an_ablation_leaves_out_one_topic_at_a_time(bench: dict[str, ModuleType]) -> None:
    left_out = bench["ablation"].variants(True)
    assert list(left_out.values())[:2] == [(), ()]
    assert {topic for (topic,) in list(left_out.values())[2:]} == {
        "algebra", "folds", "ranges", "placement"
    }  # fmt: skip
