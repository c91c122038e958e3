"""Generated C and the evaluator agree on random graphs, the second half of them.

Compiled without optimisation, in a third of the time: what the C means is what generated code
promises, and that no optimisation finds another meaning in it shows in the first half.
"""

from __future__ import annotations

import pytest
from fuzz.agreement import batches, disagreements


@pytest.mark.parametrize("seeds", batches(1000, 2000), ids=str)
def test_generated_code_means_what_the_evaluator_says(seeds: range) -> None:
    assert disagreements(seeds, flags=("-O0",)) == []
