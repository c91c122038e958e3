"""Measured candidates with their choices, as a table that can be searched again without measuring.

The table is a tree of choices cut down to those that lead to a measured candidate: whoever answers
them ends at one. A file holds the time of the first candidate, for each candidate its choices with
the predicted and the measured seconds, and for each choice the options in their order.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from photic.search.choosing import Choose
from photic.search.tree import Drawn, Trail
from photic.storage.files import write_atomic


@dataclass(slots=True)
class Options:
    """The options of every choice that was met, by the choices before it."""

    known: dict[Trail, tuple[str, list[str]]] = field(default_factory=dict)

    def noting(self, choose: Choose) -> Choose:
        """As ``choose``, for one candidate; what it was asked is noted."""
        trail: Trail = ()

        def answer(key: str, options: Sequence[str]) -> int:
            nonlocal trail
            self.known[trail] = key, list(options)
            number = choose(key, options)
            trail = (*trail, (key, options[number]))
            return number

        return answer


@dataclass(frozen=True, slots=True)
class Way:
    """A candidate: its choices, the predicted seconds and the measured ones."""

    trail: Trail
    predicted: float
    seconds: float


def write_table(path: Path, first: float, ways: Iterable[Way], options: Options) -> None:
    """Write the table of candidates that could be measured; ``first`` are seconds to beat."""
    timed = [one for one in ways if math.isfinite(one.seconds)]
    needed = {one.trail[:depth] for one in timed for depth in range(len(one.trail))}
    asked = [(trail, *options.known[trail]) for trail in sorted(needed)]
    rows = [(one.trail, one.predicted, one.seconds) for one in timed]
    content = {"first": first, "rows": rows, "options": asked}
    write_atomic(path, json.dumps(content).encode())


class Table:
    """What ``write_table`` wrote, to be drawn from; what a draw made are its measured seconds."""

    def __init__(self, path: Path) -> None:
        content = json.loads(path.read_text(encoding="utf-8"))
        self.first = float(content["first"])
        ways = [Way(_trail(trail), *numbers) for trail, *numbers in content["rows"]]
        self.ways = {one.trail: one for one in ways}
        taken: dict[Trail, set[str]] = {}
        for one in ways:
            for depth, (_, label) in enumerate(one.trail):
                taken.setdefault(one.trail[:depth], set()).add(label)
        self.options = {
            _trail(trail): (key, [one for one in labels if one in taken[_trail(trail)]])
            for trail, key, labels in content["options"]
        }

    def draw(self, choose: Choose) -> Drawn:
        """The candidate that these answers lead to."""
        trail: Trail = ()
        while trail not in self.ways:
            key, labels = self.options[trail]
            trail = (*trail, (key, labels[choose(key, labels)]))
        found = self.ways[trail]
        return Drawn(trail, str(trail), found.predicted, found.seconds)


def _trail(given: Iterable[Sequence[str]]) -> Trail:
    return tuple((key, label) for key, label in given)
