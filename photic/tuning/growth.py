"""How the e-graph of a region grew: its size and the matches of each rule after every step.

The search keeps only what a run ended with, so that the run is made again for one step, for two,
and so on; the first that ends by itself is the last. Runs of the same values and rules are alike.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace

from photic.ir.index import Expr
from photic.search.rules.record import Rule
from photic.search.run import LIMITS, saturate
from photic.storage.making import Grown


def growth(
    region: str, values: Iterable[Expr], rules: Iterable[Rule], is_late: Callable[[], bool]
) -> Iterator[Grown]:
    """One record a step, with what is new in it; fewer once it is late."""
    values, rules = tuple(values), tuple(rules)
    before: Mapping[str, int] = {}
    for step in range(1, LIMITS.steps + 1):
        if is_late():
            return
        found = saturate(values, rules, replace(LIMITS, steps=step))
        new = {name: count - before.get(name, 0) for name, count in found.matches.items()}
        matches = tuple((name, count) for name, count in new.items() if count > 0)
        yield Grown(region, step, found.rows, found.stopped, matches)
        if found.stopped != "steps":
            return
        before = found.matches
