"""The graph of a program as pictures: boxes in layers, a picture for each part of a large graph."""

from __future__ import annotations

from collections.abc import Sequence

from photic.cli.graph_boxes import EARLIER, Box, parts_of
from photic.cli.graph_layout import HEIGHT, WIDTH, Point, layout
from photic.cli.page_parts import collapsed, note
from photic.cli.page_svg import large, text, titled
from photic.cli.table import counted
from photic.storage.making import Making

MARGIN = 8.0
ROUND = 6  # of the corners of a box
CHARACTERS = 25  # of a line in a box
FOOT_ONE, FOOT_TWO = 17.0, 32.0  # of the two lines of text in a box
LEGEND = (
    ("source", "input, state, constant, count"),
    ("element", "element by element"),
    ("reduce", "reduction"),
    ("copy", "copy, cast"),
    ("loop", "loop and its results"),
    ("output", "output"),
    ("earlier", "from an earlier part"),
)


def graph_picture(making: Making) -> str:
    """The pictures, the first of them open; a note where the graph is too large to be kept."""
    if not making.nodes:
        return note("The graph is not kept: it has too many nodes.")
    parts = parts_of(making)
    count = sum(box.kind != EARLIER for part in parts for box in part)
    words = (
        f"{len(making.nodes)} nodes in {count} boxes, from the top down. Chains are folded, "
        "numbers stand in the boxes that read them; a box tells all that it does under the pointer."
    )
    known = [one for one in LEGEND if len(parts) > 1 or one[0] != EARLIER]
    legend = "".join(f'<span class="{kind}">{words}</span>' for kind, words in known)
    head = note(words) + f'<div class="legend">{legend}</div>'
    if len(parts) == 1:
        return head + picture(parts[0])
    return head + "".join(
        collapsed(
            f"part {number} of {len(parts)}: {counted(len(part), 'box', 'boxes')}",
            picture(part),
            is_open=number == 1,
        )
        for number, part in enumerate(parts, 1)
    )


def picture(boxes: Sequence[Box]) -> str:
    """The drawing of some boxes."""
    drawn = layout([box.reads for box in boxes])
    lines = [_line(points) for points in drawn.lines]
    marks = [_box(box, corner) for box, corner in zip(boxes, drawn.corners, strict=True)]
    inside = f'<g transform="translate({MARGIN:.0f} {MARGIN:.0f})">{"".join([*lines, *marks])}</g>'
    size = {"width": drawn.width + 2 * MARGIN, "height": drawn.height + 2 * MARGIN}
    return large("The graph", [inside], **size)


def _box(box: Box, corner: Point) -> str:
    x, y = corner
    place = f'x="{x:.1f}" y="{y:.1f}" width="{WIDTH:.0f}" height="{HEIGHT:.0f}" rx="{ROUND}"'
    mark = titled(f'<rect class="box {box.kind}" {place}', box.title)
    middle = x + WIDTH / 2
    first = text(middle, y + FOOT_ONE, _cut(box.first))
    return f"<g>{mark}{first}{text(middle, y + FOOT_TWO, _cut(box.second))}</g>"


def _cut(words: str) -> str:
    return words if len(words) <= CHARACTERS else words[: CHARACTERS - 1] + "…"


def _line(points: Sequence[Point]) -> str:
    """A curve that leaves and reaches its points straight down."""
    (x, y), path = points[0], [f"M{points[0][0]:.1f} {points[0][1]:.1f}"]
    for nx, ny in points[1:]:
        half = (y + ny) / 2
        path.append(f"C{x:.1f} {half:.1f} {nx:.1f} {half:.1f} {nx:.1f} {ny:.1f}")
        x, y = nx, ny
    return f'<path class="edge" d="{"".join(path)}"/>'
