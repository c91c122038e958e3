"""Random movements of every kind, each with the NumPy that it must equal.

A movement maps a view to a view and an array to an array. Extents may be symbolic; the NumPy side
is told their values. Places that a view leaves empty hold the identity of ``add``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from random import Random

import numpy as np
import numpy.typing as npt

from photic.forms import movement
from photic.forms.dim_eval import number_of
from photic.ir import view as views
from photic.ir.dim import Data, Dim, Symbol, Var, add, bounds, exact_div, mul, symbol
from photic.ir.view import View

Array = npt.NDArray[np.generic]
Sizes = Mapping[str, int]

N = symbol("n", 0, 7)
M = symbol("m", 1, 5)
K = symbol("k", 0, 40)
SIZES: tuple[Dim, ...] = (N, M, K)
MOST_ELEMENTS = 2000  # at the largest sizes
MOST_RANK = 5


@dataclass(frozen=True, slots=True)
class Movement:
    """One movement: on views, and on arrays given the sizes."""

    name: str
    view: Callable[[View], View]
    array: Callable[[Array, Sizes], Array]


def number(value: Dim, sizes: Sizes) -> int:
    """The size as a plain integer."""

    def lookup(atom: Symbol | Var | Data) -> int:
        assert isinstance(atom, Symbol)
        return sizes[atom.name]

    return number_of(value, lookup)


def numbers(shape: tuple[Dim, ...], sizes: Sizes) -> tuple[int, ...]:
    """The shape as plain integers."""
    return tuple(number(extent, sizes) for extent in shape)


def gather(array: Array, axis: int, places: Array) -> Array:
    """``array`` at ``places`` of one axis (their axes take its place), nothing outside of it."""
    moved = np.moveaxis(array, axis, 0)
    inside = (places >= 0) & (places < len(moved))
    empty = np.full((1, *moved.shape[1:]), array.dtype.type(-0.0), array.dtype)
    padded = np.concatenate([moved, empty])
    found = padded[np.where(inside, places, len(moved))]
    rank = places.ndim
    return np.moveaxis(found, range(rank), range(axis, axis + rank))


def _permute(random: Random, shape: views.Shape) -> Movement:
    order = list(range(len(shape)))
    random.shuffle(order)
    return Movement(
        "permute", lambda v: movement.permute(v, order), lambda a, sizes: np.transpose(a, order)
    )


def _expand(random: Random, shape: views.Shape) -> Movement:
    wider = [random.choice([n, 2, 3, *SIZES]) if n == 1 else n for n in shape]
    if len(shape) < MOST_RANK and random.random() < 0.5:
        wider.insert(0, random.choice([1, 2, *SIZES]))
    new = tuple(wider)
    return Movement(
        "expand",
        lambda v: movement.expand(v, new),
        lambda a, sizes: np.broadcast_to(a, numbers(new, sizes)),
    )


def _reshape(random: Random, shape: views.Shape) -> Movement:
    new = list(shape)
    for _ in range(random.randint(1, 3)):
        axis = random.randrange(len(new) + 1)
        if random.random() < 0.5 and axis + 1 < len(new):
            new[axis : axis + 2] = [mul(new[axis], new[axis + 1])]
        elif random.random() < 0.7 and axis < len(new):
            factor = random.choice([2, 3, 4, N, M])
            rest = exact_div(new[axis], factor) if new[axis] != 0 else None
            if rest is not None and len(new) < MOST_RANK:
                new[axis : axis + 1] = random.choice([[factor, rest], [rest, factor]])
        elif axis < len(new) and new[axis] == 1:
            del new[axis]
        elif len(new) < MOST_RANK:
            new.insert(axis, 1)
    return Movement(
        "reshape",
        lambda v: movement.reshape(v, tuple(new)),
        lambda a, sizes: np.reshape(a, numbers(tuple(new), sizes)),
    )


def _slice_numbers(random: Random, extent: Dim) -> tuple[Dim, int, Dim]:
    """Start, step, length; the length may pass the end, where nothing is read."""
    if isinstance(extent, int):
        step = random.choice([1, 1, 2, 3, -1, -2])
        start = random.randrange(extent) if extent else 0
        room = (extent - start + step - 1) // step if step > 0 else (start - step) // -step
        return start, step, random.randint(0, max(0, room))
    low = bounds(extent)[0]
    cut = random.randint(0, min(low, 2))
    return random.choice(
        [
            (cut, 1, add(extent, -cut)),
            (add(extent, -1), -1, extent),
            (1, 2, random.randint(0, 3)),
            (N, 1, 2),
            (add(extent, -1), -1, M),
        ]
    )


def _shrink(random: Random, shape: views.Shape) -> Movement:
    axis = random.randrange(len(shape))
    start, step, length = _slice_numbers(random, shape[axis])

    def run(array: Array, sizes: Sizes) -> Array:
        places = number(start, sizes) + step * np.arange(number(length, sizes))
        return gather(array, axis, places)

    return Movement("shrink", lambda v: movement.shrink(v, axis, start, step, length), run)


def _select(random: Random, shape: views.Shape) -> Movement:
    axis = random.randrange(len(shape))
    extent = shape[axis]
    at = random.choice([0, add(extent, -1), random.randint(0, 3), M])
    return Movement(
        "select",
        lambda v: movement.select(v, axis, at),
        lambda a, sizes: gather(a, axis, np.asarray(number(at, sizes))),
    )


def _flip(random: Random, shape: views.Shape) -> Movement:
    axis = random.randrange(len(shape))
    return Movement("flip", lambda v: movement.flip(v, axis), lambda a, sizes: np.flip(a, axis))


def _pad(random: Random, shape: views.Shape) -> Movement:
    axis = random.randrange(len(shape))
    low = bounds(shape[axis])[0]
    before = random.choice([0, 1, 2, N, -random.randint(0, min(low, 2))])
    kept = low + bounds(before)[0]
    after = random.choice([0, 1, 3, M, -random.randint(0, max(0, min(kept, 2)))])

    def run(array: Array, sizes: Sizes) -> Array:
        first, last = number(before, sizes), number(after, sizes)
        return gather(array, axis, np.arange(-first, array.shape[axis] + last))

    return Movement("pad", lambda v: movement.pad(v, axis, before, after), run)


def _windows(random: Random, shape: views.Shape) -> Movement:
    axis = random.randrange(len(shape))
    low = bounds(shape[axis])[0]
    size, step, dilation = random.randint(1, 3), random.randint(1, 3), random.randint(1, 2)
    if (size - 1) * dilation + 1 > low:
        size = min(1, low)

    def run(array: Array, sizes: Sizes) -> Array:
        reach = (size - 1) * dilation + 1
        count = (array.shape[axis] - reach) // step + 1
        starts = np.arange(count)[:, None] * step
        found = gather(array, axis, starts + dilation * np.arange(size))
        return np.moveaxis(found, axis + 1, -1)

    return Movement("windows", lambda v: movement.windows(v, axis, size, step, dilation), run)


_ANY_RANK = (_permute, _expand, _reshape)
_WITH_AXES = (_shrink, _select, _flip, _pad, _windows)
KINDS = tuple(kind.__name__.removeprefix("_") for kind in (*_ANY_RANK, *_WITH_AXES))


def is_small(view: View) -> bool:
    """True if the view has few enough axes and elements to be tried, at any size."""
    most = 1
    for extent in view.shape:
        most *= max(1, bounds(extent)[1])
    return view.rank <= MOST_RANK and most <= MOST_ELEMENTS


def random_movement(random: Random, view: View) -> Movement:
    """A movement that the view allows and that keeps it small."""
    for _ in range(20):
        make = random.choice((*_ANY_RANK, *_WITH_AXES) if view.rank else _ANY_RANK)
        found = make(random, view.shape)
        if is_small(found.view(view)):
            return found
    return Movement("nothing", lambda v: v, lambda a, sizes: a)


def random_sizes(random: Random) -> dict[str, int]:
    """Values of the symbolic sizes: often 0, 1 or one beside a power of two."""
    return {
        "n": random.choice([0, 1, 2, 3, 7]),
        "m": random.choice([1, 1, 2, 4, 5]),
        "k": random.choice([0, 1, 2, 8, 15, 16, 17, 31, 33, 40]),
    }


def random_shape(random: Random) -> views.Shape:
    """Up to three axes: 0, 1, odd, even, symbolic and products of those."""
    choices: tuple[Dim, ...] = (0, 1, 2, 3, 5, 6, 12, 17, N, M, K, mul(N, 2), mul(M, 6), add(N, 1))
    return tuple(random.choice(choices) for _ in range(random.randint(0, 3)))
