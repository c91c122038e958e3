"""Every entry of the catalogue by the evaluator: each dtype, each case, sizes symbolic too.

Cases with the axes that an entry names are judged by graphs of their own sizes and by one with
symbolic sizes; in dtypes that are not compiled by the one alone, unless CATALOGUE_EVERY_CASE=1.
"""

from __future__ import annotations

import os

import pytest
from _pytest.mark.structures import ParameterSet
from catalogue.entry import Entry
from catalogue.running import (
    all_evaluated,
    compiled_dtypes,
    entries,
    jobs,
    require_none,
    sizes_of_case,
)


def marked(entry: Entry, dtype: str) -> ParameterSet:
    marks = [pytest.mark.peers] if entry.is_peer else []
    return pytest.param(entry, dtype, id=f"{entry.name}-{dtype}", marks=marks)


EVERY = [marked(entry, dtype) for entry in entries() for dtype in entry.dtypes]


@pytest.mark.parametrize(("entry", "dtype"), EVERY)
def test_the_evaluator_gives_what_the_oracle_says(entry: Entry, dtype: str) -> None:
    every = jobs(entry, dtype)
    assert every, "no cases"
    named = [job for job in every if sizes_of_case(job) is not None]
    is_both = dtype in compiled_dtypes(entry) or bool(os.environ.get("CATALOGUE_EVERY_CASE"))
    own = every if is_both else [job for job in every if sizes_of_case(job) is None]
    require_none(all_evaluated(own, symbolic=False) + all_evaluated(named, symbolic=True))
    assert named or not entry.sizes, "no case has the axes that the entry names"
