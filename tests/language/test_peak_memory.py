"""The peak of memory is that of the program that asks, not of the one that started it."""

from __future__ import annotations

import subprocess
import sys

import numpy as np

from photic.language.memory import peak_bytes

MEGABYTE = 1 << 20


def test_the_peak_grows_with_what_is_used_and_never_shrinks() -> None:
    before = peak_bytes()
    held = np.ones(96 * MEGABYTE, np.uint8)
    most = peak_bytes()
    assert most >= before and most >= held.nbytes
    del held
    assert peak_bytes() >= most - MEGABYTE  # Linux counts pages a few at a time


def test_a_small_program_started_by_a_large_one_has_a_small_peak() -> None:
    held = np.ones(400 * MEGABYTE, np.uint8)
    asks = "from photic.language.memory import peak_bytes; print(peak_bytes())"
    done = subprocess.run(
        [sys.executable, "-c", asks], capture_output=True, text=True, check=True, timeout=60
    )
    assert 0 <= int(done.stdout) < held.nbytes
