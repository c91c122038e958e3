"""What the tree search is compared with: proposers with the same generator, prior and pool.

``Blind``: every choice at random. ``Mutation``: the best so far with some choices made again.
"""

from __future__ import annotations

import math
import random
from dataclasses import dataclass, field

from photic.search.choosing import Choose, randomly, replaying
from photic.search.tree import AGAIN, Draw, Drawn, Pool


@dataclass(slots=True)
class Blind:
    """Every choice at random."""

    rng: random.Random
    pool: Pool = field(default_factory=Pool)

    def propose(self, draw: Draw) -> Drawn | None:
        """The best predicted of random ones."""
        return self.pool.take(draw, lambda: randomly(self.rng))

    def learn(self, drawn: Drawn, seconds: float) -> None:
        """Nothing."""


@dataclass(slots=True)
class Mutation:
    """The best so far, each choice made again with a small chance."""

    rng: random.Random
    pool: Pool = field(default_factory=Pool)
    best: dict[str, str] = field(default_factory=dict)
    best_seconds: float = math.inf

    def propose(self, draw: Draw) -> Drawn | None:
        """The best predicted of mutants."""
        return self.pool.take(draw, self._mutant)

    def _mutant(self) -> Choose:
        kept = {key: label for key, label in self.best.items() if self.rng.random() > AGAIN}
        return replaying(kept, randomly(self.rng))

    def learn(self, drawn: Drawn, seconds: float) -> None:
        """A faster candidate becomes the one to mutate."""
        if seconds < self.best_seconds:
            self.best, self.best_seconds = dict(drawn.trail), seconds
