"""The record of a rule: data that renders to egglog text, and nothing that runs.

``left`` is a pattern of the value ``e`` (facts, where the rule concludes facts), ``when`` more
facts that must hold, ``right`` the value that is equal (the facts). The words of patterns are in
``search/values.egg``, those of plans in ``search/plans.egg``; ``WORDS`` are short for several
facts. The records themselves stand in the tables beside this file, one for each topic. No egglog is
imported: targets can state rules too.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable
from dataclasses import dataclass
from importlib.resources import files
from typing import Literal, TypeVar

# exact: equal to the bit. real: equal up to rounding and overflow headroom. finite: a contribution
# of weight 0 may be dropped. fact: concludes facts about values, equates nothing.
Kind = Literal["exact", "real", "finite", "fact"]
Record = TypeVar("Record")

_INDEPENDENT = r'(unstable-multiset-filter (unstable-fn "indep" \1) \2)'
# (all-indep j s): no member of s depends on axis j. (some-indep j s out): ``out``, the members that
# do not depend on it, are some but not all. (positive c): a number that is finite, too.
WORDS = {
    r"\(all-indep (\w+) (\w+)\)": rf"(= (multiset-length \2) (multiset-length {_INDEPENDENT}))",
    r"\(some-indep (\w+) (\w+) (\w+)\)": rf"(= \3 {_INDEPENDENT}) (indep \1 some\2)"
    r" (part \2 some\2 rest\2) (> (multiset-length \2) (multiset-length \3))",
    r"\(positive (\w+)\)": r"(= number\1 (number \1)) (< 0.0 number\1) (< number\1 inf)",
}


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule. ``first``: saturated before each step of others. ``drops``: forgets the left."""

    name: str
    left: str
    right: str
    when: str
    why: str
    kind: Kind
    first: bool = False
    drops: bool = False

    def text(self) -> str:
        """The rule in egglog."""
        facts, actions = f"{self.left} {self.when}", self.right
        if self.kind != "fact":
            facts, actions = f"(= e {self.left}) {self.when}", f"(union e {self.right})"
        if self.drops:
            actions += f" (subsume {self.left})"
        for word, meaning in WORDS.items():
            facts = re.sub(word, meaning, facts)
        phase = "normal" if self.first else "step"
        return f'(rule ({facts}) ({actions}) :ruleset {phase} :name "{self.name}")'


def read(table: str, make: Callable[..., Record]) -> tuple[Record, ...]:
    """The records of a table beside this file, in its order. ``when`` may be left out."""
    found = tomllib.loads(files(__package__).joinpath(f"{table}.toml").read_text("utf-8"))
    return tuple(make(**{"name": name, "when": "", **one}) for name, one in found.items())
