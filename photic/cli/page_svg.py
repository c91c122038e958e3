"""What the pictures of the page share: SVG around marks, scales with ticks, bars of HTML."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape

from photic.cli.table import quantity

WIDTH, HEIGHT = 640, 360
LEFT, RIGHT, TOP, BOTTOM = 84, 24, 28, 52
LEAST_DECADES = 2
PERCENT = 100.0
BASE = 10.0
STEPS = (1.0, 2.0, 5.0, 10.0)  # between ticks, times a power of ten
TICKS = 5  # about so many
TEXT = 4  # pixels from the middle of a text to its foot


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


def svg(title: str, marks: Iterable[str], *, width: float = WIDTH, height: float = HEIGHT) -> str:
    """A picture that shrinks with the page, for one of the usual size."""
    return (
        f'<svg class="plot" viewBox="0 0 {width:.0f} {height:.0f}" role="img" '
        f'aria-label="{escape(title)}">{"".join(marks)}</svg>'
    )


def large(title: str, marks: Iterable[str], *, width: float, height: float) -> str:
    """A picture of a size of its own, which scrolls where the page is narrower."""
    return (
        f'<div class="wide tall"><svg width="{width:.0f}" height="{height:.0f}" role="img" '
        f'aria-label="{escape(title)}">{"".join(marks)}</svg></div>'
    )


def text(x: float, y: float, words: str, anchor: str = "middle") -> str:
    """Words at a place."""
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{escape(words)}</text>'


def titled(mark: str, words: str) -> str:
    """A mark (an element without its end) that tells these words under the pointer."""
    name = mark[1:].split(maxsplit=1)[0]
    return f"{mark}><title>{escape(words)}</title></{name}>"


# --- scales ---------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Scale:
    """Numbers, or their logarithms to base ten, onto pixels; where its lines are."""

    low: float
    high: float
    start: float
    end: float
    ticks: tuple[float, ...]
    is_logarithmic: bool

    def at(self, value: float) -> float:
        """The pixel of a number."""
        place = math.log10(value) if self.is_logarithmic else value
        return self.start + (place - self.low) / (self.high - self.low) * (self.end - self.start)


def decades(values: Sequence[float], start: float, end: float) -> Scale:
    """The whole decades around some positive numbers, at least two."""
    low = math.floor(math.log10(min(values)))
    high = max(low + LEAST_DECADES, math.ceil(math.log10(max(values))))
    return Scale(low, high, start, end, tuple(BASE**k for k in range(low, high + 1)), True)


def linear(high: float, start: float, end: float) -> Scale:
    """From 0 to a number."""
    high = high or 1.0
    step = BASE ** math.floor(math.log10(high / TICKS))
    step *= next(one for one in STEPS if high / (one * step) <= TICKS + 1)
    ticks = tuple(k * step for k in range(int(high / step) + 1))
    return Scale(0.0, high, start, end, ticks, False)


def grid(
    x: Scale, y: Scale, across: Sequence[str], up: Sequence[str], name: str, other: str
) -> str:
    """The lines of two scales with their texts, and what both are."""
    parts = [
        f'<path d="M{x.at(k):.1f} {y.end}V{y.start}"/>{text(x.at(k), y.start + 18, words)}'
        for k, words in zip(x.ticks, across, strict=True)
    ]
    parts += [
        f'<path d="M{x.start} {y.at(k):.1f}H{x.end}"/>'
        + text(x.start - 8, y.at(k) + TEXT, words, "end")
        for k, words in zip(y.ticks, up, strict=True)
    ]
    parts.append(text((x.start + x.end) / 2, y.start + 42, name))
    parts.append(text(x.start - 8, y.end - 12, other, "end"))
    return f'<g class="grid">{"".join(parts)}</g>'


def prefixed(value: float) -> str:
    """``100 G``: what a tick says of a power of ten, or of a few."""
    return quantity(value, "").replace(".0 ", " ")


def short(value: float) -> str:
    """A number; with an exponent where it would be long."""
    decade = math.log10(value) if value > 0 else 0
    return f"{value:g}" if abs(decade) <= LEAST_DECADES + 1 else f"{value:.0e}".replace("e+", "e")
