"""Choices as a callback: a candidate is what a builder makes when every choice is answered.

``choose(key, options)`` returns the number of the option taken. Random search, mutation and the
tree search differ only in how they answer; the builder is the same for all of them, and so is what
is thought of the options before anything is known (``weights``).
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence

Choose = Callable[[str, Sequence[str]], int]

BEST_FIRST = (" lanes", " register tile", " order", " values")  # what is best known comes first
SIZES = {"1": 0.5, "8": 0.5, "16": 2.0, "32": 3.0, "64": 4.0, "96": 1.0, "128": 3.0, "256": 2.0}


def weights(key: str, options: Sequence[str]) -> list[float]:
    """How likely each option is before anything was measured; they need not add up to 1."""
    if key.startswith("tile "):
        return [SIZES.get(one, 1.0) for one in options]
    if key.startswith("plan") or key.endswith(BEST_FIRST):
        return [1 / (1 + number) for number in range(len(options))]
    return [1.0] * len(options)


def randomly(rng: random.Random) -> Choose:
    """Options as likely as their weights."""

    def answer(key: str, options: Sequence[str]) -> int:
        (number,) = rng.choices(range(len(options)), weights(key, options))
        return number

    return answer


def prefixed(choose: Choose, prefix: str, key: str, options: Sequence[str]) -> int:
    """As ``choose``, of a key that is one of several alike."""
    return choose(prefix + key, options)


def replaying(known: Mapping[str, str], otherwise: Choose) -> Choose:
    """The label known for a key where it is still an option, else what ``otherwise`` says."""

    def answer(key: str, options: Sequence[str]) -> int:
        label = known.get(key)
        return options.index(label) if label in options else otherwise(key, options)

    return answer
