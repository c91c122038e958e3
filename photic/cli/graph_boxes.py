"""The graph of a program as boxes to draw: chains folded, numbers written into their readers.

A chain is a row of nodes of which each is the only reader of the one before, and reads nothing
else but constants of one element. A graph of many boxes is cut into parts, in order; what a part
reads of earlier ones stands in it as a box of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from photic.storage.making import GraphNode, Making

MOST_BOXES = 200  # of a part: more cannot be read
SOURCES = frozenset({"input", "state", "constant", "iota", "carried", "sliced"})
SHOWN_OPS = 3  # of a chain
KINDS = {"sum": "reduce", "max": "reduce", "contiguous": "copy", "scan": "loop", "item": "loop"}
OUTPUT, EARLIER = "output", "earlier"


@dataclass(frozen=True, slots=True)
class Box:
    """A box: its kind (for its colour), two lines of text, all that it stands for, what it reads.

    ``reads`` are places of boxes in the same part, always earlier ones.
    """

    kind: str
    first: str
    second: str
    title: str
    reads: tuple[int, ...]


def parts_of(making: Making) -> Sequence[Sequence[Box]]:
    """The boxes of a graph, in parts of not too many."""
    boxes = boxes_of(making)
    return [_part(boxes, start) for start in range(0, len(boxes), MOST_BOXES)]


def boxes_of(making: Making) -> Sequence[Box]:
    """All boxes; what a box reads lies before it."""
    nodes = making.nodes
    readers = _readers(nodes)
    inlined = {number for number, one in enumerate(nodes) if one.op == "constant" and one.label}
    shown = {number for _, number in making.outputs}
    place: dict[int, int] = {}
    rows: list[list[int]] = []
    for number, node in enumerate(nodes):
        if number in inlined and number not in shown:
            continue
        reads = [one for one in node.reads if one not in inlined]
        alone = len(reads) == 1 and len(readers[reads[0]]) == 1 and reads[0] not in shown
        if alone and _is_plain(nodes[reads[0]]) and _is_plain(node):
            place[number] = place[reads[0]]
            rows[place[number]].append(number)
        else:
            place[number] = len(rows)
            rows.append([number])
    boxes = [_box(nodes, row, inlined, place) for row in rows]
    for name, number in making.outputs:
        boxes.append(Box(OUTPUT, name, nodes[number].kind, f"output {name}", (place[number],)))
    return boxes


def _is_plain(node: GraphNode) -> bool:
    """Whether a node may be one of a chain."""
    return node.op not in SOURCES and KINDS.get(node.op) != "loop"


def _readers(nodes: Sequence[GraphNode]) -> list[list[int]]:
    found: list[list[int]] = [[] for _ in nodes]
    for number, node in enumerate(nodes):
        for one in node.reads:
            found[one].append(number)
    return found


def _box(
    nodes: Sequence[GraphNode], row: Sequence[int], inlined: set[int], place: dict[int, int]
) -> Box:
    """The box of a chain."""
    last = nodes[row[-1]]
    words = [_words(nodes, number, inlined, str) for number in row]
    few = [_words(nodes, number, inlined, _rounded) for number in row[:SHOWN_OPS]]
    first = ", ".join(few) + (f", {len(row) - SHOWN_OPS} more" * (len(row) > SHOWN_OPS))
    kinds = {_kind(nodes[number]) for number in row}
    kind = "reduce" if "reduce" in kinds else _kind(last)
    title = "\n".join(f"{nodes[n].kind} = {text}" for n, text in zip(row, words, strict=True))
    own = place[row[0]]
    reads = {place[one] for n in row for one in nodes[n].reads if one in place}
    return Box(kind, first, last.kind, title, tuple(sorted(reads - {own})))


def _kind(node: GraphNode) -> str:
    return "source" if node.op in SOURCES else KINDS.get(node.op, "element")


def _rounded(number: str) -> str:
    """A number of a few digits; other texts as they are."""
    try:
        return f"{float(number):.4g}"
    except ValueError:
        return number


def _words(
    nodes: Sequence[GraphNode], number: int, inlined: set[int], say: Callable[[str], str]
) -> str:
    """``mul 0.5``, ``sum axis 1``, or the name of a source."""
    node = nodes[number]
    if node.op in SOURCES:
        return f"{node.op} {node.label}".rstrip()
    numbers = [say(nodes[one].label) for one in node.reads if one in inlined]
    return " ".join([node.op, *numbers, *([node.label] if node.label else [])])


def _part(boxes: Sequence[Box], start: int) -> Sequence[Box]:
    """The boxes from ``start`` on, with one for each earlier box that they read."""
    inside = boxes[start : start + MOST_BOXES]
    earlier = sorted({one for box in inside for one in box.reads if one < start})
    stubs = list(_stubs(boxes, earlier))
    place = {number: k for k, number in enumerate(earlier)}
    place |= {start + k: len(stubs) + k for k in range(len(inside))}
    moved = [replace(one, reads=tuple(place[n] for n in one.reads)) for one in inside]
    return [*stubs, *moved]


def _stubs(boxes: Sequence[Box], numbers: Sequence[int]) -> Iterator[Box]:
    for number in numbers:
        yield replace(boxes[number], kind=EARLIER, reads=())
