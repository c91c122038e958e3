"""Races: who wins, who drops out, what noise cannot do; and what a worker process survives."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pytest

from photic.ir.dtype import BFLOAT16, FLOAT32, INT64
from photic.targets.c.worker import Worker
from photic.targets.measure import (
    DECIDING_ROUNDS,
    FINAL_ROUNDS,
    FIRST_ROUNDS,
    MARGIN,
    SPREAD_SAMPLES,
    Crashed,
    Failure,
    Hung,
    Outcome,
    OutOfBounds,
    Refused,
    Slot,
    Timed,
    Trial,
    Unmeasured,
    Unsteady,
    beats,
    measure,
    ratio,
)
from photic.targets.process import Array, Remote, noise

WORKER = "photic.targets.c.worker"
LONG = 600.0
FALSE_WINS = 0.05
HANG_SECONDS = 1.0
TURN_SECONDS = 10.0  # for a busy machine to notice that a process is gone


def named(name: str) -> Trial:
    return Trial(name, (), (), 0, 0)


# --- the race, with made-up time ------------------------------------------------------------


@dataclass
class Clock:
    """A stopwatch of made-up time: seconds by text, with noise that comes in bursts."""

    costs: dict[str, float | Failure]
    rng: np.random.Generator = field(default_factory=lambda: np.random.default_rng(0))
    noise: float = 0.01
    burst: float = 0.0  # of the samples are part of one, which makes them up to three times longer
    time: float = 0.0
    slowdown: float = 1.0
    taken: list[str] = field(default_factory=list)

    def now(self) -> float:
        return self.time

    def build(self, trials: Sequence[Trial], seconds: float) -> list[Failure | None]:
        self.time += 0.1
        faults = (self.costs[one.text] for one in trials)
        return [one if isinstance(one, Refused) else None for one in faults]

    def sample(self, trial: Trial, calls: int, series: int, seconds: float) -> float | Failure:
        self.taken.append(trial.text)
        cost = self.costs[trial.text]
        if not isinstance(cost, float):
            return cost
        if self.rng.random() < 0.3:
            self.slowdown = 1 + 2 * self.rng.random() * (self.rng.random() < self.burst)
        true = calls * cost * self.slowdown * (1 + self.noise * abs(self.rng.normal()))
        self.time += 1.01 * series * true  # what asking costs
        return true


class Strict(Clock):
    """One that stops what takes longer than it may."""

    def sample(self, trial: Trial, calls: int, series: int, seconds: float) -> float | Failure:
        found = super().sample(trial, calls, series, seconds)
        return Hung(seconds) if isinstance(found, float) and found > seconds else found


def outcomes(clock: Clock, seconds: float = LONG) -> dict[str, Outcome]:
    trials = [named(name) for name in clock.costs]
    return dict(zip(clock.costs, measure(clock, trials, seconds, 0), strict=True))


def test_the_faster_one_wins_and_its_median_is_told() -> None:
    found = outcomes(Clock({"old": 1e-3, "new": 0.9e-3, "same": 1e-3}))
    new, old = found["new"], found["old"]
    assert beats(new, old) and not beats(old, new) and not beats(found["same"], old)
    assert isinstance(new, Timed) and new.seconds == pytest.approx(0.9e-3, rel=0.02)


def test_a_gain_within_the_margin_is_no_win() -> None:
    found = outcomes(Clock({"old": 1e-3, "new": 0.99e-3}, noise=0.0))
    assert not beats(found["new"], found["old"])


def test_a_win_needs_final_rounds_of_its_own() -> None:
    fast, slow = Timed((1.0,) * FIRST_ROUNDS), Timed((2.0,) * (FIRST_ROUNDS + FINAL_ROUNDS))
    assert not beats(fast, slow)


@pytest.mark.parametrize("burst", [0.0, 0.5])
def test_copies_of_the_first_hardly_ever_win(burst: float) -> None:
    wins, races = 0, 100
    for seed in range(races):
        copies = {str(k): 1e-3 for k in range(8)}
        clock = Clock(copies, np.random.default_rng(seed), 0.05, burst)
        found = measure(clock, [named(name) for name in copies], LONG, seed)
        wins += any(beats(one, found[0]) for one in found[1:])
    assert wins <= FALSE_WINS * races


class Drifting(Clock):
    """A machine whose speed wanders, for two compilations that lie differently in memory."""

    wander: float = 0.0

    def sample(self, trial: Trial, calls: int, series: int, seconds: float) -> float | Failure:
        self.wander = 0.98 * self.wander + 0.02 * self.rng.normal()
        found = super().sample(trial, calls, series, seconds)
        return found * float(np.exp(self.wander)) if isinstance(found, float) else found

    def now(self) -> float:
        return 3 * self.time  # room for a slow phase: a clock must not say more than went by


def test_one_kernel_compiled_twice_hardly_ever_beats_itself() -> None:
    wins, races = 0, 50
    for seed in range(races):
        rng = np.random.default_rng(seed)
        placed = 1e-3 * (1 + rng.uniform(-1, 1) * MARGIN / 2)  # where its code happens to lie
        clock = Drifting({"once": 1e-3, "twice": float(placed)}, rng, 0.03, 0.3)
        found = outcomes(clock)
        assert isinstance(found["once"], Timed | Unsteady)
        wins += beats(found["twice"], found["once"]) or beats(found["once"], found["twice"])
    assert wins <= FALSE_WINS * races


def test_who_is_clearly_behind_drops_out_at_once() -> None:
    clock = Clock({"old": 1e-3, "new": 0.8e-3, "slow": 4e-3, "slower": 1.2e-3})
    found = outcomes(clock)
    assert all(isinstance(one, Timed) for one in found.values())
    counts = {name: len(one.samples) for name, one in found.items() if isinstance(one, Timed)}
    assert counts["slow"] == 1 and counts["slower"] < FIRST_ROUNDS
    assert counts["old"] == counts["new"] >= SPREAD_SAMPLES + DECIDING_ROUNDS


def test_the_hopeless_are_not_raced() -> None:
    clock = Clock({"old": 1e-3, "hopeless": 1.0})
    found = outcomes(clock)["hopeless"]
    assert isinstance(found, Timed) and len(found.samples) == 1
    assert clock.taken.count("hopeless") < 4


def test_a_race_of_nobody_ends_at_once() -> None:
    assert outcomes(Clock({})) == {}


def test_a_race_keeps_to_its_time() -> None:
    clock = Clock({str(k): 0.2 + 0.001 * k for k in range(8)})
    found = outcomes(clock, seconds=3.0)
    assert clock.time < 3.0 + 0.3
    assert Unmeasured() in found.values() and isinstance(found["0"], Timed)


def test_every_trial_takes_the_same_number_of_samples_of_the_same_size() -> None:
    sizes: set[tuple[int, int]] = set()

    class Watched(Clock):
        def sample(self, trial: Trial, calls: int, series: int, seconds: float) -> float | Failure:
            sizes.add((calls, series))
            return super().sample(trial, calls, series, seconds)

    outcomes(Watched({"a": 1e-5, "b": 2e-5, "c": 1.5e-5}))
    assert len(sizes - {(1, 1)}) == 1  # single calls are the warming ones


def test_what_takes_long_is_no_hang_because_little_time_is_left() -> None:
    assert isinstance(outcomes(Strict({"old": 1.5}), 0.5)["old"], Timed)
    assert isinstance(outcomes(Strict({"old": 9.0}), 0.5)["old"], Hung)


FAULTS: list[Failure] = [Refused("no"), Crashed("SIGSEGV"), Hung(2.0), OutOfBounds("slot 0")]


@pytest.mark.parametrize("fault", FAULTS, ids=lambda one: type(one).__name__)
@pytest.mark.parametrize("place", [0, 1])
def test_a_fault_is_the_outcome_of_one_trial_only(fault: Failure, place: int) -> None:
    costs: dict[str, float | Failure] = {"a": 1e-3, "b": 1.2e-3}
    names = list(costs)
    names.insert(place, "faulty")
    found = outcomes(Clock({name: costs.get(name, fault) for name in names}))
    assert found["faulty"] == fault
    assert isinstance(found["a"], Timed) and isinstance(found["b"], Timed)
    assert beats(found["a"], fault) and not beats(fault, found["a"])


def test_what_was_not_measured_is_not_beaten() -> None:
    timed = Timed((1.0,) * (FIRST_ROUNDS + FINAL_ROUNDS))
    assert not beats(timed, Unmeasured()) and not beats(timed, Unsteady(()))


class Nonsense(Clock):
    """A wrong clock: what it says has nothing to do with the work."""

    def sample(self, trial: Trial, calls: int, series: int, seconds: float) -> float | Failure:
        self.time += 0.01
        return float(10.0 ** self.rng.uniform(-6, -2.1))


@pytest.mark.parametrize("seed", range(10))
def test_a_clock_that_talks_nonsense_is_found_out(seed: int) -> None:
    clock = Nonsense({"a": 1e-3, "b": 1e-3}, np.random.default_rng(seed))
    found = outcomes(clock)
    assert not beats(found["b"], found["a"])
    assert any(isinstance(one, Unsteady) for one in found.values())


@pytest.mark.parametrize("said", [0.0, -1e-3, float("nan"), float("inf"), 1e9])
def test_a_time_that_cannot_be_is_no_measurement(said: float) -> None:
    class Wrong(Clock):
        def sample(self, trial: Trial, calls: int, series: int, seconds: float) -> float | Failure:
            self.time += 0.01
            return said

    assert all(isinstance(one, Unsteady) for one in outcomes(Wrong({"a": 1.0})).values())


def test_bounds_of_a_ratio_hold_its_median() -> None:
    rng = np.random.default_rng(1)
    held = 0
    for _ in range(400):
        one, other = np.exp(rng.normal(0, 0.2, 15)), np.exp(rng.normal(0, 0.2, 15))
        found = ratio(tuple(one), tuple(other))
        assert found.low <= found.median <= found.high
        held += found.low <= 1 <= found.high
    assert held / 400 >= 0.95  # what the bounds promise


def test_a_ratio_of_one_round_is_that_round() -> None:
    found = ratio((2.0,), (1.0, 5.0))
    assert (found.low, found.median, found.high) == (2.0, 2.0, 2.0)


# --- noise ----------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [FLOAT32, BFLOAT16], ids=str)
def test_trials_run_on_noise_without_zeros_or_subnormals(dtype: object) -> None:
    values = noise(Slot(dtype, 1000, 0, 0, False), np.random.default_rng(0)).astype(np.float32)
    assert np.abs(values).min() >= 0.24 and np.abs(values).max() <= 1
    assert len(np.unique(values)) > 50 and {-1.0, 1.0} == set(np.sign(values))


def test_noise_of_integers_keeps_to_their_range() -> None:
    values = noise(Slot(INT64, 1000, -2, 5, False), np.random.default_rng(0))
    assert values.dtype == np.int64 and set(values.tolist()) == set(range(-2, 6))


def test_a_large_buffer_is_filled_with_noise_that_repeats_at_no_even_stride() -> None:
    values = noise(Slot(FLOAT32, 1 << 20, 0, 0, False), np.random.default_rng(0))
    assert len(np.unique(values)) < 1 << 17
    for stride in (1 << power for power in range(18)):
        assert len(np.unique(values[::stride])) > min(99, len(values) // stride // 2)


# --- a worker process -----------------------------------------------------------------------

COUNT = 1000
HEAD = """\
void photic_entry(void *const *buffers, long long *sizes, char *arena, char *scratch, void *pool) {
  float *x = buffers[0], *y = buffers[1];
  long long n = sizes[0];
"""
DOUBLE = "for (int i = 0; i < n; i++) y[i] = 2 * x[i];"


def source(body: str, *, arena: int = 0, scratch: int = 0, kept: bool = False) -> Trial:
    slots = (Slot(FLOAT32, COUNT, 0, 0, kept), Slot(FLOAT32, COUNT, 0, 0, False))
    return Trial(f"{HEAD}{body}\n}}\n", slots, (COUNT,), arena, scratch)


@pytest.fixture(scope="module")
def remote() -> Iterator[Remote]:
    with Remote(WORKER) as made:
        yield made


def run(remote: Remote, trial: Trial) -> Array | Failure:
    x, y = np.arange(7, dtype=np.float32), np.full(7, -1, np.float32)
    found = remote.run(trial, {0: x, 1: y}, (7,), (1,), LONG)
    return found[1] if isinstance(found, dict) else found


def test_a_trial_computes_in_the_worker(remote: Remote) -> None:
    found = run(remote, source(DOUBLE))
    assert isinstance(found, np.ndarray)
    np.testing.assert_array_equal(found, 2 * np.arange(7, dtype=np.float32))


def test_a_run_begins_with_zeros_where_nothing_is_given(remote: Remote) -> None:
    trial = source("for (int i = 0; i < n; i++) y[i] += x[i];")
    x = np.arange(COUNT, dtype=np.float32)
    found = remote.run(trial, {0: x}, (COUNT,), (1,), LONG)
    assert isinstance(found, dict) and found.keys() == {1}
    np.testing.assert_array_equal(found[1], x)


def test_what_trials_still_share_stays_when_others_are_built() -> None:
    worker, trial = Worker(), source(DOUBLE)
    assert worker.build([trial]) == [""] and isinstance(worker.sample(trial, 1, 1), float)
    before = worker.shared[0, trial.slots[0]][0]
    assert worker.build([source(f"{DOUBLE} // again")]) == [""]
    assert worker.shared[0, trial.slots[0]][0] is before
    assert worker.build([]) == [] and not worker.shared


def test_more_work_takes_longer(remote: Remote) -> None:
    once, twice = source(DOUBLE), source(f"for (int k = 0; k < 2; k++) {{ {DOUBLE} *buffers; }}")
    loop = source(f"for (volatile int k = 0; k < 3; k++) {{ {DOUBLE} }}")
    found = measure(remote, [loop, once, twice], LONG, 0)
    assert beats(found[1], found[0]) or beats(found[2], found[0])
    assert isinstance(found[0], Timed) and len(found[0].samples) >= found[0].early + DECIDING_ROUNDS


# What a faulty trial does, and what becomes of it. It is built with sound ones and must not hurt
# them.
FAULTY: dict[str, tuple[str, type]] = {
    "reads address 0": ("y[0] = *(volatile float *)0;", Crashed),
    "divides by zero": ("volatile int zero = 0; y[0] = n / zero;", Crashed),
    "never ends": ("for (;;) *(volatile float *)y = 1;", Hung),
    "writes one element too far": ("y[n] = 1;", OutOfBounds),
    "writes just before a buffer": ("y[-1] = 1;", Crashed),
    "writes past the arena": ("arena[128] = 1;", Crashed),
    "writes before its scratch": ("scratch[-1] = 0;", OutOfBounds),
    "does not compile": ("y[0] = nothing;", Refused),
    "has no definition of what it calls": ("double f(double); y[0] = f(1);", Refused),
}


def test_faults_are_told_apart_and_hurt_nobody(remote: Remote) -> None:
    sound = source(DOUBLE)
    faulty = [source(body, arena=100, scratch=64) for body, _ in FAULTY.values()]
    found = measure(remote, [sound, *faulty], LONG, 0)
    assert isinstance(found[0], Timed)
    kinds = dict(zip(FAULTY, map(type, found[1:]), strict=True))
    assert kinds == {name: kind for name, (_, kind) in FAULTY.items()}


@pytest.mark.parametrize("name", FAULTY)
def test_after_a_fault_the_next_call_works(remote: Remote, name: str) -> None:
    body, kind = FAULTY[name]
    faulty, sound = source(body, arena=100, scratch=64), source(DOUBLE)
    found = remote.build([faulty, sound], LONG)
    first = found[0] or remote.sample(faulty, 1, 1, HANG_SECONDS)
    assert isinstance(first, kind)
    assert isinstance(run(remote, sound), np.ndarray)
    assert isinstance(remote.sample(sound, 2, 2, LONG), float)


def test_reading_past_the_end_is_found_by_a_run(remote: Remote) -> None:
    assert run(remote, source(f"{DOUBLE} y[0] = ((volatile float *)x)[n];")) == Crashed("SIGSEGV")


def test_writing_to_an_input_is_found_by_a_run(remote: Remote) -> None:
    found = run(remote, source(f"{DOUBLE} x[0] = 9;"))
    assert isinstance(found, OutOfBounds) and "slot 0" in found.where


def test_the_compiler_says_what_it_refused(remote: Remote) -> None:
    found = run(remote, source("y[0] = nothing;"))
    assert isinstance(found, Refused) and "nothing" in found.problem


def test_an_arena_too_large_for_memory_is_refused_or_raised(remote: Remote) -> None:
    with pytest.raises(MemoryError):
        run(remote, source(DOUBLE, arena=1 << 60))
    assert isinstance(run(remote, source(DOUBLE)), np.ndarray)


def test_a_missing_worker_says_why() -> None:
    with Remote("photic.targets.c.no_such_module") as remote:
        (found,) = remote.build([source(DOUBLE)], LONG)
    assert isinstance(found, Refused) and "no_such_module" in found.problem


def test_a_state_is_as_it_was_before_every_series() -> None:
    worker = Worker()
    trial = source("x[0] += 1;", kept=True)
    assert worker.build([trial]) == [""]
    first = noise(trial.slots[0], np.random.default_rng(0))[0]
    assert isinstance(worker.sample(trial, 3, 2), float)
    after = worker.shared[0, trial.slots[0]][0].bytes.view(np.float32)[0]
    assert after == first + 4  # one call that does not count, and three


def test_a_library_is_closed_when_its_trials_are_forgotten() -> None:
    def libraries() -> int:
        text = maps.read_text(encoding="utf-8", errors="replace")  # any file may be mapped
        return len({line.split()[-2] for line in text.splitlines() if "together" in line})

    maps = Path("/proc/self/maps")
    worker = Worker()
    before = libraries()
    for number in range(3):
        assert worker.build([source(f"{DOUBLE} // {number}")]) == [""]
    assert libraries() - before <= 1


def test_closing_ends_the_process_and_a_later_call_starts_another() -> None:
    remote = Remote(WORKER)
    assert isinstance(run(remote, source(DOUBLE)), np.ndarray)
    assert remote._process is not None
    process = remote._process.started
    remote.close()
    assert process.returncode == -signal.SIGKILL
    assert isinstance(run(remote, source(DOUBLE)), np.ndarray)
    remote.close()


ORPHAN = f"""
import sys
from photic.targets.measure import Slot, Trial
from photic.ir.dtype import FLOAT32
from photic.targets.process import Remote
remote = Remote({WORKER!r})
endless = Trial({HEAD!r} + "for (;;) *(volatile char *)buffers; }}", (), (1,), 0, 0)
assert remote.build([endless], 600.0) == [None]
print(remote._process.started.pid, flush=True)
remote.sample(endless, 1, 1, 600.0)
"""


def test_a_worker_does_not_outlive_its_parent_even_in_an_endless_kernel() -> None:
    command = (sys.executable, "-c", ORPHAN)
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout is not None
        worker = int(parent.stdout.readline())
        parent.kill()
    end = time.monotonic() + TURN_SECONDS
    while is_running(worker) and time.monotonic() < end:
        time.sleep(0.1)
    assert not is_running(worker)


def is_running(process: int) -> bool:
    try:
        os.kill(process, 0)
        state = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0]
    except (OSError, IndexError):
        return False
    return state != "Z"  # in a container nobody may be there to bury it


def test_an_interrupt_does_not_leave_an_answer_for_the_next_question() -> None:
    with Remote(WORKER) as remote:
        assert isinstance(run(remote, source(DOUBLE)), np.ndarray)
        endless = source("for (;;) *(volatile float *)y = 1;")
        assert remote.build([source(DOUBLE), endless], LONG) == [None, None]
        signal.signal(signal.SIGALRM, signal.default_int_handler)
        signal.setitimer(signal.ITIMER_REAL, 0.3)
        with pytest.raises(KeyboardInterrupt):
            remote.sample(endless, 1, 1, LONG)
        assert isinstance(run(remote, source(DOUBLE)), np.ndarray)
