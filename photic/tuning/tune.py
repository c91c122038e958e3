"""The search over a program, within a budget of seconds, and what it remembers.

Every group of kernels that differs from others is a region with a search of its own; the next turn
goes to the region that costs a run of the program the most for the turns that it had without gain
(what one costs that had no turn yet is predicted). A turn proposes candidates, races them with the
best so far, and checks the one that won in float64 before its time counts; what is as fast and
needs clearly less memory is raced with it and takes its place. What was found before, under the
same key, is where a search starts. Stops at the end of the budget, or when no region has
anything new to propose.
"""

from __future__ import annotations

import hashlib
import math
import random
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from statistics import median

from photic.base.trace import emit
from photic.forms.candidate_check import Arrays, Known, Right, Sizes, Wrong, check, sizes_to_try
from photic.forms.nest_text import print_nest
from photic.ir.program import Program
from photic.loops.plan import best_known
from photic.search.choosing import replaying
from photic.search.cost import seconds as predicted_seconds
from photic.search.region import shared_axes
from photic.search.rules import TOPICS, rules_without
from photic.search.space import (
    AS_WRITTEN,
    SPACE_VERSION,
    Candidate,
    Space,
    build,
    most_bytes,
    space_of,
)
from photic.search.tree import Draw, Drawn
from photic.search.work import Work
from photic.storage.files import cache_folder, reading_folders
from photic.storage.making import Grown, Tried
from photic.storage.record import Record, record_key
from photic.storage.records import RECORDS_FILE, Records
from photic.targets.measure import Outcome, Timed, Unmeasured, measure
from photic.targets.process import Remote
from photic.targets.registry import Target
from photic.tuning import tried
from photic.tuning.candidate import is_small
from photic.tuning.comparing import Bar, fastest, is_open, seconds_of, seen, thriftier, wins
from photic.tuning.drawing import Proposer, drawing, tree_search
from photic.tuning.growth import growth
from photic.tuning.partition import Group, partition, symbols_of
from photic.tuning.proof import rules_of
from photic.tuning.trial import (
    Source,
    called,
    meaning_of,
    points_of,
    source_of,
    trial_of,
)
from photic.tuning.winners import Winner

BATCH = 8  # candidates of a turn: one call of the compiler
LEAST_SECONDS = 0.5  # of a race that is begun
RACE_SECONDS = 10.0  # of a turn at one set of sizes
DECIDING_SAMPLES = 70  # of a race of a whole turn until something wins
MOST_AGAIN = 2  # candidates that are raced once more
MOST_STORED_BYTES = 1 << 30  # between the kernels of a candidate
MOST_CHECKS = 3  # sets of sizes at which a winner is checked
RULES_SECONDS = 3.0  # past the search in which the rules behind winners are looked for
GROWTH_SECONDS = 2.0  # past that in which the steps of the e-graphs are made again, to be shown
EMPTY_TURNS = 3  # in which nothing new was proposed: the space is as good as exhausted


@dataclass(frozen=True, slots=True)
class Options:
    """What a search is told: seconds, a seed, topics of rules to leave out, and where to remember.

    ``propose`` makes what proposes candidates.
    """

    seconds: float
    seed: int
    without: tuple[str, ...]
    records: Records
    propose: Callable[[random.Random], Proposer] = tree_search


def open_records(seconds: float) -> Records:
    """The user's records; what is wrong with them is an event.

    A search of 0 seconds writes none, so it makes no folder for them.
    """
    known = [one / RECORDS_FILE for one in reading_folders("records")]
    path = next((one for one in known if one.exists()), None)
    if path is None and seconds > 0:
        path = cache_folder("records") / RECORDS_FILE
    return Records(path, lambda text: emit("search", "records", problem=text))


@dataclass(slots=True)
class Tuned:
    """What a search came to."""

    winners: dict[str, Winner]
    candidates: int
    seconds: float
    stopped: str
    matches: dict[str, int]
    tried: list[Tried] = field(default_factory=list)
    grown: list[Grown] = field(default_factory=list)


@dataclass(slots=True)
class _Region:
    """One search under way."""

    work: Work
    key: str
    calls: int
    space: Space
    proposer: Proposer
    choices: dict[str, str]
    best: Candidate
    start: Candidate  # the best when this search began
    rules: tuple[str, ...] = ()
    seconds: float | None = None
    before: float | None = None  # the seconds when this search began
    samples: tuple[float, ...] = ()
    candidates: int = 0
    turns: int = 0  # since the last gain
    kin: str = ""  # the key of what was found for works of other sizes
    is_begun: bool = False
    expected: float = 0.0  # seconds of a run of the program, before any are known
    empty: int = 0
    untimed: int = 0  # turns in which the best so far could not be timed
    turn_seconds: float = 0.0  # of the last one
    points: list[dict[str, int]] = field(default_factory=list)
    known: Known = field(default_factory=dict)  # what candidates are held to
    tried: list[Tried] = field(default_factory=list)  # what became of each
    again: list[Drawn] = field(default_factory=list)  # looked faster, and is raced once more

    @property
    def name(self) -> str:
        """What events and candidates call it."""
        return self.key[:8]

    @property
    def kind(self) -> str:
        """What the best computes."""
        return self.choices.get("kernels", AS_WRITTEN)

    @property
    def priority(self) -> float:
        """Seconds of a run of the program that are spent here, for the turns without gain."""
        return self.calls * (self.seconds or 0.0) / (1 + self.turns)


def tune(program: Program, target: Target, options: Options) -> Tuned:
    """Search for the best kernels of a program; with no seconds, only what is remembered."""
    start = time.monotonic()
    deadline = start + options.seconds
    groups: dict[str, list[Group]] = {}
    for one in partition(program)[1]:
        groups.setdefault(one.text, []).append(one)
    labels = f"{_rules_key()} without {options.without}"
    machine = f"{target.name} {target.key()}"
    regions: dict[str, _Region] = {}
    for text, alike in groups.items():
        key, kin = (record_key(one, machine, labels) for one in (text, alike[0].work.kin()))
        record = options.records.best(key)
        if record is not None or options.seconds > 0:
            regions[text] = _region(alike, key, record, target, options)
            regions[text].kin = kin
    stopped = "no search"
    if options.seconds > 0:
        with Remote(target.worker) as remote:
            stopped = _searched(list(regions.values()), remote, target, options, deadline)
    matches: dict[str, int] = {}
    for region in regions.values():
        graph = region.space.graph
        for name, count in (graph.matches if graph else {}).items():
            matches[name] = matches.get(name, 0) + count
    latest = max(deadline, time.monotonic()) + RULES_SECONDS
    for region in regions.values() if options.seconds > 0 else ():
        region.rules = region.rules or _rules(region, options.without, latest)
        _remember(region, options.records)
    latest = max(deadline, time.monotonic()) + GROWTH_SECONDS
    grown = _grown(regions.values(), options.without, latest)
    winners = {
        text: Winner(one.name, one.choices, one.best, one.seconds, one.rules)
        for text, one in regions.items()
        if one.choices or one.seconds is not None  # the best known is a winner once it was timed
    }
    total = sum(one.candidates for one in regions.values())
    spent = time.monotonic() - start if options.seconds > 0 else 0.0
    every = [each for one in regions.values() for each in one.tried]
    return Tuned(winners, total, spent, stopped, matches, every, grown)


def _region(
    groups: Sequence[Group], key: str, record: Record | None, target: Target, options: Options
) -> _Region:
    """A region as it is known; its values are saturated when it is first searched."""
    work, known = groups[0].work, dict(record.choices) if record is not None else {}
    is_written = known.get("kernels", AS_WRITTEN) == AS_WRITTEN
    space = space_of(work, target.machine(), ("placement",) if is_written else options.without)
    best = build(space, replaying(known, best_known))
    rng = random.Random(f"{options.seed} {key}")
    made = _Region(work, key, len(groups), space, options.propose(rng), known, best, best)
    if record is not None:
        made.seconds, made.rules = record.seconds, record.rules
    made.points = points_of(work)
    made.expected = len(groups) * predicted_seconds(best.nests, target.machine())
    return made


def _rules(region: _Region, without: Sequence[str], latest: float) -> tuple[str, ...]:
    """The rules behind the best candidate; none of kernels as written, or if it gets too late."""
    if region.best.choices:
        return ()
    number = int(region.choices["kernels"].removeprefix("values "))
    rules = rules_without(*without)
    return rules_of(region.space, number, rules, lambda: time.monotonic() > latest)


def _grown(regions: Iterable[_Region], without: Sequence[str], latest: float) -> list[Grown]:
    """How the e-graphs of searched regions grew, those first that cost most; till it is late."""
    searched = [one for one in regions if one.is_begun and one.space.graph is not None]
    found: list[Grown] = []
    for one in sorted(searched, key=lambda each: -each.calls * (each.seconds or 0.0)):
        stores = shared_axes(one.work.stores, one.work.temporary)
        values, rules = [each.value for each in stores], rules_without(*without)
        found += growth(one.name, values, rules, lambda: time.monotonic() > latest)
    return found


@lru_cache(maxsize=1)
def _rules_key() -> str:
    """What the labels of choices depend on besides a region: the rules, and how spaces are made."""
    texts = [rule.text() for rules in TOPICS.values() for rule in rules]
    return hashlib.sha256("\n".join([SPACE_VERSION, *texts]).encode()).hexdigest()


def _searched(
    regions: list[_Region], remote: Remote, target: Target, options: Options, deadline: float
) -> str:
    """Turns until nothing is left; why it stopped."""
    while True:
        start = time.monotonic()
        open_ = [one for one in regions if one.empty < EMPTY_TURNS]
        if not open_:
            return "exhausted"
        off = _off(regions)
        one = max(open_, key=lambda each: each.priority if each.is_begun else off * each.expected)
        if deadline - start <= one.turn_seconds / 2:
            return "out of time"
        gained = _turn(one, remote, target, options, deadline)
        one.turn_seconds = time.monotonic() - start
        one.turns = 0 if gained else one.turns + 1
        if one.seconds is None:  # not even the best known could be timed
            one.empty = one.untimed = one.untimed + 1
        if gained:
            _remember(one, options.records)
        emit(
            "search",
            "turn",
            region=one.name,
            stores=len(one.work.stores),
            regions=len(regions),
            candidates=sum(each.candidates for each in regions),
            seconds=one.seconds,
            before=one.before,
            best=one.choices,
            left=max(0.0, deadline - time.monotonic()),
        )


def _off(regions: Sequence[_Region]) -> float:
    """How many times the predicted seconds the regions begun so far take."""
    known = [one.calls * one.seconds / one.expected for one in regions if one.seconds]
    return median(known) if known else 1.0


def _remember(region: _Region, records: Records) -> None:
    """Keep what is best so far, also for a start at other sizes."""
    if region.choices and region.seconds is not None:
        chosen = tuple(region.choices.items())
        numbers = (region.seconds, region.samples, region.candidates)
        for key in (region.key, region.kin):
            records.add(key, Record(chosen, *numbers, "best so far", region.rules))


def _turn(
    region: _Region, remote: Remote, target: Target, options: Options, deadline: float
) -> bool:
    """Propose, race and check; whether something better was found."""
    draw, began = _draw(region, target), deadline - options.seconds
    if not region.is_begun:
        region.is_begun = True
        region.space = space_of(region.work, target.machine(), options.without)
        _begin(region, draw, remote, target, options)
        _tell(region, draw)
    if not _fits(region.best):
        region.empty = EMPTY_TURNS
        return False
    again = region.again
    found = [region.proposer.propose(draw) for _ in range(BATCH - len(again))]
    drawn = [*again, *(one for one in found if one is not None)]
    region.empty = 0 if drawn else region.empty + 1
    if not drawn and region.seconds is not None:
        return False
    region.candidates += len(drawn) - len(again)
    made = [one.made for one in drawn]
    candidates = [region.best, *(one for one in made if isinstance(one, Candidate))]
    sources = [source_of(one, region.work, target.dialect) for one in candidates]
    raced = list(_races(region, sources, remote, options.seed, deadline))
    firsts = [one[0] for one in raced]
    if region.seconds is None:
        _time(region, firsts)
        _tell(region, draw)
    if region.seconds is None:
        region.again = drawn
        return False
    if not region.tried:
        region.before = region.seconds
        first = (region.best, region.kind, region.seconds, (tried.FIRST, ""))
        tried.tell(region.tried, region.name, time.monotonic() - began, [first])
    scores = [seen(firsts, [race[k] for race in raced]) for k in range(1, len(sources))]
    for k, (one, score) in enumerate(zip(drawn, scores, strict=True), 1):
        if not any(isinstance(race[k], Unmeasured) for race in raced):
            region.proposer.learn(one, score * region.seconds)
    outcomes = [[race[k] for race in raced] for k in range(1, len(sources))]
    verdicts = [tried.raced(*one) for one in zip(scores, outcomes, strict=True)]
    times = [seconds_of(region.seconds, *one) for one in zip(scores, outcomes, strict=True)]
    start = source_of(region.start, region.work, target.dialect)

    def judge(source: Source, first: Source | None, bar: Bar) -> tuple[str, str]:
        return _judged(region, first or start, source, bar, remote, options.seed, deadline)

    order = sorted(range(len(drawn)), key=lambda k: scores[k])
    winner = fastest([k for k in order if wins(firsts, outcomes[k])], sources, verdicts, judge)
    winner = thriftier(region.seconds, sources, scores, verdicts, times, winner, judge)
    for one, verdict in zip(drawn, verdicts, strict=True):
        if verdict[0] == tried.WRONG:
            region.proposer.learn(one, math.inf)
    told = zip(made, [dict(one.trail)["kernels"] for one in drawn], times, verdicts, strict=True)
    tried.tell(region.tried, region.name, time.monotonic() - began, list(told))
    best = 1.0 if winner is None else scores[winner]
    left = [k for k in order if is_open(verdicts[k][0], scores[k] / best) and drawn[k] not in again]
    region.again = [drawn[k] for k in left[:MOST_AGAIN]]
    if winner is None:
        return False
    region.best, region.choices = candidates[winner + 1], dict(drawn[winner].trail)
    region.rules, region.seconds = (), times[winner]
    return True


def _races(
    region: _Region, sources: Sequence[Source], remote: Remote, seed: int, deadline: float
) -> Iterator[list[Outcome]]:
    """What became of each source at each point."""
    for number, sizes in enumerate(region.points):
        known = region.seconds or region.expected / region.calls
        enough = max(RACE_SECONDS, DECIDING_SAMPLES * known)
        seconds = max(LEAST_SECONDS, min(enough, deadline - time.monotonic()))
        trials = [trial_of(one, region.work, sizes) for one in sources]
        yield measure(remote, trials, seconds, seed + number)


def _judged(
    region: _Region,
    first: Source,
    source: Source,
    bar: Bar,
    remote: Remote,
    seed: int,
    deadline: float,
) -> tuple[str, str]:
    """The verdict on a source: it must be right, and keep to the bar in a race with the first.

    A race later than the one that it won tells luck from gain: what was best of many was lucky.
    """
    found = _checked(region, source, remote, seed)
    if not isinstance(found, Right):
        return tried.wrong(found)
    again = _races(region, [first, source], remote, seed + len(region.points), deadline)
    kept = all(bar.is_kept(one, other) for other, one in again)
    return (tried.WON, bar.won) if kept else (tried.EVEN, bar.lost)


def _begin(region: _Region, draw: Draw, remote: Remote, target: Target, options: Options) -> None:
    """Where a search starts that knows nothing of these sizes: at what won at others, if right.

    If the best known needs too much memory, it starts at another candidate.
    """

    def adopt(drawn: Drawn | None) -> None:
        if drawn is not None and isinstance(drawn.made, Candidate):
            source = source_of(drawn.made, region.work, target.dialect)
            if _is_right(region, source, remote, options.seed):
                region.best, region.choices = drawn.made, dict(drawn.trail)

    kin = options.records.best(region.kin) if not region.choices else None
    if kin is not None:
        adopt(draw(replaying(dict(kin.choices), best_known)))
    for _ in range(BATCH):
        if not _fits(region.best):
            adopt(region.proposer.propose(draw))
    region.start = region.best


def _tell(region: _Region, draw: Draw) -> None:
    """Tell who proposes of what a record knew, so that others like it are drawn."""
    drawn = draw(replaying(region.choices, best_known)) if region.choices else None
    if drawn is not None and region.seconds is not None:
        region.proposer.learn(drawn, region.seconds)


def _fits(candidate: Candidate) -> bool:
    """Whether the buffers between kernels are small enough to be measured."""
    return most_bytes(candidate.stored) <= MOST_STORED_BYTES


def _draw(region: _Region, target: Target) -> Draw:
    machine = target.machine()

    def describe(made: object) -> tuple[str, float] | None:
        assert isinstance(made, Candidate)
        if not (is_small(made) and _fits(made)):
            return None
        text = "\n".join(print_nest(one) for one in made.nests)
        return text, predicted_seconds(made.nests, machine)

    return drawing(lambda choose: build(region.space, choose), describe)


def _time(region: _Region, firsts: Sequence[Outcome]) -> None:
    """The seconds of the best so far, the mean of all points; the first time is the one kept."""
    times = [one.seconds for one in firsts if isinstance(one, Timed)]
    if len(times) == len(firsts):
        region.seconds, region.samples = sum(times) / len(times), tuple(times)


def _is_right(region: _Region, source: Source, remote: Remote, seed: int) -> bool:
    """Whether a candidate passes the check, at several sizes."""
    return isinstance(_checked(region, source, remote, seed), Right)


def _checked(region: _Region, source: Source, remote: Remote, seed: int) -> Right | Wrong:
    """What the check says, at several sizes; the first fault."""
    meaning = meaning_of(region.work, source.candidate)

    def call(arrays: Arrays, sizes: Sizes) -> Arrays | str:
        return called(remote, source, region.work, arrays, sizes)

    for sizes in sizes_to_try(symbols_of(region.work))[:MOST_CHECKS]:
        found = check(meaning, sizes, call, seed, region.known)
        emit("search", "check", region=region.name, right=isinstance(found, Right), found=found)
        if not isinstance(found, Right):
            return found
    return Right(0.0)
