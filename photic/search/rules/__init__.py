"""The rules by topic: records of data, rendered to egglog by ``search/run.py``."""

from __future__ import annotations

from photic.search.rules.folds import FOLDS
from photic.search.rules.record import Rule, read

TOPICS: dict[str, tuple[Rule, ...]] = {
    "algebra": read("algebra", Rule),
    "folds": FOLDS,
    "ranges": read("ranges", Rule),
}


def rules_without(*topics: str) -> tuple[Rule, ...]:
    """All rules but those of some topics."""
    return tuple(rule for name, rules in TOPICS.items() if name not in topics for rule in rules)
