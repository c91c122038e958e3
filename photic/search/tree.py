"""How candidates are proposed: Monte Carlo tree search.

Choices met in the same order form a tree; half of the draws walk it by UCT, and go on below it by
chance; the other half are one of the best so far with some choices made again.
Every draw is rewarded by the cost model's prediction, one that was measured by its time. Several
candidates are drawn a proposal into a pool, from which the best predicted is taken. Same seed, same
proposals as long as the measured times are the same.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from statistics import median

from photic.search.choosing import Choose, randomly, replaying, weights

DRAWS = 12  # candidates drawn for each one proposed
MOST_WAITING = 200  # drawn and not proposed yet; the best predicted of more are kept
EXPLORATION = 1.0  # weight of rarely visited options against rewards in 0..1
TINY = 1e-6  # between equals chance decides
AGAIN = 0.15  # chance that a choice of one of the best is made again
WALKED = 0.5  # of the tree search's draws walk the tree; the others change one of the best
BEST = 8  # so many of the best so far are followed
TRUST = 0.7  # of a predicted reward, where nothing was measured
GOOD = 0.5  # a reward for which the whole way becomes part of the tree

Trail = tuple[tuple[str, str], ...]


@dataclass(slots=True)
class Drawn:
    """What a builder made: its choices, its key (the printed nests) and its predicted seconds."""

    trail: Trail
    key: str
    predicted_seconds: float
    made: object


Draw = Callable[[Choose], Drawn | None]


@dataclass(slots=True)
class Pool:
    """What was drawn and waits to be proposed; what was proposed comes no second time.

    Some are drawn ``firsts``, before a policy is asked.
    """

    firsts: Iterator[Choose] = field(default_factory=lambda: iter(()))
    waiting: dict[str, Drawn] = field(default_factory=dict)
    seen: set[str] = field(default_factory=set)

    def take(self, draw: Draw, policy: Callable[[], Choose]) -> Drawn | None:
        """The best predicted of what waits and of new draws by a policy."""
        for _ in range(DRAWS):
            drawn = draw(next(self.firsts, None) or policy())
            if drawn is not None and drawn.key not in self.seen:
                self.waiting[drawn.key] = drawn
        order = sorted(self.waiting.values(), key=lambda one: one.predicted_seconds)
        if not order:
            return None
        self.waiting = {one.key: one for one in order[1:MOST_WAITING]}
        self.seen.add(order[0].key)
        return order[0]


@dataclass(slots=True)
class _Node:
    """One state of the tree: how often each option was taken, and the best reward it led to.

    What was ``expected`` of an option counts until something that it led to was measured.
    """

    counts: dict[str, int] = field(default_factory=dict)
    rewards: dict[str, tuple[bool, float]] = field(default_factory=dict)  # is it a measured one?


@dataclass(slots=True)
class Tree:
    """Monte Carlo tree search over the choices."""

    rng: random.Random
    pool: Pool = field(default_factory=Pool)
    nodes: dict[Trail, _Node] = field(default_factory=dict)
    best: dict[Trail, float] = field(default_factory=dict)
    best_seconds: float = math.inf
    best_predicted: float = math.inf
    offs: list[float] = field(default_factory=list)

    def propose(self, draw: Draw) -> Drawn | None:
        """The best predicted of several walks."""

        def rewarded(choose: Choose) -> Drawn | None:
            drawn = draw(choose)
            if drawn is not None:
                self.best_predicted = min(self.best_predicted, drawn.predicted_seconds)
                reward = TRUST * self.best_predicted / drawn.predicted_seconds
                self._reward(drawn.trail, False, reward)
                if drawn.key not in self.pool.seen:
                    off = median(self.offs) if self.offs else 1.0
                    self._keep(drawn.trail, off * drawn.predicted_seconds)
            return drawn

        return self.pool.take(rewarded, self._walk)

    def _keep(self, trail: Trail, seconds: float) -> None:
        """Note the time of a way, measured or expected; only the best stay."""
        self.best[trail] = seconds
        if len(self.best) > BEST:
            del self.best[max(self.best, key=lambda one: self.best[one])]

    def _walk(self) -> Choose:
        if self.best and self.rng.random() > WALKED:
            like = self.rng.choice(list(self.best))
            kept = {key: label for key, label in like if self.rng.random() > AGAIN}
            return replaying(kept, randomly(self.rng))
        trail: list[tuple[str, str]] = []
        below = randomly(self.rng)

        def answer(key: str, options: Sequence[str]) -> int:
            node = self.nodes.get(tuple(trail))
            number = below(key, options) if node is None else self._pick(node, key, options)
            trail.append((key, options[number]))
            return number

        return answer

    def _pick(self, node: _Node, key: str, options: Sequence[str]) -> int:
        """The option of the highest upper bound: its best reward, and more if rarely taken."""
        visits, likely = sum(node.counts.values()), weights(key, options)
        scores = []
        for label, weight in zip(options, likely, strict=True):
            share = weight / sum(likely)
            spread = EXPLORATION * share * math.sqrt(visits + 1) / (1 + node.counts.get(label, 0))
            _, known = node.rewards.get(label, (False, 0.0))
            scores.append(known + spread + TINY * self.rng.random())
        return scores.index(max(scores))

    def learn(self, drawn: Drawn, seconds: float) -> None:
        """Reward every choice on the way by the measured time; it is not proposed again."""
        self.pool.seen.add(drawn.key)
        self.best_seconds = min(self.best_seconds, seconds)
        is_timed = math.isfinite(seconds)
        self.offs += [seconds / drawn.predicted_seconds] * is_timed
        self._keep(drawn.trail, seconds)
        self._reward(drawn.trail, True, self.best_seconds / seconds if is_timed else 0.0)

    def _reward(self, trail: Trail, is_measured: bool, reward: float) -> None:
        """Reward a way's choices; the tree grows by one, or by the whole way to something good."""
        for depth, (_, label) in enumerate(trail):
            is_new = trail[:depth] not in self.nodes
            node = self.nodes.setdefault(trail[:depth], _Node())
            node.counts[label] = node.counts.get(label, 0) + 1
            node.rewards[label] = max(node.rewards.get(label, (False, 0.0)), (is_measured, reward))
            if is_new and reward < GOOD:
                return
