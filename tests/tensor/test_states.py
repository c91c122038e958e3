"""The memory of states: it grows with what is written, not with what is declared."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import photic as ph
from photic.targets.errors import TooLarge

STATM = Path("/proc/self/statm")
PAGE_BYTES = 4096
ROWS, COLUMNS = 64, 1 << 20  # 256 MiB of float32
SLACK_BYTES = 32 << 20  # the call itself, and what else the process does meanwhile


def resident_bytes() -> int:
    return int(STATM.read_text().split()[1]) * PAGE_BYTES


@pytest.mark.skipif(not STATM.exists(), reason="needs /proc/self/statm to see resident memory")
def test_a_cache_that_is_filled_along_its_inner_axis_takes_what_is_written() -> None:
    place = ph.dim("place", 0, COLUMNS - 1)
    cache = ph.state("cache", (ROWS, COLUMNS))
    new = ph.input("new", (ROWS, 1))
    program = ph.compile({"sum": ph.sum(new)}, {cache: ph.update(cache, new, place, 1)})
    column = np.arange(ROWS, dtype=np.float32)[:, None]
    program(new=column, place=0)
    before = resident_bytes()
    for number in range(100):
        program(new=column + number, place=number)
    assert resident_bytes() - before < SLACK_BYTES
    held = program.states["cache"]
    assert np.array_equal(held[:, :100], column + np.arange(100))
    assert not held[:, 100:200].any()


def test_a_state_that_no_memory_holds_is_a_users_error() -> None:
    cache = ph.state("cache", (1 << 40, 1 << 15))
    new = ph.input("new", (1, 1))
    with pytest.raises(TooLarge, match="the state 'cache' would take"):
        ph.compile({"sum": ph.sum(new)}, {cache: ph.update(cache, new, 0, 1)})


def test_states_begin_as_zeros_and_keep_their_dtype() -> None:
    for dtype in ("float32", "int8", "bool"):
        one = ph.state("one", (3,), dtype)
        program = ph.compile({"y": one}, {one: one})
        assert program()["y"].tolist() == np.zeros(3, dtype).tolist()
        assert program.states["one"].dtype == np.dtype(dtype)
