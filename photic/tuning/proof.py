"""Which rules a choice of operations needs: a set that proves it, where each is needed.

The chosen operations stand as terms of their own beside the values as written. A set of rules
proves the choice if it makes one class of each value and what was chosen for it, and finds the
same reductions to vanish under the same conditions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from photic.ir.index import Expr
from photic.search.extract import Choice, order
from photic.search.language import ENode
from photic.search.region import shared_axes
from photic.search.rules.record import Rule
from photic.search.run import LIMITS, EGraph, saturate
from photic.search.space import Space

Rules = tuple[Rule, ...]


def rules_behind(
    graph: EGraph,
    values: Sequence[Expr],
    choice: Choice,
    rules: Iterable[Rule],
    is_late: Callable[[], bool],
) -> Rules:
    """A set of rules that proves a choice of the e-graph of some values, each of them needed.

    None once it is late, or if what the e-graph found in time is not found again.
    """
    numbers = order(choice, graph.roots)
    bodies = [choice[k].children[-1] for k in numbers if choice[k].op in ("Reduce", "Fold")]
    named = enumerate([*graph.roots, *bodies], len(values))
    terms = [f"(let $c{number} {_term(choice[number])})" for number in numbers]
    terms += [f"(set (root {place}) $c{number})" for place, number in named]

    def is_proved(tried: Rules) -> bool:
        if is_late():
            return False
        found = saturate(values, tried, LIMITS, terms)
        written, chosen = found.roots[: len(values)], found.roots[len(values) : 2 * len(values)]
        places = zip(bodies, found.roots[2 * len(values) :], strict=True)
        return written == chosen and all(
            graph.vanishing[one] <= found.vanishing[place] for one, place in places
        )

    used = tuple(rule for rule in rules if graph.matches.get(rule.name))
    needed = minimal_rules(used, is_proved) if is_proved(used) else ()
    return () if is_late() else needed


def _term(node: ENode) -> str:
    """An operation on the terms of other classes."""
    names = [f'"{one}"' if isinstance(one, str) else str(one) for one in node.attributes]
    children = [f"$c{one}" for one in node.children]
    if node.op in ("Prod", "Pair"):
        children = [f"(multiset-of {' '.join(children)})"]
    elif node.op == "Fold":
        *running, body = children
        children = [f"(Running {names[1]} {' '.join(running)})", body]
    return f"({node.op} {' '.join([*names, *children])})"


def minimal_rules(rules: Rules, is_proved: Callable[[Rules], bool]) -> Rules:
    """A set of rules that still proves something, and without any one of them does not."""
    needed = () if is_proved(()) else rules
    for rule in needed:
        rest = tuple(one for one in needed if one is not rule)
        if is_proved(rest):
            needed = rest
    return needed


def rules_of(
    space: Space, number: int, rules: Sequence[Rule], is_late: Callable[[], bool]
) -> tuple[str, ...]:
    """The names of the rules that one alternative of a space needs; none once it is late."""
    assert space.graph is not None
    values = [one.value for one in shared_axes(space.work.stores, space.work.temporary)]
    found = rules_behind(space.graph, values, space.choices[number], rules, is_late)
    return tuple(rule.name for rule in found)
