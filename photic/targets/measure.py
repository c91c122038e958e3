"""Measuring trials: which of several sources is fastest, by a race that noise does not decide.

All trials run in turns in one process on the same data, so that a drift of the machine hits them
alike, and are compared round by round. Who is clearly behind drops out. The best is then raced
against the first, the one to beat, in fresh rounds; only these decide a win (``beats``). Faults of
a trial (refused, crashed, hung, out of bounds, a clock that cannot be right) are its outcome. Says
nothing of right or wrong results. Only the stopwatch that it is handed knows time and machine.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Protocol, TypeAlias

import numpy as np

from photic.ir.dtype import DType

FIRST_ROUNDS = 15  # at most, to find the best of all
HALVING_ROUNDS = 3  # after so many the slower half drops out
FINAL_ROUNDS = 30  # of the best and the one to beat
DECIDING_ROUNDS = 8  # fewer final rounds decide nothing
MARGIN = 0.02  # of the time: what two compilations of one source may differ by
BUILD_SECONDS = 60.0
FAR = 4.0  # so many margins end a final early
SERIES_SECONDS = 0.0005  # long against waking a thread, short against a turn of the scheduler
SAMPLE_SECONDS = 0.005
MOST_CALLS = 200  # of a series
MOST_SERIES = 8  # of a sample
WARM_CALLS = 3
LONG_SECONDS = 0.3  # of a call: it warms itself up
HOPELESS_FACTOR = 3.0  # so many times the best, and more than a moment, is not raced
HOPELESS_SECONDS = 0.001
LIMIT_FACTOR = 20.0  # so many times the best is a hang
LEAST_LIMIT_SECONDS = 2.0
FIRST_SHARE = 0.5  # of the time, for a sample before anything is known
MOST_SPREAD = 1.0  # of the median, between the quartiles; more is no measurement
SPREAD_SAMPLES = 8  # with fewer, nonsense may look steady by luck
QUARTILES = (25, 50, 75)
DEVIATIONS = 1.96  # 95% of a normal distribution


@dataclass(frozen=True, slots=True)
class Slot:
    """One buffer of a trial's table: ``count`` elements, filled with noise.

    Integers lie in ``low..high``. ``kept`` says that a call reads it and then writes it (a state).
    """

    dtype: DType
    count: int
    low: int
    high: int
    kept: bool


@dataclass(frozen=True, slots=True)
class Trial:
    """A source with an entry function, and what to call it with; scratch is for each thread."""

    text: str
    slots: tuple[Slot, ...]
    sizes: tuple[int, ...]
    arena_bytes: int
    scratch_bytes: int


@dataclass(frozen=True, slots=True)
class Timed:
    """Seconds of one call, one sample for each round that it took part in.

    The ``early`` samples found the best; what is after them decides.
    """

    samples: tuple[float, ...]
    early: int = FIRST_ROUNDS

    @property
    def seconds(self) -> float:
        return float(np.median(self.samples))


@dataclass(frozen=True, slots=True)
class Refused:
    """It did not compile or load, or there was no memory for it."""

    problem: str


@dataclass(frozen=True, slots=True)
class Crashed:
    """The process ended: by which signal, or with which status."""

    how: str


@dataclass(frozen=True, slots=True)
class Hung:
    """It was stopped after this time."""

    seconds: float


@dataclass(frozen=True, slots=True)
class OutOfBounds:
    """It wrote beside a buffer or into an input: a slot's number, "arena" or "scratch"."""

    where: str


@dataclass(frozen=True, slots=True)
class Unsteady:
    """The samples contradict each other or the clock: nothing was measured."""

    samples: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Unmeasured:
    """The time was up before its turn."""


Failure: TypeAlias = Refused | Crashed | Hung | OutOfBounds
Outcome: TypeAlias = Timed | Failure | Unsteady | Unmeasured


class Stopwatch(Protocol):
    """What the race is handed: a clock, and a machine to run trials on that outlives them."""

    def now(self) -> float:
        """Seconds since some moment."""

    def build(self, trials: Sequence[Trial], seconds: float) -> list[Failure | None]:
        """Compile and load all of them in this time; what is wrong with each, if anything."""

    def sample(self, trial: Trial, calls: int, series: int, seconds: float) -> float | Failure:
        """The seconds of so many calls one after the other, in the fastest of several series."""


# --- comparing ------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Ratio:
    """One trial's time over another's: the median over rounds, and 95% bounds of that median."""

    low: float
    median: float
    high: float


def ratio(one: Sequence[float], other: Sequence[float]) -> Ratio:
    """Compare the samples of common rounds; bounds are order statistics, with no model of noise.

    Of no common rounds nothing is known.
    """
    found = np.sort([a / b for a, b in zip(one, other)])
    if not len(found):
        return Ratio(0.0, 1.0, np.inf)
    rank = max(0, int((len(found) + 1) / 2 - DEVIATIONS / 2 * len(found) ** 0.5) - 1)
    return Ratio(float(found[rank]), float(np.median(found)), float(found[-1 - rank]))


def beats(one: Outcome, other: Outcome) -> bool:
    """True if ``one`` is faster by more than the margin, beyond doubt, in the final rounds.

    Anything that was timed beats what failed; what was not measured is not beaten.
    """
    if not (isinstance(one, Timed) and isinstance(other, Timed)):
        return isinstance(one, Timed) and isinstance(other, Failure)
    final, against = one.samples[one.early :], other.samples[other.early :]
    rounds = min(len(final), len(against))
    return rounds >= DECIDING_ROUNDS and ratio(final, against).high < 1 - MARGIN


# --- the race -------------------------------------------------------------------------------


@dataclass(slots=True)
class _Racer:
    trial: Trial
    warm_seconds: float = 0.0
    samples: list[float] = field(default_factory=list)
    early: int = FIRST_ROUNDS
    fault: Failure | Unsteady | Unmeasured | None = None
    racing: bool = True

    @property
    def outcome(self) -> Outcome:
        if self.fault is not None:
            return self.fault
        if not self.samples:
            return Timed((self.warm_seconds,), 1) if self.warm_seconds else Unmeasured()
        if len(self.samples) >= SPREAD_SAMPLES:
            low, middle, high = np.percentile(self.samples, QUARTILES)
            if high - low > MOST_SPREAD * middle:
                return Unsteady(tuple(self.samples))
        return Timed(tuple(self.samples), self.early)


def _slower_half(racers: list[_Racer]) -> list[_Racer]:
    """The slower ones, by the median so far; of one, none."""
    order = sorted(racers, key=lambda one: float(np.median(one.samples or [np.inf])))
    return order[(len(order) + 1) // 2 :]


def measure(
    stopwatch: Stopwatch, trials: Sequence[Trial], seconds: float, seed: int
) -> list[Outcome]:
    """Build the trials, and race them for at most ``seconds``; the first is the one to beat."""
    racers = [_Racer(one) for one in trials]
    for racer, fault in zip(racers, stopwatch.build(trials, BUILD_SECONDS), strict=True):
        racer.fault = fault
    race = _Race(stopwatch, racers, stopwatch.now() + seconds, np.random.default_rng(seed))
    if racers:
        race.run()
    return [racer.outcome for racer in race.racers]


@dataclass(slots=True)
class _Race:
    stopwatch: Stopwatch
    racers: list[_Racer]
    deadline: float
    rng: np.random.Generator
    best_seconds: float = 0.0  # of one call; 0 = not known yet
    calls: int = 1
    series: int = 1

    def run(self) -> None:
        for racer in self.active():
            self.warm(racer)
        self.set_sample()
        first = self.racers[0]
        for number in range(FIRST_ROUNDS):
            others = [one for one in self.active() if one is not first]
            if number >= SPREAD_SAMPLES and len(others) < 2 <= len(self.racers):
                break
            if number and number % HALVING_ROUNDS == 0:
                self.drop(_slower_half(others))
            self.round()
            self.drop([one for one in self.active() if one is not first and self.is_behind(one)])
        rest = [one for one in self.active() if one is not first]
        rest.sort(key=lambda one: float(np.median(one.samples)))
        is_open = first in self.active() and bool(rest) and self.may_win(rest[0])
        self.drop(rest[1:] if is_open else rest)
        for racer in self.active():
            racer.early = len(racer.samples)
        for number in range(FINAL_ROUNDS if len(self.active()) > 1 else 0):
            if number >= DECIDING_ROUNDS and self.is_decided(rest[0]):
                break
            self.round()

    def active(self) -> list[_Racer]:
        return [one for one in self.racers if one.racing and one.fault is None]

    def drop(self, racers: Iterable[_Racer]) -> None:
        for racer in racers:
            racer.racing = False

    def warm(self, racer: _Racer) -> None:
        """The first calls: the very first does not count, the others only say how long to race.

        One that is hopeless at once, or takes long anyway, is not warmed further.
        """
        first = self.take(racer)
        found = [] if first is None else [first]
        if first is not None and first < LONG_SECONDS and not self.is_hopeless(first):
            found = [taken for _ in range(WARM_CALLS - 1) if (taken := self.take(racer))] or found
        if found:
            racer.warm_seconds = min(found)
            self.best_seconds = min(racer.warm_seconds, self.best_seconds or racer.warm_seconds)

    def set_sample(self) -> None:
        """How much makes a sample: the same for all, or the least of more series would win."""
        for racer in self.active():
            if self.is_hopeless(racer.warm_seconds) and racer is not self.racers[0]:
                racer.samples.append(racer.warm_seconds)
                racer.racing = False
        if self.best_seconds:
            calls = round(SERIES_SECONDS / self.best_seconds)
            self.calls = min(MOST_CALLS, max(1, calls))
            series = round(SAMPLE_SECONDS / (self.best_seconds * self.calls))
            self.series = min(MOST_SERIES, max(1, series))

    def is_hopeless(self, seconds: float) -> bool:
        """Whether it takes so much longer than the best that a race is no use."""
        known = self.best_seconds
        return known > 0 and seconds > HOPELESS_FACTOR * known + HOPELESS_SECONDS

    def round(self) -> None:
        """A sample of each, in random order: then no rhythm of the machine can favour one."""
        racers = self.active()
        for place in self.rng.permutation(len(racers)):
            racer = racers[place]
            seconds = self.take(racer)
            if seconds is not None:
                racer.samples.append(seconds)

    def take(self, racer: _Racer) -> float | None:
        """Seconds of one call; None if that is not known, with the racer told why or retired."""
        start = self.stopwatch.now()
        left = self.deadline - start
        if left <= 0:
            racer.racing = False
            return None
        limit = max(LEAST_LIMIT_SECONDS, left * FIRST_SHARE)
        if self.best_seconds:
            slowest = LIMIT_FACTOR * self.best_seconds * self.calls * self.series
            limit = max(LEAST_LIMIT_SECONDS, slowest)
        taken = self.stopwatch.sample(racer.trial, self.calls, self.series, limit)
        if not isinstance(taken, float):
            racer.fault = taken
            return None
        if not 0 < taken <= self.stopwatch.now() - start:
            racer.fault = Unsteady((*racer.samples, taken))
            return None
        return taken / self.calls

    def may_win(self, racer: _Racer) -> bool:
        """Whether it has been faster than the first by more than the margin so far."""
        return ratio(racer.samples, self.racers[0].samples).median < 1 - MARGIN

    def is_decided(self, racer: _Racer) -> bool:
        """Whether the final so far is clear by far, so that no further round can turn it."""
        first = self.racers[0]
        final, against = racer.samples[racer.early :], first.samples[first.early :]
        so_far = ratio(final, against)
        return so_far.high < 1 - FAR * MARGIN or so_far.low > 1 + FAR * MARGIN

    def is_behind(self, racer: _Racer) -> bool:
        """Whether it was slower than the leader in (nearly) every round, by enough to be sure."""
        leader = min(self.active(), key=lambda one: float(np.median(one.samples)))
        rounds = len(racer.samples)
        return ratio(racer.samples, leader.samples).low > 1 + MARGIN + 2 / rounds**2
