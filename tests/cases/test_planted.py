"""Faults planted in the candidates of a whole search: each is faster than what it should replace.

The kernel as it was written is slowed down, so that every candidate wins its race; then one is
broken: only in the tail, only for NaN, only on a row of -inf; or it crashes, hangs or writes out
of bounds where the check tries such inputs. None may be kept, and the same search without a fault
must keep one, or this would show nothing.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field, replace

import pytest

import photic as ph
from photic.base.trace import Event, listening
from photic.compiler.compile import prepared
from photic.forms.candidate_check import Right, Wrong
from photic.search.choosing import Choose
from photic.search.space import Candidate
from photic.search.tree import Draw, Drawn
from photic.search.work import Work
from photic.storage.records import Records
from photic.targets.registry import target_named
from photic.tensor.compiling import graph_of
from photic.tuning import trial as trials
from photic.tuning import tune as tuning
from photic.tuning.trial import Source
from photic.tuning.tune import Options, Tuned, tune

ROWS, COLUMNS = 37, 45
SECONDS = 300.0  # not met: what proposes ends before
PROPOSALS = 3
TRIES = 50  # of what may fail by chance
HANG_SECONDS = 1.0

SLOW = "for (volatile long long k = 0; k < 60000; k++);"
WRAPPER = """
void photic_entry(void *const *buffers, int64_t *sizes, char *arena, char *scratch, void *pool) {{
  {before}
  sound_entry(buffers, sizes, arena, scratch, pool);
  float *x = buffers[{x}], *y = buffers[{y}];
  {after}
}}
"""
EACH_ROW = (
    f"for (int r = 0; r < {ROWS}; r++) {{ float *in = x + r*{COLUMNS}, *out = y + r*{COLUMNS};"
)
EACH = f"for (int j = 0; j < {COLUMNS}; j++)"
NAN_GIVEN = f"int nan = 0; for (int i = 0; i < {ROWS * COLUMNS}; i++) nan |= x[i] != x[i]; if (nan)"
FAULTS = {
    "off in the tail": f"y[{ROWS * COLUMNS - 1}] *= 1.01f;",
    "off for NaN": f"{EACH_ROW} int nan = 0; {EACH} nan |= in[j] != in[j]; "
    f"if (nan) {EACH} out[j] = 0; }}",
    "off on rows of -inf": f"{EACH_ROW} int low = 1; {EACH} low &= in[j] < -3.4e38f; "
    f"if (low) {EACH} out[j] = 0; }}",
    "crashes": f"{NAN_GIVEN} *(volatile int *)0 = 1;",
    "hangs": f"{NAN_GIVEN} for (;;) *(volatile float *)y = 1;",
    "writes too far": f"{NAN_GIVEN} y[{ROWS * COLUMNS}] = 1;",
    "writes into its input": f"{NAN_GIVEN} x[0] = 1;",
    "does nothing": "",
}


@dataclass(slots=True)
class Few:
    """Proposes a few random candidates that rearrange the kernels, and then no more."""

    rng: random.Random
    left: int = PROPOSALS
    seen: set[str] = field(default_factory=set)

    def propose(self, draw: Draw) -> Drawn | None:
        for _ in range(TRIES if self.left else 0):
            found = draw(rearranging(self.rng))
            if found is not None and found.key not in self.seen:
                self.seen.add(found.key)
                self.left -= 1
                return found
        return None

    def learn(self, drawn: Drawn, seconds: float) -> None:
        """Nothing."""


def rearranging(rng: random.Random) -> Choose:
    return lambda key, options: rng.randrange(key == "kernels", len(options))


def program() -> dict[str, ph.Tensor]:
    return {"y": ph.softmax(ph.input("x", (ROWS, COLUMNS)), axis=1)}


def wrapped(source: Source, work: Work, before: str, after: str) -> Source:
    """The source with statements before and after what it does."""
    names = [one.name for one in source.buffers]
    (output,) = {one.buffer.name for one in work.stores} - work.temporary
    (given,) = {one.name for one in work.buffers} - {one.buffer.name for one in work.stores}
    places = {"x": names.index(given), "y": names.index(output)}
    text = source.text.replace("photic_entry", "sound_entry")
    return replace(source, text=text + WRAPPER.format(before=before, after=after, **places))


def searched(monkeypatch: pytest.MonkeyPatch, after: str, before: str = "") -> tuple[Tuned, list]:
    """A search of which the first kernel is slow and all others end with a fault; its checks."""
    sound: list[Candidate] = []

    def source_of(candidate: Candidate, work: Work, dialect: object) -> Source:
        made = trials.source_of(candidate, work, dialect)
        if not sound:
            sound.append(candidate)
        slow = candidate is sound[0]
        return wrapped(made, work, SLOW if slow else before, "" if slow else after)

    monkeypatch.setattr(tuning, "source_of", source_of)
    monkeypatch.setattr(trials, "RUN_SECONDS", HANG_SECONDS)
    monkeypatch.setattr(tuning, "RACE_SECONDS", SECONDS)
    state = prepared(graph_of(program(), {}), target_named("c"))
    checks: list[object] = []

    def hear(event: Event) -> None:
        if event.name == "check":
            checks.append(event.data["found"])

    with listening(hear):
        for attempt in range(TRIES):  # on a busy machine a race may come to nothing
            options = Options(SECONDS, attempt, (), Records(None, pytest.fail), Few)
            found = tune(state.program, target_named("c"), options)
            if checks:
                break
            sound.clear()
    return found, checks


def test_without_a_fault_a_faster_candidate_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    found, checks = searched(monkeypatch, "")
    assert found.candidates == PROPOSALS and len(found.winners) == 1
    assert [type(one) for one in checks] == [Right]


@pytest.mark.parametrize("fault", FAULTS)
def test_a_faster_candidate_with_a_fault_is_not_kept(
    fault: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    nothing = "return;" if fault == "does nothing" else ""
    found, checks = searched(monkeypatch, FAULTS[fault], nothing)
    assert found.candidates == PROPOSALS
    assert not any(one.choices for one in found.winners.values())  # the kernels as written stay
    assert checks and all(isinstance(one, Wrong) for one in checks)  # it won its race
