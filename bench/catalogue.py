"""Every function of the catalogue at a million elements against torch on two threads.

Each entry with a ``Speed`` is compiled without a search and raced with torch's function on the same
arrays; the ratio is of medians, above 1 where photic is slower. ``--only`` names entries or
functions, ``--part 2/5`` runs every fifth, ``--table`` writes the table of ``docs/catalogue.md``
instead. The last table is the worst ten, with the reason where an entry gives one.
"""

from __future__ import annotations

import sys
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import common
import numpy as np

import photic as ph

if sys.path[0] == str(Path(__file__).resolve().parent):
    sys.path.pop(0)  # the tests' ``catalogue`` is meant below, not this file

from catalogue.entry import Entry, Speed
from catalogue.running import entries
from catalogue.table import PAGE, page

THREADS = 2
WORST = 10
SAMPLES = 15  # of each contestant


@dataclass(frozen=True, slots=True)
class Duel:
    """An entry's workload, ready to be called on both sides."""

    entry: Entry
    photic: Callable[[], object]
    torch: Callable[[], object]


def duel(entry: Entry, speed: Speed) -> Duel:
    """The program compiled and both sides called once; ValueError if their shapes differ."""
    import torch

    arrays = speed.arrays(np.random.default_rng(zlib.crc32(entry.name.encode())))
    given = {f"x{k}": one for k, one in enumerate(arrays)}
    handles = [ph.input(name, one.shape, one.dtype) for name, one in given.items()]
    made = (speed.call or entry.call)(*handles)
    results = tuple(made) if isinstance(made, tuple | list) else (made,)
    program = ph.compile({f"y{k}": one for k, one in enumerate(results)}, search=0)
    tensors = [torch.from_numpy(one) for one in arrays]
    found = Duel(entry, lambda: program(**given), lambda: speed.peer(torch, *tensors))
    ours, theirs = program(**given), speed.peer(torch, *tensors)
    many = theirs if isinstance(theirs, tuple | list) else (theirs,)
    shapes = [one.shape for one in ours.values()], [tuple(one.shape) for one in many]
    if shapes[0] != shapes[1]:
        raise ValueError(f"{entry.name}: photic gives {shapes[0]}, torch {shapes[1]}")
    return found


def figure(one: Duel, samples: int) -> common.Figure:
    """Both medians in microseconds, and their ratio."""
    found = common.race(
        {"photic": one.photic, "torch": one.torch}, repeats=samples, calls_per_sample=1
    )
    ours, theirs = found["photic"].median, found["torch"].median
    return {
        "entry": one.entry.name,
        "photic_us": ours * 1e6,
        "torch_us": theirs * 1e6,
        "ratio": ours / theirs,
        "why": one.entry.speed.why if one.entry.speed else "",
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
        figures.append(figure(duel(entry, entry.speed), options.repeats))
        print(common.table(figures[-1:]).splitlines()[1], flush=True)
    print(f"\nThe worst {WORST}:")
    worst = sorted(figures, key=lambda one: -float(one["ratio"]))[:WORST]
    common.report(worst, None)
    if options.json is not None:
        common.report(figures, options.json)


if __name__ == "__main__":
    main()
