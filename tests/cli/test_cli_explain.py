"""``photic explain``: the table of kernels, shares of the time, and single kernels in full."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from cli.fakes import fake_kernel, fake_program
from typer.testing import CliRunner

import photic as ph
from photic.cli import explain
from photic.cli.main import app

runner = CliRunner()


@pytest.fixture
def program(monkeypatch: pytest.MonkeyPatch) -> None:
    made = fake_program(
        fake_kernel("k1", predicted_seconds=1e-6),
        fake_kernel("k2_big", calls=3, seconds=1.25e-5, rules=("split", "pack")),
    )
    monkeypatch.setattr(explain, "programs_of", lambda what: {what: made})


@pytest.mark.usefixtures("program")
def test_every_kernel_has_a_row_with_units_the_slowest_first() -> None:
    result = runner.invoke(app, ["explain", "m"])
    assert result.exit_code == 0
    assert [line.split() for line in result.stdout.splitlines() if line] == [
        ["m:", "2", "kernels"],
        ["constants:", "98.8", "MB"],
        ["arena", "and", "scratch:", "1.0", "kB"],
        ["shares", "are", "of", "predicted", "times"],
        ["limits", "are", "by", "the", "cost", "model's", "figures", "for", "this", "machine"],
        ["kernel", "calls", "share", "measured", "predicted", "GFLOP", "MB", "limit", "rules"],
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
            "arithmetic",
            "split,",
            "pack",
        ],
        ["k1", "1", "25.0%", "-", "1", "us", "0.002", "0.0035", "arithmetic", "-"],
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


def test_a_program_that_is_not_there_is_not_taken_for_a_models_name(tmp_path: Path) -> None:
    result = runner.invoke(app, ["explain", str(tmp_path / "gone.photic")])
    assert result.exit_code == 1
    assert "gone.photic: no saved program is here" in result.stderr
