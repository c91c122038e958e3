"""A layered drawing of boxes: where each lies, and the way of each line between them.

Boxes lie in layers from the top down, below all that they read; sources just above their first
reader. Lines over several layers have a place in each between. The order in a layer follows the
neighbours' places (Sugiyama, Tagawa, Toda 1981, with means), then places move towards them. Numbers
are pixels. Nothing is random: the same boxes give the same drawing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from statistics import fmean

WIDTH, HEIGHT = 168.0, 40.0  # of a box
GAP, DROP = 16.0, 34.0  # between boxes of a layer, and between layers
THIN = 10.0  # the width of a line's place in a layer
SWEEPS = 6

Point = tuple[float, float]


@dataclass(frozen=True, slots=True)
class Drawing:
    """The upper left corner of each box, the lines from box to box, and the size of it all."""

    corners: tuple[Point, ...]
    lines: tuple[tuple[Point, ...], ...]
    width: float
    height: float


@dataclass(slots=True)
class _Layers:
    """Items by layer: boxes by their numbers, places of lines by numbers from there on."""

    count: int
    rows: list[list[int]]
    above: dict[int, list[int]] = field(default_factory=dict)
    below: dict[int, list[int]] = field(default_factory=dict)
    middle: dict[int, float] = field(default_factory=dict)

    def join(self, upper: int, lower: int) -> None:
        self.below.setdefault(upper, []).append(lower)
        self.above.setdefault(lower, []).append(upper)

    def width(self, item: int) -> float:
        return WIDTH if item < self.count else THIN


def layout(reads: Sequence[Sequence[int]]) -> Drawing:
    """A drawing of boxes of which each reads earlier ones, given by their numbers."""
    depth = _depths(reads)
    rows: list[list[int]] = [[] for _ in range(max(depth, default=0) + 1)]
    for number, layer in enumerate(depth):
        rows[layer].append(number)
    layers = _Layers(len(depth), rows)
    ways = _ways(layers, reads, depth)
    for sweep in range(SWEEPS):
        _ordered(layers, downwards=sweep % 2 == 0)
    _placed(layers)
    left = min((x - layers.width(k) / 2 for k, x in layers.middle.items()), default=0.0)
    level = {item: layer for layer, row in enumerate(rows) for item in row}
    middle = {item: x - left for item, x in layers.middle.items()}
    corners = tuple((middle[k] - WIDTH / 2, level[k] * (HEIGHT + DROP)) for k in range(len(depth)))
    width = max((middle[k] + layers.width(k) / 2 for k in middle), default=0.0)
    lines = tuple(_line(way, middle, level) for way in ways)
    return Drawing(corners, lines, width, len(rows) * (HEIGHT + DROP) - DROP)


def _depths(reads: Sequence[Sequence[int]]) -> list[int]:
    """The layer of each box; what reads nothing moves down to its first reader, or all the way."""
    depth: list[int] = []
    for ones in reads:
        depth.append(1 + max((depth[one] for one in ones), default=-1))
    first: dict[int, int] = {}
    for number, ones in enumerate(reads):
        for one in ones:
            first[one] = min(first.get(one, depth[number]), depth[number])
    deepest = max(depth, default=0)
    return [
        first.get(number, deepest + 1) - 1 if not reads[number] else layer
        for number, layer in enumerate(depth)
    ]


def _ways(
    layers: _Layers, reads: Sequence[Sequence[int]], depth: Sequence[int]
) -> list[tuple[int, ...]]:
    """The items on each line; those of long lines that read the same box are shared."""
    ways = []
    count = layers.count
    known: dict[tuple[int, int], int] = {}
    for number, ones in enumerate(reads):
        for one in ones:
            way = [one]
            for layer in range(depth[one] + 1, depth[number]):
                if (one, layer) not in known:
                    known[one, layer] = count
                    layers.rows[layer].append(count)
                    layers.join(way[-1], count)
                    count += 1
                way.append(known[one, layer])
            layers.join(way[-1], number)
            ways.append((*way, number))
    return ways


def _ordered(layers: _Layers, *, downwards: bool) -> None:
    """Each layer in the order of the mean place of its neighbours in the one before."""
    near = layers.above if downwards else layers.below
    rows = layers.rows if downwards else layers.rows[::-1]
    for before, row in pairwise(rows):
        place = {item: float(k) for k, item in enumerate(before)}
        own = {item: float(k) for k, item in enumerate(row)}
        row.sort(key=lambda item: _mean([place[one] for one in near.get(item, ())], own[item]))


def _mean(values: Sequence[float], otherwise: float) -> float:
    return fmean(values) if values else otherwise


def _placed(layers: _Layers) -> None:
    """The middle of each item: side by side first, then near its neighbours as far as it goes."""
    for row in layers.rows:
        total = sum(layers.width(item) + GAP for item in row) - GAP
        x = -total / 2
        for item in row:
            layers.middle[item] = x + layers.width(item) / 2
            x += layers.width(item) + GAP
    for sweep in range(SWEEPS):
        near, rows = (layers.above, layers.rows)
        if sweep % 2:
            near, rows = layers.below, layers.rows[::-1]
        for row in rows:
            _moved(layers, row, near)


def _moved(layers: _Layers, row: Sequence[int], near: Mapping[int, Sequence[int]]) -> None:
    """Wishes met from the left and from the right; the mean of both keeps order and distance."""
    middle = layers.middle
    wish = [_mean([middle[one] for one in near.get(item, ())], middle[item]) for item in row]
    apart = [(layers.width(a) + layers.width(b)) / 2 + GAP for a, b in pairwise(row)]
    left, right = wish[:1], wish[-1:]
    for k in range(1, len(row)):
        left.append(max(wish[k], left[-1] + apart[k - 1]))
    for k in range(len(row) - 2, -1, -1):
        right.append(min(wish[k], right[-1] - apart[k]))
    right.reverse()
    for k, item in enumerate(row):
        middle[item] = (left[k] + right[k]) / 2


def _line(
    way: Sequence[int], middle: Mapping[int, float], level: Mapping[int, int]
) -> tuple[Point, ...]:
    """From the lower side of a box through the places between to the upper side of another."""
    step = HEIGHT + DROP
    points = [(middle[way[0]], level[way[0]] * step + HEIGHT)]
    for item in way[1:-1]:
        points += [(middle[item], level[item] * step), (middle[item], level[item] * step + HEIGHT)]
    return (*points, (middle[way[-1]], level[way[-1]] * step))
