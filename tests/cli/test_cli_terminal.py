"""``photic run`` on a terminal: bars while it works, gone before the answer."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest
from cli.processes import fake_run

pty = pytest.importorskip("pty", reason="needs a Unix terminal")


def test_bars_are_drawn_on_a_terminal_and_stdout_stays_clean() -> None:
    ours, theirs = pty.openpty()
    stages = "('pull', 0, 93_000_000), ('pull', 46_500_000, 93_000_000), ('compile', 1, 3)"
    process = subprocess.Popen(
        [sys.executable, "-c", fake_run("'Light.',", stages)],
        env={**os.environ, "TERM": "xterm", "COLUMNS": "100"},
        stdout=subprocess.PIPE,
        stderr=theirs,
    )
    os.close(theirs)
    answer, _ = process.communicate(timeout=60)
    drawn = os.read(ours, 1 << 16).decode()
    os.close(ours)
    assert (process.returncode, answer) == (0, b"Light.\n")
    assert "Fetching the model" in drawn and "46.5 MB of 93.0 MB" in drawn
    assert "Compiling" in drawn and "1/3" in drawn


def test_without_a_prompt_on_a_terminal_the_command_says_so_and_does_not_wait() -> None:
    ours, theirs = pty.openpty()
    result = subprocess.run(
        [sys.executable, "-m", "photic.cli.main", "run", "m"],
        stdin=theirs,
        capture_output=True,
        text=True,
        timeout=60,
    )
    os.close(ours)
    os.close(theirs)
    assert result.returncode == 2
    assert "give a prompt, or pipe one in" in result.stderr
