"""Nests whose parallel items need only what the same item made before, as one nest.

Before: ``parallel i: t[i] = sum k: x[i, k]`` and ``parallel i: y[i, j] = x[i, j]*t[i]``. After:
``parallel i: {t = sum k: x[i, k]; y[i, j] = x[i, j]*t}``. What an item reads twice is near the
second time, what only it reads is scratch, and nobody waits in between. Parallel loops are numbers
of common digits where their extents allow it; what is left of a side is a serial loop around it.

No sum changes its order. Joined are only nests of which each access to what one writes and another
touches provably stays in the part of the item; nests whose items each read much of what others read
too stay apart, for it would not stay in a cache.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import permutations
from typing import TypeAlias

from photic.forms.item_parts import Own, Touch, own_part, shared_bytes, touches
from photic.forms.nest_parts import accessing, moved
from photic.forms.places import place_of
from photic.ir import index as form
from photic.ir.dim import Dim, Var, bounds, exact_div, product, var
from photic.ir.index import Access, Buffer
from photic.ir.nest import Clip, Fit, Loop, Nest, Part, parallel_loops, tiles
from photic.ir.program import ROW_MAJOR, Layout

MOST_LOOPS = 3  # of which every order is tried
SCRATCH_SHARE = 2  # of the cache that scratch may take: one in so many

Forms: TypeAlias = dict[str, tuple[Buffer, Layout]]
Parts: TypeAlias = tuple[Part, ...]


@dataclass(frozen=True, slots=True)
class Limits:
    """Parallel items that are enough, and the bytes of a core's cache."""

    items: int
    bytes: int


@dataclass(slots=True)
class _Chain:
    """Nests joined so far, by number."""

    members: list[int]
    nest: Nest


def joined(
    nests: Sequence[Nest], private: Collection[str], limits: Limits
) -> list[tuple[tuple[int, ...], Nest]]:
    """The nests, which call buffers by common names, some of them joined; with their numbers.

    ``private`` buffers are touched by none but these nests.
    """
    chains: list[_Chain] = []
    for number, nest in enumerate(nests):
        for chain in reversed(chains):
            made = _both(chain, nest, limits)
            if made is not None:
                chain.members.append(number)
                chain.nest = made
                break
            if _conflict(chain.nest, nest):
                chains.append(_Chain([number], nest))
                break
        else:
            chains.append(_Chain([number], nest))
    found = []
    for one in chains:
        others = {name for each in chains if each is not one for name in _names(each.nest)}
        own = [name for name in sorted(_names(one.nest)) if name in private and name not in others]
        found.append((tuple(one.members), _with_scratch(one.nest, own, limits)))
    return found


def _names(nest: Nest) -> set[str]:
    return {one.name for one in nest.parameters}


def _written(parts: Parts) -> set[str]:
    return {one.store.buffer.name for one in tiles(parts)}


def _read(parts: Parts) -> set[str]:
    return {each.name for one in tiles(parts) for each in form.buffers_read(one.store)}


def _conflict(first: Nest, second: Nest) -> bool:
    """True if one writes what the other touches."""
    written = _written(first.body) & _names(second), _written(second.body) & _names(first)
    return any(written)


# --- common digits --------------------------------------------------------------------------


def _digits(left: Sequence[Dim], right: Sequence[Dim]) -> tuple[list[Dim], list[list[list[Dim]]]]:
    """The first digits that numbers of these radices have in common, and all digits of each radix.

    Before: 80000; 10000, 8. After: 10000, 8; (10000, 8); (10000), (8).
    """
    sides, rests = [[*left], [*right]], [left[0], right[0]]
    digits: list[list[list[Dim]]] = [[[]], [[]]]
    shared = list[Dim]()

    def take(side: int, size: Dim) -> None:
        digits[side][-1].append(size)
        rest = exact_div(rests[side], size)
        assert rest is not None, "a digit divides its radix"
        if rest == 1:
            sides[side].pop(0)
            rest = sides[side][0] if sides[side] else 1
            digits[side].append([])
        rests[side] = rest

    while sides[0] and sides[1]:
        a, b = rests
        size = a if exact_div(b, a) is not None else b if exact_div(a, b) is not None else 1
        if size == 1:
            break
        shared.append(size)
        take(0, size)
        take(1, size)
    for side in (0, 1):
        while sides[side]:
            take(side, rests[side])
    return shared, [one[:-1] for one in digits]


def _inside(
    loops: Sequence[Loop], digits: Sequence[Sequence[Dim]], common: Sequence[Var], parts: Parts
) -> Parts:
    """What loops do, inside common loops for their first digits: others are serial loops."""
    rest, inner = list(common), list[Var]()
    for loop, sizes in zip(loops, digits, strict=True):
        value: Dim = 0
        for k, size in enumerate(sizes):
            own = Var(f"{loop.axis.name}_d{len(inner)}{k}", size)
            one = rest.pop(0) if rest else own
            inner += [one] if one is own else []
            value = value * size + var(one.name, one.extent)
        parts = tuple(moved(part, loop.axis, value) for part in parts)
    for one in reversed(inner):
        parts = (Loop(one, "serial", parts),)
    return parts


# --- two nests ------------------------------------------------------------------------------


def _both(chain: _Chain, second: Nest, limits: Limits) -> Nest | None:
    """The second behind the chain in each item, as one nest; None where that is not right."""
    first = chain.nest
    if not _written(first.body) & _read(second.body) or not (_is_plain(first.body + second.body)):
        return None
    (loops, body), (others, other) = parallel_loops(first), parallel_loops(second)
    buffers = _forms((first, second))
    if not loops or not 0 < len(others) <= MOST_LOOPS or buffers is None:
        return None
    table = {one: replace(one, name=f"{one.name}_{len(chain.members)}") for one in second.scratch}
    bodies = [_seen(parts, buffers, table) for parts in (body, other)]
    extents = [one.axis.extent for one in loops]
    for order in permutations(others):
        shared, digits = _digits(extents, [one.axis.extent for one in order])
        for count in range(len(shared), 0, -1):
            is_all = all(sum(map(len, one)) == count for one in digits)
            if not is_all and bounds(product(shared[:count]))[0] < limits.items:
                break
            name = f"both{len(chain.members)}_"
            common = [Var(f"{name}{k}", extent) for k, extent in enumerate(shared[:count])]
            sides = [
                _inside(own, each, common, parts)
                for own, each, parts in zip((loops, order), digits, bodies, strict=True)
            ]
            if _is_right(sides, common, limits):
                return _made((first, second), buffers, common, sides, table)
    return None


def _is_plain(parts: Parts) -> bool:
    """True for parts without clips that write at no place of data."""
    return all(
        not isinstance(part, Clip)
        and _is_plain(part.body if isinstance(part, Loop) else ())
        and _is_plain(part.whole + part.rest if isinstance(part, Fit) else ())
        for part in parts
    ) and not any(any(form.data_in(one.store.index)) for one in tiles(parts))


def _forms(nests: Sequence[Nest]) -> Forms | None:
    """Each parameter as all of them can see it: flat if they see it in different forms."""
    found: Forms = {}
    for nest in nests:
        for one, layout in zip(nest.parameters, nest.layouts, strict=True):
            known = found.setdefault(one.name, (one, layout))
            if known == (one, layout):
                continue
            if {known[1], layout} != {ROW_MAJOR}:
                return None
            found[one.name] = Buffer(one.name, (product(one.shape),), one.dtype), ROW_MAJOR
    return found


def _seen(parts: Parts, buffers: Forms, table: dict[Buffer, Buffer]) -> Parts:
    """Parts with buffers in these forms, and scratch under these names."""

    def seen(access: Access) -> Access:
        if access.buffer in table:
            return Access(table[access.buffer], access.index)
        known = buffers.get(access.buffer.name, (access.buffer, ROW_MAJOR))[0]
        return access if known == access.buffer else Access(known, (place_of(access),))

    return tuple(accessing(part, seen) for part in parts)


def _is_right(sides: Sequence[Parts], common: Sequence[Var], limits: Limits) -> bool:
    """True if an item needs of others nothing that both sides touch, and little in all."""
    found = [_by_buffer(side) for side in sides]
    for name in found[0].keys() & found[1].keys():
        both = found[0][name] + found[1][name]
        if any(one.is_write for one in both) and own_part(both, common) is None:
            return False
    again = [sum(shared_bytes(one, common) for one in side.values()) for side in found]
    return 0 in again or sum(again) <= limits.bytes


def _by_buffer(parts: Parts) -> dict[str, list[Touch]]:
    found: dict[str, list[Touch]] = {}
    for one in touches(parts):
        found.setdefault(one.access.buffer.name, []).append(one)
    return found


def _made(
    nests: tuple[Nest, Nest],
    buffers: Forms,
    common: Sequence[Var],
    sides: Sequence[Parts],
    table: dict[Buffer, Buffer],
) -> Nest:
    first, second = nests
    return Nest(
        first.name,
        tuple(one for one, _ in buffers.values()),
        tuple(layout for _, layout in buffers.values()),
        _in_parallel(common, sum(sides, ())),
        first.work + second.work,
        (*first.scratch, *table.values()),
        (*first.paired, *(table[one] for one in second.paired)),
    )


def _in_parallel(axes: Sequence[Var], parts: Parts) -> Parts:
    for one in reversed(axes):
        parts = (Loop(one, "parallel", parts),)
    return parts


# --- scratch --------------------------------------------------------------------------------


def _with_scratch(nest: Nest, private: Iterable[str], limits: Limits) -> Nest:
    """A nest with private buffers as scratch, where each item has a part of them for itself."""
    loops, body = parallel_loops(nest)
    if not loops or not _is_plain(body):
        return nest
    common, found, room = [one.axis for one in loops], _by_buffer(body), limits.bytes
    lays = {one.name: layout for one, layout in zip(nest.parameters, nest.layouts, strict=True)}
    own: dict[str, tuple[Own, Buffer]] = {}
    for name in private:
        part = own_part(found[name], common) if lays[name] == ROW_MAJOR else None
        if part is not None:
            small = Buffer(name, (part.unit,), found[name][0].access.buffer.dtype)
            room -= SCRATCH_SHARE * bounds(part.unit)[1] * small.dtype.bytes
            if room < 0:
                return nest
            own[name] = part, small

    def seen(access: Access) -> Access:
        if access.buffer.name not in own:
            return access
        part, small = own[access.buffer.name]
        return Access(small, (place_of(access) - part.base(),))

    kept = [one for one in nest.parameters if one.name not in own]
    return replace(
        nest,
        parameters=tuple(kept),
        layouts=tuple(lays[one.name] for one in kept),
        body=_in_parallel(common, tuple(accessing(part, seen) for part in body)),
        scratch=(*nest.scratch, *(small for _, small in own.values())),
    )
