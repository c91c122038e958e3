"""The roofline plot: kernels by their arithmetic a byte and their speed, under the roofs.

One sloping roof a level of memory, one flat one of arithmetic (Williams, Waterman, Patterson 2009).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from photic.cli.page_svg import (
    BASE,
    BOTTOM,
    HEIGHT,
    LEFT,
    RIGHT,
    TOP,
    WIDTH,
    Scale,
    decades,
    grid,
    prefixed,
    short,
    svg,
    text,
    titled,
)
from photic.cli.roofs import Roofs, reached, speed
from photic.cli.table import duration, quantity

if TYPE_CHECKING:
    from photic.storage.artifact import KernelReport

LEAST_RADIUS, MORE_RADIUS = 4.0, 8.0  # of a kernel; more for a larger share of the time
LEAST_SPEED = 1e-4  # of the roof of arithmetic: what is slower lies on the lower edge


def roofline(kernels: Sequence[KernelReport], shares: Sequence[float], roofs: Roofs) -> str:
    """The plot; kernels that were not timed are hollow, at their predicted speed."""
    found = [(one, share, speed(one)) for one, share in zip(kernels, shares, strict=True)]
    known = [(one, share, where) for one, share, where in found if where is not None]
    ridges = [roofs.flops / one.rate for one in roofs.levels]
    least = roofs.flops * LEAST_SPEED
    x = decades([*ridges, *(where[0] for _, _, where in known)], LEFT, WIDTH - RIGHT)
    speeds = [max(least, where[1]) for _, _, where in known]
    y = decades([*speeds, roofs.flops], HEIGHT - BOTTOM, TOP)
    marks = [
        _mark(one, x.at(where[0]), y.at(max(least, where[1])), share, roofs)
        for one, share, where in sorted(known, key=lambda each: -each[1])
    ]
    across = [short(one) for one in x.ticks]
    up = [prefixed(one) for one in y.ticks]
    lines = [_roof(x, y, roofs.flops, one.rate, one.name) for one in roofs.levels]
    return svg("Roofline plot", [grid(x, y, across, up, "flop / byte", "flop/s"), *lines, *marks])


def _mark(kernel: KernelReport, x: float, y: float, share: float, roofs: Roofs) -> str:
    where, part = speed(kernel), reached(kernel, roofs)
    assert where is not None
    kind = "predicted" if kernel.seconds is None else "measured"
    seconds = kernel.seconds or kernel.predicted_seconds or 0.0
    words = f"{kernel.name}: {share:.1%} of the time, {duration(seconds)} {kind}"
    words += f"\n{where[0]:.3g} flop/byte, {quantity(where[1], 'flop/s')}"
    words += "" if part is None else f"\n{part:.0%} of the ceiling"
    radius = LEAST_RADIUS + MORE_RADIUS * share**0.5
    mark = f'<circle class="{kind}" cx="{x:.1f}" cy="{y:.1f}" r="{radius:.1f}"'
    return titled(mark, words)


def _roof(x: Scale, y: Scale, flops: float, rate: float, name: str) -> str:
    """The line of a level up to the ridge, then that of arithmetic."""
    ridge = flops / rate
    start = max(BASE**x.low, BASE**y.low / rate)
    corners = ((start, start * rate), (ridge, flops), (BASE**x.high, flops))
    line = " ".join(f"{x.at(across):.1f},{y.at(up):.1f}" for across, up in corners)
    low = text(x.at(start) + 6, y.at(start * rate) - 6, name, "start")
    return f'<polyline class="roof" points="{line}"/>{low}'
