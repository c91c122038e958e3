"""What a session's caches hold, told as the calls of the program that filled them.

Every call adds a row a token. Rows at the end may be given up, so that others take their place:
what stands in the caches are the first ``rows`` tokens of each call, one call after another.

Does not run the program.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Call:
    """The token ids of one call, and how many of its rows count."""

    ids: tuple[int, ...]
    rows: int

    def cut(self, rows: int) -> Call:
        """The same call, of which only so many rows count."""
        return Call(self.ids, rows)


def whole(ids: Sequence[int]) -> Call:
    """A call of which all rows count."""
    return Call(tuple(ids), len(ids))


def chunks(ids: Sequence[int], size: int, past: int = 0, ring: int = 0) -> list[Call]:
    """A text in calls of ``size`` tokens; the last may be shorter.

    ``past`` tokens lie before it. With a ``ring`` no call passes the end of so many rows.
    """
    calls, start = [], 0
    while start < len(ids):
        count = min(size, room_in(ring, past + start)) if ring else size
        calls.append(whole(ids[start : start + count]))
        start += count
    return calls


def room_in(ring: int, past: int) -> int:
    """Rows from that of the token at place ``past`` to the ring's end."""
    return ring - past % ring


def rows_of(calls: Sequence[Call]) -> int:
    """The tokens that the caches hold after these calls."""
    return sum(call.rows for call in calls)


def held_of(planned: Sequence[Call], held: Sequence[Call]) -> int:
    """How many planned calls at the front need not be made, because the caches hold their rows.

    Whole calls are compared, not tokens: what a call computes may depend, by rounding, on which
    tokens were fed together.
    """
    same = 0
    for ours, theirs in zip(planned, held, strict=False):
        if ours.ids != theirs.ids or ours.rows > theirs.rows:
            break
        same += 1
        if ours.rows < theirs.rows:  # what came after saw rows that are given up now
            break
    return same


def beginning(held: Sequence[Call], ids: Sequence[int]) -> list[Call]:
    """The held calls as far as their tokens are those with which ``ids`` begins."""
    found: list[Call] = []
    past = 0
    for call in held:
        wanted = tuple(ids[past : past + call.rows])
        rows = next((at for at, one in enumerate(wanted) if one != call.ids[at]), len(wanted))
        if rows:
            found.append(call.cut(rows))
        if rows < call.rows:
            break
        past += rows
    return found
