"""The record of a rule: data that renders to egglog text, and nothing that runs.

``left`` is a pattern of the value ``e`` (facts, where the rule concludes facts), ``when`` more
facts that must hold, ``right`` the value that is equal (the facts). The words of patterns are in
``search/language.py``. This file imports no egglog, so that targets can state rules of their own.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

# exact: equal to the bit. real: equal up to rounding and overflow headroom. finite: a contribution
# of weight 0 may be dropped. fact: concludes facts about values, equates nothing.
Kind = Literal["exact", "real", "finite", "fact"]


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
        phase = "normal" if self.first else "step"
        return f'(rule ({facts}) ({actions}) :ruleset {phase} :name "{self.name}")'


def independent(axis: str, multiset: str) -> str:
    """The members of a multiset that do not depend on an axis, as a term."""
    return f'(unstable-multiset-filter (unstable-fn "indep" {axis}) {multiset})'


def all_independent(axis: str, multiset: str) -> str:
    """That no member of a multiset depends on an axis, as a fact."""
    return f"(= (multiset-length {multiset}) (multiset-length {independent(axis, multiset)}))"


def some_independent(axis: str, multiset: str) -> str:
    """That ``out``, the members that do not depend on an axis, are some but not all, as facts."""
    return (
        f"(= out {independent(axis, multiset)}) (indep {axis} y) (part {multiset} y z)"
        f" (> (multiset-length {multiset}) (multiset-length out))"
    )
