"""Generated C and the evaluator agree on random graphs, the first half of them."""

from __future__ import annotations

import pytest
from fuzz.agreement import batches, disagreements


@pytest.mark.parametrize("seeds", batches(0, 1000), ids=str)
def test_generated_code_means_what_the_evaluator_says(seeds: range) -> None:
    assert disagreements(seeds) == []
