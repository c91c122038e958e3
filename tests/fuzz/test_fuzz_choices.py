"""Every legal choice of lanes, register tile and layout keeps a kernel's meaning."""

from __future__ import annotations

from random import Random

import pytest
from fuzz.agreement import batches, disagreements
from fuzz.choices import scramble


@pytest.mark.parametrize("seeds", batches(10_000, 10_200), ids=str)
def test_random_choices_keep_the_meaning(seeds: range) -> None:
    random = Random(seeds[0])
    assert disagreements(seeds, lambda state: scramble(random, state)) == []
