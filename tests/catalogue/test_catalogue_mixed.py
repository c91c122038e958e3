"""Every function of floats with nan, an infinity and -0.0 among ordinary values, and in a view.

The case is the first of an entry's float32 cases that is small, its first float array reversed in
memory and three elements of it replaced. Tolerances are those of the case as it was, or as it is
where they are larger. The evaluator judges; what compiled programs make of each operation is
tested elsewhere.
"""

from __future__ import annotations

import os
from dataclasses import replace
from itertools import islice

import numpy as np
import pytest
from catalogue.entry import Answers, Array, Case, Entry
from catalogue.inputs import strided
from catalogue.judging import widened
from catalogue.running import Job, entries, evaluated

LOOKED_THROUGH = 8  # cases of an entry
SMALL = 2000  # elements of a case
SPECIAL = (np.nan, -np.inf, -0.0)

# Entries whose oracle does not say what is right beside nan or infinity, by the reason.
REASONS: dict[str, str] = {
    "nan and infinities go everywhere in a transform; the oracle's goes by parts": """
        fft fft.axis fft.real fft2 fftn fftn.lengths ifft ifft.norms ifft2 ifftn irfft.length
        irfft2 irfftn irfftn.lengths rfft rfft2 rfftn rfftn.lengths istft stft stft.plain
    """,
    "the oracle's decomposition does not converge, or spreads nan by its own order": """
        cholesky_inverse cond eigh eigh.rank_1 eigvalsh inv lstsq lu matrix_norm matrix_rank
        norm.matrix_largest norm.matrix_nuclear norm.matrix_smallest pinv polyfit qr qr.complete
        slogdet solve solve_triangular solve_triangular.right solve_triangular.transposed
        solve_triangular.unit svd svd.rank_1 svd.reduced svdvals
    """,
    "infinities of two signs meet in another order": "multi_dot",
    "the oracle's weight of 0 makes nan of what is not read here, or the other way": """
        interpolate.trilinear resize resize.crop
    """,
    "the oracle's maximum passes over nan": "embedding_bag embedding_bag.offsets multi_margin_loss",
    "the oracle makes 0 of a row without numbers": "attention",
    "the oracle refuses such values": "binary_cross_entropy histogram histogram_bin_edges",
    "the order that it is given is of the values as they were": "searchsorted.sorter",
    "of zeros the oracle gives another one": "xlog1py",
}
OTHERWISE = {name for names in REASONS.values() for name in names.split()}


def mixed(case: Case) -> Case:
    """The case with special values in its first float array of several elements."""
    place = next(k for k, one in enumerate(case) if one.dtype.kind == "f" and one.size > 1)
    array = strided(np.array(case[place]))
    random = np.random.default_rng(array.size)
    for number in SPECIAL:
        array[tuple(random.integers(extent) for extent in array.shape)] = number
    return (*case[:place], array, *case[place + 1 :])


def chosen(entry: Entry) -> Case | None:
    """The first small case with a float array of several elements."""
    cases = entry.inputs(np.dtype(np.float32), np.random.default_rng(0))
    for case in islice(cases, LOOKED_THROUGH):
        small = sum(one.size for one in case) < SMALL
        if small and any(one.dtype.kind == "f" and one.size > 1 for one in case):
            return tuple(case)
    return None


def scaled_by(entry: Entry, case: Case, now: Case) -> Entry:
    """The entry, its tolerances relative to the larger of what they are in both cases."""
    function = entry.scale
    if function is None:
        return entry
    with np.errstate(all="ignore"):
        before, after = (_several(function(*widened(one))) for one in (case, now))
        scales = [np.fmax(a, np.where(np.isfinite(b), b, 0)) for a, b in zip(before, after)]
    return replace(entry, scale=lambda *_: scales if len(scales) > 1 else scales[0])


def _several(given: Answers) -> list[Array]:
    return [np.asarray(one) for one in (given if isinstance(given, tuple | list) else [given])]


NAMES = {one.name: one for one in entries() if "float32" in one.dtypes}


@pytest.mark.parametrize("name", sorted(NAMES.keys() - OTHERWISE))
def test_special_values_among_others_do_what_the_oracle_says(name: str) -> None:
    entry = NAMES[name]
    case = chosen(entry)
    if case is not None:
        now = mixed(case)
        job = Job(scaled_by(entry, case, now), "float32", -1, now)
        found = evaluated(job, symbolic=False)
        assert not found, "\n".join(found)


def test_every_exception_is_of_an_entry_that_there_is() -> None:
    if not os.environ.get("CATALOGUE_TOPICS"):
        assert not OTHERWISE - NAMES.keys()
