"""``photic rules``: the rules that the search may use: law, guard, kind, samples, and their use.

What is shown of a rule is read from its record; how often it fired from the last searches, how many
winners need it from the tuning records. Nothing is searched here.
"""

from __future__ import annotations

import difflib
import io
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from photic.base.errors import BadArgument
from photic.cli.ending import endings
from photic.cli.options import RuleName, Short
from photic.cli.table import counted

KINDS = {
    "exact": "equal to the bit",
    "real": "equal up to rounding and overflow headroom",
    "finite": "a contribution of weight 0 may be dropped",
    "fact": "concludes facts about values, equates nothing",
    "plan": "another way to arrange the same statements",
}
EQUATING = frozenset({"exact", "real", "finite"})
FIRINGS, NEAR_MISSES = (
    200,
    20,
)  # of each rule in every run of photic's tests (tests/rules/sampler.py)
SAMPLES = f"{FIRINGS} programs that it fires on and {NEAR_MISSES} near misses in every run of tests"
PLANS_SAMPLES = "random plans of the rules together, against the evaluator, in every run of tests"
MOST_NEAR = 5  # names in the message about one that is unknown
NEARNESS = 0.4  # of a name that is told, 0 to 1 as difflib counts


@dataclass(frozen=True, slots=True)
class Shown:
    """What is shown of a rule; ``law``, ``guard`` and ``text`` are egglog."""

    name: str
    kind: str
    why: str
    law: str
    guard: str
    text: str
    samples: str


@dataclass(frozen=True, slots=True)
class Used:
    """What searches made of the rules: matches in each of the last, rules behind each winner."""

    searches: Sequence[Mapping[str, int]]
    winners: Sequence[frozenset[str]]

    def fired(self, name: str) -> str:
        """How often a rule fired in the last searches."""
        if not self.searches:
            return "not known: no search is remembered"
        count = sum(one.get(name, 0) for one in self.searches)
        if not any(name in one for one in self.searches):
            return "not counted"
        number = len(self.searches)
        last = "the last search" if number == 1 else f"the last {number} searches"
        return f"{counted(count, 'time')} in {last}"

    def behind(self, name: str) -> str:
        """How many winners need a rule."""
        count = sum(name in rules for rules in self.winners)
        return f"by {count} of {counted(len(self.winners), 'remembered winner')}"


def rules(name: RuleName = None, short: Short = False) -> None:
    """Show the rules of the search by topic, or one of them.

    For each rule: its law and guard (in egglog, the words are in photic's values.egg), its kind,
    why it holds, how it is tested, how often it fired in the last searches, and how many winners
    of earlier searches need it. A name shows that rule's whole text too.

    \b
    Examples:
      photic rules
      photic rules --short
      photic rules folds
      photic rules factors out of a sum
    """
    with endings():
        print("\n".join(answer(" ".join(name or ()), known(), used(), short)))


def used() -> Used:
    """The last searches, and the rules behind each winner that is remembered, of any target."""
    from photic.storage.record import parsed
    from photic.storage.searches import last_searches
    from photic.tuning.tune import open_records

    text = io.StringIO()
    open_records(0.0).export(text)
    records = dict.fromkeys(parsed(line)[1] for line in text.getvalue().splitlines())
    # a winner is kept under two keys
    return Used([one.matches for one in last_searches()], [frozenset(one.rules) for one in records])


def known() -> dict[str, tuple[Shown, ...]]:
    """All rules by topic; those of plans are the last."""
    from photic.search.planning import PLANS
    from photic.search.rules import TOPICS

    sampled = {topic: (rules, SAMPLES) for topic, rules in TOPICS.items()}
    return {
        topic: tuple(
            Shown(
                rule.name,
                rule.kind,
                rule.why,
                _one_line(f"{rule.left} {'=' if rule.kind in EQUATING else '=>'} {rule.right}"),
                _one_line(rule.when),
                _one_line(rule.text()),
                samples,
            )
            for rule in rules
        )
        for topic, (rules, samples) in {**sampled, "plans": (PLANS, PLANS_SAMPLES)}.items()
    }


def answer(
    name: str, topics: Mapping[str, Sequence[Shown]], uses: Used, short: bool
) -> Iterator[str]:
    """The lines for no name, a topic's or a rule's; BadArgument with near names for another one."""
    if not name or name in topics:
        for topic, rules in topics.items():
            if name in ("", topic):
                yield from _listed(topic, rules) if short else _told(topic, rules, uses)
        return
    found = [(topic, one) for topic, rules in topics.items() for one in rules if one.name == name]
    if not found:
        raise BadArgument(
            op="rules", argument="NAME", given=repr(name), expected=near(name, topics)
        )
    for topic, one in found:
        yield one.name
        yield f"  topic:   {topic}"
        yield from _lines(one, uses)
        yield f"  text:    {one.text}"


def near(name: str, topics: Mapping[str, Sequence[Shown]]) -> str:
    """Names like the one given: those that hold it first."""
    names = [*topics, *(one.name for rules in topics.values() for one in rules)]
    alike = difflib.get_close_matches(name, names, MOST_NEAR, NEARNESS)
    inside = [one for one in names if name.lower() in one.lower()]
    found = list(dict.fromkeys([*inside, *alike]))[:MOST_NEAR]
    return " or ".join(map(repr, found)) if found else "a name that `photic rules` lists"


def _listed(topic: str, rules: Sequence[Shown]) -> Iterator[str]:
    widths = [max(len(getattr(one, field)) for one in rules) for field in ("name", "kind")]
    yield f"{topic}: {counted(len(rules), 'rule')}"
    for one in rules:
        yield f"  {one.name.ljust(widths[0])}  {one.kind.ljust(widths[1])}  {one.why}"


def _told(topic: str, rules: Sequence[Shown], uses: Used) -> Iterator[str]:
    yield f"{topic}: {counted(len(rules), 'rule')}"
    for one in rules:
        yield ""
        yield one.name
        yield from _lines(one, uses)
    yield ""


def _lines(rule: Shown, uses: Used) -> Iterator[str]:
    yield f"  law:     {rule.law}"
    yield f"  guard:   {rule.guard or 'none'}"
    yield f"  kind:    {rule.kind} ({KINDS[rule.kind]})"
    yield f"  why:     {rule.why}"
    yield f"  samples: {rule.samples}"
    yield f"  fired:   {uses.fired(rule.name)}"
    yield f"  used:    {uses.behind(rule.name)}"


def _one_line(text: str) -> str:
    return " ".join(text.split())
