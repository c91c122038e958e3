"""Every entry has every kind of case: given, derived from one that is, or a reason why not.

The evaluator goes through all that are derived, in the first dtype that is compiled; programs are
compiled of a few of them. With CATALOGUE_EVERY_CASE=1 both go through all, in float32, a half and
an integer.
"""

from __future__ import annotations

import os

import pytest
from catalogue.derived import KINDS
from catalogue.entry import Entry
from catalogue.kinds import RARE, WHY, derived_job, given_kinds
from catalogue.running import (
    EVERY_CASE,
    Job,
    batches,
    compiled,
    compiled_dtypes,
    entries,
    evaluated,
    require_none,
)
from catalogue.test_catalogue import marked

PARTS = 48  # of all entries, for programs
LEFT_OUT = WHY.keys() if EVERY_CASE else WHY.keys() | RARE


def dtypes_of(entry: Entry) -> list[str]:
    return compiled_dtypes(entry) if EVERY_CASE else compiled_dtypes(entry)[:1]


EVERY = [marked(entry, dtype) for entry in entries() for dtype in dtypes_of(entry)]


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize(("entry", "dtype"), EVERY)
def test_a_kind_of_case_that_is_not_given_is_derived_or_has_a_reason(
    entry: Entry, dtype: str
) -> None:
    found: list[str] = []
    lacking = [kind for kind in KINDS if kind not in given_kinds(entry, dtype)]
    for kind in lacking:
        if (kind, entry.name) not in LEFT_OUT:
            job = derived_job(entry, kind, dtype)
            if not isinstance(job, str):
                found += evaluated(job, symbolic=False)
            elif not job:
                found.append(f"{entry.name} lacks {kind}, without a reason")
    require_none(found)
    if dtype == compiled_dtypes(entry)[0]:
        assert not [kind for kind in KINDS if (kind, entry.name) in WHY and kind not in lacking]


def test_every_reason_is_of_an_entry_that_there_is() -> None:
    names = {one.name for one in entries()}
    if not os.environ.get("CATALOGUE_TOPICS"):
        assert not sorted(name for _, name in WHY.keys() | RARE if name not in names)


def derived_jobs(part: int, *, peers: bool) -> list[Job]:
    """All derived cases of every PARTS-th entry that needs torch, or that does not."""
    chosen = [one for one in entries()[part::PARTS] if one.is_peer == peers]
    made = [
        derived_job(entry, kind, dtype)
        for entry in chosen
        for dtype in dtypes_of(entry)
        for kind in KINDS
        if (kind, entry.name) not in LEFT_OUT and kind not in given_kinds(entry, dtype)
    ]
    return [job for job in made if isinstance(job, Job)]


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("part", range(PARTS if EVERY_CASE else 1))
def test_programs_of_derived_cases_give_what_the_oracle_says(part: int) -> None:
    require_right(derived_jobs(part, peers=False))


@pytest.mark.peers
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("part", range(PARTS if EVERY_CASE else 0))
def test_programs_of_derived_cases_give_what_torch_says(part: int) -> None:
    require_right(derived_jobs(part, peers=True))


def require_right(jobs: list[Job]) -> None:
    require_none([fault for part in batches(jobs) for fault in compiled(part, symbolic=False)])
