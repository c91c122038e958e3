"""The catalogue's entries for inverse functions, the error functions, waves and roots of one value.

Each within 4 units in the last place where it is real, also near its ends; integers become float32.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator

import numpy as np
import scipy.special as special
from catalogue.entries_existing_arithmetic import single, speed
from catalogue.entry import ALL, FLOATS, Array, Case, Cases, Dtype, Entry, Speed, floated
from catalogue.inputs import LARGE, cast, given, joined, million, of_shape, one_array

import photic as ph

ULPS = 4.0


def near(*places: float) -> Cases:
    """Floats at every distance, from a unit in the last place up, on both sides of the places."""

    def cases(dtype: Dtype, random: np.random.Generator) -> Iterator[Case]:
        for place in places:
            distance = random.uniform(-1, 1, 500) * 2.0 ** random.uniform(-60, -1, 500)
            yield (cast(place + distance, dtype),)

    return cases


def spread(low: float, high: float) -> Cases:
    """Many values evenly in ``low .. high``."""
    return of_shape((LARGE,), low=low, high=high)


def function(
    name: str,
    exact: Callable[[Array], Array],
    inputs: Cases,
    *,
    onnx: tuple[str, ...] = (),
    aten: tuple[str, ...] = (),
    timed: Speed | None = None,
    dtypes: tuple[str, ...] = ALL,
) -> Entry:
    """A function of one float: cases over the whole range, and where it is hard."""
    return Entry(
        name,
        getattr(ph, name),
        lambda x: exact(single(x)),
        joined(one_array, inputs),
        dtypes,
        ulps=ULPS,
        result_dtype=floated,
        onnx=onnx,
        aten=aten or (name,),
        sizes=("n",),
        speed=timed or speed(name),
    )


def by_torch_special(name: str, low: float, high: float) -> Speed:
    """torch's special function of that name."""
    return Speed(lambda torch, x: getattr(torch.special, name)(x), million(low=low, high=high))


# --- inverse functions ----------------------------------------------------------------------


def _logit(x: Array) -> Array:
    """Near a half by the area tangent: there a difference of logarithms has no digits."""
    far = np.log(x) - np.log1p(-x)
    return np.where(np.abs(x - 0.5) < 0.25, 2 * np.arctanh(np.clip(2 * x - 1, -1, 1)), far)


UNIT, ENDS = joined(spread(-1, 1), given([[1.0, -1.0, 1.5, -1.5]])), near(1.0, -1.0, 0.5, -0.5, 0.0)

INVERSES = (
    function(
        "asin",
        np.arcsin,
        joined(UNIT, ENDS),
        onnx=("Asin",),
        aten=("asin", "arcsin"),
        timed=speed("asin", 1, -1.0, 1.0),
    ),
    function(
        "acos",
        np.arccos,
        joined(UNIT, ENDS),
        onnx=("Acos",),
        aten=("acos", "arccos"),
        timed=speed("acos", 1, -1.0, 1.0),
    ),
    function(
        "atan",
        np.arctan,
        near(0.4142135, -0.4142135, 2.4142135, 1.0),
        onnx=("Atan",),
        aten=("atan", "arctan"),
    ),
    function(
        "asinh",
        np.arcsinh,
        near(0.75, -0.75, 0.0, 8192.0),
        onnx=("Asinh",),
        aten=("asinh", "arcsinh"),
    ),
    function(
        "acosh",
        np.arccosh,
        joined(spread(1, 9), near(1.0, 1.5, 8192.0)),
        onnx=("Acosh",),
        aten=("acosh", "arccosh"),
        timed=speed("acosh", 1, 1.0, 4.0),
    ),
    function(
        "atanh",
        np.arctanh,
        joined(UNIT, ENDS),
        onnx=("Atanh",),
        aten=("atanh", "arctanh"),
        timed=speed("atanh", 1, -0.99, 0.99),
    ),
    function(
        "logit",
        _logit,
        joined(spread(0, 1), given([[-0.5, 0.0, 1.0, 1.5]]), near(0.5, 0.25, 0.75, 1.0, 0.0)),
        timed=speed("logit", 1, 0.01, 0.99),
    ),
    Entry(
        "logit.eps",
        lambda x: ph.logit(x, 0.125),
        lambda x: _logit(np.clip(x, 0.125, 0.875)),
        joined(one_array, spread(0, 1)),
        FLOATS,
        ulps=ULPS,
        gradient="almost everywhere",
        aten=("logit", "special_logit"),
        sizes=("n",),
    ),
)


# --- error functions ------------------------------------------------------------------------


def _erfc(x: Array) -> Array:
    """The C library's: SciPy's loses digits of x*x in the tail."""
    return np.array([math.erfc(one) for one in x.ravel()], np.float64).reshape(x.shape)


def _erfinv(x: Array) -> Array:
    return np.copysign(special.erfinv(np.abs(x)), x)


TAIL = joined(spread(-6, 26), given([np.nan], [[np.inf, -np.inf, -0.0, 0.0]], [[]]))

ERRORS = (
    Entry(
        "erfc",
        ph.erfc,
        lambda x: _erfc(single(x)),
        joined(TAIL, near(0.5, -0.5, 2.0, 2.5, 0.0)),
        ALL,
        ulps=ULPS,
        result_dtype=floated,
        aten=("erfc", "special_erfc"),
        sizes=("n",),
        speed=speed("erfc"),
    ),
    Entry(
        "erfc.subnormal",
        ph.erfc,
        _erfc,
        joined(spread(9, 10.5), near(9.2, 10.0)),
        ("float32", "bfloat16"),
        ulps=ULPS,
        aten=("erfc",),
        sizes=("n",),
    ),
    function(
        "erfinv",
        _erfinv,
        joined(UNIT, ENDS, near(0.9966, -0.9966)),
        aten=("erfinv", "special_erfinv"),
        timed=speed("erfinv", 1, -0.99, 0.99),
    ),
)


# --- waves ----------------------------------------------------------------------------------


def _sinc(x: Array) -> Array:
    """By what is left of x beside the nearest whole number, so that zeros are exact."""
    whole = np.rint(x)
    sine = np.sin(np.pi * (x - whole)) * np.where(np.mod(whole, 2) == 0, 1, -1)
    return np.where(x == 0, 1.0, sine / (np.pi * x))


WAVES = (
    Entry(
        "sinc",
        ph.sinc,
        lambda x: _sinc(single(x)),
        joined(one_array, spread(-20, 20), near(1.0, -3.0, 0.0)),
        ALL,
        ulps=ULPS,
        zero_signs=False,
        result_dtype=floated,
        aten=("sinc", "special_sinc"),
        sizes=("n",),
        speed=speed("sinc"),
    ),
    Entry(
        "tan.far",
        ph.tan,
        np.tan,
        spread(1e5, 1e30),
        ("float32",),
        ulps=8,
        why="beyond 102400 it is a quotient of sines",
        onnx=("Tan",),
        aten=("tan",),
        sizes=("n",),
    ),
    function("deg2rad", np.deg2rad, spread(-720, 720)),
    function("rad2deg", np.rad2deg, spread(-20, 20)),
)


# --- roots, parts ---------------------------------------------------------------------------

ROOTS = (
    function(
        "cbrt",
        np.cbrt,
        joined(spread(-1e4, 1e4), near(8.0, -27.0)),
        aten=("pow",),
        timed=Speed(lambda torch, x: torch.sign(x) * torch.abs(x) ** (1 / 3), million()),
    ),
    Entry(
        "frac",
        ph.frac,
        lambda x: x - np.trunc(x) if x.dtype.kind == "f" else x - x,
        one_array,
        (*FLOATS, "int64", "int32", "int16", "int8", "uint8"),
        ulps=0,
        gradient="almost everywhere",
        aten=("frac",),
        sizes=("n",),
        speed=speed("frac"),
    ),
)

# --- gamma functions ------------------------------------------------------------------------


def gamma(name: str, exact: Callable[[Array], Array]) -> tuple[Entry, Entry]:
    """A function of the gamma family: in float64 its zeros below 1 are not relatively right."""
    inputs = joined(one_array, spread(-20, 40), near(1.0, 2.0, -1.0, 1.4616321))
    dtypes = tuple(one for one in ALL if one != "float64")
    double = Entry(
        f"{name}.double",
        getattr(ph, name),
        exact,
        joined(one_array, spread(-20, 40), near(1.0, 2.0)),
        ("float64",),
        rtol=2.0**-18,
        scale=lambda x: np.maximum(np.abs(exact(x)), np.abs(x) * np.log(np.abs(x) + 2) + 1),
        why="a difference of parts, each right to a unit in its last place",
        aten=(name,),
        sizes=("n",),
    )
    return function(name, exact, inputs, dtypes=dtypes, aten=(name,)), double


def _lgamma(x: Array) -> Array:
    """inf of -inf, as C and torch have it."""
    return np.where(x == -np.inf, np.inf, special.gammaln(x))


def _digamma(x: Array) -> Array:
    """By reflection, as SciPy's own loses its digits near its poles."""
    slope = np.tan(np.pi * (x - np.rint(x)))
    reflected = special.digamma(1 - x) - np.pi / np.where(slope == 0, np.nan, slope)
    return np.where(x < 0, reflected, special.digamma(x))


GAMMAS = (*gamma("lgamma", _lgamma), *gamma("digamma", _digamma))

ENTRIES = (*GAMMAS, *INVERSES, *ERRORS, *WAVES, *ROOTS)
