"""Tokens to try next, found in the text so far (prompt look-up; Saxena, 2023).

A model often repeats what it was given: names, code, quotations, its own phrases. What followed
the same words before is a guess that costs no second model. A session feeds such a draft in one
call and keeps the part that it would have chosen anyway: a guess changes how fast an answer comes,
never what it says.

Does not run a model, and does not know whether a guess was right.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

MOST_DRAFTED = 14  # in one call: longer guesses are seldom right, and each token costs time
SHORTEST = 2  # tokens that must repeat: what follows a single one is anybody's guess
LONGEST = 64  # tokens that are compared: of two repeats that long neither is the better guess


def draft(ids: Sequence[int], limit: int) -> tuple[int, ...]:
    """What followed the longest ending of ``ids`` that stands earlier in it as well.

    Of several such places the last counts; () where there is none of SHORTEST tokens. It has
    ``limit`` tokens, or one less than repeat: a longer repeat is the surer guess, and a wrong one
    costs time. A place that overlaps the ending is a loop, which the draft goes round.
    """
    if limit < 1 or len(ids) <= SHORTEST:
        return ()
    text = np.asarray(ids, np.int64)
    last = len(text) - 1
    ends, length = np.flatnonzero(text[:-1] == text[last]), 1
    while length < LONGEST:
        longer = ends[ends >= length]
        longer = longer[text[longer - length] == text[last - length]]
        if not len(longer):
            break
        ends, length = longer, length + 1
    if not len(ends) or length < SHORTEST:
        return ()
    count, start = min(limit, length - 1), int(ends[-1]) + 1
    followed = text[start : start + count].tolist()
    return tuple(followed[place % len(followed)] for place in range(count))
