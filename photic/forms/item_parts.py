"""Which part of a buffer an item of parallel loops touches, as far as it can be proven.

Where every access of a buffer lies at ``sum of step*loop + rest`` with ``0 <= rest < unit``, and no
two items have a place in common, each item has a part of its own. Places are those of row-major
buffers. What is not proven is said to be shared.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from photic.forms.places import place_of
from photic.ir import index as form
from photic.ir.dim import (
    Dim,
    Var,
    at_most,
    bounds,
    coefficient_of,
    exact_div,
    product,
    substitute,
    var,
    variables,
)
from photic.ir.index import Access
from photic.ir.nest import Fit, Loop, Part, Tile

Fact: TypeAlias = Var | tuple[Dim, Dim]
"""A variable from 0 to its extent, or the first at most the second."""


@dataclass(frozen=True, slots=True)
class Touch:
    """An access of a tile, and what holds where it stands, from the outside."""

    access: Access
    facts: tuple[Fact, ...]
    is_write: bool


@dataclass(frozen=True, slots=True)
class Own:
    """Each item's own part: so many elements from where the steps of the loops lead."""

    steps: Mapping[Var, Dim]
    unit: Dim

    def base(self) -> Dim:
        """The place of the part's first element."""
        total: Dim = 0
        for axis, step in self.steps.items():
            total = total + step * _value(axis)
        return total


def touches(parts: Iterable[Part], facts: tuple[Fact, ...] = ()) -> Iterator[Touch]:
    """Every access of parts without clips, those inside indices from data included."""
    for part in parts:
        if isinstance(part, Tile):
            yield from _of_tile(part, facts)
        elif isinstance(part, Loop):
            yield from touches(part.body, (*facts, part.axis))
        else:
            assert isinstance(part, Fit), "nests with clips are not asked about"
            yield from touches(part.whole, (*facts, (part.needed, part.available)))
            yield from touches(part.rest, facts)


def _of_tile(tile: Tile, facts: tuple[Fact, ...]) -> Iterator[Touch]:
    store, lanes = tile.store, tile.lanes
    inner = [*tile.unrolled, *form.bound(store)]
    if lanes is not None and not lanes.reduced:
        axis = lanes.axis
        inner.append(axis)
        if lanes.valid is not None:
            facts = (*facts, axis, (_value(axis) + 1, lanes.valid))
            inner.pop()
    facts = (*facts, *inner)
    yield Touch(Access(store.buffer, store.index), facts, True)
    for one in form.walk_store(store):
        if isinstance(one.attribute, Access):
            yield Touch(one.attribute, facts, False)


def own_part(found: Sequence[Touch], loops: Sequence[Var]) -> Own | None:
    """The part of a buffer that an item has for itself, given all that is done with the buffer."""
    if any(0 in one.access.buffer.shape for one in found):  # all its places are one
        return None
    places = [place_of(one.access) for one in found]
    steps = [tuple(coefficient_of(place, axis) for axis in loops) for place in places]
    if len(set(steps)) != 1 or None in steps[0]:
        return None
    known = {axis: step for axis, step in zip(loops, steps[0], strict=True) if step is not None}
    ordered = sorted(known, key=lambda axis: bounds(known[axis])[0])
    if not ordered or not at_most(1, known[ordered[0]]):
        return None
    for inner, outer in itertools.pairwise(ordered):
        if not at_most(known[inner] * inner.extent, known[outer]):
            return None
    own = Own(known, known[ordered[0]])
    base = own.base()
    is_own = all(
        _is_inside(p - base, own.unit, x.facts) for p, x in zip(places, found, strict=True)
    )
    return own if is_own else None


def shared_bytes(found: Sequence[Touch], loops: Sequence[Var]) -> int:
    """Bytes that one item after another touches anew of a buffer; none of one that moves on."""
    buffer, place = found[0].access.buffer, place_of(found[0].access)
    moving = [axis for axis in loops if coefficient_of(place, axis) != 0]
    if loops[-1] in moving:
        return 0
    whole = bounds(product(buffer.shape))[1] * buffer.dtype.bytes
    return whole // max(1, bounds(product(axis.extent for axis in moving))[1])


def _is_inside(place: Dim, unit: Dim, facts: Sequence[Fact]) -> bool:
    """True if ``0 <= place < unit`` wherever the facts hold."""
    low, high = -_highest(-place, facts), _highest(place, facts)
    return at_most(0, low) and at_most(high + 1, unit)


def _highest(value: Dim, facts: Sequence[Fact]) -> Dim:
    """What a value is at most, variables of the facts gone from it as far as that can be."""
    for one in reversed(facts):
        if isinstance(one, Var):
            step = coefficient_of(value, one)
            if step is not None and at_most(0, step):
                value = substitute(value, {one: one.extent - 1})
            elif step is not None and at_most(step, 0):
                value = substitute(value, {one: 0})
        else:
            needed, available = one
            for axis in sorted(variables(needed), key=str):
                step, each = coefficient_of(value, axis), coefficient_of(needed, axis)
                times = exact_div(step, each) if step and each else None
                if times is not None and at_most(1, times):
                    value = value + times * (available - needed)
                    break
    return value


def _value(axis: Var) -> Dim:
    return var(axis.name, axis.extent)
