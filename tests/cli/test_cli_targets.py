"""``photic targets``: one line per target, one per fact, and why a target is missing."""

from __future__ import annotations

from dataclasses import dataclass

import pytest
from typer.testing import CliRunner

from photic.cli import targets, targets_check
from photic.cli.main import app
from photic.targets.errors import CompilerMissing

runner = CliRunner()


@dataclass(frozen=True)
class FakeFacts:
    """A few facts, one of each kind of value."""

    processor: str = "test"
    vector_bytes: int = 64
    has_dots: bool = True
    units: frozenset[str] = frozenset({"vnni", "amx"})
    spare: tuple[str, ...] = ()


def missing() -> object:
    raise CompilerMissing(problem="the ziglang wheel is not installed")


def test_an_available_target_lists_its_facts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(targets, "finders", lambda: {"c": FakeFacts})
    result = runner.invoke(app, ["targets"])
    assert result.stdout.splitlines() == [
        "c: available",
        "  processor: test",
        "  vector: 64 bytes",
        "  has dots: yes",
        "  units: amx, vnni",
        "  spare: none",
    ]


def test_a_missing_target_says_why_and_the_next_is_listed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(targets, "finders", lambda: {"c": missing, "other": FakeFacts})
    result = runner.invoke(app, ["targets"])
    assert result.exit_code == 0
    assert "c: not available: [P302]" in result.stdout
    assert "the ziglang wheel is not installed" in result.stdout
    assert "other: available" in result.stdout


def test_a_target_passes_its_self_test(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(targets_check, "CHECKS", targets_check.CHECKS[:1])
    result = runner.invoke(app, ["targets", "--check", "c"])
    assert (result.exit_code, result.stdout) == (
        0,
        "c: one rounding for each operation: right\n",
    )


def test_a_target_that_is_wrong_fails_its_self_test(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(targets_check, "CHECKS", targets_check.CHECKS[:1])
    monkeypatch.setattr(targets_check, "_agree", lambda *_: False)
    result = runner.invoke(app, ["targets", "--check", "c"])
    assert result.exit_code == 1
    assert "differs from the evaluator's" in result.stdout
