"""The catalogue's entries for slices written to places, masks known at the call, parts replaced."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from catalogue.entries_places_scatters import JOINS, SUMS, few, lines
from catalogue.entry import NUMBERS, Array, Case, Cases, Dtype, Entry, Speed
from catalogue.inputs import between, laid, of_shapes, special
from catalogue.to_the_bit import exact

import photic as ph

# Tables, places and slices: as many, more, none, columns broadcast.
SLICES = (((3, 4), (2, 4)), ((3, 4), (9, 4)), ((1, 1), (0, 1)), ((17, 5), (40, 5)))


def slices(*, small: bool) -> Cases:
    return few(small=small, shapes=SLICES, index_rank=1)


def rows_and_places(random: np.random.Generator) -> Case:
    """A table of ten thousand rows, and ten thousand rows for places in it."""
    table, rows = random.normal(size=(2, 10_000, 100)).astype(np.float32)
    return table, random.integers(0, 10_000, 10_000), rows


ROWS = (
    Entry(
        "index_add",
        lambda x, i, v: (ph.index_add(x, 0, i, v), x.T.index_add(-1, i, v.T).T),
        lambda x, i, v: (lines(x, i, v, JOINS["add"]),) * 2,
        slices(small=True),
        NUMBERS,
        scale=lambda x, i, v: (lines(np.abs(x), i, np.abs(v), JOINS["add"]),) * 2,
        sizes=("n m", "k", "k m"),
        onnx=("ScatterElements",),
        aten=("index_add",),
        speed=Speed(
            lambda torch, x, i, v: torch.index_add(x, 0, i, v),
            rows_and_places,
            lambda x, i, v: ph.index_add(x, 0, i, v),
        ),
        **SUMS,
    ),
    Entry(
        "index_add.alpha",
        lambda x, i, v: ph.index_add(x, 0, i, v, 2),
        lambda x, i, v: lines(x, i, v + v, JOINS["add"]),
        slices(small=True),
        NUMBERS,
        scale=lambda x, i, v: lines(np.abs(x), i, np.abs(v) * 2, JOINS["add"]),
        aten=("index_add",),
        **SUMS,
    ),
    exact(
        "index_copy",
        lambda x, i, v: (ph.index_copy(x, 0, i, v), ph.index_copy(x, 0, i, v[:, :1])),
        lambda x, i, v: (
            lines(x, i, v, JOINS["set"]),
            lines(x, i, np.broadcast_to(v[:, :1], (len(i), x.shape[1])), JOINS["set"]),
        ),
        slices(small=False),
        sizes=("n m+", "k", "k m+"),
        aten=("index_copy",),
        speed=Speed(
            lambda torch, x, i, v: torch.index_copy(x, 0, i, v),
            rows_and_places,
            lambda x, i, v: ph.index_copy(x, 0, i, v),
        ),
    ),
    exact(
        "index_fill",
        lambda x, i, v: (ph.index_fill(x, 0, i, 1), x.index_fill(0, i, True)),
        lambda x, i, v: (lines(x, i, np.ones_like(v), JOINS["set"]),) * 2,
        slices(small=False),
        aten=("index_fill",),
    ),
)

# --- places of several axes -----------------------------------------------------------------


def tuples(*, small: bool) -> Cases:
    """A table of two axes and a third, pairs of places from outside to outside, and lines."""

    def made(dtype: Dtype, random: np.random.Generator) -> Iterator[Case]:
        for number, (rows, columns, rest, count) in enumerate(
            ((3, 4, 5, 6), (2, 2, 1, 9), (1, 1, 3, 0), (5, 7, 2, 60))
        ):
            tables = [(rows, columns, rest), (2, count, rest)]
            parts = [
                between(dtype, shape, random, 0, 1.5)
                if small
                else random.choice(special(dtype), shape)
                for shape in tables
            ]
            places = np.stack(
                [random.integers(-n - 1, n + 1, (2, count)) for n in (rows, columns)], -1
            )
            yield laid(parts[0], number), places, laid(parts[1], number + 1)

    return made


def at_tuples(x: Array, index: Array, values: Array, join: Any) -> Array:
    """ONNX's ``ScatterND``, one line after another; places outside are dropped."""
    result = x.copy()
    for place in np.ndindex(index.shape[:-1]):
        at = tuple(int(one) for one in index[place])
        if all(-n <= one < n for one, n in zip(at, x.shape)):
            result[at] = join(result[at], values[place])
    return result


def put_pairs(x: Any, i: Any, v: Any, accumulate: bool) -> Any:
    return ph.index_put(x, (i[..., 0], i[..., 1]), v, accumulate)


TUPLES = (
    exact(
        "scatter_nd",
        lambda x, i, v: ph.scatter_nd(x, i, v),
        lambda x, i, v: at_tuples(x, i, v, JOINS["set"]),
        tuples(small=False),
        sizes=("n m 5", "2 k 2", "2 k 5"),
        onnx=("ScatterND",),
        aten=("index_put",),
    ),
    *(
        Entry(
            f"scatter_nd.{name}",
            lambda x, i, v, name=name: ph.scatter_nd(x, i, v, name),
            lambda x, i, v, join=join: at_tuples(x, i, v, join),
            tuples(small=True),
            NUMBERS,
            scale=lambda x, i, v: at_tuples(np.abs(x), i, np.abs(v), JOINS["add"]),
            gradient="smooth" if name in ("add", "mul") else "almost everywhere",
            onnx=("ScatterND",),
            **SUMS,
        )
        for name, join in (
            ("add", JOINS["add"]),
            ("mul", JOINS["multiply"]),
            ("max", JOINS["max"]),
            ("min", JOINS["min"]),
        )
    ),
    exact(
        "index_put",
        lambda x, i, v: (put_pairs(x, i, v, False), ph.index_put(x, (None, i[0, :, 0] % 1), 1)),
        lambda x, i, v: (
            at_tuples(x, i, v, JOINS["set"]),
            np.concatenate(
                [np.ones_like(x[:, : min(1, i.shape[1])]), x[:, min(1, i.shape[1]) :]], 1
            ),
        ),
        tuples(small=False),
        onnx=("ScatterND",),
        aten=("index_put",),
    ),
    Entry(
        "index_put.accumulate",
        lambda x, i, v: put_pairs(x, i, v, True),
        lambda x, i, v: at_tuples(x, i, v, JOINS["add"]),
        tuples(small=True),
        NUMBERS,
        scale=lambda x, i, v: at_tuples(np.abs(x), i, np.abs(v), JOINS["add"]),
        aten=("index_put",),
        **SUMS,
    ),
    exact(
        "put_along_axis",
        lambda x, i, v: (ph.put_along_axis(x, i, v, 0), ph.put_along_axis(x, i[:, :1], v, 0)),
        lambda x, i, v: (along(x, i, v), along(x, np.broadcast_to(i[:, :1], v.shape), v)),
        few(small=False, shapes=(((3, 4), (2, 4)), ((1, 1), (0, 1)), ((17, 5), (40, 5)))),
        sizes=("n m+", "k m+", "k m+"),
        onnx=("ScatterElements",),
        aten=("scatter",),
    ),
    exact(
        "put",
        lambda x, i, v: (ph.put(x, i, v), ph.put(x, i[:1], v[0])),
        lambda x, i, v: (
            lines(x.ravel(), i.ravel(), v.ravel(), JOINS["set"]).reshape(x.shape),
            lines(x.ravel(), i[:1].ravel(), v[0].ravel(), JOINS["set"]).reshape(x.shape),
        ),
        few(small=False, shapes=(((3, 4), (2, 4)), ((17, 5), (40, 5)))),
        aten=("put",),
    ),
)


def along(x: Array, index: Array, values: Array) -> Array:
    result = x.copy()
    for row, column in np.ndindex(index.shape):
        at = int(index[row, column])
        if -len(x) <= at < len(x):
            result[at, column] = values[row, column]
    return result


HALF = 500_000

# --- masks ----------------------------------------------------------------------------------


def masked(dtype: Dtype, random: np.random.Generator) -> Iterator[Case]:
    """Any values, a mask, and as many others."""
    for number, shape in enumerate(((3, 4), (1, 1), (0, 2), (33, 7))):
        values, others = (random.choice(special(dtype), shape) for _ in range(2))
        yield laid(values, number), random.integers(0, 2, shape) == 1, laid(others, number + 1)


def mask_case(random: np.random.Generator) -> Case:
    values, others = random.normal(size=(2, 1000, 1000)).astype(np.float32)
    half = random.permutation(np.arange(HALF * 2) < HALF)
    return values, half.reshape(1000, 1000), others


def packed(x: Array, mask: Array, size: int) -> Array:
    """The chosen ones, then 1."""
    found = x[mask][:size]
    return np.concatenate([found, np.ones_like(x, shape=size - len(found))])


def scattered_in(x: Array, mask: Array, source: Array) -> Array:
    result = x.copy()
    result[mask] = source.ravel()[: mask.sum()]
    return result


MASKS = (
    exact(
        "masked_fill",
        lambda x, m, y: (
            ph.masked_fill(x, m, 1),
            x.masked_fill(m[:1], True),
            ph.index_put(x, (m,), 1),
        ),
        lambda x, m, y: (
            np.where(m, np.ones_like(x), x),
            np.where(m[:1], np.ones_like(x), x),
            np.where(m, np.ones_like(x), x),
        ),
        masked,
        sizes=("n+ m", "n+ m", "n+ m"),
        onnx=("Where",),
        aten=("masked_fill",),
        speed=Speed(
            lambda torch, x, m, y: torch.masked_fill(x, m, 1.0),
            mask_case,
            lambda x, m, y: ph.masked_fill(x, m, 1.0),
        ),
    ),
    exact(
        "masked_select",
        lambda x, m, y: (
            ph.masked_select(x, m, size=5, fill_value=1),
            ph.masked_select(x, m, size=0, fill_value=1),
            ph.masked_select(x, m, size=300, fill_value=1),
        ),
        lambda x, m, y: tuple(packed(x, m, size) for size in (5, 0, 300)),
        masked,
        sizes=("n m", "n m", "n m"),
        onnx=("Compress",),
        aten=("masked_select",),
        speed=Speed(
            lambda torch, x, m, y: torch.masked_select(x, m),
            mask_case,
            lambda x, m, y: ph.masked_select(x, m, size=HALF),
        ),
    ),
    exact(
        "masked_scatter",
        lambda x, m, y: ph.masked_scatter(x, m, y),
        scattered_in,
        masked,
        sizes=("n m", "n m", "n m"),
        aten=("masked_scatter",),
    ),
)

# --- parts replaced -------------------------------------------------------------------------


def with_part(x: Array, index: Any, value: Any) -> Array:
    result = x.copy()
    result[index] = value
    return result


PARTS = (
    exact(
        "slice_scatter",
        lambda x, y: (
            ph.slice_scatter(x, y, 1, 1, None, 2),
            ph.slice_scatter(x, y, -1, -4, -2),
            ph.slice_scatter(x, 1, 0, 1),
        ),
        lambda x, y: (
            with_part(x, np.s_[:, 1::2], y),
            with_part(x, np.s_[:, -4:-2], y),
            with_part(x, np.s_[1:], 1),
        ),
        of_shapes([(3, 4), (3, 2)], [(1, 5), (1, 2)], [(33, 4), (33, 2)]),
        sizes=("n+ 4", "n+ 2"),
        onnx=("ScatterND",),
        aten=("slice_scatter",),
    ),
    exact(
        "select_scatter",
        lambda x, y: (ph.select_scatter(x, y, 1, -1), ph.select_scatter(x, 1, 0, 0)),
        lambda x, y: (with_part(x, np.s_[:, -1], y), with_part(x, 0, 1)),
        of_shapes([(3, 4), (3,)], [(1, 1), (1,)], [(33, 7), (33,)]),
        sizes=("n+ m+", "n+"),
        aten=("select_scatter",),
    ),
)

ENTRIES: tuple[Entry, ...] = (*ROWS, *TUPLES, *MASKS, *PARTS)
