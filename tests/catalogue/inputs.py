"""Ready-made cases for the catalogue: values and shapes for every dtype.

A generator of cases takes a dtype and a random generator. ``one_array``, ``two_arrays`` and
``three_arrays`` are for elementwise functions, any dtype, with special values and broadcasting;
``within(low, high)`` narrows them; ``of_shapes`` gives ordinary numbers of stated shapes, for
everything that mixes elements. Layouts of arrays alternate: some are views with strides.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np
from catalogue.entry import Array, Case, Cases, Dtype, Workload

Shape = tuple[int, ...]

ODD, LARGE, MILLION = 7, 10_001, 1_000_000
# Whole and half numbers, the ends of ranges, what rounding and signs could get wrong.
SPECIAL_FLOATS = (
    math.nan, math.inf, -math.inf, 0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 1.5, -1.5, 2.5, -2.5, 2.0,
    -2.0, 3.0, -3.0, 0.1, -0.1, 10.0, -10.0, 100.0, -100.0, 0.49999997, 2.0**-30, -(2.0**-30),
)  # fmt: skip
SPECIAL_INTEGERS = (0, 1, -1, 2, -2, 3, -3, 7, -7, 10, 16, 100, -100)


def is_float(dtype: Dtype) -> bool:
    """True for bfloat16 too, whose kind NumPy does not know."""
    return dtype.kind not in "iub"


# --- values ---------------------------------------------------------------------------------


def special(dtype: Dtype) -> Array:
    """The values of a dtype that functions get wrong: nan, infinities, -0.0, ends of the range."""
    if dtype.kind == "b":
        return np.array([False, True])
    if not is_float(dtype):
        info = np.iinfo(dtype)
        kept = [one for one in SPECIAL_INTEGERS if info.min <= one <= info.max]
        return np.array([*kept, info.min, info.max, info.min + 1, info.max - 1], dtype)
    tiny, most = _tiny(dtype), _most(dtype)
    return np.array([*SPECIAL_FLOATS, tiny, -tiny, most, -most]).astype(dtype)


def _tiny(dtype: Dtype) -> float:
    """The smallest normal number."""
    return {"float64": 2.0**-1022, "float16": 2.0**-14}.get(dtype.name, 2.0**-126)


def _most(dtype: Dtype) -> float:
    ends = {"float64": np.finfo(np.float64).max, "float16": 65504.0, "bfloat16": 3.3895314e38}
    return float(ends.get(dtype.name, np.finfo(np.float32).max))


def anything(dtype: Dtype, shape: Shape, random: np.random.Generator) -> Array:
    """Values over the whole range: of floats of every magnitude, of integers all."""
    if dtype.kind == "b":
        return random.integers(0, 2, shape) == 1
    if not is_float(dtype):
        info = np.iinfo(dtype)
        wide = random.integers(info.min, info.max, shape, np.int64, endpoint=True)
        return np.where(random.random(shape) < 0.5, wide, random.integers(0, 9, shape)).astype(
            dtype
        )
    span = math.log2(_most(dtype))
    magnitude = np.where(random.random(shape) < 0.5, 4.0, span)
    with np.errstate(over="ignore"):
        drawn = random.normal(size=shape) * 2.0 ** (random.uniform(-1, 1, shape) * magnitude)
        return np.asarray(np.clip(drawn, -_most(dtype), _most(dtype))).astype(dtype)


def cast(values: object, dtype: Dtype) -> Array:
    """Numbers in a dtype; what a half cannot hold becomes infinite."""
    with np.errstate(over="ignore"):
        return np.asarray(values).astype(dtype)


def _is_held(value: float, dtype: Dtype) -> bool:
    if dtype.kind == "b":
        return value in (0, 1)
    info = np.iinfo(dtype)
    return math.isfinite(value) and value == int(value) and info.min <= value <= info.max


def between(
    dtype: Dtype, shape: Shape, random: np.random.Generator, low: float, high: float
) -> Array:
    """Values in ``low .. high``, evenly spread; whole ones for integers (both ends included)."""
    if dtype.kind == "b":
        return random.integers(0, 2, shape) == 1
    if not is_float(dtype):
        least, most = max(low, np.iinfo(dtype).min), min(high, np.iinfo(dtype).max)
        return random.integers(math.ceil(least), math.floor(most), shape, np.int64, True).astype(
            dtype
        )
    return cast(random.uniform(low, high, shape), dtype)


# --- layouts --------------------------------------------------------------------------------


def strided(x: Array) -> Array:
    """The same elements as every second one of a larger array, its last axis reversed."""
    if x.ndim == 0:
        return x
    wide = np.zeros((*x.shape[:-1], 2 * x.shape[-1] + 1), x.dtype)
    view = wide[..., 2 * x.shape[-1] - 1 :: -2] if x.shape[-1] else wide[..., :0]
    view[...] = x
    return view


def transposed(x: Array) -> Array:
    """The same elements, column by column in memory."""
    return np.asarray(x, order="F")


LAYOUTS = (np.ascontiguousarray, transposed, strided)


def laid(x: Array, number: int) -> Array:
    """The array in one of the layouts, in turn; 0-d stays 0-d."""
    return LAYOUTS[number % len(LAYOUTS)](x) if x.ndim else x


# --- elementwise ----------------------------------------------------------------------------

# Shapes that broadcast together; the first of them serves functions of one array.
ELEMENTWISE: tuple[tuple[Shape, ...], ...] = (
    ((), (), ()),
    ((0,), (0,), (1,)),
    ((1,), (1,), ()),
    ((ODD,), (ODD,), (ODD,)),
    ((LARGE,), (LARGE,), (1,)),
    ((5, 3), (3,), (5, 1)),
    ((3, 1, 4), (5, 1), ()),
    ((2, 0, 3), (1, 3), (3,)),
    ((33, 17), (33, 17), (33, 17)),
)


def _all_specials(dtype: Dtype, count: int) -> Case:
    """Every special value with every other (of three arrays: with a few)."""
    values = special(dtype)
    if count == 1:
        return (values,)
    pair = [values[:, None], values[None, :]]
    return tuple(pair) if count == 2 else (*pair, values[:ODD, None, None])


def several(count: int) -> Cases:
    """Cases for an elementwise function of so many arrays (1 to 3): every kind of value."""

    def cases(dtype: Dtype, random: np.random.Generator) -> Iterator[Case]:
        yield _all_specials(dtype, count)
        for number, shapes in enumerate(ELEMENTWISE):
            yield tuple(
                laid(anything(dtype, shape, random), number + k)
                for k, shape in enumerate(shapes[:count])
            )

    return cases


one_array, two_arrays, three_arrays = several(1), several(2), several(3)
# The same by what an entry's dtypes make of them.
one_float = one_integer = one_array
two_floats_broadcast = two_integers_broadcast = integers = two_arrays


def within(low: float, high: float, count: int = 1, *, also: Sequence[float] = ()) -> Cases:
    """Elementwise cases of values in ``low .. high``, the ends and ``also`` among them.

    ``also`` is for special values that mean something; integers leave out what they cannot hold.
    """

    def cases(dtype: Dtype, random: np.random.Generator) -> Iterator[Case]:
        ends = [low, high, *also]
        if not is_float(dtype):
            ends = [one for one in ends if _is_held(one, dtype)]
        chosen = cast(ends, dtype)
        yield (chosen,) if count == 1 else (chosen[:, None], chosen, chosen[:1])[:count]
        for number, shapes in enumerate(ELEMENTWISE):
            yield tuple(
                laid(between(dtype, shape, random, low, high), number + k)
                for k, shape in enumerate(shapes[:count])
            )

    return cases


# --- stated shapes --------------------------------------------------------------------------


def of_shapes(*cases: Sequence[Shape], low: float = -4.0, high: float = 4.0) -> Cases:
    """A case for each entry: ``of_shapes([(3, 4), (4, 5)], [(0, 4), (4, 1)])`` are two of two.

    Floats lie evenly in ``low .. high``, integers too; layouts alternate.
    """

    def made(dtype: Dtype, random: np.random.Generator) -> Iterator[Case]:
        for number, shapes in enumerate(cases):
            yield tuple(
                laid(between(dtype, shape, random, low, high), number + k)
                for k, shape in enumerate(shapes)
            )

    return made


def of_shape(*shapes: Shape, low: float = -4.0, high: float = 4.0) -> Cases:
    """As ``of_shapes``, one array a case."""
    return of_shapes(*((shape,) for shape in shapes), low=low, high=high)


def with_specials(*shapes: Shape) -> Cases:
    """As ``of_shape``, each shape twice: small whole numbers (many ties), then special values."""

    def made(dtype: Dtype, random: np.random.Generator) -> Iterator[Case]:
        for number, shape in enumerate(shapes):
            yield (laid(between(dtype, shape, random, 0, 5).round().astype(dtype), number),)
            yield (laid(random.choice(special(dtype), shape), number + 1),)

    return made


def joined(*parts: Cases) -> Cases:
    """The cases of each, one after another."""

    def made(dtype: Dtype, random: np.random.Generator) -> Iterator[Case]:
        for one in parts:
            yield from one(dtype, random)

    return made


def given(*cases: Sequence[object]) -> Cases:
    """Arrays as they are written: Python lists take the dtype, arrays keep their own.

    Left out are cases with a number that an integer dtype cannot hold.
    """

    def made(dtype: Dtype, random: np.random.Generator) -> Iterator[Case]:
        for one in cases:
            numbers = [np.ravel(x) for x in one if not isinstance(x, np.ndarray)]
            if is_float(dtype) or all(_is_held(x, dtype) for many in numbers for x in many):
                yield tuple(x if isinstance(x, np.ndarray) else cast(x, dtype) for x in one)

    return made


# --- a million elements ---------------------------------------------------------------------


def million(*shapes: Shape, low: float = -4.0, high: float = 4.0) -> Workload:
    """float32 arrays for a ``Speed``, evenly in ``low .. high``; one of a million if left out."""

    def made(random: np.random.Generator) -> Case:
        chosen = shapes or ((MILLION,),)
        return tuple(random.uniform(low, high, shape).astype(np.float32) for shape in chosen)

    return made
