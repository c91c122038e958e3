"""Rules of plans: statements are kept together, cut apart, put in a loop, or done one by one.

A class ``(Todo lo hi open)`` is a state: statements lo..hi-1, inside these open loops, still to be
arranged; ``(Group lo hi open)`` the same, kept together by what comes next. The facts come from
``search/planning.py``: ``(share s s+1 axis)`` for the axes of one statement, ``(join s t axis)`` =
reach where s and t may sit in one loop over the axis if all up to statement ``reach`` do.
"""

from __future__ import annotations

PLAN_SORTS = """
(sort Axes (Set String))
(datatype Plan (Todo i64 i64 Axes) (Group i64 i64 Axes) (Then i64 Plan Plan) (Loop String Plan)
  (Tile i64 Axes))
(function join (i64 i64 String) i64 :no-merge)
(function share (i64 i64 String) i64 :merge (max old new))
(relation between (i64 i64 i64))
(ruleset facts) (ruleset plan)
"""

# name, left, right, why
PLAN_RULES: tuple[tuple[str, str, str, str], ...] = (
    (
        "share",
        "(= x (share lo m a)) (= y (share l2 hi a)) (= l2 (+ lo 1)) (= m (- hi 1)) "
        "(= z (join lo m a)) (< l2 hi)",
        "(set (share lo hi a) (max x (max y z)))",
        "statements may share a loop if every two of them may",
    ),
    (
        "together",
        "(= e (Todo lo hi o))",
        "(union e (Group lo hi o))",
        "no cut: the next loop holds all of them",
    ),
    (
        "cut",
        "(= e (Todo lo hi o)) (between lo mid hi)",
        "(union e (Then mid (Group lo mid o) (Todo mid hi o)))",
        "the first ones alone; outside all loops this is a border between kernels",
    ),
    (
        "loop",
        "(= e (Group lo hi o)) (= last (share lo hi a)) (< last hi) (set-not-contains o a)",
        "(union e (Loop a (Todo lo hi (set-insert o a))))",
        "a loop over the tiles of an axis, if all of a fold is inside",
    ),
    (
        "tile",
        "(= e (Group lo hi o)) (= hi (+ lo 1))",
        "(union e (Tile lo o))",
        "one statement: what is not open is done inside its tile",
    ),
)


def plan_text() -> str:
    """The sorts and rules as egglog text."""
    sets = {"share": "facts"}
    rules = [
        f'(rule ({left}) ({right}) :ruleset {sets.get(name, "plan")} :name "{name}")'
        for name, left, right, _ in PLAN_RULES
    ]
    return PLAN_SORTS + "\n".join(rules) + "\n"
