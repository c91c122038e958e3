"""Tree search against random search and mutation, at equal numbers of candidates.

All three begin with the likeliest, draw from the same generator, and take the best predicted of
what they drew. A fourth is the tree search with the times it learns from shuffled: what it reaches
without learning. For each workload: the area under the best-so-far curve (the mean of the logarithm
of time, so a ratio of two areas is a ratio of times), the final best, and five seeds' winners of
the tree search raced against each other, with the spread of as many copies of one of them taken
off.

A candidate is measured once a workload, by its ratio to the first candidate in one race, whoever
proposes it; ``--cache FOLDER`` keeps the times (remove it when the generated code changes), and
leaves tables for bench/mcts_replay.py there. That a candidate is right is checked for winners only.
"""

from __future__ import annotations

import hashlib
import json
import math
import random
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

import common
import numpy as np
from baselines import Blind, Mutation
from ways import Options as Asked
from ways import Way, write_table
from workloads import WORKLOADS, Workload

from photic.compiler.compile import prepared
from photic.forms.candidate_check import Right, check
from photic.forms.nest_text import print_nest
from photic.loops.plan import best_known
from photic.search.cost import seconds as predicted_seconds
from photic.search.space import Candidate, build, space_of
from photic.search.tree import Draw, Drawn
from photic.search.work import Work
from photic.storage.files import write_atomic
from photic.targets.measure import Outcome, Timed, Trial, Unsteady, measure, ratio
from photic.targets.process import Remote
from photic.targets.registry import Target, target_named
from photic.tensor.compiling import graph_of
from photic.tuning.candidate import is_small
from photic.tuning.drawing import Proposer, drawing, likely_first, tree_search
from photic.tuning.partition import partition
from photic.tuning.trial import called, meaning_of, source_of, trial_of

CANDIDATES, SEEDS = 64, 5
BATCH = 8  # candidates proposed before their times are learnt, as in the search
TRIES = 3  # races, where the first candidate of one was not measured
RACE_SECONDS = 60.0
SERIES_SECONDS = 0.002  # of a sample in the race of winners
SAMPLE_LIMIT_SECONDS = 20.0
NAME_CHARACTERS = 16  # of a candidate's key in the cache


@dataclass(slots=True)
class Shuffled:
    """A proposer that is told times of candidates seen so far, but of others than it proposed."""

    proposer: Proposer
    rng: random.Random
    times: list[float] = field(default_factory=list)

    def propose(self, draw: Draw) -> Drawn | None:
        return self.proposer.propose(draw)

    def learn(self, drawn: Drawn, seconds: float) -> None:
        self.times.append(seconds)
        self.proposer.learn(drawn, self.rng.choice(self.times))


METHODS: dict[str, Callable[[random.Random], Proposer]] = {
    "tree": tree_search,
    "blind": lambda rng: Blind(rng, likely_first()),
    "mutation": lambda rng: Mutation(rng, likely_first()),
    "shuffled": lambda rng: Shuffled(tree_search(rng), random.Random(rng.random())),
}


@dataclass(slots=True)
class Run:
    """One method with one seed on one workload; ``curve`` is the best so far at each candidate."""

    method: str
    proposer: Proposer
    best: Candidate
    best_seconds: float
    curve: list[float] = field(default_factory=list)
    ways: dict[str, Way] = field(default_factory=dict)

    def learn(self, drawn: Drawn, seconds: float) -> None:
        self.proposer.learn(drawn, seconds)
        self.ways[drawn.key] = Way(drawn.trail, drawn.predicted_seconds, seconds)
        if seconds < self.best_seconds:
            assert isinstance(drawn.made, Candidate)
            self.best, self.best_seconds = drawn.made, seconds
        self.curve.append(self.best_seconds)


# --- times ----------------------------------------------------------------------------------


@dataclass(slots=True)
class Times:
    """The seconds of candidates of one work by the hash of their nests, kept in a file if asked."""

    work: Work
    target: Target
    remote: Remote
    first: Candidate
    path: Path | None
    known: dict[str, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.path is not None and self.path.exists():
            self.known = json.loads(self.path.read_text(encoding="utf-8"))
        if name_of(self.first) not in self.known:
            self.race([])

    def of(self, made: Candidate) -> float:
        """The seconds of a candidate that was measured; infinite if it failed."""
        return self.known[name_of(made)]

    def add(self, found: Iterable[Candidate]) -> None:
        """Measure those not known yet."""
        fresh = {name_of(one): one for one in found}
        rest = [one for name, one in fresh.items() if name not in self.known]
        for start in range(0, len(rest), BATCH):
            self.race(rest[start : start + BATCH])
            if self.path is not None:
                write_atomic(self.path, json.dumps(self.known).encode())

    def race(self, others: Sequence[Candidate]) -> None:
        """Some candidates against the first one, whose seconds are those of its first race."""
        trials = [self.trial(one) for one in (self.first, *others)]
        for seed in range(TRIES):
            outcomes = measure(self.remote, trials, RACE_SECONDS, seed)
            base = samples_of(outcomes[0])
            if base:
                break
        assert base, f"the first candidate cannot be measured: {outcomes[0]}"
        seconds = self.known.setdefault(name_of(self.first), float(np.median(base)))
        for one, outcome in zip(others, outcomes[1:], strict=True):
            found = samples_of(outcome)
            self.known[name_of(one)] = times_of(found, base) * seconds if found else math.inf

    def trial(self, made: Candidate) -> Trial:
        return trial_of(source_of(made, self.work, self.target.dialect), self.work, {})

    def is_right(self, made: Candidate) -> bool:
        """Whether a candidate passes the check of the search."""
        source = source_of(made, self.work, self.target.dialect)
        meaning = meaning_of(self.work, made)
        call = partial(called, self.remote, source, self.work)
        return isinstance(check(meaning, {}, call, 0), Right)


def times_of(found: Sequence[float], base: Sequence[float]) -> float:
    """How often as long as the first, round by round or at its best: the slower view, as tuning."""
    return max(ratio(found, base).median, min(found) / min(base))


def name_of(made: Candidate) -> str:
    return hashlib.sha256(nests_of(made).encode()).hexdigest()[:NAME_CHARACTERS]


def nests_of(made: Candidate) -> str:
    return "\n".join(print_nest(one) for one in made.nests)


def samples_of(outcome: Outcome) -> tuple[float, ...]:
    """Its samples, also where they scatter; none of a failure."""
    return outcome.samples if isinstance(outcome, Timed | Unsteady) else ()


# --- searching ------------------------------------------------------------------------------


def work_of(workload: Workload, target: Target) -> Work:
    """The largest group of kernels of a workload, which is one region."""
    state = prepared(graph_of({"y": workload.make()}, {}), target)
    works = [one.work for one in partition(state.program)[1]]
    return max(works, key=lambda one: len(one.stores))


def drawing_from(build_one: Callable[..., Candidate], target: Target) -> Draw:
    """The generator and prior that all methods share; what was predicted once is remembered."""
    machine, known = target.machine(), dict[str, float]()

    def describe(made: object) -> tuple[str, float] | None:
        assert isinstance(made, Candidate)
        if not is_small(made):
            return None
        text = nests_of(made)
        if text not in known:
            known[text] = predicted_seconds(made.nests, machine)
        return text, known[text]

    return drawing(build_one, describe)


def searched(times: Times, draw: Draw, seeds: int, candidates: int) -> list[Run]:
    """All methods with all seeds, side by side, so that they share what is measured."""
    start = times.of(times.first)
    runs = [
        Run(name, make(random.Random(f"{seed} {name}")), times.first, start)
        for name, make in METHODS.items()
        for seed in range(seeds)
    ]
    for _ in range(0, candidates, BATCH):
        found = [[one.proposer.propose(draw) for _ in range(BATCH)] for one in runs]
        drawn = [[one for one in some if one is not None] for some in found]
        times.add(made for some in drawn for made in candidates_of(some))
        for run, some in zip(runs, drawn, strict=True):
            for one, made in zip(some, candidates_of(some), strict=True):
                run.learn(one, times.of(made))
            run.curve += [run.best_seconds] * (BATCH - len(some))  # nothing new was found
    return runs


def candidates_of(drawn: Sequence[Drawn]) -> list[Candidate]:
    return [one.made for one in drawn if isinstance(one.made, Candidate)]


# --- the winners ----------------------------------------------------------------------------


def spread(times: Times, made: Sequence[Candidate], rounds: int) -> tuple[float, float]:
    """How much slower the slowest of some candidates is than the fastest, round by round.

    And the same for as many copies of the first of them, compiled apart and raced along.
    """
    trials = [times.trial(one) for one in made]
    copies = [replace(trials[0], text=f"{trials[0].text}\n/* {k} */\n") for k in range(len(made))]
    everyone = list(dict.fromkeys((*trials, *copies)))
    times.remote.build(everyone, RACE_SECONDS)
    calls = max(1, round(SERIES_SECONDS / min(times.of(one) for one in made)))
    rng, samples = np.random.default_rng(0), {one: list[float]() for one in everyone}
    for _ in range(rounds):
        for place in rng.permutation(len(everyone)):
            taken = times.remote.sample(everyone[place], calls, 2, SAMPLE_LIMIT_SECONDS)
            assert isinstance(taken, float), taken
            samples[everyone[place]].append(taken)
    base = samples[trials[0]]
    medians = {one: ratio(found, base).median for one, found in samples.items()}
    return _range(medians[one] for one in trials), _range(medians[one] for one in copies)


def _range(found: Iterable[float]) -> float:
    known = list(found)
    return max(known) / min(known) - 1


# --- figures --------------------------------------------------------------------------------


def area(runs: Sequence[Run]) -> float:
    """The mean of the logarithm of the best so far, over candidates and seeds."""
    return float(np.mean([np.log(one.curve) for one in runs]))


def final(runs: Sequence[Run]) -> float:
    return float(np.mean([np.log(one.best_seconds) for one in runs]))


def figure_of(
    name: str, times: Times, runs: list[Run], rounds: int
) -> dict[str, str | int | float]:
    """One line of the table; ratios are of the tree search to another, under 1 where it wins."""
    by = {method: [one for one in runs if one.method == method] for method in METHODS}
    tree, winners = by["tree"], [one.best for one in by["tree"]]
    figure: dict[str, str | int | float] = {
        "workload": name,
        "measured": len(times.known),
        "first_ms": 1000 * times.of(times.first),
        "tree_ms": 1000 * math.exp(final(tree)),
    }
    for kind, value in (("area", area), ("final", final)):
        for method in list(METHODS)[1:]:
            figure[f"{kind}/{method}"] = math.exp(value(tree) - value(by[method]))
    among, copies = spread(times, winners, rounds)
    different = {name_of(one): one for one in winners}.values()
    wrong = sum(not times.is_right(one) for one in different)
    return {**figure, "winners_spread": among, "copies_spread": copies, "wrong": wrong}


def mean_of(figures: Sequence[common.Figure]) -> common.Figure:
    """The geometric means of all ratios."""
    ratios = [key for key in figures[0] if "/" in key]
    means = {key: np.exp(np.mean([np.log(float(one[key])) for one in figures])) for key in ratios}
    return {"workload": "geometric mean", **{key: float(one) for key, one in means.items()}}


def measured(workload: Workload, folder: Path | None, options: Options) -> common.Figure:
    """The figures of one workload."""
    target = target_named("c")
    work = work_of(workload, target)
    space = space_of(work, target.machine(), ())
    path = folder / f"{workload.name.replace(' ', '-')}.json" if folder is not None else None
    with Remote(target.worker) as remote:
        times = Times(work, target, remote, build(space, best_known), path)
        asked = Asked()
        draw = drawing_from(lambda choose: build(space, asked.noting(choose)), target)
        runs = searched(times, draw, options.seeds, options.candidates)
        if path is not None:
            ways = {key: way for run in runs for key, way in run.ways.items()}
            write_table(path.with_suffix(".table"), times.of(times.first), ways.values(), asked)
        return figure_of(workload.name, times, runs, options.repeats)


@dataclass(frozen=True, slots=True)
class Options:
    """How much is done."""

    candidates: int
    seeds: int
    repeats: int


def main() -> None:
    parser = common.parser(__doc__ or "")
    parser.add_argument("--candidates", metavar="N", type=int, default=CANDIDATES, help="of a run")
    parser.add_argument("--seeds", metavar="N", type=int, default=SEEDS, help="runs of each method")
    parser.add_argument("--cache", metavar="FOLDER", type=Path, help="where times are kept")
    parser.add_argument("--only", metavar="NAME", nargs="+", help="workloads (default: all)")
    given = parser.parse_args()
    if given.cache is not None:
        given.cache.mkdir(parents=True, exist_ok=True)
    options = Options(given.candidates, given.seeds, given.repeats)
    figures = []
    for one in WORKLOADS:
        if given.only is None or one.name in given.only:
            figures.append(measured(one, given.cache, options))
            common.report([*figures, mean_of(figures)], given.json)  # so far


if __name__ == "__main__":
    main()
