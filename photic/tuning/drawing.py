"""Who proposes candidates, and a draw from a builder: what was chosen on the way is kept."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

from photic.search.choosing import Choose
from photic.search.tree import Draw, Drawn


class Proposer(Protocol):
    """Proposes candidates and learns from their times."""

    def propose(self, draw: Draw) -> Drawn | None:
        """A candidate not proposed before; None when none is found."""

    def learn(self, drawn: Drawn, seconds: float) -> None:
        """A measured time (infinite for a candidate that is wrong or does not run)."""


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
