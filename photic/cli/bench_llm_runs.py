"""The runs of ``photic bench-llm``: the same prompts and answers for every contestant, in turns.

A contestant is warmed by one run of each kind, which is not counted. Then come the rounds; in each,
all contestants process the prompt, then all generate, so that a drift of the machine meets them
alike. Every run begins with nothing in the context.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from photic.language.memory import peak_bytes
from photic.language.sampling import Sampler, SamplingOptions

if TYPE_CHECKING:
    from photic.cli.bench_llm_peer import Peer
    from photic.language.session import Session


@dataclass(frozen=True, slots=True)
class Task:
    """What is timed: the ids of a prompt, and how many tokens follow the ids of a beginning."""

    prompt: tuple[int, ...]
    beginning: tuple[int, ...]
    generated: int


@dataclass(frozen=True, slots=True)
class Contestant:
    """Who runs it: both functions give seconds. ``peak`` is the memory so far, in bytes."""

    name: str
    version: str
    prompt: Callable[[Task], float]
    generate: Callable[[Task], float]
    peak: Callable[[], int]


@dataclass(slots=True)
class Figures:
    """The seconds of every counted run of one test of one contestant."""

    name: str
    version: str
    test: str
    tokens: int
    seconds: list[float] = field(default_factory=list)
    peak_bytes: int = 0

    @property
    def rates(self) -> list[float]:
        """Tokens a second of every run."""
        return [self.tokens / one for one in self.seconds]

    @property
    def mean(self) -> float:
        return statistics.fmean(self.rates)

    @property
    def spread(self) -> float:
        """The standard deviation of the rates, as llama-bench has it; 0 of a single run."""
        return statistics.stdev(self.rates) if len(self.seconds) > 1 else 0.0


def race(contestants: Sequence[Contestant], task: Task, rounds: int) -> list[Figures]:
    """The figures of every test of every contestant, the tests one after another."""
    tests: Mapping[str, tuple[int, str]] = {
        f"pp{len(task.prompt)}": (len(task.prompt), "prompt"),
        f"tg{task.generated}": (task.generated, "generate"),
    }
    found = {
        (test, one.name): Figures(one.name, one.version, test, tokens)
        for test, (tokens, _) in tests.items()
        if tokens
        for one in contestants
    }
    for counted in (False, *(True,) * rounds):
        for test, (tokens, kind) in tests.items():
            for one in contestants if tokens else ():
                seconds = getattr(one, kind)(task)
                if counted:
                    found[test, one.name].seconds.append(seconds)
                    found[test, one.name].peak_bytes = one.peak()
    return list(found.values())


def own(name: str, session: Session, version: str) -> Contestant:
    """A session of this process."""

    def prompt(task: Task) -> float:
        session.forget()
        start = time.perf_counter()
        session.logits(task.prompt)
        return time.perf_counter() - start

    def generate(task: Task) -> float:
        session.forget()
        tokens = session.following(task.beginning, Sampler(SamplingOptions()), task.generated + 1)
        next(tokens)  # what the beginning gives
        start = time.perf_counter()
        for _ in tokens:
            pass
        return time.perf_counter() - start

    return Contestant(name, version, prompt, generate, peak_bytes)


def other(name: str, peer: Peer) -> Contestant:
    """A process of another program."""
    peak = 0

    def timed(answer: Mapping[str, float]) -> float:
        nonlocal peak
        peak = int(answer["peak_bytes"])
        return answer["seconds"]

    return Contestant(
        name,
        peer.version,
        lambda task: timed(peer.prompt(task.prompt)),
        lambda task: timed(peer.generate(task.beginning, task.generated)),
        lambda: peak,
    )
