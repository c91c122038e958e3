"""Cases with nan, an infinity and -0.0 among their values, the array that has them a view.

The case is one of an entry's own that is small; its first float array is reversed in memory and
three elements of it are replaced. Tolerances are those of the case as it was, or as it is where
they are larger. What oracles do not say of such values has its reason here.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import islice
from zlib import crc32

import numpy as np
from catalogue.entry import Answers, Array, Case, Entry
from catalogue.inputs import is_float, strided
from catalogue.judging import widened
from catalogue.running import EVERY_CASE, Job

SMALL = 2000  # elements of a case
SPECIAL = (np.nan, -np.inf, -0.0)
EVERY_NTH = (
    16  # entry whose programs are called with special values, of all tests but thorough ones
)

# Entries whose oracle does not say what is right beside nan or infinity, by the reason.
REASONS: dict[str, str] = {
    "nan and infinities go everywhere in a transform; the oracle's goes by parts": """
        fft fft.axis fft.real fft2 fftn fftn.lengths ifft ifft.norms ifft2 ifftn irfft.length
        irfft2 irfftn irfftn.lengths rfft rfft2 rfftn rfftn.lengths istft stft stft.plain
    """,
    "the oracle's decomposition does not converge, or spreads nan by its own order": """
        cholesky_inverse cond eigh eigh.rank_1 eigvalsh inv lstsq lu lu.halves matrix_norm
        matrix_rank norm.matrix_largest norm.matrix_nuclear norm.matrix_smallest pinv polyfit qr
        qr.complete slogdet solve solve_triangular solve_triangular.right
        solve_triangular.transposed solve_triangular.unit svd svd.rank_1 svd.reduced svdvals
    """,
    "infinities of two signs meet in another order": "multi_dot",
    "the oracle's weight of 0 makes nan of what is not read here, or the other way": """
        interpolate.bilinear interpolate.linear_sizes interpolate.trilinear resize resize.crop
    """,
    "the oracle's maximum passes over nan": "embedding_bag embedding_bag.offsets multi_margin_loss",
    "the oracle makes 0 of a row without numbers": "attention",
    "a row that sees no key is 0 here, whatever it holds": "attention.mask",
    "the oracle refuses such values": "binary_cross_entropy histogram histogram_bin_edges",
    "the order that it is given is of the values as they were": "searchsorted.sorter",
    "of zeros the oracle gives another one": "xlog1py",
}
OTHERWISE = {name for names in REASONS.values() for name in names.split()}
# The same of further cases than the first, by the reason.
LATER_REASONS: dict[str, str] = {
    "infinities meet nan, or others of their sign, in sums of another order": """
        dct dct.ortho dct.third dct.third_ortho det idct idct.ortho irfft
    """,
    "which of a matrix is read, and so which nan spreads, is another thing there": """
        cholesky cholesky.upper cholesky_solve solve.batch solve_triangular.batch
        solve_triangular.right_transposed solve_triangular.upper
    """,
    "its places are to rise": "searchsorted searchsorted.right",
    "the oracle leaves out the middle of places that are evenly apart": "gradient.places",
    "between an infinity and a number lies nan there": "nanquantile",
}
LATER = {name for names in LATER_REASONS.values() for name in names.split()}


def mixed_job(job: Job) -> Job | None:
    """The job with special values; None where it is large, has no place for them or an excuse."""
    case = job.case
    has_place = any(is_float(one.dtype) and one.size > 1 for one in case)
    excused = OTHERWISE | LATER if job.number else OTHERWISE
    if job.entry.name in excused or not has_place or sum(one.size for one in case) >= SMALL:
        return None
    now = mixed(case)
    return replace(job, entry=scaled_by(job.entry, case, now), case=now)


def mixed_jobs(jobs: Sequence[Job]) -> list[Job]:
    """All of them that can have special values, with them."""
    return [one for one in map(mixed_job, jobs) if one is not None]


def with_special_values(jobs: Sequence[Job]) -> list[Job]:
    """All of them with special values; without CATALOGUE_EVERY_CASE one, of every n-th entry."""
    if not EVERY_CASE and crc32(jobs[0].entry.name.encode()) % EVERY_NTH:
        return []
    mixed = (one for one in map(mixed_job, jobs) if one is not None)
    return list(mixed if EVERY_CASE else islice(mixed, 1))


def mixed(case: Case) -> Case:
    """The case with special values in its first float array of several elements."""
    place = next(k for k, one in enumerate(case) if is_float(one.dtype) and one.size > 1)
    array = strided(np.array(case[place]))
    random = np.random.default_rng(array.size)
    for number in SPECIAL:
        array[tuple(random.integers(extent) for extent in array.shape)] = number
    return (*case[:place], array, *case[place + 1 :])


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
