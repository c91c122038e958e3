"""How much of the catalogue is right on a target, by the catalogue's own judges.

    python bench/gpu_conformance.py c opencl cuda hip metal
        [--kinds floats,others,symbolic] [--part 1/4] [--check] [--json FILE] [--keep FILE]

Every entry's cases that the tests compile for c are compiled for each target and called; a row is a
target and a kind of case: how many are right, how many the target refuses because its language has
no such numbers, and of how many. Where a target has no device here, a processor stands in for it
(``tests/targets``): its text is executed, its compiler and driver are not. ``--check`` ends with 1
where a case is neither right nor refused, or a number that is refused has grown. ``--keep`` adds
what became of each program to a file and takes from there what an earlier run found: a run that was
ended goes on. The names of the cases are kept with it, so that others are counted anew.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

import common
import pytest

if sys.path[0] == str(Path(__file__).resolve().parent):
    sys.path.pop(0)  # the tests' ``catalogue`` is meant below, not the script beside this one

from catalogue.running import (
    Job,
    batches,
    built,
    compiled,
    floats_and_others,
    program_of,
    symbolic_jobs,
)

from photic.base.errors import PhoticError
from photic.targets.registry import target_named

KINDS: dict[str, Callable[[], list[Job]]] = {
    "floats": lambda: floats_and_others()[0],
    "others": lambda: floats_and_others()[1],
    "symbolic": symbolic_jobs,
}
STAND_INS = {name: f"targets.{name}_stand_in" for name in ("cuda", "hip", "metal")}
LACKS = ("P321", "P351")  # codes of errors that say what a device or a language has not
# The largest part of a target's cases that it may refuse; none where it is not named.
REFUSED = {"metal": 0.5}


@dataclass(slots=True)
class Count:
    """What became of the cases of a kind."""

    right: int = 0
    refused: int = 0
    wrong: list[str] = field(default_factory=list)

    @property
    def total(self) -> int:
        return self.right + self.refused + len(self.wrong)


def chosen(name: str) -> bool:
    """The catalogue is compiled for this target from now on; True where a processor stands in."""
    os.environ["PHOTIC_TARGET"] = name
    try:
        target_named(name).facts()
    except PhoticError:
        importlib.import_module(STAND_INS[name]).use(pytest.MonkeyPatch())
        return True
    return False


def counted(jobs: Sequence[Job], *, symbolic: bool) -> Count:
    """One program of all of them, or one of each that the target takes."""
    found = compiled(jobs, symbolic=symbolic)
    if not any(code in one for one in found for code in LACKS):
        return _count(jobs, found)
    taken = [one for one in jobs if not _is_refused(one, symbolic=symbolic)]
    count = _count(taken, compiled(taken, symbolic=symbolic)) if taken else Count()
    count.refused += len(jobs) - len(taken)
    return count


def _is_refused(job: Job, *, symbolic: bool) -> bool:
    try:
        program_of([built(job, "j0_", symbolic=symbolic)])
    except PhoticError as error:
        return error.code in LACKS
    return False


def _count(jobs: Sequence[Job], faults: Sequence[str]) -> Count:
    """A case is wrong where a fault names it, and all are where a fault names none of them."""
    wrong = {str(job): job for job in jobs for fault in faults if f"{job}: " in fault}
    if faults and not wrong:
        return Count(0, 0, [f"{job}: {faults[0]}" for job in jobs])
    shown = [next(one for one in faults if f"{name}: " in one) for name in wrong]
    return Count(len(jobs) - len(wrong), 0, shown)


def part_of(jobs: list[Job], part: str) -> list[list[Job]]:
    """Every so-manieth of the programs."""
    first, count = map(int, part.split("/"))
    return batches(jobs)[first - 1 :: count]


@dataclass(frozen=True, slots=True)
class Kept:
    """What became of programs, by the names of their cases; in a file where there is one."""

    path: Path | None
    found: dict[str, Count] = field(default_factory=dict)

    def read(self) -> None:
        """What earlier runs found."""
        if self.path is not None and self.path.exists():
            for line in self.path.read_text().splitlines():
                what, count = json.loads(line)
                self.found[what] = Count(**count)

    def counted(self, target: str, jobs: Sequence[Job], *, symbolic: bool) -> Count:
        """As ``counted``, of this target; a program with wrong cases is tried again."""
        what = " ".join([target, str(symbolic), *map(str, jobs)])
        if what not in self.found or self.found[what].wrong:
            self.found[what] = counted(jobs, symbolic=symbolic)
            if self.path is not None:
                with self.path.open("a") as file:
                    print(json.dumps([what, asdict(self.found[what])]), file=file)
        return self.found[what]


def rows(
    names: Sequence[str], kinds: Sequence[str], part: str, kept: Kept
) -> Iterator[tuple[str, Count, str]]:
    """For each target and kind what was counted, and how it was run."""
    for name in names:
        stands_in = chosen(name)
        for kind in kinds:
            start, count = time.perf_counter(), Count()
            for jobs in part_of(KINDS[kind](), part):
                new = kept.counted(name, jobs, symbolic=kind == "symbolic")
                count.right += new.right
                count.refused += new.refused
                count.wrong += new.wrong
                seconds = time.perf_counter() - start
                progress = f"{name} {kind}: {count.right} of {count.total}, {seconds:.0f} s"
                print(progress, *new.wrong, sep="\n", file=sys.stderr, flush=True)
            yield f"{name} {kind}", count, "a processor stands in" if stands_in else "itself"


def figure(what: str, count: Count, run: str) -> common.Figure:
    """A row of the table."""
    target, _, kind = what.partition(" ")
    numbers = {"right": count.right, "refused": count.refused, "of": count.total}
    return {"target": target, "cases": kind, **numbers, "run by": run}


def main() -> None:
    """Count, print, write JSON where asked."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("targets", nargs="+", choices=["c", "opencl", *STAND_INS])
    parser.add_argument("--kinds", default=",".join(KINDS))
    parser.add_argument("--part", default="1/1", help="1/4: the first of four parts")
    parser.add_argument("--check", action="store_true", help="fail where not all are right")
    parser.add_argument("--json", help="write the figures here as well")
    parser.add_argument("--keep", help="what became of each program: a run that was ended goes on")
    arguments = parser.parse_args()
    kept = Kept(Path(arguments.keep) if arguments.keep else None)
    kept.read()
    kinds = arguments.kinds.split(",")
    found = list(rows(arguments.targets, kinds, arguments.part, kept))
    path = Path(arguments.json) if arguments.json else None
    common.report([figure(*one) for one in found], path)
    for name in arguments.targets:
        own = [count for what, count, _ in found if what.split()[0] == name]
        most = REFUSED.get(name, 0) * sum(one.total for one in own)
        grown = sum(one.refused for one in own) > most
        if arguments.check and (grown or any(one.wrong for one in own)):
            raise SystemExit(1)


if __name__ == "__main__":
    main()
