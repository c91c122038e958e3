"""Every command's stdout and stderr: full disks, readers that leave, closed streams, Ctrl-C."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

FULL = Path("/dev/full")
COMMANDS = (["--help"], ["--version"], ["rules"], ["rules", "folds"], ["targets"], ["tune", "-h"])
PHOTIC = (sys.executable, "-m", "photic.cli.main")


def shell(line: str, *arguments: str, unbuffered: str = "") -> subprocess.CompletedProcess[str]:
    """A line of the shell in which "$@" is the command."""
    return subprocess.run(
        ("sh", "-c", line, "sh", *PHOTIC, *arguments),
        capture_output=True,
        text=True,
        timeout=60,
        env={**os.environ, "PYTHONUNBUFFERED": unbuffered},
    )


@pytest.fixture
def _full() -> None:
    if not FULL.is_char_device():
        pytest.skip("needs /dev/full, which only Linux has")


@pytest.mark.usefixtures("_full")
@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_a_full_disk_is_one_line_and_a_failure(command: list[str]) -> None:
    result = shell('"$@" >/dev/full', *command)
    assert result.returncode == 1
    assert result.stderr == "error: [P305] stdout: no space left while writing a file\n"


@pytest.mark.usefixtures("_full")
def test_a_full_disk_is_told_without_buffers_too() -> None:
    result = shell('"$@" >/dev/full', "rules", unbuffered="1")
    assert (result.returncode, result.stderr.count("\n")) == (1, 1)


@pytest.mark.parametrize("command", [["--help"], ["rules"]], ids=" ".join)
def test_a_reader_that_left_is_no_message(command: list[str]) -> None:
    result = shell('{ "$@"; echo $? >&2; } | true', *command)
    assert result.stderr in ("141\n", "0\n")  # 0 where the pipe's reader was slower to leave


@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"])
def test_a_closed_stream_is_no_fault(closed: str) -> None:
    result = shell(f'"$@" {closed}', "rules", "folds")
    assert (result.returncode, result.stderr) == (0, "")


@pytest.mark.usefixtures("_full")
def test_what_cannot_be_told_on_stderr_still_ends_with_its_code() -> None:
    assert shell('"$@" 2>/dev/full', "no-such-command").returncode == 2
    assert shell('"$@" 2>/dev/full', "explain", "gone.photic").returncode == 1


def test_ctrl_c_while_it_imports_is_quiet() -> None:
    code = (
        "import builtins, signal, sys\n"
        "whole = builtins.__import__\n"
        "def stopped(name, *rest):\n"
        "    if name == 'typer': signal.raise_signal(signal.SIGINT)\n"
        "    return whole(name, *rest)\n"
        "builtins.__import__ = stopped\n"
        "from photic.cli.start import run\n"
        "run()\n"
    )
    result = subprocess.run((sys.executable, "-c", code), capture_output=True, timeout=60)
    assert (result.returncode, result.stderr) == (128 + signal.SIGINT, b"")
