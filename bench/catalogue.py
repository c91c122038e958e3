"""Every function of the catalogue at a million elements against torch on two threads.

Each entry with a ``Speed`` is compiled without a search and raced with torch's function on the same
arrays; the ratio is of medians, above 1 where photic is slower. Where other work keeps the
processors busy, that of the fastest samples says more, and OMP_WAIT_POLICY=passive keeps torch's
threads from spinning for a processor that another process has. ``--only`` names entries or
functions, ``--part 2/5`` runs every fifth, ``--table`` writes the table of ``docs/catalogue.md``
instead. The last table is the worst ten, with the reason where an entry gives one.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

import common

import photic as ph

if sys.path[0] == str(Path(__file__).resolve().parent):
    sys.path.pop(0)  # the tests' ``catalogue`` is meant below, not this file

from catalogue.entry import Entry, Speed
from catalogue.running import entries
from catalogue.table import PAGE, page
from catalogue.workloads import workload

THREADS = 2
MICROSECONDS = 1e6
WORST = 10
SAMPLES = 15  # of each contestant
# What seems slow may have met other work on the machine: it is timed again, longer.
AGAIN_FROM, AGAIN_SAMPLES = 1.5, 4


def figure(entry: Entry, speed: Speed, samples: int) -> common.Figure:
    """Both medians in microseconds, their ratio, and that of the fastest samples."""
    work = workload(entry, speed)
    program = ph.compile(work.results, search=0)
    read = {one.name: work.inputs[one.name] for one in program.artifact.inputs}
    sides = {"photic": lambda: program(**read), "torch": work.peer}
    found = common.race(sides, repeats=samples, calls_per_sample=1)
    if found["photic"].median > AGAIN_FROM * found["torch"].median:
        found = common.race(sides, repeats=samples * AGAIN_SAMPLES, calls_per_sample=1)
    ours, theirs = found["photic"], found["torch"]
    return {
        "entry": entry.name,
        "photic_us": ours.median * MICROSECONDS,
        "torch_us": theirs.median * MICROSECONDS,
        "ratio": ours.median / theirs.median,
        "of_minima": ours.minimum / theirs.minimum,
        "why": speed.why,
    }


def chosen(only: Sequence[str], part: str) -> list[Entry]:
    """The entries with a workload that were asked for."""
    with_speed = [one for one in entries() if one.speed is not None]
    if only:
        return [one for one in with_speed if {one.name, one.function} & set(only)]
    number, count = map(int, part.split("/"))
    return with_speed[number - 1 :: count]


def main() -> None:
    parser = common.parser(__doc__ or "")
    parser.add_argument("--only", metavar="NAME", nargs="+", default=[], help="these entries")
    parser.add_argument("--part", metavar="K/N", default="1/1", help="the K-th of N parts")
    parser.add_argument("--table", action="store_true", help="write the table of the docs")
    parser.set_defaults(repeats=SAMPLES)
    options = parser.parse_args()
    if options.table:
        PAGE.write_text(page(PAGE.read_text(encoding="utf-8"), entries()), encoding="utf-8")
        return
    import torch

    torch.set_num_threads(THREADS)
    figures = []
    for entry in chosen(options.only, options.part):
        assert entry.speed is not None
        figures.append(figure(entry, entry.speed, options.repeats))
        print(common.table(figures[-1:]).splitlines()[1], flush=True)
    print(f"\nThe worst {WORST}:")
    worst = sorted(figures, key=lambda one: -float(one["ratio"]))[:WORST]
    common.report(worst, None)
    if options.json is not None:
        common.report(figures, options.json)


if __name__ == "__main__":
    main()
