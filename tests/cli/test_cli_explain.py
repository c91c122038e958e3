"""``photic explain``: the table of kernels, the choice among them, and their sources."""

from __future__ import annotations

import pytest
from cli.fakes import fake_kernel, fake_program
from typer.testing import CliRunner

from photic.cli import explain
from photic.cli.main import app

runner = CliRunner()


@pytest.fixture(autouse=True)
def program(monkeypatch: pytest.MonkeyPatch) -> None:
    made = fake_program(
        fake_kernel("k1"), fake_kernel("k2_big", seconds=1.25e-5, rules=("split", "pack"))
    )
    monkeypatch.setattr(explain, "programs_of", lambda what: {what: made})


def test_every_kernel_has_a_row_with_units() -> None:
    result = runner.invoke(app, ["explain", "m"])
    assert result.exit_code == 0
    assert [line.split() for line in result.stdout.splitlines() if line] == [
        ["m:", "2", "kernels"],
        ["constants:", "98.8", "MB"],
        ["arena", "and", "scratch:", "1.0", "kB"],
        ["kernel", "calls", "bytes", "flops", "time", "rules"],
        ["k1", "1", "3.5", "kB", "2.0", "M", "-", "-"],
        ["k2_big", "1", "3.5", "kB", "2.0", "M", "12.5", "us", "split,", "pack"],
    ]


def test_one_kernel_is_chosen_by_part_of_its_name() -> None:
    result = runner.invoke(app, ["explain", "m", "--kernel", "big", "--source"])
    assert "void k2_big(void) {}" in result.stdout
    assert "k1" not in result.stdout


def test_sources_are_printed_only_on_request() -> None:
    assert "void" not in runner.invoke(app, ["explain", "m"]).stdout
