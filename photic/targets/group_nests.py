"""Nests that the work-items of a group run together: who does what, and where they wait.

A nest is run so if it holds a product that a group computes (``group_products.py``), or if all its
work lies in loops whose turns do not need each other and what it has as scratch fits into the
memory of a group: then what a tile of rows shares is computed once, by all. Loops and conditions
are the same for all items; a tile's elements or a loop's turns are divided among them.

A barrier stands where a tile reads or writes what another may still write or read, and nowhere
else. Of two tiles nothing finer than buffers is known.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field, replace
from functools import lru_cache
from math import prod
from typing import Literal

from photic.codegen.tile import print_tile
from photic.codegen.words import Words, dim_text
from photic.forms.layout import aligned_bytes
from photic.ir import index as form
from photic.ir.dim import Dim, Var, bounds, product, variables
from photic.ir.index import Buffer
from photic.ir.nest import Fit, Loop, Nest, Part, Tile, parallel_loops, tiles
from photic.ir.program import ROW_MAJOR, Layout
from photic.targets.group_products import (
    GROUP,
    SHARED_BYTES,
    Unit,
    is_apart,
    print_product,
    products_of,
    shared_buffers,
)

MANY_NESTS = 4096  # that are remembered
MOST_VECTORS = 20  # of a tile that one item computes
MOST_ACROSS = 8  # of them side by side: more are left over of a product's tile
BARRIER = "__syncthreads();"
SHARED = "__shared__ __align__(16)"  # where the memory of a group is declared

How = Literal["by one", "together", "divided", "by the first"]
Wait = Literal["never", "between items", "always"]


@dataclass(frozen=True, slots=True)
class Turns:
    """What is done with each loop and each tile of a nest, in the order of printing."""

    loops: tuple[tuple[bool, Wait], ...]  # whether its turns are divided
    tiles: tuple[tuple[How, Wait], ...]
    is_shared: bool  # whether scratch lies in the memory of a group


@dataclass(slots=True)
class _Pending:
    """What may still be read and written by other items since the last barrier.

    ``earlier`` has what those may do that are at the group's item before.
    """

    read: set[Buffer] = field(default_factory=set)
    written: set[Buffer] = field(default_factory=set)
    earlier: set[Buffer] = field(default_factory=set)

    def copy(self) -> _Pending:
        return _Pending(set(self.read), set(self.written), set(self.earlier))

    def join(self, other: _Pending) -> None:
        self.read |= other.read
        self.written |= other.written
        self.earlier |= other.earlier

    def wait(self, reads: set[Buffer], writes: set[Buffer]) -> Wait:
        """Whether a barrier is needed before these; they are pending then."""
        found: Wait = "never"
        if reads & self.written or writes & (self.read | self.written):
            found = "always"
            self.read, self.written, self.earlier = set(), set(), set()
        elif (reads | writes) & self.earlier:
            found, self.earlier = "between items", set()
        self.read |= reads
        self.written |= writes
        return found


def _reads(tile: Tile) -> set[Buffer]:
    return form.buffers_read(tile.store)


def _touched(parts: tuple[Part, ...]) -> tuple[set[Buffer], set[Buffer]]:
    """The buffers that parts read, and those that they write."""
    inside = list(tiles(parts))
    return set[Buffer]().union(*map(_reads, inside)), {one.store.buffer for one in inside}


@dataclass(slots=True)
class _Walk:
    """The parts of a nest in the order of printing."""

    pending: _Pending
    loops: list[tuple[bool, Wait]] = field(default_factory=list)
    tiles: list[tuple[How, Wait]] = field(default_factory=list)

    def parts(self, parts: tuple[Part, ...], is_divided: bool) -> None:
        for part in parts:
            if isinstance(part, Tile):
                self.tile(part, is_divided)
            elif isinstance(part, Loop):
                self.loop(part, is_divided)
            elif isinstance(part, Fit):
                other = self.pending.copy()
                self.parts(part.whole, is_divided)
                self.pending, other = other, self.pending
                self.parts(part.rest, is_divided)
                self.pending.join(other)
            else:
                self.parts(part.body, is_divided)

    def loop(self, loop: Loop, is_divided: bool) -> None:
        reads, writes = _touched(loop.body)
        divides = not is_divided and _is_divisible(loop)
        if divides:
            self.loops.append((True, self.pending.wait(reads, writes)))
        else:
            self.loops.append((False, "never"))
            if not is_divided:  # the turn before
                self.pending.read |= reads
                self.pending.written |= writes
        self.parts(loop.body, is_divided or divides)

    def tile(self, tile: Tile, is_divided: bool) -> None:
        if is_divided:
            self.tiles.append(("by one", "never"))
        elif not is_apart(tile.store):
            wait = self.pending.wait(_reads(tile), {tile.store.buffer})
            self.tiles.append(("by the first", wait))
        elif found := products_of(tile):
            operands = {one.buffer for each in found for one in each.loads()}
            wait = self.pending.wait(operands, set())  # it has barriers of its own
            value = form.replaced(
                tile.store.value, {one.sum: form.zero(one.sum.dtype) for one in found}
            )
            rest = form.buffers_read(replace(tile.store, value=value))
            self.pending = _Pending(rest, {tile.store.buffer})
            self.tiles.append(("together", wait))
        else:
            self.tiles.append(("divided", self.pending.wait(_reads(tile), {tile.store.buffer})))


def _is_divisible(loop: Loop) -> bool:
    """True if no turn needs another, and one item can do all of a turn."""
    inside = list(tiles(loop.body))
    written = {one.store.buffer for one in inside}
    return all(
        any(loop.axis in variables(place) for place in one.store.index)
        and is_apart(one.store)
        and form.buffers_read(one.store) & written <= {one.store.buffer}
        and _vectors(one) <= MOST_VECTORS
        and (one.lanes is None or one.lanes.count <= MOST_ACROSS)
        for one in inside
    )


def _vectors(tile: Tile) -> int:
    """Registers that one item needs for all of a tile."""
    rows = prod(bounds(axis.extent)[1] for axis in tile.unrolled)
    return rows * (tile.lanes.count if tile.lanes else 1)


@lru_cache(maxsize=MANY_NESTS)
def turns_of(nest: Nest) -> Turns | None:
    """How a group runs a nest together; None if each item runs it alone."""
    body = parallel_loops(nest)[1]
    inside = list(tiles(body))
    has_product = any(map(products_of, inside))
    bytes_ = sum(aligned_bytes(one, ROW_MAJOR) for one in nest.scratch)
    is_shared = bytes_ + _product_bytes(inside) <= SHARED_BYTES
    if not has_product and not (nest.scratch and is_shared):
        return None
    walk = _Walk(_Pending(earlier=set(nest.scratch)))
    walk.parts(body, False)
    if not has_product and any(how != "by one" for how, _ in walk.tiles):
        return None
    return Turns(tuple(walk.loops), tuple(walk.tiles), bool(nest.scratch) and is_shared)


def _product_bytes(inside: Sequence[Tile]) -> int:
    return sum(_bytes(one) for one in shared_buffers(inside, ()))


def _bytes(buffer: Buffer) -> int:
    return aligned_bytes(buffer, ROW_MAJOR)


# --- printing -------------------------------------------------------------------------------


@dataclass(slots=True)
class GroupWords(Words):
    """Words for a nest that a group runs together.

    The first block is the function's, at whose beginning the memory of the group is declared.
    """

    turns: Turns = Turns((), (), False)
    shared: tuple[Buffer, ...] = ()
    units: tuple[Unit, ...] = ()
    at: list[int] = field(default_factory=lambda: [0, 0])

    @contextmanager
    def block(self, head: str, end: str = "}") -> Iterator[None]:
        """As of all words."""
        is_first = not self.lines
        with Words.block(self, head, end):
            for one in self.shared if is_first else ():
                self.line(f"{SHARED} char {one.name}[{_bytes(one)}];")
            yield

    def loop(self, name: str, extent: Dim) -> AbstractContextManager[None]:
        """A loop of the nest; those of tiles are printed into words of their own."""
        is_divided, wait = self.turns.loops[self.at[0]]
        self.at[0] += 1
        self.wait(wait)
        if not is_divided:
            return Words.loop(self, name, extent)
        head = f"int64_t {name} = THREAD; {name} < {dim_text(extent)}; {name} += {GROUP}"
        return self.block(f"for ({head})")

    def special(self, tile: Tile, layouts: Mapping[Buffer, Layout]) -> bool:
        """Every tile: as the turns say."""
        how, wait = self.turns.tiles[self.at[1]]
        self.at[1] += 1
        self.wait(wait)
        plain = Words(self.lines, self.indent, self.needs, self.numbers)
        if how == "by one":
            print_tile(tile, dict(layouts), plain)
        elif how == "by the first":
            with plain.block("if (THREAD == 0)"):
                print_tile(tile, dict(layouts), plain)
        elif how == "together":
            rest, more = print_product(tile, layouts, plain, self.units)
            self.line(BARRIER)
            divided(rest, {**layouts, **more}, plain)
        else:
            divided(tile, dict(layouts), plain)
        return True

    def wait(self, when: Wait) -> None:
        """A barrier where one is needed."""
        if when != "never":
            self.line(("if (item > begin) " if when == "between items" else "") + BARRIER)


def divided(tile: Tile, layouts: dict[Buffer, Layout], words: Words) -> None:
    """The elements of a tile, each by one item."""
    lanes, limits = tile.lanes, list[tuple[Var, Dim]]()
    digits = [(axis, axis.extent) for axis in tile.unrolled]
    if lanes is not None and not lanes.reduced:
        digits.append((lanes.axis, lanes.width * lanes.count))
        limits += [(lanes.axis, lanes.valid)] if lanes.valid is not None else []
        lanes = None
    count = product(extent for _, extent in digits)
    with words.block(f"for (int one = THREAD; one < {dim_text(count)}; one += {GROUP})"):
        decode(words, digits, "one")
        alone = Tile(tile.store, (), lanes, tile.inner)
        conditions = [f"{axis.name} < {dim_text(limit)}" for axis, limit in limits]
        with words.block(f"if ({' && '.join(conditions)})" if conditions else ""):
            print_tile(alone, layouts, words)


def decode(words: Words, digits: Sequence[tuple[Var, Dim]], number: str) -> None:
    """Variables as the digits of a number, the last counting least."""
    inner: Dim = 1
    for k, (axis, extent) in reversed(list(enumerate(digits))):
        text = number if inner == 1 else f"{number} / {dim_text(inner)}"
        text = text if k == 0 else f"({text}) % {dim_text(extent)}"
        words.line(f"const int64_t {axis.name} = {text};")
        inner = inner * extent


def words_for(units: tuple[Unit, ...], nest: Nest) -> Words:
    """What a nest is printed into by a machine whose groups have such units for products."""
    turns = turns_of(nest)
    if turns is None:
        return Words()
    shared = tuple(shared_buffers(list(tiles(nest.body)), units))
    return GroupWords(turns=turns, shared=shared, units=units)
