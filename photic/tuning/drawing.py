"""Who proposes candidates, and a draw from a builder: what was chosen on the way is kept."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from photic.search.choosing import Choose, weights
from photic.search.tree import Draw, Drawn, Pool, Tree

MOST_LIKELY = 96  # candidates that are drawn before a search begins to choose


class Proposer(Protocol):
    """Proposes candidates and learns from their times."""

    def propose(self, draw: Draw) -> Drawn | None:
        """A candidate not proposed before; None when none is found."""

    def learn(self, drawn: Drawn, seconds: float) -> None:
        """A measured time (infinite for a candidate that is wrong or does not run)."""


@dataclass(slots=True)
class Likely:
    """The likeliest candidates: each way where nothing tells options apart, else the likeliest.

    An iterator over answers, each of which is for one candidate; ``most`` in all.
    """

    most: int
    digits: list[tuple[int, int]] = field(default_factory=list)  # options taken, and how many
    used: int = 0  # digits of the last candidate

    def __iter__(self) -> Iterator[Choose]:
        for number in range(self.most):
            if number and not self._advance():
                return
            self.used = 0
            yield self._answer

    def _answer(self, key: str, options: Sequence[str]) -> int:
        likely = weights(key, options)
        if len(options) == 1 or min(likely) < max(likely):
            return likely.index(max(likely))
        self.digits[self.used :] = self.digits[self.used :] or [(0, len(options))]
        self.used += 1
        return self.digits[self.used - 1][0]

    def _advance(self) -> bool:
        """The next number; False after the last."""
        del self.digits[self.used :]
        while self.digits:
            taken, count = self.digits.pop()
            if taken + 1 < count:
                self.digits.append((taken + 1, count))
                return True
        return False


def likely_first() -> Pool:
    """A pool that begins with the likeliest."""
    return Pool(iter(Likely(MOST_LIKELY)))


def tree_search(rng: random.Random) -> Tree:
    """The search's own proposer."""
    return Tree(rng, likely_first())


def recording(choose: Choose, taken: list[tuple[str, str]]) -> Choose:
    """As ``choose``, noting each key and the label taken."""

    def answer(key: str, options: Sequence[str]) -> int:
        number = choose(key, options)
        taken.append((key, options[number]))
        return number

    return answer


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
