"""Choices as a callback: a candidate is what a builder makes when every choice is answered.

``choose(key, options)`` returns the number of the option taken. Random search, mutation and the
tree search differ only in how they answer; the builder is the same for all of them.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence

Choose = Callable[[str, Sequence[str]], int]


def recording(choose: Choose, taken: list[tuple[str, str]]) -> Choose:
    """As ``choose``, noting each key and the label taken."""

    def answer(key: str, options: Sequence[str]) -> int:
        number = choose(key, options)
        taken.append((key, options[number]))
        return number

    return answer


def randomly(rng: random.Random) -> Choose:
    """Every option equally likely."""
    return lambda key, options: rng.randrange(len(options))


def prefixed(choose: Choose, prefix: str, key: str, options: Sequence[str]) -> int:
    """As ``choose``, of a key that is one of several alike."""
    return choose(prefix + key, options)


def replaying(known: Mapping[str, str], otherwise: Choose) -> Choose:
    """The label known for a key where it is still an option, else what ``otherwise`` says."""

    def answer(key: str, options: Sequence[str]) -> int:
        label = known.get(key)
        return options.index(label) if label in options else otherwise(key, options)

    return answer
