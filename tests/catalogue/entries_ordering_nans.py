"""The catalogue's entries for reductions that leave out nan, and for what elements span."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from catalogue.by_torch import cases, chosen
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
    summed,
)
from catalogue.inputs import given, is_float, joined, million, of_shape, with_specials

import photic as ph

NAN = float("nan")
SQUARE = million((1000, 1000))
SUM_WHY = "a sum in any order, relative to the sum of magnitudes"

# --- without nan ----------------------------------------------------------------------------

FULL = of_shape((1,), (7,), (3, 5), (2, 300))
WITH_NAN = joined(
    cases(
        [chosen(NAN, 1.0, -2.5, 3.0, shape=(7,))],
        [chosen(NAN, 1.0, -2.5, 3.0, shape=(4, 33))],
    ),
    given([[NAN]], [[[NAN, NAN], [1.0, NAN]]]),
)


def holes(dtype: Dtype, random: np.random.Generator) -> Iterator[Case]:
    yield from FULL(dtype, random)
    if is_float(dtype):
        yield from WITH_NAN(dtype, random)


def quiet(function: Callable[..., Any]) -> Callable[[Array], tuple[Array, ...]]:
    """Of all, of columns and of rows, without NumPy's warnings."""

    def exact(x: Array) -> tuple[Array, ...]:
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)
            return (
                np.asarray(function(x)),
                np.asarray(function(x, axis=0)),
                np.asarray(function(x, axis=-1, keepdims=True)),
            )

    return exact


def without_nan(name: str, result: Callable[..., Any] | None, gradient: str, **how: Any) -> Entry:
    call = getattr(ph, name)
    return Entry(
        name,
        lambda x: (call(x), call(x, axis=0), call(x, axis=-1, keepdims=True)),
        quiet(getattr(np, name)),
        holes,
        (*FLOATS, *INTS),
        zero_signs=False,
        result_dtype=result,
        gradient=gradient,
        sizes=("n+ m+",),
        aten=(name,) if name in ("nansum", "nanmean") else (),
        speed=Speed(how.pop("peer"), SQUARE, lambda x: call(x, axis=-1)),
        **how,
    )


def largest(x: Array) -> tuple[Array, ...]:
    return quiet(np.nansum)(np.abs(x))


SUMS = {"rtol": 2.0**-20, "half_ulps": 0.6, "why": SUM_WHY, "scale": largest}
SPREADS = {
    "rtol": 2.0**-18,
    "atol": 2.0**-18,
    "half_ulps": 0.6,
    "why": "a mean of squared distances from a mean, in any order",
}
NANS = (
    without_nan("nansum", summed, "smooth", peer=lambda torch, x: torch.nansum(x, -1), **SUMS),
    without_nan("nanmean", floated, "smooth", peer=lambda torch, x: torch.nanmean(x, -1), **SUMS),
    without_nan("nanmax", None, "almost everywhere", peer=lambda torch, x: torch.amax(x, -1)),
    without_nan("nanmin", None, "almost everywhere", peer=lambda torch, x: torch.amin(x, -1)),
    without_nan("nanvar", floated, "smooth", peer=lambda torch, x: torch.var(x, -1), **SPREADS),
    without_nan("nanstd", floated, "smooth", peer=lambda torch, x: torch.std(x, -1), **SPREADS),
)

# --- spans ----------------------------------------------------------------------------------

SPANS = (
    Entry(
        "aminmax",
        lambda x: (*ph.aminmax(x), *ph.aminmax(x, -1)),
        lambda x: (np.min(x), np.max(x), np.min(x, -1), np.max(x, -1)),
        with_specials((1,), (7,), (3, 5), (2, 300)),
        ALL,
        zero_signs=False,
        gradient="almost everywhere",
        sizes=("n+ m+",),
        aten=("aminmax",),
        speed=Speed(lambda torch, x: torch.aminmax(x, dim=-1), SQUARE, lambda x: ph.aminmax(x, -1)),
    ),
    Entry(
        "ptp",
        lambda x: (ph.ptp(x), ph.ptp(x, 0), ph.ptp(x, -1, True)),
        lambda x: (np.ptp(x), np.ptp(x, 0), np.ptp(x, -1, keepdims=True)),
        of_shape((1,), (7,), (3, 5), (2, 300)),
        NUMBERS,
        zero_signs=False,
        gradient="almost everywhere",
        sizes=("n+ m+",),
    ),
)

ENTRIES = (*NANS, *SPANS)
