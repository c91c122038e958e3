"""The nest: tile loops around tile statements, the form that every C-like target prints.

A ``Loop`` runs its body for each value of its variable, a ``Fit`` chooses between a body for whole
tiles and one for what is left at the border, and a ``Tile`` is one store over a register tile: some
of its variables unrolled, at most one (of the output, or of a reduction) across the lanes of
vectors. Reductions inside a tile keep their accumulators in registers. A nest has no choices left.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, TypeAlias

from photic.ir.dim import Dim, Symbol, Var
from photic.ir.index import Buffer, Store
from photic.ir.program import Layout

LoopKind = Literal["parallel", "serial"]


@dataclass(frozen=True, slots=True)
class Loop:
    """``for axis in 0 .. extent-1``; parallel loops stand outermost, one directly in another."""

    axis: Var
    kind: LoopKind
    body: tuple[Part, ...]


@dataclass(frozen=True, slots=True)
class Fit:
    """``whole`` if ``needed <= available``, else ``rest``."""

    needed: Dim
    available: Dim
    whole: tuple[Part, ...]
    rest: tuple[Part, ...]


@dataclass(frozen=True, slots=True)
class Lanes:
    """The variable that runs across vectors: ``count`` of them, ``width`` lanes each.

    ``valid`` elements are stored (all, if None). A reduction's variable has its own loop around the
    vectors, its last ones partly filled; ``reduced`` says so.
    """

    axis: Var
    width: int
    count: int
    valid: Dim | None
    reduced: bool


@dataclass(frozen=True, slots=True)
class Tile:
    """One store over all values of ``unrolled`` variables and lanes; other variables are open.

    ``inner`` names the reductions that are written out instead of looped.
    """

    store: Store
    unrolled: tuple[Var, ...]
    lanes: Lanes | None
    inner: frozenset[Var]


@dataclass(frozen=True, slots=True)
class Clip:
    """``symbol = min(size, available)`` around a body: the size of a tile at the border."""

    symbol: Symbol
    size: Dim
    available: Dim
    body: tuple[Part, ...]


Part: TypeAlias = Loop | Fit | Tile | Clip


@dataclass(frozen=True, slots=True)
class Nest:
    """One kernel: parameters with their layouts, and the loops. ``work`` estimates operations.

    The ``paired`` ones of what it has as scratch lie in pairs.
    """

    name: str
    parameters: tuple[Buffer, ...]
    layouts: tuple[Layout, ...]
    body: tuple[Part, ...]
    work: Dim
    scratch: tuple[Buffer, ...] = ()
    paired: tuple[Buffer, ...] = ()


def tiles(parts: tuple[Part, ...]) -> Iterator[Tile]:
    """Every tile statement, outside in."""
    for part in parts:
        if isinstance(part, Tile):
            yield part
        elif isinstance(part, Loop | Clip):
            yield from tiles(part.body)
        else:
            yield from tiles(part.whole + part.rest)


def parallel_loops(nest: Nest) -> tuple[list[Loop], tuple[Part, ...]]:
    """The parallel loops from the outside, and the body inside them."""
    loops: list[Loop] = []
    body = nest.body
    while len(body) == 1 and isinstance(body[0], Loop) and body[0].kind == "parallel":
        loops.append(body[0])
        body = body[0].body
    return loops, body
