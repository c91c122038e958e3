"""The record of a rule: data that renders to egglog text, and nothing that runs.

``left`` is a pattern of the value ``e`` (or facts, for a rule that concludes a fact), ``when`` more
facts that must hold, ``right`` the value that is equal (or the action). This file imports no
egglog, so that targets may state rules of their own.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

# exact: equal to the bit. real: equal up to rounding and overflow headroom. finite: a contribution
# of weight 0 may be dropped. fact: concludes a fact about a value, equates nothing.
Kind = Literal["exact", "real", "finite", "fact"]


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule. ``drops`` says what is lost where it is lost, ``why`` why it holds."""

    name: str
    left: str
    right: str
    when: str
    why: str
    kind: Kind
    drops: str = ""

    def text(self, ruleset: str) -> str:
        """The rule in egglog."""
        is_fact = self.kind == "fact"
        left = self.left if is_fact else f"(= e {self.left})"
        right = self.right if is_fact else f"(union e {self.right})"
        return f'(rule ({left} {self.when}) ({right}) :ruleset {ruleset} :name "{self.name}")'
