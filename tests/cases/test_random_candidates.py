"""Random graphs whose kernels are random candidates: what the evaluator says, between guard words.

The graphs of ``fuzz/``, on its three machines, with every group of kernels rearranged at random.
Half and whole numbers, states, symbolic sizes, masks and scans are among them.
"""

from __future__ import annotations

import pytest
from cases.candidates import rearranged
from fuzz.agreement import disagreements

FIRST, BATCHES, BATCH = 21_000, 3, 20


@pytest.mark.parametrize("number", range(BATCHES))
def test_random_candidates_keep_the_meaning(number: int) -> None:
    first = FIRST + number * BATCH
    seeds = range(first, first + BATCH)
    assert disagreements(seeds, lambda state: rearranged(state, first)) == []
