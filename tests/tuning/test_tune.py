"""Where a search starts: at what is known of the same sizes, or of others once it is checked."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import pytest
from search.spaces import works_of

import photic as ph
from photic.base.trace import Event, listening
from photic.compiler.compile import prepared
from photic.ir import index as form
from photic.ir.program import Kernel
from photic.loops.plan import best_known
from photic.search.choosing import randomly, replaying
from photic.search.space import build, space_of
from photic.search.tree import Draw, Drawn, Tree
from photic.storage.making import Tried
from photic.storage.record import Record
from photic.storage.records import Records
from photic.targets.measure import Hung, Outcome, Timed, Trial, Unmeasured
from photic.targets.process import Remote
from photic.targets.registry import target_named
from photic.tensor.compiling import graph_of
from photic.tensor.ranges import by_ranges
from photic.tuning.comparing import LEAST_BYTES, bytes_of, is_thriftier
from photic.tuning.drawing import Proposer, recording, tree_search
from photic.tuning.partition import partition
from photic.tuning.tried import FIRST, WON
from photic.tuning.tune import (
    BATCH,
    DECIDING_SAMPLES,
    EMPTY_TURNS,
    RACE_SECONDS,
    Options,
    Tuned,
    tune,
)
from photic.tuning.winners import apply_winners

TRIES = 60
LONG = 120.0  # never waited for: what is proposed ends before
SECONDS = 5.0  # for the check and one race; nothing is proposed


def shares(rows: int, columns: int) -> dict[str, ph.Tensor]:
    return {"y": ph.softmax(ph.input("x", (rows, columns)))}


class Enough(Exception):
    """Ends a search from inside a race."""


@dataclass(slots=True)
class Silent:
    """Proposes nothing; keeps what it was told."""

    told: list[tuple[Drawn, float]] = field(default_factory=list)

    def propose(self, draw: Draw) -> Drawn | None:
        return None

    def learn(self, drawn: Drawn, seconds: float) -> None:
        self.told.append((drawn, seconds))


@dataclass(slots=True)
class Few:
    """Proposes what another does, for some turns; then a search ends, however slow the machine."""

    proposer: Proposer
    left: int = 3 * BATCH

    def propose(self, draw: Draw) -> Drawn | None:
        self.left -= 1
        return self.proposer.propose(draw) if self.left >= 0 else None

    def learn(self, drawn: Drawn, seconds: float) -> None:
        self.proposer.learn(drawn, seconds)


def few(rng: random.Random) -> Few:
    """The search's own proposals, a few of them."""
    return Few(tree_search(rng))


@dataclass(slots=True)
class Kept(Records):
    """Records that stand in for a file."""

    known: dict[str, Record] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)

    def best(self, key: str) -> Record | None:
        self.asked.append(key)
        return self.known.get(key)

    def add(self, key: str, record: Record) -> None:
        self.known[key] = record


def tuned(outputs: Mapping[str, ph.Tensor], seconds: float, records: Kept) -> Tuned:
    target = target_named("c")
    state = prepared(graph_of(outputs, {}), target)
    return tune(state.program, target, Options(seconds, 0, (), records, lambda rng: Silent()))


def one_kernel(outputs: Mapping[str, ph.Tensor]) -> dict[str, str]:
    """The choices of a random candidate that is one kernel without tiles of whole rows."""
    (work,) = works_of(outputs)
    space = space_of(work, target_named("c").machine(), ())
    for seed in range(TRIES):
        trail: list[tuple[str, str]] = []
        found = build(space, recording(randomly(random.Random(seed)), trail))
        if len(found.nests) == 1 and not found.choices:
            return dict(trail)
    raise AssertionError("no candidate of one kernel")


def test_works_that_differ_in_numbers_only_are_kin() -> None:
    (one,), (other,) = works_of(shares(5, 33)), works_of(shares(64, 96))
    (third,) = works_of({"y": ph.sum(ph.input("x", (5, 33)), axis=1)})
    assert one.text() != other.text()
    assert one.kin() == other.kin() != third.kin()


def test_ranges_of_a_size_are_regions_of_their_own() -> None:
    def texts(high: int) -> list[str]:
        count = ph.dim("count", 1, high)
        y = ph.input("x", (count, 64)) @ ph.input("w", (64, 32))
        program = prepared(graph_of({"y": y}, {}), target_named("c")).program
        groups = partition(by_ranges([program], {"count": (16,)}))[1]
        return [one.text for one in groups if form.bound(one.work.stores[0])]

    few, many = texts(64)
    assert few != many and texts(64) == [few, many]
    assert texts(128)[0] == few != texts(128)[1] != many


def test_a_search_starts_at_what_won_at_other_sizes() -> None:
    records, choices = Kept(), one_kernel(shares(64, 96))
    tuned(shares(64, 96), 0.0, records)  # with no seconds only the key of these sizes is asked for
    assert len(records.asked) == 1
    found = tuned(shares(64, 96), 0.0, records).winners
    assert found == {}
    tuned(shares(64, 96), SECONDS, records)
    kin = records.asked[-1]
    records.known = {kin: Record(tuple(choices.items()), 1.0, (1.0,), 1, "by hand")}
    (winner,) = tuned(shares(48, 160), SECONDS, records).winners.values()
    assert len(winner.candidate.nests) == 1 and not winner.candidate.choices


def test_who_proposes_is_told_of_the_record_that_a_search_begins_with() -> None:
    choices, target, silent = one_kernel(shares(64, 96)), target_named("c"), Silent()
    record = Record(tuple(choices.items()), 1.0, (1.0,), 1, "by hand")
    state = prepared(graph_of(shares(64, 96), {}), target)
    records = Kept()
    options = Options(SECONDS, 0, (), records, lambda rng: silent)
    tune(state.program, target, options)
    assert silent.told == []  # kernels as written are no record
    for key in dict.fromkeys(records.asked):  # of these sizes, and of its kin
        records.known = {key: record}
        silent.told.clear()
        (winner,) = tune(state.program, target, options).winners.values()
        assert [(dict(one.trail), seconds) for one, seconds in silent.told] == [
            (choices, winner.seconds)
        ]


def test_what_a_tree_learnt_of_is_not_proposed() -> None:
    known = Drawn((("a", "x"),), "x", 1.0, None)
    tree = Tree(random.Random(0))
    tree.learn(known, 1.0)
    assert tree.propose(lambda choose: known) is None


def test_what_other_sizes_know_is_not_used_unchecked() -> None:
    records, choices = Kept(), one_kernel(shares(64, 96))
    tuned(shares(64, 96), SECONDS, records)
    records.known = {records.asked[-1]: Record(tuple(choices.items()), 1.0, (1.0,), 1, "by hand")}
    assert tuned(shares(48, 160), 0.0, records).winners == {}


def test_a_record_of_these_sizes_is_used_without_measuring() -> None:
    records, choices = Kept(), one_kernel(shares(64, 96))
    tuned(shares(64, 96), 0.0, records)
    record = Record(tuple(choices.items()), 1e-3, (1e-3,), 1, "by hand", ("fold",))
    records.known = {records.asked[0]: record}
    found = tuned(shares(64, 96), 0.0, records)
    (winner,) = found.winners.values()
    (work,) = works_of(shares(64, 96))
    space = space_of(work, target_named("c").machine(), ())
    assert winner.candidate.nests == build(space, replaying(choices, best_known)).nests
    assert (winner.seconds, winner.rules) == (1e-3, ("fold",))
    assert (found.candidates, found.stopped) == (0, "no search")


def test_what_is_best_as_written_has_its_measured_time() -> None:
    records = Kept()
    found = tuned(shares(5, 33), SECONDS, records)
    (winner,) = found.winners.values()
    assert winner.seconds is not None and not winner.choices and records.known == {}
    state = prepared(graph_of(shares(5, 33), {}), target_named("c"))
    before = state.program
    regions = apply_winners(state, found.winners)
    assert state.program == before and not state.decided
    kernels = {step.function for step in before.steps if isinstance(step, Kernel)}
    assert set(regions) == set(state.found) == kernels
    total = sum(one.seconds or 0.0 for one in state.found.values())
    assert total == pytest.approx(winner.seconds)


def test_every_candidate_is_told_with_its_verdict_and_kept() -> None:
    heard: list[Event] = []
    target = target_named("c")
    state = prepared(graph_of(shares(64, 96), {}), target)
    with listening(heard.append):
        found = tune(state.program, target, Options(SECONDS, 0, (), Kept()))
    told = [one.data for one in heard if one.name == "candidate"]
    assert [one["number"] for one in told] == list(range(found.candidates + 1))
    assert [Tried(**one) for one in told] == found.tried
    assert found.tried[0].verdict == FIRST and FIRST not in {one.verdict for one in found.tried[1:]}
    (winner,) = found.winners.values()
    won = [one for one in found.tried if one.verdict in (FIRST, WON)]
    assert won[-1].seconds == winner.seconds


def test_a_winner_over_what_does_not_run_again_has_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    races: list[list[Outcome]] = []

    def raced(remote: Remote, trials: Sequence[Trial], *_: object) -> list[Outcome]:
        first: Outcome = Timed((0.5,) * 9, 1) if not races else Hung(1.0)
        races.append([first, *(Timed((2.0,) * 9, 1) for _ in trials[1:])])
        return races[-1]

    monkeypatch.setattr("photic.tuning.tune.measure", raced)
    target = target_named("c")
    state = prepared(graph_of(shares(64, 96), {}), target)
    (winner,) = tune(state.program, target, Options(SECONDS, 0, (), Kept())).winners.values()
    assert len(races) > 1 and winner.choices and winner.seconds == 2.0


def test_who_wins_one_race_and_loses_the_next_to_the_start_does_not_replace_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    pairs: list[list[str]] = []

    def raced(remote: Remote, trials: Sequence[Trial], *_: object) -> list[Outcome]:
        if len(trials) == 2:
            pairs.append([one.text for one in trials])
        lucky = 2.0 if len(trials) == 2 else 0.5
        return [Timed((1.0,) * 9, 1), *(Timed((lucky,) * 9, 1) for _ in trials[1:])]

    monkeypatch.setattr("photic.tuning.tune.measure", raced)
    target = target_named("c")
    state = prepared(graph_of(shares(64, 96), {}), target)
    found = tune(state.program, target, Options(SECONDS, 0, (), Kept()))
    (winner,) = found.winners.values()
    assert (
        not winner.choices
        and winner.seconds == 1.0
        and WON not in {one.verdict for one in found.tried}
    )
    assert pairs and len({start for start, _ in pairs}) == 1


def weighted(rows: int) -> dict[str, ph.Tensor]:
    """Shares of rows times columns, in a sum over them: as written, all shares are stored."""
    x, v = ph.input("x", (rows, rows)), ph.input("v", (rows, 4))
    return {"y": ph.softmax(x) @ v}


@pytest.mark.parametrize("slowness", [1.0, 1.2])
def test_of_what_is_as_fast_the_one_with_clearly_less_memory_wins(
    monkeypatch: pytest.MonkeyPatch, slowness: float
) -> None:
    def raced(remote: Remote, trials: Sequence[Trial], *_: object) -> list[Outcome]:
        others: list[Outcome] = [Timed((slowness,) * 9, 1) for _ in trials[1:]]
        return [Timed((1.0,) * 9, 1), *others]

    monkeypatch.setattr("photic.tuning.tune.measure", raced)
    target = target_named("c")
    state = prepared(graph_of(weighted(2048), {}), target)
    (work,) = works_of(weighted(2048))
    written = build(space_of(work, target.machine(), ()), best_known)
    assert bytes_of(written) >= LEAST_BYTES
    found = tune(state.program, target, Options(LONG, 0, (), Kept(), few))
    (winner,) = found.winners.values()
    assert winner.seconds == 1.0
    verdicts = {one.verdict for one in found.tried}
    if slowness > 1:
        assert not winner.choices and WON not in verdicts
    else:
        assert is_thriftier(winner.candidate, written) and WON in verdicts


def test_a_race_of_what_takes_long_has_time_enough_for_something_to_win(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    given: list[float] = []

    def raced(remote: Remote, trials: Sequence[Trial], seconds: float, _: int) -> list[Outcome]:
        if len(given) == 2:
            raise Enough
        given.append(seconds)
        return [Timed((10.0,) * 9, 1) for _ in trials]

    monkeypatch.setattr("photic.tuning.tune.measure", raced)
    target = target_named("c")
    state = prepared(graph_of(shares(64, 96), {}), target)
    with pytest.raises(Enough):
        tune(state.program, target, Options(2 * 10.0 * DECIDING_SAMPLES, 0, (), Kept()))
    assert given == [RACE_SECONDS, 10.0 * DECIDING_SAMPLES]


@pytest.mark.parametrize("failing", [2, 99])
def test_a_region_that_cannot_be_timed_is_tried_again_but_not_for_ever(
    monkeypatch: pytest.MonkeyPatch, failing: int
) -> None:
    races: list[list[str]] = []

    def raced(remote: Remote, trials: Sequence[Trial], *_: object) -> list[Outcome]:
        races.append([one.text for one in trials])
        times: list[Outcome] = [Timed((1.0,) * 9, 1) for _ in trials]
        return [Hung(2.0), *times[1:]] if len(races) <= failing else times

    monkeypatch.setattr("photic.tuning.tune.measure", raced)
    target = target_named("c")
    state = prepared(graph_of(shares(64, 96), {}), target)
    found = tune(state.program, target, Options(SECONDS, 0, (), Kept()))
    assert races[0] == races[1] and len(found.winners) == (failing < 3)
    assert len(races) == EMPTY_TURNS if failing > 3 else len(races) > failing


def test_what_looked_faster_in_a_race_that_did_not_say_so_is_raced_once_more(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    races: list[list[str]] = []

    def raced(remote: Remote, trials: Sequence[Trial], *_: object) -> list[Outcome]:
        races.append([one.text for one in trials])
        found: list[Outcome] = [Timed((1.0,) * 3, 3) for _ in trials]
        if len(races) < 3:  # too few rounds to be sure
            found[1:] = [Timed((2.0,) * 3, 3), Timed((0.5,) * 3, 3), Unmeasured()]
            found += [Timed((1.5,) * 3, 3) for _ in trials[4:]]
        return found[: len(trials)]

    monkeypatch.setattr("photic.tuning.tune.measure", raced)
    target = target_named("c")
    product = ph.input("a", (64, 96)) @ ph.input("b", (96, 80))
    state = prepared(graph_of({"y": product}, {}), target)
    tune(state.program, target, Options(LONG, 0, (), Kept(), few))
    first, second, third, *_ = races
    assert second[1:3] == first[2:4] and not set(second[3:]) & set(first)
    assert not set(third) & {*first[2:], *second[1:3]}  # first[1] prints what the best does


def test_the_e_graph_grows_to_what_the_search_counted() -> None:
    found = tuned(shares(64, 96), SECONDS, Kept())
    last = found.grown[-1]
    assert last.stopped == "saturated" and found.grown[0].step == 1
    counts: Counter[str] = Counter()
    for one in found.grown:
        counts.update(dict(one.matches))
    assert counts == {name: count for name, count in found.matches.items() if count}
