"""The catalogue's entries for brackets with tensors and masks, and for lookups of every kind."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from catalogue.entry import Array, Case, Cases, Dtype, Entry, Speed
from catalogue.inputs import laid, special, with_specials
from catalogue.to_the_bit import exact

import photic as ph

# --- brackets -------------------------------------------------------------------------------

EVERY_OTHER = np.array([True, False, True, False, True, False, True])
CHECKERS = np.arange(20).reshape(5, 4) % 3 == 0
NO_PLACES = np.zeros((0, 2), int)
# Integers beside arrays, arrays apart and side by side, masks of every rank, nothing at all.
INDICES: tuple[Any, ...] = (
    [2, 0, -1],
    ([1, 2], [0, -1]),
    (0, slice(None), [1, 2, 0]),
    ([1, 2], slice(None), 0),
    (slice(None), [0, 1], Ellipsis, [1, 2]),
    (slice(None), [0, 1], [1, 2]),
    (slice(None), [0, 1], None, [1, 2]),
    ([[0, 1], [2, 3]], [[0], [1]]),
    (slice(None, None, -2), [-1, 0]),
    (None, [1, 2], None),
    (Ellipsis, [0, 1], [1, 0]),
    ([0, 4], slice(1, None), [1, 0]),
    [],
    NO_PLACES,
    np.array(2),
    (np.uint8(1), slice(None), np.array([1, 2], np.uint8)),
    EVERY_OTHER,
    (EVERY_OTHER, slice(None), [1, 2, 0, 0]),
    (slice(None), CHECKERS),
    (slice(None), CHECKERS[:, 0], 1),
    (Ellipsis, True, [1]),
    (True, slice(None), 0),
    (slice(None), True, 0),
    False,
    (slice(None), None, CHECKERS, None),
)


def at_all_indices(x: Any) -> tuple[Any, ...]:
    return tuple(x[index] for index in INDICES)


BRACKETS = (
    exact(
        "take.advanced",
        at_all_indices,
        at_all_indices,
        with_specials((7, 5, 4)),
        onnx=("Gather", "GatherND", "Compress"),
        aten=("index",),
    ),
    exact(
        "take.places",
        lambda x, i, j: (x[i, j], x[i, :, j], x[:, i[0], j[0]], x[0, i], x[i, j, None]),
        lambda x, i, j: (x[i, j], x[i, :, j], x[:, i[0], j[0]], x[0, i], x[i, j, None]),
        lambda dtype, random: (
            (
                laid(random.choice(special(dtype), (n, 3, 4)), n),
                random.integers(-n, n, (2, 1)) % 3,
                random.integers(-3, 3, (2, k)),
            )
            for n, k in ((3, 1), (5, 0), (9, 4))
        ),
        sizes=("n+ 3 4", "2 1", "2 k"),
        onnx=("GatherND",),
        aten=("index",),
        speed=Speed(
            lambda torch, x, i, j: x[i, j],
            lambda random: (
                random.normal(size=(1000, 1000)).astype(np.float32),
                random.integers(0, 1000, 1_000_000),
                random.integers(0, 1000, 1_000_000),
            ),
            lambda x, i, j: x[i, j],
        ),
    ),
)

# --- lookups --------------------------------------------------------------------------------


def picked(*cases: tuple[tuple[int, ...], tuple[int, ...], int]) -> Cases:
    """A table, and places from the end of an axis of so many to its other end."""

    def made(dtype: Dtype, random: np.random.Generator) -> Iterator[Case]:
        for number, (shape, index, extent) in enumerate(cases):
            table = laid(random.choice(special(dtype), shape), number)
            yield table, random.integers(-extent, extent, index)

    return made


def along_first(x: Array, index: Array) -> Array:
    """PyTorch's ``gather`` along axis 0."""
    return np.take_along_axis(x[:, : index.shape[1]], index, 0)


def at_tuples(x: Array, index: Array) -> Array:
    """ONNX's ``GatherND``."""
    return x[tuple(np.moveaxis(index, -1, 0))]


def lines_and_places(random: np.random.Generator) -> Case:
    lines = random.normal(size=(1000, 1000)).astype(np.float32)
    return lines, random.integers(0, 1000, (1000, 1000))


LOOKUPS = (
    exact(
        "gather",
        lambda x, i: (ph.gather(x, 0, i), x.gather(-2, i)),
        lambda x, i: (along_first(x, i),) * 2,
        picked(
            ((3, 4), (2, 4), 3), ((3, 4), (5, 2), 3), ((1, 1), (0, 1), 1), ((33, 7), (20, 7), 33)
        ),
        onnx=("GatherElements",),
        aten=("gather",),
        speed=Speed(
            lambda torch, x, i: torch.gather(x, 1, i),
            lines_and_places,
            lambda x, i: ph.gather(x, 1, i),
        ),
    ),
    exact(
        "gather.sizes",
        lambda x, i: ph.gather(x, 0, i),
        along_first,
        picked(((3, 4), (2, 4), 3), ((1, 1), (0, 1), 1), ((33, 7), (20, 7), 33)),
        sizes=("n+ m", "k m"),
        onnx=("GatherElements",),
        aten=("gather",),
    ),
    exact(
        "gather.number",
        lambda x, i: (ph.gather(x, 0, i), ph.gather(x, -1, i)),
        lambda x, i: (x, x),
        picked(((), (), 1)),
        aten=("gather",),
    ),
    exact(
        "index_select",
        lambda x, i: (ph.index_select(x, 0, i), x.index_select(-1, i[:0]), x.index_select(0, [1])),
        lambda x, i: (x[i], x[..., :0], x[[1]]),
        picked(((3, 4), (2,), 3), ((5, 1), (9,), 5), ((3, 0), (0,), 3)),
        onnx=("Gather",),
        aten=("index_select",),
    ),
    exact(
        "gather_nd",
        lambda x, i: (ph.gather_nd(x, i), ph.gather_nd(x, i[..., :1]), ph.gather_nd(x, i[0])),
        lambda x, i: (at_tuples(x, i), at_tuples(x, i[..., :1]), at_tuples(x, i[0])),
        picked(((3, 4, 5), (2, 7, 2), 3), ((2, 3, 1), (1, 1, 2), 2), ((4, 5, 0), (2, 0, 2), 4)),
        sizes=("n+ 4 m", "2 k 2"),
        onnx=("GatherND",),
        aten=("index",),
    ),
    exact(
        "gather_nd.batched",
        lambda x, i: ph.gather_nd(x, i, batch_dims=1),
        lambda x, i: np.stack([at_tuples(a, b) for a, b in zip(x, i, strict=True)]),
        picked(((2, 3, 4), (2, 5, 2), 3), ((1, 3, 3), (1, 1, 2), 3), ((4, 5, 6), (4, 7, 2), 5)),
        sizes=("b 3 n", "b k 2"),
        onnx=("GatherND",),
    ),
    exact(
        "choose",
        lambda i, x: ph.choose(ph.mod(i, 3), (x, x[::-1], x[:1])),
        lambda i, x: np.choose(np.mod(i, 3), (x, x[::-1], x[:1])),
        lambda dtype, random: (
            (random.integers(-9, 9, shape), random.choice(special(dtype), shape))
            for shape in ((3,), (1,), (4, 5))
        ),
        sizes=("n+", "n+"),
    ),
    exact(
        "select",
        lambda c, d, x: ph.select([c > 0, d > 0], [x, x[:1]], x[::-1]),
        lambda c, d, x: np.where(c > 0, x, np.where(d > 0, x[:1], x[::-1])),
        lambda dtype, random: (
            (
                random.integers(-9, 9, shape),
                random.integers(-9, 9, shape[-1:]),
                random.choice(special(dtype), shape),
            )
            for shape in ((3,), (1,), (4, 5))
        ),
        sizes=("n+", "n+", "n+"),
        onnx=("Where",),
        aten=("where",),
    ),
)

ENTRIES: tuple[Entry, ...] = (*BRACKETS, *LOOKUPS)
