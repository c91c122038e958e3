"""Dependent reductions: what is relative to a maximum over the same axis runs in one pass with it.

``o = sum_j h(a, r)*v`` with ``r = max_j a`` and ``h(a, r) = h(a, r')*w(r', r)``: whenever the
running maximum goes from r' to r, what was summed so far is multiplied by w(r', r). The pairs
``(h, w)`` are the table ``pairs.toml``; the rules of ``folds.toml`` name no operation. h and w are
written over ``a``, ``r`` and ``old``, ``new``; other names are bound by h and explained by
``when``. An entry must satisfy h(r, r) = 1 and h(-inf, r) = 0 where r is a finite number.

Where ``guarded``, the value relative to r is 0 while r is still -inf, as h(-inf, -inf) is NaN
there, and w is 1 where r did not move; other entries see to both. At the end the sum is multiplied
by h(r, r), which is NaN where the sum as written is (in a row that is all -inf). What is multiplied
by the relative value has no maximum over j inside. A maximum of what is never negative runs in the
same way: w is not negative, and ``w*max_j x_j = max_j w*x_j``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from photic.search.rules.record import Rule, read


@dataclass(frozen=True, slots=True)
class Entry:
    """One pair (h, w) with the facts about its constants."""

    name: str
    h: str
    w: str
    guarded: bool
    when: str
    why: str


ENTRIES = read("pairs", Entry)

Tree = str | list["Tree"]

# How commutative operations are built of a multiset; the others are built of their operands.
_MULTISETS = {
    "mul": 'Prod "" da',
    "add": 'Pair "add" da',
    "maximum": 'Pair "maximum" da',
    "and": 'Pair "mul" "bool"',
    "or": 'Pair "add" "bool"',
}


def _parsed(words: Iterator[str]) -> Tree:
    """The next value of a text in words; ")" is one at the end of an operation."""
    word, found = next(words), list[Tree]()
    if word != "(":
        return word
    while (one := _parsed(words)) != ")":
        found.append(one)
    return found


def _operation(op: str, operands: list[str]) -> str:
    if op in ("select", "cast"):
        return f"({op.title()} {'d ' * (op == 'cast')}{' '.join(operands)})"
    if op in _MULTISETS:
        return f"({_MULTISETS[op]} (multiset-of {' '.join(operands)}))"
    return f'({"Un" if len(operands) == 1 else "Bin"} "{op}" {" ".join(operands)})'


def _value(tree: Tree, names: dict[str, str]) -> str:
    """The term of a pattern, with some of its names replaced."""
    if isinstance(tree, str):
        return names.get(tree, tree)
    return _operation(str(tree[0]), [_value(one, names) for one in tree[1:]])


def _pattern(tree: Tree, facts: list[str]) -> str:
    """The name of the value that a pattern describes; what must hold of it goes to ``facts``."""
    if isinstance(tree, str):
        return tree
    op, operands = str(tree[0]), [_pattern(one, facts) for one in tree[1:]]
    name = f"t{len(facts)}"
    if op in _MULTISETS:
        facts.append(f"(two m{name} {' '.join(operands)}) (= {name} ({_MULTISETS[op]} m{name}))")
    else:
        facts.append(f"(= {name} {_operation(op, operands)})")
    return name


def _relative(entry: Entry) -> Rule:
    h, w = (_parsed(iter(re.findall(r"[()]|[^\s()]+", text))) for text in (entry.h, entry.w))
    facts: list[str] = []
    p = _pattern(h, facts)
    names = (("zero", "d"), ("one", "da"), ("lowest", "da"), ("old", "da"), ("new", "da"))
    known = " ".join(f'(= {name} (known "{name}" {dtype}))' for name, dtype in names)
    guarded, weight = p, _value(w, {})
    if entry.guarded:
        guarded = f'(Select (Bin "less_than" lowest r) {p} zero)'
        weight = f'(Select (Bin "less_than" old new) {weight} one)'
    return Rule(
        name=f"relative: {entry.name}",
        left=" ".join(facts),
        right=f"(relative {p} (Running j r a {p} {guarded} {weight} {_value(h, {'a': 'r'})}))",
        when=f'(= r (Reduce "max" j a)) {entry.when} (= d (dtype {p})) (= da (dtype a)) {known}',
        why=entry.why,
        kind="fact",
    )


def fold_rules(entries: Iterable[Entry]) -> Iterator[Rule]:
    """The rules of dependent reductions for a table."""
    yield from map(_relative, entries)
    yield from read("folds", Rule)


FOLDS: tuple[Rule, ...] = tuple(fold_rules(ENTRIES))
