"""Parts of a text that are joined pair by pair, as byte pair encodings do: the first in an order.

Promises: always the pair of neighbours that comes first in the order is joined, the leftmost of
equal ones, until none may be; in time in proportion to n log n of the parts.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable
from dataclasses import dataclass, field

Order = Callable[[str, str], float | None]
"""``order(left, right)``: how early two neighbours are joined, lowest first; None: never."""


def merged(parts: list[str], order: Order) -> list[str]:
    """What is left of ``parts`` when no pair may be joined any more."""
    line = _Line(parts)
    heap: list[tuple[float, int, int, str]] = []

    def offer(left: int) -> None:
        """Remember what the part at ``left`` may become with the one behind it."""
        right = line.after[left]
        if right < len(line.parts):
            place = order(line.parts[left], line.parts[right])
            if place is not None:
                joined = line.parts[left] + line.parts[right]
                heapq.heappush(heap, (place, left, right, joined))

    for left in range(len(line.parts)):
        offer(left)
    while heap:
        _, left, right, joined = heapq.heappop(heap)
        if line.after[left] == right and line.parts[left] + line.parts[right] == joined:
            line.join(left, right)
            offer(left)
            if line.before[left] >= 0:
                offer(line.before[left])
    return [part for part in line.parts if part]


@dataclass(slots=True)
class _Line:
    """Parts of a text, and for each the place of the one before and of the one behind."""

    parts: list[str]
    before: list[int] = field(default_factory=list)
    after: list[int] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.before = list(range(-1, len(self.parts) - 1))
        self.after = list(range(1, len(self.parts) + 1))

    def join(self, left: int, right: int) -> None:
        """Add the part at ``right`` to the one before it; it is empty then."""
        self.parts[left] += self.parts[right]
        self.parts[right] = ""
        self.after[left] = self.after[right]
        if self.after[right] < len(self.parts):
            self.before[self.after[right]] = left
