"""The memory plan as a picture: each temporary buffer as a rectangle, places up, steps across."""

from __future__ import annotations

from typing import TYPE_CHECKING

from photic.cli.page_parts import note
from photic.cli.page_svg import (
    BOTTOM,
    HEIGHT,
    LEFT,
    RIGHT,
    TOP,
    WIDTH,
    Bar,
    Scale,
    bars,
    grid,
    linear,
    prefixed,
    svg,
    text,
    titled,
)
from photic.cli.table import counted, quantity

if TYPE_CHECKING:
    from photic.storage.making import Making, Placed
    from photic.tensor.program import Program

COLOURS = 6
NAME_WIDTH, NAME_HEIGHT = 34.0, 14.0  # pixels that a buffer's name needs


def memory_picture(program: Program, making: Making) -> str:
    """The sizes as bars, then the plan."""
    artifact = program.artifact
    sizes = (
        ("constants", program.constant_bytes),
        ("temporaries apart", artifact.buffer_bytes),
        ("arena", artifact.arena_bytes),
        ("least possible arena", artifact.least_bytes),
        ("scratch of a thread", artifact.scratch_bytes),
    )
    found = bars([Bar(name, size, quantity(size, "B")) for name, size in sizes])
    if not making.placed:
        return found + note("No temporary buffer is needed." if making.steps else NOT_KEPT)
    words = (
        f"{counted(len(making.placed), 'buffer')} over {counted(len(making.steps), 'step')}, "
        "at the largest sizes: each from the step that writes it to the last that reads it."
    )
    return found + note(words) + plan(making, artifact.least_bytes)


NOT_KEPT = "The places of buffers are not kept in files of this older version."


def plan(making: Making, least: int) -> str:
    """The picture, with a line at the least that any plan could do with."""
    most = max(one.offset + one.size for one in making.placed)
    x = linear(len(making.steps), LEFT, WIDTH - RIGHT)
    y = linear(most, HEIGHT - BOTTOM, TOP)
    across = [f"{one:g}" for one in x.ticks]
    up = [prefixed(one) for one in y.ticks]
    marks = [_buffer(one, number, making, x, y) for number, one in enumerate(making.placed)]
    line = f'<path class="roof dashed" d="M{x.start} {y.at(least):.1f}H{x.end}"/>'
    bound = titled(line[:-2], f"least possible: {quantity(least, 'B')}")
    return svg("Memory plan", [grid(x, y, across, up, "step", "bytes"), *marks, bound])


def _buffer(one: Placed, number: int, making: Making, x: Scale, y: Scale) -> str:
    left, right = x.at(one.first), x.at(one.last + 1)
    high, low = y.at(one.offset + one.size), y.at(one.offset)
    words = (
        f"{one.name}: {quantity(one.size, 'B')} at {quantity(one.offset, 'B')}\n"
        f"from step {one.first} ({making.steps[one.first]}) "
        f"to step {one.last} ({making.steps[one.last]})"
    )
    place = f'x="{left:.1f}" y="{high:.1f}" width="{right - left:.1f}" height="{low - high:.1f}"'
    mark = titled(f'<rect class="buffer c{number % COLOURS}" {place}', words)
    fits = right - left >= NAME_WIDTH and low - high >= NAME_HEIGHT
    return mark + (text((left + right) / 2, (high + low) / 2 + 4, one.name) if fits else "")
