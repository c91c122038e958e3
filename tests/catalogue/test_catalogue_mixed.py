"""Every function of floats with nan, an infinity and -0.0 among ordinary values, and in a view.

The evaluator judges one case of each entry in float32; with CATALOGUE_EVERY_CASE=1 every small one
in every float dtype. Compiled programs are called with such values by
``test_catalogue_compiled.py``.
"""

from __future__ import annotations

import os

import pytest
from _pytest.mark.structures import ParameterSet
from catalogue.entry import FLOATS, Entry
from catalogue.mixing import LATER, OTHERWISE, mixed_jobs
from catalogue.running import EVERY_CASE, entries, evaluated, jobs, require_none
from catalogue.test_catalogue import marked

TAKEN = FLOATS if EVERY_CASE else ("float32",)
NAMES = {one.name for one in entries() if set(FLOATS) & set(one.dtypes)}


def parameters() -> list[ParameterSet]:
    return [
        marked(entry, dtype)
        for entry in entries()
        for dtype in TAKEN
        if dtype in entry.dtypes and entry.name not in OTHERWISE
    ]


@pytest.mark.parametrize(("entry", "dtype"), parameters())
def test_special_values_among_others_do_what_the_oracle_says(entry: Entry, dtype: str) -> None:
    every = mixed_jobs(jobs(entry, dtype))
    chosen = every if EVERY_CASE else every[:1]
    require_none([fault for job in chosen for fault in evaluated(job, symbolic=False)])


def test_every_exception_is_of_an_entry_that_there_is() -> None:
    if not os.environ.get("CATALOGUE_TOPICS"):
        assert not (OTHERWISE | LATER) - NAMES
