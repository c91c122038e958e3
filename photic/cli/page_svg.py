"""The pictures of the page: bars, and a roofline plot as inline SVG."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

from photic.cli.roofs import Roofs
from photic.cli.table import quantity

WIDTH, HEIGHT = 640, 360
LEFT, RIGHT, TOP, BOTTOM = 136, 32, 16, 56
LEAST_DECADES = 2
PERCENT = 100.0
RADIUS = 5
BASE = 10.0


@dataclass(frozen=True, slots=True)
class Bar:
    """A bar: its name, its length against the longest, and its value as text."""

    name: str
    value: float
    text: str


def bars(given: Sequence[Bar]) -> str:
    """Bars under each other."""
    most = max((one.value for one in given), default=0) or 1
    rows = (
        f'<div class="bar"><span>{escape(one.name)}</span><i><b style="width:'
        f'{PERCENT * one.value / most:.2f}%"></b></i><span>{escape(one.text)}</span></div>'
        for one in given
    )
    return f'<div class="bars">{"".join(rows)}</div>'


@dataclass(frozen=True, slots=True)
class Scale:
    """A logarithmic scale: whole decades onto pixels."""

    low: int
    high: int
    start: float
    end: float

    def at(self, value: float) -> float:
        part = (math.log10(value) - self.low) / (self.high - self.low)
        return self.start + part * (self.end - self.start)


def scale(values: Sequence[float], start: float, end: float) -> Scale:
    """The decades around some values."""
    low = math.floor(math.log10(min(values)))
    return Scale(low, max(low + LEAST_DECADES, math.ceil(math.log10(max(values)))), start, end)


def roofline(points: Sequence[tuple[str, float, float]], roofs: Roofs) -> str:
    """Kernels (name, flops a byte, flops a second) under the roofs."""
    xs, ys = [one[1] for one in points], [one[2] for one in points]
    x = scale([*xs, roofs.ridge], LEFT, WIDTH - RIGHT)
    y = scale([*ys, roofs.flops], HEIGHT - BOTTOM, TOP)
    marks = (
        f'<circle cx="{x.at(across):.1f}" cy="{y.at(up):.1f}" r="{RADIUS}"><title>{escape(name)}: '
        f"{across:.3g} flop/byte, {escape(quantity(up, 'flop/s'))}</title></circle>"
        for name, across, up in points
    )
    return (
        f'<div class="wide"><svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" '
        f'aria-label="Roofline plot">{_grid(x, y)}{_roof(x, y, roofs)}{"".join(marks)}</svg></div>'
    )


def _roof(x: Scale, y: Scale, roofs: Roofs) -> str:
    """The line of memory up to the ridge, then that of arithmetic."""
    start = max(BASE**x.low, BASE**y.low / roofs.bytes)
    corners = (
        (start, start * roofs.bytes),
        (roofs.ridge, roofs.flops),
        (BASE**x.high, roofs.flops),
    )
    line = " ".join(f"{x.at(across):.1f},{y.at(up):.1f}" for across, up in corners)
    return f'<polyline class="roof" points="{line}"/>'


def _short(decade: int) -> str:
    """A power of ten; with an exponent where it would be long."""
    return f"{BASE**decade:g}" if abs(decade) <= LEAST_DECADES else f"1e{decade}"


def _grid(x: Scale, y: Scale) -> str:
    bottom, right = HEIGHT - BOTTOM, WIDTH - RIGHT
    parts = [
        f'<path d="M{x.at(BASE**k):.1f} {TOP}V{bottom}"/><text x="{x.at(BASE**k):.1f}" '
        f'y="{bottom + 22}" text-anchor="middle">{_short(k)}</text>'
        for k in range(x.low, x.high + 1)
    ]
    parts += [
        f'<path d="M{LEFT} {y.at(BASE**k):.1f}H{right}"/><text x="{LEFT - 8}" '
        f'y="{y.at(BASE**k) + 4:.1f}" text-anchor="end">'
        f"{escape(quantity(BASE**k, 'flop/s'))}</text>"
        for k in range(y.low, y.high + 1)
    ]
    middle = (LEFT + right) / 2
    parts.append(f'<text x="{middle}" y="{HEIGHT - 8}" text-anchor="middle">flop / byte</text>')
    return f'<g class="grid">{"".join(parts)}</g>'
