"""Running entries: their cases, the evaluator's answers, and programs compiled of many at once.

A job is one entry on one case. Jobs become graphs over inputs of their own, so that any number of
them is one program with an output for each. Symbolic jobs give their axes sizes by the names that
the entry states; every case of them goes through one program.

The variable CATALOGUE_TOPICS ("existing_linear places") keeps to entries of files so begun. With
CATALOGUE_EVERY_CASE=1 all cases are compiled, not a few of each entry in each dtype; the evaluator
always goes through all of them.
"""

from __future__ import annotations

import importlib
import os
import warnings
import zlib
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from types import TracebackType
from typing import TypeAlias

import numpy as np
import pytest
from _pytest.mark.structures import ParameterSet
from catalogue.entry import BOOL, HALVES, INTS, Array, Case, Entry, described
from catalogue.judging import faults, widened

import photic as ph
from photic.forms.eval import evaluate
from photic.ir.dim import Dim
from photic.ir.graph import Graph

# The largest size of one symbol, of each of two, three, ...: a product of all fits in memory.
MOST = (2**14, 2**11, 2**7, 2**6, 2**4)
OUTPUTS = 20  # of one compiled program
COMPILED_FIRST, COMPILED_OTHERS = 4, 1  # cases of an entry in its first dtype, and in another
SHOWN = 8  # faults of one test
EVERY_CASE = bool(os.environ.get("CATALOGUE_EVERY_CASE"))


@cache
def entries() -> tuple[Entry, ...]:
    """All entries of all topics (or those asked for), by file and place."""
    topics = os.environ.get("CATALOGUE_TOPICS", "").split() or [""]
    folder = Path(__file__).parent
    files = sorted(file for topic in topics for file in folder.glob(f"entries_{topic}*.py"))
    modules = [importlib.import_module(f"catalogue.{file.stem}") for file in files]
    return tuple(one for module in modules for one in module.ENTRIES)


# --- jobs -----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Job:
    """An entry on one case of a dtype; ``number`` counts the cases."""

    entry: Entry
    dtype: str
    number: int
    case: Case

    def __str__(self) -> str:
        return f"{self.entry.name} {self.dtype} case {self.number} ({described(self.case)})"

    def faults(self, got: Sequence[Array]) -> list[str]:
        """What is wrong with results, each with the job's name."""
        with InJob(self), np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)  # of nothing, NumPy warns
            made = self.entry.oracle(*widened(self.case))
            exact = [
                np.asarray(one) for one in (made if isinstance(made, tuple | list) else [made])
            ]
            found = faults(self.entry, np.dtype(self.dtype), self.case, got, exact)
        return [f"{self}: {one}" for one in found]


@dataclass(frozen=True, slots=True)
class InJob:
    """Adds to whatever is raised inside which job it was."""

    job: Job

    def __enter__(self) -> None: ...

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if error is not None:
            error.add_note(f"in {self.job}")


# Makes of the cases of one program others that it is for.
Also: TypeAlias = Callable[[Sequence[Job]], Sequence[Job]]


def no_more(_jobs: Sequence[Job]) -> Sequence[Job]:
    return ()


def jobs(entry: Entry, dtype: str) -> list[Job]:
    """An entry on all cases of a dtype; the same ones in every run."""
    random = np.random.default_rng(_number_of(f"{entry.name} {dtype}"))
    cases = entry.inputs(np.dtype(dtype), random)
    return [Job(entry, dtype, number, tuple(case)) for number, case in enumerate(cases)]


def _number_of(text: str) -> int:
    return zlib.crc32(text.encode())


def compiled_dtypes(entry: Entry) -> list[str]:
    """float32, one half type and one integer type (or bool), of those that the entry takes."""
    chosen = []
    for group in (("float32",), HALVES, INTS, BOOL if set(entry.dtypes) <= set(BOOL) else ()):
        taken = [one for one in group if one in entry.dtypes]
        if taken:
            chosen.append(taken[_number_of(entry.name) % len(taken)])
    return chosen or [entry.dtypes[0]]


# --- graphs ---------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Built:
    """A job's tensors, and the names of the inputs that they may read."""

    job: Job
    inputs: tuple[str, ...]
    results: Mapping[str, ph.Tensor]
    sizes: Mapping[str, int]  # of this case, by the names that its program has

    def given(self, job: Job) -> dict[str, Array]:
        """The arrays of a case of the same entry and dtype."""
        return dict(zip(self.inputs, job.case, strict=True))


def built(job: Job, prefix: str, *, symbolic: bool) -> Built:
    """The entry's call; names of its inputs, sizes and results begin with ``prefix``."""
    names = tuple(f"{prefix}x{k}" for k in range(len(job.case)))
    shapes = symbolic_shapes(job, prefix) if symbolic else [one.shape for one in job.case]
    with InJob(job):
        handles = [
            ph.input(name, shape, one.dtype.name)
            for name, shape, one in zip(names, shapes, job.case, strict=True)
        ]
        made = job.entry.call(*handles)
    many = made if isinstance(made, tuple | list) else (made,)
    sizes = sizes_of_case(job) if symbolic else {}
    assert sizes is not None, f"{job} has other axes"
    return Built(
        job,
        names,
        {f"{prefix}y{k}": one for k, one in enumerate(many)},
        {prefix + name: extent for name, extent in sizes.items()},
    )


def symbolic_shapes(job: Job, prefix: str) -> list[tuple[Dim, ...]]:
    """The shapes that the entry's ``sizes`` name: one size for each name."""
    most = _most(job.entry)
    return [tuple(_size(word, prefix, most) for word in words.split()) for words in job.entry.sizes]


def _most(entry: Entry) -> int:
    """The largest size of the entry's symbols: a product of all of them fits in memory."""
    words = {word.rstrip("+") for words in entry.sizes for word in words.split()}
    return MOST[len([word for word in words if not word.isdigit()]) - 1]


def _size(word: str, prefix: str, most: int) -> Dim:
    if word.isdigit():
        return int(word)
    return ph.dim(prefix + word.rstrip("+"), int(word.endswith("+")), most)


def sizes_of_case(job: Job) -> dict[str, int] | None:
    """What each named size is in this case; None where the case does not have the shapes."""
    found: dict[str, int] = {}
    most = _most(job.entry)
    if not job.entry.sizes or len(job.entry.sizes) != len(job.case):
        return None
    for words, array in zip(job.entry.sizes, job.case, strict=True):
        axes = words.split()
        if len(axes) != array.ndim:
            return None
        for word, extent in zip(axes, array.shape, strict=True):
            name, least = word.rstrip("+"), int(word.endswith("+"))
            wanted = int(word) if word.isdigit() else found.setdefault(name, extent)
            if extent != wanted or not least <= extent <= most:
                return None
    return {name: extent for name, extent in found.items() if not name.isdigit()}


# --- the evaluator --------------------------------------------------------------------------


def evaluated(job: Job, *, symbolic: bool) -> list[str]:
    """What is wrong with the evaluator's results of a job."""
    return all_evaluated([job], symbolic=symbolic)


def all_evaluated(jobs: Sequence[Job], *, symbolic: bool) -> list[str]:
    """What is wrong with the evaluator's results of jobs of one entry.

    Those that differ in numbers only (with symbolic sizes: and in sizes) are of one graph.
    """
    graphs: dict[tuple[object, ...], Built] = {}
    found: list[str] = []
    for job in jobs:
        kind = tuple(one.dtype for one in job.case) if symbolic else alike(job)
        if kind not in graphs:
            graphs[kind] = built(job, "", symbolic=symbolic)
        sizes = (sizes_of_case(job) or {}) if symbolic else {}
        found += _evaluated(replace(graphs[kind], job=job, sizes=sizes))
    return found


def _evaluated(one: Built) -> list[str]:
    graph = Graph(tuple((name, result.operand) for name, result in one.results.items()))
    with InJob(one.job):
        outputs, _ = evaluate(graph, one.given(one.job), {}, one.sizes, widen=False)
    return _labelled(one, one.job.faults([outputs[name] for name in one.results]))


def alike(job: Job) -> tuple[object, ...]:
    """What a job's graph depends on: all of its case but the numbers."""
    return tuple((one.dtype, one.shape) for one in job.case)


def _labelled(one: Built, found: list[str]) -> list[str]:
    return [f"with symbolic sizes: {fault}" for fault in found] if one.sizes else found


# --- compiled -------------------------------------------------------------------------------


def batches(jobs: Sequence[Job]) -> list[list[Job]]:
    """The jobs in parts of about OUTPUTS."""
    return [list(jobs[k : k + OUTPUTS]) for k in range(0, len(jobs), OUTPUTS)]


def compiled(jobs: Sequence[Job], *, symbolic: bool, also: Also = no_more) -> list[str]:
    """What is wrong with the results of one program for all the jobs.

    It is called with all cases that it is for, and with what ``also`` makes of each one's. Where it
    does not compile, each job is compiled alone, to say which one it was.
    """
    parts = [built(job, f"j{k}_", symbolic=symbolic) for k, job in enumerate(jobs)]
    with ThreadPoolExecutor(1) as thread:
        made = thread.submit(program_of, parts)
        if made.exception() is None:
            return _results_of(made.result(), parts, also)
        alone = [thread.submit(program_of, [one]).exception() for one in parts]
    wrong = [f"{one.job}: {error!r}" for one, error in zip(parts, alone) if error is not None]
    return wrong or [f"only together do these fail with {made.exception()!r}: {_named(jobs)}"]


def _named(jobs: Sequence[Job]) -> str:
    return "; ".join(map(str, jobs))


def program_of(parts: Sequence[Built]) -> ph.Program:
    """One program with all results of all parts."""
    outputs = {name: result for one in parts for name, result in one.results.items()}
    return ph.compile(outputs, search=0)


def _results_of(program: ph.Program, parts: Sequence[Built], also: Also) -> list[str]:
    """Each part is called with all cases that its graph is for."""
    given = [_cases_of(one) for one in parts]
    cases = [[*one, *also(one)] for one in given]
    found: list[str] = []
    for turn in range(max(map(len, cases))):
        now = [one[turn % len(one)] for one in cases]
        outputs = program(**_arguments(program, parts, now))
        for one, job, many in zip(parts, now, cases, strict=True):
            if turn < len(many):
                got = [outputs[name] for name in one.results]
                found += _labelled(one, job.faults(got))
    return found


def _cases_of(one: Built) -> list[Job]:
    entry, dtype = one.job.entry, one.job.dtype
    if not one.sizes:
        others = [job for job in jobs(entry, dtype) if job.number != one.job.number]
        return [one.job, *(job for job in others if alike(job) == alike(one.job))]
    return [job for job in jobs(entry, dtype) if sizes_of_case(job) is not None]


def _arguments(
    program: ph.Program, parts: Sequence[Built], now: Sequence[Job]
) -> dict[str, object]:
    """What of the cases' arrays and sizes the program knows."""
    given: dict[str, object] = {}
    for number, (one, job) in enumerate(zip(parts, now, strict=True)):
        given |= one.given(job)
        if one.sizes:
            sizes = sizes_of_case(job) or {}
            given |= {f"j{number}_{name}": extent for name, extent in sizes.items()}
    known = {one.name for one in (*program.artifact.inputs, *program.artifact.sizes)}
    return {name: value for name, value in given.items() if name in known}


@cache
def floats_and_others() -> tuple[list[Job], list[Job]]:
    """Cases of every entry in the dtypes that are compiled: float32, and the others."""
    floats: list[Job] = []
    others: list[Job] = []
    for entry in entries():
        for dtype in compiled_dtypes(entry):
            every = {alike(job): job for job in reversed(_chosen(entry, dtype))}.values()
            if dtype == "float32":
                floats += every
            else:
                others += every
    return floats, others


def _chosen(entry: Entry, dtype: str) -> list[Job]:
    """The cases of a dtype that are compiled with the sizes that they have."""
    every = jobs(entry, dtype)
    is_first = dtype == compiled_dtypes(entry)[0]
    found = some_of(every, COMPILED_FIRST if is_first else COMPILED_OTHERS)
    if EVERY_CASE or not is_first:
        return found
    # All cases with the axes that the entry names go through its program with symbolic sizes.
    named = [job.number for job in found if sizes_of_case(job) is not None]
    return [job for job in found if job.number not in named[1:]]


def some_of(every: list[Job], count: int) -> list[Job]:
    """The first case, the last and those evenly between, ``count`` in all."""
    if len(every) <= count or EVERY_CASE:
        return every
    if count == 1:
        return every[:1]
    return [every[round(k * (len(every) - 1) / (count - 1))] for k in range(count)]


def symbolic_jobs() -> list[Job]:
    """The first case with named axes, of every entry that has them, in a dtype of its own."""
    found = []
    for entry in entries():
        if entry.sizes:
            every = jobs(entry, compiled_dtypes(entry)[0])
            found += [job for job in every if sizes_of_case(job) is not None][:1]
    return found


def parameters(jobs: Sequence[Job]) -> list[ParameterSet]:
    """Parts of the jobs as parameters of a test, those that need torch marked."""
    plain = [job for job in jobs if not job.entry.is_peer]
    peers = [job for job in jobs if job.entry.is_peer]
    made = [pytest.param(part, id=_label(part)) for part in batches(plain)]
    marks = [pytest.mark.peers]
    return made + [pytest.param(part, id=_label(part), marks=marks) for part in batches(peers)]


def _label(part: Sequence[Job]) -> str:
    first, last = (f"{job.entry.name}-{job.dtype}-{job.number}" for job in (part[0], part[-1]))
    return f"{first}..{last}"


def require_none(found: Sequence[str]) -> None:
    """Fail with the first of what was found."""
    assert not found, "\n".join([f"{len(found)} faults", *found[:SHOWN]])
