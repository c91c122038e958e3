"""Three ways to propose candidates, alike in everything but how choices are answered.

``Tree``: Monte Carlo tree search. Choices met in the same order form a tree; a proposal walks it by
UCT on measured rewards and finishes at random. ``Blind``: at random. ``Mutation``: the best so far
with some choices made again. Each draws several candidates a proposal and keeps the one that the
cost model likes best, so that all three share generator and prior. Same seed, same proposals as
long as the measured times are the same.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from photic.search.choosing import Choose, recording, replaying

DRAWS = 8  # candidates drawn for each one proposed
EXPLORATION = 0.7  # weight of rarely visited options against rewards in 0..1
AGAIN = 0.15  # chance that mutation makes a choice again

Trail = tuple[tuple[str, str], ...]


@dataclass(slots=True)
class Drawn:
    """What a builder made: its choices, its key (the printed nests) and its predicted seconds."""

    trail: Trail
    key: str
    predicted_seconds: float
    made: object


Draw = Callable[[Choose], Drawn | None]


class Proposer(Protocol):
    """Proposes candidates and learns from their times."""

    def propose(self, draw: Draw) -> Drawn | None:
        """A candidate not proposed before; None when none is found."""

    def learn(self, drawn: Drawn, seconds: float) -> None:
        """A measured time (infinite for a candidate that is wrong or does not run)."""


@dataclass(slots=True)
class _Node:
    """One state of the tree: visits and rewards by option."""

    visits: int = 0
    counts: dict[str, int] = field(default_factory=dict)
    rewards: dict[str, float] = field(default_factory=dict)
    best: dict[str, float] = field(default_factory=dict)


@dataclass(slots=True)
class Blind:
    """Every choice at random."""

    rng: random.Random
    seen: set[str] = field(default_factory=set)

    def propose(self, draw: Draw) -> Drawn | None:
        """The best predicted of several random ones."""
        return _best_of(draw, lambda: _random(self.rng), self.seen)

    def learn(self, drawn: Drawn, seconds: float) -> None:
        """Nothing."""


@dataclass(slots=True)
class Mutation:
    """The best so far, each choice made again with a small chance."""

    rng: random.Random
    seen: set[str] = field(default_factory=set)
    best: dict[str, str] = field(default_factory=dict)
    best_seconds: float = math.inf

    def propose(self, draw: Draw) -> Drawn | None:
        """The best predicted of several mutants."""
        return _best_of(draw, self._mutant, self.seen)

    def _mutant(self) -> Choose:
        kept = {key: label for key, label in self.best.items() if self.rng.random() > AGAIN}
        return replaying(kept, _random(self.rng))

    def learn(self, drawn: Drawn, seconds: float) -> None:
        """A faster candidate becomes the one to mutate."""
        if seconds < self.best_seconds:
            self.best, self.best_seconds = dict(drawn.trail), seconds


@dataclass(slots=True)
class Tree:
    """Monte Carlo tree search over the choices."""

    rng: random.Random
    seen: set[str] = field(default_factory=set)
    nodes: dict[Trail, _Node] = field(default_factory=dict)
    best_seconds: float = math.inf

    def propose(self, draw: Draw) -> Drawn | None:
        """The best predicted of several walks."""
        return _best_of(draw, self._walk, self.seen)

    def _walk(self) -> Choose:
        trail: list[tuple[str, str]] = []
        inside = True

        def answer(key: str, options: Sequence[str]) -> int:
            nonlocal inside
            node = self.nodes.get(tuple(trail)) if inside else None
            inside = node is not None
            number = self.rng.randrange(len(options)) if node is None else self._pick(node, options)
            trail.append((key, options[number]))
            return number

        return answer

    def _pick(self, node: _Node, options: Sequence[str]) -> int:
        """The option of the highest upper bound; ties and new options at random."""
        scores = []
        for label in options:
            count = node.counts.get(label, 0)
            spread = EXPLORATION * math.sqrt(node.visits + 1) / (1 + count)
            scores.append(node.best.get(label, 0.5) + spread / len(options) ** 0.5)
        jitter = [score + 1e-6 * self.rng.random() for score in scores]
        return jitter.index(max(jitter))

    def learn(self, drawn: Drawn, seconds: float) -> None:
        """Reward every choice on the way; the tree grows by one node."""
        self.best_seconds = min(self.best_seconds, seconds)
        reward = self.best_seconds / seconds if math.isfinite(seconds) else 0.0
        for depth, (_, label) in enumerate(drawn.trail):
            known = drawn.trail[:depth] in self.nodes
            node = self.nodes.setdefault(drawn.trail[:depth], _Node())
            node.visits += 1
            node.counts[label] = node.counts.get(label, 0) + 1
            node.best[label] = max(node.best.get(label, 0.0), reward)
            if not known:
                break


def _random(rng: random.Random) -> Choose:
    return lambda key, options: rng.randrange(len(options))


def _best_of(draw: Draw, policy: Callable[[], Choose], seen: set[str]) -> Drawn | None:
    """Several draws by a policy; the best predicted one that is new."""
    drawn = [one for one in (draw(policy()) for _ in range(DRAWS)) if one is not None]
    fresh = [one for one in drawn if one.key not in seen]
    if not fresh:
        return None
    best = min(fresh, key=lambda one: one.predicted_seconds)
    seen.add(best.key)
    return best


def drawing(
    build: Callable[[Choose], object], describe: Callable[[object], tuple[str, float] | None]
) -> Draw:
    """A draw from a builder; ``describe`` gives key and prediction, None for what is not wanted."""

    def draw(choose: Choose) -> Drawn | None:
        trail: list[tuple[str, str]] = []
        made = build(recording(choose, trail))
        found = describe(made)
        return None if found is None else Drawn(tuple(trail), found[0], found[1], made)

    return draw
