"""``photic rules``: the rules that the search may use, by topic, and one of them in full.

What is shown is read from the records of the rules themselves, and from the tuning records how many
winners of earlier searches need a rule. How often it matched is not kept. Nothing is searched here.
"""

from __future__ import annotations

import difflib
import io
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated

import typer

from photic.base.errors import BadArgument
from photic.cli.ending import endings

KINDS = {
    "exact": "equal to the bit",
    "real": "equal up to rounding and overflow headroom",
    "finite": "a contribution of weight 0 may be dropped",
    "fact": "concludes facts about values, equates nothing",
    "plan": "another way to arrange the same statements",
}
MOST_NEAR = 5  # names in the message about one that is unknown
NEARNESS = 0.4  # of a name that is told, 0 to 1 as difflib counts

Words = Annotated[
    list[str] | None, typer.Argument(help="The name of a rule, or of a topic.", metavar="[NAME]")
]


@dataclass(frozen=True, slots=True)
class Shown:
    """What is shown of a rule; ``guard`` and ``text`` are egglog."""

    name: str
    kind: str
    why: str
    guard: str
    text: str


def rules(name: Words = None) -> None:
    """List the rules of the search by topic, or show one in full.

    For each rule: its name, its kind and why it holds. A name shows that rule's guard and text
    too, and how many winners of earlier searches need it.

    \b
    Examples:
      photic rules
      photic rules folds
      photic rules factors out of a sum
    """
    with endings():
        print("\n".join(answer(" ".join(name or ()), known(), winners())))


def winners() -> Sequence[frozenset[str]]:
    """The rules behind each winner that is remembered, whichever target it is of."""
    from photic.storage.record import parsed
    from photic.tuning.tune import open_records

    text = io.StringIO()
    open_records(0.0).export(text)
    records = dict.fromkeys(parsed(line)[1] for line in text.getvalue().splitlines())
    return [frozenset(one.rules) for one in records]  # a winner is kept under two keys


def known() -> dict[str, tuple[Shown, ...]]:
    """All rules by topic; those of plans are the last."""
    from photic.search.planning import PLANS
    from photic.search.rules import TOPICS

    return {
        topic: tuple(
            Shown(rule.name, rule.kind, rule.why, _one_line(rule.when), _one_line(rule.text()))
            for rule in rules
        )
        for topic, rules in {**TOPICS, "plans": PLANS}.items()
    }


def answer(
    name: str, topics: Mapping[str, Sequence[Shown]], found_before: Sequence[frozenset[str]]
) -> Iterator[str]:
    """The lines for no name, a topic's or a rule's; BadArgument with near names for another one."""
    if not name or name in topics:
        for topic, rules in topics.items():
            if name in ("", topic):
                yield from _listed(topic, rules)
        return
    found = [(topic, one) for topic, rules in topics.items() for one in rules if one.name == name]
    if not found:
        raise BadArgument(
            op="rules", argument="NAME", given=repr(name), expected=near(name, topics)
        )
    for topic, one in found:
        yield from _in_full(topic, one, found_before)


def near(name: str, topics: Mapping[str, Sequence[Shown]]) -> str:
    """Names like the one given: those that hold it first."""
    names = [*topics, *(one.name for rules in topics.values() for one in rules)]
    alike = difflib.get_close_matches(name, names, MOST_NEAR, NEARNESS)
    inside = [one for one in names if name.lower() in one.lower()]
    found = list(dict.fromkeys([*inside, *alike]))[:MOST_NEAR]
    return " or ".join(map(repr, found)) if found else "a name that `photic rules` lists"


def _listed(topic: str, rules: Sequence[Shown]) -> Iterator[str]:
    widths = [max(len(getattr(one, field)) for one in rules) for field in ("name", "kind")]
    yield f"{topic}: {len(rules)} rules"
    for one in rules:
        yield f"  {one.name.ljust(widths[0])}  {one.kind.ljust(widths[1])}  {one.why}"


def _in_full(topic: str, rule: Shown, found_before: Sequence[frozenset[str]]) -> Iterator[str]:
    count = sum(rule.name in rules for rules in found_before)
    yield rule.name
    yield f"  topic: {topic}"
    yield f"  kind:  {rule.kind} ({KINDS[rule.kind]})"
    yield f"  why:   {rule.why}"
    yield f"  used:  by {count} of {len(found_before)} remembered winners"
    yield f"  guard: {rule.guard or 'none'}"
    yield f"  text:  {rule.text}"


def _one_line(text: str) -> str:
    return " ".join(text.split())
