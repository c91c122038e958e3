"""What each topic of rules is worth: ten workloads searched without it, for as many seconds.

Every program is compiled with records of its own, so that no search helps another, and the programs
of a workload are timed in turns. A ratio above 1 is what leaving the topic out costs. With
``--again`` the search with all rules is done twice: what differs between the two is the luck of
the search, below which a cost means nothing.
"""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence

import common
import numpy as np
from workloads import WORKLOADS, Workload, inputs_of

import photic as ph
from photic.base.settings import override_setting
from photic.tensor.compiling import KNOWN_TOPICS

SECONDS = 30.0
ALL, AGAIN = "all rules", "again"
SAMPLE_SECONDS = 0.01


def variants(again: bool) -> dict[str, tuple[str, ...]]:
    """What is left out, by name; first nothing."""
    found: dict[str, tuple[str, ...]] = {ALL: ()}
    if again:
        found[AGAIN] = ()
    return {**found, **{topic: (topic,) for topic in KNOWN_TOPICS}}


def compiled(workload: Workload, without: Sequence[str], seconds: float, seed: int) -> ph.Program:
    """The program of a workload after a search that remembers nothing."""
    with tempfile.TemporaryDirectory(prefix="photic-ablation-") as folder:
        override_setting("cache", folder)
        outputs = {"y": workload.make()}
        return ph.compile(outputs, search=seconds, seed=seed, without=without)


def raced(programs: Mapping[str, ph.Program], repeats: int) -> dict[str, common.Timing]:
    """The programs in turns, on the same inputs."""
    given = inputs_of(programs[ALL], 0)
    calls = {name: lambda one=one: one(**given) for name, one in programs.items()}
    (once,) = common.race({ALL: calls[ALL]}, repeats=1, calls_per_sample=1).values()
    count = max(1, round(SAMPLE_SECONDS / once.median))
    return common.race(calls, repeats=repeats, calls_per_sample=count)


def figure_of(
    workload: Workload, left_out: Mapping[str, tuple[str, ...]], seconds: float, repeats: int
) -> common.Figure:
    """The time with all rules, and the cost of each topic left out."""
    programs = {
        name: compiled(workload, topics, seconds, int(name == AGAIN))
        for name, topics in left_out.items()
    }
    timings = raced(programs, repeats)
    base = np.array(timings[ALL].seconds)
    figure: dict[str, str | int | float] = {
        "workload": workload.name,
        "ms": 1000 * timings[ALL].median,
        "kernels": len(programs[ALL].report.kernels),
        "candidates": programs[ALL].report.candidates,
    }
    for name in list(left_out)[1:]:
        figure[name] = float(np.median(np.array(timings[name].seconds) / base))
    return figure


def mean_of(figures: Sequence[common.Figure], names: Sequence[str]) -> common.Figure:
    """The geometric mean of each cost."""
    means = {name: np.mean([np.log(float(one[name])) for one in figures]) for name in names}
    return {"workload": "geometric mean", **{k: float(np.exp(v)) for k, v in means.items()}}


def main() -> None:
    parser = common.parser(__doc__ or "")
    parser.add_argument("--search", metavar="S", type=float, default=SECONDS, help="of each search")
    parser.add_argument("--again", action="store_true", help="search with all rules twice")
    parser.add_argument("--only", metavar="NAME", nargs="+", help="workloads (default: all)")
    given = parser.parse_args()
    left_out = variants(given.again)
    figures = []
    for one in WORKLOADS:
        if given.only is None or one.name in given.only:
            figures.append(figure_of(one, left_out, given.search, given.repeats))
            means = mean_of(figures, list(left_out)[1:])
            common.report([*figures, means], given.json)  # so far


if __name__ == "__main__":
    main()
