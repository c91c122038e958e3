"""Facts about values: what they do not depend on, their dtypes, the parts of multisets.

Facts only grow, so a rule that asked for one stays right. They are saturated before every step of
the other rules. ``(part s x q)``: the multiset s is x and q. ``(two s x y)``: it is x and y.
"""

from __future__ import annotations

from photic.search.rules.record import Rule

_OPERATIONS = (
    ("Un o", "a"),
    ("Bin o", "a b"),
    ("Select", "a b c"),
    ("Cast d", "a"),
)
_MULTISETS = ("Prod d", "Pair o d")


def independent(axis: str, multiset: str) -> str:
    """The members of a multiset that do not depend on an axis."""
    return f'(unstable-multiset-filter (unstable-fn "indep" {axis}) {multiset})'


def all_independent(axis: str, multiset: str) -> str:
    """The fact that no member of a multiset depends on an axis."""
    return f"(= (multiset-length {multiset}) (multiset-length {independent(axis, multiset)}))"


def _fact(name: str, left: str, right: str, when: str, why: str) -> Rule:
    return Rule(name, left, right, when, why, "fact")


FACTS: tuple[Rule, ...] = (
    *(
        _fact(
            f"members of {one.split()[0]}",
            f"(= e ({one} s))",
            '(unstable-multiset-fill-index s (unstable-fn "at"))',
            "",
            "so that rules can ask for a member",
        )
        for one in _MULTISETS
    ),
    _fact(
        "part", "(= i (at s x))", "(part s x (multiset-remove s x))", "", "a member and the rest"
    ),
    _fact(
        "two",
        "(part s x q) (= 1 (multiset-length q))",
        "(two s x (multiset-pick q))",
        "",
        "either one of two members first",
    ),
    *(
        _fact(
            f"indep of {one.split()[0]}",
            f"(= e ({one} {operands}))",
            "(set (indep j e) ())",
            " ".join(f"(indep j {operand})" for operand in operands.split()),
            "no operand depends on the axis",
        )
        for one, operands in _OPERATIONS
    ),
    *(
        _fact(
            f"indep of {one.split()[0]}",
            f"(= e ({one} s)) (indep j x) (= i (at s x))",
            "(set (indep j e) ())",
            all_independent("j", "s"),
            "no member depends on the axis",
        )
        for one in _MULTISETS
    ),
    _fact(
        "indep of a reduction's value",
        "(= e (Reduce o k a)) (indep j a)",
        "(set (indep j e) ())",
        '(!= j (+ o (+ " " k)))',
        "what its operand does not depend on; a maximum over k is no value without one",
    ),
    _fact(
        "indep of a reduced axis",
        "(= e (Reduce o k a))",
        "(set (indep k e) ())",
        "",
        "the axis is bound",
    ),
    *(
        _fact(f"dtype of {one}", f"(= e ({one}))", f"(set (dtype e) {dtype})", when, "")
        for one, dtype, when in (
            ("Un o a", "d", "(= d (dtype a))"),
            ("Bin o a b", "d", '(= d (dtype a)) (!= o "less_than")'),
            ("Bin o a b ", '"bool"', '(= o "less_than")'),
            ("Select c a b", "d", "(= d (dtype a))"),
            ("Cast d a", "d", ""),
            ("Prod d s", "d", ""),
            ("Pair o d s", "d", ""),
            ("Reduce o k a", "d", "(= d (dtype a))"),
        )
    ),
)
