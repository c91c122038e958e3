"""Candidates as trials: one source and the buffers to call it with, at given sizes.

The table of a trial holds the buffers of ``table_of`` in order. Integers that are read hold small
numbers, or all of their range where that is 8 bits.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from photic.codegen.dialect import Dialect
from photic.forms.candidate_check import Arrays, Meaning
from photic.forms.layout import elements
from photic.forms.relaying import relaid
from photic.forms.scatters import scatter_of
from photic.ir import index as form
from photic.ir.dim import Atom, Dim, Symbol, substitute, symbols
from photic.ir.index import Buffer, Store
from photic.ir.program import Layout
from photic.search.region import shared_axes
from photic.search.space import Candidate
from photic.search.work import Work
from photic.targets.measure import Slot, Trial
from photic.targets.process import Remote
from photic.tuning.candidate import candidate_source, scratch_of, table_of
from photic.tuning.partition import symbols_of

MOST_INTEGER = 8
RUN_SECONDS = 60.0  # of one call in a check
MANY = 256  # works whose meaning is remembered
MOST_POINTS = 4  # sets of sizes at which a region is measured

Sizes = Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Source:
    """A candidate's text, and its buffers with their layouts by name."""

    candidate: Candidate
    text: str
    buffers: tuple[Buffer, ...]
    layouts: Mapping[str, Layout]
    scratch_bytes: int


def points_of(work: Work) -> list[dict[str, int]]:
    """Sizes to measure a work at."""
    return points_at(symbols_of(work))


def points_at(known: Sequence[Symbol]) -> list[dict[str, int]]:
    """Sizes to measure at: the middle of all ranges, and the ends of each with others there."""
    middle = {one.name: max(1, math.isqrt(max(1, one.low) * max(1, one.high))) for one in known}
    found = [middle | {one.name: end} for one in known for end in (one.low, one.high)]
    return [dict(one) for one in dict.fromkeys(tuple(p.items()) for p in (*found, middle))][
        :MOST_POINTS
    ]


def source_of(candidate: Candidate, work: Work, dialect: Dialect) -> Source:
    """The text of a candidate; symbolic sizes have slots by name."""
    layouts: dict[str, Layout] = {}
    for nest in candidate.nests:
        layouts |= {b.name: lay for b, lay in zip(nest.parameters, nest.layouts, strict=True)}
    return Source(
        candidate,
        candidate_source(candidate.nests, symbols_of(work), dialect),
        tuple(table_of(candidate.nests)),
        layouts,
        scratch_of(candidate.nests),
    )


def trial_of(source: Source, work: Work, sizes: Sizes) -> Trial:
    """What to call a candidate with at these sizes."""
    kept = {one.buffer.name for one in work.stores if one.buffer in form.buffers_read(one)}
    slots = []
    for one in source.buffers:
        count = number_at(elements(one.shape, source.layouts[one.name]), sizes)
        low, high = (one.dtype.low, one.dtype.high) if one.dtype.bytes == 1 else (0, MOST_INTEGER)
        if one.dtype.kind != "int":
            low, high = 0, 1
        slots.append(Slot(one.dtype, count, low, high, one.name in kept))
    numbers = tuple(sizes[one.name] for one in symbols_of(work))
    return Trial(source.text, tuple(slots), numbers, 0, source.scratch_bytes)


def number_at(value: Dim, sizes: Sizes) -> int:
    """A size as a number."""
    table: dict[Atom, Dim] = {one: sizes[one.name] for one in symbols(value)}
    found = substitute(value, table)
    assert isinstance(found, int)
    return found


def meaning_of(work: Work, candidate: Candidate) -> Meaning:
    """What a candidate for a work should compute; as written, it may not take other orders."""
    outputs = dict.fromkeys(one.buffer for one in work.stores)
    wanted = tuple(one for one in outputs if one.name not in work.temporary)
    return Meaning(_sampleable(work), wanted, {}, candidate.is_finite, not candidate.choices)


@lru_cache(maxsize=MANY)
def _sampleable(work: Work) -> tuple[Store, ...]:
    """The stores over axes of the whole work, so that some points of them can be judged alone."""
    if len(work.stores) == 1 or any(map(scatter_of, work.stores)):
        return work.stores
    return shared_axes(work.stores, work.temporary)


def called(
    remote: Remote, source: Source, work: Work, arrays: Arrays, sizes: Sizes
) -> Arrays | str:
    """A candidate's outputs for these arrays, from the worker."""
    trial = trial_of(source, work, sizes)
    written = {one.buffer.name: one.buffer for one in work.stores}
    given, outputs = {}, dict[int, Buffer]()
    for number, one in enumerate(source.buffers):
        if one.name in arrays:  # where its axes are merged, the array's are too
            array = arrays[one.name].reshape([number_at(n, sizes) for n in one.shape])
            given[number] = relaid(array, source.layouts[one.name]).reshape(-1)
        if one.name in written and one.name not in work.temporary:
            outputs[number] = written[one.name]
    found = remote.run(trial, given, trial.sizes, sorted(outputs), RUN_SECONDS)
    if not isinstance(found, dict):
        return str(found)
    shapes = {n: [number_at(extent, sizes) for extent in one.shape] for n, one in outputs.items()}
    return {outputs[n].name: array.reshape(shapes[n]) for n, array in found.items()}
