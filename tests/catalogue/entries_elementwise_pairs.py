"""The catalogue's entries for functions of two and three values, and questions about values."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
from catalogue.entries_existing_arithmetic import STEPS, WHOLE, single, speed, torches
from catalogue.entries_existing_compare import YES_OR_NO, question
from catalogue.entry import (
    ALL,
    FLOATS,
    INTS,
    NUMBERS,
    Array,
    Case,
    Dtype,
    Entry,
    Speed,
    floated,
    gives,
)
from catalogue.inputs import (
    between,
    is_float,
    joined,
    million,
    one_array,
    two_arrays,
    within,
)

import photic as ph

ULPS = 4.0


def pair(
    name: str,
    exact: Callable[..., Array],
    *,
    ulps: float = ULPS,
    dtypes: tuple[str, ...] = ALL,
    onnx: tuple[str, ...] = (),
    aten: tuple[str, ...] = (),
    low: float = -4.0,
    gradient: str = "smooth",
    **more: object,
) -> Entry:
    """A function of two floats that broadcast."""
    return Entry(
        name,
        getattr(ph, name),
        lambda x, y: exact(single(x), single(y)),
        joined(two_arrays, within(-9, 9, 2)),
        dtypes,
        ulps=ulps,
        result_dtype=floated,
        gradient=gradient,
        onnx=onnx,
        aten=aten or (name,),
        speed=speed((aten or (name,))[0], 2, low),
        **more,
    )


# --- angles, lengths, logarithms of sums ----------------------------------------------------


def _xlogy(x: Array, y: Array) -> Array:
    return np.where((x == 0) & ~np.isnan(y), 0.0, x * np.log(y))


CANCELS = "near 0 a number and a logarithm cancel: of the larger of the result and the larger value"


def of_powers(name: str, exact: Callable[[Array, Array], Array]) -> Entry:
    """The logarithm of a sum of powers, right to the last places of the larger value."""

    def scale(x: Array, y: Array) -> Array:
        a, b = single(x), single(y)
        return np.maximum(np.abs(exact(a, b)), np.abs(np.maximum(a, b)))

    return pair(name, exact, ulps=0.5, half_ulps=0.6, rtol=2.0**-21, scale=scale, why=CANCELS)


PAIRS = (
    pair("atan2", np.arctan2, aten=("atan2", "arctan2")),
    pair("hypot", np.hypot),
    pair(
        "copysign",
        _copysign := lambda x, y: np.where(np.isnan(y), np.abs(x), np.copysign(x, y)),
        ulps=0,
        gradient="almost everywhere",
    ),
    pair("heaviside", np.heaviside, ulps=0, gradient=STEPS),
    pair(
        "xlogy",
        _xlogy,
        aten=("xlogy", "special_xlogy"),
        low=0.1,
        gradient="almost everywhere",
        zero_signs=False,
    ),
    of_powers("logaddexp", np.logaddexp),
    of_powers("logaddexp2", np.logaddexp2),
)


# --- remainders, the larger, between --------------------------------------------------------


def _fmax(x: Array, y: Array) -> Array:
    return np.fmax(x, y).astype(x.dtype)


LARGER = (
    Entry(
        "fmod",
        ph.fmod,
        np.fmod,
        two_arrays,
        NUMBERS,
        gradient="almost everywhere",
        onnx=("Mod",),
        aten=("fmod",),
        speed=speed("fmod", 2, 0.5),
    ),
    Entry(
        "fmax",
        ph.fmax,
        np.fmax,
        two_arrays,
        ALL,
        ulps=0,
        zero_signs=False,
        gradient="almost everywhere",
        aten=("fmax",),
        speed=speed("fmax", 2),
    ),
    Entry(
        "fmin",
        ph.fmin,
        np.fmin,
        two_arrays,
        ALL,
        ulps=0,
        zero_signs=False,
        gradient="almost everywhere",
        aten=("fmin",),
        speed=speed("fmin", 2),
    ),
    Entry(
        "lerp",
        ph.lerp,
        lambda a, b, w: np.where(w < 0.5, a + w * (b - a), b - (b - a) * (1 - w)),
        within(-4, 4, 3, also=(0.5, 1.0, 0.0)),
        FLOATS,
        rtol=2.0**-21,
        scale=lambda a, b, w: (np.abs(a) + np.abs(b)) * (1 + np.abs(w)),
        why="a sum of two parts of either sign",
        aten=("lerp",),
        speed=speed("lerp", 3),
    ),
)


# --- questions ------------------------------------------------------------------------------


def close_pairs(dtype: Dtype, random: np.random.Generator) -> Iterator[Case]:
    """Pairs at every distance around what is close, and all special values."""
    yield from two_arrays(dtype, random)
    if is_float(dtype):
        x = random.normal(size=4001)
        off = 1 + random.choice([-1, 1], 4001) * 10.0 ** random.uniform(-7, -3, 4001)
        yield x.astype(dtype), (x * off).astype(dtype)
    else:
        x = between(dtype, (4001,), random, -(10**9), 10**9)
        yield x, x // 2 * 2


def _close(x: Array, y: Array) -> Array:
    return np.isclose(_wide(x), _wide(y))


def _wide(x: Array) -> Array:
    return x.astype(np.float64)


QUESTIONS = (
    question("isposinf", ("IsInf",)),
    question("isneginf", ("IsInf",)),
    Entry(
        "signbit",
        ph.signbit,
        lambda x: np.signbit(x) & ~np.isnan(x),
        one_array,
        (*FLOATS, *INTS),
        result_dtype=gives("bool"),
        gradient=YES_OR_NO,
        aten=("signbit",),
        sizes=("n",),
        speed=speed("signbit"),
    ),
    Entry(
        "isclose",
        lambda x, y: (ph.isclose(x, y), ph.isclose(x, y, equal_nan=True), ph.isclose(x, y, 0.5, 2)),
        lambda x, y: (
            _close(x, y),
            np.isclose(_wide(x), _wide(y), equal_nan=True),
            np.isclose(_wide(x), _wide(y), 0.5, 2),
        ),
        close_pairs,
        ("float64", "int64", "int32", "int16", "int8", "uint8"),
        result_dtype=gives("bool"),
        gradient=YES_OR_NO,
        aten=("isclose",),
        speed=Speed(torches("isclose"), million((1000, 1000), (1000, 1000)), ph.isclose),
    ),
    Entry(
        "isclose.exact",
        lambda x, y: ph.isclose(x, y, 0.25, 0.0),
        lambda x, y: np.isclose(x, y, 0.25, 0.0),
        joined(two_arrays, within(-9, 9, 2)),
        FLOATS,
        result_dtype=gives("bool"),
        gradient=YES_OR_NO,
        aten=("isclose",),
    ),
    Entry(
        "nan_to_num",
        lambda x: (ph.nan_to_num(x, posinf=7.0, neginf=-5.0), ph.nan_to_num(x, 2.0, 3.0, 4.0)),
        lambda x: (
            np.nan_to_num(x, posinf=7.0, neginf=-5.0),
            np.nan_to_num(x, nan=2.0, posinf=3.0, neginf=4.0),
        ),
        one_array,
        ALL,
        ulps=0,
        gradient="almost everywhere",
        aten=("nan_to_num",),
        sizes=("n",),
        speed=Speed(torches("nan_to_num"), million(), ph.nan_to_num),
    ),
    Entry(
        "nan_to_num.ends",
        ph.nan_to_num,
        np.nan_to_num,
        one_array,
        ("float64",),
        ulps=0,
        gradient="almost everywhere",
        aten=("nan_to_num",),
        sizes=("n",),
    ),
)

# --- shifts by tensors ----------------------------------------------------------------------


def shifted(dtype: Dtype, random: np.random.Generator) -> Iterator[Case]:
    """Integers and places up to more than they have bits, negative ones too."""
    high = 8 * dtype.itemsize + 2
    for number, pair_of in enumerate(two_arrays(dtype, random)):
        places = between(dtype, pair_of[1].shape, random, -number % 2, high)
        yield pair_of[0], places


def shift(name: str, exact: Callable[..., Array]) -> Entry:
    """NumPy's, whose result for negative places is that of as many places as there are bits."""
    return Entry(
        f"{name}.tensor",
        getattr(ph, name),
        exact,
        shifted,
        INTS,
        gradient=WHOLE,
        onnx=("BitShift",),
        aten=(f"bitwise_{name}",),
        speed=Speed(
            torches(f"bitwise_{name}"),
            lambda random: tuple(
                random.integers(0, 31, (1000, 1000)).astype(np.int32) for _ in range(2)
            ),
            getattr(ph, name),
        ),
    )


SHIFTS = (shift("left_shift", np.left_shift), shift("right_shift", np.right_shift))

ENTRIES = (*SHIFTS, *PAIRS, *LARGER, *QUESTIONS)
