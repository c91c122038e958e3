"""How a program came to be: its graph, where its buffers lie, what a search tried.

For people only: nothing that runs depends on it. It has a form as JSON, in which a record is the
list of its fields; ``parsed_making`` reads what ``making_text`` wrote and refuses all else.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from typing import Any, TypeVar

MOST_NODES = 20_000  # of a graph that is kept
MOST_TRIED = 50_000  # candidates that are kept, the first ones


@dataclass(frozen=True, slots=True)
class GraphNode:
    """A node: what it does, its dtype and shape, its name or value, the numbers of its operands."""

    op: str
    kind: str
    label: str
    reads: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Placed:
    """A temporary buffer: its place in the arena in bytes, the first and last step that need it."""

    name: str
    offset: int
    size: int
    first: int
    last: int


@dataclass(frozen=True, slots=True)
class Tried:
    """A candidate of a region: when it was raced, how fast it was, what became of it.

    ``elapsed`` are seconds since the search began; ``seconds`` those of one call, if timed;
    ``kind`` the choice of values that it stands for; ``why`` tells more of a rejection.
    """

    region: str
    number: int
    elapsed: float
    seconds: float | None
    kind: str
    kernels: int
    verdict: str
    why: str


@dataclass(frozen=True, slots=True)
class Grown:
    """An e-graph after a step of the rules: its operations, and how often each rule matched."""

    region: str
    step: int
    rows: int
    stopped: str
    matches: tuple[tuple[str, int], ...]


@dataclass(frozen=True, slots=True)
class Making:
    """All of it. ``regions`` says for kernels that a search was about, now or earlier, of which
    region they are, and which choice of values led to them (as ``kind`` of a candidate).

    ``outputs`` are the numbers of nodes with the names that users know; ``steps`` name what the
    program runs, in order; ``matches`` count how often each rule found something, in all regions.
    """

    nodes: tuple[GraphNode, ...] = ()
    outputs: tuple[tuple[str, int], ...] = ()
    steps: tuple[str, ...] = ()
    placed: tuple[Placed, ...] = ()
    regions: tuple[tuple[str, str, str], ...] = ()
    tried: tuple[Tried, ...] = ()
    grown: tuple[Grown, ...] = ()
    matches: tuple[tuple[str, int], ...] = ()
    candidates: int = 0
    seconds: float = 0.0
    stopped: str = "no search"


def making_text(making: Making) -> str:
    """As JSON."""
    table = {one.name: _plain(getattr(making, one.name)) for one in fields(making)}
    return json.dumps(table, separators=(",", ":"))


def parsed_making(text: str) -> Making:
    """What ``making_text`` wrote. Raises ValueError for all else."""
    try:
        table = json.loads(text)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
    if not isinstance(table, dict) or table.keys() != READERS.keys():
        raise ValueError(f"expected an object with the fields {', '.join(READERS)}")
    found = Making(**{name: read(table[name]) for name, read in READERS.items()})
    count = len(found.nodes)
    numbers = [number for _, number in found.outputs]
    if any(not 0 <= one < count for one in numbers):
        raise ValueError("an output is no node")
    if any(one >= number for number, node in enumerate(found.nodes) for one in node.reads):
        raise ValueError("a node reads one that comes later")
    return found


def _plain(value: object) -> object:
    """Records as lists of their fields."""
    if isinstance(value, tuple):
        return [_plain(one) for one in value]
    if isinstance(value, GraphNode | Placed | Tried | Grown):
        return [_plain(getattr(value, one.name)) for one in fields(value)]
    return value


# --- reading --------------------------------------------------------------------------------

Read = Callable[[object], object]
T = TypeVar("T")


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise ValueError(f"{value!r} is no text")
    return value


def _count(value: object) -> int:
    if type(value) is not int or value < 0:
        raise ValueError(f"{value!r} is no count")
    return value


def _number(value: object) -> float:
    match value:
        case bool():
            pass
        case int() | float() if 0 <= value < math.inf:
            return float(value)
    raise ValueError(f"{value!r} is no number of seconds")


def _maybe(value: object) -> float | None:
    return None if value is None else _number(value)


def _rows(read: Callable[[object], T]) -> Callable[[object], tuple[T, ...]]:
    def rows(value: object) -> tuple[T, ...]:
        if not isinstance(value, list):
            raise ValueError(f"{value!r} is no list")
        return tuple(map(read, value))

    return rows


def _record(make: Callable[..., T], *reads: Read) -> Callable[[object], T]:
    def record(value: object) -> T:
        if not isinstance(value, list) or len(value) != len(reads):
            raise ValueError(f"{value!r} is no list of {len(reads)}")
        return make(*(read(one) for read, one in zip(reads, value, strict=True)))

    return record


def _pair(first: object, second: object) -> tuple[object, object]:
    return first, second


COUNTED = _rows(_record(_pair, _text, _count))
READERS: Mapping[str, Callable[[object], Any]] = {
    "nodes": _rows(_record(GraphNode, _text, _text, _text, _rows(_count))),
    "outputs": COUNTED,
    "steps": _rows(_text),
    "placed": _rows(_record(Placed, _text, _count, _count, _count, _count)),
    "regions": _rows(_record(lambda *each: each, _text, _text, _text)),
    "tried": _rows(_record(Tried, _text, _count, _number, _maybe, _text, _count, _text, _text)),
    "grown": _rows(_record(Grown, _text, _count, _count, _text, COUNTED)),
    "matches": COUNTED,
    "candidates": _count,
    "seconds": _number,
    "stopped": _text,
}
"""How each field of ``Making`` is read."""
