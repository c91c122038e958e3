"""Properties of views and places, on random programs: chains of movements compose as NumPy's,
brackets mean what NumPy's do, symbolic sizes give what static ones give, scatters follow a loop.

Nothing is known of the numbers but that elements are told apart. Compiled programs are the matter
of the catalogue and of ``tests/fuzz``.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from evaluating import of, value
from hypothesis import given, settings
from hypothesis import strategies as st

import photic as ph
from photic.ir.dim import bounds

QUICK = settings(max_examples=80)
MOST_SIZE, MOST_RANK, MOST_ELEMENTS, MOST_STEPS = 4, 4, 400, 6


@dataclass(frozen=True, slots=True)
class Step:
    """One movement of an array and of a handle; ``name`` is for the reader of a failure."""

    name: str
    theirs: Callable[[Any], Any]
    ours: Callable[[ph.Tensor], ph.Tensor]

    def __repr__(self) -> str:
        return self.name


def numbered(shape: tuple[int, ...]) -> np.ndarray:
    """Elements that are all different, and none of them 0."""
    return np.arange(1, 1 + np.prod(shape, dtype=int)).reshape(shape).astype(np.float32)


# --- one movement of any shape --------------------------------------------------------------


@st.composite
def reshapes(draw: st.DrawFn, shape: tuple[int, ...]) -> Step:
    """The elements over a random factorisation of their count."""
    count = int(np.prod(shape))
    if count == 0:
        new = tuple(draw(st.permutations([*shape, 1])))
    else:
        parts, left = [], count
        for _ in range(draw(st.integers(0, MOST_RANK - 1))):
            part = draw(st.sampled_from([k for k in range(1, left + 1) if left % k == 0]))
            parts.append(part)
            left //= part
        new = (*parts, left)
    return Step(f"reshape{new}", lambda x: x.reshape(new), lambda x: ph.reshape(x, new))


@st.composite
def permutations(draw: st.DrawFn, shape: tuple[int, ...]) -> Step:
    order = tuple(draw(st.permutations(range(len(shape)))))
    return Step(
        f"permute{order}", lambda x: np.transpose(x, order), lambda x: ph.transpose(x, order)
    )


@st.composite
def flips(draw: st.DrawFn, shape: tuple[int, ...]) -> Step:
    axes = tuple(draw(st.sets(st.integers(-len(shape), -1)))) if shape else ()
    return Step(f"flip{axes}", lambda x: np.flip(x, axes), lambda x: ph.flip(x, axes))


@st.composite
def slices(draw: st.DrawFn, shape: tuple[int, ...]) -> Step:
    """A slice of every axis, with steps forwards and backwards and bounds anywhere."""
    index = tuple(draw(st.slices(extent)) for extent in shape)
    return Step(f"[{index}]", lambda x: x[index], lambda x: x[index])


@st.composite
def paddings(draw: st.DrawFn, shape: tuple[int, ...]) -> Step:
    modes = ["constant", "edge", "reflect", "symmetric", "wrap"] if 0 not in shape else ["constant"]
    mode = draw(st.sampled_from(modes))
    widths = [draw(st.tuples(st.integers(0, 3), st.integers(0, 3))) for _ in shape]
    return Step(
        f"pad({widths}, {mode})",
        lambda x: np.pad(x, widths, mode=mode) if widths else x,  # type: ignore[call-overload]
        lambda x: ph.pad(x, widths, mode),
    )


@st.composite
def expansions(draw: st.DrawFn, shape: tuple[int, ...]) -> Step:
    """Axes of size 1 grow, new ones come in front."""
    new = tuple(draw(st.lists(st.integers(0, 2), max_size=MOST_RANK - len(shape))))
    grown = tuple(draw(st.integers(1, 3)) if n == 1 else n for n in shape)
    whole = (*new, *grown)
    return Step(
        f"expand{whole}", lambda x: np.broadcast_to(x, whole), lambda x: ph.broadcast_to(x, whole)
    )


@st.composite
def rolls(draw: st.DrawFn, shape: tuple[int, ...]) -> Step:
    shift = draw(st.integers(-5, 5))
    axis = draw(st.none() | st.integers(-len(shape), len(shape) - 1)) if shape else None
    return Step(f"roll({shift}, {axis})", lambda x: np.roll(x, shift, axis), _roll(shift, axis))


def _roll(shift: int, axis: int | None) -> Callable[[ph.Tensor], ph.Tensor]:
    return lambda x: ph.roll(x, shift, axis)


@st.composite
def new_axes(draw: st.DrawFn, shape: tuple[int, ...]) -> Step:
    axis = draw(st.integers(-len(shape) - 1, len(shape)))
    return Step(f"expand_dims({axis})", lambda x: np.expand_dims(x, axis), _expand_dims(axis))


def _expand_dims(axis: int) -> Callable[[ph.Tensor], ph.Tensor]:
    return lambda x: ph.expand_dims(x, axis)


MOVEMENTS = (reshapes, permutations, flips, slices, paddings, expansions, rolls, new_axes)
SHAPES = st.lists(st.integers(0, MOST_SIZE), max_size=MOST_RANK - 1).map(tuple)


@QUICK
@given(st.data(), SHAPES)
def test_a_chain_of_movements_is_numpys(data: st.DataObject, shape: tuple[int, ...]) -> None:
    array = want = numbered(shape)
    steps: list[Step] = []
    for _ in range(data.draw(st.integers(1, MOST_STEPS))):
        kinds = [one for one in MOVEMENTS if want.ndim < MOST_RANK or one is not new_axes]
        step = data.draw(data.draw(st.sampled_from(kinds))(want.shape))
        moved = step.theirs(want)
        if moved.size > MOST_ELEMENTS or moved.ndim > MOST_RANK:
            continue
        steps.append(step)
        want = moved

    def ours(x: ph.Tensor) -> ph.Tensor:
        for step in steps:
            x = step.ours(x)
        return x

    got = value(ours, array)
    assert got.shape == want.shape, steps
    np.testing.assert_array_equal(got, want)


# --- brackets -------------------------------------------------------------------------------


@st.composite
def entries(draw: st.DrawFn, shape: tuple[int, ...]) -> tuple[Any, ...]:
    """What may stand in brackets: one entry or less for each axis, None, bools and one ``...``."""
    lines = draw(st.sampled_from([(), (1,), (2,), (2, 2), (0,)]))  # index tensors broadcast to it
    result: list[Any] = []
    axes = list(shape)
    dots = draw(st.integers(0, len(axes)))
    while axes:
        if len(axes) == dots:
            result.append(Ellipsis)
            axes = axes[draw(st.integers(0, len(axes))) :]
            dots = -1
            continue
        if draw(st.integers(0, 5)) == 0:
            result.append(draw(st.sampled_from([None, True])))
        kind = draw(st.sampled_from(["integer", "slice", "places", "places", "mask"]))
        if kind == "mask" and not draw(st.booleans()):
            kind = "slice"
        result.append(_entry(draw, kind, axes.pop(0), lines))
    return tuple(result)


def _entry(draw: st.DrawFn, kind: str, extent: int, lines: tuple[int, ...]) -> Any:
    if kind == "slice" or extent == 0:
        return draw(st.slices(extent))
    if kind == "integer":
        return draw(st.integers(-extent, extent - 1))
    if kind == "mask":
        count = int(np.prod(lines)) if len(lines) == 1 else 1
        chosen = np.zeros(extent, bool)
        chosen[draw(st.permutations(range(extent)))[:count]] = True
        return chosen
    shape = draw(st.sampled_from([lines, lines[1:], (1,) * len(lines)]))
    many = st.lists(
        st.integers(-extent, extent - 1),
        min_size=int(np.prod(shape, dtype=int)),
        max_size=int(np.prod(shape, dtype=int)),
    )
    return np.array(draw(many), np.int64).reshape(shape)


@settings(QUICK, max_examples=200)
@given(st.data(), SHAPES)
def test_brackets_are_numpys(data: st.DataObject, shape: tuple[int, ...]) -> None:
    index = data.draw(entries(shape))
    array = numbered(shape)
    want = array[index]
    got = value(lambda x: x[index], array)
    assert got.shape == want.shape
    np.testing.assert_array_equal(got, want)


# --- symbolic sizes -------------------------------------------------------------------------


def _merged(x: Any) -> Any:
    return x.reshape(x.shape[0] * x.shape[1], *x.shape[2:])


# Movements that mean something for every size from 2 on, of handles and of arrays alike.
FOR_EVERY_SIZE: tuple[Callable[[Any], Any], ...] = (
    lambda x: x[1:],
    lambda x: x[:-1],
    lambda x: x[::-1],
    lambda x: x[::2],
    lambda x: x[:, None],
    lambda x: x[..., 0],
    lambda x: x[[0, -1, 1]],
    lambda x: x.swapaxes(0, 1),
    lambda x: x.swapaxes(0, -1),
    _merged,
    lambda x: _like(x).roll(x, 3, 0),
    lambda x: _like(x).roll(x, -1, 1),
    lambda x: _like(x).pad(x, 1),
    lambda x: _like(x).pad(x, 2, mode="reflect"),
    lambda x: _like(x).pad(x, (2, 0), mode="wrap"),
    lambda x: _like(x).pad(x, (0, 3), mode="edge"),
    lambda x: _like(x).flip(x, (0, 1)),
    lambda x: _like(x).repeat(x, 2, 0),
    lambda x: _like(x).tile(x, 2),
    lambda x: _like(x).concatenate([x, x], 0),
    lambda x: _like(x).stack([x, x], 1),
    lambda x: _like(x).tril(x),
    lambda x: _like(x).rot90(x),
)


def _like(x: Any) -> Any:
    return ph if isinstance(x, ph.Tensor) else np


@QUICK
@given(st.lists(st.sampled_from(range(len(FOR_EVERY_SIZE))), max_size=4), st.data())
def test_symbolic_sizes_give_what_static_ones_give(numbers: list[int], data: st.DataObject) -> None:
    n, m = ph.dim("n", 2, 6), ph.dim("m", 2, 5)
    x = ph.input("x", (n, m, 3))
    steps = []
    for number in numbers:
        step = FOR_EVERY_SIZE[number]
        smallest = x.shape[:2] if x.ndim > 2 else ()
        if not smallest or any(_least(one) < 2 for one in smallest) or x.ndim > MOST_RANK:
            break
        x = step(x)
        steps.append(step)
    sizes = {"n": data.draw(st.integers(2, 6)), "m": data.draw(st.integers(2, 5))}
    array = numbered((sizes["n"], sizes["m"], 3))
    want: Any = array
    for step in steps:
        want = step(want)
    np.testing.assert_array_equal(of(x, {"x": array}, **sizes), want)


def _least(size: Any) -> int:
    return bounds(size)[0]


# --- scatters -------------------------------------------------------------------------------


@QUICK
@given(st.data(), st.integers(1, 4), st.integers(0, 6), st.integers(1, 3))
def test_scatters_are_a_loop_over_the_values(
    data: st.DataObject, rows: int, count: int, columns: int
) -> None:
    places = st.lists(
        st.integers(-rows - 1, rows), min_size=count * columns, max_size=count * columns
    )
    index = np.array(data.draw(places), np.int64).reshape(count, columns)
    table, values = numbered((rows, columns)), numbered((count, columns)) + 100
    wants = {name: table.copy() for name in ("none", "add", "max", "min", "mul")}
    joins = {"add": np.add, "max": np.maximum, "min": np.minimum, "mul": np.multiply}
    for i, j in itertools.product(range(count), range(columns)):
        at = int(index[i, j])
        if -rows <= at < rows:
            for name, want in wants.items():
                join = joins.get(name, lambda old, new: new)
                want[at, j] = join(want[at, j], values[i, j])
    for name, want in wants.items():
        got = value(lambda x, k, v, name=name: ph.scatter(x, 0, k, v, name), table, index, values)
        np.testing.assert_allclose(got, want, rtol=1e-6)  # sums and products of at most 7
