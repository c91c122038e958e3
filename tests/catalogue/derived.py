"""Cases that an entry does not give, made from one that it does: other sizes, other layouts.

A kind of case is a size 0, a size 1, an odd size, thousands of elements, an array of rank 0, a view
with strides, arrays of two shapes that broadcast. The model is the entry's first small case; axes
of it that have one size are thought to belong together, and change together, one group at a time.
The values of an array that changes are drawn from those it had. What an entry cannot have is said
in ``kinds.py``, with the reason.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from itertools import combinations, islice

import numpy as np
from catalogue.entry import Array, Case, Entry
from catalogue.inputs import ODD, strided

NOTHING, ONE, ODDS, LARGE, SCALAR, VIEW = "size 0", "size 1", "odd", "large", "rank 0", "view"
BROADCAST = "broadcast"
MANY = 2048  # elements: past every vector, tile and unrolled loop
SMALL = 2000  # elements of a model
LOOKED_THROUGH = 12  # cases of an entry


def kinds_of(case: Case) -> set[str]:
    """Which kinds a case is of."""
    extents = [extent for one in case for extent in one.shape]
    found = {
        NOTHING: any(one.size == 0 for one in case),
        ONE: any(one.ndim > 0 and one.size == 1 for one in case),
        ODDS: any(extent > 1 and extent % 2 for extent in extents),
        LARGE: any(one.size >= MANY for one in case),
        SCALAR: any(one.ndim == 0 for one in case),
        VIEW: any(one.size > 1 and not one.flags.c_contiguous for one in case),
        BROADCAST: any(_broadcast(x.shape, y.shape) for x, y in combinations(case, 2)),
    }
    return {kind for kind, holds in found.items() if holds}


def _broadcast(one: tuple[int, ...], other: tuple[int, ...]) -> bool:
    """Two shapes, none of them of rank 0, that differ and go together as NumPy's do."""
    pairs = list(zip(reversed(one), reversed(other)))
    return one != other and bool(pairs) and all(n == m or 1 in (n, m) for n, m in pairs)


def model(entry: Entry, dtype: str) -> Case | None:
    """The first small case with an array of several elements; None if there is none."""
    cases = entry.inputs(np.dtype(dtype), np.random.default_rng(0))
    for case in islice(cases, LOOKED_THROUGH):
        sizes = [one.size for one in case]
        if sizes and 0 not in sizes and 1 < max(sizes) <= SMALL:
            return tuple(case)
    return None


def variants(case: Case, kind: str) -> Iterator[Case]:
    """The case made one of this kind, in each way that there is; the likeliest first."""
    if kind == VIEW:
        yield tuple(strided(one) for one in case)
    elif kind == SCALAR:
        yield tuple(np.array(one.reshape(-1)[0]) for one in case)
        for k in range(len(case)):
            yield (*case[:k], np.array(case[k].reshape(-1)[0]), *case[k + 1 :])
    elif kind == BROADCAST:
        for k in reversed(range(len(case))):
            for narrow in _narrowed(case[k]):
                yield (*case[:k], narrow, *case[k + 1 :])
    else:
        for resize in RESIZED[kind](case):
            yield resized(case, resize)


def _narrowed(x: Array) -> Iterator[Array]:
    """Without its first axis, and with each of its axes of size 1."""
    if x.ndim > 1:
        yield x[0]
    for axis, extent in enumerate(x.shape):
        if extent > 1:
            yield np.take(x, [0], axis)


def resized(case: Case, resize: Mapping[int, int]) -> Case:
    """Each extent as the mapping says, arrays that change filled from what they held."""
    return tuple(_refilled(one, tuple(resize.get(n, n) for n in one.shape)) for one in case)


def _refilled(x: Array, shape: tuple[int, ...]) -> Array:
    if shape == x.shape:
        return x
    count = int(np.prod(shape))
    drawn = np.random.default_rng(count).permutation(np.resize(x.reshape(-1), count))
    return drawn.astype(x.dtype).reshape(shape)


# --- sizes ----------------------------------------------------------------------------------


def _groups(case: Case) -> list[int]:
    """The sizes of axes, each once, those that come first and then those above 1 first."""
    found = [extent for one in case for extent in one.shape]
    return sorted(dict.fromkeys(found), key=lambda extent: extent == 1)


def _each_to(size: int) -> Callable[[Case], Iterator[dict[int, int]]]:
    return lambda case: ({group: size} for group in _groups(case))


def _all_or_one_to_1(case: Case) -> Iterator[dict[int, int]]:
    yield dict.fromkeys(_groups(case), 1)
    yield from _each_to(1)(case)


def _each_to_many(case: Case) -> Iterator[dict[int, int]]:
    """Of the last axis first, the least size that gives some array enough elements."""
    for group in reversed(_groups(case)):
        sizes = []
        for one in case:
            times = one.shape.count(group)
            if times:
                rest = one.size // group**times
                sizes.append(int(np.ceil((MANY / rest) ** (1 / times))))
        yield {group: max(group, min(sizes) | 1)}


RESIZED: Mapping[str, Callable[[Case], Iterator[dict[int, int]]]] = {
    NOTHING: _each_to(0),
    ONE: _all_or_one_to_1,
    ODDS: _each_to(ODD),
    LARGE: _each_to_many,
}
KINDS = (*RESIZED, SCALAR, VIEW, BROADCAST)
