"""The memory plan: intermediate buffers share one arena where their lifetimes do not meet.

Greedy by size: the largest buffer first, each at the lowest offset that is free during its life.
Sizes are taken at the upper ends of symbolic ranges. The lower bound is the largest sum of sizes
alive at one step.
"""

from __future__ import annotations

from dataclasses import dataclass

from photic.forms.layout import aligned_bytes
from photic.ir.program import Branch, Program, all_steps, touched


@dataclass(frozen=True, slots=True)
class MemoryPlan:
    """Offsets in the arena, and three sizes in bytes: the arena, all buffers, the lower bound."""

    offsets: dict[str, int]
    arena_bytes: int
    buffer_bytes: int
    least_bytes: int


@dataclass(frozen=True, slots=True)
class _Life:
    name: str
    size: int
    first: int
    last: int


def plan_memory(program: Program) -> MemoryPlan:
    """The arena of a program's temporaries."""
    lives = _lifetimes(program)
    placed: list[tuple[_Life, int]] = []
    for life in sorted(lives, key=lambda one: (-one.size, one.first, one.name)):
        offset = 0
        for other, start in sorted(placed, key=lambda one: one[1]):
            meets = life.first <= other.last and other.first <= life.last
            if meets and start < offset + life.size and offset < start + other.size:
                offset = start + other.size
        placed.append((life, offset))
    arena = max((offset + life.size for life, offset in placed), default=0)
    times = {life.first for life in lives}
    alive = [sum(one.size for one in lives if one.first <= t <= one.last) for t in times]
    return MemoryPlan(
        {life.name: offset for life, offset in placed},
        arena,
        sum(life.size for life in lives),
        max(alive, default=0),
    )


def _lifetimes(program: Program) -> list[_Life]:
    """First and last step of each temporary; what a loop touches lives from where it begins."""
    times: dict[str, list[int]] = {}
    for time, step in enumerate(all_steps(program.steps)):
        read, written = touched(step, program)
        for name in {step.condition} if isinstance(step, Branch) else read | written:
            times.setdefault(name, []).append(time)
    return [
        _Life(name, aligned_bytes(place.buffer, place.layout), times[name][0], times[name][-1])
        for name, place in program.places.items()
        if place.role == "temporary" and name in times
    ]
