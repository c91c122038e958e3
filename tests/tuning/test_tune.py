"""Where a search starts: at what is known of the same sizes, or of others once it is checked."""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass, field

from search.spaces import works_of

import photic as ph
from photic.compiler.compile import prepared
from photic.loops.plan import best_known
from photic.search.choosing import randomly, recording, replaying
from photic.search.space import build, space_of
from photic.search.tree import Draw, Drawn
from photic.storage.record import Record
from photic.storage.records import Records
from photic.targets.registry import target_named
from photic.tensor.compiling import graph_of
from photic.tuning.tune import Options, Tuned, tune

TRIES = 60
SECONDS = 5.0  # for the check and one race; nothing is proposed


def shares(rows: int, columns: int) -> dict[str, ph.Tensor]:
    return {"y": ph.softmax(ph.input("x", (rows, columns)))}


class Silent:
    """Proposes nothing."""

    def propose(self, draw: Draw) -> Drawn | None:
        return None

    def learn(self, drawn: Drawn, seconds: float) -> None:
        raise AssertionError("nothing was proposed")


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
