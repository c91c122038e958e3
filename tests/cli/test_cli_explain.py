"""``photic explain``: the table of kernels, shares of the time, and single kernels in full."""

from __future__ import annotations

import math
import sys
import types
from pathlib import Path

import numpy as np
import pytest
from cli.fakes import FakeOpening, FakeSession, fake_kernel, fake_program
from typer.testing import CliRunner

import photic as ph
from photic.cli import explain
from photic.cli.main import app
from photic.cli.rejected import search_lines
from photic.cli.roofs import Level, Roofs
from photic.storage.making import Making, Tried

runner = CliRunner()


@pytest.fixture
def program(monkeypatch: pytest.MonkeyPatch) -> None:
    made = fake_program(
        fake_kernel("k1", predicted_seconds=1e-6),
        fake_kernel("k2_big", calls=3, seconds=1.25e-5, rules=("split", "pack")),
    )
    monkeypatch.setattr(explain, "programs_of", lambda what, precision: {what: made})


@pytest.fixture(autouse=True)
def _known_roofs(monkeypatch: pytest.MonkeyPatch) -> None:
    roofs = Roofs(1e12, (Level("memory", math.inf, 1e10),), True)
    monkeypatch.setattr(explain, "roofs_here", lambda program: roofs)


@pytest.mark.usefixtures("program")
def test_every_kernel_has_a_row_with_units_the_slowest_first() -> None:
    result = runner.invoke(app, ["explain", "m"])
    assert result.exit_code == 0
    assert [line.split() for line in result.stdout.splitlines() if line] == [
        ["m:", "2", "kernels"],
        ["constants:", "98.8", "MB"],
        ["arena", "and", "scratch:", "1.0", "kB"],
        ["shares", "are", "of", "predicted", "times"],
        [
            "ceilings,",
            "measured",
            "now:",
            "1.0",
            "Tflop/s",
            "in",
            "float32,",
            "10.0",
            "GB/s",
            "from",
            "memory",
        ],
        [
            "kernel",
            "calls",
            "share",
            "measured",
            "predicted",
            "GFLOP",
            "MB",
            "ceiling",
            "limit",
            "rules",
        ],
        [
            "k2_big",
            "3",
            "75.0%",
            "12.5",
            "us",
            "1",
            "us",
            "0.002",
            "0.0035",
            "16%",
            "arithmetic",
            "split",
            ">",
            "pack",
        ],
        ["k1", "1", "25.0%", "-", "1", "us", "0.002", "0.0035", "-", "arithmetic", "as", "written"],
        ["search:", "not", "kept", "in", "files", "of", "this", "older", "version"],
    ]


def test_shares_are_of_measured_times_once_every_kernel_has_one() -> None:
    kernels = (fake_kernel("a", seconds=1e-6), fake_kernel("b", seconds=3e-6, predicted_seconds=1))
    text = "\n".join(explain.explanation("m", fake_program(*kernels), kernels))
    assert "shares are of measured times" in text
    assert "25.0%" in text and "75.0%" in text


def test_a_program_without_kernels_is_no_division_by_zero() -> None:
    assert "0 kernels" in "\n".join(explain.explanation("m", fake_program(), ()))


@pytest.mark.usefixtures("program")
def test_one_kernel_is_chosen_by_part_of_its_name_and_shown_in_full() -> None:
    result = runner.invoke(app, ["explain", "m", "--kernel", "big"])
    assert "// k2_big: the nest\nnest of k2_big\n" in result.stdout
    assert "// k2_big: the source\nvoid k2_big(void) {}\n" in result.stdout
    assert "75.0%" in result.stdout  # of the whole program
    assert "k1" not in result.stdout


@pytest.mark.usefixtures("program")
def test_a_kernel_that_is_not_there_is_an_error_that_names_near_ones() -> None:
    result = runner.invoke(app, ["explain", "m", "--kernel", "k2big"])
    assert result.exit_code == 1
    assert result.stderr.startswith("error: [P104] explain: --kernel is 'k2big', expected k2_big")


@pytest.mark.usefixtures("program")
def test_sources_are_printed_only_on_request() -> None:
    assert "void" not in runner.invoke(app, ["explain", "m"]).stdout
    everything = runner.invoke(app, ["explain", "m", "--source"]).stdout
    assert "void k1(void) {}" in everything and "void k2_big(void) {}" in everything
    assert "nest of" not in everything


def test_a_saved_program_is_explained_from_its_folder(tmp_path: Path) -> None:
    x = ph.input("x", (8, 8))
    path = tmp_path / "twice.photic"
    ph.compile({"y": x * ph.constant(np.full(8, 2, np.float32))}).save(path)
    result = runner.invoke(app, ["explain", str(path), "--kernel", "k0"])
    assert result.exit_code == 0, result.output
    assert "100.0%" in result.stdout and "the nest" in result.stdout


def test_a_model_is_opened_with_the_precision_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    opening = FakeOpening(FakeSession(programs={"step": fake_program(fake_kernel("k1"))}))
    module = types.ModuleType("photic.language.session")
    module.open_session = opening  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "photic.language.session", module)
    for options in ([], ["--precision", "exact"]):
        result = runner.invoke(app, ["explain", "m", *options])
        assert result.exit_code == 0, result.output
    assert opening.rounding == [("auto", "bf16"), ("auto", "exact")]


def test_a_program_that_is_not_there_is_not_taken_for_a_models_name(tmp_path: Path) -> None:
    result = runner.invoke(app, ["explain", str(tmp_path / "gone.photic")])
    assert result.exit_code == 1
    assert "gone.photic: no saved program is here" in result.stderr


def test_what_was_tried_and_why_it_was_rejected_is_told_by_region() -> None:
    tried = (
        Tried("aa", 0, 0.5, 4e-6, "as written", 2, "first", ""),
        Tried("aa", 1, 0.5, 2e-6, "values 0", 1, "won", ""),
        Tried("aa", 2, 0.6, 3e-6, "values 1", 1, "slower", "1.5 times as long"),
        Tried("aa", 3, 0.7, None, "values 0", 1, "failed", "refused: x"),
        Tried("aa", 4, 0.7, None, "values 2", 1, "failed", "refused: x"),
        Tried("bb", 0, 0.9, 1e-6, "as written", 1, "first", ""),
    )
    regions = (("k0", "aa", "values 0"), ("k1", "aa", "values 0"), ("k2", "bb", "as written"))
    making = Making(regions=regions, tried=tried, candidates=4, seconds=2.0, stopped="out of time")
    lines = list(search_lines(making, frozenset({"k0"})))
    assert lines[0] == "search: 4 candidates in 2 s (out of time)"
    words = lines[2].splitlines()[1].split()
    assert words == ["aa", "k0,", "k1", "4", "us", "2", "us", "1", "-", "1", "2", "-", "-"]
    assert lines[-2:] == [
        "  aa: 1 in races or checks, the fastest of them "
        "number 2 (values 1, 1 kernel, 3 us): slower: 1.5 times as long",
        "  aa: 2 failed: refused: x",
    ]
    assert "  bb: nothing" in list(search_lines(making, frozenset({"k2"})))
    assert list(search_lines(Making(), frozenset({"k0"}))) == [
        "search: none in this compilation (no search)"
    ]
