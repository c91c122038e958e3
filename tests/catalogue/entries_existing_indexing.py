"""The catalogue's entries for brackets, lookups, one-hot rows and the update of a state."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from catalogue.entry import ALL, Array, Case, Cases, Dtype, Entry, Speed
from catalogue.inputs import MILLION, anything, between, of_shape, special, strided, with_specials

import photic as ph

BOXES = with_specials((7, 5, 4), (8, 6, 5))


def _parts(x: Any) -> tuple[Any, ...]:
    """Brackets that mean the same for arrays and handles."""
    return (
        x[0],
        x[-1, 2],
        x[1:5:2, ..., -1],
        x[::-1],
        x[:, None, ::-2],
        x[-3:, 1:-1],
        x[..., 2:2],
        x[5:1:-1, :, 3],
        x[..., 0, None, :],
    )


BRACKETS = (
    Entry(
        "take.brackets",
        _parts,
        _parts,
        BOXES,
        ALL,
        ulps=0,
        onnx=("Slice", "Gather"),
        aten=("slice", "select", "index"),
    ),
    Entry(
        "take.symbolic",
        lambda x: (x[1:], x[:-1], x[::2], x[::-1], x[0], x[-1], x[None], x[1::3]),
        lambda x: (x[1:], x[:-1], x[::2], x[::-1], x[0], x[-1], x[None], x[1::3]),
        with_specials((3,), (1,), (7,), (100,)),
        ALL,
        ulps=0,
        onnx=("Slice",),
        aten=("slice", "select"),
        sizes=("n+",),
    ),
)


# --- lookups --------------------------------------------------------------------------------


def looked_up(*pairs: tuple[tuple[int, ...], tuple[int, ...], int]) -> Cases:
    """A table of any values, and places inside an axis of it, negative ones too."""

    def made(dtype: Dtype, random: np.random.Generator) -> Iterator[Case]:
        for shape, index, extent in pairs:
            table = random.choice(special(dtype), shape)
            yield strided(table), random.integers(-extent, extent, index)

    return made


def lookup(
    name: str, call: Callable[..., Any], oracle: Callable[..., Any], inputs: Cases, **more: Any
) -> Entry:
    return Entry(name, call, oracle, inputs, ALL, ulps=0, **more)


def table_and_places(rows: int, columns: int, count: int) -> Callable[..., Case]:
    """A float32 table and places in its rows."""
    return lambda random: (
        random.normal(size=(rows, columns)).astype(np.float32),
        random.integers(0, rows, count),
    )


def lines_and_places(random: np.random.Generator) -> Case:
    lines = random.normal(size=(1000, 1000)).astype(np.float32)
    return lines, random.integers(0, 1000, (1000, 1000))


LOOKUPS = (
    lookup(
        "take",
        lambda x, i: (ph.take(x, i, 0), ph.take(x, i, -2), x[i], ph.take(x, i)),
        lambda x, i: (np.take(x, i, 0), np.take(x, i, -2), x[i], np.take(x, i)),
        looked_up(((3, 4), (2,), 3), ((3, 4), (), 3), ((5, 1), (2, 3), 5), ((33, 7), (100,), 33)),
        onnx=("Gather",),
        aten=("index_select", "index", "take", "embedding"),
        sizes=("n+ m+", "k"),
        speed=Speed(
            lambda torch, x, i: torch.index_select(x, 0, i),
            table_and_places(10_000, 100, 10_000),
            lambda x, i: ph.take(x, i, 0),
        ),
    ),
    lookup(
        "take.last",
        lambda x, i: (ph.take(x, i, -1), x[:, i]),
        lambda x, i: (np.take(x, i, -1), x[:, i]),
        looked_up(((3, 4), (2,), 4), ((3, 4), (), 4), ((5, 1), (2, 3), 1), ((7, 33), (100,), 33)),
        onnx=("Gather",),
        aten=("index_select", "index"),
        sizes=("n m+", "k"),
        speed=Speed(
            lambda torch, x, i: torch.index_select(x, 1, i),
            table_and_places(1000, 1000, 1000),
            lambda x, i: ph.take(x, i, 1),
        ),
    ),
    lookup(
        "take.list",
        lambda x: (ph.take(x, [2, 0, -1], 0), x[[0, 0]], ph.take(x, [], 0), ph.take(x, 1, 0)),
        lambda x: (x[[2, 0, -1]], x[[0, 0]], np.take(x, np.zeros(0, int), 0), x[1]),
        with_specials((3, 4), (5, 1)),
        onnx=("Gather",),
        aten=("index_select",),
    ),
    lookup(
        "embedding",
        lambda x, i: ph.embedding(ph.mod(i, x.shape[0]), x),
        lambda x, i: x[i % len(x)],
        looked_up(((3, 4), (2,), 3), ((3, 4), (), 3), ((5, 1), (2, 3), 5), ((33, 7), (100,), 33)),
        onnx=("Gather",),
        aten=("embedding",),
        speed=Speed(
            lambda torch, x, i: torch.nn.functional.embedding(i, x),
            table_and_places(10_000, 100, 10_000),
            lambda x, i: ph.embedding(i, x),
        ),
    ),
    lookup(
        "take_along_axis",
        lambda x, i: ph.take_along_axis(x, i, 1),
        lambda x, i: np.take_along_axis(x, i, 1),
        looked_up(
            ((3, 4), (3, 2), 4), ((1, 4), (1, 1), 4), ((5, 1), (5, 3), 1), ((7, 33), (7, 50), 33)
        ),
        onnx=("GatherElements",),
        aten=("gather", "take_along_dim"),
        sizes=("n m+", "n k"),
        speed=Speed(
            lambda torch, x, i: torch.gather(x, 1, i),
            lines_and_places,
            lambda x, i: ph.take_along_axis(x, i, 1),
        ),
    ),
    lookup(
        "take_along_axis.first",
        lambda x, i: ph.take_along_axis(x, i, -2),
        lambda x, i: np.take_along_axis(x, i, -2),
        looked_up(((4, 3), (2, 3), 4), ((4, 1), (1, 1), 4), ((33, 7), (50, 7), 33)),
        onnx=("GatherElements",),
        aten=("gather",),
        sizes=("m+ n", "k n"),
    ),
)


# --- one-hot rows, updates ------------------------------------------------------------------


def indices(dtype: Dtype, random: np.random.Generator) -> Iterator[Case]:
    """Places in 0..4, some outside, of every integer dtype's own."""
    for shape in ((), (0,), (1,), (7,), (3, 33)):
        yield (between(dtype, shape, random, 0, 6),)


def _one_hot(x: Array) -> Array:
    return np.arange(5) == x[..., None]


def states(dtype: Dtype, random: np.random.Generator) -> Iterator[Case]:
    for old, new in (((7, 3), (2, 3)), ((7, 3), (1, 1)), ((33, 5), (4, 5))):
        yield anything(dtype, old, random), anything(dtype, new, random)


def _updated(old: Array, new: Array) -> tuple[Array, ...]:
    first, second, third = old.copy(), old.copy(), old.copy()
    first[: len(new)] = new
    second[3 : 3 + len(new)] = new
    third[-1] = new[0]
    return first, second, third


WRITTEN = (
    Entry(
        "one_hot",
        lambda i: ph.one_hot(i, 5),
        _one_hot,
        indices,
        ("int64", "int32", "int16", "int8", "uint8"),
        ulps=0,
        result_dtype=lambda _dtype: np.dtype(np.float32),
        gradient="none: places",
        onnx=("OneHot",),
        aten=("one_hot",),
        sizes=("n",),
        speed=Speed(
            lambda torch, i: torch.nn.functional.one_hot(i, 100),
            lambda random: (random.integers(0, 100, MILLION // 100),),
            lambda i: ph.one_hot(i, 100, "int64"),
        ),
    ),
    Entry(
        "update",
        lambda old, new: (
            ph.update(old, new, 0, 0),
            ph.update(old, new, 3, -2),
            ph.update(old, new, old.shape[0] - 1, 0),
        ),
        _updated,
        states,
        ALL,
        ulps=0,
        onnx=("TensorScatter", "ScatterND"),
        aten=("slice_scatter", "select_scatter", "index_copy"),
    ),
    Entry(
        "stop_gradient",
        ph.stop_gradient,
        lambda x: x,
        with_specials((), (0,), (7,), (3, 33)),
        ALL,
        ulps=0,
        gradient="none: that is what it is for",
        onnx=("Identity",),
        aten=("detach",),
        sizes=("n",),
    ),
    Entry(
        "size",
        lambda x: (ph.size(x.shape[0]), ph.size(x.shape[0] * 2 + 1)),
        lambda x: (np.array(len(x)), np.array(2 * len(x) + 1)),
        of_shape((0,), (1,), (7,)),
        ("float32",),
        result_dtype=lambda _dtype: np.dtype(np.int64),
        gradient="none: a size",
        onnx=("Shape", "Size"),
        aten=("sym_size", "numel"),
        sizes=("n",),
    ),
    Entry(
        "constant",
        lambda x: x + ph.constant(np.array([1, 2, 3])).astype(x.dtype),
        lambda x: x + np.array([1, 2, 3], x.dtype),
        with_specials((3,), (2, 3), (0, 3)),
        ("float64", "float32", "int64", "int32", "int16", "int8", "uint8"),
        onnx=("Constant",),
        aten=("lift_fresh_copy", "scalar_tensor"),
        sizes=("n 3",),
    ),
)

ENTRIES = (*BRACKETS, *LOOKUPS, *WRITTEN)
