"""The catalogue's entries for scatters, masks that the call knows, and parts replaced."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from catalogue.entry import ALL, NUMBERS, Array, Case, Cases, Dtype, Entry, Speed
from catalogue.inputs import between, laid, special

import photic as ph

Join = Callable[[Any, Any], Any]
JOINS: dict[str, Join] = {
    "set": lambda old, new: new,
    "add": lambda old, new: old + new,
    "multiply": lambda old, new: old * new,
    "max": lambda old, new: np.maximum(old, new),
    "min": lambda old, new: np.minimum(old, new),
}
SUMS = {"rtol": 4e-6, "why": "a sum or product of at most 40 numbers in any order"}


def scattered(x: Array, index: Array, values: Array, axis: int, join: Join) -> Array:
    """PyTorch's ``scatter``, one value after another; places outside are dropped."""
    result = x.copy()
    for place in np.ndindex(index.shape):
        at = int(index[place])
        if -x.shape[axis] <= at < x.shape[axis]:
            where = (*place[:axis], at, *place[axis + 1 :])
            result[where] = join(result[where], values[place])
    return result


def lines(x: Array, index: Array, values: Array, join: Join) -> Array:
    """Slices to places of the first axis."""
    result = x.copy()
    for at, value in zip(index, values, strict=True):
        if -len(x) <= at < len(x):
            result[at] = join(result[at], value)
    return result


# Tables, places and values for axis 0: fewer and more values than places, none, one, columns left.
SHAPES = (
    ((3, 4), (2, 4)),
    ((3, 4), (9, 3)),
    ((1, 1), (0, 1)),
    ((1, 1), (1, 1)),
    ((17, 5), (40, 5)),
)


def few(small: bool, shapes: tuple[Any, ...] = SHAPES, index_rank: int = 2) -> Cases:
    """A table, places from before its start to past its end, and values.

    ``small``: values near 1, whose sums and products every dtype holds; else special ones.
    """

    def made(dtype: Dtype, random: np.random.Generator) -> Iterator[Case]:
        for number, (table, values) in enumerate(shapes):
            parts = [
                between(dtype, shape, random, 0, 1.5)
                if small
                else random.choice(special(dtype), shape)
                for shape in (table, values)
            ]
            places = random.integers(-table[0] - 1, table[0] + 2, values[:index_rank])
            yield laid(parts[0], number), places, laid(parts[1], number + 1)

    return made


def magnitudes(x: Array, index: Array, values: Array) -> Array:
    """What the rounding of sums is measured by."""
    return scattered(np.abs(x), index, np.abs(values), 0, JOINS["add"])


def thousand(random: np.random.Generator) -> Case:
    """A table of a million, and a place and a value for each of its elements."""
    table, values = random.normal(size=(2, 1000, 1000)).astype(np.float32)
    return table, random.integers(0, 1000, (1000, 1000)), values


SIZES = ("n m", "k m", "k m")
SCATTERS = (
    Entry(
        "scatter",
        lambda x, i, v: (ph.scatter(x, 0, i, v), x.scatter(-2, i, v), ph.scatter(x, 0, i, 1)),
        lambda x, i, v: (
            *(scattered(x, i, v, 0, JOINS["set"]),) * 2,
            scattered(x, i, np.ones_like(v), 0, JOINS["set"]),
        ),
        few(small=False),
        ALL,
        ulps=0,
        onnx=("ScatterElements", "Scatter"),
        aten=("scatter",),
        speed=Speed(
            lambda torch, x, i, v: torch.scatter(x, 0, i, v),
            thousand,
            lambda x, i, v: ph.scatter(x, 0, i, v),
            why="the last of equal places wins, whoever writes: a place is found, then a value",
        ),
    ),
    Entry(
        "scatter.last",
        lambda x, i, v: ph.scatter(x.T, 1, i.T, v.T),
        lambda x, i, v: scattered(x, i, v, 0, JOINS["set"]).T,
        few(small=False, shapes=(((3, 4), (2, 4)), ((5, 3), (20, 3)), ((1, 1), (0, 1)))),
        ALL,
        ulps=0,
        sizes=SIZES,
        onnx=("ScatterElements",),
        aten=("scatter",),
    ),
    Entry(
        "scatter_add",
        lambda x, i, v: (ph.scatter_add(x, 0, i, v), ph.scatter(x, 0, i, v, "add")),
        lambda x, i, v: (scattered(x, i, v, 0, JOINS["add"]),) * 2,
        few(small=True),
        NUMBERS,
        scale=lambda x, i, v: (magnitudes(x, i, v),) * 2,
        onnx=("ScatterElements",),
        aten=("scatter_add",),
        speed=Speed(
            lambda torch, x, i, v: torch.scatter_add(x, 0, i, v),
            thousand,
            lambda x, i, v: ph.scatter_add(x, 0, i, v),
        ),
        **SUMS,
    ),
    *(
        Entry(
            f"scatter_reduce.{name}",
            lambda x, i, v, name=name: ph.scatter_reduce(x, 0, i, v, name),
            lambda x, i, v, join=join: scattered(x, i, v, 0, join),
            few(small=False, shapes=(((3, 4), (9, 3)), ((1, 1), (0, 1)), ((17, 5), (40, 5)))),
            ALL,
            ulps=0,
            zero_signs=False,
            gradient="almost everywhere",
            onnx=("ScatterElements",),
            aten=("scatter_reduce",),
        )
        for name, join in (("amax", JOINS["max"]), ("amin", JOINS["min"]))
    ),
    Entry(
        "scatter_reduce.prod",
        lambda x, i, v: (ph.scatter_reduce(x, 0, i, v, "prod"), ph.scatter(x, 0, i, v, "multiply")),
        lambda x, i, v: (scattered(x, i, v, 0, JOINS["multiply"]),) * 2,
        few(small=True),
        NUMBERS,
        onnx=("ScatterElements",),
        aten=("scatter_reduce",),
        **SUMS,
    ),
)


def alone(x: Array, index: Array, values: Array, kind: str) -> Array:
    """``scatter_reduce`` of the values only, in places that have some."""
    result = x.copy()
    for where in np.ndindex(x.shape):
        if where[1] < index.shape[1]:
            found = values[: len(index), where[1]][index[:, where[1]] % len(x) == where[0]]
            if len(found):
                result[where] = np.asarray(getattr(np, kind)(found)).astype(x.dtype)
    return result


REDUCTIONS = (
    *(
        Entry(
            f"scatter_reduce.{kind}-alone",
            lambda x, i, v, kind=kind: ph.scatter_reduce(
                x, 0, ph.mod(i, x.shape[0]), v, kind, include_self=False
            ),
            lambda x, i, v, kind=kind: alone(x, i, v, kind),
            few(small=True, shapes=(((3, 4), (2, 4)), ((3, 4), (9, 3)), ((1, 1), (0, 1)))),
            NUMBERS if kind in ("sum", "prod") else ("float64", "float32", "float16", "bfloat16"),
            gradient="smooth" if kind in ("sum", "prod", "mean") else "almost everywhere",
            onnx=("ScatterElements",),
            aten=("scatter_reduce",),
            **SUMS,
        )
        for kind in ("sum", "prod", "mean", "amax", "amin")
    ),
    Entry(
        "scatter_reduce.mean",
        lambda x, i, v: ph.scatter_reduce(x, 0, i, v, "mean"),
        lambda x, i, v: (
            scattered(x, i, v, 0, JOINS["add"])
            / scattered(np.ones_like(x), i, np.ones_like(v), 0, JOINS["add"])
        ),
        few(small=True),
        ("float64", "float32", "float16", "bfloat16"),
        aten=("scatter_reduce",),
        **SUMS,
    ),
    Entry(
        "scatter_reduce.mean-integer",
        lambda x, i, v: ph.scatter_reduce(x, 0, i, v, "mean"),
        lambda x, i, v: (
            scattered(x, i, v, 0, JOINS["add"])
            // scattered(np.ones_like(x), i, np.ones_like(v), 0, JOINS["add"])
        ),
        few(small=True),
        ("int64", "int32", "int8"),
        ulps=0,
        gradient="none: of integers",
        aten=("scatter_reduce",),
    ),
)

ENTRIES: tuple[Entry, ...] = (*SCATTERS, *REDUCTIONS)
