"""``photic`` itself: help, version, a fast start, and what an unknown command does."""

from __future__ import annotations

import subprocess
import sys

import pytest
from typer.testing import CliRunner

from photic import __version__
from photic.cli.main import app

runner = CliRunner()

HEAVY = ("numpy", "photic.compiler", "photic.language.decoder", "photic.tensor", "rich.progress")


def photic(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "photic.cli.main", *arguments],
        capture_output=True,
        text=True,
        timeout=60,
    )


def test_the_version_is_the_packages_own() -> None:
    result = photic("--version")
    assert (result.returncode, result.stdout) == (0, f"photic {__version__}\n")


@pytest.mark.parametrize("command", [[], ["run"], ["targets"], ["explain"]])
def test_help_has_an_example_of_each_command(command: list[str]) -> None:
    result = runner.invoke(app, [*command, "--help"])
    assert result.exit_code == 0
    assert "photic " + " ".join(command) in result.output.split("Example")[1]


def test_help_lists_every_command_with_its_whole_sentence() -> None:
    result = photic("-h")
    assert result.returncode == 0
    assert "..." not in result.stdout.split("Commands")[1]
    assert {"run", "explain", "targets"} <= set(result.stdout.split())


def test_an_unknown_command_is_a_usage_error() -> None:
    result = photic("fly")
    assert result.returncode == 2
    assert "fly" in result.stderr and "Traceback" not in result.stderr


def test_help_imports_nothing_that_computes() -> None:
    """Time to start is what imports cost; naming them is steadier than a stopwatch."""
    code = (
        "import sys; from photic.cli.main import app; app(['--help'], standalone_mode=False); "
        f"sys.exit(', '.join(name for name in {HEAVY!r} if name in sys.modules) or 0)"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert (result.returncode, result.stderr) == (0, "")
